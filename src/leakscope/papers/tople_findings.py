"""Tables and findings of the experiments in `papers.tople`: what each draw gave, and whether a statement of the paper holds.

A finding is a rule over intervals: it holds, it does not hold, or it is inconclusive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim
from leakscope.core.wording import write
from leakscope.papers import panels
from leakscope.papers.reproduction import Cell, Reproduction, Work, statement
from leakscope.papers.tople import NETWORK, READING, STARTS, TABLE, Attempt, Draws
from leakscope.papers.trends import Series, between, every

At = TypeVar("At")
LAWS = {"S": "training set", "P": "Test(P)", "P*": "Test(P*)"}
ACCURACY_COLUMNS = ["network", "size", "model", *LAWS, "draws"]
ATTACK_COLUMNS = [
    "network", "size", "model", "nonmembers", "attack", "learned_from", "accuracy", "least",
    "most", *("control", "excess", "blind"), "draws",
]  # fmt: skip


def title_of(point: Draws) -> str:
    """Give the name of the network of a point."""
    from leakscope.causal import NETWORKS

    return NETWORKS[point.plan.network.lower()].title


def accuracy_result(work: Work, points: Sequence[Draws], kinds: Sequence[str], **given: Any) -> Reproduction:
    """Give the reproduction of a figure of accuracies of each kind of model on its sample, on P and on P*."""
    rows = [
        [title_of(point), point.plan.size, kind, *(point.accuracy(kind, law) for law in LAWS), len(point.answers)]
        for point in points
        for kind in kinds
    ]
    return work.result({"reading": READING, **work.settings}, columns=ACCURACY_COLUMNS, rows=rows, **given)


def attack_rows(points: Sequence[Draws]) -> list[list[Cell]]:
    """Give all trials of all points: accuracy with its extreme draws, control, excess, and the blind baseline."""
    rows: list[list[Cell]] = []
    for point in points:
        for kind, trial in point.answers[0].found:
            values = [answer.found[kind, trial]["attack"].value for answer in point.answers]
            rows.append(
                [title_of(point), point.plan.size, kind, trial.law, trial.attack, trial.learned_from,
                 point.attack(kind, trial), min(values), max(values),
                 *(point.attack(kind, trial, figure) for figure in ("control", "excess")),
                 point.blind(trial.law), len(values)]
            )  # fmt: skip
    return rows


def attack_result(work: Work, points: Sequence[Draws], **given: Any) -> Reproduction:
    """Give the reproduction of a figure of attacks; ``given`` is what `Work.result` takes, by default all trials as rows."""
    table = {"columns": ATTACK_COLUMNS, "rows": attack_rows(points)}
    return work.result({"reading": READING, **work.settings, "starts": STARTS}, **table | given)


def attack_series(
    places: Sequence[tuple[At, Draws, Attempt]], kinds: Sequence[str], blind: bool = True
) -> dict[str, list[tuple[At, Estimate]]]:
    """Give the accuracy of the attack and of its control on each kind of model, and of the blind baseline, at named places."""
    series = {
        f"{kind}{of}": [(at, point.attack(kind, trial, figure)) for at, point, trial in places]
        for kind in kinds
        for of, figure in (("", "attack"), (", control", "control"))
    }
    return series | ({"blind": [(at, point.blind(trial.law)) for at, point, trial in places]} if blind else {})


def attack_lines(
    title: str, places: Sequence[tuple[float, Draws, Attempt]], x_label: str, log: Literal["", "x"] = "x"
) -> panels.Panel:
    """Plot attacks on table and network against a number."""
    return panels.lines(
        title,
        (x_label, "Attack accuracy"),
        attack_series(places, (TABLE, NETWORK)),
        log=log,
        goal=(0.5, "random guess"),
    )


def attack_bars(
    title: str, points: Sequence[Draws], trial: Attempt, kinds: Sequence[str], y_label: str, blind: bool = True
) -> panels.Panel:
    """Plot attacks on several kinds of model by network."""
    series = attack_series([(title_of(point), point, trial) for point in points], kinds, blind)
    heights = {name: [height for _, height in pairs] for name, pairs in series.items()}
    return panels.bars(title, ("Network", y_label), [title_of(point) for point in points], heights)


def within(name: str, series: Series, low: float = -math.inf, high: float = math.inf) -> Claim:
    """Decide whether all of a series lies between two numbers: inconclusive where an interval contains one of them.

    Examples
    --------
    >>> within("P", [("1K", Estimate(0.6, 0.55, 0.65)), ("2K", Estimate(0.5, 0.49, 0.51))], high=0.52)
    Claim(code='reproduced', subject={'statement': 'P'}, outcome='no', estimates={'1K': 0.60 [0.55, 0.65]})
    """
    decided = [(place, point, between(point, low, high)) for place, point in series]
    found = every(holds for _, _, holds in decided)
    told = (
        [*series[:1], *series[-1:]] if found else [(place, point) for place, point, holds in decided if holds is found]
    )
    return statement(name, found, dict(told))


def separation(point: Draws, kind: str, trial: Attempt, where: str) -> str:
    """State how much of an attack's accuracy above one half reflects the shift, and how much is membership."""
    figures = (point.attack(kind, trial, figure) for figure in ("attack", "control"))
    above, shift = (figure.mapped(lambda end: end - 0.5) for figure in figures)
    return (
        f"The attack on the {kind} against {trial.law} at {where} is {write(above)} above one half. The never-trained control has {write(shift)} of it, "
        f"which reflects the shift; the excess {write(point.attack(kind, trial, 'excess'))} is membership (blind baseline: "
        f"{write(point.blind(trial.law))})."
    )


def separations(points: Sequence[Draws], trial: Attempt) -> list[str]:
    """State the same of the network at every point."""
    return [separation(point, NETWORK, trial, f"{title_of(point)}, {short(point.plan.size)}") for point in points]


def short(size: int) -> str:
    """Format a size as in the paper.

    Examples
    --------
    >>> short(1000), short(1_000_000), short(500)
    ('1K', '1M', '500')
    """
    for unit, letter in ((1_000_000, "M"), (1000, "K")):
        if size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)
