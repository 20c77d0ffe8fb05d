"""Releases of record explanations, and their utility.

A release is a choice: how many records, with or without their influences, to how many digits, with how much noise, and whether queries far from all
training records are answered. Each choice is a defense, and each has a utility loss: fewer of the most influential records shown, inexact values, or no
answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakscope.core import intervals
from leakscope.core.arrays import Booleans, Floats, Indices
from leakscope.core.checks import check_number
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.releases.oracle import Oracle, check_rounding
from leakscope.releases.record_explanations.explanation import LeftOut, Loss, RecordExplanation, influences
from leakscope.releases.record_explanations.rank_agreement import bounded_mean

BLOCK = 2**22  # distances in memory at a time


@dataclass(frozen=True)
class RecordRelease:
    """A release of record explanations.

    Parameters
    ----------
    k, loss
        How many records are shown, and the loss whose change is their influence (`RecordExplanation`).
    values
        Whether their influences are shown.
    digits, decimals
        Significant digits of the influences, decimals of the prediction; None for all.
    noise
        Standard deviation of Gaussian noise on every influence, added before the records are ranked.
    near
        Refuse queries farther from every training record than this share of the training records are from their nearest neighbour; 0.99 refuses about
        one ordinary query in a hundred. None answers everything.

    Examples
    --------
    >>> RecordRelease(k=1, digits=2).words
    '1 record, influence to 2 digits'
    """

    k: int = 5
    loss: Loss = "likelihood"
    values: bool = True
    digits: int | None = None
    decimals: int | None = None
    noise: float = 0.0
    near: float | None = None

    def __post_init__(self) -> None:
        RecordExplanation(self.k, self.loss)
        check_rounding(self.digits, self.decimals, self.noise)
        if not isinstance(self.values, bool | np.bool_):
            raise InputError(f"values must be True or False, not {self.values!r}")
        if self.near is not None and check_number("near", self.near, 0, 1) == 0:
            raise InputError("near must be above 0: leave it out to answer all queries")

    @property
    def explanation(self) -> RecordExplanation:
        """The explanation before anything is rounded, hidden or refused."""
        return RecordExplanation(self.k, self.loss)

    @property
    def words(self) -> str:
        """Name of the release."""
        shown = f"{self.k} record{'s' if self.k > 1 else ''}"
        if not self.values:
            shown += ", influences hidden"
        elif self.digits is not None:
            shown += f", influence to {self.digits} digit{'s' if self.digits > 1 else ''}"
        shown += f", prediction to {self.decimals} decimals" if self.decimals is not None else ""
        shown += f", noise {self.noise:.2g}" if self.noise else ""
        return shown + (f", distant queries refused ({self.near:g})" if self.near is not None else "")

    def oracle(self, models: LeftOut, X: Floats, y: Any, *, budget: int | None = None, seed: int = 0) -> Oracle:
        """Give the oracle of this release, over models of all training records and without each."""
        refuse = None if self.near is None else refuse_far_points(X, self.near)
        return Oracle.of(
            models, X, y, self.explanation, budget=budget, values=self.values, digits=self.digits,
            decimals=self.decimals, noise=self.noise, refuse=refuse, seed=seed,
        )  # fmt: skip

    def usefulness(
        self,
        models: LeftOut,
        X: Floats,
        y: Any,
        points: Floats,
        *,
        best: int = 5,
        trained: bool = False,
        seed: int = 0,
        confidence: float = 0.95,
    ) -> Usefulness:
        """Measure the utility of the release for users who ask about these points.

        Parameters
        ----------
        best
            Number of records of the exact explanation that this one is compared with.
        trained
            Whether the points are the training records: the distance of each is then that to its nearest other record.
        """
        best = min(best, len(models))
        exact = RecordExplanation(best, self.loss).explain(models, points)
        answer = self.oracle(models, X, y, seed=seed).query(points)
        answered = answer.records[:, 0] >= 0
        if trained and self.near is not None:
            answered = ~refuse_far_points(X, self.near, skip=1)(points)
        hits = (answer.records[:, :, None] == exact.records[:, None, :]).any(axis=1).sum(axis=1) * answered
        most = min(self.k, best)
        found = bounded_mean(hits / most, 0.0, 1 / most, confidence)
        error = None
        if answer.influences is not None and answered.any():
            true = np.abs(_influences_of(models, points[answered], answer.records[answered], self.loss))
            off = np.abs(np.abs(answer.influences[answered]) - true) / np.maximum(true, np.finfo(float).tiny)
            error = intervals.median(np.median(off, axis=1), confidence)
        return Usefulness(
            answered=intervals.proportion(int(answered.sum()), len(answered), confidence),
            found=found.mapped(lambda share: share * most / best),
            best=best,
            error=error,
        )


@dataclass(frozen=True)
class Usefulness:
    """Utility of a release for its users.

    Parameters
    ----------
    answered
        Share of their queries that get an answer.
    found
        Share of the ``best`` most influential records that is shown.
    error
        Relative error of the influences shown, median of an answer and median over answers; None if they are hidden.
    """

    answered: Estimate
    found: Estimate
    best: int
    error: Estimate | None


def refuse_far_points(X: Floats, share: float, skip: int = 0) -> Callable[[Floats], Booleans]:
    """Give a rule that refuses points farther from every training record than ``share`` of these are from their nearest.

    With ``skip`` = 1 the points are training records, and are not compared with themselves.

    Examples
    --------
    >>> refuse = refuse_far_points(np.array([[0.0], [1.0], [3.0]]), share=0.5)
    >>> refuse(np.array([[1.5], [5.0]]))
    array([False,  True])
    """
    records = np.unique(np.asarray(X, dtype=np.float64), axis=0)
    if len(records) < 2:
        raise InputError("near needs at least two different training records: leave it out")
    limit = np.quantile(nearest(records, records, skip=1), share) * (1 + 1e-9) + 1e-12
    return lambda points: nearest(np.asarray(points, dtype=np.float64), records, skip) > limit


def nearest(points: Floats, records: Floats, skip: int = 0) -> Floats:
    """Return the distance to the nearest record; ``skip`` = 1 leaves out the nearest, which is the point itself."""
    squares = np.einsum("ij,ij->i", records, records)
    found = np.empty(len(points))
    rows = max(1, BLOCK // len(records))
    for start in range(0, len(points), rows):
        part = points[start : start + rows]
        distances = squares - 2 * (part @ records.T) + np.einsum("ij,ij->i", part, part)[:, None]
        found[start : start + rows] = np.partition(distances, skip, axis=1)[:, skip]
    return np.sqrt(np.maximum(found, 0.0))


def _influences_of(models: LeftOut, points: Floats, records: Indices, loss: Loss) -> Floats:
    """Exact influences of the records shown."""
    found = np.empty(records.shape)
    rows = max(1, BLOCK // len(models))
    for start in range(0, len(points), rows):
        part = slice(start, start + rows)
        found[part] = np.take_along_axis(influences(models, points[part], loss=loss), records[part], axis=1)
    return found
