r"""Agreement of approximate and exact influences: shared top records and rank correlation.

Two tables of influences (points, records), one approximate and one exact, are compared point by point. An explanation
shows the k records of largest \|I\|, so \|I\| is compared: the share of the true k that are found, whether the first is
equal, and Spearman's rank correlation over all records, with mean ranks for ties. At random, the first is k / records
and the last 0.

The intervals are for the mean over points of the same population, with the models fixed. They are Student's intervals,
and at least as wide as the events that n points can miss: a share log(2/α)/n of points with one more wrong record, or,
if all n points are equal, with all records wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_confidence, check_count
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import mean, proportion
from leakscope.releases.record_explanations.explanation import most_influential, read_points


@dataclass(frozen=True)
class Agreement:
    """How far two tables of influences agree on the explanation of a point, in the mean over points.

    Parameters
    ----------
    top
        Share of the true k most influential records that are among the k found.
    first
        Share of the points whose most influential record is found as such.
    rank_correlation
        Spearman's correlation of the sizes of influences over all records.
    k
        Number of records that an explanation shows.
    """

    top: Estimate
    first: Estimate
    rank_correlation: Estimate
    k: int


def agreement(approximate: Any, exact: Any, k: int = 5, confidence: float = 0.95) -> Agreement:
    """Compare approximate influences with exact ones, both (points, records), point by point.

    A point at which all records have the same influence has no order: it correlates with another such point only.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import influences, leave_one_out
    >>> from leakscope.releases.record_explanations.approximate import first_order
    >>> rng = np.random.default_rng(0)
    >>> X, points = rng.normal(size=(100, 5)), rng.normal(size=(50, 5))
    >>> y = X[:, 0] + rng.logistic(size=100) > 0
    >>> found = agreement(*(influences(train(X, y), points) for train in (first_order, leave_one_out)), k=5)
    >>> found.top, found.rank_correlation
    (0.94 [0.90, 0.97], 0.9983 [0.9980, 0.9987])
    """
    found, true = _read(approximate, "approximate"), _read(exact, "exact")
    if found.shape != true.shape:
        raise InputError(
            f"the approximate influences have shape {found.shape} and the exact ones {true.shape}: pass both for the "
            "same points and records"
        )
    points, records = true.shape
    k = check_count("k", k, most=records)
    check_confidence(confidence)
    chosen, wanted = most_influential(found, k), most_influential(true, k)
    overlap = (chosen[:, :, None] == wanted[:, None, :]).sum(axis=(1, 2)) / k
    same = int((chosen[:, 0] == wanted[:, 0]).sum())
    correlations = [_spearman(*rows) for rows in zip(np.abs(found), np.abs(true), strict=True)]
    return Agreement(
        top=bounded_mean(overlap, 0.0, 1 / k, confidence),
        first=proportion(same, points, confidence),
        rank_correlation=bounded_mean(np.array(correlations), -1.0, 0.0, confidence),
        k=int(k),
    )


def _read(table: Any, which: str) -> Floats:
    values = read_points(table, f"the {which} influences")
    if not len(values) or values.shape[1] < 2:
        raise InputError(f"the {which} influences have shape {values.shape}: pass at least one point and two records")
    return values


def _spearman(first: Floats, second: Floats) -> float:
    from scipy.stats import rankdata

    one, other = (rankdata(values) - (len(values) + 1) / 2 for values in (first, second))
    lengths = float(np.sqrt((one @ one) * (other @ other)))
    if not lengths:
        return float(not one.any() and not other.any())
    return float(np.clip(one @ other / lengths, -1.0, 1.0))


def bounded_mean(values: Floats, least: float, step: float, confidence: float) -> Estimate:
    """Return the mean of values from ``least`` to 1 in steps of ``step``, with Student's interval or a wider one for rare events."""
    student = mean(values, confidence)
    fall = step if np.ptp(values) else 1 - least
    unseen = min(1.0, -np.log((1 - confidence) / 2) / len(values)) * fall
    half = max(student.high - student.value, unseen)
    low, high = max(least, student.value - half), min(1.0, student.value + half)
    return Estimate(student.value, low, high, confidence, n=len(values), method="Student, or what was not seen")
