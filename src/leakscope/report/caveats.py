"""How an audit could mislead its reader: controls, baseline, overlap, bounds and what was not run, as sentences."""

from __future__ import annotations

from typing import Any

from leakscope.report.stronger import stronger_options
from leakscope.report.words import SENTENCE_LENGTH, count, describe, percent, safe_text
from leakscope.results import AuditedModel, Findings, Overlap, Risk


def summarize_caveats(findings: Findings) -> dict[str, Any]:
    """The part of the summary that tells the reader what to doubt."""
    return {
        "warnings": [safe_text(warning, SENTENCE_LENGTH) for warning in findings.warnings],
        "control": _control(findings.strongest, findings.target),
        "blind": _blind(findings.strongest),
        "overlap": "Whether the same people stand on both sides can't be seen from scores."
        if findings.target.task == "scores"
        else _overlap(findings.overlap),
        "bounds": _bounds(findings.strongest),
        "not_run": [
            {
                "release": safe_text(left_out.release),
                "attack": safe_text(left_out.attack),
                "reason": safe_text(left_out.reason, SENTENCE_LENGTH),
            }
            for left_out in findings.not_run
        ],
        "stronger": stronger_options(findings),
    }


def _control(risk: Risk, target: AuditedModel) -> str:
    auc = risk.control.auc
    text = describe(auc)["text"]
    if risk.control.kind == "never trained":
        control = target.control_models
        records = f" ({count(control.models)} retrained, on {count(control.records)} records each)" if control else ""
        start = f"The same attack on a model that never saw these members{records} has an AUC of {text}"
        limits = "Its training records are others than those of the audited model, and may be fewer."
    elif target.task == "scores":
        start = f"Only scores were given, so the control shuffles who was a member: AUC {text}"
        limits = "This finds an attack that is broken, not a difference between members and non-members as such."
    else:
        start = f"The model was not retrained, so the control shuffles who was a member: AUC {text}"
        limits = (
            "This finds an attack that is broken, not a difference between training and held-out records: "
            "for that, look at the blind baseline."
        )
    if auc.low <= 0.5 <= auc.high:
        return f"{start}; its range holds 0.5, which is chance, as it should. {limits}"
    return f"{start}, and chance is 0.5: the attack finds something where there is nothing to find. {limits}"


def _blind(risk: Risk) -> str:
    if risk.blind is None or risk.beyond_blind is None:
        return "Only scores were given, and no records: whether there is a distribution shift can't be seen here."
    start = (
        f"The blind baseline distinguishes members from non-members by the records alone, without the model: AUC {describe(risk.blind)['text']}; "
        f"the attack is {describe(risk.beyond_blind)['text']} above it."
    )
    if risk.beyond_blind.low <= 0:
        return f"{start} That may be chance: what the attack finds may be a difference in the data, not in the model."
    if risk.blind.low > 0.5:
        return f"{start} There is a distribution shift between training and held-out records, so part of every AUC here reflects the shift."
    return start


def _overlap(overlap: Overlap) -> str:
    near = (
        "" if overlap.near is None else f" A share of {describe(overlap.near)['text']} of the holdout are near copies."
    )
    if not overlap.count:
        return f"No training record stands in the holdout too.{near}"
    ids = ", ".join(safe_text(name, 24) for name in overlap.ids[:5])
    named = f" (ids {ids}{', …' if overlap.count > 5 else ''})" if ids else ""
    are, they = ("record stands", "it was") if overlap.count == 1 else ("records stand", "they were")
    effect = f"{they} removed before the attacks" if overlap.removed else f"{they} kept, which hides some leakage"
    return f"{count(overlap.count)} training {are} in the holdout too{named}: {effect}.{near}"


def _bounds(risk: Risk) -> list[str]:
    """One sentence for each false-positive rate at which the sample carries no more than a bound."""
    return [
        f"At {percent(rate)} false alarms the sample gives a bound only"
        + (f": {safe_text(tpr.method.removeprefix(f'{tpr.kind}: '), SENTENCE_LENGTH)}." if tpr.method else ".")
        for rate, tpr in sorted(risk.tpr_at_fpr.items(), reverse=True)
        if tpr.kind in ("upper bound", "lower bound")
    ]
