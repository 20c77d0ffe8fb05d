"""[tople2020, Figure 4b]: attack accuracy against non-members of P and P*, for models trained on 60K records of four networks.

Bounded loss and a tree that also knows the label run next to the paper's attack, and the network on the parents alone is
attacked next to the two models. Every accuracy comes with blind baseline, control and excess.
"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.result import Claim
from leakscope.papers import tople
from leakscope.papers.reproduction import Reproduction, Work
from leakscope.papers.tople import NETWORK, ON_PARENTS, SORTED, TABLE, Attempt, Draws
from leakscope.papers.tople_findings import attack_bars, attack_result, separations, title_of, within

ID = "tople-fig4b"
TITLE = "Four networks: attack accuracy against non-members of P and P*"
PAPER = {
    "source": "Tople, Sharma and Nori 2020, section 4.1 and Figure 4b",
    "statement": (
        "Against P the attack is close to 0.5 on the causal model and the network; against P* it is significantly higher on "
        "the network, for all four."
    ),
    "numbers": tople.NO_NUMBERS,
}
FULL = tople.FULL | {"networks": tople.FOUR}
QUICK = tople.QUICK | {"networks": ("child", "sachs")}

CLOSE = 0.02  # to one half
KINDS = (TABLE, ON_PARENTS, NETWORK)
ON_P, ON_SHIFTED = Attempt("P", SORTED), Attempt("P*", SORTED)


def run(work: Work, networks: Sequence[str], size: int, draws: int, **effort: int) -> Reproduction:
    """Attack all kinds of model on each network."""
    plans = [tople.DrawPlan(key, size, tople.all_kinds, dict.fromkeys(KINDS, tople.ATTEMPTS)) for key in networks]
    points = tople.over_draws(work, plans, draws, tople.Budget(**effort))
    return attack_result(
        work,
        points,
        statements=findings(points),
        notes=separations(points, ON_SHIFTED),
        panels=[
            attack_bars(f"Non-members of {trial.law}", points, trial, (TABLE, NETWORK), "Attack accuracy")
            for trial in (ON_P, ON_SHIFTED)
        ],
    )


def findings(points: Sequence[Draws]) -> list[Claim]:
    """Decide whether nothing is found against P, and more of the network than of the table against P*."""
    near = {kind: [(title_of(point), point.attack(kind, ON_P)) for point in points] for kind in (TABLE, NETWORK)}
    higher = [(title_of(point), point.further(NETWORK, TABLE, ON_SHIFTED)) for point in points]
    return [
        *(within(f"{kind} on P", series, 0.5 - CLOSE, 0.5 + CLOSE) for kind, series in near.items()),
        within("network above causal on P*", higher, low=0.0),
    ]
