"""[shokri2019, Figure 2, section 4.3.3 (1) and (2)]: the whole gradient against its 1-norm, and normalised gradients.

If the 1-norm of the gradient is what reveals membership, a decision tree on that one number does as well as a network on the
whole gradient, and gradients divided by their 1-norm reveal nothing. The tree on normalised gradients sees the number 1 and
has no information: the network is the test. A control shuffles the memberships before that attack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leakscope.attacks import explanation_network, explanation_norm
from leakscope.core.result import Claim
from leakscope.papers import shokri_curves
from leakscope.papers.reproduction import Reproduction, Work, statement
from leakscope.papers.shokri_curves import CONTROL, NO_NUMBERS, GapGroup, attack_figure
from leakscope.papers.shokri_targets import OverfitData, accuracy, auc, gain

ID = "shokri-fig2"
TITLE = "A network on the whole gradient against a tree on its 1-norm, by overfitting"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, section 4.3.3 (1) and (2) and Figure 2",
    "statement": (
        "1: a decision tree on the 1-norm of the gradient is competitive with a network on the whole gradient (Purchase: slightly "
        "worse, Texas: almost the same, CIFAR-100: better). 2: attacks on normalised gradients are no better than a random guess."
    ),
    "numbers": NO_NUMBERS,
}
FULL = shokri_curves.FULL | {
    "keys": ("purchase100", "texas100", "cifar100"), "judged": 2505, "large_judged": 2000, "epochs": 30,
}  # fmt: skip
QUICK = shokri_curves.QUICK | {"judged": 200, "large_judged": 200, "epochs": 2}

CLOSE = 0.05  # accuracies that differ by no more are called competitive
NORMALISED = "gradient:normalised"
ATTACKS = ("network", "tree", "network, normalised", "tree, normalised")
NETWORK, TREE, NETWORK_NORMALISED, TREE_NORMALISED = ATTACKS


def run(work: Work, gaps: Sequence[float], judged: int, large_judged: int, epochs: int, **drawn: Any) -> Reproduction:
    """Attack every target by network and tree, on gradients and on normalised ones."""
    attacks = {
        NETWORK: explanation_network("gradient", epochs=epochs),
        TREE: explanation_norm("gradient"),
        NETWORK_NORMALISED: explanation_network(NORMALISED, epochs=epochs),
        TREE_NORMALISED: explanation_norm(NORMALISED),
    }
    return attack_figure(
        work, gaps, attacks, NETWORK_NORMALISED, drawn,
        columns={
            "network_better": lambda name, answers: gain(answers[NETWORK], answers[name]) if name != NETWORK else None,
            "control": lambda name, answers: accuracy(answers[CONTROL]) if name == NETWORK_NORMALISED else None,
        },
        findings=_findings, judged=judged, large_judged=large_judged, attack_epochs=epochs, close=CLOSE,
    )  # fmt: skip


def _findings(source: OverfitData, targets: dict[float, GapGroup]) -> list[Claim]:
    """Both statements at the largest gap of a set; inconclusive where no attack on the gradient is above chance."""
    gap, answers = max(targets), targets[max(targets)].answers
    figures = {f"{name}, gap {gap:g}": accuracy(answers[name]) for name in (NETWORK, TREE)}
    leaks = any(figure.low > 0.5 for figure in figures.values())
    behind = gain(answers[NETWORK], answers[TREE])
    competitive = False if behind.low > CLOSE else True if leaks and behind.high <= CLOSE else None
    told = {"accuracy": accuracy(answers[NETWORK_NORMALISED]), "AUC": auc(answers[NETWORK_NORMALISED])}
    nothing = False if max(figure.low for figure in told.values()) > 0.5 else True if leaks else None
    return [
        statement(
            f"1 on {source.name}: the tree is competitive", competitive, figures | {"network minus tree": behind}
        ),
        statement(f"2 on {source.name}: normalised gradients reveal nothing", nothing, told),
    ]
