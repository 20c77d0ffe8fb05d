"""[tople2020, Figure 4c]: attack accuracy against P* on true causal, learned causal and associational models.

"Learned causal" is, as in the paper, the table of the label given its true parents and two other columns, hand-crafted errors
of learning. The paper does not state which two; each draw takes two at random. Hill climbing itself also runs on the first
training sample (`causal.climbing`); the paper states that it finds the true parents. Data do not distinguish a parent of the
label from a child where no collider orients the arc, so it runs a second time with the arcs out of the label forbidden.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakscope.core.result import Claim
from leakscope.papers import tople
from leakscope.papers.reproduction import Cell, Reproduction, Work, exact, statement
from leakscope.papers.tople import NETWORK, SORTED, TABLE, TREE, Attempt, Budget, DrawPlan, Draws, Sampled
from leakscope.papers.tople_findings import (
    ATTACK_COLUMNS,
    attack_bars,
    attack_result,
    attack_rows,
    separations,
    title_of,
    within,
)

ID = "tople-fig4c"
TITLE = "Four networks: attack accuracy against P* on true causal, learned causal and network models"
PAPER = {
    "source": "Tople, Sharma and Nori 2020, section 4.1 and Figure 4c",
    "statement": (
        "Hill climbing gives the true parents. With two non-causal features among the parents the attack risk rises, and stays "
        "below that of the network."
    ),
    "numbers": tople.NO_NUMBERS,
}
FULL = tople.FULL | {"networks": tople.FOUR, "climbed": 20_000}
QUICK = tople.QUICK | {"networks": ("child", "sachs"), "climbed": 600}

WRONG = 2  # columns in addition to the parents
LEARNED = "learned causal"
KINDS = (TABLE, LEARNED, NETWORK)
ON_SHIFTED = Attempt("P*", SORTED)
TRIALS = (ON_SHIFTED, Attempt("P*", TREE))


def run(work: Work, networks: Sequence[str], size: int, climbed: int, draws: int, **effort: int) -> Reproduction:
    """Attack the three kinds of model on each network, and climb."""
    plans = [DrawPlan(key, size, _kinds, dict.fromkeys(KINDS, TRIALS)) for key in networks]
    points = tople.over_draws(work, plans, draws, Budget(**effort))
    counts = [
        [_true_parents(point, climbed, work.seed, no_children) for no_children in (False, True)] for point in points
    ]
    rows: list[list[Cell]] = [[*row, None] for row in attack_rows(points)]
    for point, found in zip(points, counts, strict=True):
        for name, count in zip(("hill climbing", "hill climbing, label without children"), found, strict=True):
            rows.append([title_of(point), size, name, *[None] * (len(ATTACK_COLUMNS) - 4), draws, count])
    return attack_result(
        work,
        points,
        columns=[*ATTACK_COLUMNS, "true_parents"],
        rows=rows,
        statements=_findings(points, counts, draws),
        notes=separations(points, ON_SHIFTED),
        panels=[attack_bars(TITLE, points, ON_SHIFTED, KINDS, "Attack accuracy against P*", blind=False)],
    )


def _kinds(drawn: Sampled, effort: Budget) -> list[object]:
    others = [column for column in range(len(drawn.columns)) if column not in drawn.parents]
    wrong = np.random.default_rng(drawn.choices).choice(others, WRONG, replace=False)
    return [drawn.table(), drawn.table(wrong.tolist(), LEARNED), drawn.network(effort.steps)]


def _true_parents(point: Draws, rows: int, seed: int, no_children: bool) -> int:
    """In how many draws hill climbing gives the label its true parents."""
    from leakscope.causal import learned_parents

    hits = 0
    for draw in range(len(point.answers)):
        drawn = tople.draw_data(point.plan.network, point.plan.size, [], draw, seed)
        sample = drawn.samples[0]
        codes = np.column_stack([sample.X[:rows], sample.y[:rows]])
        found = learned_parents(
            codes, (*drawn.columns, drawn.label), (*drawn.levels, len(drawn.classes)), drawn.label, no_children=no_children
        )  # fmt: skip
        hits += set(found) == {drawn.columns[column] for column in drawn.parents}
    return hits


def _findings(points: Sequence[Draws], counts: Sequence[Sequence[int]], draws: int) -> list[Claim]:
    climbed = {
        f"{title_of(point)}, draws with the true parents, {how}": exact(count)
        for point, found in zip(points, counts, strict=True)
        for how, count in zip(("free", "label without children"), found, strict=True)
    }
    pairs = {"learned above true": (LEARNED, TABLE), "network above learned": (NETWORK, LEARNED)}
    return [
        statement(f"hill climbing gives the true parents in {draws} draws", all(known == draws for _, known in counts), climbed),
        *(
            within(name, [(title_of(point), point.further(*pair, ON_SHIFTED)) for point in points], low=0.0)
            for name, pair in pairs.items()
        ),
    ]  # fmt: skip
