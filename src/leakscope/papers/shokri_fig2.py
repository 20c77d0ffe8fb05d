"""[shokri2019, Figure 2, section 4.3.3 (1) and (2)]: the whole gradient against its 1-norm, and normalised gradients.

If the 1-norm of the gradient is what gives members away, a decision tree on that one number does as well as a network on the
whole gradient, and gradients divided by their 1-norm tell nothing. The tree on normalised gradients sees the number 1 and
can't but guess: the network is the test. A control shuffles the memberships before that attack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leakscope.attacks import explanation_network, explanation_norm
from leakscope.core.result import Claim
from leakscope.papers.reproduction import Cell, Reproduction, statement
from leakscope.papers.shokri_curves import (
    ABOVE_CHANCE,
    NO_NUMBERS,
    STATE,
    Group,
    accuracy_curves,
    by_gap,
    cases,
    drawing,
    not_reached,
    settings,
)
from leakscope.papers.shokri_targets import GAPS, SIZE, Case, Stopped, accuracy, auc, gain, judge, over_targets, watch
from leakscope.risk import Judged
from leakscope.papers.work import Work

ID = "shokri-fig2"
TITLE = "A network on the whole gradient against a tree on its 1-norm, by overfitting"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, section 4.3.3 (1) and (2) and Figure 2",
    "statement": (
        "1: a decision tree on the 1-norm of the gradient is competitive with a network on the whole gradient (Purchase: slightly "
        "worse, Texas: almost the same, CIFAR-100: better). 2: attacks on normalised gradients do not beat a guess."
    ),
    "numbers": NO_NUMBERS,
}
FULL = {
    "keys": ("purchase100", "texas100", "cifar100"),
    "gaps": GAPS,
    "size": 10_000,
    "judged": 2505,
    "large_judged": 2000,
    "draws": 2,
    "large_draws": 1,
    "widths": (),
    "epochs": 30,
}
QUICK = {
    "keys": ("purchase100",),
    "gaps": (0.1, 0.25),
    "size": 200,
    "judged": 200,
    "large_judged": 200,
    "draws": 1,
    "large_draws": 1,
    "widths": (64,),
    "epochs": 2,
}

CLOSE = 0.05  # accuracies that differ by no more are called competitive
NORMALISED = "gradient:normalised"
NETWORK, TREE, NETWORK_NORMALISED, TREE_NORMALISED = "network", "tree", "network, normalised", "tree, normalised"
ATTACKS, CONTROL = (NETWORK, TREE, NETWORK_NORMALISED, TREE_NORMALISED), "control"
COLUMNS = ["data", "gap", "attack", *STATE, "accuracy", "auc", "network_better", "control", "draws", "note"]


def run(work: Work, gaps: Sequence[float], judged: int, large_judged: int, epochs: int, **drawn: Any) -> Reproduction:
    """Attack every target by network and tree, on gradients and on normalised ones."""
    found, absent = cases(**drawn)

    def measure(stopped: Stopped, rng: np.random.Generator) -> dict[str, Judged]:
        most = large_judged if len(stopped.members) == SIZE else judged
        seen = watch(stopped, ("labels", "gradient", NORMALISED), rng, most)
        attacks = {
            NETWORK: explanation_network("gradient", epochs=epochs),
            TREE: explanation_norm("gradient"),
            NETWORK_NORMALISED: explanation_network(NORMALISED, epochs=epochs),
            TREE_NORMALISED: explanation_norm(NORMALISED),
        }
        answers = {name: judge(attack, seen, rng) for name, attack in attacks.items()}
        return answers | {CONTROL: judge(attacks[NETWORK_NORMALISED], seen, rng, permuted=True)}

    answers = over_targets(work, found, gaps, measure)
    pooled = [by_gap(row, gaps) for row in answers]
    return work.result(
        settings=settings(
            found, absent, gaps, seed, judged=judged, large_judged=large_judged, attack_epochs=epochs, close=CLOSE
        ),
        columns=COLUMNS,
        rows=[
            row
            for case, targets in zip(found, pooled, strict=True)
            for gap, group in targets.items()
            for row in _rows(case, gap, group)
        ],
        statements=_findings(found, pooled),
        notes=[*not_reached(found, answers, gaps), *absent],
        panels=drawing(found, lambda place: accuracy_curves(pooled[place], (*ATTACKS, CONTROL)), ABOVE_CHANCE),
    )


def _rows(case: Case, gap: float, group: Group) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for name in ATTACKS:
        own = group.answers[name]
        behind = gain(group.answers[NETWORK], own) if name != NETWORK else None
        control = accuracy(group.answers[CONTROL]) if name == NETWORK_NORMALISED else None
        cells = [accuracy(own), auc(own), behind, control]
        rows.append([case.source.name, gap, name, *group.state, *cells, group.draws, case.source.stands_in or None])
    return rows


def _findings(found: Sequence[Case], pooled: Sequence[dict[float, Group]]) -> list[Claim]:
    """Both statements at the largest gap of each set; open where no attack on the gradient beats a guess."""
    findings = []
    for case, targets in zip(found, pooled, strict=True):
        if targets:
            gap, answers = max(targets), targets[max(targets)].answers
            leaks = any(accuracy(answers[name]).low > 0.5 for name in (NETWORK, TREE))
            findings += [_tree_comes_close(case.source.name, gap, answers, leaks)]
            findings += [_direction_tells_nothing(case.source.name, answers, leaks)]
    return findings


def _tree_comes_close(name: str, gap: float, answers: dict[str, Judged], leaks: bool) -> Claim:
    """Statement 1: the network is surely no more than `CLOSE` better than the tree."""
    network, tree = (accuracy(answers[attack]) for attack in (NETWORK, TREE))
    behind = gain(answers[NETWORK], answers[TREE])
    holds = False if behind.low > CLOSE else True if leaks and behind.high <= CLOSE else None
    figures = {f"network, gap {gap:g}": network, f"tree, gap {gap:g}": tree, "network minus tree": behind}
    return statement(f"1 on {name}: the tree is competitive", holds, figures)


def _direction_tells_nothing(name: str, answers: dict[str, Judged], leaks: bool) -> Claim:
    """Statement 2: neither accuracy nor AUC of the network on normalised gradients is surely above one half."""
    normalised, ranked = accuracy(answers[NETWORK_NORMALISED]), auc(answers[NETWORK_NORMALISED])
    holds = False if max(normalised.low, ranked.low) > 0.5 else True if leaks else None
    return statement(
        f"2 on {name}: normalised gradients reveal nothing", holds, {"accuracy": normalised, "AUC": ranked}
    )
