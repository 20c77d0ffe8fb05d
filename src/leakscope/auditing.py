"""The audit: one path from a target to a verdict. Each step is one function of one module."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leakscope.attacks.references import REFERENCES
from leakscope.blind import blind_guesses
from leakscope.consistency import Consistency, answers_by_batch, average_random_answers
from leakscope.control import ControlWorld, control_world
from leakscope.crossfit import Hashes, Sample
from leakscope.errors import InputError
from leakscope.evaluation.overlap import find_overlap, shared_share
from leakscope.evaluation.references import FEWEST_JUDGED, ReferenceModels, check_references, train_references
from leakscope.evidence import Attack, Floats
from leakscope.extra import extra_leakage
from leakscope.facts import count, count_copies, describe, label_groups, much_near_overlap, trained_share, warn_about
from leakscope.fingerprints import fingerprint
from leakscope.grouping import label_column
from leakscope.models import Model
from leakscope.provenance import CODE, code_digest, model_fingerprint
from leakscope.records import join_records
from leakscope.releases import Progress, observe
from leakscope.results import Audit, Basis, Bound, Extra, Overlap, ShadowModels
from leakscope.risk import (
    FALSE_POSITIVE_RATES,
    NOT_SHOWN,
    SMALLEST_GROUP,
    Judged,
    Trial,
    assess,
    exposure,
    most_exposed,
    most_exposed_group,
    pool_small_groups,
    with_band,
)
from leakscope.selection import Selection, select
from leakscope.shadow import Shadows, split_holdout, train_shadows
from leakscope.study import hold_against, promised
from leakscope.target import Records, Target, make_target
from leakscope.trying import try_attack
from leakscope.verdict import choose_strongest, confidences_for_choice, judge, largest_figures, strongest_by_release
from leakscope.versions import versions
from leakscope.workers import check_work, one_thread
from leakscope.worlds import retrain as train_again

#: Below this there is nothing to fit an attack on and judge it by.
FEWEST = 10
#: An AUC this far above chance is the smallest leak that a verdict of "no evidence" excludes.
MARGIN = 0.05


@dataclass(frozen=True)
class Settings:
    """How the audit is run; every default is recorded with the result."""

    seed: int = 0
    confidence: float = 0.95
    margin: float = MARGIN
    fprs: tuple[float, ...] = FALSE_POSITIVE_RATES
    retrain: bool = True
    drop_overlap: bool = False
    shadows: int = 0
    references: int = 0

    def checked(self) -> Settings:
        """The settings with the seed as Python's own whole number, or an error."""
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise InputError(f"seed must be a whole number from 0 on, not {self.seed!r}")
        if not all(isinstance(number, int | float) for number in (self.confidence, self.margin)):
            raise InputError(f"confidence and margin must be numbers, not {self.confidence!r} and {self.margin!r}")
        if not 0.5 <= self.confidence <= 0.99999:
            raise InputError(f"confidence must be from 0.5 to 0.99999, not {self.confidence}")
        if not 0 < self.margin < 0.5:
            raise InputError(f"margin must be between 0 and 0.5, not {self.margin}")
        if not self.fprs or not all(0 < fpr < 1 for fpr in self.fprs):
            raise InputError(f"false-positive rates must lie between 0 and 1, not {self.fprs}")
        if isinstance(self.shadows, bool) or not isinstance(self.shadows, int) or self.shadows < 0 or self.shadows % 2:
            raise InputError(f"shadows is an even number of models, or 0 for none, not {self.shadows!r}")
        return replace(self, seed=int(self.seed))


def audit(
    model: Any,
    train: tuple[Any, Any],
    holdout: tuple[Any, Any],
    *,
    groups: Any = None,
    ids: Any = None,
    fit: Callable[[Any, Any, np.random.Generator], Any] | None = None,
    task: Any = None,
    classes: Any = None,
    outputs: Any = None,
    releases: Sequence[str] | None = None,
    attacks: Sequence[Attack] | None = None,
    shadows: int = 0,
    references: int = 0,
    retrain: bool = True,
    drop_overlap: bool = False,
    repeats: int | None = None,
    confidence: float = 0.95,
    margin: float = MARGIN,
    fprs: Sequence[float] = FALSE_POSITIVE_RATES,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    command: str = "",
    model_digest: str | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Measure what a trained model's answers give away about who was in its training set.

    Parameters
    ----------
    model, train, holdout, groups, ids, fit, task, classes, outputs
        See :func:`~leakscope.target.make_target`. ``holdout`` must be drawn like ``train`` and never trained on.
    releases
        What leaves the building: names such as ``["probabilities", "gradient", "smoothgrad:sigma=0.1"]``; see
        `releases.find_release`. Each is attacked, and what an explanation adds to the prediction is measured. By default
        labels or values, probabilities, and the losses that follow from them.
    attacks
        Attacks in the place of the usual ones (``leakscope.attacks.ATTACKS``).
    shadows
        Number of shadow models, an even number. The attacker then knows no member, and fits on models that are trained on
        half of the holdout. By default the attacker knows half of the members, as in the papers.
    references
        Number of reference models, an even number; 4 is a good choice. They are trained as the model was, on known halves of members
        and held-out records, and six more for the controls. The attack that compares each record with itself under these models
        finds several times more members than the others (see `evaluation.references`).
    retrain
        Train the model anew on two halves of the training records for the never-trained control, where it can be trained
        again. Otherwise the permuted control stands in, and the result says so.
    drop_overlap
        Remove from the holdout the records that stand in the training set too; otherwise they are only reported.
    repeats
        Answers to average for each record where the model answers the same query differently; by default 16. See
        `consistency`. Models whose answers do not vary are asked once.
    margin
        "No evidence" is said only where an AUC above 0.5 + ``margin`` is excluded.
    seed
        The same seed gives the same numbers to the last bit, with any number of workers.
    workers, cluster, cache
        See :func:`~leakscope.worlds.retrain`.
    epsilon, delta
        The differential privacy that the training promises, if it does: the report then says what no attack can pass. It
        is your word, and is not checked.
    command
        The command line that asked for the audit, for the record.
    model_digest
        SHA-256 of the file that the model was read from, by which ``leakscope gate --model`` recognises the file. By default
        the record holds a digest of what the model has learned.
    progress
        Called with (stage, done, total).

    Examples
    --------
    >>> from leakscope.toys import lookup
    >>> toy = lookup(n=300)
    >>> result = audit(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> result.verdict.kind, result.strongest.auc
    ('leaks', 1.00 [0.98, 1.00])
    """
    settings = Settings(
        seed, confidence, margin, read_rates(fprs), retrain, drop_overlap, shadows, references
    ).checked()
    bounds: tuple[Bound, ...] = () if epsilon is None else (promised(epsilon, delta),)
    check_work(workers, cluster, cache)
    clock = Clock()
    target = make_target(
        model, train, holdout, groups=groups, fit=fit, task=task, classes=classes, outputs=outputs, ids=ids
    )
    with clock("ask again"):
        target, consistency = average_random_answers(target, repeats, settings.seed)
    identity = model_fingerprint(model, model_digest)
    again = partial(train_again, workers=workers, cluster=cluster, cache=cache, progress=progress)
    _check_references(target, settings)
    selection = select(target, attacks, releases, settings.references > 0)
    found = _run(target, settings, selection, consistency, clock, again, progress)
    bounds = tuple(hold_against(bound, found) for bound in bounds)
    asked = {"releases": None if releases is None else [str(name) for name in releases]}
    found = replace(found, settings=found.settings | asked, fingerprints=found.fingerprints | identity)
    return replace(found, bounds=bounds, warnings=(*_broken(bounds, found), *found.warnings), command=str(command))


def _check_references(target: Target, settings: Settings) -> None:
    """Refuse reference models that can't be trained, before anything is."""
    check_references(settings.references, FEWEST_JUDGED)
    if settings.references and settings.shadows:
        raise InputError("name references or shadows, not both: references are the stronger attack")
    if settings.references and (target.learner is None or not settings.retrain):
        raise InputError(
            "reference models need a model that can be trained again: pass fit= and leave retrain on, or leave references out"
        )


def _broken(bounds: tuple[Bound, ...], found: Audit) -> list[str]:
    """What to say where an attack went beyond what was promised."""
    advantage = found.largest.advantage if found.largest is not None else found.strongest.advantage
    return [
        f"the promised privacy does not hold, or the two sets of records differ by themselves: it allows an advantage of "
        f"{bound.advantage.high:.3g} at most, and an attack has {advantage}"
        for bound in bounds
        if bound.contradicted
    ]


def read_rates(fprs: Any) -> tuple[float, ...]:
    """False-positive rates as numbers."""
    try:
        return tuple(float(fpr) for fpr in np.atleast_1d(np.asarray(fprs, dtype=np.float64)))
    except (TypeError, ValueError) as error:
        raise InputError(f"false-positive rates must be numbers, not {fprs!r}") from error


def _run(
    target: Target,
    settings: Settings,
    selection: Selection,
    consistency: Consistency,
    clock: Clock,
    again: Callable[..., list[dict[str, NDArray[Any]]]],
    progress: Progress | None,
) -> Audit:
    chosen = selection.attacks
    draws = iter(np.random.SeedSequence(settings.seed).spawn(7 + 3 * len(chosen)))
    with clock("compare records"):
        target, hashes, overlap = find_overlap(target, settings.drop_overlap, settings.seed)
    releases = _releases_of(chosen, target)
    shadows = None
    if settings.shadows:
        with clock("shadow models"):
            target, hashes, shadows = _shadows(target, hashes, releases, settings, again)
    sample = Sample.draw(*hashes, _rng(draws))
    check_enough(sample, hashes, overlap)
    check_references(settings.references, sample.judged)
    with clock("predict"):
        sides = (target.members, target.nonmembers)
        observed = [observe(target.model, side, releases, progress) for side in sides]
    with clock("ask again"):
        answers = [(side, shown[answers_of(target)]) for side, shown in zip(sides, observed, strict=True)]
        by_batch = answers_by_batch(target.model, answers, consistency, settings.seed)
        if by_batch:
            observed = _observe_mixed(target, releases, settings.seed, progress)
        obstacles = consistency.obstacles + by_batch + much_near_overlap(overlap)
    with clock("retrain"):
        seed = int(_rng(draws).integers(2**31))
        control, models = _controls(target, sample, hashes, observed, releases, settings, seed, again)
    with clock("blind baseline"), one_thread():
        blind = blind_guesses(target.members, target.nonmembers, sample, _rng(draws))
    groups, pooled = judged_groups(target.members, target.nonmembers, sample, target.model)
    chances = confidences_for_choice(settings.confidence, chosen, 1 + len(settings.fprs))
    trials, judged, both = [], [], []
    for done, (attack, chance) in enumerate(zip(chosen, chances, strict=True), start=1):
        with clock("attack"), one_thread():
            trial, others = try_attack(attack, target, sample, observed, control, shadows, draws)
        with clock("score"):
            both.append(assess(trial, blind, groups, confidences=(settings.confidence, chance), fprs=settings.fprs))
        # A copy without what scoring has cached, which for a million records is some 100 MB an attack.
        judged.append((replace(trial.target), others))
        trials.append(replace(trial, target=replace(trial.target)))
        if progress is not None:
            progress("attacking", done, len(chosen))
    own: dict[str, Any] = {"groups": list(target.members.groups)}
    own |= {"retrain": settings.retrain, "drop overlap": settings.drop_overlap, "shadows": settings.shadows}
    own |= {"references": settings.references, "repeats": consistency.repeats or 1}
    risks, careful = [plain for plain, _ in both], [wide for _, wide in both]
    best = choose_strongest(careful)
    chance = chances[best]
    band = with_band(careful[best].roc, judged[best][0].ranking, chance)
    records = exposure_table(target.members, models.exposure if models else exposure_of(sample, *judged[best]))
    audited = describe(target, sample, observed, control, settings.confidence)
    if shadows is not None:
        audited = replace(audited, shadow_models=ShadowModels(shadows.models, shadows.trained_on))
    basis = Basis(
        settings.margin, shared_share(sample, hashes, overlap), judged=0.5 if shadows else 1.0, obstacles=obstacles,
        fit=models.fit if models else None, exposed=most_exposed_group(careful, trials, blind, groups),
    )  # fmt: skip
    warnings = warn_about(target, sample, overlap, count_copies(hashes[0]), audited, pooled)
    return Audit(
        verdict=judge(careful[best], basis),
        basis=basis,
        strongest=replace(careful[best], roc=band),
        risks=tuple(risks),
        extras=_extras(selection, trials, settings.confidence),
        not_run=selection.not_run,
        warnings=tuple(dict.fromkeys([*consistency.warnings, *obstacles, *warnings, *trained_share(judged[best][0])])),
        target=audited,
        overlap=overlap,
        settings=recorded(settings, own, chosen, chance),
        fingerprints=_fingerprints(target),
        versions=versions(),
        seconds=clock.seconds,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        by_release=strongest_by_release(careful),
        largest=largest_figures(careful),
        exposed=most_exposed(records),
        records=records,
    )


def _controls(
    target: Target,
    sample: Sample,
    hashes: tuple[Hashes, Hashes],
    observed: Sequence[dict[str, Floats]],
    releases: tuple[str, ...],
    settings: Settings,
    seed: int,
    again: Callable[..., list[dict[str, NDArray[Any]]]],
) -> tuple[ControlWorld | None, ReferenceModels | None]:
    """Train the never-trained control, with reference models if they are asked for, whose statistics become a release."""
    if not settings.references:
        trainable = settings.retrain and target.learner is not None
        return (control_world(target, sample, hashes, releases, seed, again) if trainable else None), None
    models = train_references(
        target, sample, hashes, (observed[0], observed[1]), releases,
        references=settings.references, confidence=settings.confidence, seed=seed, retrain=again,
    )  # fmt: skip
    shown = (*observed, models.control.observed)
    for part, statistics in zip(shown, (*models.statistics, models.judged), strict=True):
        part[REFERENCES] = statistics
    return models.control, models


def check_enough(sample: Sample, hashes: tuple[Hashes, Hashes], overlap: Overlap) -> None:
    """Refuse an audit of too few different records."""
    if sample.judged >= FEWEST:
        return
    side = "held-out" if len(np.unique(hashes[1])) == sample.judged else "training"
    raise InputError(
        f"there are only {sample.judged} different {side} records{' left' if overlap.removed else ''}: "
        f"an audit needs at least {FEWEST} on each side"
    )


def _rng(draws: Iterator[np.random.SeedSequence]) -> np.random.Generator:
    return np.random.default_rng(next(draws))


# --- before anything is trained -------------------------------------------------------------------------------------


def _observe_mixed(
    target: Target, releases: tuple[str, ...], seed: int, progress: Progress | None
) -> list[dict[str, Floats]]:
    """Ask about both sides in the same batches: batches of members would differ from others by the batch alone."""
    both = join_records(target.members, target.nonmembers)
    order = np.random.default_rng([seed, len(both)]).permutation(len(both))
    shown, back = observe(target.model, both.take(order), releases, progress), np.argsort(order)
    rows = (back[: len(target.members)], back[len(target.members) :])
    return [{name: values[part] for name, values in shown.items()} for part in rows]


def _releases_of(attacks: Sequence[Attack], target: Target) -> tuple[str, ...]:
    """What the attacks read, what performance is measured by, and the answers themselves."""
    performance = "labels" if target.model.task == "classification" else "squared_error"
    read = (name for attack in attacks for name in attack.releases if name != REFERENCES)
    return tuple(dict.fromkeys([performance, answers_of(target), *read]))


def answers_of(target: Target) -> str:
    """Name of the release that is the model's answers as they are."""
    return "probabilities" if target.model.task == "classification" else "predictions"


def _shadows(
    target: Target,
    hashes: tuple[Hashes, Hashes],
    releases: tuple[str, ...],
    settings: Settings,
    again: Callable[..., list[dict[str, NDArray[Any]]]],
) -> tuple[Target, tuple[Hashes, Hashes], Shadows]:
    """Half of the holdout trains the shadow models; the target goes on with the other half."""
    if target.learner is None:
        raise InputError("shadow models need a model that can be trained again: pass fit=, or leave shadows out")
    rng = np.random.default_rng([settings.seed, settings.shadows])
    theirs, rest = split_holdout(hashes[1], rng)
    seed = int(rng.integers(2**31))
    shadows = train_shadows(target, theirs, releases, settings.shadows, seed, again)
    return replace(target, nonmembers=target.nonmembers.take(rest)), (hashes[0], hashes[1][rest]), shadows


def _extras(selection: Selection, trials: Sequence[Trial], confidence: float) -> tuple[Extra, ...]:
    """What each explanation adds to the prediction; the intervals hold for all of them at once (Bonferroni)."""
    together = 1 - (1 - confidence) / max(1, len(selection.pairs))
    return tuple(extra_leakage(trials[base], trials[more], together) for base, more in selection.pairs)


# --- what the table and the record hold --------------------------------------------------------------------------------


def judged_groups(
    members: Records, nonmembers: Records, sample: Sample, model: Model | None = None
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Levels of the judged records, small groups pooled, and a sentence for each column where that happened.

    With a model, the classes of the label, or its deciles in a regression, are groups too, unless a column has the same groups.
    """
    groups, said = {}, []
    for column in members.groups:
        levels = sample.judge(members.groups[column], nonmembers.groups[column])
        groups[column], pooled = pool_small_groups(levels, sample.member)
        if pooled:
            said.append(
                f"{count(pooled, 'group')} of {column} with fewer than {SMALLEST_GROUP} judged members or non-members: "
                "small groups are reported together, or not at all where even together they are too few"
            )
        if len(set(groups[column]) - {NOT_SHOWN}) < 2:
            said.append(
                f"there is nothing to compare in {column}: it has fewer than two groups of a size that is shown"
            )
    if model is not None:
        levels, small = label_groups(sample.judge(members.y, nonmembers.y), sample.member, model.classes)
        if not any(np.array_equal(pd.factorize(levels)[0], pd.factorize(other)[0]) for other in groups.values()):
            groups[label_column(model.task, groups)] = levels
            said += small
    return groups, said


def exposure_of(sample: Sample, judged: Judged, others: Floats) -> Floats:
    """Exposure of every training record by one attack, in the order of the training set."""
    scores, member, stratum = judged.guesses.score, judged.member, judged.scale.stratum
    other_stratum = sample.other_half if stratum.any() else np.zeros(len(others), np.intp)
    everyone, strata = np.concatenate([scores[member], others]), np.concatenate([stratum[member], other_stratum])
    values = np.empty(len(everyone))
    values[sample.members] = exposure(everyone, strata, scores[~member], stratum[~member])
    return values


def exposure_table(members: Records, values: Floats) -> pd.DataFrame:
    """Exposure and rank of every training record."""
    shown = pd.Series(values)
    rank = shown.rank(method="min", ascending=False).astype("int64")
    ids = pd.Series(members.ids)
    return pd.DataFrame({"id": ids if ids.dtype.kind in "iu" else ids.astype("str"), "score": shown, "rank": rank})


# --- the record ----------------------------------------------------------------------------------------------------


def recorded(settings: Settings, own: dict[str, Any], attacks: Sequence[Attack], chance: float) -> dict[str, Any]:
    """The settings as the record holds them; ``own`` are those of one kind of audit."""
    return {
        "seed": settings.seed,
        "confidence": settings.confidence,
        "confidence after the choice": chance,
        "margin": settings.margin,
        "false-positive rates": list(settings.fprs),
        **own,
        "smallest group": SMALLEST_GROUP,
        "attacks": [f"{attack.name} on {attack.release}" for attack in attacks],
    }


def _fingerprints(target: Target) -> dict[str, str]:
    return {
        "training records": fingerprint(target.members.X, target.members.y),
        "held-out records": fingerprint(target.nonmembers.X, target.nonmembers.y),
        "learner": target.learner.key if target.learner is not None else "none",
        CODE: code_digest(),
    }


class Clock:
    """Seconds spent in each step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[step] = round(self.seconds.get(step, 0.0) + time.perf_counter() - start, 3)
