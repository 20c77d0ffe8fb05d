"""PATE as a defense: γ by its inverse, a swap moves one teacher, and the guarantee holds up to an audit that catches broken noise."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leakscope.bounds.epsilon import epsilon_lower_bound
from leakscope.bounds.pate import epsilons, gamma_for
from leakscope.core.errors import InputError
from leakscope.defenses import PATE, apply
from leakscope.defenses.pate import RESTS_ON
from leakscope.models.target import make_target


def people(records, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(records, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=records) > 0).astype(int)


def fitted(records=600, model=None):
    X, y = people(records)
    return make_target((model or GaussianNB()).fit(X, y), (X, y), people(200, seed=1))


PUBLIC = people(400, seed=2)[0]


# --- the noise that ε buys ---


@pytest.mark.parametrize("queries", [1, 7, 100, 5000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 40.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
def test_gamma_is_the_inverse_of_epsilon(queries, epsilon, delta):
    gamma = gamma_for(epsilon, queries, delta)
    votes = np.tile([1, 0], (queries, 1))
    spent = epsilons(votes, gamma, delta)[1].value
    assert epsilon * (1 - 1e-9) <= spent <= epsilon
    assert epsilons(votes, gamma * 1.001, delta)[1].value > epsilon  # and none is larger


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"queries": 0}, {"delta": 1.0}])
def test_gamma_of_wrong_numbers_is_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        gamma_for(**({"epsilon": 1.0, "queries": 10, "delta": 1e-5} | wrong))


def test_the_guarantee_is_the_one_asked_for_and_names_its_conditions():
    made = PATE((2.0,), teachers=20, queries=50, delta=1e-6, public=PUBLIC).defend(fitted(), 2.0)
    claim = made.guarantee
    assert (claim.epsilon, claim.delta, claim.neighbours, claim.covers) == (2.0, 1e-6, "swap", "parameters")
    assert claim.rests_on == RESTS_ON
    assert made.learner.fit.gamma == gamma_for(2.0, 50, 1e-6)
    few = PATE((2.0,), teachers=20, queries=5000, public=PUBLIC).defend(fitted(), 2.0)
    assert few.learner.fit.gamma == gamma_for(2.0, 400, 1e-5)  # no more are asked than there are


# --- teachers ---


class _Recorder:
    """A learner that keeps what it was given and always says class 0."""

    def __init__(self):
        self.seen = []

    def __call__(self, X, y, rng):  # noqa: ARG002  # what a learner is given
        self.seen.append(np.asarray(X)[:, 0])
        return lambda X: np.tile([1.0, 0.0], (len(X), 1))


def test_no_record_has_two_teachers():
    numbers, labels = np.arange(203.0)[:, None], np.arange(203) % 2
    recorder = _Recorder()
    target = make_target(
        lambda X: np.full((len(X), 2), 0.5), (numbers, labels), (numbers + 0.5, labels), fit=recorder, classes=[0, 1]
    )
    fit = PATE(1.0, teachers=10, public=-numbers - 1).defend(target, 1.0).learner.fit
    fit.votes(numbers, labels, -numbers[:5] - 1, np.random.default_rng(0))
    assert len(recorder.seen) == 10
    assert sorted(np.concatenate(recorder.seen)) == numbers[:, 0].tolist()
    assert {len(part) for part in recorder.seen} == {20, 21}


def test_votes_are_those_of_a_literal_loop():
    target = fitted(300, LogisticRegression())
    fit = PATE(1.0, teachers=7, public=PUBLIC).defend(target, 1.0).learner.fit
    X, y = target.members.X, target.members.y
    deal = np.random.default_rng(5).spawn(1)[0]
    order = deal.permutation(300)
    expected = np.zeros((40, 2), int)
    for teacher in range(7):
        rows = order[teacher::7]
        model = LogisticRegression().fit(X[rows], y[rows])
        for query in range(40):
            expected[query, model.predict(PUBLIC[query : query + 1])[0]] += 1
    np.testing.assert_array_equal(fit.votes(X, y, PUBLIC[:40], np.random.default_rng(5)), expected)


def test_a_swapped_record_moves_at_most_one_vote_of_each_query():
    # the sensitivity that the proof rests on: it would be larger if classes were dealt evenly among the teachers
    target = fitted(300)
    fit = PATE(1.0, teachers=15, public=PUBLIC).defend(target, 1.0).learner.fit
    X, y = target.members.X, target.members.y
    before = fit.votes(X, y, PUBLIC, np.random.default_rng(0))
    moved = 0
    for place in range(10):
        other, labels = X.copy(), y.copy()
        other[place], labels[place] = 50 * (1 - 2 * y[place]), 1 - y[place]
        change = np.abs(fit.votes(other, labels, PUBLIC, np.random.default_rng(0)) - before).sum(axis=1)
        assert change.max() <= 2
        moved += change.any()
    assert moved > 5  # these records do matter


def test_a_teacher_of_one_class_votes_for_it_and_one_label_makes_a_constant_student():
    X, y = people(40)
    y = (X[:, 0] > np.sort(X[:, 0])[-3]).astype(int)  # two records of class 1: most teachers see none
    target = make_target(LogisticRegression().fit(X, y), (X, y), (X + 1, y))
    made = PATE(1000.0, teachers=10, queries=5, public=np.zeros((5, 3))).defend(target, 1000.0)
    model = made.learner.fit(X, y, np.random.default_rng(0))
    np.testing.assert_array_equal(model.predict(X), np.tile([1.0, 0.0], (40, 1)))
    assert model.classes.tolist() == [0, 1]


# --- the audit of the guarantee ---


def counted(labels, epsilon, runs, seed):
    """Labels of students whose teachers have one record each, so that votes are labels; one query costs the whole ε."""
    X = np.arange(len(labels), dtype=float)[:, None]
    target = make_target(lambda X: np.full((len(X), 2), 0.5), (X, labels), (X, labels), fit=_Recorder(), classes=[0, 1])
    defense = PATE(epsilon, teachers=5, queries=1, public=np.array([[-1.0]]))
    fit = defense.defend(target, epsilon).learner.fit
    fit = type(fit)(**(vars(fit) | {"teachers": len(labels)}))
    rng = np.random.default_rng(seed)
    return [fit(X, labels, child).predict(X[:1])[0, 1] for child in rng.spawn(runs)]


@pytest.mark.parametrize("broken", [False, True])
def test_the_whole_defense_passes_and_without_noise_is_caught(broken, monkeypatch):
    if broken:
        monkeypatch.setattr("leakscope.defenses.pate.noisy_winners", lambda votes, gamma, rng: votes.argmax(axis=1))
    one = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1])  # 6 to 5, and 5 to 6 with one record swapped
    other = np.array([1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    bound = epsilon_lower_bound(counted(other, 2.0, 400, 0), counted(one, 2.0, 400, 1)).value
    assert (bound > 2.0) == broken


# --- the student ---


def table(records, seed):
    X, y = people(records, seed)
    jobs = np.array(["cook", "judge", "nurse"])[np.random.default_rng(seed).integers(3, size=records)]
    return pd.DataFrame({"a": X[:, 0], "job": jobs}), np.where(y == 1, "yes", "no")


def test_public_records_that_are_the_audits_own_are_named():
    target = fitted()
    held = PATE(1.0, public=np.vstack([target.nonmembers.X[:30], PUBLIC[:70]])).defend(target, 1.0)
    assert {"30", "100"} < set(held.notes[-1].split())
    assert held.guarantee is not None
    trained = PATE(1.0, public=np.vstack([target.members.X[:1], PUBLIC[:99]])).defend(target, 1.0)
    assert {"1", "100"} < set(trained.notes[-1].split())
    assert trained.guarantee is None, "what the proof rests on is not so"
    assert len(PATE(1.0, public=PUBLIC).defend(target, 1.0).notes) == 1


# --- refusals ---


def test_what_cannot_be_defended_is_refused_by_name():
    target, (X, y) = fitted(), people(600)
    regression = make_target(LinearRegression().fit(X, X[:, 1]), (X, X[:, 1] + 0.5), (X, X[:, 1] + 0.5))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    table = make_target(LogisticRegression().fit(frame, y), (frame, y), (frame, y))
    for defense, given, named in [
        (PATE(), target, "--public"),
        (PATE(public=PUBLIC), regression, "regression"),
        (PATE(public=PUBLIC, teachers=301), target, "300"),
        (PATE(public=PUBLIC[:, :2]), target, "(2,)"),
        (PATE(public=PUBLIC[:0]), target, "--public"),
        (PATE(public=PUBLIC), table, "columns"),
        (PATE(public=frame[["a", "b"]]), table, "'c'"),
    ]:
        reason = defense.refuse(given)
        assert named in reason
        assert "\n" not in reason


def test_a_teacher_that_cannot_read_a_public_record_says_what_helps():
    train = table(60, 0)
    encode = make_column_transformer((StandardScaler(), ["a"]), (OneHotEncoder(), ["job"]))
    target = make_target(make_pipeline(encode, LogisticRegression()).fit(*train), train, train)
    strange = train[0].assign(job="baker")
    with pytest.raises(InputError, match="teachers"):
        apply(PATE(1.0, teachers=4, public=strange), target, 1.0)
