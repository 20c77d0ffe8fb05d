"""[shokri2019, Figure 9]: static queries, drawn uniformly, from the marginals, or from the true distribution."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import get_args

import numpy as np

from leakscope import plots
from leakscope.attacks.reconstruction_static import Kind, static_queries
from leakscope.core.estimate import Estimate
from leakscope.influence import RecordExplanation
from leakscope.oracle import Oracle
from leakscope.papers import shokri
from leakscope.papers.reproduction import Reproduction, ends
from leakscope.papers.shokri import LEVELS, Case, Compared, Floats, Key, Study, shown
from leakscope.worlds import Progress

ID = "shokri-fig9"
TITLE = "Training records revealed by static queries"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, Figure 9 and section 5.3.1",
    "statement": (
        "Uniform queries reveal little, marginal ones far more, and records of the true distribution significant portions; more "
        "queries soon reveal nothing new."
    ),
    "numbers": "k = 10, 1,000 uniform queries: about 3 % of the hospital data, less than 2 % of Dog vs. Fish.",
}
FULL = {
    "queries": (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
    "size": 2000,
    "draws": 10,
    "picture_draws": 3,
    "hospital_weights": (1.0,),
}
QUICK = {"queries": (1, 10, 50, 100), "size": 200, "draws": 2, "picture_draws": 2, "hospital_weights": (1.0,)}

UNIFORM: dict[Key, float] = {"hospital": 3.0}  # about so many percent after 1,000 uniform queries, k = 10
FEWER: dict[Key, float] = {"pictures": 2.0}  # less than that
ABOUT = 1.0  # points
KINDS: tuple[Kind, ...] = get_args(Kind)
WORDS = {"uniform": "uniform", "marginal": "marginals", "records": "true distribution"}
Table = list[list[list[Estimate]]]  # by kind, k and number of queries


def run(
    queries: Sequence[int],
    size: int,
    draws: int,
    picture_draws: int,
    hospital_weights: Sequence[float],
    seed: int = 0,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Reproduction:
    """Ask a fresh oracle of every draw for each kind of queries and each k."""
    found = shokri.cases(size, draws, picture_draws, hospital_weights)

    def reveal(drawn: Study) -> Floats:
        return np.array([[_revealed(drawn, kind, k, queries, seed) for k in LEVELS] for kind in KINDS])

    answers = shokri.over_draws(ID, found, reveal, seed=seed, progress=progress, workers=workers)
    tables = [_means(np.array(drawn)) for drawn in answers]
    words = _verdict(found, tables, queries)
    return Reproduction(
        id=ID,
        title=TITLE,
        settings=shokri.settings(found, seed, queries=list(queries), k=list(LEVELS)),
        columns=["data", "l2", "kind", "k", "queries", "revealed", "revealed_low", "revealed_high", "size", "draws", "note"],
        rows=[
            [case.source.name, case.l2, kind, k, count, *ends(table[place][level][step]), case.size, case.draws,
             _note(case, kind, count)]
            for case, table in zip(found, tables, strict=True)
            for place, kind in enumerate(KINDS)
            for level, k in enumerate(LEVELS)
            for step, count in enumerate(queries)
        ],
        paper=PAPER,
        verdict=words,
        svg=plots.stacked(
            TITLE, words, [_figure(case, table, queries) for case, table in zip(found, tables, strict=True)]
        ),
    )  # fmt: skip


def _revealed(drawn: Study, kind: Kind, k: int, queries: Sequence[int], seed: int) -> Floats:
    """Share of training records that have fallen after each number of queries."""
    oracle = Oracle.of(drawn.loo, drawn.X, drawn.y, RecordExplanation(k=k))
    rng = np.random.default_rng([seed, drawn.draw])  # each k is asked about the same points
    attack = static_queries(kind, max(queries))
    return attack.run(oracle, shokri.prior(drawn), rng).after(queries) / len(drawn.X)


def _means(shares: Floats) -> Table:
    """Means over draws of shares (draws, kinds, k, numbers of queries)."""
    _, kinds, levels, steps = shares.shape
    return [
        [[shokri.mean_share(shares[:, kind, level, step].tolist()) for step in range(steps)] for level in range(levels)]
        for kind in range(kinds)
    ]


def _held(case: Case) -> int:
    """How many records the attacker has that were not trained on."""
    return min(case.size, len(case.source.y) - case.size)


def _note(case: Case, kind: str, count: int) -> str | None:
    notes = [case.source.stands_in] if case.source.stands_in else []
    if kind == "records" and count > _held(case):
        notes.append(f"the attacker has only {_held(case):,} records to ask about")
    return "; ".join(notes) or None


def _verdict(found: Sequence[Case], tables: Sequence[Table], queries: Sequence[int]) -> str:
    """Per set, for the largest k and number of queries: each kind above the one before, and saturation."""
    agree, words, compared = [], [], []
    for case, table in zip(found, tables, strict=True):
        last = [rows[-1][-1] for rows in table]
        rising = all(after.low > before.high for before, after in pairwise(last))
        slower = [_saturates(rows[-1], queries) for rows in table]
        agree += [rising, all(slower)]
        shares = ", ".join(f"{WORDS[kind]} {shown(value)} %" for kind, value in zip(KINDS, last, strict=True))
        words.append(
            f"{case.name} after {queries[-1]:,} queries with k = {LEVELS[-1]}: {shares}, {'each' if rising else 'not each'} above "
            f"the one before, {'saturating' if all(slower) else 'not all saturating'}"
        )
        is_paper = case.is_paper and queries[-1] == 1000
        stated, bound = (table.get(case.source.key) if is_paper else None for table in (UNIFORM, FEWER))
        if stated is not None:
            compared.append(Compared(f"{case.name}, uniform:", last[0], stated, ABOUT))
        if bound is not None:
            agree.append(last[0].high < bound)
            words.append(f"{case.name}, uniform: {'' if agree[-1] else 'not surely '}less than {bound:g} %")
    head = "agrees" if all(agree) else "agrees in part" if any(agree) else "differs"
    said = f"{head}, {sum(agree)} of {len(agree)} statements hold: " + "; ".join(words)
    return said if not compared else f"{said}; {shokri.verdict(compared, f'within {ABOUT:g} point')}"


def _saturates(shares: Sequence[Estimate], queries: Sequence[int]) -> bool:
    """Whether a query of the last stretch reveals less than half of what one does on average before."""
    before, after = shares[-2].value, shares[-1].value
    return (after - before) / (queries[-1] - queries[-2]) < before / queries[-2] / 2


def _figure(case: Case, table: Table, queries: Sequence[int]) -> str:
    return plots.lines(
        f"{case.name}, k = {LEVELS[-1]}",
        case.name,
        {WORDS[kind]: list(zip(queries, rows[-1], strict=True)) for kind, rows in zip(KINDS, table, strict=True)},
        x_label="Queries",
        y_label="Training records revealed (%)",
        logarithmic_y=False,
    )
