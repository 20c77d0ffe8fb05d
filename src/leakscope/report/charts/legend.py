"""Colours of series and entries of the legend for both drawers."""

from __future__ import annotations

from typing import NamedTuple

from leakscope.core.wording import count
from leakscope.report.charts.model import Chart, Form

COLOURS = 8


def colours(chart: Chart) -> list[str]:
    """Return the class of each series: its tone, or the next colour."""
    strong = any(series.tone == "strong" for series in chart.series)
    free = [f"c{at}" for at in range(COLOURS) if not (strong and at == 1)]  # c1 is reserved for strong series
    found, plain = [], 0
    for series in chart.series:
        if series.tone == "plain":
            found.append(free[plain % len(free)] + (" dashed" if plain // len(free) % 2 else ""))
            plain += 1
        else:
            found.append(series.tone)
    return found


class LegendEntry(NamedTuple):
    """An entry of the legend: the form of its sample, its classes, and its text."""

    form: Form | str
    kind: str
    words: str


def entries(chart: Chart) -> list[LegendEntry]:
    """Return the entries of the legend. Several muted series share one entry; a single entry needs no legend."""
    pairs = list(zip(chart.series, colours(chart), strict=True))
    muted = [series for series in chart.series if series.tone == "muted"]
    found = [
        LegendEntry(series.form, colour, series.name) for series, colour in pairs if series.name and series not in muted
    ]
    if len(muted) == 1:
        found.append(LegendEntry(muted[0].form, "muted", muted[0].name))
    elif muted:
        found.append(LegendEntry(muted[0].form, "muted", count(len(muted), "other")))
    if chart.highlighted and chart.highlight:
        found.append(LegendEntry("front", "", chart.highlight))
    found += [LegendEntry("rule", rule.tone, rule.label) for rule in chart.rules if rule.label]
    if any((mark.x is None) != (mark.y is None) and not mark.box for series in chart.series for mark in series.marks):
        found.append(LegendEntry("missing", "", "not measured"))
    return found if len(found) > 1 else []
