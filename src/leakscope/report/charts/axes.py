"""Axes of a chart for both drawers: ranges, ticks, and positions of categories."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from leakscope.core.estimate import Estimate
from leakscope.report.charts.model import Axis, Chart, Mark

Triple = tuple[float, float, float]  # a value and the ends of its interval
#: Largest number of positions of a line that get a tick each.
MOST_PLACES = 7
#: Distance from the values beyond which ends of intervals are drawn as arrows at the edge.
FARTHEST, FARTHEST_FACTOR = 3.0, 30.0
#: Space before a group of categories, in rows: for its heading on the vertical axis, and between groups on the other one.
HEADING, GAP = 1.25, 0.5
#: Steps of a curve on logarithmic axes.
STEPS = 141
#: Largest number of decades of a logarithmic axis with minor lines at 2, 3, …, 9.
FINE_DECADES = 5


@dataclass(frozen=True)
class Span:
    """An axis with its range and ticks; ``slots`` are the centres of categories and ``headings`` the positions of their groups."""

    axis: Axis
    log: bool
    low: float
    high: float
    ticks: tuple[float, ...]
    slots: tuple[float, ...] = ()
    headings: tuple[tuple[float, str], ...] = ()

    def at(self, value: float) -> float:
        """Return the position of a value: 0 at the low end, 1 at the high end; values beyond an end are clipped."""
        inside = self.clamp(self.slots[round(value)] if self.slots else value)
        if self.log:
            return math.log(inside / self.low) / math.log(self.high / self.low)
        return (inside - self.low) / (self.high - self.low)

    def clamp(self, value: float) -> float:
        """Move a value that is beyond an end to the end."""
        return min(max(value, self.low), self.high)

    def holds(self, value: float) -> bool:
        """Whether a value is between the ends, up to rounding."""
        slack = 1e-9 * (self.high - self.low)
        return bool(self.slots) or self.low - slack <= value <= self.high + slack

    def words(self, tick: float) -> str:
        """Write a tick."""
        return self.axis.number(tick)

    def fine(self) -> list[float]:
        """Return the values of minor lines between the ticks of a logarithmic axis."""
        if not self.log or not 1 <= math.log10(self.high / self.low) <= FINE_DECADES:
            return []
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)))
        return [value for decade in decades for digit in range(2, 10) if self.holds(value := digit * 10.0**decade)]


def spans(chart: Chart) -> tuple[Span, Span]:
    """Return both axes of a chart, with ends that hold its values."""
    x: list[Triple] = []
    y: list[Triple] = []
    for series in chart.series:
        for mark in series.marks:
            x += triples(mark.x)
            y += triples(mark.y)
            y += [(end, end, end) for end in mark.box]
        if series.end is not None:
            x.append((series.end,) * 3)
    for rule in chart.rules:
        if rule.at is not None and rule.axis != "diagonal":
            (x if rule.axis == "x" else y).append((rule.at,) * 3)
    joined = [mark for series in chart.series if series.form == "line" for mark in series.marks]
    across, up = chart.x.scale == "category", chart.y.scale == "category"
    return (
        _categories(chart.x, upright=False) if across else span(chart.x, x, _few_places(joined)),
        _categories(chart.y, upright=True) if up else span(chart.y, y),
    )


def span(axis: Axis, held: Sequence[Triple], places: Sequence[float] = ()) -> Span:
    """Return an axis with ends that hold some values; ``places`` become its ticks, if there are any.

    Examples
    --------
    >>> found = span(Axis("AUC"), [(0.6, 0.5, 0.7)])
    >>> found.ticks, round(found.high, 2)
    ((0.0, 0.2, 0.4, 0.6), 0.73)
    """
    positive = all(value > 0 for value, _, _ in held) or (axis.low is not None and axis.low > 0)
    log = axis.scale == "log" and positive
    low, high = _ends(axis, held, log)
    ticks = places or (_log_ticks(low, high) if log else round_numbers(low, high, 5))
    return Span(axis, log, low, high, tuple(ticks))


def triples(place: float | Estimate | None) -> Iterator[Triple]:
    """Return the value of a place with the ends of its interval; nothing where there is no value."""
    if isinstance(place, Estimate):
        if not math.isnan(place.value):
            yield float(place.value), float(place.low), float(place.high)
    elif place is not None and not math.isnan(place):
        yield (float(place),) * 3


def round_numbers(low: float, high: float, about: int = 4) -> list[float]:
    """Return round numbers between two ends.

    Examples
    --------
    >>> round_numbers(0.0, 0.7), round_numbers(0.0, 3e-14)
    ([0.0, 0.2, 0.4, 0.6], [0.0, 1e-14, 2e-14, 3e-14])
    """
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{at * step:.12g}") for at in range(first, last + 1)]


def _few_places(marks: Sequence[Mark]) -> list[float]:
    places = sorted({value for mark in marks for value, _, _ in triples(mark.x)})
    return places if 1 < len(places) <= MOST_PLACES else []


def _categories(axis: Axis, *, upright: bool) -> Span:
    """Place categories one row apart; the heading of a group is above it, or below its centre."""
    groups = axis.groups or ("",) * len(axis.categories)
    place, slots = 0.0, list[float]()
    headings: list[tuple[float, str]] = []
    for group, run in groupby(range(len(groups)), lambda at: groups[at]):
        many = len(list(run))
        place += 0.0 if not group else HEADING if upright else GAP * bool(slots)
        if group:
            headings.append((place if upright else place + many / 2, group))
        slots += [place + at + 0.5 for at in range(many)]
        place += many
    return Span(axis, False, 0.0, max(place, 1.0), (), tuple(slots) or (0.5,), tuple(headings))


def _ends(axis: Axis, held: Sequence[Triple], log: bool) -> tuple[float, float]:
    low, high = _log_ends(held) if log else _linear_ends(axis, held)
    low, high = low if axis.low is None else axis.low, high if axis.high is None else axis.high
    return (low, high) if low < high else (low, low * 10) if log else (low, low + 1)


def _linear_ends(axis: Axis, held: Sequence[Triple]) -> tuple[float, float]:
    """Hold the values and all finite ends of intervals, or, with zero, those that are not much farther out."""
    centres = [value for value, _, _ in held if math.isfinite(value)]
    centres += [0.0] if axis.from_zero or not centres else []
    finite = [end for _, *pair in held for end in pair if math.isfinite(end)]
    reach = (FARTHEST * (max(centres) - min(centres)) if axis.from_zero else 0) or math.inf
    near = [*centres, *(end for end in finite if min(centres) - reach <= end <= max(centres) + reach)]
    low, high = min(near), max(near)
    pad = 0.05 * (high - low) or 0.05 * abs(low) or 0.05
    from_zero = axis.from_zero
    return (0.0 if from_zero and low == 0 else low - pad), (0.0 if from_zero and high == 0 < -low else high + pad)


def _log_ends(held: Sequence[Triple]) -> tuple[float, float]:
    """Hold the positive values, and the ends of intervals within a factor of them."""
    centres = [value for value, _, _ in held if 0 < value < math.inf] or [1.0]
    ends = [end for _, *pair in held for end in pair]
    near = [end for end in ends if min(centres) / FARTHEST_FACTOR <= end <= max(centres) * FARTHEST_FACTOR]
    low, high = min([*centres, *near]), max([*centres, *near])
    pad = (high / low) ** 0.04 if high / low > 1 + 1e-6 else 1.2
    return low / pad, high * pad


def _log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten if there are three or more, otherwise as many round numbers as there is room for."""
    first, last = math.log10(low), math.log10(high)
    decades = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    if len(decades) >= 3:
        step = math.ceil(len(decades) / 8)
        return [10.0**decade for decade in decades if decade % step == 0]
    if last - first > 0.7:
        found = [digit * 10.0**decade for decade in range(math.floor(first), math.ceil(last)) for digit in (1, 2, 5)]
        return [float(f"{tick:.12g}") for tick in found if low <= tick <= high]
    return [tick for tick in round_numbers(low, high) if tick > 0]


def edges(marks: Sequence[Mark], end: float | None) -> list[tuple[float, float]]:
    """Return the two ends of each bin of a histogram."""
    starts = [value for mark in marks for value, _, _ in triples(mark.x)]
    last = end if end is not None else 2 * starts[-1] - starts[-2] if len(starts) > 1 else starts[-1] + 1
    return list(pairwise([*starts, last]))


def curve(marks: Sequence[Mark], across: Span, up: Span) -> tuple[list[float], list[float], list[float], list[float]]:
    """Return the places of a curve, its values, and the ends of their intervals.

    A line that is straight on linear axes is curved on logarithmic ones, so it is drawn in many small steps. Of several values at one position the last
    is used.
    """
    found = [(x[0], y) for mark in marks for x in triples(mark.x) for y in triples(mark.y)]
    places = [place for place, _ in found]
    values, low, high = ([row[end] for _, row in found] for end in range(3))
    if len(found) < 2 or not (across.log or up.log) or any(one > other for one, other in pairwise(places)):
        return places, values, low, high
    ends = across.clamp(places[0]), across.clamp(places[-1])
    steps = (np.geomspace if across.log else np.linspace)(*ends, STEPS)
    apart, last = np.unique(np.asarray(places)[::-1], return_index=True)
    values, low, high = (np.interp(steps, apart, np.asarray(row)[::-1][last]).tolist() for row in (values, low, high))
    return steps.tolist(), values, low, high


def filled_dots(chart: Chart) -> tuple[int, int]:
    """Return how many of a hundred dots are filled, and up to which one they are pale: the ends of the interval, rounded outwards."""
    rows = (row for series in chart.series for mark in series.marks for row in triples(mark.y))
    _, low, high = next(rows, (0.0, 0.0, 0.0))
    return math.floor(low + 1e-9), math.ceil(high - 1e-9)
