"""[shokri2019, Table 3]: records recovered by subspace reduction, Algorithm 1.

The paper lists one record per round, the one whose influence is then made zero (``zeroed``), and that of the last round,
which can't be. The queries of a round reveal further records: ``recovered`` counts all of them. The limit on
the rounds is not the number of columns but the dimension that training records span, less where columns depend on each
other or never vary: each record made zero takes one dimension of the ``rank`` of the centred training records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from leakscope.attacks import subspace_reduction
from leakscope.core.estimate import Estimate
from leakscope.core.wording import write
from leakscope.papers import panels, shokri
from leakscope.papers.reproduction import Reproduction, Work, compare
from leakscope.papers.shokri import InfluenceCase, Key, Study
from leakscope.releases.oracle import Oracle
from leakscope.releases.record_explanations import RecordExplanation

ID = "shokri-tab3"
TITLE = "Training records recovered by subspace reduction (Algorithm 1)"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, Table 3 and Algorithm 1",
    "statement": "Nearly all records of a high-dimensional set are recovered, and of the other sets about as many as they have columns.",
    "numbers": "Dog vs. Fish 1790 of 1800 (2048 columns), Adult 91.5 of 2000 (104), hospital 81.1 of 2000 (127).",
}
FULL = shokri.FULL | {"picture_draws": 1, "picture_dimensions": 1700, "hospital_weights": (1.0, 0.1)}
QUICK = shokri.QUICK | {"size": 100, "picture_dimensions": 110}

TABLE_3: dict[Key, float] = {"adult": 91.5, "hospital": 81.1, "pictures": 1790.0}
CLOSE = 5.0  # records within which a count agrees
NEARLY = 0.9  # share of a high-dimensional set that counts as nearly all


class SubspaceRow(NamedTuple):
    """Means over draws: records made zero, records recovered, rank + 1 of the training records, and queries."""

    zeroed: Estimate
    recovered: Estimate
    rank: Estimate
    queries: Estimate


def run(work: Work, picture_dimensions: int, **drawn: Any) -> Reproduction:
    """Attack an oracle of every draw with k = 1; pictures in a random subspace of ``picture_dimensions``, to save queries."""
    found, seed = shokri.cases(**drawn), work.seed

    def attack(drawn: Study) -> tuple[int, int, int, int]:
        pictures = drawn.case.source.key == "pictures"
        oracle = Oracle.of(drawn.loo, drawn.X, drawn.y, RecordExplanation(k=1))
        reduction = subspace_reduction(dimensions=min(picture_dimensions, oracle.features) if pictures else None)
        fell = reduction.run(oracle, shokri.prior(drawn), np.random.default_rng([seed, drawn.draw]))
        rank = int(np.linalg.matrix_rank(drawn.X - drawn.X.mean(axis=0)))
        return fell.notes["zeroed"], len(fell), rank + 1, fell.queries

    answers = shokri.over_draws(work, found, attack)
    rows = [_row(case, drawn) for case, drawn in zip(found, answers, strict=True)]
    figure = panels.bars(
        TITLE,
        ("Data set", "Training records"),
        [case.name for case in found],
        {
            "made zero, one per round as the paper counts": [row.zeroed for row in rows],
            "all recovered": [row.recovered for row in rows],
            "rank + 1 of the training records": [row.rank for row in rows],
        },
        paper={"made zero, one per round as the paper counts": [_stated(case) for case in found]},
        log_y=True,
    )
    return work.result(
        settings=shokri.settings(found, k=1, picture_dimensions=picture_dimensions),
        columns=shokri.columns("columns", *SubspaceRow._fields, "paper"),
        rows=[case.row(case.source.X.shape[1], *row, _stated(case)) for case, row in zip(found, rows, strict=True)],
        compared=[
            compare(f"{case.name}, records made zero", row.zeroed, stated, CLOSE)
            for case, row in zip(found, rows, strict=True)
            if (stated := _stated(case)) is not None and case.penalty == 1
        ],
        notes=[_note(case, row) for case, row in zip(found, rows, strict=True)],
        panels=[figure],
    )


def _row(case: InfluenceCase, drawn: Sequence[tuple[int, int, int, int]]) -> SubspaceRow:
    """Means over draws; at most all records can be recovered."""
    limits = (case.size, case.size, np.inf, np.inf)
    return SubspaceRow(*map(shokri.mean_count, zip(*drawn, strict=True), limits))


def _stated(case: InfluenceCase) -> float | None:
    return TABLE_3[case.source.key] if case.is_paper else None


def _note(case: InfluenceCase, row: SubspaceRow) -> str:
    """The rank that limits the count, and how much of a high-dimensional set is recovered."""
    share = row.recovered.value / case.size
    words = f"{case.name}: {write(row.zeroed)} records were made zero, rank + 1 is {write(row.rank)}, {100 * share:.1f} % of the records were recovered"
    if row.rank.value >= case.size:  # each record has a direction of its own
        words += f" ({'nearly' if share >= NEARLY else 'not nearly'} all)"
    return f"{words}, after {write(row.queries)} queries."
