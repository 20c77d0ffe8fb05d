"""What the figures of a reproduction show, as data; `leakscope.report.documents.reproduction` makes charts from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate

Form = Literal["line", "points", "curve", "bars", "boxes", "area"]
Axes = tuple[str, str]  # what the horizontal and the vertical axis show
BINS = 40


@dataclass(frozen=True)
class Curve:
    """Named values: at the numbers ``x``, or at the places of the panel in their order; None where nothing was measured.

    ``boxes`` has the minimum, quartiles and maximum at each place, ``end`` the right end of the last bin of a histogram.
    """

    name: str
    y: tuple[Estimate | float | None, ...]
    x: tuple[float, ...] = ()
    form: Form = "line"
    boxes: tuple[tuple[float, ...] | None, ...] = ()
    end: float | None = None


@dataclass(frozen=True)
class Panel:
    """Curves with common axes; ``places`` names the positions of an axis of categories, ``goal`` is a reference line."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    places: tuple[str, ...] = ()
    log_x: bool = False
    log_y: bool = False
    goal: float | None = None
    goal_label: str = ""

    def finite(self) -> Panel:
        """Give the panel without infinite ends of intervals."""
        values = [tuple(y.finite() if isinstance(y, Estimate) else y for y in curve.y) for curve in self.curves]
        return replace(self, curves=tuple(replace(curve, y=y) for curve, y in zip(self.curves, values, strict=True)))


def lines(
    title: str,
    axes: Axes,
    series: Mapping[str, Sequence[tuple[float, Estimate | None]]],
    *,
    log: Literal["", "x", "xy"] = "x",
    goal: tuple[float, str] | None = None,
) -> Panel:
    """Give named series of pairs of a number and what was measured there; ``goal`` is a line with its label."""
    curves = [
        Curve(name, tuple(y for _, y in pairs), tuple(float(x) for x, _ in pairs)) for name, pairs in series.items()
    ]
    return Panel(title, *axes, tuple(curves), (), "x" in log, "y" in log, *(goal or ()))


def bars(
    title: str,
    axes: Axes,
    places: Sequence[str],
    series: Mapping[str, Sequence[Estimate | None]],
    *,
    paper: Mapping[str, Sequence[float | None]] | None = None,
    log_y: bool = False,
) -> Panel:
    """Give bars side by side at each place; values that the paper states are bars next to ours."""
    curves = []
    for name, values in series.items():
        curves.append(Curve(name, tuple(values), form="bars"))
        stated = (paper or {}).get(name, ())
        if any(value is not None for value in stated):
            curves.append(Curve(f"{name} (paper)", tuple(None if v is None else float(v) for v in stated), form="bars"))
    return Panel(title, *axes, tuple(curves), tuple(places), log_y=log_y)


def histograms(title: str, axes: Axes, series: Mapping[str, Floats], *, log_x: bool = True) -> Panel:
    """Give how many values of each series fall into each of equally wide bins, on a logarithmic axis where ``log_x``."""
    values = {name: np.log(found) if log_x else np.asarray(found) for name, found in series.items() if len(found)}
    together = np.concatenate([*values.values()]) if values else np.zeros(1)
    edges = np.histogram_bin_edges(together, BINS)
    shown = np.exp(edges) if log_x else edges
    curves = [
        Curve(name, tuple(np.histogram(found, edges)[0].tolist()), tuple(shown[:-1].tolist()), "area", end=float(shown[-1]))
        for name, found in values.items()
    ]  # fmt: skip
    return Panel(title, *axes, tuple(curves), log_x=log_x)
