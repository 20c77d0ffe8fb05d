"""The audit: one path from a target to a verdict. Each step is one function of one module."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from leakscope.attacks.protocol import Attack
from leakscope.attacks.references import fit_of
from leakscope.attacks.selection import Selection, select
from leakscope.core.arrays import Floats
from leakscope.core.result import Caveat
from leakscope.data.fingerprints import fingerprint
from leakscope.data.small_groups import NOT_SHOWN, SMALL_GROUPS, SMALLEST_GROUP, pool_levels
from leakscope.data.splitting import is_random_split
from leakscope.defenses.defense import gives_labels_only, say_labels
from leakscope.evaluation.audit_claims import audit_claims
from leakscope.evaluation.audited_target import describe, label_levels, much_near_overlap, trained_share, warn_about
from leakscope.evaluation.concluding import Tried, try_attacks
from leakscope.evaluation.design import Numbers
from leakscope.evaluation.explanation_gain import extra_leakage
from leakscope.evaluation.exposure import Exposures, exposure_by_references, procedure_risk
from leakscope.evaluation.prepare import Prepared, check_references, prepare, shared_share
from leakscope.evaluation.references import compared_explanations, fit_of_members, observe_version, special_releases
from leakscope.evaluation.results import Audit, Basis, Bound, EpsilonClaim, Extra, Procedure
from leakscope.evaluation.risk import FALSE_POSITIVE_RATES, JudgedAttack, most_exposed_group
from leakscope.evaluation.settings import MARGIN, Settings, read_rates
from leakscope.evaluation.training import Questions, Show, Trained, Training, answers_in, answers_of, ask, train
from leakscope.models.model import Outputs, Task
from leakscope.models.provenance import CODE, code_digest, model_fingerprint
from leakscope.models.target import Target
from leakscope.releases.consistency import Consistency, answers_by_batch, average_random_answers
from leakscope.releases.release import Progress
from leakscope.studies.inputs import Work, formerly, given_model, read_target, read_work
from leakscope.studies.one_run_bound import bound_epsilon, promised, stand_alone


@formerly(shadows="references")
def audit(
    model: Any,
    train: tuple[Any, Any] | None = None,
    holdout: tuple[Any, Any] | None = None,
    *,
    groups: Any = None,
    bins: Mapping[str, Sequence[float] | None] | None = None,
    ids: Any = None,
    sample_weight: Any = None,
    fit: Callable[[Any, Any, np.random.Generator], Any] | None = None,
    task: Task | None = None,
    classes: ArrayLike | None = None,
    outputs: Outputs | None = None,
    releases: Sequence[str] | None = None,
    attacks: Sequence[Attack | str] | None = None,
    references: int | None = None,
    budget: float | None = None,
    random_split: bool = False,
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
    """Measure what the outputs of a trained model reveal about who was in its training data.

    Parameters
    ----------
    model, train, holdout, groups, bins, ids, sample_weight, fit, task, classes, outputs
        A `Target` alone, or what :func:`~leakscope.models.target.make_target` takes. ``holdout`` must come from the population of
        ``train``, and the model must not be trained on it.
    releases
        Outputs made available: names such as ``["probabilities", "gradient", "smoothgrad:sigma=0.1"]``; see
        `releases.find_release`. Each is attacked, and what an explanation adds to the prediction is measured. By default
        labels or values, probabilities, and the losses that follow from them.
    attacks
        Attacks in the place of the default ones: short names of ``leakscope.attacks.REGISTRY`` or attacks that you made. The name
        ``"default"`` adds the default ones: ``["default", "boundary"]``.
    references
        Number of reference models, an even number: 4 by default, 2 for a quick audit, 0 for none. They are trained as the model was, on
        known halves of members and held-out records, and six more for the controls (`evaluation.design`). Attacks that compare each
        record with itself under these models find several times more members than the others. Ctrl-C after the first pair of references
        ends the training; the result then uses the pairs that exist, and says so.
    budget
        Seconds of training. Pairs of references are trained until the next pair would end later: up to ``references``, by default up
        to 64. The first pair and the controls are always trained. The number that was reached is recorded, and the result equals the
        one of an audit with that number of references.
    random_split
        Your statement that members and held-out records come from one random split, such as ``train_test_split``; the two sides of
        `leakscope.split` need no statement, unless a Target was made of them. Membership is then randomised, so that an AUC significantly above 1/2 is evidence by
        itself, and the models of the controls are not trained. The statement is recorded; the blind baseline checks it, and overrules
        it where it contradicts it significantly.
    retrain
        Train the model again for references and controls, where it can be. Otherwise the permuted control replaces it, and the result
        says so.
    drop_overlap
        Remove from the holdout the records that are in the training set too; otherwise they are only reported.
    repeats
        Answers to average for each record where the model answers the same query differently; by default 16. See
        `consistency`. Models whose answers do not vary are asked once.
    margin
        "Not detected" is stated only where an AUC above 0.5 + ``margin`` is excluded.
    seed
        The same seed gives the same numbers to the last bit, with any number of workers.
    workers, cluster, cache
        See :func:`~leakscope.worlds.training.retrain`.
    epsilon, delta
        The differential privacy that the training is claimed to have, for the swap of one record: an ε for records that are added or
        removed counts twice. The report says what no attack can exceed, and the verdict is "claim_refuted" where the lower bound on ε
        from this model is above the claim.
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
    ('leaks', 1.000 [0.991, 1.000])
    """
    split = bool(random_split) or is_random_split(train, holdout)
    asked = Settings(seed, confidence, margin, read_rates(fprs), retrain, drop_overlap, references, split, budget)
    work = read_work(asked, workers, cluster, cache, progress)
    claimed = None if epsilon is None else promised(epsilon, delta)
    target = read_target(
        model,
        train,
        holdout,
        groups=groups,
        bins=bins,
        sample_weight=sample_weight,
        fit=fit,
        task=task,
        classes=classes,
        outputs=outputs,
        ids=ids,
    )
    with work.clock("ask again"):
        target, consistency = average_random_answers(target, repeats, work.settings.seed)
    identity = model_fingerprint(given_model(model), model_digest)
    check_references(work.settings)
    selection = select(target, attacks, releases, work.settings.references != 0)
    found = _run(target, work, selection, consistency, claimed)
    named = {"releases": None if releases is None else [str(name) for name in releases]}
    seconds = dict(found.seconds)
    if cache is not None and "retrain" in seconds:
        # Under another name: what was read from the cache took no time, so that this is not the time of the trainings.
        seconds["retrain with cache"] = seconds.pop("retrain")
    return replace(
        found,
        seconds=seconds,
        settings=found.settings | named,
        fingerprints=found.fingerprints | identity,
        command=str(command),
    )


def _run(target: Target, work: Work, selection: Selection, consistency: Consistency, claimed: Bound | None) -> Audit:
    settings, clock = work.settings, work.clock
    prepared = prepare(target, settings, clock, references_used=selection.uses_references)
    target, case = prepared.target, prepared.case
    selection = selection.without_references(prepared.no_references) if prepared.no_references else selection
    trained, obstacles = _train(prepared, work, selection.attacks, consistency)
    show = as_released(target)
    names = _releases_of(selection.attacks, target)
    observed = observe_version(target, case.sample, trained, 0, show, names)
    fit = fit_of_members(target, case.sample, trained, 0, show, settings.confidence)
    exposures = _exposures(prepared, trained, settings.confidence)
    procedure = _procedure(target, trained, settings)
    trained = replace(trained, control=None, fits=())  # what the other models said of each record takes much memory
    compared = {at for pair in selection.pairs for at in pair}
    tried = try_attacks(selection.attacks, case, observed, settings, clock, work.progress, compared)
    basis = Basis(
        settings.margin,
        shared_share(case.sample, prepared.hashes, prepared.overlap),
        random_split=settings.random_split,
        obstacles=obstacles + much_near_overlap(prepared.overlap),
        fit=fit,
        claim=_claim(claimed, tried, prepared, settings),
        exposed=most_exposed_group(tried.careful, tried.trial, case.blind, case.groups),
    )
    audited = describe(target, case.sample, observed, settings.confidence)
    warnings = warn_about(prepared, audited, random_split=settings.random_split)
    mixture = trained_share(tried.strongest.trial.target)
    about = _about_records(target, trained)
    found = tried.conclude(basis, target.members, case.sample, settings, exposures, about)
    refuted = found["verdict"].kind == "claim_refuted"
    result = Audit(
        **found,
        extras=_extras(selection, tried.trial, settings.confidence),
        not_run=selection.not_run,
        warnings=_once([*consistency.warnings, *basis.obstacles, *_stopped(prepared, trained), *warnings, *mixture]),
        target=audited,
        overlap=prepared.overlap,
        settings=recorded(settings, _own_settings(target, trained, settings, consistency), tried),
        fingerprints=_fingerprints(target),
        seconds=clock.seconds,
        bounds=() if claimed is None else (replace(claimed, contradicted=refuted),),
        procedure=procedure,
    )
    return replace(result, claims=audit_claims(result))


def _once(caveats: Sequence[Caveat]) -> tuple[Caveat, ...]:
    return tuple(caveat for at, caveat in enumerate(caveats) if caveat not in caveats[:at])


def _exposures(prepared: Prepared, trained: Trained, confidence: float) -> Exposures | None:
    if not trained.design.numbers.references:
        return None
    inside, task = trained.design.inside(), prepared.target.model.task
    return exposure_by_references(
        prepared.case.sample, trained.fits[0], inside, task, confidence, hashes=prepared.hashes[0]
    )


def _about_records(target: Target, trained: Trained) -> dict[str, Any]:
    """Loss, class (or decile of the label) and groups of the training records; levels of few records are pooled, as in the report."""
    model, members = target.model, target.members
    fit = fit_of(as_released(target)(answers_in(trained.members, model.task)), members.y, model.task)
    loss = fit**2 if model.task == "regression" else -np.log(np.maximum(fit, np.finfo(np.float64).eps))
    levels = {"label": label_levels(members.y, model.classes)}
    levels |= {f"group: {name}": values for name, values in members.groups.items()}
    return {"loss": loss} | {name: _pooled(values) for name, values in levels.items()}


def _pooled(levels: NDArray[Any]) -> pd.Series[str]:
    pooled = pool_levels(levels)
    return pd.Series(np.where(pooled == NOT_SHOWN, SMALL_GROUPS, pooled)).map(str).astype("str")


def _stopped(prepared: Prepared, trained: Trained) -> list[Caveat]:
    """State that Ctrl-C ended the training of reference models, if it did."""
    if trained.stopped != "interrupt":
        return []
    used, planned = trained.design.numbers.references, prepared.design.numbers.references
    return [Caveat("interrupted", {"used": used, "planned": planned})]


def _procedure(target: Target, trained: Trained, settings: Settings) -> Procedure | None:
    """Give the risk of the training procedure; models of another kind give no evidence of it."""
    if target.learner is None:
        return None
    return procedure_risk(trained.fits[0], trained.design.inside(), target.model.task, settings.confidence)


def _own_settings(target: Target, trained: Trained, settings: Settings, consistency: Consistency) -> dict[str, Any]:
    weighted = target.members.weights is not None
    used = {"sample weights": target.learner is not None and target.learner.takes_weights} if weighted else {}
    return used | {
        "groups": list(target.members.groups),
        "retrain": settings.retrain,
        "drop overlap": settings.drop_overlap,
        "random split": settings.random_split,
        "references": trained.design.numbers.references,
        "budget": settings.budget,
        "repeats": consistency.repeats or 1,
    }


def _claim(claimed: Bound | None, tried: Tried, prepared: Prepared, settings: Settings) -> EpsilonClaim | None:
    """The lower bound on ε, where ε was claimed or a random split makes it valid."""
    if claimed is None and not settings.random_split:
        return None
    sample = prepared.case.sample
    alone = stand_alone(prepared.hashes, sample)
    attacks, claim = (
        [one.attack for one in tried.found],
        None if claimed is None else (claimed.epsilon or 0.0, claimed.delta),
    )
    return bound_epsilon(attacks, tried.trial, sample, alone, claim, settings.confidence)


def _train(
    prepared: Prepared, work: Work, attacks: Sequence[Attack], consistency: Consistency
) -> tuple[Trained, tuple[Caveat, ...]]:
    """Query the audited model, train the others, and name what in the outputs rules out "not_detected"."""
    target, special = prepared.target, special_releases(attacks)
    settings, clock, progress = work.settings, work.clock, work.progress
    answers = answers_of(target.model.task)
    with clock("predict"):
        shown = ask(target, (answers, *special), progress)
    with clock("ask again"):
        sides = zip((target.members, target.nonmembers), shown, strict=True)
        by_batch = answers_by_batch(
            target.model, [(side, part[answers]) for side, part in sides], consistency, settings.seed
        )
        if by_batch:
            shown = ask(target, (answers, *special), progress, mixed=settings.seed)
    with clock("retrain"):
        questions = Questions(special, (as_released(target),), compared_explanations(attacks))
        announced = partial(work.retrain, progress=_announced(progress, prepared.design.numbers, settings.budget))
        training = Training(announced, prepared.seed, stoppable=True, budget=settings.budget)
        trained = train(target, target.learner, prepared.design, shown, questions, training)
    return trained, consistency.obstacles + by_batch


def _announced(progress: Progress | None, numbers: Numbers, budget: float | None) -> Progress | None:
    """Name what is trained from the start: the bar shows the time that is left after the first model.

    With a budget it counts the seconds.
    """
    total = numbers.references + numbers.folds + numbers.halves
    if progress is None or not total:
        return None
    if budget is None:
        progress(str(numbers), 0, total)
        return lambda stage, done, total: progress(str(numbers), done, total)
    start, seconds = time.monotonic(), math.ceil(budget)
    return lambda stage, done, total: progress(
        f"training at most {total} models, seconds", min(seconds, int(time.monotonic() - start)), seconds
    )


def as_released(target: Target) -> Show:
    """Give the release of a retrained model's outputs: labels alone where the audited model releases no more."""
    return say_labels if gives_labels_only(target) else _unchanged


def _unchanged(answers: Floats) -> Floats:
    return answers


def _releases_of(attacks: Sequence[Attack], target: Target) -> tuple[str, ...]:
    """Name the releases that the attacks and the performance need."""
    performance = "labels" if target.model.task == "classification" else "squared_error"
    return tuple(dict.fromkeys([performance, *(name for attack in attacks for name in attack.releases)]))


def _extras(selection: Selection, trial_of: Callable[[int], JudgedAttack], confidence: float) -> tuple[Extra, ...]:
    """What each explanation adds to the prediction; the intervals are simultaneous (Bonferroni)."""
    together = 1 - (1 - confidence) / max(1, len(selection.pairs))
    prediction = selection.prediction
    return tuple(extra_leakage(trial_of(base), trial_of(more), prediction, together) for base, more in selection.pairs)


def recorded(settings: Settings, own: dict[str, Any], tried: Tried) -> dict[str, Any]:
    """The settings as the record holds them; ``own`` are those of one kind of audit."""
    return {
        "seed": settings.seed,
        "confidence": settings.confidence,
        "confidence after the choice": tried.chances[tried.best].auc,
        "margin": settings.margin,
        "false-positive rates": list(settings.fprs),
        **own,
        "smallest group": SMALLEST_GROUP,
        "attacks": [f"{one.attack.name} on {one.attack.release}" for one in tried.found],
    }


def _fingerprints(target: Target) -> dict[str, str]:
    return {
        "training records": fingerprint(target.members.X, target.members.y),
        "held-out records": fingerprint(target.nonmembers.X, target.nonmembers.y),
        "learner": target.learner.key if target.learner is not None else "none",
        CODE: code_digest(),
    }
