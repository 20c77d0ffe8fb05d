r"""Exact leave-one-out ridge regression, in closed form.

The model minimises :math:`\sum_j (y_j - x_j^\top w - b)^2 + \lambda |w|^2`. With :math:`a_j = (x_j, 1)`,
:math:`H = \sum_j a_j a_j^\top + \lambda\,\mathrm{diag}(1, …, 1, 0)`, the errors :math:`e_j = y_j - a_j^\top\theta` and
the leverages :math:`h_j = a_j^\top H^{-1} a_j`, the model without record i is

.. math:: \theta_{-i} = \theta - H^{-1} a_i \frac{e_i}{1 - h_i}

by Sherman and Morrison. All terms follow from one singular value decomposition of the centred records, :math:`X - 1\bar
x^\top = U S V^\top`, for any number of columns:

.. math:: h_i = \frac1n + \sum_k U_{ik}^2 \frac{s_k^2}{s_k^2 + \lambda}, \qquad
          H^{-1} a_i = \Bigl(u_i,\ \frac1n - \bar x^\top u_i\Bigr), \quad
          u_i = V \frac{S}{S^2 + \lambda} U_i .

A leverage of 1 means that the record alone determines a parameter, which is undetermined without it. With λ > 0 and at
least two records there is none; without a penalty an error names such records. Near 1 the division loses digits: the
model is then solved again, unless the columns span all records, where nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_number
from leakscope.core.errors import InputError
from leakscope.data.records import list_names
from leakscope.learners.linear import check_unique, read_records, read_values, with_ones
from leakscope.releases.record_explanations.linear_models import LinearModels, formerly_l2
from leakscope.releases.record_explanations.logistic import first_of_equals

WHAT = "leave-one-out ridge regression"
SINGULAR = 1e-10  # 1 - h below this is a leverage of 1 where there is no penalty
NEAR = 1e-6  # 1 - h below this has lost six digits or more


@dataclass(frozen=True, eq=False)
class LeaveOneOutRidge(LinearModels):
    """The ridge regression of all records, and for each record the one trained without it.

    Parameters
    ----------
    coef, intercept, coef_full, intercept_full
        Weights (n, d) and constants (n,), row i trained without record i; those of the model of all records.
    leverage
        Influence of each record on its own prediction, from 0 (none) to 1 (it determines the prediction).
    """

    leverage: Floats

    def predict(self, points: Any) -> Floats:
        """Return the predicted value of each point, by the model of all records."""
        return self.values(points)

    def predict_without(self, points: Any) -> Floats:
        """Return the predicted values (points, n): column i by the model trained without record i."""
        return self.values_without(points)

    def influences(self, points: Any, labels: Any) -> Floats:
        """Return the influence (points, n) of every record on the squared error of every point [shokri2019, Eq. 4].

        Parameters
        ----------
        labels
            The true value of each point.

        Examples
        --------
        >>> loo = leave_one_out_ridge([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 9.0])
        >>> loo.influences([[3.0]], [9.0]).round(2)
        array([[-0.81, -0.71, -4.42, 38.19]])
        """
        full, without = self.predict(points), self.predict_without(points)
        values = np.asarray(labels, dtype=np.float64)
        if values.shape != full.shape:
            raise InputError(
                f"there are {len(full)} points and labels of shape {values.shape}: pass one value per point"
            )
        return (values[:, None] - without) ** 2 - ((values - full) ** 2)[:, None]


@formerly_l2
def leave_one_out_ridge(X: Any, y: Any, penalty: float = 1.0) -> LeaveOneOutRidge:
    """Train a ridge regression without each record in turn, exactly and in closed form.

    Parameters
    ----------
    X, y
        The training records, two or more, and their values.
    penalty
        The weight λ of λ·‖w‖², which is added to the *sum* of squared errors; the intercept is not penalised. It is
        the alpha of scikit-learn's ``Ridge``. 0 is least squares, which needs more records than parameters.

    Examples
    --------
    >>> loo = leave_one_out_ridge([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 9.0], penalty=0.0)
    >>> loo.coef_full.round(3), loo.coef.ravel().round(3)
    (array([2.8]), array([4.   , 2.714, 3.143, 1.   ]))
    """
    check_number("penalty", penalty, least=0)
    features, labels, columns = read_records(X, y, WHAT)
    values = read_values(labels, WHAT)
    if len(values) < 2:
        raise InputError(f"{WHAT} needs at least 2 records: add records")
    if penalty == 0:
        check_unique(with_ones(features, True), columns, True, len(values) - 1, "penalty")
    first = first_of_equals(features, np.unique(values, return_inverse=True)[1].astype(np.intp))
    solved = _solve(features, values, float(penalty))
    if penalty == 0 and (lone := np.flatnonzero(solved.slack < SINGULAR)).size:
        raise InputError(
            f"without a penalty the solution is not unique without one of the records {list_names(lone)}, which determines a "
            "parameter alone: set penalty > 0, or drop the column that only it fills"
        )
    moved = solved.errors / np.where(solved.slack > 0, solved.slack, 1.0)
    coef = solved.coef - solved.directions * moved[:, None]
    intercept = solved.intercept - (1 / len(values) - solved.directions @ features.mean(axis=0)) * moved
    for record in np.flatnonzero((solved.slack < NEAR) & (not solved.reached)):
        others = np.arange(len(values)) != record
        again = _solve(features[others], values[others], float(penalty))
        coef[record], intercept[record] = again.coef, again.intercept
    return LeaveOneOutRidge(
        coef=coef[first],
        intercept=intercept[first],
        coef_full=solved.coef,
        intercept_full=solved.intercept,
        leverage=1 - solved.slack[first],
        _first=first,
    )


@dataclass(frozen=True, eq=False)
class _Solved:
    """One model; of each record its error, one less its leverage, and the weights of H⁻¹a (n, d).

    ``reached`` says that errors and slack have full precision however small.
    """

    coef: Floats
    intercept: float
    errors: Floats
    slack: Floats
    directions: Floats
    reached: bool


def _solve(X: Floats, y: Floats, penalty: float) -> _Solved:
    centre, level = X.mean(axis=0), float(y.mean())
    U, s, Vt = np.linalg.svd(X - centre, full_matrices=False)
    used = s > s.max(initial=0.0) * max(X.shape) * np.finfo(float).eps  # the others are rounding errors
    U, s, Vt = U[:, used], s[used], Vt[used]
    shrunk, lost = s / (s**2 + penalty), penalty / (s**2 + penalty)
    along = U.T @ (y - level)
    # The part outside the span of the columns and the part due to the penalty, separately, to avoid cancellation.
    # If the columns span all records, the first is zero up to rounding.
    reached = len(s) >= len(y) - 1
    errors = U @ (lost * along) + (0.0 if reached else y - level - U @ along)
    slack = U**2 @ lost + (0.0 if reached else np.maximum(1 - 1 / len(y) - (U**2).sum(axis=1), 0.0))
    coef = (along * shrunk) @ Vt
    return _Solved(coef, level - float(centre @ coef), errors, slack, (U * shrunk) @ Vt, reached)
