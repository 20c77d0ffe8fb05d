"""A chart as data: axes, series of marks with intervals, and reference lines.

Drawers (`svg`, `figures`) know charts and no study. A mark says its value in words when a reader points at it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from leakscope.core.estimate import Estimate

#: How a series is drawn: ``line`` joins its marks, ``points`` does not, ``curve`` is a line without marks, with a band where it has intervals;
#: ``bars`` and ``boxes`` (quartiles) stand on an axis of categories; ``steps`` is the outline of a histogram and ``area`` a filled one;
#: ``people`` are a hundred dots, of which the first ``y`` are filled.
Form = Literal["line", "points", "curve", "bars", "boxes", "steps", "area", "people"]
Tone = Literal["plain", "strong", "muted"]


@dataclass(frozen=True)
class Axis:
    """An axis.

    Parameters
    ----------
    label
        What it shows, with the unit.
    scale
        ``linear``, ``log`` or ``category``; a logarithmic axis with a value that is not positive is drawn linear.
    percent
        Whether numbers are shares, written in percent.
    low, high
        The ends, where the values do not decide them.
    from_zero
        Whether a linear axis holds zero.
    categories
        The names of the places 0, 1, 2, … of an axis of categories; ``groups`` names the heading that each place stands under, if there are any.
    """

    label: str
    scale: Literal["linear", "log", "category"] = "linear"
    percent: bool = False
    low: float | None = None
    high: float | None = None
    from_zero: bool = True
    categories: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mark:
    """One value: its place on both axes, each a number or an estimate with an interval.

    Parameters
    ----------
    x, y
        A place; None where nothing could be measured there, which is drawn as a cross at the edge.
    label
        Its name, written next to it where there is room.
    said
        What a reader sees who points at it; by default the name and the numbers. In a histogram the ends of the bin stand before it.
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
        Labels of marks that stand out, such as Pareto-optimal ones: drawn as diamonds, joined by a dashed line named ``highlight``.
    """

    title: str
    description: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    rules: tuple[Rule, ...] = ()
    highlighted: tuple[str, ...] = ()
    highlight: str = ""
    note: str = ""
    brief: bool = field(default=False, kw_only=True)
