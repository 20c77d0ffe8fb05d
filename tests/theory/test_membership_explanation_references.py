"""Explanations against those of reference models, where sizes are Gaussian and the best attack is known."""

import math

import numpy as np
import pytest
from samples import cross_judge
from scipy.stats import norm

from leakscope.attacks import explanation_references, learned_explanation_references, learned_references
from leakscope.attacks.membership_explanation_references import (
    HIGH,
    LIMITS,
    LOW,
    WIDTH,
    explanation_statistics,
    explanation_table,
)
from leakscope.attacks.references import DEVIATION_IN, DEVIATION_OUT, MEAN_IN, MEAN_OUT, combine
from leakscope.evaluation.explanation_gain import auc_difference

N, MODELS = 4000, 4
#: Four standard errors of an AUC of N members and N non-members: its variance is at most 1/4 over the smaller number.
ERROR = 4 * math.sqrt(0.25 / N)


def explain(size):
    """Explanations of a given log-norm whose sum is 0."""
    return np.exp(size)[..., None] * [0.5, -0.5]


def references(n, rng, models=MODELS):
    first = np.array([rng.permutation(n) < n // 2 for _ in range(models // 2)])
    return np.concatenate([first, ~first])


def numbers(shift, member, inside, rng):
    """Difficulty d is N(0, 1), and a number is N(d + shift, 1) with the record and N(d, 1) without: of the target, of the references."""
    difficulty = rng.normal(size=len(member))
    of_references = difficulty + shift * inside + rng.normal(size=inside.shape)
    return difficulty + shift * member + rng.normal(size=len(member)), of_references


def table_of(size, inside):
    return explanation_table(np.array([explanation_statistics(explain(one)) for one in size]), inside)


def answers_of(phi, inside):
    """The loss of the target and the statistics of the references, from φ of both."""
    return np.logaddexp(0, -phi[0])[:, None], combine(1 / (1 + np.exp(-phi[1])), inside, "classification")


def gain(phi, size, inside, member):
    """What the explanation adds, as an audit measures it."""
    loss, table = answers_of(phi, inside)
    alone = cross_judge(learned_references(), loss, member, second=table)
    second = np.hstack([loss, table, table_of(size[1], inside)])
    together = cross_judge(learned_explanation_references("gradient"), explain(size[0]), member, second=second)
    return auc_difference(together, alone, 0.95)


@pytest.mark.parametrize("shift", [-1.0, 0.0, 1.0])
def test_the_likelihood_ratio_of_known_gaussians_has_its_closed_form(shift):
    """Two Gaussians at a distance d: the AUC of their ratio is Φ(|d| / √2), whichever side the members are on."""
    rng = np.random.default_rng(0)
    member = np.repeat([True, False], N)
    difficulty = rng.normal(size=2 * N)
    table = np.zeros((2 * N, 2 * WIDTH))
    table[:, [MEAN_IN, MEAN_OUT, DEVIATION_IN, DEVIATION_OUT, LOW, HIGH]] = [0, 0, 1, 1, -99, 99]
    table[:, MEAN_IN], table[:, MEAN_OUT] = difficulty + shift, difficulty
    table[:, [WIDTH + DEVIATION_IN, WIDTH + DEVIATION_OUT]] = 1.0
    size = difficulty + shift * member + rng.normal(size=2 * N)
    auc = cross_judge(explanation_references("gradient"), explain(size), member, second=table).ranking.auc
    assert auc == pytest.approx(norm.cdf(abs(shift) / math.sqrt(2)), abs=ERROR)


def test_independent_information_adds_its_closed_form():
    """The two distances add in squares.

    Given the means, φ has variance 6/5 (`test_membership_learned_references`). The distance of the size from the mean of four has
    variance 5/4, whatever the difficulty.
    """
    rng = np.random.default_rng(2)
    member, inside = np.repeat([True, False], N), references(2 * N, rng)
    phi, size = (numbers(1.0, member, inside, rng) for _ in range(2))
    expected = norm.cdf(math.sqrt((5 / 6 + 4 / 5) / 2)) - norm.cdf(math.sqrt(5 / 6 / 2))
    # Limits of φ and fitted weights move both attacks by up to 0.01.
    assert gain(phi, size, inside, member).value == pytest.approx(expected, abs=ERROR + 0.01)


@pytest.mark.parametrize("what", ["a function of the prediction", "noise"])
def test_an_explanation_without_information_adds_nothing_at_the_nominal_rate(what):
    runs, n, wrong = 20, 100, 0
    for seed in range(runs):
        rng = np.random.default_rng([3, seed])
        member, inside = np.repeat([True, False], n), references(2 * n, rng)
        phi = numbers(1.0, member, inside, rng)
        size = [-np.abs(part) for part in phi] if what != "noise" else numbers(0.0, member, inside, rng)
        wrong += gain(phi, size, inside, member).low > 0
    assert wrong / runs <= 0.025 + 4 * math.sqrt(0.025 * 0.975 / runs)


def test_the_table_is_what_its_columns_say():
    rng = np.random.default_rng(4)
    inside = references(50, rng)
    statistics = rng.normal(size=(MODELS, 50, 2))
    table = explanation_table(statistics, inside)
    for number in (0, 1):
        low, high = np.quantile(statistics[:, :, number], LIMITS)
        values, part = statistics[:, :, number].clip(low, high), table[:, number * WIDTH : (number + 1) * WIDTH]
        assert (part[:, LOW] == low).all()
        assert (part[:, HIGH] == high).all()
        for mean, deviation, had in ((MEAN_IN, DEVIATION_IN, inside), (MEAN_OUT, DEVIATION_OUT, ~inside)):
            means = [values[had[:, record], record].mean() for record in range(50)]
            squares = sum(((values[had[:, record], record] - means[record]) ** 2).sum() for record in range(50))
            np.testing.assert_allclose(part[:, mean], means)
            np.testing.assert_allclose(part[:, deviation], math.sqrt(squares / 50))


def test_gradients_that_are_rounded_to_zero_give_finite_scores():
    rng = np.random.default_rng(5)
    member, inside = np.repeat([True, False], 100), references(200, rng)
    size = numbers(0.0, member, inside, rng)
    explanation = explain(size[0])
    explanation[:5] = 0.0
    table = table_of(size[1], inside)
    lowest = np.vstack([explain(np.full(5, table[0, LOW])), explanation[5:]])
    found, held = (
        cross_judge(explanation_references("gradient"), one, member, second=table).attack_scores.score
        for one in (explanation, lowest)
    )
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:5], held[:5], atol=1e-3)


def test_the_prediction_decides_what_is_read():
    labels = learned_explanation_references("gradient:top=5", prediction="labels")
    assert labels.releases == ("gradient:top=5", "labels", "references", "references of gradient:top=5")
    assert labels.uses_labels
    values = learned_explanation_references("lrp", prediction="predictions", task="regression")
    assert values.releases == ("lrp", "squared_error", "references", "references of lrp")
