"""Carlini et al. 2022: the likelihood ratio of each record, where the law of φ is known."""

import math

import numpy as np
import pytest
from samples import ask_known
from scipy.stats import norm

from leakscope.attacks import lira
from leakscope.attacks.references import (
    CLIP,
    DEVIATION_IN,
    DEVIATION_OUT,
    OWN,
    OWN_FLOOR,
    SMALLEST,
    fit_of,
    phi_of,
    statistics_of_phi,
)
from leakscope.evaluation.risk import score
from leakscope.models.target import Model
from leakscope.releases.release import RELEASES

N = 20_000
#: Four standard errors of an AUC of N members and N non-members: its variance is at most 1/4 over the smaller number.
ERROR = 4 * math.sqrt(0.25 / N)


def guesses_of(phi, references, attack=None):
    """Guesses from φ, the log-odds of the true label."""
    return ask_known(attack or lira(), np.logaddexp(0, -phi)[:, None], second=references)


def world(spread, seed=0):
    """Records of difficulty N(0, spread²): φ is N(d + 1, 1) of a member and N(d, 1) of another.

    φ is held within ±4.6, which excludes less than 0.6 % of the members and 0.2 % of the non-members.
    """
    rng = np.random.default_rng(seed)
    member = np.repeat([True, False], N)
    difficulty = rng.normal(0, spread, 2 * N)
    return difficulty, member, difficulty + member + rng.normal(size=2 * N), rng


def true_references(difficulty):
    return np.column_stack([difficulty + 1, difficulty, np.ones((len(difficulty), 2))])


@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0])
def test_with_the_true_laws_the_auc_is_that_of_two_gaussians_whatever_the_difficulties(spread):
    difficulty, member, phi, _ = world(spread)
    guesses = guesses_of(phi, true_references(difficulty))
    assert score(guesses.score, member).auc.value == pytest.approx(norm.cdf(1 / math.sqrt(2)), abs=ERROR)
    # "Member" where φ is nearer to d + 1 than to d: right with probability Φ(1/2) on both sides.
    right = np.mean(guesses.says_member == member)
    assert right == pytest.approx(norm.cdf(0.5), abs=4 * math.sqrt(0.25 / (2 * N)))


def test_the_score_is_the_ratio_of_two_densities():
    rng = np.random.default_rng(0)
    phi = rng.normal(size=200).clip(-4, 4)
    references = np.column_stack([rng.normal(size=(200, 2)), rng.uniform(0.5, 2, (200, 2))])
    expected = [
        math.log(norm.pdf(value, a, s)) - math.log(norm.pdf(value, b, t))
        for value, (a, b, s, t) in zip(phi, references, strict=True)
    ]
    guesses = guesses_of(phi, references)
    np.testing.assert_allclose(guesses.score, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(guesses.says_member, np.array(expected) > 0)


# --- offline, and deviations of single records ---


def test_offline_the_score_ranks_as_the_tail_of_the_models_without_the_record():
    difficulty, member, phi, _ = world(1.0)
    guesses = guesses_of(phi, true_references(difficulty), lira(online=False))
    held = np.clip(phi, math.log(CLIP / (1 - CLIP)), math.log((1 - CLIP) / CLIP))
    np.testing.assert_allclose(norm.cdf(guesses.score), norm.cdf(held - difficulty), rtol=1e-9)
    # φ - d is N(1, 1) for members and N(0, 1) for non-members, as in the online attack with equal deviations.
    assert score(guesses.score, member).auc.value == pytest.approx(norm.cdf(1 / math.sqrt(2)), abs=ERROR)


@pytest.mark.parametrize("models", [2 * OWN - 2, 2 * OWN])
def test_from_64_models_on_each_record_has_deviations_of_its_own(models):
    rng, n = np.random.default_rng(0), 300
    first = rng.random((models // 2, n)) < 0.5
    inside = np.concatenate([first, ~first])
    spread = np.where(np.arange(n) < n // 2, 1.0, 2.0)
    phi = np.where(inside, 1.0, 0.0) + spread * rng.normal(size=(models, n))
    table = statistics_of_phi(phi, inside)
    for column, part in ((DEVIATION_IN, inside), (DEVIATION_OUT, ~inside)):
        own = np.array([np.std(phi[part[:, i], i], ddof=1) for i in range(n)])
        pooled = math.sqrt(np.mean(own**2))  # each record has equally many models on a side
        expected = np.maximum(own, OWN_FLOOR * pooled) if models >= 2 * OWN else np.full(n, pooled)
        np.testing.assert_allclose(table[:, column], expected, rtol=1e-12)


# --- φ and the table of references ---


def test_phi_of_answers_and_of_the_release_are_the_same():
    rng = np.random.default_rng(0)
    answers, y = rng.dirichlet(np.full(3, 0.05), 500), rng.integers(0, 3, 500)
    model = Model("given", "classification", np.arange(3), True, lambda X: answers)
    phi = phi_of(fit_of(answers, y, "classification"), "classification")
    expected = [math.log(p / (1 - p)) for p in np.clip(answers[np.arange(500), y], CLIP, 1 - CLIP)]
    np.testing.assert_allclose(phi, expected, rtol=1e-9, atol=1e-12)
    # With references of unit deviation and means 1 and 0, the score is φ - 1/2.
    loss = RELEASES["log_loss"](model, np.zeros((500, 1)), y)
    ratio = ask_known(lira(), loss, second=np.tile([1.0, 0.0, 1.0, 1.0], (500, 1))).score
    np.testing.assert_allclose(ratio, phi - 0.5, atol=1e-9)


def test_phi_of_a_regression_is_the_root_of_the_error():
    values, y = np.array([1.0, 2.0, 5.0]), np.array([1.0, 6.0, 5.25])
    phi = phi_of(fit_of(values, y, "regression"), "regression")
    np.testing.assert_allclose(phi, [0, -2, -0.5])
    second = np.tile([1.0, 0.0, 1.0, 1.0], (3, 1))
    ratio = ask_known(lira("regression"), (values - y)[:, None] ** 2, second=second).score
    np.testing.assert_allclose(ratio, phi - 0.5)


def literal_statistics(phi, inside):
    """The definition, record by record and model by model."""
    models, n = phi.shape
    sides = {
        side: [[phi[m, i] for m in range(models) if inside[m, i] == side] for i in range(n)] for side in (True, False)
    }
    shifts = [np.mean(a) - np.mean(b) for a, b in zip(sides[True], sides[False], strict=True) if a and b]
    deviations = []
    for side in (True, False):
        squares = sum((value - np.mean(part)) ** 2 for part in sides[side] for value in part)
        deviations.append(math.sqrt(squares / sum(len(part) - 1 for part in sides[side] if part)))
    rows = []
    for a, b in zip(sides[True], sides[False], strict=True):
        rows.append(
            [np.mean(a) if a else np.mean(b) + np.mean(shifts), np.mean(b) if b else np.mean(a) - np.mean(shifts)]
        )
    return np.column_stack([rows, np.tile(deviations, (n, 1))])


@pytest.mark.parametrize(("models", "centre"), [(3, 3), (8, 3), (8, 1000), (40, 3)])
def test_the_references_against_a_literal_loop(models, centre):
    rng = np.random.default_rng(models)
    phi, inside = rng.normal(centre, 5, (models, 60)), rng.random((models, 60)) < 0.5
    assert (models > 3) or inside.all(axis=0).any()  # some records that all models had, or none
    np.testing.assert_allclose(statistics_of_phi(phi, inside), literal_statistics(phi, inside), rtol=1e-12)


def test_one_model_gives_references_too():
    phi, inside = np.array([[1.0, 3.0, 0.0, 1.0]]), np.array([[True, True, False, False]])
    found = statistics_of_phi(phi, inside)
    np.testing.assert_allclose(found[:, 0] - found[:, 1], 1.5)  # no record has both: the shift of all
    np.testing.assert_allclose(found[:2, 0], [1, 3])
    np.testing.assert_allclose(found[:, 2:], np.tile([1.0, 0.5], (4, 1)))


def test_models_without_randomness_give_finite_scores():
    inside = np.random.default_rng(0).random((8, 40)) < 0.5
    found = statistics_of_phi(np.where(inside, 4.0, 0.0), inside)
    np.testing.assert_allclose(found[:, 2:], SMALLEST * np.std(np.where(inside, 4.0, 0.0)))
    ratio = guesses_of(np.repeat([4.0, 0.0], 20), found)
    assert np.isfinite(ratio.score).all()
    assert ratio.says_member.tolist() == [1.0] * 20 + [0.0] * 20
    same = guesses_of(np.zeros(40), statistics_of_phi(np.zeros((8, 40)), inside))
    np.testing.assert_array_equal(same.score, 0)
