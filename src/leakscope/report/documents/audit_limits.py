"""Limits of an audit for its document: controls, baseline, overlap, sample size, and options that make it stronger."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakscope.core.intervals import FALSE_ALARMS_NEEDED
from leakscope.core.result import Result
from leakscope.core.wording import count, duration, name, percent, write
from leakscope.evaluation.results import Audit
from leakscope.report.document import Item, Items
from leakscope.report.documents.cells import outcome
from leakscope.report.documents.common import terms
from leakscope.report.documents.releases import LOSSES, release_name

#: Numbers of reference models that are offered.
OFFERED = (4, 16, 64)
#: Trainings of the target's size that the controls take: four folds of three quarters of the members and two halves.
CONTROLS = 4
_ADD = "Run leakscope {} and add its result with leakscope report --with."
#: For a release how to measure it, and the kind of result that does.
_NOT_MEASURED = {
    "explanations": ("Name them with --releases, such as --releases {},gradient.", "frontier"),
    "record explanations": (_ADD.format("reconstruct"), "reconstruction"),
    "parameters": (_ADD.format("leakage"), "leakage"),
}


def limits(audit: Audit, others: Sequence[Result] = ()) -> Items:
    """List controls, baseline, overlap, sample size, and what neither the audit nor the ``others`` measured."""
    found = [("Control", _control(audit)), ("Blind baseline", _blind(audit)), ("Overlap", _overlap(audit))]
    rates = sorted(audit.strongest.tpr_at_fpr.items(), reverse=True)
    bounds = [rate for rate, tpr in rates if tpr.kind in ("upper bound", "lower bound")]
    found += [("Sample size", _needed(rate, audit.target.judged)) for rate in bounds]
    if audit.target.task != "scores":
        found += [(f"Not measured: {release_name(which).lower()}", how) for which, how in _unmeasured(audit, others)]
        if audit.bound is None:
            said = "No bound is known for this model: stronger attacks may find more. A bound follows from differential privacy (--epsilon)."
            found.append(("Bound", said))
    if audit.bound is not None and audit.bound.contradicted:
        found.append(("Bound", "The claimed privacy is refuted by this audit, so no bound is shown."))
    if (procedure := audit.procedure) is not None:
        said = f"Over {count(procedure.models)} reference models attacked as targets, the mean AUC is {write(procedure.auc)}: what this way of training leaks."
        found.append(("Training procedure", said))
    said = "Stronger attacks than those that were run may exist. No audit proves that a model is safe."
    return terms([*found, ("Other attacks", said)], "Limits of this audit")


def stronger(audit: Audit) -> list[Item]:
    """List options that would make this audit stronger, with the time that they would take."""
    settings = audit.settings
    references = settings.get("references")
    if references is None or settings.get("retrain") is False:
        return []
    found = []
    offered = next((one for one in OFFERED if one > references), None)
    if offered is not None:
        seconds = more_seconds(audit, references, offered)
        time = "" if seconds is None else f", about {duration(seconds)} more"
        found.append(Item(f"{offered} reference models (--references {offered}{time})."))
    if audit.strongest.control.kind == "never trained" and not settings.get("random split"):
        found.append(Item("If members and held-out records come from one random split, state it (--random-split)."))
    return found


def more_seconds(audit: Audit, references: int, offered: int) -> float | None:
    """Estimate the time of more reference models, from the time of one training in this audit; None where it is not known."""
    spent = audit.seconds.get("retrain")
    if not spent:
        return None
    retrained = audit.strongest.control.kind == "never trained"
    # Without references the controls are two models of half of the members.
    trainings = references + (CONTROLS if retrained and references else 1 if retrained else 0)
    planned = offered + (CONTROLS if retrained else 0)
    return float(spent / trainings * (planned - trainings)) if trainings else None


def _control(audit: Audit) -> str:
    risk, target = audit.strongest, audit.target
    auc = risk.control.auc
    if risk.control.kind == "never trained":
        models = ""
        if (control := target.control_models) is not None:
            models = f" ({count(control.models, 'model')}, at least {count(control.records)} training records each)"
        start = f"The same attack on a model that never saw the members{models} has AUC {write(auc)}."
        end = "Its training records differ from those of the audited model, and may be fewer."
    else:
        why = "Only scores were provided" if target.task == "scores" else "The model was not retrained"
        start = f"{why}, so the control permutes memberships: AUC {write(auc)}."
        end = "This finds a broken attack, not a distribution shift."
    holds = "The interval contains 0.5, as it should."
    if not auc.low <= 0.5 <= auc.high:
        holds = "The interval excludes 0.5: the attack finds something else than membership."
    return f"{start} {holds} {end}"


def _blind(audit: Audit) -> str:
    risk = audit.strongest
    if risk.blind is None or risk.beyond_blind is None:
        return "Only scores were provided, without records: a distribution shift can't be detected."
    start = f"A classifier of members against non-members without the model has AUC {write(risk.blind)}. The attack is {write(risk.beyond_blind, 'signed')} above it."
    if outcome(audit, "beyond_blind") != "yes":
        return f"{start} This is not significant: a distribution shift may explain what the attack finds."
    if outcome(audit, "shift") == "yes":
        return f"{start} There is a distribution shift, so part of every AUC reflects the shift rather than membership."
    return start


def _overlap(audit: Audit) -> str:
    if audit.target.task == "scores":
        return "Scores do not show whether the same records are on both sides."
    overlap = audit.overlap
    near = "" if overlap.near is None else f" {write(overlap.near, 'percent')} of the holdout are near copies."
    if not overlap.count:
        return f"No training record is in the holdout.{near}"
    ids = ", ".join(name(one, 24) for one in overlap.ids[:5])
    named = f" (ids {ids}{', …' if overlap.count > 5 else ''})" if ids else ""
    effect = "removed before the attacks" if overlap.removed else "kept, which hides some leakage"
    return f"{count(overlap.count, 'training record')} in the holdout{named}: {effect}.{near}"


def _needed(rate: float, judged: int) -> str:
    needed = count(math.ceil(FALSE_ALARMS_NEEDED / rate - 1e-9))
    return f"At {percent(rate)} FPR the sample gives only a bound: this takes {needed} non-members, and {count(judged)} were judged."


def _unmeasured(audit: Audit, others: Sequence[Result]) -> list[tuple[str, str]]:
    usual = {"labels", "label_stability", "boundary_distance", "probabilities", "predictions", *LOSSES}
    explained = any(risk.release not in usual for risk in audit.by_release)
    prediction = "predictions" if audit.target.task == "regression" else "probabilities"
    if prediction == "probabilities" and not any(risk.release == prediction for risk in audit.by_release):
        prediction = "labels"
    there = {result.kind for result in others} | ({"explanations"} if explained else set())
    left_out = {which: how for which, (how, kind) in _NOT_MEASURED.items() if not there & {which, kind}}
    return [(which, how.format(prediction)) for which, how in left_out.items()]
