"""Leave-one-out ridge regression: each closed form is the refit, whatever the shape and however small the penalty."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from leakscope.core.errors import InputError
from leakscope.releases.record_explanations import most_influential
from leakscope.releases.record_explanations.ridge import leave_one_out_ridge


def records(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3.0
    return X, X[:, 0] * 2 + rng.normal(size=n)


def refits(X: Any, y: Any, penalty: float) -> tuple[Any, Any]:
    """Weights and constants of n fits by scikit-learn, one after the other."""
    models = []
    for record in range(len(y)):
        others = np.delete(np.arange(len(y)), record)
        peer = Ridge(alpha=penalty, solver="svd") if penalty else LinearRegression()
        models.append(peer.fit(X[others], y[others]))
    return np.array([model.coef_ for model in models]), np.array([model.intercept_ for model in models])


@pytest.mark.parametrize(
    ("n", "d", "penalty"),
    [(40, 5, 1.0), (40, 5, 0.0), (12, 30, 0.1), (12, 30, 1e-9), (12, 11, 1e-9), (12, 12, 2.0), (2, 3, 1.0)],
)
def test_every_model_is_the_refit(n: int, d: int, penalty: float) -> None:
    # Singular values of these records lie in [0.1, 20]: a hundred times the rounding of a solve at such condition.
    X, y = records(n, d)
    loo = leave_one_out_ridge(X, y, penalty)
    coef, intercept = refits(X, y, penalty)
    np.testing.assert_allclose(loo.coef, coef, atol=1e-11)
    np.testing.assert_allclose(loo.intercept, intercept, atol=1e-10)


@pytest.mark.parametrize("penalty", [1e-9, 1e-13])
def test_a_record_that_alone_fills_a_column(penalty: float) -> None:
    X, y = records(30, 5)
    X[1:, 2] = 3.0
    loo = leave_one_out_ridge(X, y, penalty)
    coef, intercept = refits(X, y, penalty)
    assert loo.leverage[0] > 1 - 1e-7  # where dividing by 1 - h would lose nine digits
    assert abs(loo.coef[0, 2]) < 1e-14  # without the record the column is constant
    np.testing.assert_allclose(loo.coef, coef, atol=1e-11)
    np.testing.assert_allclose(loo.intercept, intercept, atol=1e-10)


def test_influences_are_differences_of_squared_errors() -> None:
    X, y = records(25, 4)
    points, values = records(7, 4, seed=1)
    loo = leave_one_out_ridge(X, y, 0.5)
    full = Ridge(alpha=0.5).fit(X, y)
    coef, intercept = refits(X, y, 0.5)
    without = points @ coef.T + intercept
    np.testing.assert_allclose(loo.predict(points), full.predict(points), atol=1e-11)
    np.testing.assert_allclose(loo.predict_without(points), without, atol=1e-11)
    expected = (values[:, None] - without) ** 2 - ((values - full.predict(points)) ** 2)[:, None]
    np.testing.assert_allclose(loo.influences(points, values), expected, atol=1e-9)


def test_leverages_sum_to_the_degrees_of_freedom() -> None:
    X, y = records(40, 5)
    assert leave_one_out_ridge(X, y, 0.0).leverage.sum() == pytest.approx(6, abs=1e-12)
    squares = np.linalg.svd(X - X.mean(axis=0))[1] ** 2
    assert leave_one_out_ridge(X, y, 3.0).leverage.sum() == pytest.approx(
        1 + (squares / (squares + 3)).sum(), abs=1e-12
    )


def test_equal_records_tie_to_the_last_bit() -> None:
    X, y = records(33, 4)
    X[20], y[20] = X[3], y[3]
    points, values = records(50, 4, seed=1)
    found = leave_one_out_ridge(X, y).influences(points, values)
    assert (found[:, 20] == found[:, 3]).all()
    top = most_influential(found, 5)
    assert ((top == 20).any(axis=1) <= (top == 3).any(axis=1)).all()


def test_the_callers_arrays_are_untouched() -> None:
    X, y = records(10, 3)
    before = X.copy(), y.copy()
    leave_one_out_ridge(X, y).influences(X, y)
    assert (before[0] == X).all()
    assert (before[1] == y).all()


@pytest.mark.parametrize(
    ("X", "y", "penalty", "named"),
    [
        ([[1.0]], [1.0], 1.0, r"\b2\b"),
        ([[1.0], [2.0]], ["a", "b"], 1.0, "labels"),
        ([[1.0], [2.0]], [1.0, 2.0], -1.0, "^penalty"),
        ([[1.0], [2.0]], [1.0, 2.0], 0.0, "penalty"),
        (
            [[1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0]],
            [1.0, 2.0, 3.0, 5.0],
            0.0,
            r"\b0,.*penalty",
        ),  # the first record
        ([[np.nan], [2.0]], [1.0, 2.0], 1.0, r"\b0\b"),  # the column
    ],
)
def test_what_has_no_answer_is_refused(X: Any, y: Any, penalty: float, named: str) -> None:
    with pytest.raises(InputError, match=named):
        leave_one_out_ridge(X, y, penalty)


def test_labels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="labels"):
        leave_one_out_ridge(*records(10, 3)).influences(np.zeros((2, 3)), [1.0])
