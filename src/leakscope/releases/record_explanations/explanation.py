r"""Record explanations: the training records with the largest influence on a prediction.

The influence of training record x on a point y is the change of its loss when the model is trained without x,

.. math:: I_y(x) = L(y, \theta_{-x}) - L(y, \theta)

[shokri2019, Eq. 4]; section 5.2 has the opposite sign; only \|I\| ranks records. The loss is 1 − likelihood, that is 1
− f(y) for a point of the second class and f(y) for one of the first, as in section 5.2, so that \|I\| doesn't depend on
the point's label; or the log-loss. An explanation shows the k records of largest \|I\|, ties in the order of records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from leakscope.core.arrays import Floats, Indices
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError

Loss = Literal["likelihood", "log"]

BLOCK = 2**22  # influences in memory at a time


class LeftOut(Protocol):
    """The model of all records and those without each, from which explanations are computed, such as `LeaveOneOut`."""

    def __len__(self) -> int:
        """How many records there are."""

    def probabilities(self, points: Floats) -> Floats:
        """Return the probability of the second class (points,), by the model of all records."""

    def probabilities_without(self, points: Floats) -> Floats:
        """Return the probability of the second class (points, n): column i by the model trained without record i."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Explanations of some points, one row each: the most influential records first, and their influences."""

    records: Indices
    influences: Floats
    probabilities: Floats


def influences(models: LeftOut, points: Any, labels: Any = None, loss: Loss = "likelihood") -> Floats:
    """Return the influence of every training record on every point (points, n) [shokri2019, Eq. 4].

    Parameters
    ----------
    labels
        0 or 1 for each point; by default the class that the model predicts, as when a prediction is explained.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import leave_one_out
    >>> loo = leave_one_out([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> influences(loo, [[3.0]]).round(3)
    array([[-0.003,  0.136, -0.219,  0.33 ]])
    """
    points = read_points(points)
    return _influences(models, points, _read_classes(labels, len(points)), loss)[1]


@dataclass(frozen=True)
class RecordExplanation:
    """Explain a prediction by the ``k`` training records of largest absolute influence [shokri2019, section 3.2].

    Parameters
    ----------
    k
        How many records are shown.
    loss
        ``likelihood`` (1 − likelihood, [shokri2019, section 5.2]) or ``log``.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import leave_one_out
    >>> loo = leave_one_out([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> RecordExplanation(k=2).explain(loo, [[3.0], [0.5]]).records
    array([[3, 2],
           [0, 1]])
    """

    k: int = 5
    loss: Loss = "likelihood"

    def __post_init__(self) -> None:
        check_count("k", self.k)
        if self.loss not in ("likelihood", "log"):
            raise InputError(f"loss must be 'likelihood' or 'log', not {self.loss!r}")

    def explain(
        self,
        models: LeftOut,
        points: Any,
        labels: Any = None,
        *,
        noise: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> Explanation:
        """Find the most influential records of each point.

        Parameters
        ----------
        labels
            0 or 1 for each point; by default the class that the model predicts.
        noise, rng
            Standard deviation of Gaussian noise that is added to every influence before the records are ranked.
        """
        if self.k > len(models):
            raise InputError(f"k must be at most the {len(models)} training records, not {self.k}")
        points = read_points(points)
        labels = _read_classes(labels, len(points))
        parts = []
        rows = max(1, BLOCK // len(models))
        for start in range(0, max(1, len(points)), rows):
            part = slice(start, start + rows)
            probabilities, found = _influences(
                models, points[part], labels if labels is None else labels[part], self.loss
            )
            if noise:
                assert rng is not None
                found += rng.normal(0.0, noise, found.shape)
            records = most_influential(found, self.k)
            parts.append((records, np.take_along_axis(found, records, axis=1), probabilities))
        return Explanation(*(np.concatenate(pieces) for pieces in zip(*parts, strict=True)))


def most_influential(found: Floats, k: int) -> Indices:
    """Return the columns of the k largest absolute values of each row, largest first, ties in the order of columns.

    Examples
    --------
    >>> most_influential(np.array([[1.0, -3.0, 3.0, 2.0]]), 3)
    array([[1, 2, 3]])
    """
    size = np.abs(found)
    if k == 1:
        return np.asarray(size.argmax(axis=1)[:, None])
    if k == size.shape[1]:
        return np.argsort(-size, axis=1, kind="stable")
    chosen = np.argpartition(size, -k, axis=1)[:, -k:]
    least = np.take_along_axis(size, chosen[:, :1], axis=1)
    for row in np.flatnonzero((size >= least).sum(axis=1) > k):  # ties for the last place
        chosen[row] = np.argsort(-size[row], kind="stable")[:k]
    chosen.sort(axis=1)
    order = np.argsort(-np.take_along_axis(size, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


def _influences(models: LeftOut, points: Floats, labels: Indices | None, loss: Loss) -> tuple[Floats, Floats]:
    """Probabilities of the second class (points,), and influences (points, n)."""
    full = models.probabilities(points)
    without = models.probabilities_without(points)
    second = full >= 0.5 if labels is None else labels == 1
    if loss == "log":
        full_own, own = np.where(second, full, 1 - full), np.where(second[:, None], without, 1 - without)
        smallest = np.finfo(float).tiny
        return full, np.log(np.maximum(full_own, smallest))[:, None] - np.log(np.maximum(own, smallest))
    without -= full[:, None]
    without[second] *= -1.0
    return full, without


def read_points(points: Any, what: str = "points") -> Floats:
    """Check that points are a table of finite numbers, one row each."""
    try:
        values = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers: encode text as for training") from None
    if values.ndim != 2:
        raise InputError(f"{what} have shape {values.shape}: pass a table with one row per point")
    if not np.isfinite(values).all():
        raise InputError(f"{what} have missing or infinite numbers: fill them or leave them out")
    return values


def _read_classes(labels: Any, count: int) -> Indices | None:
    if labels is None:
        return None
    codes = np.asarray(labels)
    if codes.shape != (count,) or not np.isin(codes, (0, 1)).all():
        raise InputError("labels must be 0 for the first class or 1 for the second, one for each point")
    return codes.astype(np.intp)
