r"""Linear models on rows that are never longer than 1: what parameter noise and objective perturbation share.

A proof of privacy has to hold for every record that may come, not for those that did. So each record becomes a row of a
bounded length: its encoded columns and a constant 1, for the intercept, divided by a public **radius**, and the whole
row shortened to length 1 where it is longer. Shortening looks at one record at a time, so it spends no privacy.

With λ the weight of the penalty and n the number of records, the model minimises [farokhi2020, Eq. 1]

.. math:: F_S(\theta) = \lambda\lVert\theta\rVert^2 + \frac1n\sum_{i\in S}\ell_i(\theta) + \frac1n\langle b, \theta\rangle,

where the tilt b is 0 but for objective perturbation, and the loss is the log-loss of a logistic model for two classes
and of a softmax for more, or the squared error of values that are cut off at public limits and scaled to [-1, 1]. F is
2λ-strongly convex, so wherever its gradient is g the minimum is at most :math:`\lVert g\rVert/2\lambda` away.

For classes the curvature of F is at most :math:`L = c\,\lVert\tfrac1nX^\top X\rVert +
2\lambda`, with c = 1/4 for two classes and 1/2 for more. Nesterov's gradient method with the constants 2λ and L
(Nesterov 2018, *Lectures on Convex Optimization*, section 2.2) therefore always arrives; it stops at a gradient of
10⁻⁸/n.

Two limits of every guarantee on top of it are said in `ALWAYS`: noise that can be drawn again hides nothing, and
numbers in a computer are taken for real numbers (Mironov 2012 shows what the last bits of noise can give away).
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
    "rounding in the computer gives nothing away",
)
#: The gradient at which the search for a minimum ends, times the number of records.
SLACK = 1e-8
STEPS = 50_000
#: Rows longer than this quantile of their lengths are shortened, and values outside of two such quantiles cut off.
QUANTILE = 0.95
SMALLEST_L2 = 1e-6


@dataclass(frozen=True, eq=False)
class BoundedRows:
    """From records to rows of length at most 1, and back from parameters to a model that takes records.

    Rows are divided by ``radius``; labels of a regression, where ``classes`` is None, are cut off at ``limits``.
    """

    encoding: Encoding
    radius: float
    classes: NDArray[Any] | None
    limits: tuple[float, float] = (-1.0, 1.0)

    @property
    def scores(self) -> int:
        """How many columns of parameters: one for values and for two classes, otherwise one per class."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    def rows(self, X: Any) -> Floats:
        """Rows (n, width + 1), the constant last."""
        encoded = self.encoding(X)
        if not np.isfinite(encoded).all():
            raise InputError("the encoded records have missing or infinite values: add an imputer to the pipeline")
        rows = np.column_stack([encoded, np.ones(len(encoded))]) / self.radius
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.maximum(lengths, 1.0))

    def labels(self, y: NDArray[Any]) -> NDArray[Any]:
        """Codes of classes as they are; values cut off at the limits and scaled to [-1, 1]."""
        if self.classes is not None:
            return y
        low, high = self.limits
        return np.asarray(2 * (np.clip(y, low, high) - low) / (high - low) - 1)

    def model(self, name: str, theta: Floats) -> Model:
        """The model with parameters (width + 1, scores) of the rows, as it is asked: with whole records."""
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
    """Rows for a target, and what a guarantee on top of them rests on, a clause each.

    What is not given is read from the members: the radius as the 95 % quantile of the lengths of their rows, the limits of
    values as the middle 90 %. A reader is told that this is taken for public.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from leakscope.models.target import make_target
    >>> X, y = np.array([[0.0], [2.0], [0.0], [2.0]]), np.array([0, 1, 0, 1])
    >>> target = make_target(LogisticRegression().fit(X, y), (X, y), (X, y))
    >>> rows, rests_on = make_rows(target, radius=2.0)
    >>> rows.rows(np.array([[2.0], [9.0]])).round(3)  # (1, 1)/2; and (8, 1)/2, which is shortened to length 1
    array([[0.5  , 0.5  ], [0.992, 0.124]])
    """
    encoding, public = make_encoding(target), [PUBLIC_ENCODING]
    if radius is None:
        lengths = np.sqrt(1 + (encoding(target.members.X) ** 2).sum(axis=1))
        radius = float(np.quantile(lengths, QUANTILE))
        public.append(
            f"the length to which records are cut off ({radius:.3g}, read from the training records) is public"
        )
    if limits is None and target.model.classes is None:
        low, high = np.quantile(target.members.y, [1 - QUANTILE, QUANTILE])
        limits = (float(low), float(high)) if high > low else (float(low) - 1, float(low) + 1)
        read = "{:.3g} to {:.3g}".format(*limits)
        public.append(f"the limits at which values are cut off ({read}, read from the training records) are public")
    return BoundedRows(encoding, radius, target.model.classes, limits or (-1.0, 1.0)), [*public, *ALWAYS]


def why_no_rows(target: Target) -> str | None:
    """Why the records of a target can't become such rows, as the end of a sentence, or None if they can."""
    try:
        encoded = make_encoding(target)(target.members.X)
    except (InputError, TypeError, ValueError) as error:
        return f"its records can't be turned into numbers ({describe(error)})"
    if not np.isfinite(encoded).all():
        return "its records have missing or infinite values once they are encoded"
    return None


def usual_l2(share: float, parameters: int, n: int, epsilon: float) -> float:
    """A weight of the penalty that leaves accuracy where ε and n are given: more noise asks for more of it.

    The best weight falls with n and ε, and rises with the length of the noise, which grows with the root of the number of
    parameters; ``share`` is near the best on Adult with 1,000 to 20,000 records, and on breast cancer and digits. By the
    root of ε, since the noise would grow with ε if the weight fell faster. All of these are public, so that the choice spends
    no privacy.

    Examples
    --------
    >>> usual_l2(1.0, parameters=100, n=1000, epsilon=1.0)
    0.01
    """
    return max(SMALLEST_L2, share * math.sqrt(parameters / epsilon) / n)


def check_fields(noise: Any, l2: Any, radius: Any) -> None:
    """Refuse a noise that is not known, and a penalty or a radius that can't be."""
    if noise not in ("gaussian", "laplace"):
        raise InputError(f"there is no noise {noise!r}: use 'gaussian' or 'laplace'")
    if l2 is not None:
        check_number("l2", l2, least=SMALLEST_L2)
    if radius is not None:
        check_number("radius", radius, least=0, open_ends=True)


def minimum(
    rows: Floats, codes: NDArray[Any], scores: int, l2: float, tilt: Floats | None = None, start: Floats | None = None
) -> Floats:
    """Parameters (columns, scores) where the regularised log-loss, with its tilt, has a gradient of at most 10⁻⁸/n.

    Parameters
    ----------
    rows, codes
        Rows no longer than 1, and their classes 0 … k - 1.
    scores
        1 for the logistic model of two classes, k for a softmax.
    l2
        The weight λ of the penalty.
    tilt
        The vector b of objective perturbation, like the parameters.
    start
        Where to begin; by default at 0.

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
        squares = np.linalg.norm(rows.T @ rows if rows.shape[1] < n else rows @ rows.T) / n  # never below the 2-norm
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
    raise InputError(f"no minimum of the regularised loss was found in {STEPS:,} steps: raise l2 above {l2:g}")


def least_squares(rows: Floats, values: Floats, l2: float) -> Floats:
    r"""Parameters (columns, 1) that minimise :math:`\lambda\lVert\theta\rVert^2` + mean squared error.

    Examples
    --------
    >>> least_squares(np.ones((2, 1)), np.array([0.0, 1.0]), l2=1.0)
    array([[0.25]])
    """
    n = len(rows)
    with one_thread():
        return np.asarray(np.linalg.solve(rows.T @ rows / n + l2 * np.eye(rows.shape[1]), rows.T @ values[:, None] / n))


def spherical_laplace(size: tuple[int, ...], rng: np.random.Generator) -> Floats:
    r"""Noise with density proportional to :math:`e^{-\lVert b\rVert_2}`: any direction alike, its length Gamma(p).

    [Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 1]. Moving it by a distance d changes its density by no more than
    :math:`e^d`. Laplace noise on each of p parameters would have to cover :math:`\sqrt p\,d`.

    Examples
    --------
    >>> lengths = [np.linalg.norm(spherical_laplace((5,), np.random.default_rng(seed))) for seed in range(4000)]
    >>> bool(abs(np.mean(lengths) - 5) < 4 * np.sqrt(5 / 4000))  # Gamma(5) has mean 5 and variance 5
    True
    """
    direction = rng.standard_normal(size)
    return direction / np.linalg.norm(direction) * rng.standard_gamma(direction.size)
