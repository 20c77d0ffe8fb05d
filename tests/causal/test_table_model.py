"""The causal table: relative frequencies, what it says of configurations it never saw, and its contract as a learner."""

import math

import numpy as np
import pytest
from scipy.special import softmax

from leakscope.causal import CausalTable
from leakscope.causal.kinds import TableKind
from leakscope.causal.table_model import FLOOR
from leakscope.data.records import Records
from leakscope.learners import Learner
from leakscope.worlds.training import leave_one_out, random_sets, retrain

LEVELS = (2, 3, 4)


def codes_and_labels(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, size, n) for size in LEVELS]), rng.integers(0, 3, n)


def fitted(columns=(0, 2), n=60, seed=0):
    learner, X, y = CausalTable(columns, LEVELS).prepare(*codes_and_labels(n, seed))
    return learner, X, y, learner.fit(X, y, np.random.default_rng(0))


def literal(X, y, columns, asked):
    """Shares of the classes among the training records with the same values, by a loop over records."""
    answers = []
    for row in asked:
        same = [label for other, label in zip(X, y, strict=True) if all(other[c] == row[c] for c in columns)]
        among = same or list(y)
        answers.append([among.count(k) / len(among) for k in range(3)])
    return np.array(answers)


@pytest.mark.parametrize("columns", [(), (1,), (0, 2), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("n", [12, 200])
def test_probabilities_are_the_shares_that_a_loop_counts(columns, n):
    learner, X, y, model = fitted(columns, n)
    asked = np.array([[a, b, c] for a in range(2) for b in range(3) for c in range(4)])
    np.testing.assert_allclose(learner.probabilities(model, asked), literal(X, y, columns, asked), rtol=1e-14)
    assert model.records.sum() == n
    np.testing.assert_array_equal(X, codes_and_labels(n)[0])  # data are left alone


def test_unseen_configurations_get_the_shares_of_all_and_are_said():
    X, y = np.array([[0, 0], [0, 0], [0, 1], [1, 1]]), np.array([0, 1, 1, 1])
    learner, X, y = CausalTable((0, 1), (2, 2)).prepare(X, y)
    model = learner.fit(X, y, np.random.default_rng(0))
    asked = np.array([[1, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(learner.unseen(model, asked), [True, False, False])
    np.testing.assert_array_equal(learner.probabilities(model, asked), [[0.25, 0.75], [0.5, 0.5], [0.0, 1.0]])
    assert not learner.unseen(model, X).any()


def test_log_odds_and_losses_are_those_of_the_probabilities():
    learner, X, y, model = fitted((0, 1), 2000)
    p = learner.probabilities(model, X)
    assert p.min() > 0
    outputs = learner.outputs(model, X)
    assert outputs.shape == (len(X), 2)
    np.testing.assert_allclose(softmax(np.pad(outputs, ((0, 0), (1, 0))), axis=1), p, rtol=1e-12)
    np.testing.assert_allclose(learner.losses(model, X, y), -np.log(p[np.arange(len(y)), y]), rtol=1e-14)
    np.testing.assert_array_equal(learner.parameters(model), model.probabilities[:, 1:].ravel())


def test_a_class_of_probability_zero_costs_a_finite_loss():
    learner, X, y = CausalTable((0,), (2,)).prepare(np.array([[0], [0], [1]]), np.array([0, 0, 1]))
    model = learner.fit(X, y, np.random.default_rng(0))
    losses = learner.losses(model, np.array([[0], [0]]), np.array([0, 1]))
    np.testing.assert_allclose(losses, [0.0, -math.log(FLOOR)])
    np.testing.assert_allclose(learner.outputs(model, np.array([[0], [1]]))[:, 0], [math.log(FLOOR), -math.log(FLOOR)])


def test_it_is_a_learner_that_worlds_retrain():
    """Leaving a record out changes the row of its configuration alone, by the closed form of a share."""
    learner, X, y, whole = fitted((0, 1), 80)
    assert isinstance(learner, Learner)
    seen = retrain(
        learner, X, y, leave_one_out(80), lambda model, world, rows: {"p": learner.parameters(model)}, seed=0, workers=1
    )
    for out, world in enumerate(seen):
        row = X[out, 0] * 3 + X[out, 1]
        count = whole.records[row]
        expected = whole.probabilities.copy()
        expected[row] = (count * expected[row] - (np.arange(3) == y[out])) / (count - 1)
        np.testing.assert_allclose(world["p"], expected[:, 1:].ravel(), atol=1e-14)


def test_the_stack_is_the_loop_and_order_does_not_matter():
    learner, X, y, _ = fitted((1, 2), 90)
    halves = random_sets(90, 45, 6, seed=1)
    rows = [halves.indices(number) for number in range(6)]
    rngs = [np.random.default_rng(number) for number in range(6)]
    together = learner.fit_many(X, y, rows, rngs)
    for chosen, model in zip(rows, together, strict=True):
        shuffled = np.random.default_rng(9).permutation(chosen)
        for one in (chosen, shuffled):
            alone = learner.fit(X[one], y[one], np.random.default_rng(5))
            np.testing.assert_array_equal(alone.probabilities, model.probabilities)
            np.testing.assert_array_equal(alone.records, model.records)


def test_a_kind_of_model_answers_with_the_table():
    X, y = codes_and_labels()
    people = Records(X, y.astype(np.int64), np.arange(len(y)))
    (model,) = TableKind((0, 1), LEVELS).train([people], np.array(["a", "b", "c"]), np.random.SeedSequence(0))
    np.testing.assert_array_equal(model.predict(X), literal(X, y, (0, 1), X))
    assert (model.name, model.gives_probabilities) == ("causal table", True)
