"""Whether a series of measurements rises or falls, decided from intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim
from leakscope.papers.reproduction import statement

Trend = Literal["falls", "rises", "goes both ways", "shows no change"]
Series = Sequence[tuple[str, Estimate]]  # places in words, with what was measured there


def trend(points: Sequence[Estimate]) -> Trend:
    """Give the trend: a later point is higher or lower than an earlier one only if their intervals do not overlap.

    Examples
    --------
    >>> trend([Estimate(3, 2, 4), Estimate(3.5, 3, 4), Estimate(1, 0.5, 1.5)])
    'falls'
    >>> trend([Estimate(3, 2, 4), Estimate(3.5, 3, 4)])
    'shows no change'
    """
    rises = any(later.low > earlier.high for earlier, later in combinations(points, 2))
    falls = any(later.high < earlier.low for earlier, later in combinations(points, 2))
    if rises and falls:
        return "goes both ways"
    return "rises" if rises else "falls" if falls else "shows no change"


def less(first: Estimate, second: Estimate) -> bool | None:
    """Decide whether one number is below another; None where their intervals overlap.

    Examples
    --------
    >>> less(Estimate(1, 0, 2), Estimate(4, 3, 5)), less(Estimate(1, 0, 2), Estimate(2, 1, 3))
    (True, None)
    """
    return True if first.high < second.low else False if first.low > second.high else None


def between(point: Estimate, low: float = -math.inf, high: float = math.inf) -> bool | None:
    """Decide whether a number lies between two others; None where its interval contains one of them.

    Examples
    --------
    >>> between(Estimate(0.6, 0.55, 0.65), high=0.5), between(Estimate(0.6, 0.55, 0.65), 0.5), between(Estimate(0.5, 0.4, 0.6), 0.5)
    (False, True, None)
    """
    if point.low > high or point.high < low:
        return False
    return True if low <= point.low and point.high <= high else None


def every(decided: Iterable[bool | None]) -> bool | None:
    """Decide whether all hold: False if one does not, None if one is inconclusive."""
    found = list(decided)
    return False if False in found else None if None in found else True


def follows(name: str, expected: Literal["falls", "rises"], series: Series) -> Claim:
    """Decide whether a series has the trend that the paper states; inconclusive where its intervals show no change.

    Examples
    --------
    >>> follows("leakage", "rises", [("n = 10", Estimate(3, 2, 4)), ("n = 20", Estimate(1, 0.5, 1.5))])
    Claim(code='reproduced', subject={'statement': 'leakage rises'}, outcome='no', estimates={'n = 10': 3.00 [2.00, 4.00], 'n = 20': 1.00 [0.50, 1.50]})
    """
    found = trend([point for _, point in series])
    order = sorted(series, key=lambda pair: pair[1].value)
    told = [*series[:1], *series[-1:]] if found != "goes both ways" else [series[0], series[-1], order[0], order[-1]]
    holds = None if found == "shows no change" else found == expected
    return statement(f"{name} {expected}", holds, dict(told))


def slope(x: Sequence[float], points: Sequence[Estimate]) -> Estimate | None:
    """Give the slope on two logarithmic axes, by least squares over the positive points; None for fewer than three.

    The points are taken as independent, each with the standard error that its 95 % interval shows.

    Examples
    --------
    >>> slope([1, 10, 100], [Estimate(1, 0.9, 1.1), Estimate(0.1, 0.09, 0.11), Estimate(0.01, 0.009, 0.011)])
    −1.00 [−1.04, −0.96]
    """
    positive = [(math.log(at), point) for at, point in zip(x, points, strict=True) if at > 0 and point.value > 0]
    if len(positive) < 3:
        return None
    centred = np.array([at for at, _ in positive]) - np.mean([at for at, _ in positive])
    weights = centred / (centred @ centred)
    value = float(weights @ np.log([point.value for _, point in positive]))
    halves = np.array([(point.high - point.low) / (2 * point.value) for _, point in positive])  # of log(value)
    half = float(np.sqrt(np.sum((weights * halves) ** 2)))
    return Estimate(value, value - half, value + half, method="least squares of logarithms")
