"""[shokri2019, Figure 10 and section 5.3.3]: what a traversal of the influence graph reveals, and after how many queries.

``queries`` counts until every revealed record was asked about, when the attacker knows that no new record will be revealed;
``needed`` until the last new record was revealed. Both are compared with the greedy attacker who knows the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim
from leakscope.papers import panels, shokri
from leakscope.papers.reproduction import Reproduction, Work, statement
from leakscope.papers.shokri import InfluenceCase, Study
from leakscope.papers.trends import between, every, less
from leakscope.releases.record_explanations import InfluenceGraph, RecordExplanation, influence_graph

ID = "shokri-fig10"
TITLE = "Training records revealed by traversal of the influence graph from a random record"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, Figure 10 and section 5.3.3",
    "statement": (
        "A traversal recovers only slightly more than the largest component; the order makes no difference, and queries are "
        "roughly twice those of a greedy attacker who knows the graph (k = 5)."
    ),
    "numbers": "Largest component: Adult 167 and hospital 228 of 2,000 records, Dog vs. Fish 50 of 1,800; queries about 2 times.",
}
FULL = shokri.FULL | {"k": 5, "hospital_weights": (1.0, 0.1), "starts": 20}
QUICK = shokri.QUICK | {"k": 5, "starts": 5}

ORDERS: tuple[Literal["breadth-first", "depth-first", "random"], ...] = ("breadth-first", "depth-first", "random")
SLIGHTLY = 1.5  # how many times the largest component the median traversal may reveal
TWICE = (1.5, 3.0)  # what counts as roughly twice


class Walks(NamedTuple):
    """One draw: share revealed from each start, share in the largest component, and queries as multiples of greedy."""

    shares: Floats
    largest: float
    queries: list[float]
    needed: list[float]


def run(work: Work, k: int, starts: int, **drawn: Any) -> Reproduction:
    """Traverse the graph of every draw from every record, and count queries from ``starts`` of them."""
    found, seed = shokri.cases(**drawn), work.seed

    def walk(drawn: Study) -> Walks:
        graph = influence_graph(drawn.loo, drawn.X, RecordExplanation(k=k))
        chosen = np.random.default_rng([seed, drawn.draw]).choice(len(graph), min(starts, len(graph)), replace=False)
        queries, needed = _queries(graph, chosen.tolist(), seed)
        return Walks(graph.reachable / len(graph), float(graph.component_sizes.max()) / len(graph), queries, needed)

    answers = shokri.over_draws(work, found, walk)
    tables = [_row(walks) for walks in answers]
    multiples = [f"{count} {order}" for count in ("queries", "needed") for order in ORDERS]
    names = ["revealed", "median", "largest", *(name.replace(" ", "_").replace("-", "_") for name in multiples)]
    return work.result(
        settings=shokri.settings(found, k=k, starts=starts, slightly=SLIGHTLY, twice=TWICE),
        columns=shokri.columns(*names),
        rows=[case.row(*values) for case, values in zip(found, tables, strict=True)],
        statements=[part for case, values in zip(found, tables, strict=True) for part in _statements(case, values)],
        panels=[_figure(case, walks) for case, walks in zip(found, answers, strict=True)],
    )  # fmt: skip


def _queries(graph: InfluenceGraph, starts: Sequence[int], seed: int) -> tuple[list[float], list[float]]:
    """Queries of each order, all and needed ones, as multiples of the greedy attacker's, over all starts."""
    greedy = sum(graph.greedy(start) for start in starts)
    by_order = [[graph.traversal(start, order, seed=seed) for start in starts] for order in ORDERS]
    every_query = [sum(walk.queries for walk in walks) / greedy for walks in by_order]
    return every_query, [sum(walk.queries_needed for walk in walks) / greedy for walks in by_order]


def _row(walks: Sequence[Walks]) -> list[Estimate]:
    """Mean and median share revealed, share in the largest component, and the multiples: means over draws."""
    return [
        shokri.mean_share([float(np.mean(walk.shares)) for walk in walks]),
        shokri.mean_share([float(np.median(walk.shares)) for walk in walks]),
        shokri.mean_share([walk.largest for walk in walks]),
        *(shokri.mean_count(column) for column in zip(*(walk.queries + walk.needed for walk in walks), strict=True)),
    ]


def _statements(case: InfluenceCase, values: Sequence[Estimate]) -> list[Claim]:
    """Slightly more than the largest component, orders alike, and roughly twice the greedy queries."""
    _, median, largest, *multiples = values
    queries = dict(zip(ORDERS, multiples[: len(ORDERS)], strict=True))
    alike = max(value.low for value in queries.values()) <= min(value.high for value in queries.values())
    twice = every([between(value, *TWICE) for value in queries.values()])
    slight = less(median, largest.mapped(lambda share: SLIGHTLY * share))
    return [
        statement(
            f"{case.name}: a traversal reveals slightly more than the largest component",
            slight,
            {"median traversal (%)": median, "largest component (%)": largest},
        ),
        statement(
            f"{case.name}: the order makes no difference",
            alike,
            {f"{order}, times greedy": value for order, value in queries.items()},
        ),
        statement(f"{case.name}: queries are roughly twice those of a greedy attacker", twice),
    ]


def _figure(case: InfluenceCase, walks: Sequence[Walks]) -> panels.Panel:
    shares = {f"{case.draws} draws": 100 * np.concatenate([walk.shares for walk in walks])}
    largest = 100 * float(np.mean([walk.largest for walk in walks]))
    title, x_label = f"{case.name} (largest component: {largest:.1f} %)", "Training records revealed (%)"
    return panels.histograms(title, (x_label, "Starts"), shares, log_x=False)
