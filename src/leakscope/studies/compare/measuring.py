"""What is measured of each version: its models are trained, queried and attacked, and then released from memory.

Versions with the same learner share all models. Those of one learner are held at a time, so that memory does not grow with the
number of defenses; within a budget of time, those of all learners.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import mean_of_runs
from leakscope.core.result import NotRun
from leakscope.data.records import Records, take_rows
from leakscope.evaluation.references import compared_explanations, special_releases
from leakscope.evaluation.rounds import Stop
from leakscope.evaluation.training import Questions, Trained, Training, answers_in, answers_of, ask, train
from leakscope.releases.release import Progress
from leakscope.studies.compare.attacking import ComparisonCase, VersionOutcome, attack_version, explained_by
from leakscope.studies.compare.plan import Planned
from leakscope.studies.compare.rounds import Resumed, train_in_rounds
from leakscope.studies.compare.utility import Quality
from leakscope.studies.inputs import Work


@dataclass(frozen=True, eq=False)
class Seen:
    """What is kept of a version: what the attacks found, its answers on held-out records, and its explanations' faithfulness."""

    version: Planned
    outcome: VersionOutcome
    quality: Quality
    faithful: dict[str, Floats]
    retrained: Estimate | None


@dataclass(frozen=True, eq=False)
class MeasuredVersions:
    """All versions, those that were not measured, the case with the references that were trained, and what stopped the training."""

    seen: list[Seen]
    failed: list[NotRun]
    case: ComparisonCase
    stopped: Stop | None


def measure_all(
    case: ComparisonCase, planned: Sequence[Planned], explained: Sequence[str], work: Work
) -> MeasuredVersions:
    """Every version in the order of the plan, and those that could not be trained.

    A defense that fails is listed, and the others are measured all the same; it is an error if the model as it is can't be
    trained again. Within a budget in seconds all learners are trained in common rounds (`rounds`). Without one, an
    interrupt leaves the versions that are measured already, if there is one besides the model as it is.
    """
    clock, progress = work.clock, work.progress
    by_learner: dict[int, list[Planned]] = {}
    for version in planned:
        by_learner.setdefault(id(version.learner(case.target)), []).append(version)
    seen: dict[str, Seen] = {}
    failed: list[NotRun] = []
    stopped, trains = None, {learner: Resumed(work.retrain, []) for learner in by_learner}
    if work.settings.budget is not None and case.design.numbers.references:
        with clock("train"):
            case, stopped = _train_in_rounds(case, by_learner, explained, trains, work, failed)
    for done, (learner, sharing) in enumerate(by_learner.items()):
        steps = None if progress is None else partial(_step, progress, done, len(by_learner))
        if sharing[0].name in (one.attack for one in failed):
            continue
        try:
            with clock("train"):
                models = _train(case, sharing, explained, partial(trains.pop(learner), progress=steps))
        except InputError as error:
            _failed(case, sharing, error, failed)
            continue
        except KeyboardInterrupt:
            if len(seen) < 2:
                raise
            left = [version for version in planned if version.name not in seen]
            failed += [NotRun("", version.name, "training was interrupted") for version in left]
            break
        with clock("attack"):
            seen |= {
                version.name: _measure(case, version, models, place, explained) for place, version in enumerate(sharing)
            }
        if progress is not None:
            progress("training and attacking", 100 * (done + 1), 100 * len(by_learner))
    if failed and len(failed) == len(planned) - 1:
        raise InputError(f"none of the versions could be trained; {failed[0].attack}: {failed[0].reason}")
    found = [seen[version.name] for version in planned if version.name in seen]
    return MeasuredVersions(found, failed, case, stopped)


def _failed(case: ComparisonCase, sharing: Sequence[Planned], error: InputError, failed: list[NotRun]) -> None:
    if sharing[0].learner(case.target) is case.target.learner:
        raise error
    failed += [NotRun("", version.name, str(error).rstrip(".")) for version in sharing]


def _train_in_rounds(
    case: ComparisonCase,
    by_learner: Mapping[int, Sequence[Planned]],
    explained: Sequence[str],
    trains: Mapping[int, Resumed],
    work: Work,
    failed: list[NotRun],
) -> tuple[ComparisonCase, Stop | None]:
    """Train all learners within the budget; the case with the references that all of them have, and what stopped the training."""
    numbers, budget, start = case.design.numbers, work.settings.budget, time.monotonic()
    assert budget is not None
    seconds = math.ceil(budget)

    def steps(stage: str, done: int, total: int) -> None:  # noqa: ARG001
        if work.progress is not None:
            work.progress("training, seconds", min(seconds, int(time.monotonic() - start)), seconds)

    def train_one(learner: int, pairs: int) -> bool:
        sharing, some = by_learner[learner], replace(case, design=case.design.first_pairs(pairs))
        try:
            _train(some, sharing, explained, partial(trains[learner], progress=steps), whole=False)
        except InputError as error:
            _failed(case, sharing, error, failed)
            return False
        return True

    trainings = [partial(train_one, learner) for learner in by_learner]
    pairs, stopped = train_in_rounds(trainings, numbers.folds + numbers.halves, numbers.references // 2, budget)
    return replace(case, design=case.design.first_pairs(pairs)), stopped


def _step(progress: Progress, before: int, learners: int, stage: str, done: int, total: int) -> None:  # noqa: ARG001
    """One bar over all learners, in hundredths of one; the last ten are for the attacks."""
    progress("training and attacking", 100 * before + 90 * done // max(total, 1), 100 * learners)


def _train(
    case: ComparisonCase, sharing: Sequence[Planned], explained: Sequence[str], again: Any, *, whole: bool = True
) -> Trained:
    """Train what these versions share; the audited model is asked as it is, unless not the ``whole`` result is needed yet."""
    target, learner = case.target, sharing[0].learner(case.target)
    attacks = [attack for version in sharing for attack, _ in case.attacks[version.name]]
    names = [name for version in sharing for name in explained_by(version, explained)]
    special = tuple(dict.fromkeys([*special_releases(attacks), *names]))
    own = learner is target.learner
    shown = None
    if own:
        shown = ask(target, (answers_of(target.model.task), *special)) if whole else ({}, {})
    questions = Questions(
        special,
        [version.show(target) for version in sharing],
        compared_explanations(attacks),
        measure=partial(_first_metric, target.model.task),
        extra=_VersionFaithfulness(tuple(names), case.design.members) if names and (whole or not own) else None,
    )
    return train(target, learner, case.design, shown, questions, Training(again, case.training_seed))


def _measure(case: ComparisonCase, version: Planned, models: Trained, place: int, explained: Sequence[str]) -> Seen:
    target, task = case.target, case.target.model.task
    shown = version.shown(target, answers_in(models.nonmembers, task))
    # Models of another kind say nothing of how well this kind does on other draws of records.
    unseen = models.fits[place].unseen if version.learner(target) is not None else ()
    return Seen(
        version,
        attack_version(case, version, models, place),
        Quality(shown, target.nonmembers.y, task),
        {name: models.extra[name] for name in explained_by(version, explained)},
        mean_of_runs(np.array(unseen), case.confidence) if len(unseen) > 1 else None,
    )


def _first_metric(task: Any, answers: Floats, labels: Any) -> float:
    """The first metric of a model, on records that it did not see."""
    return float(next(iter(Quality(answers, labels, task).per_record.values())).mean())


@dataclass(frozen=True)
class _VersionFaithfulness:
    """How faithful a model's explanations are at some held-out records, by name of the explanation."""

    names: tuple[str, ...]
    members: int

    def __call__(self, model: Any, everyone: Records) -> dict[str, Floats]:
        from leakscope.releases.feature_explanations import parse
        from leakscope.releases.feature_explanations.faithfulness import Bench

        bench = Bench(model, take_rows(everyone.X, np.arange(self.members, len(everyone))))
        found = {}
        for name in self.names:
            how = parse(name)
            found[name] = bench.score(bench.explain(how), how.explains).order
        return found
