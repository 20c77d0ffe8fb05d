r"""Logistic regression for two classes, a stack of training sets at a time.

With s = ±1 for the two classes the model minimises [farokhi2020, Eq. 1 with the log-loss]

.. math:: f(\theta) = \lambda\theta^\top\theta + \frac1n\sum_i \log\bigl(1 + e^{-s_i x_i^\top\theta}\bigr)

by Newton's method with step halving, for all training sets of a stack at once; those that are finished leave it. A set
is finished when the gradient is at most 10⁻¹⁰ of the mean length of its records **and** the next Newton step moves no
log-odds by more than 10⁻⁶ of the largest. The second condition tells a minimum from its absence: if λ = 0 and a plane
separates the classes, the gradient vanishes on the way to infinity but every step still moves the log-odds by about 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from leakscope.core.arrays import Floats, Indices
from leakscope.core.errors import InputError
from leakscope.learners.linear import Linear, Solver, read_classes, read_records, with_ones
from leakscope.models.model import Task

GRADIENT = 1e-10  # largest gradient at the end, beside the mean length of the records
STEP = 1e-6  # largest change of a log-odds by a further step, beside the largest log-odds or 1
STEPS, HALVINGS = 100, 40


@dataclass(frozen=True)
class Logistic(Linear):
    r"""Logistic regression with a quadratic penalty: :math:`\lambda\theta^\top\theta` + mean log-loss.

    The model is the array of its parameters, the intercept last.

    Parameters
    ----------
    l2
        The weight λ of the penalty, from 0 on [farokhi2020, Eq. 1]; scikit-learn's C is 1 / (2 λ n).
    intercept
        Whether there is a constant term. It is penalised like the others, so that a large λ leaves nothing.
    columns, classes
        Names of the columns, and the two labels in rising order; `prepare` fills them in.

    Examples
    --------
    >>> learner, X, y = Logistic(l2=0.1).prepare([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model = learner.fit(X, y, np.random.default_rng())
    >>> learner.outputs(model, X).ravel().round(2)
    array([-0.55,  0.16,  0.87,  1.58])
    """

    classes: tuple[Any, ...] = field(default=(), repr=False, kw_only=True)

    task: ClassVar[Task] = "classification"
    chunk: ClassVar[int] = 64
    why_not_unique: ClassVar[str] = "a plane separates their classes, or their columns are linearly dependent"

    @property
    def name(self) -> str:
        """What the learner is called in a report."""
        return "logistic regression"

    def prepare(self, X: Any, y: Any) -> tuple[Logistic, Floats, Indices]:
        """Records as float64, with a column of ones for the intercept, and labels as 0 and 1.

        Examples
        --------
        >>> Logistic().prepare([[3.0], [4.0]], ["yes", "no"])[1:]
        (array([[3., 1.], [4., 1.]]), array([1, 0]))
        """
        features, labels, columns = read_records(X, y, self.name)
        classes, codes = read_classes(labels)
        if len(classes) > 2:
            raise InputError(
                f"logistic regression here tells two classes apart, and the data have {len(classes)}: "
                "use scikit-learn's LogisticRegression as the learner, or merge classes"
            )
        learner = replace(self, columns=columns, classes=tuple(classes.tolist()))
        return learner, with_ones(features, self.intercept), codes

    def solver(self, X: Floats, y: Indices) -> Solver:
        """What solves training sets of these records."""
        sides = 2.0 * y - 1.0

        def solve(sets: Indices) -> tuple[Floats, NDArray[np.bool_]]:
            # Rows times their side: all that the loss depends on.
            return _minimise(X.take(sets, axis=0) * sides.take(sets)[:, :, None], self.l2)

        return solve

    def losses(self, model: Floats, X: Floats, y: Indices) -> Floats:
        """Log-loss of each record."""
        losses: Floats = np.logaddexp(0.0, (1.0 - 2.0 * y) * (X @ model))
        return losses


def _minimise(rows: Floats, l2: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Minimise the mean of log(1 + exp(-rows θ)) + λ θᵀθ for each of the stack (k, n, p), and say where that was done."""
    stack, size, count = rows.shape
    theta, solved = np.zeros((stack, count)), np.zeros(stack, dtype=bool)
    left = np.arange(stack)
    scale = np.maximum(np.sqrt((rows**2).sum(axis=2)).mean(axis=1), np.finfo(float).tiny)
    for _ in range(STEPS):
        here = theta[left]
        margins = products(rows, here)
        wrong = expit(-margins)
        gradient = -products(rows.transpose(0, 2, 1), wrong) / size + 2 * l2 * here
        curvature = wrong * (1 - wrong) / size
        hessian = np.matmul(rows.transpose(0, 2, 1) * curvature[:, None, :], rows) + 2 * l2 * np.eye(count)
        step, regular = _newton_steps(hessian, gradient)
        change = products(rows, step)
        small = np.abs(change).max(axis=1) <= STEP * np.maximum(1.0, np.abs(margins).max(axis=1))
        done = regular & small & (np.sqrt((gradient**2).sum(axis=1)) <= GRADIENT * scale[left])
        length = _lengths(margins, change, here, step, gradient, l2)
        theta[left] = here - np.where(done, 1.0, length)[:, None] * step
        solved[left[done]] = True
        keep = regular & ~done & (length > 0)
        if l2 == 0:
            keep &= margins.min(axis=1) <= 0  # all on their own side: a separating plane is found
        if not keep.all():
            left, rows = left[keep], rows[keep]
        if not len(left):
            break
    return theta, solved


def products(matrices: Floats, vectors: Floats) -> Floats:
    """Products of stacked matrices (k, n, p) with stacked vectors (k, p)."""
    products: Floats = np.matmul(matrices, vectors[:, :, None])[:, :, 0]
    return products


def _newton_steps(hessian: Floats, gradient: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Newton steps, and which Hessians can tell one: columns scaled alike, so that units don't matter."""
    squares = np.einsum("kii->ki", hessian)
    regular = (squares > 0).all(axis=1)
    scale = 1 / np.sqrt(np.where(squares > 0, squares, 1.0))
    scaled = hessian * scale[:, :, None] * scale[:, None, :]
    values, vectors = np.linalg.eigh(scaled)
    regular &= values[:, 0] > 1e-14 * values[:, -1]
    values = np.where(regular[:, None], values, 1.0)
    turned = products(vectors.transpose(0, 2, 1), scale * gradient) / values
    return scale * products(vectors, turned), regular


def _lengths(margins: Floats, change: Floats, theta: Floats, step: Floats, gradient: Floats, l2: float) -> Floats:
    """How much of each step to go: half as much as long as the objective does not fall by a ten-thousandth of its slope."""

    def objective(length: Floats) -> Floats:
        loss = np.logaddexp(0.0, -(margins - length[:, None] * change)).mean(axis=1)
        total: Floats = loss + l2 * ((theta - length[:, None] * step) ** 2).sum(axis=1)
        return total

    length = np.ones(len(theta))
    start, slope = objective(np.zeros(len(theta))), (gradient * step).sum(axis=1)
    rounding = 1e-14 * (1 + start)  # near the minimum the fall is less than that, and the whole step is right
    for _ in range(HALVINGS):
        high = objective(length) > start - 1e-4 * length * slope + rounding
        if not high.any():
            break
        length[high] /= 2
    else:
        length[high] = 0.0
    return length
