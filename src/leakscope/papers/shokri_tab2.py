"""[shokri2019, Table 2]: records that reveal themselves, by age and race, and by kind of animal.

A group's share is taken over all draws, and its interval counts a record that is drawn several times once and allows for
shares that vary between draws (`shokri.pooled_share`). Groups of one set are compared with the whole set of the same
draws by whether their intervals are apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from leakscope.core.arrays import Indices
from leakscope.core.estimate import Estimate
from leakscope.papers import panels, shokri
from leakscope.papers.reproduction import Cell, Reproduction, Work, compare
from leakscope.papers.shokri import CLOSE, LEVELS, InfluenceCase
from leakscope.papers.trends import less

ID = "shokri-tab2"
TITLE = "Training records that reveal themselves, by group"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, Table 2",
    "statement": "Minorities and outliers are revealed more often; people under 20 in Adult hardly at all.",
    "numbers": (
        "k = 1, 5, 10: Adult whole set 10, 21, 28 %, age 10-20 0, 1, 1 %, Asian-Pac-Islander 21, 40, 48 %; hospital whole set "
        "33, 63, 75 %, age 0-10 61, 100, 100 %; the others in the table."
    ),
}
FULL = shokri.FULL | {"hospital_weights": (1.0, 0.1)}
QUICK = shokri.QUICK


class RevealedGroup(NamedTuple):
    """A group of a data set over all draws: how much of the data it is, and its share revealed for each k."""

    name: str
    percent: float
    records: int
    revealed: list[Estimate | None]


def run(work: Work, **drawn: Any) -> Reproduction:
    """Count the self-revealing records of every group in every draw."""
    found = shokri.cases(**drawn)
    answers = shokri.over_draws(work, found, lambda drawn: (drawn.rows, shokri.own_rank(drawn)))
    tables = [_groups(case, drawn) for case, drawn in zip(found, answers, strict=True)]
    compared = [
        compare(f"{case.name}, {group.name}, k = {k}", value, stated, CLOSE)
        for case, groups in zip(found, tables, strict=True)
        for group in groups
        for place, k in enumerate(LEVELS)
        if case.penalty == 1
        and (value := group.revealed[place])
        and (stated := case.stated(place, group.name)) is not None
    ]
    return work.result(
        settings=shokri.settings(found, k=LEVELS, interval=shokri.pooled_share.__name__),
        columns=["data", "penalty", "group", "percent", "records", *(f"k{k}{end}" for k in LEVELS for end in ("", "_paper")),
                 "note"],
        rows=[row for case, groups in zip(found, tables, strict=True) for row in _rows(case, groups)],
        compared=compared,
        notes=[_minorities(case, groups) for case, groups in zip(found, tables, strict=True)],
        panels=[_figure(*pair) for pair in zip(found, tables, strict=True)],
    )  # fmt: skip


def _groups(case: InfluenceCase, drawn: Sequence[tuple[Indices, Indices]]) -> list[RevealedGroup]:
    groups = []
    for name, member in case.source.groups.items():
        chosen = [(rows[member[rows]], ranks[member[rows]]) for rows, ranks in drawn]
        sizes = [len(rows) for rows, _ in chosen]
        distinct = len(np.unique(np.concatenate([rows for rows, _ in chosen])))
        shares = [shokri.pooled_share([int(np.sum(ranks < k)) for _, ranks in chosen], sizes, distinct) for k in LEVELS]
        groups.append(RevealedGroup(name, 100 * sum(sizes) / (len(drawn) * case.size), distinct, shares))
    return groups


def _rows(case: InfluenceCase, groups: Sequence[RevealedGroup]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for group in groups:
        cells: list[Cell] = [case.source.name, case.penalty, group.name, group.percent, group.records]
        for place, value in enumerate(group.revealed):
            cells += [value, case.stated(place, group.name)]
        note = case.source.stands_in or ("" if group.records else "no record of this group was drawn")
        rows.append([*cells, note or None])
    return rows


def _minorities(case: InfluenceCase, groups: Sequence[RevealedGroup]) -> str:
    """Which groups are revealed more or less often than the whole set, for k = 5."""
    shares = {group.name: group.revealed[LEVELS.index(5)] for group in groups}
    whole = shares[groups[0].name]
    above = {name: less(whole, share) for name, share in shares.items() if whole is not None and share is not None}
    sides = {"more": True, "less": False}
    ways = {way: [name for name, side in above.items() if side is up] for way, up in sides.items()}
    said = " and ".join(f"{way} often: {', '.join(names)}" for way, names in ways.items() if names)
    return f"{case.name}, k = 5: {f'revealed significantly {said}' if said else 'no group differs significantly'}."


def _figure(case: InfluenceCase, groups: Sequence[RevealedGroup]) -> panels.Panel:
    values = {f"k = {k}": [group.revealed[place] for group in groups] for place, k in enumerate(LEVELS)}
    paper = {f"k = {k}": [case.stated(place, group.name) for group in groups] for place, k in enumerate(LEVELS)}
    names, y_label = [group.name for group in groups], "Training records revealed (%)"
    return panels.bars(case.name, ("Group", y_label), names, values, paper=paper)
