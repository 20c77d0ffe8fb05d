"""Does a series of measurements rise or fall? Said by their intervals, never by the points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from leakscope.core.estimate import Estimate

Trend = Literal["falls", "rises", "goes both ways", "shows no change"]
Series = Sequence[tuple[str, Estimate]]  # places in words, with what was measured there


def trend(points: Sequence[Estimate]) -> Trend:
    """A later point counts as higher or lower than an earlier one only if their intervals are apart.

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


def describe(name: str, series: Series) -> str:
    """A trend in words, with the numbers that it rests on.

    Examples
    --------
    >>> describe("leakage", [("n = 10", Estimate(3, 2, 4)), ("n = 20", Estimate(1, 0.5, 1.5))])
    'leakage falls from 3 [2, 4] at n = 10 to 1 [0.5, 1.5] at n = 20'
    """
    if not series:
        return f"{name} could not be measured"
    first, last = (f"{shown(point)} at {place}" for place, point in (series[0], series[-1]))
    way = trend([point for _, point in series])
    words = f"{name} {way} from {first} to {last}"
    if way == "goes both ways":
        order = sorted(series, key=lambda pair: pair[1].value)
        least, most = (f"{shown(point)} at {place}" for place, point in (order[0], order[-1]))
        words += f" (most {most}, least {least})"
    return words


def judge(expected: Trend, found: Mapping[str, Series]) -> str:
    """Whether all, some or none of the named series have the expected trend.

    Examples
    --------
    >>> judge("rises", {"leakage": [("a", Estimate(3, 2, 4)), ("b", Estimate(1, 0.5, 1.5))]})
    'differs: leakage falls from 3 [2, 4] at a to 1 [0.5, 1.5] at b'
    """
    agreeing = [name for name, series in found.items() if trend([point for _, point in series]) == expected]
    words = "; ".join(describe(name, series) for name, series in found.items())
    if len(agreeing) == len(found):
        return f"agrees: {words}"
    return f"agrees in part ({', '.join(agreeing)}): {words}" if agreeing else f"differs: {words}"


def slope(x: Sequence[float], points: Sequence[Estimate]) -> Estimate | None:
    """The slope on two logarithmic axes, by least squares over the positive points; None for fewer than three.

    The points are taken as independent, each with the standard error that its 95 % interval shows.

    Examples
    --------
    >>> slope([1, 10, 100], [Estimate(1, 0.9, 1.1), Estimate(0.1, 0.09, 0.11), Estimate(0.01, 0.009, 0.011)])
    -1.00 [-1.03, -0.97]
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


def shown(point: Estimate) -> str:
    """An estimate with three digits, whatever its size, and from a thousand on without decimals.

    Examples
    --------
    >>> shown(Estimate(0.12345, 0.1, 0.15)), shown(Estimate(2324.3, 2318.0, 2331.0))
    ('0.123 [0.1, 0.15]', '2,324 [2,318, 2,331]')
    """
    value, low, high = (f"{x:,.0f}" if abs(x) >= 999.5 else f"{x:.3g}" for x in (point.value, point.low, point.high))
    return f"{value} [{low}, {high}]"
