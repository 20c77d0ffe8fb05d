"""The comparison of defenses: one path from a target and defenses to risk, utility and a recommendation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leakscope.attacks.selection import read_releases
from leakscope.core.checks import check_number
from leakscope.core.errors import InputError
from leakscope.core.result import Caveat, plain_settings
from leakscope.core.versions import stamp
from leakscope.data.fingerprints import fingerprint
from leakscope.data.splitting import is_random_split
from leakscope.defenses import Defense
from leakscope.evaluation.audited_target import near_overlap
from leakscope.evaluation.prepare import check_references, prepare
from leakscope.evaluation.results import Basis
from leakscope.evaluation.risk import FALSE_POSITIVE_RATES
from leakscope.evaluation.settings import MARGIN, Clock, Settings, read_rates
from leakscope.evaluation.verdict import MUCH_OVERLAP, confidence_for_choice, confidences_for_choice
from leakscope.models.model import Outputs, Task
from leakscope.models.target import Target
from leakscope.releases.consistency import answers_by_batch, average_random_answers
from leakscope.releases.record_explanations.release import RecordRelease
from leakscope.releases.release import RELEASES, Progress
from leakscope.studies.compare.attacking import ComparisonCase, attacks_on
from leakscope.studies.compare.claims import comparison_claims, recommend
from leakscope.studies.compare.combining import combine
from leakscope.studies.compare.guarantees import does_it_leak
from leakscope.studies.compare.measuring import measure_all
from leakscope.studies.compare.plan import Limits, Planned, plan, read_defenses
from leakscope.studies.compare.record_explanations import compare_records, read_release
from leakscope.studies.compare.result import Comparison
from leakscope.studies.inputs import formerly, read_target, read_work
from leakscope.studies.one_run_bound import stand_alone

#: Largest utility loss of a recommended version: loss of accuracy, or relative increase of the mean squared error.
UTILITY_LOSS = 0.01


@formerly("defenses", explanations="releases", price="utility_loss", shadows="references")
def compare(
    model: Any,
    train: tuple[Any, Any] | None = None,
    holdout: tuple[Any, Any] | None = None,
    *,
    defenses: Sequence[Defense | str] | Defense | str,
    groups: Any = None,
    bins: Mapping[str, Sequence[float] | None] | None = None,
    ids: Any = None,
    sample_weight: Any = None,
    fit: Callable[[Any, Any, np.random.Generator], Any] | None = None,
    task: Task | None = None,
    classes: ArrayLike | None = None,
    outputs: Outputs | None = None,
    releases: Sequence[str] = (),
    record_explanations: RecordRelease | bool | None = None,
    utility_loss: float = UTILITY_LOSS,
    references: int | None = None,
    budget: float | None = None,
    random_split: bool = False,
    retrain: bool = True,
    drop_overlap: bool = False,
    repeats: int | None = None,
    confidence: float = 0.95,
    margin: float = MARGIN,
    tolerance: float = MARGIN,
    fprs: Sequence[float] = FALSE_POSITIVE_RATES,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> Comparison:
    """Run the same attacks on a model as it is and on defended versions, and compare risk and utility.

    Parameters
    ----------
    model, train, holdout, groups, bins, ids, sample_weight, fit, task, classes, outputs
        See :func:`leakscope.audit`. Defenses that change training need a model that can be trained again.
    defenses
        Defenses of `leakscope.defenses`, or their short names: ``["l2", leakscope.defenses.Rounding([1])]``.
    releases
        Feature explanations that are released with the outputs, such as ``["gradient"]``: they are attacked too.
    record_explanations
        Record explanations that are released, as a `RecordRelease`, or True for five records with their influences:
        ``Comparison.record_explanations`` has what attacks recover of the training set through them.
    utility_loss
        A version is recommended only if its utility loss is significantly below this: loss of accuracy, or for a regression the
        relative increase of the mean squared error. The faithfulness of explanations has the same limit.
    references
        Reference models that the attacker trains *with* the defense for every learner, an even number; 4 by default, 0 for none.
    budget
        Seconds of training. Each round trains one pair of references for every learner, until the next round would end later: up to
        ``references``, by default up to 64. The first round is always trained, and all versions have the same number of references.
        Ctrl-C after the first round ends the training in the same way. Without a budget the learners are trained one after the other,
        and Ctrl-C leaves out the versions that were not measured.
    retrain
        Train the never-trained controls and the reference models. Without them, the control permutes memberships.
    tolerance
        How much worse the AUC of a version may be than that of another version that it dominates by a better utility.
    random_split, drop_overlap, repeats, confidence, margin, fprs, seed, workers, cluster, cache, progress
        See :func:`leakscope.audit`.

    Examples
    --------
    >>> import leakscope as ls
    >>> toy = ls.toys.lookup(n=300)
    >>> found = compare(toy.model, toy.train, toy.holdout, fit=toy.fit, defenses=ls.defenses.LabelOnly())
    >>> [(version.name, round(version.risk.auc.value, 2)) for version in found.compared]
    [('as it is', 1.0), ('label-only', 0.84)]
    """
    split = bool(random_split) or is_random_split(train, holdout)
    asked = Settings(seed, confidence, margin, read_rates(fprs), retrain, drop_overlap, references, split, budget)
    work = read_work(asked, workers, cluster, cache, progress)
    settings, clock = work.settings, work.clock
    check_number("utility_loss", utility_loss, 0, 1)
    check_number("tolerance", tolerance, 0, 0.5, open_ends=True)
    limits = Limits(utility_loss, tolerance)
    check_references(settings)
    target = read_target(
        model,
        train,
        holdout,
        groups=groups,
        bins=bins,
        sample_weight=sample_weight,
        ids=ids,
        fit=fit,
        task=task,
        classes=classes,
        outputs=outputs,
    )
    target, consistency = average_random_answers(target, repeats, settings.seed)
    planned, refused = plan(target, read_defenses(defenses))
    of_records = [version for version in planned if version.made.records is not None]
    planned = [version for version in planned if version.made.records is None]
    release = read_release(record_explanations, target, of_records)
    explained = _read_explanations(releases, planned)
    with clock("record explanations"):
        by_records = None if release is None else compare_records(
            target, of_records, release, settings, limits, progress
        )  # fmt: skip
    case, alone, warnings, obstacles = _prepare(target, settings, planned, explained, clock)
    planned_references = case.design.numbers.references
    measured = measure_all(case, planned, explained, work)
    seen, failed, case = measured.seen, measured.failed, measured.case
    if measured.stopped == "interrupt":
        used = case.design.numbers.references
        warnings.append(Caveat("interrupted", {"used": used, "planned": planned_references}))
    with clock("compare"):
        found, allowed = combine(case, seen, alone, limits)
    held_out = seen[0].quality.answers.reshape(len(case.target.nonmembers), -1)
    answered = [(case.target.nonmembers, held_out)]
    obstacles += consistency.obstacles + answers_by_batch(case.target.model, answered, consistency, settings.seed)
    warnings += [*consistency.warnings, *obstacles, *_without_weights(planned, case.target)]
    basis = Basis(settings.margin, random_split=settings.random_split, obstacles=tuple(obstacles))
    leaks, verdict, doubt = does_it_leak(case, seen[0].outcome, basis)
    if doubt is not None and doubt not in warnings:
        warnings.insert(0, doubt)
    if settings.random_split:
        warnings.append(Caveat("stated_random_split"))
    elif found[0].control_kind == "permuted":
        warnings.append(Caveat("permuted_control", {"retrainable": case.target.learner is not None}))
    if by_records is not None:
        warnings += [*by_records.warnings, Caveat("records_recovered", {"share": by_records.as_it_is.share})]
    result = Comparison(
        compared=tuple(found),
        verdict=verdict,
        recommendation=recommend(found, allowed, leaks=leaks, doubt=doubt),
        utility_limit=allowed[0],
        faithfulness_limit=allowed[1],
        record_explanations=by_records,
        not_run=(*refused, *failed),
        warnings=tuple(warnings),
        settings=plain_settings(_recorded(case, settings, found[0].main.metric, explained, limits)),
        fingerprints={
            "training records": fingerprint(case.target.members.X, case.target.members.y),
            "held-out records": fingerprint(case.target.nonmembers.X, case.target.nonmembers.y),
        },
        seconds=clock.seconds,
        command=str(command),
        **stamp(),
    )
    return replace(result, claims=tuple(comparison_claims(result)))


def _without_weights(planned: Sequence[Planned], target: Target) -> list[Caveat]:
    """State which versions are trained without the sample weights of the model."""
    if target.members.weights is None:
        return []
    learners = {version.name: version.learner(target) for version in planned}
    without: list[Any] = [name for name, learner in learners.items() if learner is None or not learner.takes_weights]
    return [Caveat("weights_not_used", {"models": without})] if without else []


def _recorded(
    case: ComparisonCase, settings: Settings, metric: str, explained: Sequence[str], limits: Limits
) -> dict[str, Any]:
    """How all was measured."""
    target = case.target
    weighted = target.members.weights is not None
    used = {"sample weights": target.learner is not None and target.learner.takes_weights} if weighted else {}
    return used | {
        "model": target.model.name,
        "task": target.model.task,
        "members": len(target.members),
        "held out": len(target.nonmembers),
        "judged": case.sample.judged,
        "releases": list(explained),
        **asdict(limits),
        "metric": metric,
        "references": case.design.numbers.references,
        "budget": settings.budget,
        "random split": settings.random_split,
        "retrain": settings.retrain,
        "margin": settings.margin,
        "confidence": settings.confidence,
        "confidence of each risk": case.together,
        "false-positive rates": list(settings.fprs),
        "seed": settings.seed,
    }


def _read_explanations(releases: Sequence[str], planned: Sequence[Planned]) -> tuple[str, ...]:
    names = tuple(release.name for release in read_releases(releases)) if len(releases) else ()
    if plain := [name for name in names if name in RELEASES]:
        raise InputError(
            f"{plain[0]} is not an explanation: the outputs are always attacked, name explanations such as gradient"
        )
    if not names and any(version.made.explanation is not None for version in planned):
        raise InputError(
            "a defense of explanations needs a released explanation: name it with releases=['gradient'] (--releases)"
        )
    return names


def _prepare(
    target: Target, settings: Settings, planned: Sequence[Planned], explained: Sequence[str], clock: Clock
) -> tuple[ComparisonCase, Any, list[Caveat], tuple[Caveat, ...]]:
    """Which records are judged, by what, and which models are trained, once for all versions; warnings and obstacles."""
    prepared = prepare(target, settings, clock, references_used=True)
    target, judging, numbers = prepared.target, prepared.case, prepared.design.numbers
    masks = any(version.made.answers is not None for version in planned)
    attacks = {
        version.name: attacks_on(target, version, explained, references=numbers.references > 0, masks=masks)
        for version in planned
    }
    everything = [attack for some in attacks.values() for attack in some]
    figures = 1 + len(settings.fprs)
    chances = iter(confidences_for_choice(settings.confidence, everything, len(settings.fprs)))
    case = ComparisonCase(
        sample=judging.sample, labels=judging.labels, blind=judging.blind, groups=judging.groups, seed=judging.seed,
        fprs=judging.fprs, target=target, design=prepared.design, training_seed=prepared.seed,
        confidence=settings.confidence, together=confidence_for_choice(settings.confidence, len(everything), figures),
        attacks={name: [(attack, next(chances)) for attack in some] for name, some in attacks.items()},
    )  # fmt: skip
    hashes, overlap, said = prepared.hashes, prepared.overlap, [*target.warnings, *prepared.said]
    obstacles = near_overlap(overlap)
    if overlap.count and not overlap.removed:
        copies = Caveat("copies_in_holdout", {"records": overlap.count, "removed": False})
        if np.isin(hashes[1][case.sample.nonmembers], hashes[0]).mean() >= MUCH_OVERLAP:
            obstacles += (copies,)
        else:
            said.append(copies)
    return case, stand_alone(hashes, case.sample), said, obstacles
