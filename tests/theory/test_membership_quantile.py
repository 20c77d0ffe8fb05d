"""After Bertran et al. 2023: φ among non-members like the record, where their law is known."""

import math

import numpy as np
import pytest
from samples import cross_judge
from scipy.stats import norm

from leakscope.attacks import loss_threshold, quantile_regression
from leakscope.attacks.references import COLUMNS, LOG_MEAN_OUT, MEAN_OUT

N = 4000
ERROR = 4 * math.sqrt(0.25 / N)


def test_mean_and_deviation_are_learned_from_the_conditions():
    """φ of non-members is N(c, s(y)²), where the label y determines s; members are shifted by s: AUC Φ(1/√2)."""
    rng = np.random.default_rng(0)
    member, labels = np.repeat([True, False], N), rng.integers(0, 2, 2 * N)
    condition, spread = rng.uniform(-2, 2, 2 * N), np.where(labels == 0, 0.1, 0.8)
    phi = condition + spread * (member + rng.normal(size=2 * N))
    table = np.zeros((2 * N, COLUMNS))
    table[:, MEAN_OUT], table[:, LOG_MEAN_OUT] = condition, -np.logaddexp(0, -condition)
    found, threshold = (
        cross_judge(attack, np.logaddexp(0, -phi)[:, None], member, labels=labels, second=table).ranking.auc
        for attack in (quantile_regression(), loss_threshold("log_loss"))
    )
    # A hundred small trees follow the condition up to a part of the smaller deviation.
    best = norm.cdf(1 / math.sqrt(2))
    assert best - ERROR - 0.04 < found < best + ERROR
    assert found > threshold + 0.05


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_members_are_not_looked_at_when_it_is_fitted(task):
    rng = np.random.default_rng(1)
    member = np.arange(200) % 2 == 0
    loss, table, labels = rng.random((400, 1)), rng.normal(size=(400, COLUMNS)), rng.integers(0, 2, 400)
    half = np.repeat([0, 1], 200)
    changed = loss.copy()
    changed[:200][member] = 0.5
    one, two = (
        cross_judge(quantile_regression(task), seen, np.tile(member, 2), labels=labels, second=table, half=half)
        for seen in (loss, changed)
    )
    np.testing.assert_array_equal(one.attack_scores.score[200:], two.attack_scores.score[200:])
