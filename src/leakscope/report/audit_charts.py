"""Charts as inline SVG, from plain numbers.

Colours are CSS classes, so that the page's style decides them in light, dark and print. Every chart has a title and a
description for screen readers, and its points show their values when hovered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from leakscope.report import svg
from leakscope.report.svg import Scale

WIDTH = 440
RIGHT = WIDTH - 22
TOP = 54
LETTER = 8  # about the width of one, also on a phone, where letters are drawn larger
LABEL_LENGTH = 24


class Curve(NamedTuple):
    """One receiver operating characteristic; the last of several is drawn bold."""

    label: str
    fpr: Sequence[float]
    tpr: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


class Mark(NamedTuple):
    """A true-positive rate with its interval at one false-positive rate; ``bound``: only its high end is known.

    ``quiet``: it is drawn when somebody asks for it.
    """

    label: str
    fpr: float
    value: float
    low: float
    high: float
    bound: bool
    quiet: bool = False


class Bin(NamedTuple):
    """How many members and non-members have scores between ``low`` and ``high``."""

    label: str
    low: float
    high: float
    members: int
    nonmembers: int


class Row(NamedTuple):
    """One group: a number and its interval."""

    label: str
    column: str
    level: str
    value: float
    low: float
    high: float
    stands_out: bool


def roc_chart(curves: Sequence[Curve], marks: Sequence[Mark], smallest: float, title: str, description: str) -> Markup:
    """Receiver operating characteristics on two logarithmic axes, both from ``smallest`` to 1.

    Parameters
    ----------
    curves
        All of them thin, the last one bold and with its band.
    marks
        Points of the last curve with their intervals, from left to right.
    smallest
        The smallest false-positive rate that the sample can show: 1/n.

    Examples
    --------
    >>> svg = roc_chart([Curve("guess", (0, 1), (0, 1))], [], 0.01, "ROC", "No better than guessing.")
    >>> svg.startswith("<svg"), svg.count("<path")
    (True, 1)
    """
    left, bottom = 54, 346
    first = math.log10(min(smallest, 0.1))
    x = svg.scale(first, 0, left, RIGHT)
    y = svg.scale(first, 0, bottom, TOP)
    parts = _log_grid(first, x, y)
    parts += [_band(curve, first, x, y) for curve in curves[-1:] if curve.low]
    parts.append(svg.line(x(first), y(first), x(0), y(0), "chance"))
    for number, curve in enumerate(curves, start=1):
        kind = "point curve strongest" if number == len(curves) else "point curve"
        parts.append(svg.path(_roc_points(curve, curve.tpr, first, x, y), kind, curve.label))
    for mark in marks:
        if mark.fpr >= 0.999 * 10**first:
            parts.append(_mark(mark, first, x, y))
    strongest = ("ranged", "strongest, with range") if curves[-1].low else ("strongest", "strongest")
    others = [("curve", "others")] if len(curves) > 1 else []
    parts += [
        svg.text((left + RIGHT) / 2, bottom + 40, "False alarms among non-members", "axis middle"),
        svg.text(8, TOP - 14, "Members found", "axis"),
        *_legend([strongest, *others, ("chance", "guessing")], left),
    ]
    return _svg(parts, 394, title, description)


def histogram_chart(bins: Sequence[Bin], title: str, description: str) -> Markup:
    """Shares of members (filled) and non-members (outlined) by score.

    Examples
    --------
    >>> svg = histogram_chart([Bin("low", 0, 0.5, 1, 3), Bin("high", 0.5, 1, 3, 1)], "Scores", "Members score higher.")
    >>> svg.count('class="point hover"')
    2
    """
    left, bottom = 54, 346
    shares = [_shares([item.members for item in bins]), _shares([item.nonmembers for item in bins])]
    ticks = svg.ticks(0.0, max(0.01, *shares[0], *shares[1]))
    x = svg.scale(bins[0].low, bins[-1].high, left, RIGHT)
    y = svg.scale(0, max(ticks[-1], *shares[0], *shares[1]), bottom, TOP)
    parts: list[Markup] = []
    for tick in ticks:
        parts += [
            svg.line(left, y(tick), RIGHT, y(tick), "grid"),
            svg.text(left - 7, y(tick) + 4, f"{100 * tick:.4g} %", "tick end"),
        ]
    for tick in svg.ticks(bins[0].low, bins[-1].high, 5):
        parts.append(svg.text(x(tick), bottom + 17, f"{tick:.4g}", "tick middle"))
    outline = []
    for item, share, other in zip(bins, *shares, strict=True):
        start, end = x(item.low), x(item.high)
        parts.append(svg.box(start + 0.75, y(share), end - start - 1.5, bottom - y(share), "bar"))
        outline += [(start, y(other)), (end, y(other))]
    parts += [svg.line(left, bottom, RIGHT, bottom, "base"), svg.path(outline, "outline")]
    parts += [
        svg.box(x(item.low), TOP, x(item.high) - x(item.low), bottom - TOP, "point hover", item.label) for item in bins
    ]
    parts += [
        svg.text((left + RIGHT) / 2, bottom + 40, "Exposure score (1: stands out most)", "axis middle"),
        svg.text(8, TOP - 14, "Share of the records", "axis"),
        *_legend([("bar", "members"), ("outline", "non-members")], left),
    ]
    return _svg(parts, 394, title, description)


def group_chart(
    rows: Sequence[Row],
    overall: float | None,
    title: str,
    description: str,
    *,
    reference: float = 0.5,
    words: tuple[str, str, str] = ("AUC", "guessing", "stands out"),
) -> Markup:
    """A forest plot: one line per group, under the name of its column, with a dashed line for everybody.

    ``words`` name the axis, the line at ``reference``, and the groups that stand out.

    Examples
    --------
    >>> svg = group_chart([Row("Ann", "name", "Ann", 0.6, 0.5, 0.7, True)], 0.55, "Groups", "Ann is more exposed.")
    >>> "<title>Ann</title>" in svg
    True
    """
    line, gap, top = 26, 8, 34
    left = max(158, 20 + LETTER * max((len(svg.cut(row.level, LABEL_LENGTH)) for row in rows), default=0))
    headings = sum(row.column != before for row, before in zip(rows, _columns_before(rows), strict=True))
    bottom = top + line * len(rows) + (line + gap) * headings
    everybody = [] if overall is None else [overall]
    low = min([reference, *everybody, *(row.low for row in rows)])
    high = max([reference, *everybody, *(row.high for row in rows)])
    pad = 0.06 * (high - low) or 0.1
    x = svg.scale(low - pad, high + pad, left, RIGHT)
    parts: list[Markup] = []
    for tick in svg.ticks(low - pad, high + pad, 5):
        parts += [
            svg.line(x(tick), top, x(tick), bottom, "grid"),
            svg.text(x(tick), bottom + 17, f"{tick + 0.0:.4g}", "tick middle"),
        ]
    parts.append(svg.line(x(reference), top, x(reference), bottom, "base"))
    parts += [svg.line(x(place), top, x(place), bottom, "overall") for place in everybody]
    height = float(top)
    for row, before in zip(rows, _columns_before(rows), strict=True):
        if row.column != before:
            height += line + gap
            parts.append(svg.text(8, height - 8, svg.cut(row.column, LABEL_LENGTH), "heading"))
        parts.append(_group(row, height + line / 2, x, left))
        height += line
    parts += [
        svg.text((left + RIGHT) / 2, bottom + 40, words[0], "axis middle"),
        *_legend([*(("overall", "everybody") for _ in everybody), ("base", words[1]), ("group out", words[2])], 8),
    ]
    return _svg(parts, bottom + 48, title, description)


def people_chart(low: int, high: int, guess: float, title: str, description: str) -> Markup:
    """A hundred dots: ``low`` of them full, those up to ``high`` pale, and a ring around those that guessing gets.

    Examples
    --------
    >>> svg = people_chart(4, 9, 1, "Identified", "4 to 9 of 100.")
    >>> svg.count("dot sure"), svg.count("dot maybe"), svg.count("dot guess")
    (4, 5, 1)
    """
    step, radius = 20, 6.5
    places = [(step * (at % 10) + step / 2, step * (at // 10) + step / 2) for at in range(100)]
    dots = []
    for at, (x, y) in enumerate(places):
        kind = "sure" if at < low else "maybe" if at < high else "not"
        dots.append(svg.group([svg.circle(x, y, radius)], f"dot {kind}"))
    rings = [svg.group([svg.circle(x, y, radius + 2.2)], "dot guess") for x, y in places[: round(guess)]]
    return svg.chart([*dots, *rings], 10 * step, 10 * step, title, description, kind="people")


def _log_grid(first: float, x: Scale, y: Scale) -> list[Markup]:
    """Lines at every digit of every decade from ``first`` on, and labels at the decades, on both axes."""
    parts: list[Markup] = []
    left, right, bottom, top = x(first), x(0), y(first), y(0)
    for decade in range(math.floor(first), 1):
        for digit in range(1, 10):
            place = math.log10(digit) + decade
            if first - 1e-9 <= place <= 0:
                kind = "grid" if digit == 1 else "grid fine"
                parts += [
                    svg.line(x(place), top, x(place), bottom, kind),
                    svg.line(left, y(place), right, y(place), kind),
                ]
        if decade >= first - 1e-9:
            label = f"{100 * 10.0**decade:.10g} %"
            parts.append(svg.text(x(decade), bottom + 17, label, "tick middle"))
            parts.append(svg.text(left - 7, y(decade) + 4, label, "tick end"))
    return parts


def _columns_before(rows: Sequence[Row]) -> list[str | None]:
    return [None, *(row.column for row in rows[:-1])]


def _group(row: Row, height: float, x: Scale, left: float) -> Markup:
    content = [
        svg.text(left - 12, height + 4, svg.cut(row.level, LABEL_LENGTH), "level end"),
        svg.box(8, height - 13, RIGHT - 8, 26, "hover"),
        svg.line(x(row.low), height, x(row.high), height, "whisker"),
        svg.line(x(row.low), height - 4, x(row.low), height + 4, "whisker"),
        svg.line(x(row.high), height - 4, x(row.high), height + 4, "whisker"),
        svg.circle(x(row.value), height, 5),
    ]
    return svg.titled(content, "point group out" if row.stands_out else "point group", row.label)


def _mark(mark: Mark, first: float, x: Scale, y: Scale) -> Markup:
    """A point with its interval, or a triangle that hangs from the bound."""
    kind = "point mark quiet" if mark.quiet else "point mark"
    across = x(math.log10(mark.fpr))
    low, value, high = (y(max(first, math.log10(max(end, 1e-300)))) for end in (mark.low, mark.value, mark.high))
    if mark.bound:
        triangle = [(across - 5, high), (across + 5, high), (across, high + 8), (across - 5, high)]
        return svg.titled([svg.path(triangle, "bound core")], kind, mark.label)
    content = [
        svg.line(across, low, across, high, "whisker"),
        svg.line(across - 4, low, across + 4, low, "whisker"),
        svg.line(across - 4, high, across + 4, high, "whisker"),
        svg.circle(across, value, 4.5),
    ]
    return svg.titled(content, kind, mark.label)


def _band(curve: Curve, first: float, x: Scale, y: Scale) -> Markup:
    """The area between the ends of the intervals."""
    upper = _roc_points(curve, curve.high, first, x, y)
    lower = _roc_points(curve, curve.low, first, x, y)
    return svg.path([*upper, *lower[::-1], upper[0]], "band")


def _roc_points(curve: Curve, heights: Sequence[float], first: float, x: Scale, y: Scale) -> list[tuple[float, float]]:
    """The curve between its points is straight on linear axes, so it bends here: it is drawn in many small steps."""
    places = np.linspace(first, 0, 141)
    # Of several points at one false-positive rate the highest counts; interp wants them apart.
    fpr, last = np.unique(np.asarray(curve.fpr)[::-1], return_index=True)
    shares = np.interp(10.0**places, fpr, np.asarray(heights)[::-1][last])
    logs = np.maximum(first, np.log10(np.maximum(shares, 1e-300)))
    return [(x(place), y(height)) for place, height in zip(places.tolist(), logs.tolist(), strict=True)]


def _shares(counts: Sequence[int]) -> list[float]:
    total = max(1, sum(counts))
    return [count / total for count in counts]


def _svg(parts: Iterable[Markup], height: float, title: str, description: str) -> Markup:
    return svg.chart(parts, WIDTH, height, title, description)


def _legend(items: Sequence[tuple[str, str]], left: float) -> list[Markup]:
    parts = []
    for kind, label in items:
        if kind == "bar":
            parts.append(svg.box(left, 8, 16, 10, kind))
        elif kind == "group out":
            parts.append(svg.group([svg.circle(left + 8, 13, 5)], kind))
        elif kind in ("ranged", "strongest"):
            parts += [svg.box(left, 7, 18, 12, "band")] if kind == "ranged" else []
            parts.append(svg.line(left, 13, left + 18, 13, "curve strongest"))
        else:
            parts.append(svg.line(left, 13, left + 18, 13, kind))
        parts.append(svg.text(left + 24, 17, label, "tick"))
        left += 40 + LETTER * len(label)
    return parts
