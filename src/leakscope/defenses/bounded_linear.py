r"""Linear models on rows of norm at most 1, shared by parameter noise and objective perturbation.

A proof of privacy has to hold for every possible record, not only for the given ones. So each record becomes a row of
bounded norm: its encoded columns and a constant 1 for the intercept, divided by a public **radius** and scaled to norm 1
if the norm is larger. The scaling uses one record at a time, so it consumes no privacy budget.

With λ the weight of the penalty and n the number of records, the model minimises [farokhi2020, Eq. 1]

.. math:: F_S(\theta) = \lambda\lVert\theta\rVert^2 + \frac1n\sum_{i\in S}\ell_i(\theta) + \frac1n\langle b, \theta\rangle,

where b is 0 except in objective perturbation. The loss is the log-loss of a logistic model for two classes and of a
softmax for more, or the squared error of labels that are clipped at public limits and scaled to [-1, 1]. F is
2λ-strongly convex, so a point with gradient g is within :math:`\lVert g\rVert/2\lambda` of the minimum.

For classes the curvature of F is at most :math:`L = c\,\lVert\tfrac1nX^\top X\rVert +
2\lambda`, with c = 1/4 for two classes and 1/2 for more. Nesterov's gradient method with the constants 2λ and L
(Nesterov 2018, *Lectures on Convex Optimization*, section 2.2) therefore always converges; it stops at a gradient of
10⁻⁸/n.

`ALWAYS` states conditions of every guarantee: noise with a known seed can be removed, and the proofs assume real numbers
(Mironov 2012 shows what the last bits of floating-point noise can reveal).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_number
from leakscope.core.errors import InputError
from leakscope.core.failures import describe
from leakscope.core.threads import one_thread
from leakscope.models.encoding import PUBLIC_ENCODING, Encoding, LinearOutputs, make_encoding
from leakscope.models.model import Model, Task
from leakscope.models.target import Target

ALWAYS = (
    "the number of records is public",
    "the seed of the noise stays secret",
    "floating-point rounding reveals nothing",
)
#: Gradient at which the minimisation stops, times the number of records.
SLACK = 1e-8
STEPS = 50_000
#: Quantile of the norms that is the default radius; regression labels are clipped at this quantile and its complement.
QUANTILE = 0.95
SMALLEST_L2 = 1e-6


@dataclass(frozen=True, eq=False)
class BoundedRows:
    """Converts records to rows of norm at most 1, and parameters to a model that takes records.

    Rows are divided by ``radius``; labels of a regression (``classes`` is None) are clipped at ``limits``.
    """

    encoding: Encoding
    radius: float
    classes: NDArray[Any] | None
    limits: tuple[float, float] = (-1.0, 1.0)

    @property
    def scores(self) -> int:
        """Number of columns of parameters, one for regression and two classes, otherwise one per class."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    def rows(self, X: Any) -> Floats:
        """Return the rows (n, width + 1), the constant last."""
        encoded = self.encoding(X)
        if not np.isfinite(encoded).all():
            raise InputError("the encoded records have missing or infinite values: add an imputer to the pipeline")
        rows = np.column_stack([encoded, np.ones(len(encoded))]) / self.radius
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.maximum(lengths, 1.0))

    def labels(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return class codes unchanged, and values clipped at the limits and scaled to [-1, 1]."""
        if self.classes is not None:
            return y
        low, high = self.limits
        return np.asarray(2 * (np.clip(y, low, high) - low) / (high - low) - 1)

    def model(self, name: str, theta: Floats) -> Model:
        """Return the model with these parameters (width + 1, scores), which takes records."""
        theta = theta / self.radius
        coefficients, intercept = theta[:-1], theta[-1]
        if self.classes is None:
            low, high = self.limits
            coefficients, intercept = coefficients * (high - low) / 2, intercept * (high - low) / 2 + (low + high) / 2
        predict = LinearOutputs(self.encoding, coefficients, intercept, self.classes is not None)
        task: Task = "regression" if self.classes is None else "classification"
        return Model(name, task, self.classes, self.classes is not None, predict)


def make_rows(
    target: Target, radius: float | None, limits: tuple[float, float] | None = None
) -> tuple[BoundedRows, list[str]]:
    """Return the rows of a target and the conditions of a guarantee based on them.

    Defaults are computed from the members: the radius is the 95 % quantile of the norms of their rows, and the limits
    enclose the middle 90 % of the labels. The conditions then state that these values are public.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from leakscope.models.target import make_target
    >>> X, y = np.array([[0.0], [2.0], [0.0], [2.0]]), np.array([0, 1, 0, 1])
    >>> target = make_target(LogisticRegression().fit(X, y), (X, y), (X, y))
    >>> rows, rests_on = make_rows(target, radius=2.0)
    >>> rows.rows(np.array([[2.0], [9.0]])).round(3)  # (1, 1)/2; and (8, 1)/2, which is scaled to norm 1
    array([[0.5  , 0.5  ], [0.992, 0.124]])
    """
    encoding, public = make_encoding(target), [PUBLIC_ENCODING]
    if radius is None:
        lengths = np.sqrt(1 + (encoding(target.members.X) ** 2).sum(axis=1))
        radius = float(np.quantile(lengths, QUANTILE))
        public.append(
            f"the norm at which records are clipped ({radius:.3g}, computed from the training records) is public"
        )
    if limits is None and target.model.classes is None:
        low, high = np.quantile(target.members.y, [1 - QUANTILE, QUANTILE])
        limits = (float(low), float(high)) if high > low else (float(low) - 1, float(low) + 1)
        read = "{:.3g} to {:.3g}".format(*limits)
        public.append(f"the limits at which labels are clipped ({read}, computed from the training records) are public")
    return BoundedRows(encoding, radius, target.model.classes, limits or (-1.0, 1.0)), [*public, *ALWAYS]


def why_no_rows(target: Target) -> str | None:
    """Return why the records of a target cannot become such rows, as the end of a sentence, or None if they can."""
    try:
        encoded = make_encoding(target)(target.members.X)
    except (InputError, TypeError, ValueError) as error:
        return f"its records cannot be encoded as numbers ({describe(error)})"
    if not np.isfinite(encoded).all():
        return "its encoded records have missing or infinite values: add an imputer to the pipeline"
    return None


def usual_l2(share: float, parameters: int, n: int, epsilon: float) -> float:
    """Return a default weight of the penalty for given ε and n: more noise needs a larger weight.

    The best weight falls with n and ε, and rises with the norm of the noise, which grows with the root of the number of
    parameters; ``share`` is near the best on Adult with 1,000 to 20,000 records, and on breast cancer and digits. The weight
    falls with the root of ε, since the noise would grow with ε if it fell faster. All inputs are public, so the choice
    consumes no privacy budget.

    Examples
    --------
    >>> usual_l2(1.0, parameters=100, n=1000, epsilon=1.0)
    0.01
    """
    return max(SMALLEST_L2, share * math.sqrt(parameters / epsilon) / n)


def check_fields(noise: Any, l2: Any, radius: Any) -> None:
    """Raise an error for an unknown noise or an invalid penalty or radius."""
    if noise not in ("gaussian", "laplace"):
        raise InputError(f"unknown noise {noise!r}: use 'gaussian' or 'laplace'")
    if l2 is not None:
        check_number("l2", l2, least=SMALLEST_L2)
    if radius is not None:
        check_number("radius", radius, least=0, open_ends=True)


def minimum(
    rows: Floats, codes: NDArray[Any], scores: int, l2: float, tilt: Floats | None = None, start: Floats | None = None
) -> Floats:
    """Minimise the regularised log-loss with its tilt, up to a gradient of 10⁻⁸/n; return parameters (columns, scores).

    Parameters
    ----------
    rows, codes
        Rows of norm at most 1, and their classes 0 … k - 1.
    scores
        1 for the logistic model of two classes, k for a softmax.
    l2
        The weight λ of the penalty.
    tilt
        The vector b of objective perturbation, shaped like the parameters.
    start
        Starting point; by default 0.

    Examples
    --------
    >>> theta = minimum(np.ones((3, 1)), np.array([1, 1, 0]), scores=1, l2=0.05)
    >>> gradient = 2 * 0.05 * theta + 1 / (1 + np.exp(-theta)) - 2 / 3
    >>> bool(np.abs(gradient) <= 1e-8 / 3)
    True
    """
    n = len(rows)
    wanted = codes[:, None] if scores == 1 else np.eye(scores)[codes]
    tilted = 0.0 if tilt is None else tilt / n
    with one_thread():
        squares = np.linalg.norm(rows.T @ rows if rows.shape[1] < n else rows @ rows.T) / n  # at least the 2-norm
        steepest = (0.25 if scores == 1 else 0.5) * squares + 2 * l2
        ratio = np.sqrt(2 * l2 / steepest)
        theta = before = np.zeros((rows.shape[1], scores)) if start is None else start
        for _ in range(STEPS):
            point = theta + (1 - ratio) / (1 + ratio) * (theta - before)
            guessed = expit(rows @ point) if scores == 1 else softmax(rows @ point, axis=1)
            gradient = rows.T @ (guessed - wanted) / n + 2 * l2 * point + tilted
            if np.linalg.norm(gradient) <= SLACK / n:
                return np.asarray(point)
            before, theta = theta, point - gradient / steepest
    raise InputError(f"the regularised loss was not minimised in {STEPS:,} steps: raise l2 above {l2:g}")


def least_squares(rows: Floats, values: Floats, l2: float) -> Floats:
    r"""Return the parameters (columns, 1) that minimise :math:`\lambda\lVert\theta\rVert^2` + mean squared error.

    Examples
    --------
    >>> least_squares(np.ones((2, 1)), np.array([0.0, 1.0]), l2=1.0)
    array([[0.25]])
    """
    n = len(rows)
    with one_thread():
        return np.asarray(np.linalg.solve(rows.T @ rows / n + l2 * np.eye(rows.shape[1]), rows.T @ values[:, None] / n))


def spherical_laplace(size: tuple[int, ...], rng: np.random.Generator) -> Floats:
    r"""Draw noise with density proportional to :math:`e^{-\lVert b\rVert_2}`: a uniform direction, and a norm of Gamma(p).

    [Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 1]. A shift by a distance d changes its density by a factor of at most
    :math:`e^d`. Laplace noise on each of p parameters would have to cover :math:`\sqrt p\,d`.

    Examples
    --------
    >>> lengths = [np.linalg.norm(spherical_laplace((5,), np.random.default_rng(seed))) for seed in range(4000)]
    >>> bool(abs(np.mean(lengths) - 5) < 4 * np.sqrt(5 / 4000))  # Gamma(5) has mean 5 and variance 5
    True
    """
    direction = rng.standard_normal(size)
    return direction / np.linalg.norm(direction) * rng.standard_gamma(direction.size)
