"""A score that was given: its AUC in closed form, and members in the middle of the scale."""

import math

import numpy as np
import pytest
from samples import cross_judge
from scipy.stats import norm

from leakscope.attacks import given_score, tree_on_score

N = 4000
ERROR = 4 * math.sqrt(0.25 / N)


def auc_of(attack, scores, member):
    return cross_judge(attack, scores[:, None], member).ranking.auc


def test_two_gaussians():
    rng, member = np.random.default_rng(0), np.repeat([True, False], N)
    scores = rng.normal(size=2 * N) + member
    best = norm.cdf(1 / math.sqrt(2))
    assert auc_of(given_score("score"), scores, member) == pytest.approx(best, abs=ERROR)
    # Eight leaves lose little of the order.
    assert best - 0.03 < auc_of(tree_on_score("score"), scores, member) < best + ERROR


def test_members_in_the_middle_are_found_by_the_tree_only():
    """Members are uniform on [-1, 1], non-members on [-3, 3]: the best AUC is 1/2 + 1/3."""
    rng, member = np.random.default_rng(1), np.repeat([True, False], N)
    scores = rng.uniform(-1, 1, 2 * N) * np.where(member, 1, 3)
    assert auc_of(given_score("score"), scores, member) == pytest.approx(0.5, abs=ERROR)
    assert auc_of(tree_on_score("score"), scores, member) == pytest.approx(0.5 + 1 / 3, abs=ERROR + 0.01)
