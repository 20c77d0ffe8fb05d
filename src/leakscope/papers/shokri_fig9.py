"""[shokri2019, Figure 9]: static queries, drawn uniformly, from the marginals, or from the true distribution."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from leakscope.attacks import static_queries
from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim
from leakscope.papers import panels, shokri
from leakscope.papers.reproduction import Reproduction, Work, compare, statement
from leakscope.papers.shokri import LEVELS, InfluenceCase, Key, Study
from leakscope.papers.trends import between, every, less
from leakscope.releases.oracle import Oracle
from leakscope.releases.record_explanations import RecordExplanation

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
FULL = shokri.FULL | {"queries": (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000), "hospital_weights": (1.0,)}
QUICK = shokri.QUICK | {"queries": (1, 10, 50, 100)}

UNIFORM: dict[Key, float] = {"hospital": 3.0}  # about so many percent after 1,000 uniform queries, k = 10
FEWER: dict[Key, float] = {"pictures": 2.0}  # less than that
ABOUT = 1.0  # points
Kind = Literal["uniform", "marginal", "records"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WORDS = {"uniform": "uniform", "marginal": "marginals", "records": "true distribution"}
Table = list[list[list[Estimate]]]  # by kind, k and number of queries


def run(work: Work, queries: Sequence[int], **drawn: Any) -> Reproduction:
    """Query a fresh oracle of every draw for each kind of queries and each k."""
    found, seed = shokri.cases(**drawn), work.seed

    def reveal(drawn: Study) -> Floats:
        return np.array([[_revealed(drawn, kind, k, queries, seed) for k in LEVELS] for kind in KINDS])

    answers = shokri.over_draws(work, found, reveal)
    tables = [
        [
            [[shokri.mean_share(draws) for draws in level] for level in kind]
            for kind in np.moveaxis(np.array(drawn), 0, -1)
        ]
        for drawn in answers
    ]
    return work.result(
        settings=shokri.settings(found, queries=queries, k=LEVELS),
        columns=shokri.columns("kind", "k", "queries", "revealed"),
        rows=[
            case.row(kind, k, count, table[place][level][step], note=_note(case, kind, count))
            for case, table in zip(found, tables, strict=True)
            for place, kind in enumerate(KINDS)
            for level, k in enumerate(LEVELS)
            for step, count in enumerate(queries)
        ],
        statements=[part for case, table in zip(found, tables, strict=True) for part in _statements(case, table, queries)],
        compared=[
            compare(f"{case.name}, uniform (%)", table[0][-1][-1], UNIFORM[case.source.key], ABOUT)
            for case, table in zip(found, tables, strict=True)
            if case.is_paper and queries[-1] == 1000 and case.source.key in UNIFORM
        ],
        panels=[_figure(case, table, queries) for case, table in zip(found, tables, strict=True)],
    )  # fmt: skip


def _revealed(drawn: Study, kind: Kind, k: int, queries: Sequence[int], seed: int) -> Floats:
    """Share of training records revealed after each number of queries."""
    oracle = Oracle.of(drawn.loo, drawn.X, drawn.y, RecordExplanation(k=k))
    rng = np.random.default_rng([seed, drawn.draw])  # each k is asked about the same points
    attack = static_queries(kind, max(queries))
    return attack.run(oracle, shokri.prior(drawn), rng).after(queries) / len(drawn.X)


def _note(case: InfluenceCase, kind: str, count: int) -> str | None:
    held = min(case.size, len(case.source.y) - case.size)  # records that were not trained on
    few = f"the attacker has only {held:,} records to ask about" if kind == "records" and count > held else ""
    return "; ".join(filter(None, [case.source.stands_in, few])) or None


def _statements(case: InfluenceCase, table: Table, queries: Sequence[int]) -> list[Claim]:
    """For the largest k and number of queries: each kind above the one before, and saturation."""
    last = [rows[-1][-1] for rows in table]
    shares = {f"{WORDS[kind]} (%)": value for kind, value in zip(KINDS, last, strict=True)}
    rising = every([less(before, after) for before, after in pairwise(last)])
    # the number saturates where a query of the last stretch reveals less than half of what one does before on average
    pairs = [(rows[-1][-2].value, rows[-1][-1].value) for rows in table]
    last_stretch = queries[-1] - queries[-2]
    slower = all((after - before) / last_stretch < before / queries[-2] / 2 for before, after in pairs)
    where = f"{case.name}, {queries[-1]:,} queries, k = {LEVELS[-1]}"
    found = [
        statement(f"{where}: better queries reveal more", rising, shares),
        statement(f"{where}: the number revealed saturates", slower),
    ]
    bound = FEWER.get(case.source.key) if case.is_paper and queries[-1] == 1000 else None
    if bound is not None:
        said = f"{where}: uniform queries reveal less than {bound:g} %"
        found.append(statement(said, between(last[0], high=bound), {"uniform (%)": last[0]}))
    return found


def _figure(case: InfluenceCase, table: Table, queries: Sequence[int]) -> panels.Panel:
    return panels.lines(
        f"{case.name}, k = {LEVELS[-1]}",
        ("Queries", "Training records revealed (%)"),
        {WORDS[kind]: list(zip(queries, rows[-1], strict=True)) for kind, rows in zip(KINDS, table, strict=True)},
    )
