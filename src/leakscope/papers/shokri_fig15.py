"""[shokri2019, Figure 15, Appendix G]: self-revealing records against the number of training records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakscope import plots
from leakscope.core.estimate import Estimate
from leakscope.papers import shokri
from leakscope.papers.reproduction import Reproduction, ends
from leakscope.papers.shokri import LEVELS, Case, Study
from leakscope.papers.trends import Series, judge, shown, slope
from leakscope.worlds import Progress

ID = "shokri-fig15"
TITLE = "Adult: training records that reveal themselves, by number of training records"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, Appendix G and Figure 15",
    "statement": (
        "The share of self-revealing records decreases as the training set grows, slowly (on a logarithmic axis), and their "
        "number increases."
    ),
    "numbers": "The extracted text of the paper has no numbers of this figure: trends are compared.",
}
FULL = {"sizes": (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000), "records": 40_000, "most_draws": 10}
QUICK = {"sizes": (50, 200, 800), "records": 1600, "most_draws": 3}


def run(
    sizes: Sequence[int],
    records: int,
    most_draws: int,
    seed: int = 0,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Reproduction:
    """Count the self-revealing records at each size; large sets are drawn less often, for ``records`` in all."""
    source = shokri.load("adult")
    found = [Case(source, 1.0, min(most_draws, max(2, records // size)), size) for size in sizes]
    counts = shokri.over_draws(ID, found, _counts, seed=seed, progress=progress, workers=workers)
    shares = [
        [shokri.mean_share([draw[place] / case.size for draw in drawn]) for place in range(len(LEVELS))]
        for case, drawn in zip(found, counts, strict=True)
    ]
    numbers = [[shokri.mean_count([draw[place] for draw in drawn]) for place in range(len(LEVELS))] for drawn in counts]
    words = _verdict(sizes, shares, numbers)
    return Reproduction(
        id=ID,
        title=TITLE,
        settings=shokri.settings(found, seed, k=list(LEVELS)),
        columns=["n", "k", "revealed", "revealed_low", "revealed_high", "records", "records_low", "records_high",
                 "draws", "note"],
        rows=[
            [case.size, k, *ends(shares[row][place]), *ends(numbers[row][place]), case.draws, None]
            for row, case in enumerate(found)
            for place, k in enumerate(LEVELS)
        ],
        paper=PAPER,
        verdict=words,
        svg=plots.lines(
            TITLE,
            words,
            {f"k = {k}": [(size, values[place]) for size, values in zip(sizes, shares, strict=True)]
             for place, k in enumerate(LEVELS)},
            x_label="Training records",
            y_label="Training records revealed (%)",
            logarithmic_y=False,
        ),
    )  # fmt: skip


def _counts(drawn: Study) -> list[int]:
    place = shokri.own_rank(drawn)
    return [int(np.sum(place < k)) for k in LEVELS]


def _verdict(sizes: Sequence[int], shares: Sequence[Sequence[Estimate]], numbers: Sequence[Sequence[Estimate]]) -> str:
    """The trends of the shares and of the numbers, and how slow the shares fall."""
    percent = {f"share of k = {k}": _series(sizes, shares, place) for place, k in enumerate(LEVELS)}
    counted = {f"number of k = {k}": _series(sizes, numbers, place) for place, k in enumerate(LEVELS)}
    slopes = [
        f"{name} as n to the power {shown(found)}"
        for name, series in percent.items()
        if (found := slope(sizes, [point for _, point in series])) is not None
    ]
    return "; ".join([judge("falls", percent), judge("rises", counted), *slopes])


def _series(sizes: Sequence[int], table: Sequence[Sequence[Estimate]], place: int) -> Series:
    return [(f"n = {size:,}", row[place]) for size, row in zip(sizes, table, strict=True)]
