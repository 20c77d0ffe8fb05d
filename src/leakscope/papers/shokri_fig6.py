"""[shokri2019, Figure 6]: how many training records are among the k records that explain their own prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leakscope.core.estimate import Estimate
from leakscope.papers import panels, shokri
from leakscope.papers.reproduction import Reproduction, Work, compare
from leakscope.papers.shokri import CLOSE, LEVELS, InfluenceCase

ID = "shokri-fig6"
TITLE = "Training records that reveal themselves, by number k of records shown"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, Figure 6 and first rows of Table 2",
    "statement": "A quarter of each data set is revealed for k = 5, two thirds of the hospital data; 10 % of Adult for k = 1.",
    "numbers": "k = 1, 5, 10: Adult 10, 21, 28 %; hospital 33, 63, 75 %; Dog vs. Fish 16, 24, 28 %.",
}
FULL = shokri.FULL
QUICK = shokri.QUICK | {"hospital_weights": (1.0, 0.1)}


def run(work: Work, **drawn: Any) -> Reproduction:
    """Count the self-revealing records of every draw."""
    found = shokri.cases(**drawn)
    measured = list(map(shokri.shares, found, shokri.over_draws(work, found, shokri.revealed)))
    names = [f"k = {k}" for k in LEVELS]
    figure = panels.bars(
        TITLE,
        ("Data set", "Training records revealed (%)"),
        [case.name for case in found],
        {name: [values[place] for values in measured] for place, name in enumerate(names)},
        paper={name: [case.stated(place) for case in found] for place, name in enumerate(names)},
    )
    return work.result(
        settings=shokri.settings(found, k=LEVELS),
        columns=shokri.columns("k", "revealed", "paper"),
        rows=[
            case.row(k, values[place], case.stated(place))
            for case, values in zip(found, measured, strict=True)
            for place, k in enumerate(LEVELS)
        ],
        compared=[
            compare(f"{case.name}, k = {k}", values[place], stated, CLOSE)
            for case, values in zip(found, measured, strict=True)
            for place, k in enumerate(LEVELS)
            if case.penalty == 1 and (stated := case.stated(place)) is not None
        ],
        notes=_findings(found, measured),
        panels=[figure],
    )


def _findings(found: Sequence[InfluenceCase], measured: Sequence[Sequence[Estimate]]) -> list[str]:
    """Which weight of the penalty comes nearest to the paper, and what the substitute gives."""
    paper = [[number for place in range(len(LEVELS)) if (number := case.stated(place)) is not None] for case in found]
    stand_ins = [
        f"{case.name} is a substitute and is not compared: {'/'.join(f'{value.value:.0f}' for value in values)} %."
        for case, values in zip(found, measured, strict=True)
        if case.source.stands_in
    ]
    return shokri.nearest_weight(found, measured, paper) + stand_ins
