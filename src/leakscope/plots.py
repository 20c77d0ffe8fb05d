"""Results as figures: each a standalone SVG text, to be saved as a file that any browser opens.

A figure loads nothing and runs nothing. Its style follows the reader's choice of light or dark, its title and
description are there for screen readers, and its points say their values when hovered. An end of an interval that lies
outside of its axis, such as zero on a logarithmic one, is drawn as an arrow at the edge.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from leakscope.core.estimate import Estimate
from leakscope.errors import InputError
from leakscope.report import drawing, svg
from leakscope.report.axes import linear_axis, log_axis, short_number
from leakscope.report.drawing import LEFT, PLOT, WIDTH
from leakscope.report.words import safe_text

MOST_PLACES = 14  # on the axis below, each with a line and a name; with more, round numbers stand there


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
    _check_columns(places, [boxes, line, limits, points])
    _check_boxes(boxes)
    missing = [box is None or value is None for box, value in zip(boxes, line, strict=True)]
    entries = [("box", box_label), ("c0 circle", line_label)]
    entries += [("c2 diamond", mark_label)] if marks else []
    entries += [("bound", bound_label)] if bound else []
    entries += [("missing", "not measured")] if any(missing) else []
    head, top = drawing.head(title, entries)
    bottom, end = top + PLOT, WIDTH - 82
    slot = (end - LEFT) / len(places)
    middles = [LEFT + slot * (number + 0.5) for number in range(len(places))]
    numbers = [number for box in boxes if box is not None for number in box]
    numbers += [limit for limit in limits if limit is not None]
    left = linear_axis([*((number,) * 3 for number in numbers), *drawing.triples(points)], bottom, top)
    right = (log_axis if logarithmic else linear_axis)(drawing.triples(line), bottom, top)
    names = [safe_text(place, 40) for place in places]
    below, height = drawing.place_names(names, middles, slot, bottom)
    parts = [
        *head,
        *drawing.left_axis(left, box_label, "axis boxes", bottom, end),
        *drawing.right_axis(right, line_label, bottom, end),
    ]
    parts += [
        drawing.box_plot(x, box, min(34.0, 0.56 * slot), left)
        for x, box in zip(middles, boxes, strict=True)
        if box is not None
    ]
    parts += [
        *drawing.run(middles, limits, left, "bound"),
        drawing.marks_with_line(middles, line, right, "c0", "circle"),
    ]
    beside = [x + min(12.0, 0.25 * slot) for x in middles]
    parts.append(drawing.marks_with_line(beside, points, left, "c2", "diamond", joined=False))
    parts += [drawing.cross(x, bottom - 9) for x, absent in zip(middles, missing, strict=True) if absent]
    parts += [*below, svg.text((LEFT + end) / 2, height - 14, safe_text(place_label), "axis middle")]
    labels = (line_label, box_label, bound_label if bound else "", mark_label if marks else "")
    for name, x, *values in zip(names, middles, line, boxes, limits, points, strict=True):
        parts.append(svg.box(x - slot / 2, top, slot, PLOT, "hover", drawing.place_words(name, values, labels)))
    return drawing.picture(parts, height, title, description)


def lines(
    title: str,
    description: str,
    series: Mapping[str, Sequence[tuple[float, Estimate | None]]],
    *,
    x_label: str,
    y_label: str,
    goal: float | None = None,
    goal_label: str = "goal",
    logarithmic_x: bool = True,
    logarithmic_y: bool = True,
) -> str:
    """Several named series with intervals, and a dashed line for a goal.

    Parameters
    ----------
    series
        Name to pairs of a number and what was measured there, or None if nothing could be.
    logarithmic_x, logarithmic_y
        Whether the axes are logarithmic; a linear one holds zero.

    Examples
    --------
    >>> figure = lines("Sweep", "Leakage by size.", {"λ = 0": [(10, Estimate(2, 1, 3)), (100, Estimate(0.2, 0, 0.5))]},
    ...                x_label="Training records", y_label="Leakage (nats)", goal=0.1)
    >>> "λ = 0, 100: 0.2 [0, 0.5]" in figure
    True
    """
    across = sorted({float(x) for points in series.values() for x, _ in points})
    if not across or not all(math.isfinite(x) and (x > 0 or not logarithmic_x) for x in across):
        which = "positive numbers on a logarithmic axis" if logarithmic_x else "finite numbers"
        raise InputError(f"a figure needs points at {which}: leave the others out")
    found = [point for points in series.values() for _, point in points]
    entries = [(f"{drawing.colour(number)} circle", name) for number, name in enumerate(series)]
    entries += [("bound", f"{goal_label}: {short_number(goal)}")] if goal is not None else []
    entries += [("missing", "not measured")] if None in found else []
    head, top = drawing.head(title, entries)
    bottom, end = top + PLOT, WIDTH - 24
    aims = [(goal,) * 3] if goal is not None and (goal > 0 or not logarithmic_y) else []
    y = (log_axis if logarithmic_y else linear_axis)([*drawing.triples(found), *aims], bottom, top)
    x = (log_axis if logarithmic_x else linear_axis)([(value,) * 3 for value in across], LEFT, end)
    below = across if len(across) <= MOST_PLACES else x.ticks
    parts = [*head, *drawing.left_axis(y, y_label, "axis", bottom, end), *drawing.bottom_axis(x, below, bottom)]
    if goal is not None:
        height = y.place(max(goal, y.low))
        parts.append(svg.line(LEFT, height, end, height, "bound"))
    apart = min(5.0, 26.0 / len(series))  # so that intervals at one place are seen beside each other
    for number, (name, points) in enumerate(series.items()):
        shift = apart * (number - (len(series) - 1) / 2)
        places = [x.place(value) + shift for value, _ in points]
        values = [point for _, point in points]
        said = [f"{safe_text(name, 40)}, {short_number(at)}: {drawing.value_words(point)}" for at, point in points]
        parts.append(drawing.marks_with_line(places, values, y, drawing.colour(number), "circle", said))
        parts += [drawing.cross(at, bottom - 9) for at, point in zip(places, values, strict=True) if point is None]
    parts.append(svg.text((LEFT + end) / 2, bottom + 40, safe_text(x_label), "axis middle"))
    return drawing.picture(parts, bottom + 54, title, description)


def bars(
    title: str,
    description: str,
    places: Sequence[str],
    series: Mapping[str, Sequence[Estimate | None]],
    *,
    place_label: str,
    y_label: str,
    paper: Mapping[str, Sequence[float | None]] | None = None,
    paper_label: str = "paper",
    logarithmic: bool = False,
) -> str:
    """Bars with intervals, side by side at each place, and a diamond beside each bar for the value of a paper.

    Parameters
    ----------
    places
        What stands below the axis.
    series
        Name to a number with its interval for each place; None gets a cross.
    paper
        Name of a series to the values that a paper states for each place, or None where it states none.
    logarithmic
        Whether the axis is; otherwise it is linear and holds zero.

    Examples
    --------
    >>> figure = bars("Revealed", "By data set.", ["Adult"], {"k = 1": [Estimate(10.4, 9.8, 11)], "k = 5": [None]},
    ...               place_label="Data set", y_label="Records (%)", paper={"k = 1": [10]})
    >>> "Adult, k = 1: 10.4 [9.8, 11]; paper: 10" in figure
    True
    """
    stated = {name: (paper or {}).get(name, [None] * len(places)) for name in series}
    _check_columns(places, [*series.values(), *stated.values()])
    found = [point for points in series.values() for point in points]
    known = [value for values in stated.values() for value in values if value is not None]
    entries = [(f"{drawing.colour(number)} bar", name) for number, name in enumerate(series)]
    entries += [("stated diamond", paper_label)] if known else []
    entries += [("missing", "not measured")] if None in found else []
    head, top = drawing.head(title, entries)
    bottom, end = top + PLOT, WIDTH - 24
    axis = (log_axis if logarithmic else linear_axis)(
        [*drawing.triples(found), *((value,) * 3 for value in known)], bottom, top
    )
    slot = (end - LEFT) / len(places)
    middles = [LEFT + slot * (number + 0.5) for number in range(len(places))]
    names = [safe_text(place, 40) for place in places]
    below, height = drawing.place_names(names, middles, slot, bottom)
    parts = [*head, *drawing.left_axis(axis, y_label, "axis", bottom, end)]
    room = 0.86 * slot / max(1, len(series))  # for a bar and what stands beside it
    for number, (series_name, points) in enumerate(series.items()):
        shift, words = room * (number - len(series) / 2), safe_text(series_name, 40)
        for name, middle, point, value in zip(names, middles, points, stated[series_name], strict=True):
            said = f"{name}, {words}: {drawing.value_words(point)}"
            said += "" if value is None else f"; {safe_text(paper_label)}: {short_number(value)}"
            bar = drawing.bar(middle + shift, room, point, value, axis, bottom)
            parts.append(svg.titled(bar, f"{drawing.colour(number)} mark", said))
    parts += [*below, svg.text((LEFT + end) / 2, height - 14, safe_text(place_label), "axis middle")]
    return drawing.picture(parts, height, title, description)


def histograms(
    title: str,
    description: str,
    series: Mapping[str, Sequence[float] | NDArray[np.float64]],
    *,
    x_label: str,
    y_label: str = "Records",
    bins: int = 40,
    logarithmic_x: bool = True,
) -> str:
    """How many values of each series fall into each of equally wide bins, drawn over each other.

    Parameters
    ----------
    series
        Name to values; on a logarithmic axis all positive.
    logarithmic_x
        Whether the axis of the values is logarithmic, and bins equally wide there; a linear one holds zero.

    Examples
    --------
    >>> figure = histograms("Influence", "Two of them.", {"members": [0.1, 0.2, 10.0], "others": [1.0]},
    ...                     x_label="|I|", bins=2)
    >>> "0.1 to 1: 2 (members), 0 (others)" in figure, "1 to 10: 1 (members), 1 (others)" in figure
    (True, True)
    """
    columns = {name: np.asarray(values, dtype=np.float64).ravel() for name, values in series.items()}
    together = np.concatenate([*columns.values(), np.empty(0)])
    if not len(together) or not np.isfinite(together).all() or (logarithmic_x and together.min() <= 0):
        which = "positive numbers on a logarithmic axis" if logarithmic_x else "finite numbers"
        raise InputError(f"a histogram needs {which}: leave the others out")
    if bins < 1:
        raise InputError(f"a histogram needs one bin or more, not {bins}")
    entries = [(f"{drawing.colour(number)} area", name) for number, name in enumerate(series)]
    head, top = drawing.head(title, entries)
    bottom, end = top + PLOT, WIDTH - 24
    low, high = float(together.min()), float(together.max())
    x = (log_axis if logarithmic_x else linear_axis)([(low,) * 3, (high,) * 3], LEFT, end)
    low, high = (low, high) if logarithmic_x else (min(0.0, low), max(0.0, high))
    low, high = (low, high) if low < high else (x.low, x.high)
    edges = (np.geomspace if logarithmic_x else np.linspace)(low, high, bins + 1)
    counts = {name: np.histogram(values, edges)[0].tolist() for name, values in columns.items()}
    y = linear_axis([(float(max(row)),) * 3 for row in counts.values()], bottom, top)
    parts = [*head, *drawing.left_axis(y, y_label, "axis", bottom, end), *drawing.bottom_axis(x, x.ticks, bottom)]
    places = [x.place(edge) for edge in edges.tolist()]
    for number, row in enumerate(counts.values()):
        parts.append(drawing.group(drawing.steps(places, row, y, bottom), drawing.colour(number)))
    for number, (start, stop) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        held = ", ".join(f"{row[number]:,} ({safe_text(name, 40)})" for name, row in counts.items())
        words = f"{short_number(start)} to {short_number(stop)}: {held}"
        parts.append(svg.box(places[number], top, places[number + 1] - places[number], PLOT, "hover", words))
    parts.append(svg.text((LEFT + end) / 2, bottom + 40, safe_text(x_label), "axis middle"))
    return drawing.picture(parts, bottom + 54, title, description)


def stacked(title: str, description: str, figures: Sequence[str]) -> str:
    """Figures of this module below each other, as one.

    Examples
    --------
    >>> one = histograms("Influence", "One of them.", {"members": [0.1, 0.2, 10.0]}, x_label="|I|")
    >>> stacked("Two", "The same twice.", [one, one]).count("<svg")
    3
    """
    if not figures:
        raise InputError("a figure needs one part or more")
    head, top = drawing.head(title, [])
    parts, height = list(head), top - 14
    for figure in figures:
        parts.append(Markup(f'<g transform="translate(0 {svg.number(height)})">{figure.strip()}</g>'))
        height += drawing.height_of(figure)
    return drawing.picture(parts, height, title, description)


def _check_columns(places: Sequence[str], columns: Sequence[Sequence[object]]) -> None:
    if not places or not columns or any(len(column) != len(places) for column in columns):
        counts = ", ".join(str(len(column)) for column in columns) or "none"
        raise InputError(f"a figure needs one place or more and a value or None for each: {len(places)}, {counts}")


def _check_boxes(boxes: Sequence[Sequence[float] | None]) -> None:
    for box in boxes:
        if box is not None and (len(box) != 5 or not all(map(math.isfinite, box)) or sorted(box) != list(box)):
            raise InputError(f"a box is five rising finite numbers, not {safe_text(list(box))}")


def scatter(
    title: str,
    description: str,
    series: Mapping[str, Sequence[tuple[str, Estimate, Estimate]]],
    *,
    x_label: str,
    y_label: str,
    marked: Collection[str] = (),
    marked_label: str = "",
) -> str:
    """Named points with intervals in both directions; some are marked, and joined from left to right.

    Parameters
    ----------
    series
        Name to points: what stands beside the point, and its places on the two axes, which are linear and hold zero.
    marked
        Names of points that are drawn as diamonds, joined by a dashed line.

    A name is written where there is room for it, those of marked points first; every point says its own when hovered.

    Examples
    --------
    >>> points = [("all", Estimate(0.4, 0.3, 0.5), Estimate(0.1, 0.05, 0.15)), ("top 5", Estimate(0.2, 0.1, 0.3), Estimate(0, 0, 0))]
    >>> figure = scatter("Frontier", "Two of them.", {"gradient": points}, x_label="x", y_label="y", marked=["top 5"])
    >>> "gradient, all: 0.4 [0.3, 0.5]; 0.1 [0.05, 0.15]" in figure, figure.count(">top 5<")
    (True, 1)
    """
    points = [(name, across, up) for group in series.values() for name, across, up in group]
    if not points:
        raise InputError("a figure needs one point or more")
    chosen = sorted((across.value, up.value) for name, across, up in points if name in marked)
    entries = [(f"{drawing.colour(number)} circle", name) for number, name in enumerate(series)]
    head, top = drawing.head(title, [*entries, *([("bound", marked_label)] if marked_label and chosen else [])])
    bottom, end = top + PLOT, WIDTH - 24
    x = linear_axis(drawing.triples(across for _, across, _ in points), LEFT, end)
    y = linear_axis(drawing.triples(up for _, _, up in points), bottom, top)
    parts = [*head, *drawing.left_axis(y, y_label, "axis", bottom, end), *drawing.bottom_axis(x, x.ticks, bottom)]
    parts.append(svg.path([(x.place(across), y.place(up)) for across, up in chosen], "bound") if chosen else Markup(""))
    for number, (name, group) in enumerate(series.items()):
        for label, across, up in group:
            said = f"{safe_text(name, 40)}, {safe_text(label, 60)}: {drawing.value_words(across)}; {drawing.value_words(up)}"
            shape, colour = "diamond" if label in marked else "circle", drawing.colour(number)
            parts.append(drawing.group(drawing.level_interval(across, y.place(up.value), x), f"{colour} mark"))
            parts.append(drawing.marks_with_line([x.place(across.value)], [up], y, colour, shape, [said], joined=False))
    parts += drawing.point_names(
        [(name, x.place(across.value), y.place(up.value)) for name, across, up in points],
        marked,
        (LEFT, top, end, bottom),
    )
    parts.append(svg.text((LEFT + end) / 2, bottom + 40, safe_text(x_label), "axis middle"))
    return drawing.picture(parts, bottom + 54, title, description)
