"""The comparison: one path from a target and defenses to risk, price and a recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leakscope.auditing import MARGIN, Clock, Settings, check_enough, find_overlap, judged_groups, read_rates
from leakscope.blind import blind_guesses
from leakscope.comparison.attacking import KNOWS, STABILITY, Case, Outcome, attack_version, attacks_on, explained_by
from leakscope.comparison.choosing import Rivals, recommend
from leakscope.comparison.claims import does_it_leak, hold_claim, stand_alone
from leakscope.comparison.paired import pair_aucs
from leakscope.comparison.plan import Planned, plan, read_defenses
from leakscope.comparison.record_explanations import compare_records, read_release
from leakscope.comparison.result import AS_IT_IS, Attacked, Comparison, Version
from leakscope.comparison.training import ANSWERS, Trained, make_design, train
from leakscope.comparison.utility import Quality, pool_levels, price_by_group, price_of_explanations
from leakscope.comparison.utility import price as price_of
from leakscope.crossfit import Sample
from leakscope.defenses import Defense
from leakscope.errors import InputError
from leakscope.fingerprints import fingerprint
from leakscope.intervals import mean_of_runs
from leakscope.reconstruction.release import RecordRelease
from leakscope.releases import RELEASES, Progress
from leakscope.results import Estimate, NotRun
from leakscope.risk import FALSE_POSITIVE_RATES, assess
from leakscope.selection import read_releases
from leakscope.target import Records, Target
from leakscope.verdict import confidence_for_choice, largest_figures
from leakscope.versions import versions
from leakscope.workers import check_work, one_thread
from leakscope.worlds import retrain as train_again

#: Shadow models of the attacker, for every learner.
SHADOWS = 8
#: Loss of accuracy (or rise of the relative mean squared error) that a recommended version may cost.
PRICE = 0.01


def compare(
    target: Target,
    defenses: Sequence[Defense | str] | Defense | str,
    *,
    explanations: Sequence[str] = (),
    record_explanations: RecordRelease | bool | None = None,
    price: float = PRICE,
    shadows: int = SHADOWS,
    retrain: bool = True,
    drop_overlap: bool = False,
    confidence: float = 0.95,
    margin: float = MARGIN,
    fprs: Sequence[float] = FALSE_POSITIVE_RATES,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    cache: str | Path | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> Comparison:
    """Run the same attacks on a model as it is and on defended versions, and say what each buys and costs.

    Parameters
    ----------
    target
        What `make_target` gives; defenses that change training need one that can be trained again.
    defenses
        Defenses of `leakscope.defenses`, or their short names: ``["l2", leakscope.defenses.Rounding([1])]``.
    explanations
        Explanations by features that are released beside the answers, such as ``["gradient"]``: they are attacked too.
    record_explanations
        Explanations by training records that are released, as a `RecordRelease`, or True for five records with their influences:
        what attacks recover of the training set through them is compared beside the versions, in ``Comparison.record_explanations``.
    price
        A version is recommended only if it surely costs no more than this: loss of accuracy, or for a regression the rise of
        the mean squared error as a share of what it is.
    shadows
        Shadow models that the attacker trains *with* the defense for every learner, an even number; 0 for none.
    retrain
        Train the never-trained controls and the shadow models. Without, the permuted control stands in.
    margin
        One version may be worse than another by so much of the AUC and still be said to beat it by a better utility.
    drop_overlap, confidence, fprs, seed, workers, cluster, cache, progress
        See :func:`leakscope.audit`.

    Examples
    --------
    >>> import leakscope as ls
    >>> toy = ls.toys.lookup(n=300)
    >>> target = ls.make_target(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> found = compare(target, ls.defenses.LabelOnly(), shadows=4)
    >>> [(version.name, round(version.risk.auc.value, 2)) for version in found.versions]
    [('as it is', 1.0), ('label-only', 0.84)]
    """
    settings = Settings(seed, confidence, margin, read_rates(fprs), retrain, drop_overlap, shadows).checked()
    _check(target, price)
    check_work(workers, cluster, cache)
    planned, refused = plan(target, read_defenses(defenses))
    of_records = [version for version in planned if version.made.records is not None]
    planned = [version for version in planned if version.made.records is None]
    release = read_release(record_explanations, target, of_records)
    explained = _read_explanations(explanations, planned)
    clock = Clock()
    with clock("explanations by records"):
        by_records = None if release is None else compare_records(
            target, of_records, release, price=price, margin=margin, confidence=confidence, seed=seed, progress=progress
        )  # fmt: skip
    case, alone, warnings = _prepare(target, settings, planned, explained, clock)
    again = partial(train_again, workers=workers, cluster=cluster, cache=cache)
    with clock("train"):
        models_of, failed = _train_all(case, planned, explained, again, progress)
    planned, trained = [version for version, _ in models_of], [models for _, models in models_of]
    with clock("attack"):
        outcomes = []
        for done, (version, models) in enumerate(zip(planned, trained, strict=True), start=1):
            outcomes.append(attack_version(case, version, models, explained))
            if progress is not None:
                progress("attacking", done, len(planned))
    with clock("compare"):
        found = _combine(case, planned, trained, outcomes, alone, explained, price, margin)
    metric = found[0].main.metric
    run = {
        "model": target.model.name,
        "task": target.model.task,
        "members": len(target.members),
        "held out": len(target.nonmembers),
        "judged": case.sample.judged,
        "explanations": list(explained),
        "price": price,
        "metric": metric,
        "shadows": settings.shadows if trained[0].control is not None else 0,
        "retrain": settings.retrain,
        "margin": settings.margin,
        "confidence": settings.confidence,
        "confidence of each risk": case.together,
        "false-positive rates": list(settings.fprs),
        "seed": settings.seed,
        "training records": fingerprint(target.members.X, target.members.y),
        "held-out records": fingerprint(target.nonmembers.X, target.nonmembers.y),
        "versions": versions(),
        "seconds": clock.seconds,
        "command": str(command),
    }
    allowed = price if target.model.task == "classification" else price * found[0].main.value.value
    leaks, doubt = does_it_leak(case, outcomes[0], settings.margin)
    if doubt:
        warnings.insert(0, doubt)
    recommendation = recommend(
        [version.name for version in found],
        [version.risk.auc for version in found],
        [version.lowered for version in found],
        [version.utility for version in found],
        (allowed, price),
        [version.promise == "broken" for version in found],
        [version.faithfulness for version in found],
        found[0].surely_beaten_by,
        leaks,
        doubt,
    )
    if by_records is not None:
        warnings.append(
            "risk is that of telling who was trained on; through explanations by records as they are, attacks see a share of "
            f"{by_records.as_it_is.share} of the training records themselves"
        )
    return Comparison(tuple(found), (*refused, *failed), recommendation, tuple(warnings), run, by_records)


def _check(target: Target, price: float) -> None:
    if not isinstance(target, Target):
        raise InputError("compare takes a target: make one with leakscope.make_target(model, train, holdout)")
    if not isinstance(price, int | float) or isinstance(price, bool) or not 0 <= price < 1:
        raise InputError(f"price is a loss of accuracy from 0 to below 1, not {price!r}")


def _read_explanations(explanations: Sequence[str], planned: Sequence[Planned]) -> tuple[str, ...]:
    names = tuple(release.name for release in read_releases(explanations)) if len(explanations) else ()
    if plain := [name for name in names if name in RELEASES]:
        raise InputError(
            f"{plain[0]} is no explanation: the answers are always attacked, name explanations such as gradient"
        )
    if not names and any(version.made.explanation is not None for version in planned):
        raise InputError(
            "a defense of explanations needs one that is released: name it with explanations=['gradient'] (--explanations)"
        )
    return names


def _prepare(
    target: Target, settings: Settings, planned: Sequence[Planned], explained: Sequence[str], clock: Clock
) -> tuple[Case, Any, list[str]]:
    """Who is judged, by what, and in which worlds models are trained: once for all versions."""
    rngs = [np.random.default_rng(one) for one in np.random.SeedSequence(settings.seed).spawn(3)]
    with clock("compare records"):
        target, hashes, overlap = find_overlap(target, settings.drop_overlap)
    sample = Sample.draw(*hashes, rngs[0])
    check_enough(sample, hashes, overlap)
    everyone = _both(target.members, target.nonmembers)
    design = make_design(
        target, everyone, sample, hashes, shadows=settings.shadows, controls=settings.retrain,
        seed=int(rngs[1].integers(2**31)),
    )  # fmt: skip
    with clock("blind baseline"), one_thread():
        blind = blind_guesses(target.members, target.nonmembers, sample, rngs[2])
    groups, warnings = judged_groups(target.members, target.nonmembers, sample)
    shadows = settings.retrain and settings.shadows > 0
    counts = [
        len(attacks_on(target, version, explained, shadows and version.learner(target) is not None))
        for version in planned
    ]
    together = confidence_for_choice(settings.confidence, sum(counts), 1 + len(settings.fprs))
    case = Case(target, sample, design, blind, groups, settings.seed, settings.confidence, together, settings.fprs)
    said = [*target.warnings, *warnings]
    if overlap.count and not overlap.removed:
        said.append(
            f"{overlap.count} training records stand in the holdout too: all risks are drawn towards chance (drop_overlap)"
        )
    return case, stand_alone(hashes, case), said


def _both(members: Records, nonmembers: Records) -> Records:
    """Members and non-members below each other; names and groups stay behind."""
    both = [members.X, nonmembers.X]
    X = pd.concat(both, ignore_index=True) if isinstance(members.X, pd.DataFrame) else np.concatenate(both)
    return Records(X, np.concatenate([members.y, nonmembers.y]), np.arange(len(X)))


def _train_all(
    case: Case, planned: Sequence[Planned], explained: Sequence[str], again: Any, progress: Progress | None
) -> tuple[list[tuple[Planned, Trained]], list[NotRun]]:
    """The models of every version, and the versions that could not be trained; those with the same learner share them.

    That one of several defenses fails is told beside the others, which it takes nothing from; that the model as it is can't
    be trained again is an error.
    """
    by_learner: dict[int, list[Planned]] = {}
    for version in planned:
        by_learner.setdefault(id(version.learner(case.target)), []).append(version)
    found: dict[int, Trained] = {}
    failed: list[NotRun] = []
    for done, (key, sharing) in enumerate(by_learner.items()):
        names = tuple(dict.fromkeys(name for version in sharing for name in explained_by(version, explained)))
        releases = (STABILITY, *names) if case.target.model.task == "classification" else names
        steps = None if progress is None else partial(_step, progress, done, len(by_learner))
        learner = sharing[0].learner(case.target)
        try:
            found[key] = train(case.target, learner, case.design, releases, case.seed, partial(again, progress=steps))
        except InputError as error:
            if learner is case.target.learner:
                raise
            failed += [NotRun("", version.name, str(error).rstrip(".")) for version in sharing]
        if progress is not None:
            progress("training", 100 * (done + 1), 100 * len(by_learner))
    if len(failed) == len(planned) - 1 and failed:
        raise InputError(f"none of the versions could be trained; {failed[0].attack}: {failed[0].reason}")
    keys = [id(version.learner(case.target)) for version in planned]
    return [(version, found[key]) for version, key in zip(planned, keys, strict=True) if key in found], failed


def _step(progress: Progress, before: int, learners: int, stage: str, done: int, total: int) -> None:  # noqa: ARG001
    """One bar over the models of all learners, in hundredths of a learner."""
    progress("training", 100 * before + 100 * done // max(total, 1), 100 * learners)


# --- what comes out ---------------------------------------------------------------------------------------------------


def _combine(
    case: Case,
    planned: Sequence[Planned],
    trained: Sequence[Trained],
    outcomes: Sequence[Outcome],
    alone: Any,
    explained: Sequence[str],
    price: float,
    margin: float,
) -> list[Version]:
    task, labels = case.target.model.task, case.target.nonmembers.y
    qualities = [Quality(version.shown(case.target, models.nonmembers[ANSWERS]), labels, task) for version, models in
                 zip(planned, trained, strict=True)]  # fmt: skip
    scores = [parts for outcome in outcomes for parts in outcome.scores]
    ends = np.cumsum([0, *(len(outcome.scores) for outcome in outcomes)])
    places = [range(start, stop) for start, stop in pairwise(ends)]
    paired = pair_aucs(scores, case.confidence, case.seed)
    allowed = price if task == "classification" else price * float(-qualities[0].compared[0].mean())
    shown_by = [{name: models.faithful[name] for name in explained_by(version, explained)} for version, models in
                zip(planned, trained, strict=True)]  # fmt: skip
    every = [(*quality.compared, *faithful.values()) for quality, faithful in zip(qualities, shown_by, strict=True)]
    limits = (allowed, *[price] * (len(every[0]) - 1))
    rivals = Rivals(paired, places, every, margin, limits)
    beaten, surely = rivals.beaten(), rivals.surely_beaten()
    levels = {column: pool_levels(values) for column, values in case.target.nonmembers.groups.items()}
    shown = sum(len(set(values.tolist())) for values in levels.values())
    others = max(1, len(planned) - 1)
    metrics = len(qualities[0].measure(case.confidence)) + len(explained)
    by_metric = 1 - (1 - case.confidence) / (others * metrics)
    group_level = 1 - (1 - case.confidence) / (others * max(1, shown))
    claims = max(1, sum(version.made.guarantee is not None for version in planned))
    found = []
    for at, (version, models, outcome) in enumerate(zip(planned, trained, outcomes, strict=True)):
        epsilon, promise = hold_claim(case, outcome, alone, version.made.guarantee, 1 - (1 - case.confidence) / claims)
        best, exposed = outcome.careful[outcome.strongest], _exposed_groups(case, outcome)
        found.append(
            Version(
                name=version.name,
                defense=version.defense,
                knob=version.knob,
                setting=version.setting,
                what=version.what,
                source=version.source,
                changes=version.changes,
                risk=largest_figures(outcome.careful),
                strongest=f"{best.attack} on {best.release}",
                control=best.control.auc,
                control_kind=best.control.kind,
                attacks=tuple(_attacked(risk) for risk in outcome.careful),
                lowered=None if version.name == AS_IT_IS else rivals.risk_change(at, 0),
                utility=price_of(
                    qualities[at],
                    qualities[0],
                    case.confidence,
                    by_metric,
                    same=version.answers_stay,
                    same_labels=version.labels_stay,
                ),
                groups=price_by_group(
                    qualities[at],
                    qualities[0],
                    levels,
                    case.confidence,
                    group_level,
                    exposed,
                    same=version.labels_stay if task == "classification" else version.answers_stay,
                ),
                faithfulness=price_of_explanations(shown_by[at], shown_by[0], case.confidence, by_metric),
                retrained=_retrained(case, version, models),
                guarantee=version.made.guarantee,
                epsilon=epsilon,
                promise=promise,
                beaten_by=_name(planned, beaten[at]),
                surely_beaten_by=_name(planned, surely[at]),
                notes=version.made.notes,
            )
        )
    return found


def _name(planned: Sequence[Planned], place: int | None) -> str | None:
    return None if place is None else planned[place].name


def _attacked(risk: Any) -> Attacked:
    knows = next((words for name, words in KNOWS.items() if name in risk.attack.lower()), "")
    return Attacked(risk.attack, risk.release, risk.auc, risk.tpr_at_fpr, risk.control.auc, knows)


def _exposed_groups(case: Case, outcome: Outcome) -> dict[tuple[str, str], Estimate]:
    """AUC of the strongest attack in each group that is large enough on both sides."""
    trial = outcome.trials[outcome.strongest]
    (risk,) = assess(trial, case.blind, case.groups, confidences=(case.together,), fprs=case.fprs)
    return {(group.column, group.level): group.auc for group in risk.by_group}


def _retrained(case: Case, version: Planned, models: Trained) -> Estimate | None:
    """The first metric over models trained on other draws of records, each on the records that it did not see."""
    labels = case.sample.judge(case.target.members.y, case.target.nonmembers.y)
    values = []
    for answers, unseen in models.retrained:
        quality = Quality(version.shown(case.target, answers), labels[unseen], case.target.model.task)
        values.append(float(next(iter(quality.per_record.values())).mean()))
    return mean_of_runs(np.array(values), case.confidence) if len(values) > 1 else None
