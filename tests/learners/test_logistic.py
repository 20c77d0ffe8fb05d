"""Logistic regression: every model of a stack is at the minimum, and training sets without a minimum are refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from leakscope.core.errors import InputError
from leakscope.learners import Logistic, linear

RNG = np.random.default_rng(0)


def universe(records: int = 120, columns: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(records, columns))
    return X, (X @ rng.normal(size=columns) + rng.logistic(size=records) > 0).astype(int)


def draw(records: int, size: int, draws: int) -> list[Any]:
    rng = np.random.default_rng(1)
    return [rng.choice(records, size, replace=False) for _ in range(draws)]


def gradient(theta: Any, X: Any, y: Any, l2: float) -> Any:
    """Gradient of λθᵀθ + mean log-loss, record by record."""
    terms = [(1 / (1 + np.exp(-x @ theta)) - label) * x for x, label in zip(X, y, strict=True)]
    return 2 * l2 * theta + sum(terms) / len(terms)


@pytest.mark.parametrize("l2", [0.0, 1e-8, 1e-3, 0.1, 100.0])
def test_every_model_is_at_the_minimum(l2: float) -> None:
    learner, X, y = Logistic(l2).prepare(*universe())
    sets = draw(120, 60, 40)
    for drawn, theta in zip(sets, learner.fit_many(X, y, sets, []), strict=True):
        scale = np.linalg.norm(X[drawn], axis=1).mean()
        assert np.linalg.norm(gradient(theta, X[drawn], y[drawn], l2)) <= 1e-10 * scale


@pytest.mark.parametrize(("l2", "size"), [(1e-4, 40), (0.01, 40), (0.01, 5), (1.0, 40)])
def test_the_models_are_those_of_scikit_learn(l2: float, size: int) -> None:
    # λθᵀθ is 2λ-strongly convex, so that two points with gradients g and h are at most |g - h| / 2λ apart.
    learner, X, y = Logistic(l2).prepare(*universe())
    sets = [drawn for drawn in draw(120, size, 12) if 0 < y[drawn].sum() < size]
    assert len(sets) > 5
    for drawn, theta in zip(sets, learner.fit_many(X, y, sets, []), strict=True):
        peer = LogisticRegression(
            C=1 / (2 * l2 * size), fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000
        )
        truth = peer.fit(X[drawn], y[drawn]).coef_[0]
        slopes = [gradient(point, X[drawn], y[drawn], l2) for point in (theta, truth)]
        assert np.linalg.norm(theta - truth) <= np.linalg.norm(slopes[0] - slopes[1]) / (2 * l2) + 1e-14
        assert np.linalg.norm(theta - truth) < 1e-6
        odds = peer.decision_function(X)
        assert np.abs(learner.outputs(theta, X)[:, 0] - odds).max() < 1e-5
        probability = peer.predict_proba(X)[np.arange(120), y]
        assert np.abs(learner.losses(theta, X, y) + np.log(probability)).max() < 1e-5


def test_hardly_penalised_separable_classes_end_far_out_but_at_the_minimum() -> None:
    # Two records at ±1: θ solves 2λθ = 1 / (1 + e^θ); the gradient alone is below 1e-10 long before.
    learner, X, y = Logistic(1e-12, intercept=False).prepare([[1.0], [-1.0]], [1, 0])
    (theta,) = learner.fit(X, y, RNG)
    assert 2e-12 * theta * (1 + np.exp(theta)) == pytest.approx(1, rel=1e-4)
    assert theta > 20


def test_training_sets_without_a_minimum_are_counted() -> None:
    x = np.array([-2.0, -1.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    y = np.array([0, 0, 0, 1, 1, 1, 0])
    learner, X, codes = Logistic().prepare(x[:, None], y)
    overlapping, separable = np.arange(7), np.array([0, 1, 4, 5])
    touching = np.array([0, 2, 3, 5])  # both classes at 0: the loss decreases without a minimum, but not to 0
    one_class, constant = np.array([0, 1, 2]), np.array([2, 3, 2, 3])
    learner.fit_many(X, codes, [overlapping], [])
    for bad in (separable, touching, one_class, constant):
        with pytest.raises(InputError, match=r"^1\b.*\b2\b.*l2"):
            learner.fit_many(X, codes, [overlapping, bad], [])
    with pytest.raises(InputError, match=r"^3\b.*\b4\b.*l2"):
        learner.fit_many(X, codes, [separable, overlapping, touching, one_class], [])
    penalised, X, codes = Logistic(1e-4).prepare(x[:, None], y)
    assert np.isfinite(penalised.fit_many(X, codes, [separable, touching, one_class, constant], [])[2]).all()


def has_minimum(X: Any, y: Any) -> bool:
    """Whether a minimum exists: no direction improves some log-odds and worsens none (linear programme)."""
    rows = X * np.where(y == 1, 1.0, -1.0)[:, None]
    best = linprog(-rows.sum(axis=0), -rows, np.zeros(len(rows)), bounds=(-1, 1))
    return bool(-best.fun < 1e-9 and np.linalg.matrix_rank(X) == X.shape[1])


@pytest.mark.parametrize("whole", [False, True])
def test_sets_without_a_minimum_are_those_that_a_linear_programme_names(whole: bool) -> None:
    # With integers, records can lie on the hyperplane, and columns can be dependent.
    rng = np.random.default_rng(5)
    found = []
    for _ in range(150):
        X = rng.normal(size=(9, 2))
        X = np.round(X) if whole else X
        y = (X[:, 0] + rng.normal(size=9) > 0).astype(int)
        X = np.column_stack([X, np.ones(9)])
        found.append(has_minimum(X, y))
        if found[-1]:
            theta = Logistic().fit(X, y, rng)
            assert np.linalg.norm(gradient(theta, X, y, 0.0)) < 1e-9
        else:
            with pytest.raises(InputError, match=r"^1\b.*\b1\b.*l2"):
                Logistic().fit(X, y, rng)
    assert 20 < sum(found) < 130


def test_the_numbers_depend_on_neither_company_nor_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, X, y = Logistic(0.01).prepare(*universe(columns=6))
    sets = [*draw(120, 50, 9), *draw(120, 20, 4)]
    with threadpool_limits(1):
        many = learner.fit_many(X, y, sets, [])
    alone = [learner.fit(X[drawn], y[drawn], RNG) for drawn in sets]
    assert all(map(np.array_equal, many, alone))
    monkeypatch.setattr(linear, "BLOCK", 1)
    assert all(map(np.array_equal, many, learner.fit_many(X, y, sets[::-1], [])[::-1]))


def test_units_of_the_columns_do_not_matter() -> None:
    X, y = universe()
    units = np.array([1e-6, 1.0, 1e6])
    plain, scaled = (Logistic(intercept=False).fit(features, y, RNG) for features in (X, X * units))
    assert np.abs(scaled * units / plain - 1).max() < 1e-8


def test_labels_of_any_two_kinds_and_no_more() -> None:
    X, y = universe()
    for labels in (y, y.astype(bool), np.array(["no", "yes"])[y], y * 2.5 - 7, pd.Series(y, dtype="category")):
        learner, _, codes = Logistic().prepare(X, labels)
        assert np.array_equal(codes, y)
        assert len(learner.classes) == 2
    with pytest.raises(InputError, match=r"3.*LogisticRegression"):
        Logistic().prepare(X, np.arange(120) % 3)
    with pytest.raises(InputError, match="label"):
        Logistic().prepare(X, np.ones(120, dtype=int))


def test_bad_input_is_refused_by_name() -> None:
    X, y = universe()
    with pytest.raises(InputError, match="l2"):
        Logistic(-1)
    with pytest.raises(InputError, match=r"missing.*\b0\b"):
        Logistic().prepare(np.where(X > 2, np.nan, X)[:, :1], y)
    learner, table, codes = Logistic().prepare(np.column_stack([X, np.ones(120)]), y)
    with pytest.raises(InputError, match="'3'"):
        learner.check(table, codes, 50)
    with pytest.raises(InputError, match="121"):
        learner.check(table, codes, 121)
