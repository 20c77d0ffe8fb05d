"""The pictures of studies as inline SVG for the page: lines and scattered points, with intervals and names.

They take the page's style, as `charts` do, and are as wide, so that they can be read on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from leakscope.core.estimate import Estimate
from leakscope.report import drawing, svg
from leakscope.report.audit_charts import LETTER, RIGHT, WIDTH
from leakscope.report.axes import Axis, linear_axis, log_axis, short_number

PLOT = 280
LABEL = 52  # letters that fit along an axis
MOST_PLACES = 7  # on the lower axis, each with a line and a number; with more, round numbers stand there


class Spot(NamedTuple):
    """A point: its places on both axes, its name, and what is said of it."""

    across: Estimate
    up: Estimate
    label: str
    said: str


def draw_figure(figure: dict[str, Any], shown: Mapping[str, Sequence[str]] | None = None) -> Markup:
    """The picture of one figure of a summary; ``shown`` says what may stand beside a point, see `drawing.point_names`.

    Examples
    --------
    >>> from leakscope.report.studies import figure_words
    >>> from leakscope.results import Figure, Point, Series
    >>> points = tuple(Point(size, Estimate(1 / size, 0.5 / size, 2 / size)) for size in (10.0, 100.0))
    >>> svg = draw_figure(figure_words(Figure("Sweep", "Less.", "lines", "Records", "Leakage", (Series("ridge", points),))))
    >>> "<title>ridge — 100: 0.01 [0.005, 0.02]</title>" in svg
    True
    """
    series = [(item["name"], [_spot(point) for point in item["points"]]) for item in figure["series"]]
    spots = [spot for _, points in series for spot in points]
    if not spots:
        return Markup("")
    scattered = figure["kind"] == "scatter"
    marked = figure["marked"] if scattered else []
    chance = [] if figure["chance"] is None else [Estimate(*(figure["chance"],) * 3)]
    lines = [("front", "nothing beats these")] if marked else []
    lines += [("chance", "guessing")] if chance else []
    legend, top = _legend([name for name, _ in series], lines, joined=not scattered)
    bottom, close = top + PLOT, not figure["from_zero"]
    y = _axis([*(spot.up for spot in spots), *chance], figure["logarithmic_y"], bottom, top, close=close)
    left = 18 + LETTER * max((len(short_number(tick)) for tick in y.ticks), default=1)
    x = _axis([spot.across for spot in spots], figure["logarithmic_x"], left, RIGHT, close=close)
    values = sorted({spot.across.value for spot in spots})
    parts = [
        *legend,
        *_grid(x, y, x.ticks if scattered or len(values) > MOST_PLACES else values, (left, top, bottom)),
        *(svg.line(left, y.place(level.value), RIGHT, y.place(level.value), "chance") for level in chance),
        *_drawn(series, x, y, marked, scattered=scattered),
    ]
    if scattered:
        names = [(spot.label, x.place(spot.across.value), y.place(spot.up.value)) for spot in spots if spot.label]
        parts += drawing.point_names(names, marked, (left, top, RIGHT, bottom), shown)
    parts += [
        svg.text(8, top - 12, svg.cut(figure["y_label"], LABEL), "axis"),
        svg.text(WIDTH / 2, bottom + 40, svg.cut(figure["x_label"], LABEL), "axis middle"),
    ]
    return svg.chart(parts, WIDTH, bottom + 50, figure["title"], figure["description"])


def _spot(point: dict[str, Any]) -> Spot:
    x = point["x"]
    across = Estimate(x, x, x, kind="exact") if point["across"] is None else _estimate(point["across"])
    return Spot(across, _estimate(point["y"]), point["label"], point["said"])


def _estimate(words: dict[str, Any]) -> Estimate:
    low = -math.inf if words["low"] is None else words["low"]
    high = math.inf if words["high"] is None else words["high"]
    return Estimate(words["value"], low, high)


def _axis(values: Sequence[Estimate], logarithmic: bool, start: float, end: float, *, close: bool) -> Axis:
    """Linear also where a logarithmic one was wanted but a value is not positive, so that every point has its place."""
    wanted = logarithmic and all(value.value > 0 for value in values)
    if wanted:
        return log_axis(drawing.triples(values), start, end)
    return linear_axis(drawing.triples(values), start, end, from_zero=not close)


def _grid(x: Axis, y: Axis, below: Sequence[float], frame: tuple[float, float, float]) -> list[Markup]:
    """Lines with their numbers; a number that would run into its neighbour is left out."""
    left, top, bottom = frame
    parts: list[Markup] = []
    for tick in y.ticks:
        height = y.place(tick)
        parts += [
            svg.line(left, height, RIGHT, height, "grid"),
            svg.text(left - 7, height + 4, short_number(tick), "tick end"),
        ]
    free = -math.inf
    for value in below:
        place, label = x.place(value), short_number(value)
        half = LETTER * len(label) / 2
        parts.append(svg.line(place, top, place, bottom, "grid fine"))
        if place - half >= free:
            parts.append(svg.text(place, bottom + 17, label, "tick middle"))
            free = place + half + 6
    return [*parts, svg.line(left, bottom, RIGHT, bottom, "base")]


def _drawn(
    series: Sequence[tuple[str, Sequence[Spot]]], x: Axis, y: Axis, marked: Sequence[str], *, scattered: bool
) -> list[Markup]:
    """The points with their intervals, joined to lines or, where nothing beats them, to a dashed front."""
    parts: list[Markup] = []
    front = sorted(
        (x.place(spot.across.value), y.place(spot.up.value))
        for _, spots in series
        for spot in spots
        if spot.label in marked
    )
    if len(front) > 1:
        parts.append(svg.path(front, "front"))
    apart = min(4.0, 20.0 / len(series)) if not scattered else 0.0  # so that intervals at one place are seen apart
    for number, (_, spots) in enumerate(series):
        colour, shift = drawing.colour(number), apart * (number - (len(series) - 1) / 2)
        places = [x.place(spot.across.value) + shift for spot in spots]
        if not scattered:
            said = [spot.said for spot in spots]
            parts.append(drawing.marks_with_line(places, [spot.up for spot in spots], y, colour, "circle", said))
            continue
        for place, spot in zip(places, spots, strict=True):
            parts.append(_scattered(place, spot, x, y, colour, "diamond" if spot.label in marked else "circle"))
    return parts


def _scattered(place: float, spot: Spot, x: Axis, y: Axis, colour: str, shape: str) -> Markup:
    level = drawing.level_interval(spot.across, y.place(spot.up.value), x)
    upright = drawing.marks_with_line([place], [spot.up], y, "", shape, joined=False)
    return svg.titled([svg.group(level, "mark"), upright], f"point {colour}", spot.said)


def _legend(names: Sequence[str], lines: Sequence[tuple[str, str]], *, joined: bool) -> tuple[list[Markup], float]:
    """The names of the series and other lines beside their colours, in as many rows as it takes, and where the plot begins."""
    entries = [(drawing.colour(number), name) for number, name in enumerate(names) if name]
    entries += lines
    parts: list[Markup] = []
    x, y = 8.0, 14.0
    for kind, name in entries:
        words = svg.cut(name, 44)
        width = 38 + LETTER * len(words)
        if x > 8 and x + width > WIDTH:
            x, y = 8.0, y + 19
        if kind in ("front", "chance"):
            parts.append(svg.line(x, y - 4, x + 18, y - 4, kind))
        else:
            line = [svg.line(x, y - 4, x + 18, y - 4, "curve")] if joined else []
            parts.append(svg.group([*line, svg.group([svg.circle(x + 9, y - 4, 4)], "mark")], kind))
        parts.append(svg.text(x + 24, y, words, "tick"))
        x += width
    return parts, (y + 40 if entries else 34.0)
