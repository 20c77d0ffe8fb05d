"""[tople2020, Figure 3b]: attack accuracy on Child/XrayReport by size, with blind baseline, control and excess.

At every size the paper's attack, bounded loss, and a tree that also knows the label attack the causal table and the network,
against non-members of P and of P*. At the sizes for which the paper has numbers, all readings of the paper's attack run:
confidences sorted or unsorted, and attackers who learned from non-members of P*, of P, or of both. The closest reading is the
one whose accuracies are nearest to 0.8 for the network and at most 0.6 for the table at 50K, and to 0.5 for the table at
100K. At these sizes the network on the parents alone is attacked too.
"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.result import Claim
from leakscope.papers import tople
from leakscope.papers.reproduction import Reproduction, Work
from leakscope.papers.tople import ATTEMPTS, NETWORK, ON_PARENTS, SORTED, TABLE, UNSORTED, Attempt, DrawPlan, Draws
from leakscope.papers.tople_findings import attack_lines, attack_result, separation, short, within
from leakscope.papers.trends import Series, follows

ID = "tople-fig3b"
TITLE = "Child: attack accuracy against non-members of P and P*, by size of the data"
PAPER = {
    "source": "Tople, Sharma and Nori 2020, section 4.1 and Figure 3b",
    "statement": (
        "Against P the attack on the network is over 0.6 at small sizes and 0.5 from 10K on, on the causal model slightly above "
        "0.5 at small sizes. Against P* it is always higher on the network, 0.8 at 50K and rising with size; on the causal "
        "model below 0.6, and 0.5 over 100K."
    ),
    "numbers": tople.NO_NUMBERS,
}
FULL = {
    "sizes": (1000, 2000, 5000, 10_000, 50_000, 100_000, 1_000_000),
    "read_at": (1000, 50_000, 100_000),
    "steps": 10_000,
    "attack_steps": 5000,
    "judged": 6000,
    "draws": 3,
}
QUICK = {"sizes": (500, 1000), "read_at": (1000,), "steps": 60, "attack_steps": 20, "judged": 400, "draws": 2}

FIRST, LARGE = 1000, 10_000
CLOSE = 0.02  # to one half
ON_P, ON_SHIFTED = Attempt("P", SORTED), Attempt("P*", SORTED)
#: Other readings of the paper's attack.
READINGS = (
    Attempt("P*", UNSORTED),
    *(Attempt("P*", attack, laws) for attack in (SORTED, UNSORTED) for laws in ("P", "P and P*")),
)


def run(work: Work, sizes: Sequence[int], read_at: Sequence[int], draws: int, **effort: int) -> Reproduction:
    """Attack both kinds of model at every size."""
    points = tople.over_draws(work, [_plan(size, size in read_at) for size in sizes], draws, tople.Budget(**effort))
    shifted = max(points, key=lambda point: point.attack(NETWORK, ON_SHIFTED).value)
    return attack_result(
        work,
        points,
        statements=findings(points),
        notes=[separation(shifted, NETWORK, ON_SHIFTED, short(shifted.plan.size)), *_closest(points)],
        panels=[
            attack_lines(
                f"Non-members of {trial.law}",
                [(point.plan.size, point, trial) for point in points],
                "Records, of which 60 % train",
            )
            for trial in (ON_P, ON_SHIFTED)
        ],
    )


def _plan(size: int, all_readings: bool) -> DrawPlan:
    if not all_readings:
        return DrawPlan("child", size, tople.table_and_network, {TABLE: ATTEMPTS, NETWORK: ATTEMPTS})

    def kinds(drawn: tople.Sampled, effort: tople.Budget) -> list[object]:
        return [*tople.table_and_network(drawn, effort), drawn.network(effort.steps, on_parents=True)]

    trials = (*ATTEMPTS, Attempt("P", UNSORTED), *READINGS)
    return DrawPlan("child", size, kinds, {TABLE: trials, NETWORK: trials, ON_PARENTS: ATTEMPTS})


def findings(points: Sequence[Draws]) -> list[Claim]:
    """Decide the statements of the paper that these sizes can test, for its attack."""

    def curve(kind: str, trial: Attempt, least: int = 0, most: int | None = None) -> Series:
        chosen = [point for point in points if least <= point.plan.size <= (most or point.plan.size)]
        return [(short(point.plan.size), point.attack(kind, trial)) for point in chosen]

    higher = [(short(point.plan.size), point.further(NETWORK, TABLE, ON_SHIFTED)) for point in points]
    found = [
        ("network on P, small", curve(NETWORK, ON_P, most=FIRST), 0.6, 1.0),
        ("network on P, large", curve(NETWORK, ON_P, LARGE), 0.5 - CLOSE, 0.5 + CLOSE),
        ("causal on P, large", curve(TABLE, ON_P, LARGE), 0.5 - CLOSE, 0.5 + CLOSE),
        ("network on P*, 50K", curve(NETWORK, ON_SHIFTED, 50_000, 50_000), 0.75, 0.85),
        ("causal on P*, 50K", curve(TABLE, ON_SHIFTED, 50_000, 50_000), 0.0, 0.6),
        ("causal on P*, 100K", curve(TABLE, ON_SHIFTED, 100_000), 0.5 - CLOSE, 0.5 + CLOSE),
    ]
    return [
        *(within(name, series, low, high) for name, series, low, high in found if series),
        within("network above causal on P*", higher, low=0.0),
        follows("network on P*", "rises", curve(NETWORK, ON_SHIFTED)),
    ]


def _closest(points: Sequence[Draws]) -> list[str]:
    """Which reading of the paper's attack comes closest to what the text states of 50K and 100K."""
    at = {point.plan.size: point for point in points if (NETWORK, READINGS[0]) in point.answers[0].found}
    if not {50_000, 100_000} <= set(at):
        return []
    found = {}
    for trial in (ON_SHIFTED, *READINGS):
        network, table, later = (
            at[size].attack(kind, trial).value for size, kind in ((50_000, NETWORK), (50_000, TABLE), (100_000, TABLE))
        )
        distance = abs(network - 0.8) + max(0.0, table - 0.6) + abs(later - 0.5)
        found[trial] = (distance, f"network {network:.2f} and table {table:.2f} at 50K, table {later:.2f} at 100K")
    best = min(found, key=lambda trial: found[trial][0])
    words = f"Closest to the paper is {best.attack} learned from {best.learned_from} non-members ({found[best][1]})"
    return [
        f"{words}." if best == ON_SHIFTED else f"{words}; {SORTED} learned from the same has {found[ON_SHIFTED][1]}."
    ]
