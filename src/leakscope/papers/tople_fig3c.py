"""[tople2020, Figure 3c]: attack accuracy on Child/XrayReport at 100K records, by how far P* is from P.

Uniform draws from [0, noise] are added to every probability but those of the label given its parents, and rows divided by
their sum. Within a draw, P* moves in one direction as the noise grows, and the models are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.result import Claim
from leakscope.papers import tople
from leakscope.papers.reproduction import Cell, Reproduction, Work
from leakscope.papers.tople import BOUNDED, NETWORK, SORTED, TABLE, Attempt, Budget, DrawPlan, Draws, Law
from leakscope.papers.tople_findings import (
    ATTACK_COLUMNS,
    attack_lines,
    attack_result,
    attack_rows,
    separation,
    short,
    within,
)
from leakscope.papers.trends import follows

ID = "tople-fig3c"
TITLE = "Child: attack accuracy by noise on the tables of P*"
PAPER = {
    "source": "Tople, Sharma and Nori 2020, section 4.1 and Figure 3c",
    "statement": (
        "The attack on the network rises with the noise, sharply even for little noise; on the causal model it stays close "
        "to 0.5."
    ),
    "numbers": tople.NO_NUMBERS,
}
FULL = tople.FULL | {"noises": (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0), "draws": 4}
QUICK = tople.QUICK | {"noises": (0.0, 0.5, 2.0)}

LITTLE = 0.25  # noise up to here is little
CLOSE = 0.05  # to one half


def run(work: Work, noises: Sequence[float], size: int, draws: int, **effort: int) -> Reproduction:
    """Attack the models of each draw with non-members of every noise."""
    laws = {noise: Law(f"noise {noise:g}", float(noise)) for noise in sorted(set(noises))}
    trials = tuple(Attempt(law.name, attack) for law in laws.values() for attack in (SORTED, BOUNDED))
    plan = DrawPlan("child", size, tople.table_and_network, {TABLE: trials, NETWORK: trials}, tuple(laws.values()))
    (point,) = tople.over_draws(work, [plan], draws, Budget(**effort))
    most = list(laws.values())[-1].name
    rows: list[list[Cell]] = [
        [float(str(row[3]).removeprefix("noise ")), *row[1:3], *row[4:]] for row in attack_rows([point])
    ]
    return attack_result(
        work,
        [point],
        columns=["noise", *ATTACK_COLUMNS[1:3], *ATTACK_COLUMNS[4:]],
        rows=rows,
        statements=_findings(point, laws),
        notes=[separation(point, NETWORK, Attempt(most, SORTED), short(size))],
        panels=[
            attack_lines(
                TITLE, [(noise, point, Attempt(law.name, SORTED)) for noise, law in laws.items()], "Noise", log=""
            )
        ],
    )


def _findings(point: Draws, laws: dict[float, Law]) -> list[Claim]:
    network, table = (
        [(law.name, point.attack(kind, Attempt(law.name, SORTED))) for law in laws.values()]
        for kind in (NETWORK, TABLE)
    )
    little = [pair for pair, noise in zip(network, laws, strict=True) if 0 < noise <= LITTLE]
    higher = [
        (law.name, point.further(NETWORK, TABLE, Attempt(law.name, SORTED))) for noise, law in laws.items() if noise
    ]
    sharply = [within("network rises sharply with little noise", little[-1:], low=0.5 + CLOSE)] if little else []
    return [
        follows("network", "rises", network),
        *sharply,
        within("causal model stays at one half", table, 0.5 - CLOSE, 0.5 + CLOSE),
        *([within("network above causal", higher, low=0.0)] if higher else []),
    ]
