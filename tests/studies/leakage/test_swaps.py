"""The design: every record's two laws are exact, and the fast path trains the same models as the slow one."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from leakscope.learners import Ridge
from leakscope.studies.leakage.swaps import SwapTraining, draw_swaps

UNIVERSE, SIZE, DRAWS = 6, 3, 4000


@pytest.mark.parametrize("record", range(3))
def test_both_sides_are_uniform_on_their_training_sets(record):
    swaps = draw_swaps(UNIVERSE, SIZE, DRAWS, seed=1)
    sides = Counter(), Counter()
    for draw in range(DRAWS):
        pair = (tuple(np.sort(swaps.sets[draw])), tuple(swaps.partner(draw, record)))
        held = record in pair[0]
        assert (record in pair[1]) != held
        assert len(set(pair[0]) & set(pair[1])) == SIZE - 1
        for side, members in zip(sides, pair if held else pair[::-1], strict=True):
            side[members] += 1
    others = [other for other in range(UNIVERSE) if other != record]
    with_record = [tuple(sorted((*rest, record))) for rest in combinations(others, SIZE - 1)]
    without = list(combinations(others, SIZE))
    for side, possible in zip(sides, (with_record, without), strict=True):
        assert set(side) == set(possible)
        assert chisquare([side[members] for members in possible]).pvalue > 1e-3


def test_holds_says_which_sets_hold_which_records():
    swaps = draw_swaps(20, 7, 50, seed=2)
    records = np.array([3, 0, 19])
    literal = np.array([[record in members for members in swaps.sets] for record in records])
    np.testing.assert_array_equal(swaps.holds(records), literal)


@dataclass(frozen=True)
class SlowRidge:
    """Ridge regression with nothing but `fit`: it goes through `retrain`, one model after the other."""

    ridge: Ridge

    def fit(self, X, y, rng):  # noqa: ARG002
        n, p = X.shape
        return np.linalg.solve(X.T @ X + n * self.ridge.l2 * np.eye(p), X.T @ y)

    def parameters(self, model):
        return model

    def outputs(self, model, X):
        return (X @ model)[:, None]


@pytest.mark.parametrize("space", ["parameters", "function"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("l2", "size"), [(0.0, 12), (0.1, 3)])
def test_fast_and_slow_paths_train_the_same_models(space, shared, l2, size):
    rng = np.random.default_rng(3)
    ridge, X, y = Ridge(l2).prepare(rng.normal(size=(30, 3)), rng.normal(size=30))
    records = np.array([4, 0, 29])
    pairs = []
    for learner in (ridge, SlowRidge(ridge)):
        training = SwapTraining(learner, X, y, size, 25, shared, space, seed=5, workers=1)
        stacks = list(training.pairs(records))
        assert [rows for rows, _, _ in stacks] == [slice(0, 3)]
        pairs.append(stacks[0][1:])
    for fast, slow in zip(*pairs, strict=True):
        assert fast.shape == slow.shape == (3, 25, X.shape[1] if space == "parameters" else 1)
        np.testing.assert_allclose(fast, slow, rtol=1e-8, atol=1e-10)


def test_stacks_of_records_join_to_the_whole(monkeypatch):
    rng = np.random.default_rng(4)
    ridge, X, y = Ridge(0.1).prepare(rng.normal(size=(40, 2)), rng.normal(size=40))
    records = np.arange(7)
    for learner in (ridge, SlowRidge(ridge)):
        training = SwapTraining(learner, X, y, 10, 20, True, "parameters", seed=5, workers=1)
        whole = list(training.pairs(records))
        monkeypatch.setattr("leakscope.studies.leakage.swaps.STACK", 2 * 25 * 3**2)
        parts = list(training.pairs(records))
        monkeypatch.undo()
        assert len(whole) == 1
        assert [rows.start for rows, _, _ in parts] == [0, 2, 4, 6]
        for side in (1, 2):
            np.testing.assert_allclose(np.concatenate([part[side] for part in parts]), whole[0][side], rtol=1e-12)
