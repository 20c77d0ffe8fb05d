"""[shokri2019, Figure 14, appendix E]: Figure 5 with networks of smaller and larger capacity."""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim
from leakscope.papers import panels
from leakscope.papers.reproduction import Reproduction, Work, statement
from leakscope.papers.shokri_dimensions import ALMOST_NONE, WIDTHS, Size, SizeEffort, SizeRow, figure, magnitude
from leakscope.papers.trends import less

ID = "shokri-fig14"
TITLE = "Membership and the 1-norm of the gradient, by size of the network"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, section 4.4, appendix E and Figure 14",
    "statement": (
        "Networks of smaller and larger capacity behave alike qualitatively; the interval of n with a correlation and its "
        "size vary."
    ),
    "numbers": "The extracted text of the paper has no numbers of this figure: its statements are compared.",
}
FULL = {"features": (20, 100, 500, 1000), "classes": (2, 100), "points": 20_000, "epochs": 100, "networks": 3}
QUICK = {"features": (20, 400), "classes": (2, 20), "points": 1000, "epochs": 10, "networks": 3}
SIZES: tuple[Size, ...] = ("small", "base", "big")


def run(work: Work, features: Sequence[int], classes: Sequence[int], **effort: int) -> Reproduction:
    """Train networks of three sizes at every number of features and classes."""
    return figure(
        work, features, classes, SIZES, SizeEffort(**effort), _statements,
        lambda rows: [_figure(rows, k) for k in classes],
    )  # fmt: skip


def _statements(classes: int, rows: Sequence[SizeRow]) -> list[Claim]:
    """That correlation comes with features for each size, and that sizes differ in where and how much."""
    by_size = {size: [row for row in rows if row.classes == classes and row.size == size] for size in SIZES}
    found = []
    peaks: dict[Size, SizeRow] = {}
    places: dict[Size, tuple[int, ...]] = {}
    for size, ours in by_size.items():
        first, peaks[size] = ours[0], max(ours, key=lambda row: magnitude(row.correlation).value)
        places[size] = tuple(row.features for row in ours if magnitude(row.correlation).low > ALMOST_NONE)
        ends = {first.place: first.correlation, f"largest, {peaks[size].place}": peaks[size].correlation}
        apart = less(magnitude(first.correlation), magnitude(peaks[size].correlation))
        found.append(
            statement(f"{classes} classes, {size}: correlation grows with the number of features", apart, ends)
        )
    sizes: dict[str, Estimate] = {size: magnitude(row.correlation) for size, row in peaks.items()}
    varies = max(size.low for size in sizes.values()) > min(size.high for size in sizes.values())
    return [
        *found,
        statement(f"{classes} classes: how large the correlation gets varies with the network", varies or None, sizes),
        statement(
            f"{classes} classes: where it is more than {ALMOST_NONE} varies with the network",
            len(set(places.values())) > 1,
        ),
    ]


def _figure(rows: Sequence[SizeRow], classes: int) -> panels.Panel:
    series = {
        f"{size} ({'-'.join(map(str, WIDTHS[size]))})": [
            (row.features, row.correlation) for row in rows if row.classes == classes and row.size == size
        ]
        for size in SIZES
    }
    return panels.lines(
        f"Correlation of membership and ‖∇c‖₁, {classes} classes", ("Features", "Pearson's coefficient"), series
    )
