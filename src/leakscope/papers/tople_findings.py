"""Tables and findings of the experiments in `papers.tople`: what each draw gave, and whether a statement of the paper holds.

A finding is a rule over intervals: it holds, it does not, or the intervals can't tell, and then it is open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from leakscope.core.estimate import Estimate
from leakscope.papers.reproduction import Cell, ends
from leakscope.papers.shokri_curves import Finding
from leakscope.papers.tople import Point, Trial
from leakscope.papers.trends import Series, describe, shown, trend

ACCURACY_COLUMNS = [
    "network", "size", "model", *(f"{law}{end}" for law in ("S", "P", "P*") for end in ("", "_low", "_high")), "draws",
]  # fmt: skip
ATTACK_COLUMNS = [
    "network", "size", "model", "outsiders", "attack", "learned_from", "accuracy", "accuracy_low", "accuracy_high", "least",
    "most", *(f"{name}{end}" for name in ("control", "excess", "blind") for end in ("", "_low", "_high")), "draws",
]  # fmt: skip


def title_of(point: Point) -> str:
    """The name of the network of a point."""
    from leakscope.causal import NETWORKS

    return NETWORKS[point.plan.network.lower()].title


def accuracy_rows(points: Sequence[Point], kinds: Sequence[str]) -> list[list[Cell]]:
    """Accuracy of each kind of model on its sample, on P and on P*."""
    return [
        [title_of(point), point.plan.size, kind, *(cell for law in ("S", "P", "P*") for cell in ends(point.accuracy(kind, law))),
         len(point.answers)]
        for point in points
        for kind in kinds
    ]  # fmt: skip


def attack_rows(points: Sequence[Point]) -> list[list[Cell]]:
    """All trials of all points: accuracy with its extreme draws, control, excess, and the blind attacker."""
    rows: list[list[Cell]] = []
    for point in points:
        for kind, trial in point.answers[0].found:
            values = [answer.found[kind, trial]["attack"].value for answer in point.answers]
            rows.append(
                [title_of(point), point.plan.size, kind, trial.law, trial.attack, trial.learned_from,
                 *ends(point.attack(kind, trial)), min(values), max(values),
                 *(cell for figure in ("control", "excess") for cell in ends(point.attack(kind, trial, figure))),
                 *ends(point.blind(trial.law)), len(values)]
            )  # fmt: skip
    return rows


# --- findings -----------------------------------------------------------------------------------------------------------


def within(name: str, what: str, series: Series, low: float = -math.inf, high: float = math.inf) -> Finding:
    """Whether all of a series lies between two numbers: open where an interval holds one of them.

    Examples
    --------
    >>> within("P", "accuracy", [("1K", Estimate(0.6, 0.55, 0.65)), ("2K", Estimate(0.5, 0.49, 0.51))], high=0.52)
    Finding(name='P', holds=False, words='accuracy 0.6 [0.55, 0.65] at 1K')
    """
    outside = [(place, point) for place, point in series if point.low > high or point.high < low]
    unsure = [(place, point) for place, point in series if not (low <= point.low and point.high <= high)]
    told = outside or unsure or [series[0], *series[-1:]][: len(series)]
    words = ", ".join(f"{shown(point)} at {place}" for place, point in told[:4])
    words += f" and at {len(told) - 4} more" if len(told) > 4 else ""
    return Finding(name, False if outside else None if unsure else True, f"{what} {words}")


def rising(name: str, what: str, series: Series) -> Finding:
    """Whether a series rises: open where its intervals show no change.

    Examples
    --------
    >>> rising("P*", "accuracy", [("1K", Estimate(0.5, 0.4, 0.6)), ("2K", Estimate(0.55, 0.45, 0.65))]).holds is None
    True
    """
    ways = {"rises": True, "shows no change": None}
    return Finding(name, ways.get(trend([point for _, point in series]), False), describe(what, series))


def separation(point: Point, kind: str, trial: Trial, where: str) -> str:
    """What of an attack's accuracy above one half is telling P from P*, and what is membership."""
    above, telling = (_above_half(point.attack(kind, trial, figure)) for figure in ("attack", "control"))
    return (
        f"of the {shown(above)} above one half that the attack on the {kind} has against {trial.law} at {where}, "
        f"{shown(telling)} is telling P from P*, which a model that never saw the members gives away too, and "
        f"{shown(point.attack(kind, trial, 'excess'))} is membership (blind attacker: {shown(point.blind(trial.law))})"
    )


def _above_half(point: Estimate) -> Estimate:
    value, low, high = (end - 0.5 for end in (point.value, point.low, point.high))
    return replace(point, value=value, low=low, high=high)


def short(size: int) -> str:
    """A size as the paper writes it.

    Examples
    --------
    >>> short(1000), short(1_000_000), short(500)
    ('1K', '1M', '500')
    """
    for unit, letter in ((1_000_000, "M"), (1000, "K")):
        if size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)
