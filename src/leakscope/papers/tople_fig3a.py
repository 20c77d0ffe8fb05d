"""[tople2020, Figure 3a]: accuracy of the causal table and the network on Child/XrayReport, by size.

The models are those of Figure 3b where seed, steps and draws are the same. Accuracies are means over both models of a pair,
over 20,000 records each at most. XrayReport has no children: see `papers.tople` for what this means.
"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.result import Claim
from leakscope.papers import panels, tople
from leakscope.papers.reproduction import Reproduction, Work
from leakscope.papers.tople import NETWORK, TABLE, Budget, DrawPlan, Draws, table_and_network
from leakscope.papers.tople_findings import LAWS, accuracy_result, short, within

ID = "tople-fig3a"
TITLE = "Child: accuracy of the causal model and the network, by size of the data"
PAPER = {
    "source": "Tople, Sharma and Nori 2020, section 4.1 and Figure 3a",
    "statement": (
        "The network overfits at sizes 1K and 2K; from 10K on it is as accurate on Test(P) as on the training set. The causal "
        "model is so at all sizes. From 10K on the gap between training set and Test(P*) is the same for both."
    ),
    "numbers": tople.NO_NUMBERS,
}
FULL = {"sizes": (1000, 2000, 5000, 10_000, 50_000, 100_000, 1_000_000), "steps": 10_000, "draws": 3}
QUICK = {"sizes": (500, 10_000), "steps": 100, "draws": 2}

SMALL, LARGE = 2000, 10_000  # sizes up to the one overfit, from the other on all has converged
OVERFIT, SAME = 0.05, 0.02  # a gap from here on is large; accuracies that differ by less are the same


def run(work: Work, sizes: Sequence[int], draws: int, **effort: int) -> Reproduction:
    """Train both kinds of model at every size and measure their accuracies."""
    plans = [DrawPlan("child", size, table_and_network, {}) for size in sizes]
    points = tople.over_draws(work, plans, draws, Budget(**effort))
    figures = [_figure(points, kind) for kind in (TABLE, NETWORK)]
    return accuracy_result(work, points, (TABLE, NETWORK), statements=findings(points), panels=figures)


def findings(points: Sequence[Draws]) -> list[Claim]:
    """Decide the statements that these sizes can test."""
    small = [(short(point.plan.size), point) for point in points if point.plan.size <= SMALL]
    large = [(short(point.plan.size), point) for point in points if point.plan.size >= LARGE]
    every = [(short(point.plan.size), point) for point in points]
    found = [
        within("network overfits", [(at, point.gap(NETWORK, "P")) for at, point in small], low=OVERFIT),
        within("causal model does not overfit", [(at, point.gap(TABLE, "P")) for at, point in every], -OVERFIT, OVERFIT),
    ] if small else []  # fmt: skip
    if large:
        converged = [(at, point.gap(NETWORK, "P")) for at, point in large]
        apart = [(at, point.gap_difference(NETWORK, TABLE, "P*")) for at, point in large]
        found += [within("network converges", converged, -SAME, SAME), within("same gap to P*", apart, -SAME, SAME)]
    return found


def _figure(points: Sequence[Draws], kind: str) -> panels.Panel:
    return panels.lines(
        kind,
        ("Records, of which 60 % train", "Accuracy"),
        {words: [(point.plan.size, point.accuracy(kind, law)) for point in points] for law, words in LAWS.items()},
    )
