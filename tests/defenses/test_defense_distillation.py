"""Distillation: no teacher saw its record, and the student minimises the loss of the teachers' answers."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from leakscope.core.errors import InputError
from leakscope.defenses import Distillation, apply
from leakscope.defenses.distillation import DRAWN, deal, draw, teach
from leakscope.models.target import make_target

rng = np.random.default_rng(8)
N = 90
X = rng.normal(size=(N, 2))
y = (X[:, 0] + rng.normal(size=N) > 0).astype(int) + (X[:, 1] > 1)
EXACT = LogisticRegression(tol=1e-10, max_iter=10_000)


def target_of(estimator, y=y):
    return make_target(estimator.fit(X, y), (X, y), (X + 0.01, y))


def test_parts_are_even_overall_and_within_each_class():
    part = deal(y, 4, True, np.random.default_rng(0))
    assert np.ptp(np.bincount(part)) <= 1
    for code in range(3):
        assert np.ptp(np.bincount(part[y == code], minlength=4)) <= 1
    assert not np.array_equal(part, deal(y, 4, True, np.random.default_rng(1)))


def test_each_record_has_the_answer_of_its_own_teacher():
    learner, part = target_of(EXACT).learner, deal(y, 3, True, np.random.default_rng(0))
    taught = teach(learner, X, y, part, np.random.default_rng(0))
    for record in range(0, N, 10):
        others = part != part[record]
        expected = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X[others], y[others])
        assert np.allclose(taught[record], expected.predict_proba(X[record : record + 1])[0], atol=1e-6)


def test_the_gradient_of_the_student_vanishes_at_the_teachers_answers():
    """Σ_i x_i (M(x_i) - q_i) + w / C = 0 for each class, where M are the student's answers and q the teachers'."""
    target, seed = target_of(EXACT), 5
    model = Distillation().defend(target, 3).learner.fit(X, y, np.random.default_rng(seed))
    same = np.random.default_rng(seed)
    taught = teach(target.learner, X, y, deal(y, 3, True, same), same)
    estimator = model.predict.estimator
    assert np.abs(X.T @ (model.predict(X) - taught) + estimator.coef_.T).max() < 1e-4
    assert np.abs((model.predict(X) - taught).sum(axis=0)).max() < 1e-4


def test_weights_of_one_for_the_true_class_are_plain_training():
    target = target_of(make_pipeline(StandardScaler(), make_pipeline(EXACT)))
    rows, codes = np.repeat(np.arange(N), 3), np.tile(np.arange(3), N)
    model = target.learner.fit(X[rows], codes, np.random.default_rng(0), sample_weight=(codes == y[rows]) * 1.0)
    assert np.allclose(model.predict(X), target.model.predict(X), atol=1e-6)  # scaled by the same means, too


def test_a_model_that_knows_its_records_by_heart_forgets_their_labels():
    """Labels are coins: one neighbour repeats them all, and after distillation half of them."""
    records, coins = rng.normal(size=(1000, 2)), rng.integers(0, 2, 1000)
    pair = (records, coins)
    target = make_target(KNeighborsClassifier(1).fit(*pair), pair, pair)
    assert DRAWN in Distillation().defend(target, 2).notes
    known = [
        np.mean(model.predict(records).argmax(axis=1) == coins)
        for model in (target.model, apply(Distillation(), target, 2).model)
    ]
    assert known[0] == 1
    # Two records that teach each other agree together; all other pairs of agreements are independent.
    assert abs(known[1] - 0.5) < 4 * np.sqrt(2 * 0.25 / 1000)


def test_labels_are_drawn_with_their_probabilities():
    codes = draw(np.tile([0.2, 0.0, 0.5, 0.3], (20_000, 1)), np.random.default_rng(0))
    found = np.bincount(codes, minlength=4) / 20_000
    expected = np.array([0.2, 0.0, 0.5, 0.3])
    assert (np.abs(found - expected) <= 4 * np.sqrt(expected * (1 - expected) / 20_000)).all()
    assert (draw(np.eye(4), np.random.default_rng(0)) == np.arange(4)).all()


def test_teachers_values_are_the_labels_of_a_regression():
    values = X @ [1.0, -2.0] + 3
    target = target_of(LinearRegression(), values)
    assert np.allclose(apply(Distillation(), target, 5).model.predict(X), values)  # the teachers know the line exactly
    noisy = values + rng.normal(size=N)
    target = target_of(LinearRegression(), noisy)
    model, same = apply(Distillation(), target, 2, seed=4).model, np.random.default_rng(4)
    taught = teach(target.learner, X, noisy, deal(noisy, 2, False, same), same)
    assert np.allclose(model.predict(X), LinearRegression().fit(X, taught).predict(X))
    assert DRAWN not in Distillation().defend(target, 2).notes


def test_what_takes_weights():
    assert target_of(make_pipeline(StandardScaler(), LogisticRegression())).learner.takes_weights
    assert not target_of(KNeighborsClassifier()).learner.takes_weights
    own = make_target(EXACT.fit(X, y), (X, y), (X, y), fit=lambda X, y, rng: LogisticRegression().fit(X, y))
    assert not own.learner.takes_weights
    assert apply(Distillation(), own, 2).model.predict(X).shape == (N, 3)
    labels_only = apply(Distillation(), target_of(LinearSVC()), 2).model
    assert not labels_only.gives_probabilities


def test_too_few_records_and_weights_that_are_missing_are_refused():
    with pytest.raises(InputError, match=r"5.*5"):
        Distillation().defend(target_of(EXACT), 5).learner.fit(X[:5], y[:5], np.random.default_rng(0))
    with pytest.raises(InputError, match=r"LogisticRegression.*90"):
        target_of(EXACT).learner.fit(X, y, np.random.default_rng(0), sample_weight=np.full(N, np.nan))
