"""The likelihood ratio of the signed error: its estimates, and the optimal score of the Gaussian model that it assumes."""

import numpy as np
import pytest
from samples import ask_known
from scipy.stats import norm

from leakscope.attacks import lira, signed_error
from leakscope.attacks.references import ERRORS, combine, reference_statistics, tied_errors
from leakscope.evaluation.risk import score

N, PULL, SPREAD = 4000, 0.4, (0.5, 1.0, 0.7)


def draw(rng, smaller=0, models=4):
    """Errors of the model: w times the record's own mean, and Gaussian noise; the target has the first half of the records."""
    mean, first = 3 * rng.normal(size=N), rng.random((models // 2, N)) < 0.5
    inside = np.concatenate([first, ~first, np.zeros((smaller, N), bool)])
    kind = np.where(inside, 0, 1)
    kind[models:] = 2
    slopes, spread = np.array([PULL, 1.0, 1.2]), np.array(SPREAD)
    error = slopes[kind] * mean + spread[kind] * rng.normal(size=kind.shape)
    member = np.arange(N) < N // 2
    target = np.where(member, PULL, 1.0) * mean + np.where(member, *SPREAD[:2]) * rng.normal(size=N)
    return mean, error, inside, target, member


@pytest.mark.parametrize("smaller", [0, 1])
def test_pull_and_deviations_are_those_of_the_model(smaller):
    mean, error, inside, _, _ = draw(np.random.default_rng(0), smaller, models=16)
    found = tied_errors(error, inside, smaller)
    assert found[:, 0] / found[:, 1] == pytest.approx(PULL, abs=0.03)
    # The mean of 8 or more models with a deviation of at most 1: the standard error is at most 0.36.
    assert np.std(found[:, 1] - mean) < 0.36
    # The share of the record's own residuals has a mean of about 1.
    assert found[:, 2].mean() == pytest.approx(SPREAD[0], rel=0.05)
    assert found[:, 3].mean() == pytest.approx(SPREAD[1], rel=0.05)


def test_it_is_the_likelihood_ratio_of_the_table():
    rng = np.random.default_rng(1)
    y, (_, error, inside, target, _) = rng.normal(size=N), draw(rng)
    table = reference_statistics(error + y, y, inside, "regression")
    np.testing.assert_allclose(table[:, ERRORS], tied_errors(error, inside), rtol=1e-9, atol=1e-9)
    mean_in, mean_out, spread_in, spread_out = table[:, ERRORS].T
    expected = norm.logpdf(target, mean_in, spread_in) - norm.logpdf(target, mean_out, spread_out)
    found = ask_known(signed_error(), (target + y)[:, None], y, table)
    np.testing.assert_allclose(found.score, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(found.says_member == 1, found.score > 0)


def test_with_four_models_it_is_near_the_optimal_score_and_above_lira():
    rng = np.random.default_rng(2)
    mean, error, inside, target, member = draw(rng)
    table, y = combine(error, inside, "regression"), np.zeros(N)
    optimal = norm.logpdf(target, PULL * mean, SPREAD[0]) - norm.logpdf(target, mean, SPREAD[1])
    scores = {
        "optimal": optimal,
        "signed": ask_known(signed_error(), target[:, None], y, table).score,
        "lira": ask_known(lira("regression"), target[:, None] ** 2, second=table).score,
    }
    auc = {name: score(one, member).auc.value for name, one in scores.items()}
    assert auc["signed"] > auc["lira"] + 0.02
    assert auc["optimal"] >= auc["signed"] > auc["optimal"] - 0.04


def test_a_record_with_noisier_models_has_a_larger_deviation():
    error = np.array([[1.0, 1.0], [1.0, 5.0], [2.0, 2.0], [2.0, -9.0]])
    inside = np.array([[True, True], [True, True], [False, False], [False, False]])
    deviation = tied_errors(error, inside)[:, 3]
    assert deviation[0] < deviation[1]


@pytest.mark.parametrize("error", [np.zeros((4, 6)), np.ones((4, 6)), np.arange(4.0)[:, None] * np.ones(6)])
def test_models_without_randomness_give_finite_scores(error):
    inside = np.array([[True], [False], [True], [False]]) ^ (np.arange(6) % 2 == 0)
    found = tied_errors(error, inside)
    assert np.isfinite(found).all()
    assert (found[:, 2:] > 0).all()


def test_a_record_that_all_models_had_has_a_mean_without_it():
    _, error, inside, _, _ = draw(np.random.default_rng(3))
    inside[:, 0] = True
    found = tied_errors(error, inside)
    assert found[0, 1] == pytest.approx(error[:, 0].mean() / (found[0, 0] / found[0, 1]))
