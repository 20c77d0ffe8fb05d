"""Other measures than membership: the noise that differential privacy needs, and sensitive columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.causal.encoding import one_hot
from leakscope.core import intervals
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.data.records import list_names
from leakscope.models.model import Model
from leakscope.studies.attributes.columns import FEWEST_OF_LEVEL, MOST_LEVELS
from leakscope.studies.causal.result import Attribute, Noise
from leakscope.studies.causal.scenarios import CausalProblem

#: Rounds, swaps in each, records of a training set, and weight of the penalty, for the sensitivity.
ROUNDS, SWAPS, SWAP_SIZE, SWAP_L2 = 10, 50, 200, 0.1
#: Records whose sensitive value is inferred.
MOST_GUESSED = 10_000


def measure_noise(problem: CausalProblem, seed: int, confidence: float, cache: str | Path | None) -> Noise:
    """L1 sensitivity [tople2020, Def. 5, Lemma 1] of least squares for the value, or for the most frequent class.

    The largest over random swaps of one record, on the causes and on all columns; both see the same swaps. The ratio is
    taken in each of several rounds of swaps.
    """
    from leakscope.bounds.sensitivity import sensitivity
    from leakscope.learners import Ridge

    sample = problem.scenarios[0].samples[0]
    size = min(SWAP_SIZE, len(sample) - 1)
    if problem.classes is None:
        y = (sample.y - sample.y.mean()) / sample.y.std()
    else:
        y = (sample.y == np.bincount(sample.y).argmax()).astype(np.float64)
    rounds = [int(child.generate_state(1)[0]) for child in np.random.SeedSequence(seed).spawn(ROUNDS)]
    found = []
    for columns in (problem.causes, range(len(problem.names))):
        X = one_hot(sample.X[:, list(columns)], [problem.levels[column] for column in columns]).astype(np.float64)
        found.append(
            [
                sensitivity(
                    Ridge(l2=SWAP_L2), X, y, size, "sampled", norm=1, swaps=SWAPS, seed=one, workers=1, cache=cache
                )
                for one in rounds
            ]
        )
    logs = intervals.mean(np.log([ours.value / theirs.value for ours, theirs in zip(*found, strict=True)]), confidence)
    value, low, high = (float(np.exp(end)) for end in (logs.value, logs.low, logs.high))
    ratio = Estimate(value, low, high, confidence, n=ROUNDS, method=f"geometric mean over {ROUNDS} rounds, Student")
    causal, everything = (max(tried, key=lambda one: one.value) for tried in found)
    return Noise(causal.finite(), everything.finite(), ratio, size, SWAP_L2, ROUNDS * SWAPS)


def measure_attributes(
    problem: CausalProblem, models: Mapping[str, Model], sensitive: Sequence[str], seed: int, confidence: float
) -> tuple[Attribute, ...]:
    """What the outputs of each kind of model add to inferring sensitive columns [tople2020, Def. 8], of records of P.

    The attacker knows all other columns and the label.
    """
    from leakscope.studies.attributes import attribute_inference

    found = []
    for name in sensitive:
        column = problem.names.index(name)
        test = problem.scenarios[0].test
        labels = test.y if problem.classes is None else problem.classes[test.y]
        for kind, model in models.items():
            risk = attribute_inference(
                model, test.X, labels, column, most=MOST_GUESSED, confidence=confidence, seed=seed
            )
            best = risk.records.strongest
            found.append(
                Attribute(
                    name, kind, column in problem.causes, risk.records.baseline_advantage, best.attack, best.advantage,
                    best.gain, best.gain_auc,
                )
            )  # fmt: skip
    return tuple(found)


def sensitive_variants(problem: CausalProblem, sensitive: Sequence[str]) -> NDArray[Any]:
    """Return the held-out records with each level of each sensitive column: all that `measure_attributes` asks about."""
    X = problem.scenarios[0].test.X
    variants = [X[:0]]
    for column in map(problem.names.index, sensitive):
        for level in np.unique(X[:, column]):
            variants.append(X.copy())
            variants[-1][:, column] = level
    return np.unique(np.concatenate(variants) + 0, axis=0)  # minus zero becomes zero


def check_sensitive(names: Sequence[str], problem: CausalProblem) -> None:
    """Refuse columns that can't be inferred, before anything is trained."""
    for name in names:
        if name not in problem.names:
            raise InputError(
                f"there is no sensitive column {list_names([name])} besides the label: choose from {list_names(problem.names, 12)}"
            )
        column = problem.names.index(name)
        if not 2 <= problem.levels[column] <= MOST_LEVELS:
            raise InputError(
                f"the sensitive column {list_names([name])} must have 2 to {MOST_LEVELS} levels: merge some, or "
                "bin its numbers"
            )
        counts = np.bincount(problem.scenarios[0].test.X[:, column].astype(np.intp))
        if (counts[counts > 0] < FEWEST_OF_LEVEL).any() or np.sum(counts > 0) < 2:
            raise InputError(
                f"the sensitive column {list_names([name])} has levels with fewer than {FEWEST_OF_LEVEL} records among the third "
                "that is judged: merge them, or give more records"
            )
