"""[tople2020, Figure 4a]: accuracy of the models trained on 60K records of each of the four networks.

The network on the parents alone separates two effects: it differs from the table in the kind of model, and from the network
on all columns in the choice of columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.result import Claim
from leakscope.papers import panels, tople
from leakscope.papers.reproduction import Reproduction, Work
from leakscope.papers.tople import NETWORK, ON_PARENTS, TABLE, Budget, DrawPlan, Draws, all_kinds
from leakscope.papers.tople_findings import LAWS, accuracy_result, title_of, within

ID = "tople-fig4a"
TITLE = "Four networks: accuracy of the models trained on 60K records"
PAPER = {
    "source": "Tople, Sharma and Nori 2020, section 4.1 and Figure 4a",
    "statement": (
        "As for Child, training set and Test(P) have the same accuracy, and the gap to Test(P*) is the same for the causal "
        "model and the network."
    ),
    "numbers": tople.NO_NUMBERS,
}
FULL = {"networks": tople.FOUR, "size": 100_000, "steps": 10_000, "draws": 3}
QUICK = {"networks": ("child", "sachs"), "size": 1000, "steps": 80, "draws": 2}

SAME = 0.02  # accuracies that differ by less are the same
KINDS = (TABLE, ON_PARENTS, NETWORK)


def run(work: Work, networks: Sequence[str], size: int, draws: int, **effort: int) -> Reproduction:
    """Train all kinds of model on each network and measure their accuracies."""
    plans = [DrawPlan(key, size, all_kinds, {}) for key in networks]
    points = tople.over_draws(work, plans, draws, Budget(**effort))
    figures = [_figure(points, kind) for kind in KINDS]
    return accuracy_result(work, points, KINDS, statements=findings(points), panels=figures)


def findings(points: Sequence[Draws]) -> list[Claim]:
    """Decide whether each kind of model is the same on its sample and on P, and both lose as much on P*."""
    gaps = {kind: [(title_of(point), point.gap(kind, "P")) for point in points] for kind in (TABLE, NETWORK)}
    apart = [(title_of(point), point.gap_difference(NETWORK, TABLE, "P*")) for point in points]
    return [
        *(within(f"{kind}, S and P", series, -SAME, SAME) for kind, series in gaps.items()),
        within("same gap to P*", apart, -SAME, SAME),
    ]


def _figure(points: Sequence[Draws], kind: str) -> panels.Panel:
    return panels.bars(
        kind,
        ("Network", "Accuracy"),
        [title_of(point) for point in points],
        {words: [point.accuracy(kind, law) for point in points] for law, words in LAWS.items()},
    )
