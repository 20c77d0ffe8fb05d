"""Training of all models of one learner, and their answers to the records that they are queried about.

Little is kept of a retrained model. Defenses that change answers are applied to the answers of the same models, so that versions with
one learner share all models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.membership_explanation_references import explanation_statistics
from leakscope.attacks.references import fit_of
from leakscope.core.arrays import Floats, Labels
from leakscope.core.errors import InputError, TrainingError
from leakscope.core.failures import cause
from leakscope.data.fingerprints import fingerprint
from leakscope.data.records import Records, join_records
from leakscope.evaluation.design import Design
from leakscope.evaluation.other_kind import own_or_other_kind
from leakscope.evaluation.rounds import Rounds, Stop, TimeOverError
from leakscope.models.model import Model, Task
from leakscope.models.target import Target, TrainingRecipe
from leakscope.releases.release import Progress, observe, stack
from leakscope.worlds.training import TrainingSets

Shown = dict[str, Floats]
#: Post-processing of a model's answers before release.
Show = Callable[[Floats], Floats]
Retrain = Callable[..., list[Any]]
#: Measures the whole model in addition to its releases.
Extra = Callable[[Model, Records], Mapping[str, Floats]]
EXTRA = "extra: "


def answers_of(task: Task) -> str:
    """Return the name of the release that equals a model's answers."""
    return "predictions" if task == "regression" else "probabilities"


def answers_in(shown: Mapping[str, Floats], task: Task) -> Floats:
    """Return a model's answers from its released values: probabilities, or one prediction per record."""
    answers = shown[answers_of(task)]
    return answers[:, 0] if task == "regression" else answers


@dataclass(frozen=True, eq=False)
class Fits:
    """Fit of the records under retrained models, from the answers of one version.

    Parameters
    ----------
    references
        Fit (`attacks.references.fit_of`) of the judged records under each reference, (references, judged).
    folds
        Fit of the judged members under each fold model, (folds, judged members); nan where it was not queried.
    halves
        Fit of the members under each half, (halves, members); nan where it was not asked.
    other_half
        Fit of the judged records under the half that they do not belong to, (1, judged); (0, judged) without folds and halves.
    unseen
        For each model, the score of its answers on judged records that it was not trained on (``measure`` of `train`).
    explained
        For some explanations their statistics (`explanation_statistics`) at the judged records under each reference,
        (references, judged, statistics).
    """

    references: Floats
    folds: Floats
    halves: Floats
    other_half: Floats
    unseen: tuple[float, ...]
    explained: Mapping[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Trained:
    """Released values of the models of one learner.

    Parameters
    ----------
    members, nonmembers
        Released values of all records under the whole model.
    control
        Released values of the judged records under fold models that were not trained on them; None without folds.
    fits
        For each version, the fit of the true labels under the retrained models.
    extra
        Further measurements of the whole model.
    design
        The design of the models that were trained: fewer references than planned if training was stopped.
    stopped
        Why it was stopped.
    """

    members: Shown
    nonmembers: Shown
    control: Shown | None
    fits: tuple[Fits, ...]
    extra: Shown
    design: Design
    stopped: Stop | None = None


def ask(
    target: Target, releases: Sequence[str], progress: Progress | None = None, mixed: int | None = None
) -> tuple[Shown, Shown]:
    """Return the released values of members and of non-members under the audited model.

    With a seed in ``mixed``, both are queried in the same batches: if answers depend on the batch, members and non-members in separate
    batches would differ by the batch alone.
    """
    if mixed is None:
        inside, outside = (
            observe(target.model, side, releases, progress) for side in (target.members, target.nonmembers)
        )
        return inside, outside
    both = join_records(target.members, target.nonmembers)
    order = np.random.default_rng([mixed, len(both)]).permutation(len(both))
    shown, back = observe(target.model, both.take(order), releases, progress), np.argsort(order)
    return _sides({name: values[back] for name, values in shown.items()}, len(target.members))


def _sides(shown: Shown, members: int) -> tuple[Shown, Shown]:
    inside, outside = (
        {name: part[rows] for name, part in shown.items()} for rows in (slice(0, members), slice(members, None))
    )
    return inside, outside


@dataclass(frozen=True, eq=False)
class _Observation:
    """Query a model about its records. Releases that need the model itself are observed only if an attack reads them."""

    everyone: Records
    design: Design
    models: tuple[int, ...]
    releases: tuple[str, ...]
    answers: str
    extra: Extra | None
    compared: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Name in the cache: all that determines the queries, but not the number of references, so that more can be added."""
        design = self.design
        numbers = replace(design.numbers, references=int(design.numbers.references > 0))
        asked = (design.judged, design.asked, design.fold, design.half, str(numbers), self.models[0])
        return fingerprint(
            *asked, list(self.releases), list(self.compared), self.answers, fingerprint(self.extra, fitted=True)
        )

    def __call__(self, model: Model, position: int, trained_on: Any) -> Shown:  # noqa: ARG002
        number = self.models[position]
        kind, rows = self.design.kind(number), self.design.rows(number)
        all_releases = (self.answers, *self.releases)
        if kind == "whole":
            more = {} if self.extra is None else self.extra(model, self.everyone)
            return observe(model, self.everyone, all_releases) | {EXTRA + name: part for name, part in more.items()}
        if kind != "fold":
            compared = self.compared if kind == "reference" else ()
            kept = dict.fromkeys(compared, explanation_statistics)
            return observe(model, self.everyone.take(rows), (self.answers, *compared), kept=kept)
        count = len(self.design.control_rows(number))
        shown = observe(model, self.everyone.take(rows[:count]), all_releases)
        others = observe(model, self.everyone.take(rows[count:]), (self.answers,)) if count < len(rows) else {}
        return shown | {name: np.concatenate([shown[name], part]) for name, part in others.items()}


@dataclass(frozen=True, eq=False)
class _Keep:
    """Kept observations of each model, for all versions."""

    design: Design
    models: tuple[int, ...]
    y: Labels
    task: Task
    shows: tuple[Show, ...]
    measure: Callable[[Floats, Labels], float] | None

    def __call__(self, position: int, shown: Shown) -> dict[str, Any]:
        model = self.models[position]
        kind, design = self.design.kind(model), self.design
        if kind == "whole":
            return {"shown": shown}
        rows = design.rows(model)
        released = [show(answers_in(shown, self.task)) for show in self.shows]
        answers = shown.pop(answers_of(self.task))
        labels = self.y[rows]
        found: dict[str, Any] = {"fit": np.stack([fit_of(part, labels, self.task) for part in released])}
        unseen = np.zeros(len(rows), bool)
        if kind == "reference":
            unseen = ~design.inside()[model - design.models("reference").start]
            found["explained"] = shown
        if kind == "fold":
            count = len(design.control_rows(model))
            unseen[:count] = True
            found["control"] = {answers_of(self.task): answers[:count], **shown}
        if self.measure is not None and unseen.any():
            found["unseen"] = [self.measure(part[unseen], labels[unseen]) for part in released]
        return found


@dataclass(frozen=True, eq=False)
class Questions:
    """What the models of a learner are asked, and what is kept of their answers.

    Parameters
    ----------
    releases
        Releases that need the model itself. All others follow from its answers.
    shows
        For each version, the post-processing of the answers.
    compared
        Explanations that reference models are queried for too.
    measure
        Scores answers by the true labels, for `Fits.unseen`.
    extra
        Function from the whole model and all records to further named arrays.
    """

    releases: tuple[str, ...]
    shows: Sequence[Show]
    compared: tuple[str, ...] = ()
    measure: Callable[[Floats, Labels], float] | None = None
    extra: Extra | None = None


@dataclass(frozen=True, eq=False)
class Training:
    """How models are trained: by which function, with which seed, and when it ends.

    Parameters
    ----------
    stoppable, budget
        Whether Ctrl-C ends the training after the first round, and the number of seconds after which it ends (`rounds`).
    """

    retrain: Retrain
    seed: int
    stoppable: bool = False
    budget: float | None = None


def train(
    target: Target,
    learner: TrainingRecipe | None,
    design: Design,
    shown: tuple[Shown, Shown] | None,
    questions: Questions,
    training: Training,
) -> Trained:
    """Train all models of a learner and return their released values.

    Parameters
    ----------
    learner
        None for models of another kind (`other_kind`), if the target can't be retrained.
    shown
        Released values of members and non-members under the whole model, if it exists; otherwise it is trained too.
    """
    task = target.model.task
    models = tuple(range(len(design)))[0 if shown is None else 1 :]
    found, stopped, more, extra = [], None, {}, questions.extra
    if extra is not None and shown is not None:
        more = dict(extra(target.model, join_records(target.members, target.nonmembers)))
    if models:
        trains, everyone = own_or_other_kind(target, learner, training.seed)
        keep = _Keep(design, models, everyone.y, task, tuple(questions.shows), questions.measure)
        references = design.numbers.references
        rounds = Rounds(keep, len(models) - references, references, training.budget)
        asked = questions.releases, answers_of(task), extra, questions.compared
        observation = _Observation(everyone, design, models, *asked)
        try:
            _retrain(trains, observation, rounds, training)
        except (KeyboardInterrupt, TimeOverError) as error:
            if not training.stoppable:
                raise
            rounds.end(error)
        found, stopped, design = rounds.kept, rounds.stopped, design.first_pairs(rounds.pairs)
    if shown is None:
        whole, found = found[0]["shown"], found[1:]
        more = {name.removeprefix(EXTRA): whole.pop(name) for name in list(whole) if name.startswith(EXTRA)}
        shown = _sides(whole, design.members)
    by_model = dict(zip(range(1, len(design)), found, strict=True))
    return Trained(
        *shown, _control(design, by_model), _fits(design, by_model, len(questions.shows)), more, design, stopped
    )


def _retrain(learner: TrainingRecipe, observation: _Observation, rounds: Rounds, training: Training) -> None:
    everyone, design, models = observation.everyone, observation.design, observation.models
    sets = TrainingSets(len(everyone), len(models), partial(_drawn, design, models), partial(_stream, models))
    weights = {"weights": everyone.weights} if learner.takes_weights and everyone.weights is not None else {}
    try:
        training.retrain(learner, everyone.X, everyone.y, sets, observation, seed=training.seed, keep=rounds, **weights)
    except TrainingError as error:
        advice = "" if 0 in models else ": correct this, or pass retrain=False (--no-retrain)"
        raise InputError(f"{learner.name} could not be retrained ({str(error).rstrip('.')}){advice}") from cause(error)


def _drawn(design: Design, models: tuple[int, ...], position: int) -> NDArray[np.intp]:
    return design.draw(models[position])


def _stream(models: tuple[int, ...], position: int) -> int:
    return models[position]


def _control(design: Design, found: dict[int, dict[str, Any]]) -> Shown | None:
    """Released values of the judged records under the fold models, in their order."""
    parts = [found[model]["control"] for model in design.models("fold")]
    if not parts:
        return None
    rows = [np.flatnonzero(design.asked == number) for number in range(len(parts))]
    order = np.argsort(np.concatenate(rows))
    return {name: stack([part[name] for part in parts])[order] for name in parts[0]}


def _fits(design: Design, found: dict[int, dict[str, Any]], versions: int) -> tuple[Fits, ...]:
    judged, place = len(design.judged), np.full(design.records, -1)
    place[design.judged_members] = np.arange(judged // 2)
    kept = [found[model] for model in design.models("reference")]
    explained = {
        name: np.array([part["explained"][name] for part in kept]) for name in (kept[0]["explained"] if kept else ())
    }
    fits = []
    for version in range(versions):
        folds = np.full((design.numbers.folds, judged // 2), np.nan)
        for row, model in enumerate(design.models("fold")):
            at = place[design.rows(model)]
            folds[row, at[at >= 0]] = found[model]["fit"][version][at >= 0]
        references = np.array([part["fit"][version] for part in kept]).reshape(-1, judged)
        halves = np.full((design.numbers.halves, design.records), np.nan)
        for row, model in enumerate(design.models("half")):
            halves[row, design.rows(model)] = found[model]["fit"][version]
        both = len(halves) and design.numbers.folds
        other_half = halves[1 - design.half[design.judged], design.judged][None] if both else references[:0]
        unseen = tuple(part["unseen"][version] for part in found.values() if "unseen" in part)
        fits.append(Fits(references, folds, halves[:, : design.members], other_half, unseen, explained))
    return tuple(fits)
