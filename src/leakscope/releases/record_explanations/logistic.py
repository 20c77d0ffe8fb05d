r"""Exact leave-one-out logistic regression: n models, each trained without one record, solved together.

With :math:`a_j = (x_j, 1)`, labels 0 and 1, :math:`p_j = \sigma(a_j^\top\theta)` and :math:`\theta = (w, b)`, the model
without record i minimises

.. math:: f_i(\theta) = \sum_{j \ne i} -\log\bigl(p_j^{y_j} (1 - p_j)^{1 - y_j}\bigr) + \frac\lambda2 |w|^2 .

All start from the model of all records and one Newton step, whose Hessian without record i is that of all records less
:math:`p_i(1 - p_i)\, a_i a_i^\top`: one factor and a rank-one correction serve every record (Sherman-Morrison). With
the Hessian kept, the same step is repeated, and each model's last steps are mixed for the smallest remaining step
(Anderson 1965), until its gradient is below the tolerance. Finished models are removed. The few slow ones, where a
removal changes the curvature, are solved by Newton's method with their own Hessian.

The penalty is invariant under rotation, and w is in the span of the records. With more columns than records, the
records are represented in an orthonormal basis of their span, so that there are no more parameters than records.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_number
from leakscope.core.errors import InputError
from leakscope.core.threads import one_thread
from leakscope.data.records import row_name
from leakscope.learners.linear import read_records
from leakscope.releases.record_explanations.linear_models import LinearModels, formerly_l2
from leakscope.worlds.training import Progress

TOLERANCE = 1e-8  # guaranteed bound on the gradient
AIM = 1e-10  # target: near the optimum a further pass gains two digits
BLOCK = 500  # models that a thread solves at a time: bounds the memory
DEPTH = 4  # earlier steps that are mixed
PASSES = 15  # over the data, before the remaining models are solved one by one
NEWTON = 200  # steps at most
FLAT = 1e-12  # relative decrease of the objective below the precision of float64


@dataclass(frozen=True, eq=False)
class LeaveOneOut(LinearModels):
    """The logistic regression of all records, and for each record the one trained without it; a `LeftOut`.

    Parameters
    ----------
    coef, intercept, coef_full, intercept_full
        Weights (n, d) and constants (n,), row i trained without record i; those of the model of all records.
    gradient_norm
        The largest length of a gradient over all these models, at their solution.
    classes
        The two labels, in sorted order; probabilities are those of the second.
    """

    gradient_norm: float
    classes: tuple[Any, Any] = (0, 1)

    def probabilities(self, points: Floats) -> Floats:
        """Return the probability of the second class at each point, by the model of all records."""
        return np.asarray(expit(self.values(points)))

    def probabilities_without(self, points: Floats) -> Floats:
        """Return the probability of the second class (points, n): column i by the model trained without record i."""
        found = self.values_without(points)
        return np.asarray(expit(found, out=found))


@formerly_l2
def leave_one_out(X: Any, y: Any, penalty: float = 1.0, *, progress: Progress | None = None) -> LeaveOneOut:
    """Train a logistic regression without each record in turn, exactly.

    Parameters
    ----------
    X, y
        The training records and their labels, of two classes.
    penalty
        The weight λ > 0 of λ/2·‖w‖², which is added to the *sum* of log-losses; the intercept is not penalised.
        scikit-learn's C is 1/penalty.
    progress
        Called with the stage, the number of solved models, and the number of models.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"]
    >>> loo = leave_one_out(X, y)
    >>> loo.coef[1:3].ravel().round(3), loo.coef_full.round(3)
    (array([0.708, 0.708]), array([0.453]))
    >>> loo.gradient_norm <= 1e-8
    True
    """
    from joblib import cpu_count

    with one_thread():
        problem = LogisticProblem(X, y, penalty)
        distinct, place = np.unique(problem.first, return_inverse=True)
        solutions = np.empty((len(distinct), problem.A.shape[1]))
        worst, done = problem.full_norm, 0
        parts = np.array_split(distinct, math.ceil(len(distinct) / BLOCK))
        # The sigmoid runs on one thread: a block for each core uses all cores.
        with ThreadPoolExecutor(cpu_count()) as pool:
            for found, norm in pool.map(problem.solve_without, parts):
                solutions[done : done + len(found)] = found
                worst, done = max(worst, norm), done + len(found)
                if progress is not None:
                    progress("training without each record", done, len(distinct))
        if not worst <= TOLERANCE:
            raise InputError(
                f"the models can't be solved to a gradient below {TOLERANCE:g} (it stays at {worst:.1g}): "
                "scale the columns to similar sizes, such as [0, 1], or raise penalty"
            )
        return problem.models(solutions[place], worst)


def two_classes(labels: NDArray[Any]) -> tuple[tuple[Any, Any], Indices]:
    """Return the two labels in sorted order, and each record's as 0 or 1. Both must remain without any one record."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) != 2:
        many = f"of {len(classes)} classes" if len(classes) > 1 else "all the same"
        raise InputError(f"the labels are {many}: pass records of two classes")
    counts = np.bincount(codes)
    if counts.min() < 2:
        row = int((codes == counts.argmin()).argmax())
        raise InputError(f"only one record has one of the two labels, {row_name(row)}: add records of that class")
    first, second = classes.tolist()
    return (first, second), codes.astype(np.intp)


def first_of_equals(features: Floats, codes: Indices) -> Indices:
    """Return the position of the first record that equals each record.

    Examples
    --------
    >>> first_of_equals(np.array([[1.0], [2.0], [1.0], [1.0]]), np.array([0, 0, 0, 1]))
    array([0, 1, 0, 3])
    """
    table = np.column_stack([features, codes]) + 0.0  # so that minus zero equals zero
    rows = np.ascontiguousarray(table).view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    return first[inverse].astype(np.intp)


def _coordinates(features: Floats) -> tuple[Floats | None, Floats]:
    """Records in an orthonormal basis of their span (columns, records), if there are more columns than records."""
    if features.shape[1] <= len(features):
        return None, features
    basis, triangle = np.linalg.qr(features.T)
    return basis, triangle.T


class LogisticProblem:
    """The records with a column of ones, the model of all of them, and the factor of its Hessian.

    ``theta`` is the model's weights and constant, ``full_norm`` the length of the gradient there, ``residual`` p − y,
    ``curvature`` p(1 − p) and ``leverage`` aᵀH⁻¹a of each record, and ``first`` the first of the records that equal it.
    """

    def __init__(self, X: Any, y: Any, penalty: Any) -> None:
        check_number("penalty", penalty, least=0, open_ends=True)  # without a penalty a model may not exist
        features, labels, _ = read_records(X, y, "leave-one-out logistic regression")
        self.classes, codes = two_classes(labels)
        self.first = first_of_equals(features, codes)
        self.basis, coordinates = _coordinates(features)
        self.A, self.y = np.column_stack([coordinates, np.ones(len(codes))]), codes.astype(np.float64)
        self.penalty = np.full(self.A.shape[1], float(penalty))
        self.penalty[-1] = 0.0
        self.theta, self.full_norm = self._newton(np.zeros(self.A.shape[1]), None)
        p = expit(self.A @ self.theta)
        self.residual, self.curvature = p - self.y, p * (1 - p)
        self.factor = cho_factor(self._hessian(self.curvature))
        self.leverage = np.einsum("ij,ji->i", self.A, cho_solve(self.factor, self.A.T))

    def models(self, thetas: Floats, gradient_norm: float) -> LeaveOneOut:
        """Return the models of these parameters, one row for each record, in the columns of the records."""
        coef, full = thetas[:, :-1], self.theta[:-1]
        if self.basis is not None:
            coef, full = coef @ self.basis.T, self.basis @ full
        return LeaveOneOut(
            coef=coef,
            intercept=thetas[:, -1],
            coef_full=full,
            intercept_full=float(self.theta[-1]),
            gradient_norm=gradient_norm,
            classes=self.classes,
            _first=self.first,
        )

    def solve_without(self, removed: Indices) -> tuple[Floats, float]:
        """Return the solutions (removed, p), each without one record, and the largest gradient at them."""
        solutions = np.empty((len(removed), self.A.shape[1]))
        norms = np.full(len(removed), np.inf)
        directions = cho_solve(self.factor, self.A[removed].T)
        shrink = 1.0 / (1.0 - self.curvature[removed] * self.leverage[removed])
        active = np.arange(len(removed))
        current = self.theta[:, None] + directions * (self.residual[removed] * shrink)
        memory: list[tuple[Floats, Floats]] = []
        for _ in range(PASSES):
            gradient = self.gradients(current, removed[active])
            norm = np.linalg.norm(gradient, axis=0)
            better = norm < norms[active]
            solutions[active[better]], norms[active[better]] = current.T[better], norm[better]
            keep = norm > AIM
            if not keep.any():
                return solutions, float(norms.max())
            active, current, gradient = active[keep], current[:, keep], gradient[:, keep]
            memory = [(states[:, keep], steps[:, keep]) for states, steps in memory]
            step = cho_solve(self.factor, -gradient, overwrite_b=True, check_finite=False)
            weight = self.curvature[removed[active]] * shrink[active]
            step += directions[:, active] * (weight * np.einsum("pm,pm->m", self.A[removed[active]].T, step))
            memory = [*memory[-DEPTH:], (current, step)]
            current = _mix(memory)
        for number in active:
            theta, norm_there = self._newton(self.theta, int(removed[number]))
            if norm_there < norms[number]:
                solutions[number], norms[number] = theta, norm_there
        return solutions, float(norms.max())

    def gradients(self, thetas: Floats, removed: Indices) -> Floats:
        """Return the gradients (p, m) of models (p, m) that each lack one record."""
        residuals = self.A @ thetas
        expit(residuals, out=residuals)
        residuals -= self.y[:, None]
        residuals[removed, np.arange(len(removed))] = 0.0
        gradients = self.A.T @ residuals
        gradients += self.penalty[:, None] * thetas
        return np.asarray(gradients)

    def _hessian(self, curvature: Floats) -> Floats:
        hessian = (self.A * curvature[:, None]).T @ self.A
        hessian[np.diag_indices(len(hessian))] += self.penalty
        return np.asarray(hessian)

    def _newton(self, theta: Floats, removed: int | None) -> tuple[Floats, float]:
        """Newton's method with step halving, until the gradient is small or limited by rounding."""
        here = np.ones(len(self.y))
        if removed is not None:
            here[removed] = 0.0
        best, smallest, stalled = theta, np.inf, 0
        for _ in range(NEWTON):
            p = expit(self.A @ theta)
            gradient = self.A.T @ (here * (p - self.y)) + self.penalty * theta
            norm = float(np.linalg.norm(gradient))
            if norm < smallest:
                best, smallest, stalled = theta, norm, 0
            if norm <= AIM / 100 or stalled > 3:
                break
            step: Floats = np.linalg.solve(self._hessian(here * p * (1 - p)), -gradient).astype(np.float64, copy=False)
            slope = float(gradient @ step)
            stalled += -slope <= FLAT * (1.0 + self._value(theta, here))
            theta = theta + self._length(theta, step, slope, here) * step
        return best, smallest

    def _length(self, theta: Floats, step: Floats, slope: float, here: Floats) -> float:
        """Halve the step until the value decreases; keep all of it if the decrease is below the precision of float64."""
        value, length = self._value(theta, here), 1.0
        if -slope <= FLAT * (1.0 + value):
            return length
        while length > 1e-9 and not self._value(theta + length * step, here) <= value + 1e-4 * length * slope:
            length /= 2
        return length

    def _value(self, theta: Floats, here: Floats) -> float:
        z = self.A @ theta
        return float(here @ (np.logaddexp(0.0, z) - z * self.y) + (self.penalty * theta) @ theta / 2)


def _mix(memory: list[tuple[Floats, Floats]]) -> Floats:
    """The next point of each model: its last points and steps mixed so that the mixed step is the shortest."""
    point, step = memory[-1]
    if len(memory) == 1:
        return point + step
    changes = np.stack([step - other for _, other in memory[:-1]])  # (depth, p, models)
    moves = np.stack([point - other for other, _ in memory[:-1]])
    gram = np.einsum("apm,bpm->mab", changes, changes)
    gram[:, *np.diag_indices(len(changes))] *= 1 + 1e-12
    gram[:, *np.diag_indices(len(changes))] += np.finfo(float).tiny
    right = np.einsum("apm,pm->ma", changes, step)
    weights = np.linalg.solve(gram, right[..., None])[..., 0]
    return np.asarray(point + step - np.einsum("ma,apm->pm", weights, moves + changes))
