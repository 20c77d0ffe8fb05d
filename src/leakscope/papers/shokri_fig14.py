"""[shokri2019, Figure 14, appendix E]: Figure 5 with networks of smaller and larger capacity."""

from __future__ import annotations

from collections.abc import Sequence

from leakscope import plots
from leakscope.core.estimate import Estimate
from leakscope.papers import shokri_dimensions
from leakscope.papers.reproduction import Reproduction
from leakscope.papers.shokri_dimensions import ALMOST_NONE, WIDTHS, Effort, Row, Size, at, magnitude
from leakscope.worlds import Progress

ID = "shokri-fig14"
TITLE = "Membership and the 1-norm of the gradient, by size of the network"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, section 4.4, appendix E and Figure 14",
    "statement": (
        "Networks of smaller and larger capacity behave alike in quality; the interval of n in which there is a correlation, "
        "and how large it is, vary."
    ),
    "numbers": "The extracted text of the paper has no numbers of this figure: its statements are compared.",
}
FULL = {
    "features": (20, 100, 500, 1000),
    "classes": (2, 100),
    "points": 20_000,
    "epochs": 100,
    "networks": 3,
}
QUICK = {"features": (20, 400), "classes": (2, 20), "points": 1000, "epochs": 10, "networks": 3}
SIZES: tuple[Size, ...] = ("small", "base", "big")


def run(
    features: Sequence[int],
    classes: Sequence[int],
    points: int,
    epochs: int,
    networks: int,
    seed: int = 0,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Reproduction:
    """Train networks of three sizes at every number of features and classes."""
    effort = Effort(points, epochs, networks)
    rows = shokri_dimensions.study(ID, features, classes, SIZES, effort, seed=seed, progress=progress, workers=workers)
    words = shokri_dimensions.summary([part for k in classes for part in _statements(k, rows)])
    return Reproduction(
        id=ID,
        title=TITLE,
        settings=shokri_dimensions.settings(features, classes, SIZES, effort, seed),
        columns=shokri_dimensions.COLUMNS,
        rows=shokri_dimensions.table(rows, features, classes),
        paper=PAPER,
        verdict=words,
        svg=plots.stacked(TITLE, words, [_figure(rows, k) for k in classes]),
    )


def _statements(classes: int, rows: Sequence[Row]) -> list[tuple[bool, str]]:
    """That correlation comes with features for each size, and that sizes differ in where and how much."""
    by_size = {size: [row for row in rows if row.classes == classes and row.size == size] for size in SIZES}
    found = []
    peaks: dict[Size, Row] = {}
    places: dict[Size, tuple[int, ...]] = {}
    for size, ours in by_size.items():
        first, peaks[size] = ours[0], max(ours, key=lambda row: magnitude(row.correlation).value)
        places[size] = tuple(row.features for row in ours if magnitude(row.correlation).low > ALMOST_NONE)
        said = f"{at(first, first.correlation)}, {at(peaks[size], peaks[size].correlation)} at its largest"
        apart = magnitude(peaks[size].correlation).low > magnitude(first.correlation).high
        found.append((apart, f"{classes} classes, {size}: correlation comes with features, {said}"))
    sizes = [magnitude(row.correlation) for row in peaks.values()]
    varies = max(size.low for size in sizes) > min(size.high for size in sizes)
    found.append((varies, f"{classes} classes: how large it gets varies with the network"))
    where = ", ".join(f"{size} at {_numbers(counts)}" for size, counts in places.items())
    varies = len(set(places.values())) > 1
    return [*found, (varies, f"{classes} classes: where it is more than {ALMOST_NONE} varies, {where}")]


def _numbers(counts: Sequence[int]) -> str:
    return " and ".join(f"{count:,}" for count in counts) or "none"


def _figure(rows: Sequence[Row], classes: int) -> str:
    series: dict[str, list[tuple[float, Estimate | None]]] = {
        f"{size} ({'-'.join(map(str, WIDTHS[size]))})": [
            (row.features, row.correlation) for row in rows if row.classes == classes and row.size == size
        ]
        for size in SIZES
    }
    return plots.lines(
        f"Correlation of membership and ‖∇c‖₁, {classes} classes",
        f"{classes} classes",
        series,
        x_label="Features",
        y_label="Pearson's coefficient",
        logarithmic_y=False,
    )
