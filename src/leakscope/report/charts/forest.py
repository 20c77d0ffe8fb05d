"""Forest plots: estimates with their intervals, a row for each category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from leakscope.core.estimate import Estimate
from leakscope.core.wording import Style, write
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series


def rows_of(categories: Iterable[str], groups: Iterable[str] = ()) -> Axis:
    """Return the vertical axis with a row for each category."""
    return Axis("", "category", categories=tuple(categories), groups=tuple(groups))


def by_category(
    title: str, description: str, axis: Axis, rows: Axis, series: Mapping[str, Sequence[Estimate | None]], rule: Rule
) -> Chart:
    """Draw estimates in the rows of `rows_of`, with a colour for each series; the last series stands out."""
    style: Style = "percent" if axis.percent else "number"
    drawn = []
    for legend, estimates in series.items():
        marks = [
            Mark(estimate, at, said=f"{rows.categories[at]}, {legend}: {write(estimate, style)}")
            for at, estimate in enumerate(estimates)
            if estimate is not None
        ]
        drawn.append(Series(legend, tuple(marks), "points", "strong" if legend == list(series)[-1] else "plain"))
    return Chart(title, description, axis, rows, tuple(one for one in drawn if one.marks), (rule,))
