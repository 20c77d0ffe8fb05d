"""Results as figures: each a standalone SVG text, to be saved as a file that any browser opens.

A figure loads nothing and runs nothing. Its style follows the reader's choice of light or dark, its title and
description are there for screen readers, and its points say their values when hovered. An end of an interval that lies
outside of its axis, such as zero on a logarithmic one, is drawn as an arrow at the edge.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from leakscope.errors import InputError
from leakscope.report import svg
from leakscope.report.axes import Axis, Triple, linear_axis, log_axis, short_number
from leakscope.report.words import safe_text
from leakscope.results import Estimate

WIDTH = 780
PLOT = 320  # height of the plot itself
LEFT = 74
LETTER = 6.9  # about the width of one at this size: legends and labels are laid out by it
COLOURS = 8

Value = Estimate | Sequence[float] | float | None

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
.hover { fill: transparent; }
.hover:hover { fill: var(--soft); fill-opacity: .09; }
""") + Markup("").join(
    Markup(".c{0} .curve, .c{0} .whisker, .c{0} circle, .c{0} .diamond {{ stroke: var(--c{0}); }} ").format(colour)
    + Markup(".c{0} .arrow {{ fill: var(--c{0}); }}\n").format(colour)
    for colour in range(COLOURS)
)


def boxes_and_line(
    title: str,
    description: str,
    places: Sequence[str],
    boxes: Sequence[Sequence[float] | None],
    line: Sequence[Estimate | None],
    *,
    place_label: str,
    box_label: str = "Advantage of the adversary",
    line_label: str = "Leakage (nats)",
    bound: Sequence[float | None] | None = None,
    bound_label: str = "No adversary passes",
    marks: Sequence[Estimate | None] | None = None,
    mark_label: str = "",
    logarithmic: bool = True,
) -> str:
    """Box plots on the left axis and a line with intervals on the right one, as in [farokhi2020, Figures 1-5].

    Parameters
    ----------
    places
        What stands below the axis: the boxes are evenly spaced.
    boxes
        Five rising numbers for each place: minimum, quartile, median, quartile, maximum.
    line
        A number with its interval for each place, on the right axis.
    bound, marks
        More of the left axis: a dashed line, and points with intervals.
    logarithmic
        Whether the right axis is; the left one is linear and holds zero.

    None stands for what could not be measured. A place without a box or without its part of the line gets a cross.

    Examples
    --------
    >>> figure = boxes_and_line(
    ...     "Leakage falls", "More records, less leakage.", ["10", "100"], [(0, 0.1, 0.2, 0.3, 0.6), None],
    ...     [Estimate(2.0, 1.8, 2.3), Estimate(0.1, 0.05, 0.2)], place_label="Training records",
    ... )
    >>> figure.startswith("<svg"), "10: 2 [1.8, 2.3]" in figure, figure.count('class="box"')
    (True, True, 2)
    """
    limits, points = bound or [None] * len(places), marks or [None] * len(places)
    _check(places, boxes, line, limits, points)
    missing = [box is None or value is None for box, value in zip(boxes, line, strict=True)]
    entries = [("box", box_label), ("c0 circle", line_label)]
    entries += [("c2 diamond", mark_label)] if marks else []
    entries += [("bound", bound_label)] if bound else []
    entries += [("missing", "not measured")] if any(missing) else []
    head, top = _head(title, entries)
    bottom, end = top + PLOT, WIDTH - 82
    slot = (end - LEFT) / len(places)
    middles = [LEFT + slot * (number + 0.5) for number in range(len(places))]
    numbers = [number for box in boxes if box is not None for number in box]
    numbers += [limit for limit in limits if limit is not None]
    left = linear_axis([*((number,) * 3 for number in numbers), *_triples(points)], bottom, top)
    right = (log_axis if logarithmic else linear_axis)(_triples(line), bottom, top)
    names = [safe_text(place, 40) for place in places]
    below, height = _place_names(names, middles, slot, bottom)
    parts = [
        *head,
        *_left_axis(left, box_label, "axis boxes", bottom, end),
        *_right_axis(right, line_label, bottom, end),
    ]
    parts += [
        _box(x, box, min(34.0, 0.56 * slot), left) for x, box in zip(middles, boxes, strict=True) if box is not None
    ]
    parts += [*_run(middles, limits, left, "bound"), _series(middles, line, right, "c0", "circle")]
    beside = [x + min(12.0, 0.25 * slot) for x in middles]
    parts.append(_series(beside, points, left, "c2", "diamond", joined=False))
    parts += [_cross(x, bottom - 9) for x, absent in zip(middles, missing, strict=True) if absent]
    parts += [*below, svg.text((LEFT + end) / 2, height - 14, safe_text(place_label), "axis middle")]
    labels = (line_label, box_label, bound_label if bound else "", mark_label if marks else "")
    for name, x, *values in zip(names, middles, line, boxes, limits, points, strict=True):
        parts.append(svg.box(x - slot / 2, top, slot, PLOT, "hover", _words(name, values, labels)))
    return _picture(parts, height, title, description)


def lines(
    title: str,
    description: str,
    series: Mapping[str, Sequence[tuple[float, Estimate | None]]],
    *,
    x_label: str,
    y_label: str,
    goal: float | None = None,
    goal_label: str = "goal",
) -> str:
    """Several named series with intervals on two logarithmic axes, and a dashed line for a goal.

    Parameters
    ----------
    series
        Name to pairs of a positive number and what was measured there, or None if nothing could be.

    Examples
    --------
    >>> figure = lines("Sweep", "Leakage by size.", {"λ = 0": [(10, Estimate(2, 1, 3)), (100, Estimate(0.2, 0, 0.5))]},
    ...                x_label="Training records", y_label="Leakage (nats)", goal=0.1)
    >>> "λ = 0, 100: 0.2 [0, 0.5]" in figure
    True
    """
    across = sorted({float(x) for points in series.values() for x, _ in points})
    if not across or not all(math.isfinite(x) and x > 0 for x in across):
        raise InputError("a figure with logarithmic axes needs points at positive numbers: leave the others out")
    found = [point for points in series.values() for _, point in points]
    entries = [(f"{_colour(number)} circle", name) for number, name in enumerate(series)]
    entries += [("bound", f"{goal_label}: {short_number(goal)}")] if goal is not None else []
    entries += [("missing", "not measured")] if None in found else []
    head, top = _head(title, entries)
    bottom, end = top + PLOT, WIDTH - 24
    y = log_axis([*_triples(found), *([(goal,) * 3] if goal is not None and goal > 0 else [])], bottom, top)
    x = log_axis([(value,) * 3 for value in across], LEFT, end)
    parts = [*head, *_left_axis(y, y_label, "axis", bottom, end), *_bottom_axis(x, across, bottom)]
    if goal is not None:
        height = y.place(max(goal, y.low))
        parts.append(svg.line(LEFT, height, end, height, "bound"))
    apart = min(5.0, 26.0 / len(series))  # so that intervals at one place are seen beside each other
    for number, (name, points) in enumerate(series.items()):
        shift = apart * (number - (len(series) - 1) / 2)
        places = [x.place(value) + shift for value, _ in points]
        values = [point for _, point in points]
        said = [f"{safe_text(name, 40)}, {short_number(at)}: {_value(point)}" for at, point in points]
        parts.append(_series(places, values, y, _colour(number), "circle", said))
        parts += [_cross(at, bottom - 9) for at, point in zip(places, values, strict=True) if point is None]
    parts.append(svg.text((LEFT + end) / 2, bottom + 40, safe_text(x_label), "axis middle"))
    return _picture(parts, bottom + 54, title, description)


def _check(places: Sequence[str], boxes: Sequence[Sequence[float] | None], *columns: Sequence[object]) -> None:
    if not places or any(len(column) != len(places) for column in (boxes, *columns)):
        counts = ", ".join(str(len(column)) for column in (boxes, *columns))
        raise InputError(f"a figure needs one place or more and a value or None for each: {len(places)}, {counts}")
    for box in boxes:
        if box is not None and (len(box) != 5 or not all(map(math.isfinite, box)) or sorted(box) != list(box)):
            raise InputError(f"a box is five rising finite numbers, not {safe_text(list(box))}")


def _triples(points: Iterable[Estimate | None]) -> list[Triple]:
    return [(point.value, point.low, point.high) for point in points if point is not None]


# --- axes -----------------------------------------------------------------------------------------------------------


def _left_axis(axis: Axis, label: str, kind: str, bottom: float, end: float) -> list[Markup]:
    parts = []
    for tick in axis.ticks:
        height = axis.place(tick)
        parts += [
            svg.line(LEFT, height, end, height, "grid"),
            svg.text(LEFT - 8, height + 4, short_number(tick), "tick end"),
        ]
    return [*parts, svg.line(LEFT, bottom, end, bottom, "base"), _side_text(16, bottom, label, kind)]


def _right_axis(axis: Axis, label: str, bottom: float, x: float) -> list[Markup]:
    parts = [svg.line(x, bottom - PLOT, x, bottom, "grid"), _side_text(WIDTH - 12, bottom, label, "axis c0")]
    for tick in axis.ticks:
        height = axis.place(tick)
        parts += [svg.line(x, height, x + 5, height, "base"), svg.text(x + 9, height + 4, short_number(tick), "tick")]
    return parts


def _bottom_axis(axis: Axis, values: Sequence[float], bottom: float) -> list[Markup]:
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


def _place_names(
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


def _box(x: float, box: Sequence[float], width: float, axis: Axis) -> Markup:
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
    return _group(parts, "boxes")


def _series(
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
    parts = _run(places, heights, axis, "curve") if joined else []
    for x, point, words in zip(places, points, said or [""] * len(places), strict=True):
        if point is not None:
            drawn = [*_interval(x, point, axis), _point(x, point.value, axis, shape)]
            parts.append(svg.titled(drawn, "mark", words) if words else _group(drawn, "mark"))
    return _group(parts, colour)


def _group(content: Iterable[Markup], kind: str) -> Markup:
    return Markup('<g class="{}">{}</g>').format(kind, Markup("").join(content))


def _run(places: Sequence[float], values: Sequence[float | None], axis: Axis, kind: str) -> list[Markup]:
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


def _cross(x: float, y: float) -> Markup:
    return svg.path([(x - 5, y - 5), (x + 5, y + 5)], "missing") + svg.path([(x - 5, y + 5), (x + 5, y - 5)], "missing")


# --- around the plot ------------------------------------------------------------------------------------------------


def _head(title: str, entries: Sequence[tuple[str, str]]) -> tuple[list[Markup], float]:
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
        return _cross(x + 12, y)
    if kind == "bound":
        return svg.line(x, y, x + 25, y, "bound")
    colour, shape = kind.rsplit(maxsplit=1)
    point = _point(x + 12, y, Axis(lambda value: value, [], y, y), shape)
    return _group([svg.line(x, y, x + 25, y, "curve"), _group([point], "mark")], colour)


def _colour(number: int) -> str:
    return f"c{number % COLOURS}" + (" dashed" if number // COLOURS % 2 else "")


def _words(place: str, values: Sequence[Value], labels: Sequence[str]) -> str:
    """What is said when a place is hovered: the values that have a label."""
    said = [f"{_value(value)} ({safe_text(label)})" for value, label in zip(values, labels, strict=True) if label]
    return f"{place}: " + "; ".join(said)


def _value(value: Value) -> str:
    if value is None:
        return "not measured"
    if isinstance(value, Estimate):
        return f"{short_number(value.value)} [{short_number(value.low)}, {short_number(value.high)}]"
    if isinstance(value, int | float):
        return f"at most {short_number(value)}"
    _, lower, median, upper, _ = value
    return f"median {short_number(median)}, half of them {short_number(lower)} to {short_number(upper)}"


def _picture(parts: Iterable[Markup], height: float, title: str, description: str) -> str:
    name, words = safe_text(title, 160), safe_text(description, 600)
    start = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" '
        'aria-label="{2}"><title>{3}</title><desc>{4}</desc><style>{5}</style>{6}'
    ).format(WIDTH, svg.number(height), f"{name}. {words}", name, words, STYLE, svg.box(0, 0, WIDTH, height, "card"))
    return str(start + Markup("").join(parts) + Markup("</svg>\n"))
