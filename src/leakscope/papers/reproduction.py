"""What a reproduction gives: the numbers, what the paper says, and a verdict drawn from the intervals."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leakscope.core.estimate import Estimate

Cell = str | int | float | None
KEYS = ("id", "title", "settings", "columns", "rows", "paper", "verdict", "synthetic", "seconds")
ORIGIN = "origin"  # the column that marks rows measured on generated data
NOT_COMPARABLE = "Synthetic data: not comparable with the paper"


def ends(estimate: Estimate | None) -> list[Cell]:
    """Value and interval as three cells; an end at infinity is none."""
    found = (None,) * 3 if estimate is None else (estimate.value, estimate.low, estimate.high)
    return [float(number) if number is not None and math.isfinite(number) else None for number in found]


@dataclass(frozen=True)
class Reproduction:
    """A figure or statement of a paper, made anew.

    Parameters
    ----------
    settings
        All that the numbers depend on.
    columns, rows
        The table; a cell that could not be measured is None.
    paper
        What the paper states, and where.
    verdict
        Whether the numbers agree with it.
    svg
        The figure.
    seconds
        Time that the computation took.
    synthetic
        The data sets that were generated and not real; empty if none.
    """

    id: str
    title: str
    settings: dict[str, Any]
    columns: list[str]
    rows: list[list[Cell]]
    paper: dict[str, str]
    verdict: str
    svg: str
    seconds: float = 0.0
    synthetic: tuple[str, ...] = ()

    def on_synthetic(self, names: Sequence[str]) -> Reproduction:
        """The same numbers, labelled as results on generated data sets in all that is written and printed."""
        from leakscope import plots

        given = ", ".join(names)
        verdict = (
            f"not comparable with the paper, because the data are synthetic ({given}); on these data: {self.verdict}"
        )
        return replace(
            self,
            title=f"{self.title} (synthetic data)",
            settings=self.settings | {"synthetic": list(names)},
            columns=[*self.columns, ORIGIN],
            rows=[[*row, "synthetic"] for row in self.rows],
            verdict=verdict,
            svg=plots.stacked(NOT_COMPARABLE, verdict, [self.svg]),
            synthetic=tuple(names),
        )

    def as_dict(self) -> dict[str, Any]:
        """All but the figure."""
        return {key: getattr(self, key) for key in KEYS} | {"synthetic": list(self.synthetic)}

    def column(self, name: str) -> list[Cell]:
        """One column of the table."""
        return [row[self.columns.index(name)] for row in self.rows]

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def to_csv(self) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``ID.csv``, ``ID.svg`` and ``ID.json`` into a folder, all of them or none, and say where they are."""
        from leakscope.storage import write_all

        content = {
            f"{self.id}.csv": self.to_csv().encode(),
            f"{self.id}.svg": self.svg.encode(),
            f"{self.id}.json": self.to_json().encode(),
        }
        write_all(Path(folder), content)
        return [Path(folder) / name for name in content]
