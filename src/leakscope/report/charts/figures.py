"""Matplotlib drawer of charts for ``result.plot()``, with the axes, colours, legends and labels of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.extras import import_extra
from leakscope.core.result import Result
from leakscope.core.wording import listing, quoted
from leakscope.report.charts.axes import Span, curve, edges, filled_dots, spans, triples
from leakscope.report.charts.labels import named_marks, place_labels, width_of
from leakscope.report.charts.legend import colours, entries
from leakscope.report.charts.model import Chart, Mark, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours of the page in the light theme; a test compares them.
PALETTE = {
    "c0": "#2f62a3", "c1": "#b84f14", "c2": "#23714a", "c3": "#8b3f9b", "c4": "#8a6a00", "c5": "#b3304f", "c6": "#1f7f8c", "c7": "#5b6472",
    "strong": "#b84f14", "muted": "#2f62a3",
}  # fmt: skip
INK, SOFT, LINE = "#1d2129", "#59616e", "#e3e1dc"
WIDE, HIGH, ROW = 6.4, 4.4, 0.3  # inches
LETTER = 8.5  # points
_BARS = 0.8
SIDE_BY_SIDE = ("bars", "boxes", "points")


def draw_chart_of(result: Result, chart: str | int = 0) -> Figure:
    """Draw one chart of the report of a result.

    Parameters
    ----------
    chart
        Its position, or a part of its title.

    Raises
    ------
    InputError
        If the report has no such chart, or matplotlib is missing.
    """
    from leakscope.report.documents import document

    charts = document(result).charts()
    if not charts:
        raise InputError(f"the report of a result of kind {result.kind!r} has no chart")
    titles = listing([quoted(one.title, 60) for one in charts], most=20)
    if isinstance(chart, str):
        found = [one for one in charts if chart.casefold() in one.title.casefold()]
    else:
        found = charts[chart : chart + 1] if 0 <= chart < len(charts) else []
    if not found:
        raise InputError(f"the report has no chart {chart!r}: it has {titles}")
    return draw(found[0])


def draw(chart: Chart) -> Figure:
    """Return a chart as a figure of matplotlib."""
    import_extra("matplotlib.pyplot", "plot()", "plot")  # registers the display of figures in notebooks
    from matplotlib.figure import Figure

    across, up = spans(chart)
    high = 1.6 + ROW * (up.high - up.low) if up.slots else HIGH
    figure = Figure(figsize=(WIDE, high), layout="constrained")
    plot = figure.add_subplot()
    plot.set_title(_plain(chart.title), loc="left", fontsize=11, fontweight="bold")
    if any(series.form == "people" for series in chart.series):
        _people(plot, chart)
        return figure
    _axis(plot, across, "x")
    _axis(plot, up, "y")
    _rules(plot, chart, across, up)
    shifts = _shifts(chart, across, up)
    several = sum(series.form in SIDE_BY_SIDE for series in chart.series) if any(shifts) else 1
    drawing = _Drawing(plot, chart, across, up, width=0.9 * _BARS / several)
    for series, colour, shift in zip(chart.series, colours(chart), shifts, strict=True):
        replace(drawing, colour=PALETTE[colour.split()[0]], dashed="dashed" in colour, shift=shift).draw(series)
    _front(plot, chart)
    _legend(plot, chart)
    _labels(figure, plot, chart)
    return figure


def _plain(text: str) -> str:
    r"""Escape dollar signs, which would start a formula."""
    return text.replace("$", r"\$")


# --- axes -------------------------------------------------------------------------------------------------------------


def _axis(plot: Axes, span: Span, which: Literal["x", "y"]) -> None:
    axis = plot.xaxis if which == "x" else plot.yaxis
    set_limits, set_scale = (plot.set_xlim, plot.set_xscale) if which == "x" else (plot.set_ylim, plot.set_yscale)
    if span.log:
        set_scale("log")
    ends = (span.high, span.low) if span.slots and which == "y" else (span.low, span.high)
    set_limits(*ends)
    places, names = span.ticks, [span.words(tick) for tick in span.ticks]
    if span.slots:
        groups = span.axis.groups or ("",) * len(span.axis.categories)
        names = [": ".join(filter(None, pair)) for pair in zip(groups, span.axis.categories, strict=True)]
        places = span.slots[: len(names)]
    turned = which == "x" and bool(span.slots) and sum(map(len, names)) > 60
    turn: dict[str, Any] = {"rotation": 35, "ha": "right"} if turned else {}
    axis.set_ticks(list(places), labels=[_plain(name) for name in names], fontsize=LETTER, **turn)
    axis.minorticks_off()
    axis.set_label_text(_plain(span.axis.label), fontsize=LETTER + 0.5)
    if not span.slots:
        plot.grid(axis=which, color=LINE, linewidth=0.8)
    plot.set_axisbelow(True)
    plot.spines[["top", "right"]].set_visible(False)


def _rules(plot: Axes, chart: Chart, across: Span, up: Span) -> None:
    for rule in chart.rules:
        style: dict[str, Any] = {"color": PALETTE.get(rule.tone, SOFT), "linestyle": "--", "linewidth": 1.2}
        if rule.axis == "diagonal":
            ends = max(across.low, up.low), min(across.high, up.high)
            plot.plot(ends, ends, **style)
        elif rule.at is not None:
            (plot.axvline if rule.axis == "x" else plot.axhline)(rule.at, **style)


def _shifts(chart: Chart, across: Span, up: Span) -> list[float]:
    """Return offsets that place bars, boxes and points of a category side by side."""
    moved = [at for at, series in enumerate(chart.series) if series.form in SIDE_BY_SIDE]
    held = [mark.y if up.slots else mark.x for at in moved for mark in chart.series[at].marks]
    if not (across.slots or up.slots) or len(held) == len(set(held)):
        return [0.0] * len(chart.series)
    apart = _BARS / len(moved)
    places = {at: apart * (rank - (len(moved) - 1) / 2) for rank, at in enumerate(moved)}
    return [places.get(at, 0.0) for at in range(len(chart.series))]


# --- series -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Drawing:
    """One series on its axes; ``width`` is that of a bar or box."""

    plot: Axes
    chart: Chart
    across: Span
    up: Span
    width: float
    colour: str = INK
    dashed: bool = False
    shift: float = 0.0

    def draw(self, series: Series) -> None:
        """Draw the series in its form."""
        if series.form in ("steps", "area"):
            self.histogram(series)
        elif series.form == "boxes":
            self.boxes(series)
        elif series.form == "curve":
            self.curve(series)
        else:
            self.marks(series)

    def place(self, span: Span, value: float) -> float:
        """Return the place of a value, which for a category is the middle of its room."""
        return span.slots[round(value)] if span.slots else value

    def middle(self, mark: Mark) -> tuple[float, float] | None:
        """Return the place of a mark, or None."""
        x, y = next(triples(mark.x), None), next(triples(mark.y), None)
        if x is None or y is None:
            return None
        left = self.place(self.across, x[0]) + (self.shift if self.across.slots else 0.0)
        return left, self.place(self.up, y[0]) + (self.shift if self.up.slots else 0.0)

    def marks(self, series: Series) -> None:
        """Draw points, a line through them, or bars."""
        places = [self.middle(mark) for mark in series.marks]
        if series.form == "line":
            xs, ys = zip(*((math.nan, math.nan) if place is None else place for place in places), strict=True)
            self.line(xs, ys, faint=series.tone == "muted")
        for mark, place in zip(series.marks, places, strict=True):
            if place is None:
                self.missing(mark)
                continue
            if series.form == "bars":
                bar, at, ends = (self.plot.barh, 1, self.across) if self.up.slots else (self.plot.bar, 0, self.up)
                base, style = ends.clamp(0.0), {"color": self.colour, "edgecolor": self.colour, "alpha": 0.4}
                bar(place[at], place[1 - at] - base, self.width, base, **style)
            self.point(mark, place, bare=series.form == "bars", filled=series.tone == "strong")

    def point(self, mark: Mark, place: tuple[float, float], *, bare: bool, filled: bool) -> None:
        """Draw a point with its intervals."""
        marker = "" if bare else "D" if mark.label in self.chart.highlighted else _marker(mark)
        face = self.colour if filled or marker == "D" else "white"
        self.plot.errorbar(
            [place[0]], [place[1]], xerr=_error(mark.x, self.across), yerr=_error(mark.y, self.up), fmt=marker or "none", color=self.colour,
            ecolor=self.colour, markerfacecolor=face, markersize=5.5, capsize=2.5, elinewidth=1.1, clip_on=True,
        )  # fmt: skip

    def missing(self, mark: Mark) -> None:
        """Draw a cross at the edge."""
        for x, *_ in triples(mark.x):
            place = (self.place(self.across, x) + self.shift, 0.03)
            self.plot.plot(*place, "x", color=INK, transform=self.plot.get_xaxis_transform())
        for y, *_ in triples(mark.y):
            place = (0.03, self.place(self.up, y) + self.shift)
            self.plot.plot(*place, "x", color=INK, transform=self.plot.get_yaxis_transform())

    def line(self, xs: Sequence[float], ys: Sequence[float], *, faint: bool) -> None:
        """Draw a line."""
        style = "--" if self.dashed else "-"
        self.plot.plot(xs, ys, style, color=self.colour, lw=1 if faint else 1.8, alpha=0.5 if faint else 1)

    def curve(self, series: Series) -> None:
        """Draw a curve with the band of its intervals."""
        places, values, low, high = curve(series.marks, self.across, self.up)
        self.line(places, values, faint=series.tone == "muted")
        if low != high:
            lower, upper = ([self.up.clamp(end) for end in row] for row in (low, high))
            self.plot.fill_between(places, lower, upper, color=self.colour, alpha=0.16, linewidth=0)

    def boxes(self, series: Series) -> None:
        """Draw boxes from their five numbers."""
        names, line = ("whislo", "q1", "med", "q3", "whishi"), {"color": self.colour}
        style = {"boxprops": line, "whiskerprops": line, "capprops": line, "medianprops": line | {"linewidth": 2.2}}
        for mark in series.marks:
            for x, *_ in triples(mark.x) if mark.box else ():
                box, place = dict(zip(names, mark.box, strict=True)), self.place(self.across, x) + self.shift
                self.plot.bxp([box], [place], widths=self.width, showfliers=False, manage_ticks=False, **style)

    def histogram(self, series: Series) -> None:
        """Draw a histogram from its bins."""
        bins = edges(series.marks, series.end)
        heights = [next(triples(mark.y), (0.0,))[0] for mark in series.marks]
        ends = [*(start for start, _ in bins), bins[-1][1]]
        style: dict[str, Any] = {"fill": True, "alpha": 0.35} if series.form == "area" else {"alpha": 1}
        self.plot.stairs(heights, ends, color=self.colour, lw=1.8, **style)


def _marker(mark: Mark) -> str:
    for place, markers in ((mark.y, "v^"), (mark.x, "<>")):
        if isinstance(place, Estimate) and place.kind in ("upper bound", "lower bound"):
            return markers[place.kind == "lower bound"]
    return "o"


def _error(place: float | Estimate | None, span: Span) -> list[list[float]] | None:
    """Return the distances to the ends of an interval, as far as the axis reaches."""
    if not isinstance(place, Estimate) or place.kind != "estimate" or span.slots:
        return None
    return [[max(0.0, place.value - span.clamp(place.low))], [max(0.0, span.clamp(place.high) - place.value)]]


def _front(plot: Axes, chart: Chart) -> None:
    marks = [mark for series in chart.series for mark in series.marks if mark.label in chart.highlighted]
    places = sorted((x[0], y[0]) for mark in marks for x in triples(mark.x) for y in triples(mark.y))
    if len(places) > 1:
        plot.plot(*zip(*places, strict=True), "--", color=INK, lw=1.1)


# --- legend and labels ------------------------------------------------------------------------------------------------


def _legend(plot: Axes, chart: Chart) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for form, kind, words in entries(chart):
        colour = PALETTE.get(kind.split()[0] if kind else "", SOFT)
        label = _plain(words)
        if form in ("bars", "boxes", "area"):
            handles.append(Patch(facecolor=colour, alpha=0.4, label=label))
            continue
        if form in ("front", "rule"):
            style: dict[str, Any] = {"color": INK if form == "front" else colour, "linestyle": "--", "lw": 1.2}
        elif form == "missing":
            style = {"color": INK, "marker": "x", "linestyle": ""}
        else:
            style = {"color": colour, "markerfacecolor": colour if kind == "strong" else "white"}
            style["linestyle"] = "-" if form in ("line", "curve", "steps") else ""
            style["marker"] = "o" if form in ("line", "points") else ""
        handles.append(Line2D([], [], label=label, **style))
    if handles:
        widest = max(width_of(handle.get_label(), LETTER) for handle in handles) + 36
        across = max(1, min(3, len(handles), int(72 * (WIDE - 1) // widest)))
        where = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1.0)}
        plot.legend(handles=handles, ncols=across, fontsize=LETTER - 0.5, frameon=False, **where)
        rows = -(-len(handles) // across)
        plot.set_title(_plain(chart.title), loc="left", fontsize=11, fontweight="bold", pad=14 * rows + 8)


def _labels(figure: Figure, plot: Axes, chart: Chart) -> None:
    """Draw names next to points if there is space; the distance is in points, so that it does not change with the figure size."""
    from matplotlib.patheffects import withStroke

    marks = [mark for mark in named_marks(chart) if mark.label]
    found = [(mark.label, x[0], y[0]) for mark in marks for x in triples(mark.x) for y in triples(mark.y)]
    if not found:
        return
    figure.draw_without_rendering()
    inch = figure.dpi / 72
    seen = [(label, *(plot.transData.transform((x, y)) / inch)) for label, x, y in found]
    points = [(label, float(x), -float(y)) for label, x, y in seen]
    box = plot.get_window_extent()
    frame = (box.x0 / inch, -box.y1 / inch, box.x1 / inch, -box.y0 / inch)
    for placed in place_labels(points, chart.highlighted, frame, width=lambda words: width_of(words, LETTER + 1)):
        _, x, y = points[placed.at]
        offset = (placed.start[0] - x, y - placed.start[1])
        plot.annotate(
            _plain(placed.words), found[placed.at][1:], offset, textcoords="offset points", fontsize=LETTER - 0.5,
            color=INK if placed.first else SOFT, path_effects=[withStroke(linewidth=2.5, foreground="white")],
            arrowprops={"arrowstyle": "-", "linewidth": 0.6, "color": SOFT, "shrinkA": 0} if placed.line else None,
        )  # fmt: skip


def _people(plot: Axes, chart: Chart) -> None:
    """Draw a hundred dots: filled up to the low end of an interval, pale up to its high end."""
    low, high = filled_dots(chart)
    shares = [1.0 if at < low else 0.35 if at < high else 0.0 for at in range(100)]
    faces = [(PALETTE["strong"], share) for share in shares]
    plot.scatter([at % 10 for at in range(100)], [-(at // 10) for at in range(100)], s=90, c=faces, edgecolors=SOFT)
    plot.set_axis_off()
    plot.set_aspect("equal")
