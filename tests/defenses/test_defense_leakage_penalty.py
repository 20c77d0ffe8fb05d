"""Leakage penalty: the mean leakage is conserved (Proposition 1), and no record exceeds 1/κ times it (Proposition 2)."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leakscope.core.errors import InputError
from leakscope.defenses import LeakagePenalty, apply
from leakscope.defenses.leakage_penalty import NOT_PROVEN
from leakscope.learners import Logistic, Ridge, leakage_penalty
from leakscope.learners.leakage_penalty import LeakagePenalised, leakages
from leakscope.models.target import make_target
from leakscope.studies.leakage import membership_leakage

RNG = np.random.default_rng(0)
TRUTH = np.array([1.0, -1.0, 0.5])
plains = pytest.mark.parametrize("plain", [Ridge(0.01), Logistic(0.01)], ids=["ridge", "logistic"])


def records(plain, n=80, seed=0, tails=3.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(tails, (n, 3))
    y = X @ TRUTH + rng.standard_t(tails, n)
    return X, (y > 0).astype(int) if isinstance(plain, Logistic) else y


def balanced(plain, weight, X, y):
    """One training set in balance, from parameters of 0."""
    learner, rows, labels = LeakagePenalised(plain, weight).prepare(X, y)
    found = learner.balance(rows, labels, np.arange(len(labels))[None], [np.zeros(rows.shape[1])])
    return rows, labels, found.theta[0], found.weights[0], found.leakages[0]


def gradients(plain, rows, labels, theta):
    """Gradient of each record's loss and its share of the penalty."""
    outputs = rows @ theta
    slope = expit(outputs) - labels if isinstance(plain, Logistic) else -2 * (labels - outputs)
    return slope[:, None] * rows + 2 * plain.l2 * theta


def literal(plain, weight, rows, labels):
    """The definition, slowly: a scatter in its own fixed point at every turn, then weights, then a fit to the end."""
    theta = plain.fit(rows, labels, RNG)
    n, p = rows.shape
    B = np.eye(p)
    for _ in range(100):
        g = gradients(plain, rows, labels, theta)
        for _ in range(30):
            w = (1 + weight * np.einsum("ni,ij,nj->n", g, np.linalg.inv(B), g) / p) ** -0.5
            B = (g * w[:, None] ** 2).T @ g / n
        for _ in range(10):
            outputs = rows @ theta
            chance = expit(outputs)
            slope, bend = (
                (chance - labels, chance * (1 - chance))
                if isinstance(plain, Logistic)
                else (-2 * (labels - outputs), 2 + 0 * outputs)
            )
            hessian = (rows * (w * bend)[:, None]).T @ rows / w.sum() + 2 * plain.l2 * np.eye(p)
            theta = theta - np.linalg.solve(hessian, rows.T @ (w * slope) / w.sum() + 2 * plain.l2 * theta)
    return theta


# --- Proposition 1: the mean is conserved -------------------------------------------------------------------------------


@pytest.mark.parametrize("tails", [3.0, 100.0])
def test_the_mean_of_first_order_leakages_is_the_rank_whatever_the_scores(tails):
    scores = np.random.default_rng(1).standard_t(tails, (50, 4))
    assert leakages(scores).mean() == pytest.approx(4, rel=1e-12)
    assert leakages(scores).max() > 4
    assert leakages(scores[:, [0, 1, 1, 0]]).mean() == pytest.approx(2, rel=1e-12)
    assert leakages(scores[:3]).mean() == pytest.approx(3, rel=1e-12)
    assert np.allclose(leakages(scores @ RNG.normal(size=(4, 4))), leakages(scores))


def test_measured_leakage_is_that_of_proposition_1_whatever_l2():
    """[farokhi2020, Def. 2]: l2 over five orders of magnitude leaves the mean over all records at d / n(1 - n/N).

    What Proposition 1 leaves out is, for Gaussian records, about 2d(d + 2)/(dn) = 0.016 of it (unequal covariances); the
    covariance of 2 parameters from 2,000 draws is known to sqrt(2/4000) = 0.022: 0.1 is four deviations beyond the first.
    """
    X = np.random.default_rng(2).normal(size=(3000, 1))
    y = 2 * X[:, 0] + np.random.default_rng(3).normal(size=3000)
    n, N = 500, 3000
    for l2 in (1e-3, 100.0):
        plain, rows, labels = Ridge(l2).prepare(X, y)
        expected = leakages(gradients(plain, rows, labels, plain.fit(rows, labels, RNG))) / (n * (1 - n / N))
        assert expected.mean() == pytest.approx(2 / (n * (1 - n / N)), rel=1e-9)
        found = membership_leakage(Ridge(l2), X, y, size=n, records=60, draws=2000, workers=1).records
        assert found["kl"].mean() == pytest.approx(expected[found["record"]].mean(), rel=0.1)
        assert np.corrcoef(found["kl"], expected[found["record"]])[0, 1] > 0.98


def test_the_measured_worst_record_leaks_less_and_the_mean_does_not():
    X, y = records(Ridge(0.01), n=240, seed=5)
    plain, penalised = (
        membership_leakage(learner, X, y, size=60, records=24, draws=80, workers=1)
        for learner in (Ridge(0.01), LeakagePenalised(Ridge(0.01), 0.5))
    )
    assert penalised.point.rho_kl_worst.value < plain.point.rho_kl_worst.value / 2
    assert penalised.rho_kl_median.value > plain.rho_kl_median.value  # what one record is spared, others bear


# --- Proposition 2: the balance -----------------------------------------------------------------------------------------


@plains
@pytest.mark.parametrize("weight", [0.1, 0.5, 0.8])
def test_in_balance_the_definitions_hold(plain, weight):
    rows, labels, theta, w, found = balanced(plain, weight, *records(plain, n=150))
    g = gradients(plain, rows, labels, theta)
    B = (g * w[:, None] ** 2).T @ g / len(g)
    lengths = np.einsum("ni,ij,nj->n", g, np.linalg.inv(B), g)
    assert np.allclose(w, (1 + weight * lengths / 4) ** -0.5, rtol=1e-5)
    assert np.allclose(found, w**2 * lengths, rtol=1e-5)
    assert np.allclose(found, leakages(w[:, None] * g), rtol=1e-5)
    assert found.mean() == pytest.approx(4, rel=1e-6)
    assert found.max() <= 4 / weight * (1 + 1e-9)
    assert (w**2).mean() == pytest.approx(1 - weight, rel=1e-6)


@plains
def test_a_slow_literal_iteration_comes_to_the_same(plain):
    rows, labels, theta, *_ = balanced(plain, 0.5, *records(plain))
    slow = literal(plain, 0.5, rows, labels)
    assert np.linalg.norm(theta - slow) < 1e-5 * np.linalg.norm(slow)


@plains
def test_weight_zero_is_plain_l2(plain):
    X, y = records(plain)
    rows, labels, theta, w, _ = balanced(plain, 0.0, X, y)
    expected = plain.fit(rows, labels, RNG)
    assert np.abs(theta - expected).max() < 1e-8
    assert (w == 1).all()
    learner, rows, labels = LeakagePenalised(plain, 0.0).prepare(X, y)
    assert (learner.fit(rows, labels, RNG) == expected).all()


# --- the learner --------------------------------------------------------------------------------------------------------


@plains
def test_the_order_of_records_does_not_matter_and_a_stack_is_its_single_fits(plain):
    X, y = records(plain)
    learner, rows, labels = LeakagePenalised(plain, 0.5).prepare(X, y)
    order = np.random.default_rng(6).permutation(len(y))
    sets = [np.arange(60), np.arange(20, 80), order, np.arange(60)]
    models = learner.fit_many(rows, labels, sets, [])
    assert (models[0] == models[3]).all()
    for drawn, model in zip(sets, models, strict=True):
        alone = learner.fit(rows[drawn], labels[drawn], RNG)
        assert np.allclose(model, alone, rtol=0, atol=1e-12)
        assert np.allclose(alone, learner.fit(rows[np.sort(drawn)], labels[np.sort(drawn)], RNG), atol=1e-6)


def test_labels_in_other_units_and_classes_in_other_order():
    X, y = records(Ridge(0.01))
    first, second = (balanced(Ridge(0.01), 0.5, X, labels)[2] for labels in (y, -1000 * y))
    assert np.allclose(-1000 * first, second, rtol=1e-5, atol=1e-5)
    X, y = records(Logistic(0.01))
    first, second = (balanced(Logistic(0.01), 0.5, X, labels)[2] for labels in (y, 1 - y))
    assert np.allclose(first, -second, atol=1e-6)


@plains
def test_constant_dependent_and_large_columns_do_no_harm(plain):
    X, y = records(plain)
    wide = np.column_stack([X, np.zeros(len(X)), 2 * X[:, 0], np.ones(len(X)), 1e6 * X[:, 1]])
    *_, w, found = balanced(plain, 0.5, wide, y)
    assert found.mean() == pytest.approx(4, rel=1e-5)  # three columns and the intercept are all there is
    assert (w**2).mean() == pytest.approx(0.5, rel=1e-5)


@plains
@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_fewer_records_than_parameters_give_a_model(plain, n):
    X, y = records(plain)
    learner, rows, labels = LeakagePenalised(plain, 0.3).prepare(X, y)
    assert np.isfinite(learner.fit(rows[:n], labels[:n], RNG)).all()


def test_a_record_that_alone_carries_a_column_loses_its_weight():
    X, y = records(Ridge(0.01), tails=100.0)
    alone = np.column_stack([X, np.arange(len(X)) == 7])
    rows, _, theta, w, _ = balanced(Ridge(0.01), 0.5, alone, y)
    assert w.argmin() == 7
    assert w[7] < 0.05
    assert rows.shape[1] == len(theta) == 5


def test_what_can_not_be_is_refused_by_name(monkeypatch):
    for weight in (-0.1, 1.0, np.nan, "0.5", True):
        with pytest.raises(InputError, match="weight"):
            LeakagePenalised(Ridge(0.1), weight)
    for plain in (Ridge(0.0), "ridge"):
        with pytest.raises(InputError, match="l2"):
            LeakagePenalised(plain, 0.5)
    monkeypatch.setattr(leakage_penalty, "STEPS", 2)
    learner, rows, labels = LeakagePenalised(Ridge(0.01), 0.8).prepare(*records(Ridge(0.01)))
    with pytest.raises(InputError, match=r"1\b.*1\b.*0\.8\b"):
        learner.fit(rows, labels, RNG)


# --- the defense --------------------------------------------------------------------------------------------------------


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40, 10, n), "job": rng.choice(["a", "b", "c"], n)})
    odds = (frame["age"] - 40) / 10 + (frame["job"] == "a")
    return frame, np.where(odds + rng.logistic(size=n) > 0, "yes", "no")


@pytest.fixture(scope="module")
def piped():
    """A pipeline on a table with text."""
    (X, y), (other, other_y) = table(), table(seed=1)
    encode = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(handle_unknown="ignore"), ["job"]))
    return make_target(make_pipeline(encode, LogisticRegression()).fit(X, y), (X, y), (other, other_y))


@pytest.fixture(scope="module")
def valued():
    """A regression on an array."""
    X, y = records(Ridge(0.01), n=160)
    return make_target(LinearRegression().fit(X[:80], y[:80]), (X[:80], y[:80]), (X[80:], y[80:]))


def test_nothing_is_guaranteed(piped):
    made = LeakagePenalty().defend(piped, 0.3)
    assert made.guarantee is None
    assert NOT_PROVEN in made.notes


def test_at_weight_zero_it_is_plain_l2_on_encoded_records(piped):
    from leakscope.models.encoding import make_encoding

    plain, rows, labels = Logistic(0.05).prepare(make_encoding(piped)(piped.members.X), piped.members.y)
    expected = expit(plain.outputs(plain.fit(rows, labels, RNG), rows)[:, 0])
    model = apply(LeakagePenalty(0, l2=0.05), piped, 0).model
    assert np.allclose(model.predict(piped.members.X)[:, 1], expected, atol=1e-8)
    assert LeakagePenalty(0).defend(piped, 0).notes == ()


def test_values_may_lie_anywhere(valued):
    X, y = valued.members.X, valued.members.y
    there = make_target(LinearRegression().fit(X, y + 1e4), (X, y + 1e4), (X, y + 1e4))
    near, far = (apply(LeakagePenalty(), target, 0.5).model.predict(X) for target in (valued, there))
    assert near.shape == (80,)
    assert np.allclose(near + 1e4, far, atol=1e-6)


def test_a_set_of_one_class_gives_a_model(piped):
    members = piped.members.take(np.flatnonzero(piped.members.y == 1)[:20])
    answers = LeakagePenalty().defend(piped, 0.2).learner.fit(members.X, members.y, RNG).predict(members.X)
    assert (answers[:, 1] > 0.5).all()


def test_three_classes_are_refused():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    target = make_target(LogisticRegression().fit(X, y), (X, y), (X, y))
    with pytest.raises(InputError, match=r"leakage-penalty.*3"):
        apply(LeakagePenalty(), target, 0.2)
