"""Attribute inference on small distributions whose best advantage follows by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from leakscope.attacks import inversion
from leakscope.attacks.attribute_inversion import posterior
from leakscope.studies.attributes import attribute_inference
from leakscope.studies.attributes.result import column_claims

N = 4000


class World:
    """Columns of a few levels with a joint distribution; the last one is the label."""

    def __init__(self, sizes, probability):
        self.cells = list(product(*map(range, sizes)))
        self.weights = np.array([probability(*cell) for cell in self.cells])
        assert np.isclose(self.weights.sum(), 1)

    def draw(self, n, seed=0):
        rng = np.random.default_rng(seed)
        rows = np.array(self.cells)[rng.choice(len(self.cells), n, p=self.weights)]
        return rows[:, :-1], rows[:, -1]

    def best(self, sensitive, seen):
        """Largest mean over levels of Pr(A = v | v) - Pr(A = v | not v), for one who sees ``seen(cell)``, by enumeration."""
        levels = 1 + max(cell[sensitive] for cell in self.cells)
        share = np.zeros(levels)
        together: dict[object, np.ndarray] = {}
        for cell, weight in zip(self.cells, self.weights, strict=True):
            share[cell[sensitive]] += weight
            together.setdefault(seen(cell), np.zeros(levels))[cell[sensitive]] += weight
        given = [(each / share - (each.sum() - each) / (1 - share)).max() for each in together.values()]
        return sum(given) / levels


def bernoulli(p, value):
    return p if value else 1 - p


CAUSE, OTHER, FEATURE = 0, 1, 2
#: Levels of the feature for each level of the cause.
TABLE = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])


@pytest.fixture(scope="module")
def downstream():
    """Cause C → label Y, and C → feature S of three levels: S is no cause of Y. Z is noise."""
    return World((2, 2, 3, 2), lambda c, z, s, y: bernoulli(0.4, c) * 0.5 * TABLE[c, s] * bernoulli(0.2 + 0.6 * c, y))


def causal_model(X):
    """Pr(Y | C): reads the cause alone."""
    return 0.2 + 0.6 * X[:, CAUSE]


def holds(estimate, truth):
    return estimate.low <= truth <= estimate.high


def risk(world, model, sensitive, n=N, **settings):
    X, y = world.draw(n)
    return attribute_inference(model, X, y, sensitive, confidence=0.999, **settings)


# --- [tople2020, Thm 7], where it holds -----------------------------------------------------------------------------


def test_who_knows_the_causes_gains_exactly_nothing_about_another_feature(downstream):
    found = risk(downstream, causal_model, FEATURE).records
    output = found.attack("inversion of the output")
    assert (output.gain.value, output.gain_auc.value) == (0.0, 0.0)
    assert output.advantage == found.baseline_advantage
    learned = found.attack("learned")
    assert abs(learned.gain.value) <= learned.gain.high - learned.gain.low  # the answer is a column it had already
    assert learned.beyond_control.value == 0.0  # the model's answers are the same without the feature


def test_by_label_a_model_without_the_feature_leaves_the_prior_of_who_does_not_know_the_label(downstream):
    X, y = downstream.draw(1000)
    (found,) = attribute_inference(causal_model, X, y, FEATURE, attacks=[inversion("label")]).records.attacks
    blind = attribute_inference(causal_model, X, y, FEATURE, knows_label=False).records
    assert found.advantage.value == blind.baseline_advantage.value
    assert found.auc.value == blind.baseline_auc.value


# --- [tople2020, Thm 7], where it fails -----------------------------------------------------------------------------


def test_who_does_not_know_a_cause_learns_of_it_and_through_it_of_the_feature(downstream):
    """As printed, a causal model makes it impossible to infer a feature that is no cause; here it is the only help."""
    found = risk(downstream, causal_model, FEATURE, known=[OTHER], knows_label=False).records
    truth = downstream.best(FEATURE, lambda cell: (cell[CAUSE], cell[OTHER]))
    nothing = downstream.best(FEATURE, lambda cell: cell[OTHER])
    assert nothing == pytest.approx(0)
    assert holds(found.baseline_advantage, 0)
    for name in ("inversion of the output", "learned"):
        attack = found.attack(name)
        assert holds(attack.advantage, truth)
        assert holds(attack.gain, truth)
        assert attack.gain.low > 0.2
    learned = found.attack("learned")
    assert learned.control.value == learned.gain.value
    assert learned.beyond_control.value == 0.0  # all of it comes by the cause


def test_with_the_label_the_answer_still_adds_what_the_enumeration_says(downstream):
    found = risk(downstream, causal_model, FEATURE, known=[]).records
    with_answer = downstream.best(FEATURE, lambda cell: (cell[CAUSE], cell[3]))
    without = downstream.best(FEATURE, lambda cell: cell[3])
    assert with_answer > without + 0.1
    assert holds(found.baseline_advantage, without)
    assert holds(found.attack("learned").gain, with_answer - without)


# --- a causal feature -----------------------------------------------------------------------------------------------


LEVELS = np.array([[0.1, 0.14], [0.3, 0.8]])  # of Pr(Y = 1) for each A and S


@pytest.fixture(scope="module")
def upstream():
    """A and S are both causes of Y, and go together a little."""
    return World((2, 2, 2), lambda a, s, y: 0.5 * bernoulli(0.3 + 0.2 * a, s) * bernoulli(LEVELS[a, s], y))


@pytest.mark.parametrize("digits", [None, 1])
def test_a_cause_is_given_away_as_far_as_the_answers_differ(upstream, digits):
    """With all digits, A and the answer determine S; with one, 0.1 and 0.14 are equal and only A = 1 does."""
    found = risk(upstream, lambda X: LEVELS[X[:, 0], X[:, 1]], 1, digits=digits).records
    shown = LEVELS if digits is None else np.round(LEVELS, digits)
    truth = upstream.best(1, lambda cell: (cell[0], cell[2], shown[cell[0], cell[1]]))
    without = upstream.best(1, lambda cell: (cell[0], cell[2]))
    assert truth == 1.0 if digits is None else without + 0.1 < truth < 0.9
    for name in ("inversion of the output", "learned"):
        assert holds(found.attack(name).advantage, truth)
        assert holds(found.attack(name).gain, truth - without)
    assert holds(found.attack("learned").control, 0)
    assert holds(found.attack("learned").beyond_control, truth - without)


def test_by_the_label_the_true_model_does_as_well_as_all_the_data(upstream):
    """With Pr(Y | A, S) itself for a model, prior times likelihood is Bayes' rule: the baseline's own, and no gain."""
    found = risk(upstream, lambda X: LEVELS[X[:, 0], X[:, 1]], 1).records
    truth = upstream.best(1, lambda cell: (cell[0], cell[2]))
    assert holds(found.attack("by the label").advantage, truth)
    assert holds(found.attack("by the label").gain, 0)


def test_by_the_label_of_a_regression_it_reaches_the_normal_law():
    """Y = s·τ + N(0, σ²) and S even: the nearer of two means is right with Φ(τ/2σ), an advantage of 2Φ(τ/2σ) - 1."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (N, 2)).astype(float)
    y = 1.5 * X[:, 1] + rng.normal(size=N)
    found = attribute_inference(lambda X: 1.5 * X[:, 1], X, y, 1, task="regression", confidence=0.999).records
    assert holds(found.attack("by the label").advantage, 2 * ndtr(0.75) - 1)
    assert found.attack("inversion of the output").advantage.value == 1.0


# --- membership -----------------------------------------------------------------------------------------------------


def test_a_model_that_remembers_its_training_set_gives_its_records_away():
    """It knows the label of the records that it has seen and says one half of all others: of the two levels of a record
    that was seen, the true one is twice as likely, which decides unless the prior, fitted to noise, is more than two to
    one against it; of others both are as likely.
    """
    rng = np.random.default_rng(0)
    n = 1000
    X = np.column_stack([np.arange(2 * n), rng.integers(0, 2, 2 * n)]).astype(float)
    y = rng.integers(0, 2, 2 * n)
    seen = {(row[0], row[1]): label for row, label in zip(X[:n], y[:n], strict=True)}

    def remembers(X):
        return np.array([seen.get((row[0], row[1]), 0.5) for row in X])

    found = attribute_inference(
        remembers, X[n:], y[n:], 1, train=(X[:n], y[:n]), attacks=[inversion("label")], confidence=0.999
    )
    assert found.members.attacks[0].advantage.low > 0.8
    assert holds(found.records.attacks[0].gain, 0)
    assert found.members.attacks[0].beyond_holdout.low > 0.7
    assert [claim.outcome for claim in column_claims(found, 0.05) if claim.code == "members_leak_more"] == ["yes"]


# --- Bayes' rule ----------------------------------------------------------------------------------------------------


def test_the_posterior_is_that_of_a_loop():
    rng = np.random.default_rng(0)
    prior, likelihood = rng.dirichlet(np.ones(4), 50), rng.random((50, 4))
    literal = [[p * q / sum(np.multiply(ps, qs)) for p, q in zip(ps, qs, strict=True)] for ps, qs in zip(prior, likelihood, strict=True)]  # fmt: skip
    assert np.allclose(posterior(prior, likelihood), literal, atol=1e-9)


@pytest.mark.parametrize("height", [0.0, 1e-30, 0.3, 1.0])
def test_an_even_likelihood_leaves_the_prior_to_the_last_bit(height):
    prior = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    assert np.array_equal(posterior(prior, np.full((50, 3), height)), prior)
