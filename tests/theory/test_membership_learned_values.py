"""Regression: a classifier on prediction and truth, with errors that are informative for some values only."""

import math

import numpy as np
import pytest
from samples import cross_judge

from leakscope.attacks import learned_values, loss_threshold
from leakscope.evaluation.risk import score

N = 4000
ERROR = 4 * math.sqrt(0.25 / N)


def world(unit=1.0):
    """Truths in [0, 1]: all errors N(0, 3²). In [2, 3]: N(0, 1) for members, N(0, 3²) for non-members."""
    rng = np.random.default_rng(0)
    member = np.repeat([True, False], N)
    telling = rng.random(2 * N) < 0.5
    truth = 10 * (rng.random(2 * N) + 2 * telling)
    error = np.where(member & telling, 1.0, 3.0) * rng.normal(size=2 * N)
    return unit * truth, unit * (truth + error), member, telling, error


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
def test_it_reaches_the_likelihood_ratio_and_beats_the_threshold(unit):
    truth, prediction, member, telling, error = world(unit)
    # The likelihood ratio is 1 where errors tell nothing, and log 3 - e² (1 - 1/9)/2 where they do.
    best = score(np.where(telling, math.log(3) - error**2 * (1 - 1 / 9) / 2, 0.0), member).auc.value
    found = cross_judge(learned_values(), prediction[:, None], member, labels=truth).ranking.auc
    assert best - 0.02 < found < best + ERROR
    threshold = cross_judge(loss_threshold("squared_error"), (prediction - truth)[:, None] ** 2, member)
    assert found > threshold.ranking.auc + 0.02
