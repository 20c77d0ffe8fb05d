"""SVG drawer of charts for pages.

Colours are CSS classes, so that the page's style sets them in light, dark and print. Every chart has a title and a description for screen
readers, and its marks have tooltips with their values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from leakscope.report.charts import elements as svg
from leakscope.report.charts.axes import Span, filled_dots, spans
from leakscope.report.charts.labels import Box, cut, named_marks, place_labels, width_of
from leakscope.report.charts.legend import LegendEntry, entries
from leakscope.report.charts.marks import Frame, cross, draw_series, intervals_of, middle_of
from leakscope.report.charts.model import Chart

WIDTH, PLOT = 440.0, 280.0
#: Size of a chart with more names next to points than `MANY`.
WIDE, WIDE_PLOT, MANY = 760.0, 420.0, 10
EDGE = 22.0
ROW = 26.0
#: Largest width of the names of categories on the left.
NAMES = 190.0
#: Font size on a phone, the largest of a page, for which names on the left have space.
LETTERS = 14.0


def draw(chart: Chart) -> Markup:
    """Return a chart as SVG.

    Examples
    --------
    >>> from leakscope.core.estimate import Estimate
    >>> from leakscope.report.charts.model import Axis, Mark, Series
    >>> marks = (Mark(10, Estimate(2, 1, 3)), Mark(100, Estimate(0.2, 0.1, 0.5)))
    >>> drawn = draw(Chart("Sweep", "It falls.", Axis("Records", "log"), Axis("Leakage"), (Series("ridge", marks),)))
    >>> "<title>ridge, 100: 0.20 [0.10, 0.50]</title>" in drawn, drawn.count("<circle")
    (True, 2)
    """
    if any(series.form == "people" for series in chart.series):
        return _people(chart)
    across, up = spans(chart)
    wide = is_wide(chart)
    width, plot = (WIDE, WIDE_PLOT) if wide else (WIDTH, PLOT)
    legend, top = _legend(entries(chart), width)
    frame = Frame(across, up, _box(chart, up, top, (width - EDGE, plot)))
    below, height = _below(chart, frame)
    parts = [*legend, *_lines(frame), *_left_axis(chart, frame), *below, *_rules(chart, frame), *_front(chart, frame)]
    parts += [*draw_series(chart, frame), *_names(chart, frame)]
    if not any(series.marks for series in chart.series):
        left, top, right, bottom = frame.box
        parts.append(svg.text(((left + right) / 2, (top + bottom) / 2), "no values", "tick middle"))
    return svg.picture(parts, (width, height), chart.title, chart.description, "chart wide" if wide else "chart")


def is_wide(chart: Chart) -> bool:
    """Whether a chart takes the whole width of a page, because of the number of names next to points."""
    return sum(bool(mark.label) for mark in named_marks(chart)) > MANY


def _box(chart: Chart, up: Span, top: float, size: tuple[float, float]) -> Box:
    """Return the box of the plot, with space for names or numbers on its left and for the axis label above."""
    right, plot = size
    high = ROW * (up.high - up.low) if up.slots else plot
    names = [*(chart.y.categories if up.slots else map(up.words, up.ticks)), *(group for _, group in up.headings)]
    left = 18 + min(NAMES, max((width_of(name, LETTERS) for name in names), default=0.0))
    start = top + (24 if chart.y.label else 8)
    return left, start, right, start + high


# --- around the plot --------------------------------------------------------------------------------------------------


def _lines(frame: Frame) -> list[Markup]:
    """Draw the grid."""
    left, top, right, bottom = frame.box
    parts = []
    for kind, ups, acrosses in (
        ("grid fine", frame.up.fine(), frame.across.fine()),
        ("grid", frame.up.ticks, frame.across.ticks),
    ):
        parts += [svg.line((left, frame.y(tick)), (right, frame.y(tick)), kind) for tick in ups]
        parts += [svg.line((frame.x(tick), top), (frame.x(tick), bottom), kind) for tick in acrosses]
    return [*parts, svg.line((left, bottom), (right, bottom), "base")]


def _left_axis(chart: Chart, frame: Frame) -> list[Markup]:
    """Draw numbers or categories on the left, and the label above."""
    left, top, right, _ = frame.box
    parts = [svg.text((8, top - 12), cut(chart.y.label, right - 8, 12.6), "axis")] if chart.y.label else []
    parts += [svg.text((left - 7, frame.y(tick) + 4), frame.up.words(tick), "tick end") for tick in frame.up.ticks]
    if frame.up.slots:
        shown = [cut(name, NAMES, LETTERS) for name in chart.y.categories]
        parts += [svg.text((left - 9, frame.y(at) + 4), name, "level end") for at, name in enumerate(shown)]
        headings = [(top + place * frame.slot - 8, cut(name, right - 8)) for place, name in frame.up.headings]
        parts += [svg.text((8, y), name, "heading") for y, name in headings]
    return parts


def _below(chart: Chart, frame: Frame) -> tuple[list[Markup], float]:
    """Draw numbers or categories below the plot with the axis label; return the height of the picture too."""
    left, _, right, bottom = frame.box
    if frame.across.slots:
        parts, end = _categories(chart, frame)
    else:
        parts, end = _numbers(frame), bottom + 18
    if chart.x.label:
        parts.append(svg.text(((left + right) / 2, end + 21), cut(chart.x.label, right - 8, 12.6), "axis middle"))
        end += 21
    return parts, end + 10


def _numbers(frame: Frame) -> list[Markup]:
    """Draw numbers below their lines; omit those that would overlap a neighbour."""
    parts, free = [], -math.inf
    for tick in frame.across.ticks:
        words, x = frame.across.words(tick), frame.x(tick)
        half = width_of(words) / 2
        if x - half >= free:
            parts.append(svg.text((x, frame.box[3] + 17), words, "tick middle"))
            free = x + half + 5
    return parts


def _categories(chart: Chart, frame: Frame) -> tuple[list[Markup], float]:
    """Draw names below the plot, rotated if they would overlap, with their groups; return their lower end too."""
    bottom = frame.box[3]
    names = chart.x.categories
    widest = max(map(width_of, names), default=0.0)
    if widest <= frame.slot - 4:
        parts = [svg.text((frame.x(at), bottom + 17), name, "level middle") for at, name in enumerate(names)]
        end = bottom + 18
    else:
        shown = [cut(name, 130.0) for name in names]
        places = [(frame.x(at) + 4, bottom + 15) for at in range(len(shown))]
        parts = [svg.text(place, name, "level end", turned=-40) for place, name in zip(places, shown, strict=True)]
        end = bottom + 20 + 0.65 * max(map(width_of, shown))
    if frame.across.headings:
        headings = [(frame.box[0] + place * frame.slot, cut(name, 160)) for place, name in frame.across.headings]
        parts += [svg.text((x, end + 17), name, "heading middle") for x, name in headings]
        end += 18
    return parts, end


def _legend(shown: Sequence[LegendEntry], room: float) -> tuple[list[Markup], float]:
    """Draw the legend in as many rows as necessary; return the start of the plot below it too."""
    parts: list[Markup] = []
    x, y = 8.0, 14.0
    for entry in shown:
        words = cut(entry.words, room - 40)
        width = 40 + width_of(words)
        if x > 8 and x + width - 12 > room:
            x, y = 8.0, y + 19
        parts += [_sample(entry, x, y - 4), svg.text((x + 24, y), words, "tick")]
        x += width
    return parts, (y + 12 if shown else 4.0)


def _sample(entry: LegendEntry, x: float, y: float) -> Markup:
    ends, middle = ((x, y), (x + 18, y)), (x + 9, y)
    match entry.form:
        case "missing":
            return cross(middle)
        case "front":
            return svg.line(*ends, "front")
        case "rule":
            return svg.line(*ends, f"rule {entry.kind}")
        case "bars" | "boxes" | "area":
            kind = "area" if entry.form == "area" else "bar"
            drawn = [svg.rectangle((x + 1, y - 5), (x + 17, y + 5), kind)]
        case "steps":
            drawn = [svg.line(*ends, "outline")]
        case "curve":
            drawn = [svg.line(*ends, "curve")]
        case "line":
            drawn = [svg.line(*ends, "curve"), svg.group([svg.circle(middle, 4)], "mark")]
        case _:
            drawn = [svg.group([svg.circle(middle, 4.5)], "mark")]
    return svg.group(drawn, f"series {entry.kind}")


# --- in the plot ------------------------------------------------------------------------------------------------------


def _rules(chart: Chart, frame: Frame) -> list[Markup]:
    left, top, right, bottom = frame.box
    parts = []
    for rule in chart.rules:
        kind = f"rule {rule.tone}"
        if rule.axis == "diagonal":
            low, high = max(frame.across.low, frame.up.low), min(frame.across.high, frame.up.high)
            parts.append(svg.line((frame.x(low), frame.y(low)), (frame.x(high), frame.y(high)), kind))
        elif rule.at is None:
            continue
        elif rule.axis == "x":
            parts.append(svg.line((frame.x(rule.at), top), (frame.x(rule.at), bottom), kind))
        else:
            parts.append(svg.line((left, frame.y(rule.at)), (right, frame.y(rule.at)), kind))
    return parts


def _front(chart: Chart, frame: Frame) -> list[Markup]:
    """Draw a dashed line through the highlighted marks, from left to right."""
    marks = [mark for series in chart.series for mark in series.marks if mark.label in chart.highlighted]
    places = sorted(place for mark in marks if (place := middle_of(mark, frame)) is not None)
    return [svg.path(places, "front")] if len(places) > 1 else []


def _names(chart: Chart, frame: Frame) -> list[Markup]:
    """Draw names next to points if there is space."""
    marks = named_marks(chart)
    points = [(mark.label, *place) for mark in marks if (place := middle_of(mark, frame)) is not None]
    intervals = [box for mark in marks for box in intervals_of(mark, frame)]
    placed = place_labels(points, chart.highlighted, frame.box, intervals)
    lines = [svg.line(points[one.at][1:], one.line, "leader") for one in placed if one.line]
    return [*lines, *(svg.text(one.start, one.words, "name first" if one.first else "name") for one in placed)]


# --- people -----------------------------------------------------------------------------------------------------------


def _people(chart: Chart) -> Markup:
    """Draw a hundred dots: filled up to the low end of an interval, pale up to its high end, with rings for a reference line."""
    low, high = filled_dots(chart)
    step, radius = 20, 6.5
    places = [(step * (at % 10) + step / 2, step * (at // 10) + step / 2) for at in range(100)]
    kinds = ["sure"] * low + ["maybe"] * (high - low) + ["not"] * (100 - high)
    dots = [svg.group([svg.circle(place, radius)], f"dot {kind}") for place, kind in zip(places, kinds, strict=True)]
    ringed = next((round(rule.at) for rule in chart.rules if rule.at is not None), 0)
    rings = [svg.group([svg.circle(place, radius + 2.2)], "dot guess") for place in places[:ringed]]
    return svg.picture([*dots, *rings], (10.0 * step, 10.0 * step), chart.title, chart.description, kind="people")
