"""Colours of the series of a chart, and what its legend explains. Both drawers use it."""

from __future__ import annotations

from typing import NamedTuple

from leakscope.core.wording import count
from leakscope.report.charts.model import Chart, Form

COLOURS = 8


def colours(chart: Chart) -> list[str]:
    """Give the class of each series: its tone, or the next colour."""
    strong = any(series.tone == "strong" for series in chart.series)
    free = [f"c{at}" for at in range(COLOURS) if not (strong and at == 1)]  # c1 is the colour of strong ones
    found, plain = [], 0
    for series in chart.series:
        if series.tone == "plain":
            found.append(free[plain % len(free)] + (" dashed" if plain // len(free) % 2 else ""))
            plain += 1
        else:
            found.append(series.tone)
    return found


class Entry(NamedTuple):
    """A line of the legend: how its sample is drawn, its classes, and its words."""

    form: Form | str
    kind: str
    words: str


def entries(chart: Chart) -> list[Entry]:
    """What the legend explains. Several muted series are one entry; one entry alone needs no legend."""
    pairs = list(zip(chart.series, colours(chart), strict=True))
    muted = [series for series in chart.series if series.tone == "muted"]
    found = [Entry(series.form, colour, series.name) for series, colour in pairs if series.name and series not in muted]
    if len(muted) == 1:
        found.append(Entry(muted[0].form, "muted", muted[0].name))
    elif muted:
        found.append(Entry(muted[0].form, "muted", count(len(muted), "other")))
    if chart.highlighted and chart.highlight:
        found.append(Entry("front", "", chart.highlight))
    found += [Entry("rule", rule.tone, rule.label) for rule in chart.rules if rule.label]
    if any((mark.x is None) != (mark.y is None) and not mark.box for series in chart.series for mark in series.marks):
        found.append(Entry("missing", "", "not measured"))
    return found if len(found) > 1 else []
