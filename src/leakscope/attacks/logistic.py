r"""Logistic regression of membership on a few numbers per record, by Newton's method.

It minimises :math:`\sum_i \ln(1 + e^{-s_i x_i^\top w}) + |w|^2 / 2C` with s = 1 for members and -1 for non-members. The columns of x
are standardised; the constant has no penalty. This is scikit-learn's ``make_pipeline(StandardScaler(), LogisticRegression(C=C))`` at
its exact minimum. An audit fits it some hundred times, where scikit-learn's checks and its solver take most of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakscope.core.arrays import Booleans, Floats, Indices

#: Newton's method: largest number of steps, smallest gain, and smallest fraction of a step that is tried.
MOST_STEPS, SMALLEST_GAIN, SMALLEST_STEP = 50, 1e-10, 1e-6
#: Penalty of the constant, so that its equation has a solution where one class is missing.
OF_CONSTANT = 1e-9


@dataclass(frozen=True, eq=False)
class LogisticClassifier:
    """Weights of the constant and of the standardised columns, and for degree 2 of their standardised products too.

    Examples
    --------
    >>> model = LogisticClassifier.fit(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([False, False, True, True]))
    >>> model.decision_function(np.array([[1.5], [3.0]])).round(2)
    array([0.  , 1.27])
    """

    scales: tuple[tuple[Floats, Floats], ...]
    weights: Floats
    penalty: Floats

    @classmethod
    def fit(cls, features: Floats, member: Booleans, strength: float = 1.0, *, degree: int = 1) -> LogisticClassifier:
        """Fit the weights; ``strength`` is C, the inverse of the penalty."""
        scales: list[tuple[Floats, Floats]] = []
        columns = _design(features, degree, lambda _, part: scales.append(_standardise(part)))
        penalty = np.r_[OF_CONSTANT, np.full(len(columns) - 1, 1 / strength)]
        columns *= _signs(member)
        return cls(tuple(scales), _newton(columns, penalty), penalty)

    @property
    def degree(self) -> int:
        """1, or 2 with products."""
        return len(self.scales)

    def design(self, features: Floats) -> Floats:
        """Return the constant and the standardised columns, (columns, records), so that sums read memory in order."""

        def scale(power: int, part: Floats) -> None:
            centre, spread = self.scales[power]
            part -= centre
            part /= spread

        return _design(features, self.degree, scale)

    def decision_function(self, features: Floats) -> Floats:
        """Return the log-odds of membership, in float32: equal records get equal scores, however their sums are rounded."""
        return (self.weights @ self.design(features)).astype(np.float32).astype(np.float64)

    def loss_unseen(self, features: Floats, member: Booleans, part: Indices) -> float:
        """Return the cross-validated log-loss, summed: one Newton step from the weights of all records to those without each part.

        At these weights the gradient and the curvature of all records but one part are those of all records minus those of the part,
        so that one pass over the records serves all parts.
        """
        order = np.argsort(part, kind="stable")
        columns = self.design(features[order])
        columns *= _signs(member[order])
        ends = np.cumsum(np.bincount(part))[:-1]
        wrong, losses = _wrong(self.weights @ columns)
        slopes, curvatures = _by_part(columns, wrong, ends)
        slope = slopes.sum(axis=0) - slopes + self.penalty * self.weights
        curvature = curvatures.sum(axis=0) - curvatures + np.diag(self.penalty)
        step, size = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0], np.ones((len(slope), 1))
        start = _without_own(np.repeat(losses[None], len(slope), axis=0), ends) + self._penalised(self.weights)
        while True:
            weights = self.weights - size * step
            _, losses = _wrong(weights @ columns)
            worse = (_without_own(losses, ends) + self._penalised(weights) > start) & (size[:, 0] > SMALLEST_STEP)
            if not worse.any():
                return float(_own(losses, ends).sum())
            size[worse] /= 2

    def _penalised(self, weights: Floats) -> Floats:
        return np.asarray((self.penalty * weights**2).sum(axis=-1) / 2)


def _design(features: Floats, degree: int, scale: Callable[[int, Floats], None]) -> Floats:
    """The constant, the columns and for degree 2 all products of two of them, ``scale`` applied in place after each power."""
    records, count = features.shape
    table = np.empty((1 + count + (count * (count + 1) // 2 if degree == 2 else 0), records))
    table[0], end = 1.0, 1 + count
    table[1:end] = features.T
    scale(0, table[1:end])
    if degree == 2:
        for place in range(1, 1 + count):
            start, end = end, end + 1 + count - place
            np.multiply(table[place], table[place : 1 + count], out=table[start:end])
        scale(1, table[1:])
    return table


def _standardise(columns: Floats) -> tuple[Floats, Floats]:
    """Give columns mean 0 and variance 1 in place, and say what was subtracted and divided by."""
    centre = columns.mean(axis=1, keepdims=True)
    columns -= centre
    spread = np.sqrt(np.einsum("cn,cn->c", columns, columns) / max(1, columns.shape[1]))[:, None]
    # A constant column is left with rounding errors, or with nothing.
    spread[spread <= np.finfo(np.float64).eps * np.abs(centre)] = 1.0
    spread[spread == 0] = 1.0
    columns /= spread
    return centre, spread


def _signs(member: Booleans) -> Floats:
    """Columns with the sign changed at members give the loss of a record as ln(1 + exp(weights · record))."""
    return np.where(member, -1.0, 1.0)


def _wrong(margins: Floats) -> tuple[Floats, Floats]:
    """Probability of the wrong answer, and log-loss, from one exponential."""
    small = np.exp(-np.abs(margins))
    return np.where(margins >= 0, 1.0, small) / (1 + small), np.maximum(margins, 0.0) + np.log1p(small)


def _newton(columns: Floats, penalty: Floats) -> Floats:
    """Weights that minimise the log-loss and the penalty."""
    weights, margins = np.zeros(len(columns)), np.zeros(columns.shape[1])
    wrong, losses = _wrong(margins)
    value, weighted = float(losses.sum()), np.empty_like(columns)
    for _ in range(MOST_STEPS):
        curvature = np.multiply(columns, wrong * (1 - wrong), out=weighted) @ columns.T + np.diag(penalty)
        step = np.linalg.solve(curvature, columns @ wrong + penalty * weights)
        change, size, last = step @ columns, 1.0, value
        while True:
            wrong, losses = _wrong(margins - size * change)
            value = float(losses.sum() + (penalty * (weights - size * step) ** 2).sum() / 2)
            if value <= last or size <= SMALLEST_STEP:
                break
            size /= 2
        weights, margins = weights - size * step, margins - size * change
        if last - value <= SMALLEST_GAIN * (1 + abs(value)):
            break
    return weights


def _by_part(columns: Floats, wrong: Floats, ends: Indices) -> tuple[Floats, Floats]:
    """Gradient and curvature of the log-loss of each part."""
    parts = list(zip(np.split(columns, ends, axis=1), np.split(wrong, ends), strict=True))
    slopes = [some @ of_some for some, of_some in parts]
    return np.array(slopes), np.array([(some * (p * (1 - p))) @ some.T for some, p in parts])


def _own(losses: Floats, ends: Indices) -> Floats:
    """Sum of row k over part k."""
    return np.array([some[place].sum() for place, some in enumerate(np.split(losses, ends, axis=1))])


def _without_own(losses: Floats, ends: Indices) -> Floats:
    """Sum of row k over all parts but part k."""
    return np.asarray(losses.sum(axis=1) - _own(losses, ends))
