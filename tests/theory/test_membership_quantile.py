"""After Bertran et al. 2023: φ among non-members like the record, where their law is known."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from leakscope.attacks import loss_threshold, quantile_regression
from leakscope.attacks.references import COLUMNS, LOG_MEAN_OUT, MEAN_OUT
from leakscope.crossfit import cross_guess, scale_of
from leakscope.risk import score

N = 4000
ERROR = 4 * math.sqrt(0.25 / N)


def test_mean_and_deviation_are_learned_from_the_conditions():
    """φ of others is N(c, s(y)²) with the label y deciding s; members are shifted by s: AUC Φ(1/√2)."""
    rng = np.random.default_rng(0)
    member, labels = np.repeat([True, False], N), rng.integers(0, 2, 2 * N)
    condition, spread = rng.uniform(-2, 2, 2 * N), np.where(labels == 0, 0.1, 0.8)
    phi = condition + spread * (member + rng.normal(size=2 * N))
    table = np.zeros((2 * N, COLUMNS))
    table[:, MEAN_OUT], table[:, LOG_MEAN_OUT] = condition, -np.logaddexp(0, -condition)
    loss, half = np.logaddexp(0, -phi)[:, None], np.tile([0, 1], N)
    found = {}
    for attack in (quantile_regression(), loss_threshold("log_loss")):
        guesses, _ = cross_guess(attack, loss, labels, member, half, np.random.default_rng(0), beside=table)
        found[attack.name] = score(guesses.score, member, scale=scale_of(attack, half)).auc.value
    # A hundred small trees follow the condition up to a part of the smaller deviation.
    best = norm.cdf(1 / math.sqrt(2))
    assert best - ERROR - 0.04 < found["quantile regression"] < best + ERROR
    assert found["quantile regression"] > found["loss threshold"] + 0.05


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_members_are_not_looked_at_when_it_is_fitted(task):
    rng = np.random.default_rng(1)
    member = np.arange(200) % 2 == 0
    loss, table, labels = rng.random((400, 1)), rng.normal(size=(400, COLUMNS)), rng.integers(0, 2, 400)
    half, attack = np.repeat([0, 1], 200), quantile_regression(task)
    changed = loss.copy()
    changed[:200][member] = 0.5
    one, two = (
        cross_guess(attack, seen, labels, np.tile(member, 2), half, np.random.default_rng(0), beside=table)[0].score[
            200:
        ]
        for seen in (loss, changed)
    )
    np.testing.assert_array_equal(one, two)
