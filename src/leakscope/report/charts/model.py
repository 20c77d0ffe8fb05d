"""The `Chart` as data: axes, series of marks with intervals, and reference lines.

Drawers (`svg`, `figures`) depend on charts, not on studies. The tooltip of a mark states its value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from leakscope.core.estimate import Estimate
from leakscope.core.wording import number

#: How a series is drawn: ``line`` joins its marks, ``points`` does not, ``curve`` is a line without marks, with a band for intervals;
#: ``bars`` and ``boxes`` (quartiles) need an axis of categories; ``steps`` is the outline of a histogram and ``area`` a filled one;
#: ``people`` are a hundred dots, of which the first ``y`` are filled.
Form = Literal["line", "points", "curve", "bars", "boxes", "steps", "area", "people"]
Tone = Literal["plain", "strong", "muted"]


@dataclass(frozen=True)
class Axis:
    """An axis.

    Parameters
    ----------
    label
        The quantity and its unit.
    scale
        ``linear``, ``log`` or ``category``; a logarithmic axis with a value that is not positive is drawn linear.
    percent
        Whether numbers are shares, written in percent.
    low, high
        The ends; by default they follow from the values.
    from_zero
        Whether a linear axis includes zero.
    categories
        The names of the positions 0, 1, 2, … of an axis of categories; ``groups`` holds the heading of each position, if any.
    """

    label: str
    scale: Literal["linear", "log", "category"] = "linear"
    percent: bool = False
    low: float | None = None
    high: float | None = None
    from_zero: bool = True
    categories: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def number(self, value: float) -> str:
        """Write a number on this axis, or the name of a category."""
        if self.categories:
            return self.categories[round(value)]
        return f"{number(100 * value)} %" if self.percent else number(value)


@dataclass(frozen=True)
class Mark:
    """One value: its position on both axes, each a number or an estimate with an interval.

    Parameters
    ----------
    x, y
        A position; None if nothing could be measured, which is drawn as a cross at the edge.
    label
        Its name, drawn next to it if there is space.
    said
        Its tooltip; by default the name and the numbers. In a histogram the ends of the bin come first.
    box
        Five rising numbers of a box: ends of the whiskers, quartiles and median.
    """

    x: float | Estimate | None
    y: float | Estimate | None
    label: str = ""
    said: str = ""
    box: tuple[float, ...] = ()


@dataclass(frozen=True)
class Series:
    """Marks under one name, drawn in one form and colour.

    ``end`` is the right end of the last step of a histogram: a mark of ``steps`` or ``area`` holds from its ``x`` to the next one's.
    """

    name: str
    marks: tuple[Mark, ...]
    form: Form = "line"
    tone: Tone = "plain"
    end: float | None = None


@dataclass(frozen=True)
class Rule:
    """A reference line at a value of an axis, or the diagonal, such as chance, a goal, or the value for all records."""

    at: float | None
    axis: Literal["x", "y", "diagonal"] = "y"
    label: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True)
class Chart:
    """A chart with a title and a description for those who do not see it.

    Parameters
    ----------
    highlighted
        Labels of highlighted marks, such as Pareto-optimal ones: drawn as diamonds, joined by a dashed line named ``highlight``.
    """

    title: str
    description: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    rules: tuple[Rule, ...] = ()
    highlighted: tuple[str, ...] = ()
    highlight: str = ""
