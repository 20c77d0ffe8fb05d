"""What is measured of each version: its models are trained, asked and attacked, and then let go.

Versions with the same learner share all models. Those of one learner are held at a time, so that memory does not grow with the
number of defenses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from leakscope.auditing import Clock
from leakscope.comparison.attacking import STABILITY, Case, Outcome, attack_version, explained_by
from leakscope.comparison.plan import Planned
from leakscope.comparison.training import ANSWERS, Trained, train
from leakscope.comparison.utility import Floats, Quality
from leakscope.errors import InputError
from leakscope.intervals import mean_of_runs
from leakscope.releases import Progress
from leakscope.results import Estimate, NotRun


@dataclass(frozen=True, eq=False)
class Seen:
    """What is kept of a version: what the attacks found, its answers on held-out records, and its explanations' faithfulness."""

    version: Planned
    outcome: Outcome
    quality: Quality
    faithful: dict[str, Floats]
    retrained: Estimate | None


def measure_all(
    case: Case,
    planned: Sequence[Planned],
    explained: Sequence[str],
    again: Any,
    clock: Clock,
    progress: Progress | None,
) -> tuple[list[Seen], list[NotRun]]:
    """Every version in the order of the plan, and those that could not be trained.

    That one of several defenses fails is told beside the others, which it takes nothing from; that the model as it is can't
    be trained again is an error.
    """
    by_learner: dict[int, list[Planned]] = {}
    for version in planned:
        by_learner.setdefault(id(version.learner(case.target)), []).append(version)
    seen: dict[str, Seen] = {}
    failed: list[NotRun] = []
    for done, sharing in enumerate(by_learner.values()):
        steps = None if progress is None else partial(_step, progress, done, len(by_learner))
        try:
            with clock("train"):
                models = _train(case, sharing, explained, partial(again, progress=steps))
        except InputError as error:
            if sharing[0].learner(case.target) is case.target.learner:
                raise
            failed += [NotRun("", version.name, str(error).rstrip(".")) for version in sharing]
            continue
        with clock("attack"):
            seen |= {version.name: _measure(case, version, models, explained) for version in sharing}
        if progress is not None:
            progress("training and attacking", 100 * (done + 1), 100 * len(by_learner))
    if failed and len(failed) == len(planned) - 1:
        raise InputError(f"none of the versions could be trained; {failed[0].attack}: {failed[0].reason}")
    return [seen[version.name] for version in planned if version.name in seen], failed


def _step(progress: Progress, before: int, learners: int, stage: str, done: int, total: int) -> None:  # noqa: ARG001
    """One bar over all learners, in hundredths of one; the last ten are for the attacks."""
    progress("training and attacking", 100 * before + 90 * done // max(total, 1), 100 * learners)


def _train(case: Case, sharing: Sequence[Planned], explained: Sequence[str], again: Any) -> Trained:
    names = tuple(dict.fromkeys(name for version in sharing for name in explained_by(version, explained)))
    releases = (STABILITY, *names) if case.target.model.task == "classification" else names
    return train(case.target, sharing[0].learner(case.target), case.design, releases, case.seed, again)


def _measure(case: Case, version: Planned, models: Trained, explained: Sequence[str]) -> Seen:
    target = case.target
    answers = version.shown(target, models.nonmembers[ANSWERS])
    return Seen(
        version,
        attack_version(case, version, models, explained),
        Quality(answers, target.nonmembers.y, target.model.task),
        {name: models.faithful[name] for name in explained_by(version, explained)},
        _retrained(case, version, models),
    )


def _retrained(case: Case, version: Planned, models: Trained) -> Estimate | None:
    """The first metric over models trained on other draws of records, each on the records that it did not see."""
    labels = case.sample.judge(case.target.members.y, case.target.nonmembers.y)
    values = []
    for answers, unseen in models.retrained:
        quality = Quality(version.shown(case.target, answers), labels[unseen], case.target.model.task)
        values.append(float(next(iter(quality.per_record.values())).mean()))
    return mean_of_runs(np.array(values), case.confidence) if len(values) > 1 else None
