"""A sweep as text and as a picture."""

from __future__ import annotations

import re
import textwrap

from leakscope.core.estimate import Estimate
from leakscope.leakage.result import NATS_PER_BIT
from leakscope.leakage.sweeping import Point, Sweep
from leakscope.report.words import safe_text

WIDTH = 100
LEGEND = (
    "bound: what the mean advantage of no adversary exceeds, as far as the laws are Gaussian; best attack: what a "
    "likelihood-ratio adversary achieves on held-out models"
)
THRESHOLD = "; threshold attack: what one achieves who calls members whose loss is at most the mean training loss of other models."
HEADINGS = (
    "size",
    "l2",
    "noise",
    "rho_KL (nats)",
    "median",
    "rho_MI (bits)",
    "bound",
    "best attack",
    "threshold attack",
)


def describe(sweep: Sweep) -> str:
    """A table with one row per setting, and what to doubt."""
    rows = [_cells(point) for point in sweep.points]
    used = [column for column in range(len(HEADINGS)) if any(row[column] for row in rows)]
    widths = {column: max(len(HEADINGS[column]), *(len(row[column]) for row in rows)) for column in used}
    settings = sweep.settings
    seen = "parameters" if settings["space"] == "parameters" else "outputs at the record"
    lines = [
        f"{safe_text(settings['learner'], 40)}: what its {seen} tell about membership among "
        f"{settings['universe']:,} records ({settings['records']} measured, {settings['draws']:,} draws each).",
        "",
        "  ".join(HEADINGS[column].rjust(widths[column]) for column in used),
        *("  ".join(row[column].rjust(widths[column]) for column in used) for row in rows),
        "",
        *textwrap.wrap(LEGEND + (THRESHOLD if any(point.experiment for point in sweep.points) else "."), WIDTH),
    ]
    for item in sweep.not_measured:
        lines += _listed(f"not measured: size {item.size:,}{_at(item.l2, item.noise)}: {item.reason}")
    return "\n".join([*lines, *_warnings(sweep)])


def draw(sweep: Sweep) -> str:
    """Leakage, with its interval, against the first of size, l2 and noise that varies; one line for each of the rest."""
    from leakscope.plots import lines

    names = {"size": "Training records", "l2": "Regularisation l2", "noise": "Noise (standard deviation)"}
    varied = [name for name in names if len({getattr(point, name) for point in sweep.points}) > 1]
    along = varied[0] if varied else "size"
    series: dict[str, list[tuple[float, Estimate | None]]] = {}
    drawn = [point for point in sweep.points if getattr(point, along)]  # zero has no place on a logarithmic axis
    for point in drawn or sweep.points:
        along = along if drawn else "size"
        rest = ", ".join(f"{name} {getattr(point, name):g}" for name in varied if name != along)
        series.setdefault(rest or "rho_KL", []).append((getattr(point, along), point.leakage.rho_kl))
    return lines(
        f"Membership leakage of {sweep.settings['learner']}",
        f"Symmetric divergence of the {sweep.settings['space']} with and without a record, mean over "
        f"{sweep.settings['records']} records." + (" Zero is left out." if len(drawn) < len(sweep.points) else ""),
        {name: sorted(points, key=lambda point: point[0]) for name, points in series.items()},
        x_label=names[along],
        y_label="Leakage rho_KL (nats)",
    )


def _warnings(sweep: Sweep) -> list[str]:
    """What to doubt, each kind of warning once with the settings it is about, and with the figures of the first of them."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    for point in sweep.points:
        for warning in point.warnings:
            place = f"size {point.size:,}{_at(point.l2, point.noise)}"
            kinds.setdefault(re.sub(r"[\d.,\[\]-]+", "", warning), []).append((place, warning))
    lines: list[str] = []
    for found in kinds.values():
        places = [place for place, _ in found]
        text = found[0][1]
        if len({warning for _, warning in found}) > 1:
            text += " (figures of the first of these)"
        lines += _listed(f"{'; '.join(places)}: {text}")
    return lines


def _cells(point: Point) -> tuple[str, ...]:
    found = point.leakage
    threshold = "" if point.experiment is None else str(point.experiment.advantage)
    return (
        f"{point.size:,}",
        "" if point.l2 is None else f"{point.l2:g}",
        f"{point.noise:g}" if point.noise else "",
        str(found.rho_kl).removesuffix(" nats"),
        f"{found.rho_kl_median.value:.3g}",
        f"{found.rho_mi.value / NATS_PER_BIT:.2g}",
        f"{found.advantage_bound.value:.3g}",
        str(found.attack),
        threshold,
    )


def _at(l2: float | None, noise: float) -> str:
    return ("" if l2 is None else f", l2 {l2:g}") + (f", noise {noise:g}" if noise else "")


def _listed(text: str) -> list[str]:
    return textwrap.wrap(safe_text(text, 2000), WIDTH, initial_indent="! ", subsequent_indent="  ")
