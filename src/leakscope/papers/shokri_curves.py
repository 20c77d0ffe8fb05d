"""What Figures 1, 2 and 3 of shokri2019 share: the sets, and curves against the degree of overfitting.

Intervals are over records, for the networks that were trained: records of several draws are pooled, and compared within
each. They do not cover the variation over training runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from leakscope.attacks import Attack
from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim
from leakscope.evaluation.risk import Judged
from leakscope.papers import panels, shokri_targets
from leakscope.papers.reproduction import Cell, Reproduction, Work
from leakscope.papers.shokri_targets import SIZE, OverfitCase, OverfitData, Stopped, accuracy, auc, load, pool

NO_NUMBERS = "The extracted text of the paper has no numbers of this figure: its statements are compared."
ABOVE_CHANCE = "Accuracy above 50 % (points)"
CONTROL = "control"
Answers = dict[str, Judged]  # by attack
#: Settings that Figures 1 to 3 share.
FULL = {"gaps": shokri_targets.GAPS, "size": 10_000, "draws": 2, "large_draws": 1, "widths": ()}
QUICK = {"keys": ("purchase100",), "gaps": (0.1, 0.25), "size": 200, "draws": 1, "large_draws": 1, "widths": (64,)}
#: Columns for what `state` gives.
STATE = ["reached", "epochs", "train", "test"]


def cases(
    keys: Sequence[str], size: int, draws: int, large_draws: int, widths: Sequence[int] = (), epochs: int | None = None
) -> tuple[list[OverfitCase], list[str]]:
    """Give the sets that are available, and a sentence for each of the others.

    At most ``size`` records train and as many test. Sets of `SIZE` training records are drawn ``large_draws`` times, and
    the others ``draws`` times. ``widths`` and ``epochs`` replace those of the set.
    """
    found, absent = [], []
    for key in keys:
        source = load(key)
        if source is None:
            absent.append(f"{key} is neither in the mirror folder nor in the cache.")
            continue
        own = source.training
        training = own._replace(widths=tuple(widths) or own.widths, epochs=epochs or own.epochs)
        times = large_draws if source.size == SIZE else draws
        found.append(OverfitCase(source, min(size, source.size), training, times))
    return found, absent


def settings(found: Sequence[OverfitCase], absent: Sequence[str], gaps: Sequence[float], **more: Any) -> dict[str, Any]:
    """Give all that the numbers depend on."""
    return {
        "reading": shokri_targets.READING,
        "stands_in": [case.source.stands_in for case in found if case.source.stands_in],
        "absent": absent,
        "cases": [
            {"data": case.source.name, "size": case.size, "draws": case.draws, **case.training._asdict()}
            for case in found
        ],
        "gaps": gaps,
        **more,
    }


def not_reached(
    found: Sequence[OverfitCase], table: Sequence[Sequence[Sequence[Any]]], gaps: Sequence[float]
) -> list[str]:
    """State the gaps that no draw of a set reached."""
    notes = []
    for case, row in zip(found, table, strict=True):
        missing = [f"{gap:g}" for gap, drawn in zip(sorted(gaps), row, strict=True) if not drawn]
        if missing:
            notes.append(
                f"{case.source.name} does not reach a gap of {', '.join(missing)} in {case.training.epochs} epochs."
            )
    return notes


class GapGroup(NamedTuple):
    """The networks of all draws that were stopped at one gap: their answers together, their state, and how many they are."""

    answers: Answers
    state: list[Cell]
    draws: int


def by_gap(
    row: Sequence[Sequence[tuple[Stopped, Mapping[str, Judged]]]], gaps: Sequence[float]
) -> dict[float, GapGroup]:
    """Give the answers of a set by the gaps that it reached, pooled over draws."""
    groups = {}
    for gap, drawn in zip(sorted(gaps), row, strict=True):
        if drawn:
            answers = {name: pool([answer[name] for _, answer in drawn]) for name in drawn[0][1]}
            groups[gap] = GapGroup(answers, state([stopped for stopped, _ in drawn]), len(drawn))
    return groups


def state(drawn: Sequence[Stopped]) -> list[Cell]:
    """Give the mean over draws of the gap, the epochs and the two accuracies; it describes these networks."""
    values = [(stopped.gap, stopped.epochs, stopped.train, stopped.test) for stopped in drawn]
    return [round(float(value), 4) for value in np.mean(values, axis=0)]


def accuracy_curves(groups: Mapping[float, GapGroup], names: Sequence[str]) -> dict[str, list[tuple[float, Estimate]]]:
    """Give the accuracy of each attack against the gap, in points of a hundred above one half."""

    def points(group: GapGroup, name: str) -> Estimate:
        return accuracy(group.answers[name]).mapped(lambda share: -50 + 100 * share)

    return {name: [(gap, points(group, name)) for gap, group in groups.items()] for name in names}


def drawing(
    found: Sequence[OverfitCase], curves: Sequence[Mapping[str, Sequence[tuple[float, Estimate]]]], y_label: str
) -> list[panels.Panel]:
    """Give one panel for each set. A set that reached one gap only is drawn only where none has more."""
    points = [max(map(len, series.values())) for series in curves]
    return [
        panels.lines(case.source.name, ("Training accuracy minus test accuracy", y_label), series, log="")
        for case, series, count in zip(found, curves, points, strict=True)
        if count >= min(2, max(points))
    ]  # fmt: skip


def attack_figure(
    work: Work,
    gaps: Sequence[float],
    attacks: Mapping[str, Attack],
    control: str,
    drawn: Mapping[str, Any],
    *,
    columns: Mapping[str, Callable[[str, Answers], Cell]],
    findings: Callable[[OverfitData, dict[float, GapGroup]], list[Claim]],
    **more: Any,
) -> Reproduction:
    """Run every attack on every target, by the degree of overfitting.

    ``control`` is also run with shuffled memberships, as `CONTROL`. `cases` takes ``drawn``. ``columns`` gives further
    columns from the name of an attack and the answers of all attacks, and ``findings`` decides the statements of one set.
    At most ``judged`` members are attacked, of sets with `SIZE` training records ``large_judged``.
    """
    found, absent = cases(**drawn)
    releases = list(dict.fromkeys(release for attack in attacks.values() for release in attack.releases))

    def measure(stopped: Stopped, rng: np.random.Generator) -> Answers:
        seen = shokri_targets.watch(
            stopped, releases, rng, more["large_judged" if len(stopped.members) == SIZE else "judged"]
        )
        answers = {name: shokri_targets.judge(attack, seen, rng) for name, attack in attacks.items()}
        return answers | {CONTROL: shokri_targets.judge(attacks[control], seen, rng, permuted=True)}

    answers = shokri_targets.over_targets(work, found, gaps, measure)
    pooled = [by_gap(row, gaps) for row in answers]
    return work.result(
        settings=settings(found, absent, gaps, **more),
        columns=["data", "gap", "attack", *STATE, "accuracy", "auc", *columns, "draws", "note"],
        rows=[
            [case.source.name, gap, name, *group.state, accuracy(group.answers[name]), auc(group.answers[name]),
             *(cell(name, group.answers) for cell in columns.values()), group.draws, case.source.stands_in or None]
            for case, targets in zip(found, pooled, strict=True)
            for gap, group in targets.items()
            for name in attacks
        ],
        statements=[
            claim
            for case, targets in zip(found, pooled, strict=True) if targets
            for claim in findings(case.source, targets)
        ],
        notes=[*not_reached(found, answers, gaps), *absent],
        panels=drawing(found, [accuracy_curves(targets, (*attacks, CONTROL)) for targets in pooled], ABOVE_CHANCE),
    )  # fmt: skip
