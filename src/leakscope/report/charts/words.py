"""Texts of marks for tooltips and for the table of a chart."""

from __future__ import annotations

from leakscope.core.estimate import Estimate
from leakscope.core.wording import number, write
from leakscope.report.charts.model import Axis, Chart, Mark, Series


def said_of(chart: Chart, series: Series, mark: Mark) -> str:
    """Return the words of a mark, or else its name and its numbers.

    Examples
    --------
    >>> mark = Mark(100, Estimate(0.2, 0.1, 0.3))
    >>> said_of(Chart("", "", Axis("Records"), Axis("AUC"), ()), Series("ridge", (mark,)), mark)
    'ridge, 100: 0.20 [0.10, 0.30]'
    """
    if mark.said:
        return mark.said
    names = ", ".join(dict.fromkeys(part for part in (series.name, mark.label) if part))
    place, value = place_words(mark.x, chart.x), place_words(mark.y, chart.y)
    if mark.box:
        low, lower, median, upper, high = map(number, mark.box)
        value = f"median {median}, quartiles {lower} and {upper}, ends {low} and {high}"
    elif chart.y.scale == "category":
        place, value = value, place
    return f"{', '.join(part for part in (names, place) if part)}: {value}"


def place_words(place: float | Estimate | None, axis: Axis) -> str:
    """Write a place on an axis."""
    if place is None:
        return "not measured"
    if isinstance(place, Estimate):
        return write(place, "percent" if axis.percent else "number")
    return axis.number(place)
