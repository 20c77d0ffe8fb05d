"""SVG of the series of a chart: points with intervals, lines, bands, bars, boxes and histograms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from leakscope.core.estimate import Estimate
from leakscope.report.charts import elements as svg
from leakscope.report.charts.axes import Span, curve, edges, triples
from leakscope.report.charts.labels import Box
from leakscope.report.charts.legend import colours
from leakscope.report.charts.model import Chart, Mark, Series
from leakscope.report.charts.words import place_words, said_of

CAP = 4.0
WIDEST_BAR = 34.0


class Frame(NamedTuple):
    """The axes of a chart and the box of the plot."""

    across: Span
    up: Span
    box: Box

    def x(self, value: float) -> float:
        """Return the place of a value on the page."""
        return self.box[0] + self.across.at(value) * (self.box[2] - self.box[0])

    def y(self, value: float) -> float:
        """Return the height of a value on the page; categories are read from the top."""
        top, bottom = self.box[1], self.box[3]
        share = self.up.at(value)
        return top + share * (bottom - top) if self.up.slots else bottom - share * (bottom - top)

    @property
    def slot(self) -> float:
        """Width of one category, or a large number without categories."""
        left, top, right, bottom = self.box
        if self.up.slots:
            return (bottom - top) / (self.up.high - self.up.low)
        return (right - left) / (self.across.high - self.across.low) if self.across.slots else math.inf


def draw_series(chart: Chart, frame: Frame) -> list[Markup]:
    """Draw all series, tooltips of histograms last, so that they are on top."""
    width, shifts = _places(chart, frame)
    parts = []
    for series, colour, shift in zip(chart.series, colours(chart), shifts, strict=True):
        if series.form == "curve":
            drawn = _curve(series, frame)
        elif series.form in ("steps", "area"):
            drawn = _histogram(series, frame)
        else:
            drawn = _marks(chart, series, frame, shift, width)
        parts.append(svg.group(drawn, f"series {colour}"))
    return [*parts, *_bins(chart, frame)]


# --- places -----------------------------------------------------------------------------------------------------------


def _moved(chart: Chart, frame: Frame) -> list[int]:
    """Return the series that are moved apart if they share a position: lines, or series on categories."""
    if math.isinf(frame.slot):
        forms = {"line"} if all(series.form != "points" for series in chart.series) and _has_intervals(chart) else set()
    else:
        forms = {"bars", "boxes", "points"}
        forms |= {"line"} if not forms & {series.form for series in chart.series} else set()
    moved = [at for at, series in enumerate(chart.series) if series.form in forms]
    held = [mark.y if frame.up.slots else mark.x for at in moved for mark in chart.series[at].marks]
    places = [value for place in held for value, _, _ in triples(place)]
    return moved if len(places) > len(set(places)) else []


def _has_intervals(chart: Chart) -> bool:
    return any(low < high for series in chart.series for mark in series.marks for _, low, high in triples(mark.y))


def _places(chart: Chart, frame: Frame) -> tuple[float, list[float]]:
    """Return the width of a bar or a box, and how far each series is moved from its place."""
    moved = _moved(chart, frame)
    width = min(WIDEST_BAR, 0.8 * frame.slot / max(1, len(moved)) - 2)
    apart = min(5.0, 24.0 / max(1, len(moved))) if math.isinf(frame.slot) else width + 2
    places = {at: apart * (rank - (len(moved) - 1) / 2) for rank, at in enumerate(moved)}
    return width, [places.get(at, 0.0) for at in range(len(chart.series))]


def middle_of(mark: Mark, frame: Frame) -> tuple[float, float] | None:
    """Return the position of a mark; None if nothing was measured."""
    x, y = next(triples(mark.x), None), next(triples(mark.y), None)
    return None if x is None or y is None else (frame.x(x[0]), frame.y(y[0]))


def intervals_of(mark: Mark, frame: Frame) -> Iterator[Box]:
    """Yield the boxes that the intervals of a mark fill."""
    for x, *ends in triples(mark.x):
        for y, *heights in triples(mark.y):
            if heights[0] < heights[1]:
                yield frame.x(x) - 1, frame.y(heights[1]), frame.x(x) + 1, frame.y(heights[0])
            if ends[0] < ends[1]:
                yield frame.x(ends[0]), frame.y(y) - 1, frame.x(ends[1]), frame.y(y) + 1


# --- points and lines -------------------------------------------------------------------------------------------------


def _marks(chart: Chart, series: Series, frame: Frame, shift: float, width: float) -> list[Markup]:
    upright = not frame.up.slots
    away = (shift, 0.0) if upright else (0.0, shift)
    places = [middle_of(mark, frame) for mark in series.marks]
    moved = [None if place is None else (place[0] + away[0], place[1] + away[1]) for place in places]
    parts = []
    if series.form == "line":
        parts += [svg.path([one, other], "curve") for one, other in pairwise(moved) if one and other]
    for mark, place in zip(series.marks, moved, strict=True):
        said = said_of(chart, series, mark)
        if mark.box:
            parts.append(svg.group(_box(mark, frame, shift, width), "point box", said))
        elif place is None:
            parts += _missing(mark, frame, away, said)
        elif series.form == "bars":
            bar = _bar(place, frame, width, upright)
            parts.append(svg.group([bar, *_intervals(mark, place, frame)], "point mark", said))
        else:
            top, bottom = place[1] - 0.5 * frame.slot, place[1] + 0.5 * frame.slot
            # The row of a category shows its tooltip.
            row = [] if upright else [svg.rectangle((8, top), (frame.box[2], bottom), "hover")]
            shape = _shape(mark, place, frame, mark.label in chart.highlighted)
            parts.append(svg.group([*row, *_intervals(mark, place, frame), shape], "point mark", said))
    return parts


def _shape(mark: Mark, place: tuple[float, float], frame: Frame, highlighted: bool) -> Markup:
    """Draw a circle, a diamond if highlighted, a triangle for a bound, and nothing outside of the axes."""
    x, y = place
    places = ((frame.across, mark.x), (frame.up, mark.y))
    if not all(axis.holds(value) for axis, at in places for value, *_ in triples(at)):
        return Markup("")  # its interval ends in an arrow here
    for bounded, along in ((mark.y, (0.0, 1.0)), (mark.x, (-1.0, 0.0))):
        if isinstance(bounded, Estimate) and bounded.kind in ("upper bound", "lower bound"):
            sign = 1 if bounded.kind == "upper bound" else -1
            return svg.path(_triangle(place, (sign * along[0], sign * along[1])), "bound core")
    if highlighted:
        return svg.path([(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y), (x, y - 6)], "diamond")
    return svg.circle(place, 4.5)


def _triangle(place: svg.Point, along: svg.Point, base: float = 5.0) -> list[svg.Point]:
    """Draw a triangle with its base at a position that points in a direction."""
    (x, y), (right, down) = place, along
    tip = (x + 8.0 * right, y + 8.0 * down)
    corners = [(x - base * down, y - base * right), (x + base * down, y + base * right)]
    return [*corners, tip, corners[0]]


def _intervals(mark: Mark, place: tuple[float, float], frame: Frame) -> list[Markup]:
    parts = []
    if isinstance(mark.y, Estimate) and mark.y.kind == "estimate":
        parts += _whisker(mark.y, frame.up, [(place[0], frame.y(end)) for end in (mark.y.low, mark.y.high)])
    if isinstance(mark.x, Estimate) and mark.x.kind == "estimate":
        parts += _whisker(mark.x, frame.across, [(frame.x(end), place[1]) for end in (mark.x.low, mark.x.high)])
    return parts


def _whisker(estimate: Estimate, axis: Span, ends: Sequence[tuple[float, float]]) -> list[Markup]:
    """Draw an interval; an end outside of the axis is an arrow."""
    if estimate.low == estimate.high:
        return []
    (x1, y1), (x2, y2) = ends
    upright = x1 == x2
    cap = (CAP, 0.0) if upright else (0.0, CAP)
    parts = [svg.line((x1, y1), (x2, y2), "whisker")]
    for value, (x, y), outwards in ((estimate.low, ends[0], -1), (estimate.high, ends[1], 1)):
        if axis.holds(value):
            parts.append(svg.line((x - cap[0], y - cap[1]), (x + cap[0], y + cap[1]), "whisker"))
        else:
            along = (0.0, -float(outwards)) if upright else (float(outwards), 0.0)
            start = (x - 8 * along[0], y - 8 * along[1])
            parts.append(svg.path(_triangle(start, along, 4.0), "arrow"))
    return parts


def _missing(mark: Mark, frame: Frame, away: tuple[float, float], said: str) -> list[Markup]:
    """Draw a cross at the edge, at the position on the other axis."""
    left, _, _, bottom = frame.box
    if (x := next(triples(mark.x), None)) is not None:
        place = (frame.x(x[0]) + away[0], bottom - 9)
    elif (y := next(triples(mark.y), None)) is not None:
        place = (left + 9, frame.y(y[0]) + away[1])
    else:
        return []
    return [svg.group([cross(place)], "point", said)]


def cross(place: tuple[float, float]) -> Markup:
    """Draw a cross, for what was not measured."""
    x, y = place
    one, other = [(x - 5, y - 5), (x + 5, y + 5)], [(x - 5, y + 5), (x + 5, y - 5)]
    return svg.path(one, "missing core") + svg.path(other, "missing")


# --- bars and boxes ---------------------------------------------------------------------------------------------------


def _bar(place: tuple[float, float], frame: Frame, width: float, upright: bool) -> Markup:
    x, y = place
    if upright:
        return svg.rectangle((x - width / 2, frame.y(0.0)), (x + width / 2, y), "bar core")
    return svg.rectangle((frame.x(0.0), y - width / 2), (x, y + width / 2), "bar core")


def _box(mark: Mark, frame: Frame, shift: float, width: float) -> list[Markup]:
    x = frame.x(next(triples(mark.x), (0.0,))[0]) + shift
    least, lower, median, upper, most = (frame.y(end) for end in mark.box)
    half = width / 2
    return [
        svg.line((x, least), (x, lower), "whisker"),
        svg.line((x, upper), (x, most), "whisker"),
        svg.line((x - half / 2, least), (x + half / 2, least), "whisker"),
        svg.line((x - half / 2, most), (x + half / 2, most), "whisker"),
        svg.rectangle((x - half, upper), (x + half, lower), "bar core"),
        svg.line((x - half, median), (x + half, median), "median"),
    ]


# --- curves and histograms --------------------------------------------------------------------------------------------


def _curve(series: Series, frame: Frame) -> list[Markup]:
    """Draw a line without marks, with a band for intervals."""
    places, middle, low, high = curve(series.marks, frame.across, frame.up)
    if not places:
        return []
    parts = []
    if any(one < other for one, other in zip(low, high, strict=True)):
        upper, lower = _points(places, high, frame), _points(places, low, frame)
        parts.append(svg.path([*upper, *lower[::-1], upper[0]], "band"))
    return [*parts, svg.path(_points(places, middle, frame), "point curve", series.name or "curve")]


def _points(places: Sequence[float], values: Sequence[float], frame: Frame) -> list[tuple[float, float]]:
    return [(frame.x(place), frame.y(value)) for place, value in zip(places, values, strict=True)]


def _histogram(series: Series, frame: Frame) -> list[Markup]:
    if not series.marks:
        return []
    heights = [frame.y(next(triples(mark.y), (frame.up.low,))[0]) for mark in series.marks]
    bins = zip(edges(series.marks, series.end), heights, strict=True)
    outline = [(frame.x(end), height) for ends, height in bins for end in ends]
    bottom = frame.y(0.0)
    closed = [(outline[0][0], bottom), *outline, (outline[-1][0], bottom)]
    return [svg.path(closed, "area" if series.form == "area" else "outline")]


def _bins(chart: Chart, frame: Frame) -> Iterator[Markup]:
    """Yield tooltips of histograms: one per bin, with the values of all series that have the same bins."""
    held = [series for series in chart.series if series.form in ("steps", "area") and series.marks]
    top, bottom = frame.box[1], frame.box[3]
    for bins in dict.fromkeys(tuple(edges(series.marks, series.end)) for series in held):
        same = [series for series in held if tuple(edges(series.marks, series.end)) == bins]
        for at, (start, stop) in enumerate(bins):
            marks = [(series.marks[at], series.name) for series in same]
            words = [mark.said or f"{place_words(mark.y, chart.y)} ({name})" for mark, name in marks]
            said = f"{frame.across.words(start)} to {frame.across.words(stop)}: {', '.join(words)}"
            yield svg.rectangle((frame.x(start), top), (frame.x(stop), bottom), "point hover", said)
