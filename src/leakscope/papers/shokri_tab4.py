"""[shokri2019, Table 4]: the influence graph, whose edges lead from each record to those that explain it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leakscope.core.estimate import Estimate
from leakscope.papers import panels, shokri
from leakscope.papers.reproduction import Reproduction, Work, compare
from leakscope.papers.shokri import InfluenceCase, Key, Study
from leakscope.releases.record_explanations import RecordExplanation, influence_graph

ID = "shokri-tab4"
TITLE = "The influence graph: strongly connected components and in-degrees"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, Table 4 and section 5.3.3",
    "statement": (
        "Influence graphs are fragmented: many components, most of them single records, and one larger; many records have "
        "in-degree 0 and can't be recovered by traversal (k = 5)."
    ),
    "numbers": (
        "Components, single ones, largest, largest in-degree, in-degree 0: Adult 1742, 1701, 167, 391, 1568; hospital 1448, "
        "1333, 228, 287, 727; Dog vs. Fish 1709, 1679, 50, 1069, 1364."
    ),
}
FULL = shokri.FULL | {"k": 5}
QUICK = shokri.QUICK | {"k": 5, "hospital_weights": (1.0, 0.1)}

MEASURES = ("components", "single records", "largest component", "largest in-degree", "in-degree 0")
TABLE_4: dict[Key, tuple[int, ...]] = {
    "adult": (1742, 1701, 167, 391, 1568),
    "hospital": (1448, 1333, 228, 287, 727),
    "pictures": (1709, 1679, 50, 1069, 1364),
}
CLOSE = 0.05  # share of all records within which a count agrees


def run(work: Work, k: int, **drawn: Any) -> Reproduction:
    """Build the graph of every draw."""
    found = shokri.cases(**drawn)

    def count(drawn: Study) -> list[int]:
        graph = influence_graph(drawn.loo, drawn.X, RecordExplanation(k=k))
        sizes, degrees = graph.component_sizes, graph.in_degrees
        single, unreached = int(np.sum(sizes == 1)), int(np.sum(degrees == 0))
        return [len(sizes), single, int(sizes.max()), int(degrees.max()), unreached]

    answers = shokri.over_draws(work, found, count)
    tables = [
        [shokri.mean_count(column, case.size) for column in zip(*drawn, strict=True)]
        for case, drawn in zip(found, answers, strict=True)
    ]
    nothing = [None] * len(MEASURES)
    paper = [TABLE_4[case.source.key] if case.is_paper and k == 5 else nothing for case in found]
    figure = panels.bars(
        TITLE,
        (f"Measure of the graph, k = {k}", "Records or components"),
        [name.capitalize() for name in MEASURES],
        {case.name: values for case, values in zip(found, tables, strict=True)},
        paper={case.name: row for case, row in zip(found, paper, strict=True)},
    )
    return work.result(
        settings=shokri.settings(found, k=k),
        columns=shokri.columns("measure", "records", "paper"),
        rows=[
            case.row(name, value, stated)
            for case, values, row in zip(found, tables, paper, strict=True)
            for name, value, stated in zip(MEASURES, values, row, strict=True)
        ],
        compared=[
            compare(f"{case.name}, {name}", value, stated, CLOSE * case.size)
            for case, values, row in zip(found, tables, paper, strict=True)
            for name, value, stated in zip(MEASURES, values, row, strict=True)
            if stated is not None and case.penalty == 1
        ],
        notes=[
            *shokri.nearest_weight(found, tables, [[number for number in row if number is not None] for row in paper]),
            *(_shape(case, values) for case, values in zip(found, tables, strict=True)),
        ],
        panels=[figure],
    )


def _shape(case: InfluenceCase, values: Sequence[Estimate]) -> str:
    """State whether the graph is fragmented, as in the paper."""
    components, single, largest, _, unreached = values
    fragmented = single.low > components.value / 2 and components.low > case.size / 2
    alone = 100 * single.value / components.value
    most, never = (100 * count.value / case.size for count in (largest, unreached))
    return (
        f"{case.name}: {'fragmented' if fragmented else 'not fragmented'}, {alone:.0f} % of components are single records, "
        f"the largest has {most:.0f} % of all records, {never:.0f} % have in-degree 0."
    )
