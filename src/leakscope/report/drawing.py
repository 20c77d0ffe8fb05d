"""The parts of a figure: its style, axes with their labels, marks with intervals, title, legend, and what is said of it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from leakscope.core.estimate import Estimate
from leakscope.report import svg
from leakscope.report.axes import Axis, Triple, short_number
from leakscope.report.words import safe_text

WIDTH = 780
PLOT = 320  # height of the plot itself
LEFT = 74
LETTER = 6.9  # about the width of one at this size: legends and labels are laid out by it
COLOURS = 8

Value = Estimate | Sequence[float] | float | None
Box = tuple[float, float, float, float]  # left, top, right, bottom

STYLE = Markup("""
:root {
  --card: #ffffff; --ink: #1d2129; --soft: #5b6472; --line: #e3e1dc; --fine: #f0eeea; --box: #ecc4a8; --box-ink: #b04a10;
  --c0: #2f62a3; --c1: #c2571a; --c2: #23714a; --c3: #8b3f9b; --c4: #8a6a00; --c5: #b3304f; --c6: #1f7f8c; --c7: #5b6472;
}
@media (prefers-color-scheme: dark) {
  :root {
    --card: #1c1f25; --ink: #e8e6e1; --soft: #a2aab6; --line: #343a44; --fine: #262b33; --box: #6d4127; --box-ink: #f0935a;
    --c0: #86b3ec; --c1: #f0935a; --c2: #7fd3a4; --c3: #d59be2; --c4: #e3bf58; --c5: #f28ba3; --c6: #6ecbd8; --c7: #a2aab6;
  }
}
svg { background: var(--card); max-width: 100%; height: auto; font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
text { fill: var(--soft); font-variant-numeric: tabular-nums; }
.card { fill: var(--card); }
.title { fill: var(--ink); font-size: 16px; font-weight: 650; }
.axis { fill: var(--ink); }
.axis.boxes { fill: var(--box-ink); }
.axis.c0 { fill: var(--c0); }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.grid { stroke: var(--line); }
.fine { stroke: var(--fine); }
.base { stroke: var(--soft); }
.box { fill: var(--box); stroke: var(--box-ink); stroke-width: 1.2; }
.median { stroke: var(--box-ink); stroke-width: 2.6; }
.reach { stroke: var(--box-ink); stroke-width: 1.2; }
.bound { fill: none; stroke: var(--ink); stroke-width: 1.6; stroke-dasharray: 6 4; }
.missing { fill: none; stroke: var(--ink); stroke-width: 1.8; }
.curve { fill: none; stroke-width: 2.2; }
.dashed .curve { stroke-dasharray: 7 4; }
.whisker { stroke-width: 1.4; fill: none; }
.mark circle, .mark .diamond { fill: var(--card); stroke-width: 2; }
.mark .arrow { stroke: none; }
.bar { fill-opacity: .38; stroke-width: 1.2; }
.area { fill-opacity: .13; stroke-width: 1.8; }
.mark .stated .diamond, .stated .mark .diamond { fill: var(--ink); stroke: var(--ink); stroke-width: 1; }
.rim { paint-order: stroke; stroke: var(--card); stroke-width: 3px; }
.hover { fill: transparent; }
.hover:hover { fill: var(--soft); fill-opacity: .09; }
""") + Markup("").join(
    Markup(".c{0} .curve, .c{0} .whisker, .c{0} circle, .c{0} .diamond {{ stroke: var(--c{0}); }} ").format(colour)
    + Markup(".c{0} .bar, .c{0} .area {{ fill: var(--c{0}); stroke: var(--c{0}); }} ").format(colour)
    + Markup(".c{0} .arrow {{ fill: var(--c{0}); }}\n").format(colour)
    for colour in range(COLOURS)
)


def triples(points: Iterable[Estimate | None]) -> list[Triple]:
    return [(point.value, point.low, point.high) for point in points if point is not None]


# --- axes -----------------------------------------------------------------------------------------------------------


def left_axis(axis: Axis, label: str, kind: str, bottom: float, end: float) -> list[Markup]:
    parts = []
    for tick in axis.ticks:
        height = axis.place(tick)
        parts += [
            svg.line(LEFT, height, end, height, "grid"),
            svg.text(LEFT - 8, height + 4, short_number(tick), "tick end"),
        ]
    return [*parts, svg.line(LEFT, bottom, end, bottom, "base"), _side_text(16, bottom, label, kind)]


def right_axis(axis: Axis, label: str, bottom: float, x: float) -> list[Markup]:
    parts = [svg.line(x, bottom - PLOT, x, bottom, "grid"), _side_text(WIDTH - 12, bottom, label, "axis c0")]
    for tick in axis.ticks:
        height = axis.place(tick)
        parts += [svg.line(x, height, x + 5, height, "base"), svg.text(x + 9, height + 4, short_number(tick), "tick")]
    return parts


def bottom_axis(axis: Axis, values: Sequence[float], bottom: float) -> list[Markup]:
    """A line up from each value; a label that would run into its neighbour is left out."""
    parts, free = [], -math.inf
    for value in values:
        x, label = axis.place(value), short_number(value)
        half = LETTER * len(label) / 2
        parts.append(svg.line(x, bottom - PLOT, x, bottom, "grid fine"))
        if x - half >= free:
            parts.append(svg.text(x, bottom + 19, label, "tick middle"))
            free = x + half + 6
    return parts


def _side_text(x: float, bottom: float, words: str, kind: str) -> Markup:
    turned = f"translate({svg.number(x)} {svg.number(bottom - PLOT / 2)}) rotate(-90)"
    return Markup('<text transform="{}" class="{} middle">{}</text>').format(turned, kind, safe_text(words, 44))


def place_names(
    names: Sequence[str], middles: Sequence[float], slot: float, bottom: float
) -> tuple[list[Markup], float]:
    """The names below the axis, turned where they would run into each other, and the height of the figure."""
    if max(map(len, names)) * LETTER <= slot - 4:
        level = [svg.text(x, bottom + 19, name, "tick middle") for x, name in zip(middles, names, strict=True)]
        return level, bottom + 54.0
    short = [svg.cut(name, 16) for name in names]
    turned = Markup('<text transform="translate({} {}) rotate(-40)" class="tick end">{}</text>')
    parts = [
        turned.format(svg.number(x + 4), svg.number(bottom + 15), name) for x, name in zip(middles, short, strict=True)
    ]
    return parts, bottom + 52 + 0.7 * LETTER * max(map(len, short))


# --- what stands in the plot ----------------------------------------------------------------------------------------


def box_plot(x: float, box: Sequence[float], width: float, axis: Axis) -> Markup:
    least, lower, median, upper, most = (axis.place(number) for number in box)
    half = width / 2
    parts = [
        svg.line(x, least, x, lower, "reach"),
        svg.line(x, upper, x, most, "reach"),
        svg.line(x - half / 2, least, x + half / 2, least, "reach"),
        svg.line(x - half / 2, most, x + half / 2, most, "reach"),
        svg.box(x - half, upper, width, lower - upper, "box"),
        svg.line(x - half, median, x + half, median, "median"),
    ]
    return group(parts, "boxes")


def marks_with_line(
    places: Sequence[float],
    points: Sequence[Estimate | None],
    axis: Axis,
    colour: str,
    shape: str,
    said: Sequence[str] | None = None,
    joined: bool = True,
) -> Markup:
    """Points with their intervals, and a line through those that follow each other."""
    heights = [None if point is None else min(max(point.value, axis.low), axis.high) for point in points]
    parts = run(places, heights, axis, "curve") if joined else []
    for x, point, words in zip(places, points, said or [""] * len(places), strict=True):
        if point is not None:
            drawn = [*_interval(x, point, axis), _point(x, point.value, axis, shape)]
            parts.append(svg.titled(drawn, "point mark", words) if words else group(drawn, "mark"))
    return group(parts, colour)


def bar(
    start: float, room: float, point: Estimate | None, stated: float | None, axis: Axis, bottom: float
) -> list[Markup]:
    """A bar with its interval, or a cross, in the left of its room, and a diamond for the stated value in the right."""
    width = min(0.62 * room, 40.0)
    parts = [cross(start + width / 2, bottom - 9)] if point is None else []
    if point is not None:
        ends = [axis.place(min(max(value, axis.low), axis.high)) for value in (max(0.0, axis.low), point.value)]
        parts += [svg.box(start, min(ends), width, abs(ends[0] - ends[1]), "bar")]
        parts += _interval(start + width / 2, point, axis)
    if stated is not None:
        parts.append(group([_point(start + width + min(7.0, 0.2 * room), stated, axis, "diamond")], "stated"))
    return parts


def steps(places: Sequence[float], counts: Sequence[float], axis: Axis, bottom: float) -> list[Markup]:
    """The outline of a histogram; nothing where it is empty."""
    corners = [(places[0], bottom)]
    for (start, stop), count in zip(pairwise(places), counts, strict=True):
        corners += [(start, axis.place(count)), (stop, axis.place(count))]
    return [svg.path([*corners, (places[-1], bottom), corners[0]], "area")]


group = svg.group


def run(places: Sequence[float], values: Sequence[float | None], axis: Axis, kind: str) -> list[Markup]:
    known = [None if value is None else (x, axis.place(value)) for x, value in zip(places, values, strict=True)]
    return [svg.path([one, other], kind) for one, other in pairwise(known) if one is not None and other is not None]


def _interval(x: float, point: Estimate, axis: Axis) -> list[Markup]:
    low, high = (min(max(end, axis.low), axis.high) for end in (point.low, point.high))
    parts = [svg.line(x, axis.place(low), x, axis.place(high), "whisker")]
    for end, shown, down in ((point.low, low, 1), (point.high, high, -1)):
        height = axis.place(shown)
        if end == shown:
            parts.append(svg.line(x - 4, height, x + 4, height, "whisker"))
        else:
            parts.append(svg.path([(x - 4, height - 8 * down), (x + 4, height - 8 * down), (x, height)], "arrow"))
    return parts


def _point(x: float, value: float, axis: Axis, shape: str) -> Markup:
    if not axis.low <= value <= axis.high:
        return Markup("")  # its interval ends in an arrow here
    y = axis.place(value)
    if shape == "circle":
        return svg.circle(x, y, 4)
    return svg.path([(x, y - 5.5), (x + 5.5, y), (x, y + 5.5), (x - 5.5, y), (x, y - 5.5)], "diamond")


def cross(x: float, y: float) -> Markup:
    return svg.path([(x - 5, y - 5), (x + 5, y + 5)], "missing") + svg.path([(x - 5, y + 5), (x + 5, y - 5)], "missing")


def level_interval(point: Estimate, y: float, axis: Axis) -> list[Markup]:
    """An interval along the lower axis; an end that lies outside of it is an arrow."""
    low, high = (min(max(end, axis.low), axis.high) for end in (point.low, point.high))
    parts = [svg.line(axis.place(low), y, axis.place(high), y, "whisker")]
    for end, shown, side in ((point.low, low, 1), (point.high, high, -1)):
        x = axis.place(shown)
        if end == shown:
            parts.append(svg.line(x, y - 4, x, y + 4, "whisker"))
        else:
            parts.append(svg.path([(x + 8 * side, y - 4), (x + 8 * side, y + 4), (x, y)], "arrow"))
    return parts


# --- names beside points ----------------------------------------------------------------------------------------------


def point_names(
    points: Sequence[tuple[str, float, float]],
    first: Collection[str],
    frame: Box,
    shown: Mapping[str, Sequence[str]] | None = None,
) -> list[Markup]:
    """Names beside their points where they run into no other name or point, and those of ``first`` before the others.

    ``shown`` has a long and a short text to stand there for a name. Where the long ones leave no room for some, the others
    than ``first`` are short.
    """
    texts = shown or {}
    parts = _names_that_fit(points, first, frame, texts)
    if texts and len(parts) < len(points):
        short = {name: given if name in first else given[-1:] for name, given in texts.items()}
        parts = _names_that_fit(points, first, frame, short)
    return parts


def _names_that_fit(
    points: Sequence[tuple[str, float, float]], first: Collection[str], frame: Box, texts: Mapping[str, Sequence[str]]
) -> list[Markup]:
    """One text for each point that has room for one of its texts, the first of which is tried first."""
    taken = [(x - 5, y - 5, x + 5, y + 5) for _, x, y in points]
    parts = []
    for name, x, y in sorted(points, key=lambda point: point[0] not in first):
        for given in texts.get(name, (name,)):
            words = svg.cut(safe_text(given), 30)
            if (box := _free_place(words, x, y, frame, taken)) is not None:
                taken.append((box[0] - 4, box[1], box[2] + 4, box[3]))  # so that two names never read as one
                parts.append(svg.text(box[0], box[3] - 3, words, "axis rim" if name in first else "tick rim"))
                break
    return parts


def _free_place(words: str, x: float, y: float, frame: Box, taken: Sequence[Box]) -> Box | None:
    """The nearest box beside a point that lies in the frame and touches no other."""
    left, top, right, bottom = frame
    width, high = LETTER * len(words), 13.0
    for start, base in _places_beside(x, y, width):
        box = (start, base - high + 3, start + width, base + 3)
        inside = box[0] >= left and box[1] >= top and box[2] <= right and box[3] <= bottom
        if inside and not any(_touch(box, other) for other in taken):
            return box
    return None


def _places_beside(x: float, y: float, width: float) -> list[tuple[float, float]]:
    """Where a text may begin: to the right, to the left, above and below, the nearest first."""
    return [
        place
        for away in (0.0, 14.0, 28.0)
        for up in dict.fromkeys((-away, away))
        for place in (
            (x + 8, y - 4 + up),
            (x - 8 - width, y - 4 + up),
            (x - width / 2, y - 9 + min(up, 0)),
            (x - width / 2, y + 18 + max(up, 0)),
        )
    ]


def _touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


# --- around the plot ------------------------------------------------------------------------------------------------


def head(title: str, entries: Sequence[tuple[str, str]]) -> tuple[list[Markup], float]:
    """The title and the legend, and where the plot begins below them."""
    rows = textwrap.wrap(safe_text(title, 160), 74) or [""]
    parts = [svg.text(20, 28 + 21 * number, row, "title") for number, row in enumerate(rows)]
    x, y = 20.0, 32.0 + 21 * len(rows)
    for kind, label in entries:
        words = svg.cut(safe_text(label), 44)
        width = 48 + LETTER * len(words)
        if x > 20 and x + width > WIDTH - 10:
            x, y = 20.0, y + 21
        parts += [_swatch(kind, x, y - 4), svg.text(x + 31, y, words, "tick")]
        x += width
    return parts, y + 20


def _swatch(kind: str, x: float, y: float) -> Markup:
    if kind == "box":
        return svg.box(x + 3, y - 6, 19, 12, "box")
    if kind == "missing":
        return cross(x + 12, y)
    if kind == "bound":
        return svg.line(x, y, x + 25, y, "bound")
    colour, shape = kind.rsplit(maxsplit=1)
    if shape in ("bar", "area"):
        return group([svg.box(x + 3, y - 6, 19, 12, shape)], colour)
    point = _point(x + 12, y, Axis(lambda value: value, [], y, y), shape)
    line = [] if colour == "stated" else [svg.line(x, y, x + 25, y, "curve")]
    return group([*line, group([point], "mark")], colour)


def colour(number: int) -> str:
    return f"c{number % COLOURS}" + (" dashed" if number // COLOURS % 2 else "")


def place_words(place: str, values: Sequence[Value], labels: Sequence[str]) -> str:
    """What is said when a place is hovered: the values that have a label."""
    said = [f"{value_words(value)} ({safe_text(label)})" for value, label in zip(values, labels, strict=True) if label]
    return f"{place}: " + "; ".join(said)


def value_words(value: Value) -> str:
    if value is None:
        return "not measured"
    if isinstance(value, Estimate):
        return f"{short_number(value.value)} [{short_number(value.low)}, {short_number(value.high)}]"
    if isinstance(value, int | float):
        return f"at most {short_number(value)}"
    _, lower, median, upper, _ = value
    return f"median {short_number(median)}, half of them {short_number(lower)} to {short_number(upper)}"


def picture(parts: Iterable[Markup], height: float, title: str, description: str) -> str:
    name, words = safe_text(title, 160), safe_text(description, 600)
    start = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" '
        'aria-label="{2}"><title>{3}</title><desc>{4}</desc><style>{5}</style>{6}'
    ).format(WIDTH, svg.number(height), f"{name}. {words}", name, words, STYLE, svg.box(0, 0, WIDTH, height, "card"))
    return str(start + Markup("").join(parts) + Markup("</svg>\n"))


def height_of(figure: str) -> float:
    """The height that `picture` wrote into a figure."""
    return float(figure.partition(' height="')[2].partition('"')[0])
