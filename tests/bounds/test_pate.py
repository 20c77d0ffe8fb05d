# ruff: noqa: ARG002  # a learner's methods take what the interface gives them
"""Votes by a literal loop, ε by closed forms and a literal accountant, and noise of the law that the theorem asks for."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from leakscope.bounds.pate import ORDERS, count_votes, epsilons, log_moments, log_overturned, pate, student
from leakscope.causal.table_model import CausalTable
from leakscope.core.errors import InputError
from leakscope.learners import Logistic, Ridge


def two_classes(records, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(records, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=records) > 0).astype(int)


@dataclass(frozen=True)
class Seen:
    """Votes for its class 1 wherever a record of the query's number is in the teacher's part: shows who has which."""

    name = "seen"
    task = "classification"

    def prepare(self, X: Any, y: Any) -> Any:
        return self, np.asarray(X), np.asarray(y)

    def check(self, X: Any, y: Any, size: int) -> None:
        pass

    def fit(self, X: Any, y: Any, rng: np.random.Generator) -> Any:
        return X[:, 0]

    def parameters(self, model: Any) -> Any:
        return model

    def outputs(self, model: Any, X: Any) -> Any:
        return np.where(np.isin(X[:, 0], model), 1.0, -1.0)[:, None]

    def losses(self, model: Any, X: Any, y: Any) -> Any:
        return np.zeros(len(X))


# --- votes ---


@pytest.mark.parametrize(("records", "teachers"), [(20, 2), (23, 5), (7, 7)])
def test_every_record_has_one_teacher(records, teachers):
    numbers = np.arange(records)[:, None]
    found = pate(Seen(), numbers, np.arange(records) % 2, numbers, teachers, gamma=1.0)
    assert (found.votes[:, 1] == 1).all()
    assert (found.votes.sum(axis=1) == teachers).all()


def test_votes_are_those_of_a_literal_loop():
    X, y = two_classes(300)
    queries = two_classes(40, seed=1)[0]
    found = pate(Logistic(l2=0.01), X, y, queries, teachers=9, gamma=0.5, seed=3)
    order = np.random.default_rng(np.random.SeedSequence((3, 0x776F726C6473), spawn_key=(0,))).permutation(300)
    votes = np.zeros((40, 2), int)
    for teacher in range(9):
        rows = order[teacher::9]
        learner, table, codes = Logistic(l2=0.01).prepare(X[rows], y[rows])
        theta = learner.fit(table, codes, np.random.default_rng(0))
        for query, x in enumerate(queries):
            votes[query, int(np.append(x, 1) @ theta > 0)] += 1
    np.testing.assert_array_equal(found.votes, votes)
    assert found.agreement.value == pytest.approx((votes.max(axis=1) / 9).mean())


def test_any_learner_votes_and_a_class_may_be_missing_among_a_teachers_records():
    codes = np.random.default_rng(0).integers(3, size=(60, 2))
    labels = np.array(["a", "b", "c"])[codes[:, 0]]
    labels[0] = "d"  # in one part only
    for learner in (CausalTable((0,), (3, 3)), DecisionTreeClassifier(random_state=0)):
        found = pate(learner, codes, labels, codes, teachers=4, gamma=10.0)
        assert found.classes.tolist() == ["a", "b", "c", "d"]
        assert (found.classes[found.votes.argmax(axis=1)] == np.array(["a", "b", "c"])[codes[:, 0]]).mean() > 0.9
    frame = pd.DataFrame(codes, columns=["left", "right"])
    tables = pate(DecisionTreeClassifier(random_state=0), frame, labels, frame, teachers=4, gamma=10.0)
    np.testing.assert_array_equal(tables.votes, found.votes)


def test_counting_is_a_loop():
    said = np.random.default_rng(0).integers(4, size=(30, 11))
    literal = [[sum(vote == label for vote in said[:, query]) for label in range(4)] for query in range(11)]
    assert count_votes(said, 4).tolist() == literal


def test_the_same_seed_gives_the_same_labels_and_the_callers_arrays_stay():
    X, y = two_classes(100)
    before = X.copy(), y.copy()
    one, again, other = (pate(Logistic(l2=0.1), X, y, X, 10, 0.3, seed=seed, workers=1) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.labels, again.labels)
    assert (one.labels != other.labels).any()
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


# --- noise ---


def coin(gamma, teachers, queries=4000, seed=0):
    """All teachers vote for class 0 out of two, on every query."""
    y = np.zeros(200, int)
    y[:100] = 1
    return pate(AlwaysFirst(), np.zeros((200, 1)), y, np.zeros((queries, 1)), teachers, gamma, seed=seed)


class AlwaysFirst(Seen):
    """A learner that says class 0 to all."""

    def outputs(self, model: Any, X: Any) -> Any:
        return np.full((len(X), 1), -1.0)


@pytest.mark.parametrize(("gamma", "teachers"), [(0.5, 4), (0.2, 20), (2.0, 2)])
def test_the_noise_is_laplace_of_scale_two_over_gamma(gamma, teachers):
    # P(A − B > m) for two Laplace numbers of scale 1/g is (2 + gm)/(4 e^{gm}), which is the q of two classes
    found = coin(gamma, teachers)
    gap = gamma / 2 * teachers
    overturned = (2 + gap) / (4 * math.exp(gap))
    share = (found.labels == 1).mean()
    assert share == pytest.approx(overturned, abs=4 * math.sqrt(overturned * (1 - overturned) / 4000))
    assert found.changed.value == share
    assert np.exp(log_overturned(found.votes[:1], gamma))[0] == pytest.approx(overturned, rel=1e-12)


def test_without_privacy_the_vote_decides_and_with_all_of_it_chance_does():
    assert (coin(50.0, 20).labels == 0).all()
    share = (coin(1e-6, 20).labels == 0).mean()
    assert share == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(4000))


def test_the_bound_on_being_overturned_holds_for_many_classes():
    rng = np.random.default_rng(0)
    for votes in ([9, 4, 3, 0], [5, 5, 2, 1], [20, 1, 1, 1]):
        noisy = (np.array(votes) + rng.laplace(scale=1 / 0.2, size=(40_000, 4))).argmax(axis=1)
        bound = math.exp(log_overturned(np.array([votes]), gamma=0.4)[0])
        assert (noisy != 0).mean() <= bound + 4 * 0.5 / math.sqrt(40_000)


# --- what it costs ---


def literal_epsilon(votes, gamma, delta):
    """The accountant of the paper, number by number; for counts whose powers of e stay in range."""
    g, best = gamma / 2, len(votes) * gamma
    for order in ORDERS:
        if gamma * order > 600:
            continue
        total = 0.0
        for row in votes:
            row = sorted(row)
            q = sum((2 + g * (row[-1] - n)) / (4 * math.exp(g * (row[-1] - n))) for n in row[:-1])
            alpha = min(2 * g**2 * order * (order + 1), 2 * g * order)
            if q < (math.exp(2 * g) - 1) / (math.exp(4 * g) - 1):
                grown = ((1 - q) / (1 - math.exp(2 * g) * q)) ** order
                alpha = min(alpha, math.log((1 - q) * grown + q * math.exp(2 * g * order)))
            total += alpha
        best = min(best, (total + math.log(1 / delta)) / order)
    return best


@pytest.mark.parametrize("gamma", [0.02, 0.2, 1.0])
def test_epsilon_is_that_of_a_literal_accountant(gamma):
    rng = np.random.default_rng(0)
    votes = rng.multinomial(100, [0.7, 0.2, 0.1], size=60)
    votes[:40] = rng.multinomial(100, [0.97, 0.02, 0.01], size=40)
    found, independent = epsilons(votes, gamma, 1e-5)
    assert found.value == pytest.approx(literal_epsilon(votes, gamma, 1e-5), rel=1e-9)
    assert found.value <= independent.value
    assert found.kind == independent.kind == "upper bound"
    assert found.method != independent.method


def test_divided_votes_cost_what_any_votes_cost_and_few_queries_are_added_up():
    found, independent = epsilons(np.tile([5, 5], (3, 1)), 0.1, 1e-5)
    assert found.value == independent.value == pytest.approx(0.3)
    assert independent.method == "simple composition"
    assert epsilons(np.tile([5, 5], (10_000, 1)), 0.1, 1e-5)[1].method == "moments accountant"


def test_the_data_dependent_moment_bounds_the_true_one():
    # two classes and votes (n, 0) against (n − 1, 1): the exact log-moments of the noisy answer, by its two probabilities
    def overturned(gap, g):
        return (2 + g * gap) / (4 * math.exp(g * gap))

    for gamma in (0.1, 0.5, 2.0):
        for n in (3, 10, 40):
            own, other = overturned(n, gamma / 2), overturned(n - 2, gamma / 2)
            log_q = log_overturned(np.array([[n, 0]]), gamma)
            for order in (1, 2, 8, 32):
                true = math.log((1 - own) * ((1 - own) / (1 - other)) ** order + own * (own / other) ** order)
                assert true <= log_moments(log_q, order, gamma)[0] + 1e-12


def test_sure_votes_cost_nothing_to_rounding_and_never_less():
    moments = log_moments(log_overturned(np.array([[100_000, 0]]), 1.0), 4, 1.0)
    assert 0 <= moments[0] < 1e-300
    assert epsilons(np.tile([100_000, 0], (10, 1)), 1.0, 1e-5)[0].value == pytest.approx(
        math.log(1e5) / max(ORDERS), rel=1e-9
    )


# --- student ---


def test_a_student_learns_what_the_teachers_agree_on():
    X, y = two_classes(3000)
    queries, truth = two_classes(400, seed=1)
    names = np.array(["no", "yes"])
    found = pate(Logistic(l2=0.01), X, names[y], queries, teachers=50, gamma=0.5)
    model = student(Logistic(l2=0.01), queries, found.labels)
    fresh, expected = two_classes(1000, seed=2)
    said = model.classes[model.predict(fresh).argmax(axis=1)]
    best = (names[(fresh[:, 0] > 0).astype(int)] == names[expected]).mean()
    assert (said == names[expected]).mean() > best - 0.05
    np.testing.assert_allclose(model.predict(fresh).sum(axis=1), 1)
    assert (names[truth] == found.labels).mean() > 0.75


def test_a_student_predicts_tables_and_one_record():
    codes = np.array([[0], [1], [2], [0], [1], [2]])
    model = student(CausalTable((0,), (3,)), codes, ["a", "b", "b", "a", "b", "b"])
    assert model.classes[model.predict(np.array([[0]])).argmax(axis=1)].tolist() == ["a"]
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    model = student(DecisionTreeClassifier(random_state=0), frame, [0, 0, 1, 1])
    assert model.predict(frame).argmax(axis=1).tolist() == [0, 0, 1, 1]


# --- refusals ---


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"learner": Ridge()}, "linear"),
        ({"learner": "guess"}, "'guess'"),
        *(({"teachers": wrong}, "teachers") for wrong in (1, 51, 2.0)),
        *(({"gamma": wrong}, "gamma") for wrong in (0.0, math.inf)),
        *(({"delta": wrong}, "delta") for wrong in (0.0, 1.0)),
        ({"queries": np.empty((0, 3))}, "queries"),
        ({"queries": np.ones((2, 2))}, r"queries.*\(2,.2\)"),
        ({"queries": pd.DataFrame(np.ones((2, 3)))}, "queries"),
        ({"y": np.zeros(50, int)}, "label"),
        ({"y": np.zeros(49, int)}, "50.*49"),
        ({"seed": -1}, "seed"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings, named):
    X, y = two_classes(50)
    given = {"learner": Logistic(l2=0.1), "X": X, "y": y, "queries": X, "teachers": 5, "gamma": 0.1}
    with pytest.raises(InputError, match=named) as refusal:
        pate(**(given | settings))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("votes", [[[1.5, 2.0]], np.ones((3, 1), int), np.empty((0, 2), int), [[-1, 2]], [3, 4]])
def test_only_counts_are_votes(votes):
    with pytest.raises(InputError, match="votes"):
        epsilons(votes, 0.1, 1e-5)


def test_a_student_of_one_label_says_it_and_one_of_values_is_refused():
    model = student(Logistic(l2=0.1), [[0.0], [1.0]], ["yes", "yes"])
    assert model.classes[model.predict(np.zeros((3, 1))).argmax(axis=1)].tolist() == ["yes"] * 3
    with pytest.raises(InputError, match="linear"):
        student(Ridge(), [[0.0], [1.0]], [0, 1])
