"""[shokri2019, Figure 15, Appendix G]: self-revealing records against the number of training records."""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.estimate import Estimate
from leakscope.core.wording import write
from leakscope.papers import panels, shokri
from leakscope.papers.reproduction import Reproduction, Work
from leakscope.papers.shokri import LEVELS, InfluenceCase
from leakscope.papers.trends import Series, follows, slope

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


def run(work: Work, sizes: Sequence[int], records: int, most_draws: int) -> Reproduction:
    """Count the self-revealing records at each size; large sets are drawn less often, for ``records`` in all."""
    source = shokri.load("adult")
    found = [InfluenceCase(source, 1.0, min(most_draws, max(2, records // size)), size) for size in sizes]
    counts = shokri.over_draws(work, found, shokri.revealed)
    shares = list(map(shokri.shares, found, counts))
    numbers = [[shokri.mean_count(column) for column in zip(*drawn, strict=True)] for drawn in counts]
    percent, counted = (
        {f"k = {k}": [row[place] for row in table] for place, k in enumerate(LEVELS)} for table in (shares, numbers)
    )

    def placed(series: Sequence[Estimate]) -> Series:
        return [(f"n = {size:,}", point) for size, point in zip(sizes, series, strict=True)]

    figure = panels.lines(
        TITLE,
        ("Training records", "Training records revealed (%)"),
        {name: list(zip(sizes, series, strict=True)) for name, series in percent.items()},
    )
    return work.result(
        settings=shokri.settings(found, k=LEVELS),
        columns=["n", "k", "revealed", "records", "draws", "note"],
        rows=[
            [case.size, k, shares[row][place], numbers[row][place], case.draws, None]
            for row, case in enumerate(found)
            for place, k in enumerate(LEVELS)
        ],
        statements=[
            *(follows(f"share for {name}", "falls", placed(series)) for name, series in percent.items()),
            *(follows(f"number for {name}", "rises", placed(series)) for name, series in counted.items()),
        ],
        notes=[
            f"The share for {name} falls as n to the power {write(falls)}."
            for name, series in percent.items()
            if (falls := slope(sizes, series)) is not None
        ],
        panels=[figure],
    )
