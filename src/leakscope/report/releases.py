"""What an outsider can learn from each thing that is released: one row per release, in words a lay reader understands."""

from __future__ import annotations

from typing import Any

from leakscope.report.studies import measured_on
from leakscope.report.words import count, described, false_alarms, out_of, percent, safe_text, shown_rate
from leakscope.results import Bound, Estimate, Findings, ReleaseRisk, Risk, Study
from leakscope.verdict import choose_strongest, strongest_by_release

TITLE = "What an outsider can learn from each thing you release"
LOSSES = ("log_loss", "likelihood_loss", "squared_error")
_NAMES = {
    "labels": "The predicted label",
    "label_stability": "The predicted label, asked about changed copies too",
    "boundary_distance": "The predicted label, asked about points around the record too",
    "probabilities": "The probabilities",
    "predictions": "The predicted value",
    "parameters": "The parameters (the model file)",
    "explanations": "Explanations by features",
    "record explanations": "Explanations by training records",
    "outputs at the record": "The answer about the person",
} | dict.fromkeys(LOSSES, "The loss, for whoever knows the true answer")
_HOW = {
    "explanations": "name them with --releases, such as --releases {},gradient",
    "record explanations": "leakscope reconstruct measures them, and --with puts them into this report",
    "parameters": "leakscope leakage measures them, and --with puts them into this report",
}


def plain_name(release: str, task: str = "") -> str:
    """What a release is called in a report; where the task is ``scores``, it is the name of a column of scores.

    >>> plain_name("log_loss"), plain_name("gradient:top=5"), plain_name("loss", "scores")
    ('The loss, for whoever knows the true answer', 'The explanation “gradient:top=5”', 'The score “loss”')
    """
    if task == "scores":
        return "The score" if release == "scores" else f"The score “{safe_text(release)}”"
    return _NAMES.get(release) or f"The explanation “{safe_text(release)}”"


def identified(risk: Risk | ReleaseRisk) -> str:
    """How many people an attacker finds at a rate of false alarms that the sample carries, in one sentence; or nothing."""
    rate = shown_rate(risk.tpr_at_fpr)
    if rate is None:
        return ""
    people = max(100, round(1 / rate))
    return (
        f"Of {count(people)} people in the training data, an attacker who accepts {false_alarms(rate)} would identify "
        f"{out_of(people, risk.tpr_at_fpr[rate])}; guessing identifies {rate * people:.4g}."
    )


def in_pairs(risk: Risk | ReleaseRisk) -> str:
    """How often the attack is right about a pair of one member and one non-member, in one sentence."""
    return (
        f"Shown one person from the training data and one who was not in it, the strongest attack picks the right one "
        f"{out_of(100, risk.auc)} times out of 100; a coin gets 50."
    )


def in_plain_words(risk: Risk | ReleaseRisk) -> str:
    """How many people are identified, or how often the attack is right about a pair (`speaks_in_pairs`)."""
    return in_pairs(risk) if speaks_in_pairs(risk) else identified(risk)


def speaks_in_pairs(risk: Risk | ReleaseRisk) -> bool:
    """Whether the AUC is significantly above chance and the number of people found does not, so that pairs say more."""
    rate = shown_rate(risk.tpr_at_fpr)
    return rate is None or (risk.auc.low > 0.5 and risk.tpr_at_fpr[rate].low <= rate)


def summarize_releases(findings: Findings) -> dict[str, Any]:
    """The table: releases that were attacked, studies of others, and those that were not looked at with the reason."""
    bound = findings.bound
    attacked = findings.by_release or _only_strongest(findings)
    shown = attacked if findings.target.task == "scores" else _one_row_for_losses(attacked)
    rows = [_row(risk, bound, findings) for risk in shown]
    rows += [_study_row(study, findings) for study in findings.studies if study.release in _HOW]
    return {
        "title": TITLE,
        "note": "Each row is the strongest attack on that release; all ranges hold together."
        if findings.by_release
        else "This record is of an older version and has numbers for the strongest attack only; all attacks are listed below.",
        "bound_note": _bound_note(findings),
        "rows": rows,
        "not_measured": _not_measured(findings),
    }


def _only_strongest(findings: Findings) -> tuple[ReleaseRisk, ...]:
    """What a record of version 1 can say."""
    return strongest_by_release([findings.strongest])


def _one_row_for_losses(risks: tuple[ReleaseRisk, ...]) -> list[ReleaseRisk]:
    """Losses are three ways to look at one thing: the strongest of them stands for all."""
    losses = [risk for risk in risks if risk.release in LOSSES]
    best = losses[choose_strongest(losses)] if losses else None
    return [risk for risk in risks if risk.release not in LOSSES or risk is best]


def _row(risk: ReleaseRisk, bound: Bound | None, findings: Findings) -> dict[str, Any]:
    rate = shown_rate(risk.tpr_at_fpr)
    found = None if rate is None else risk.tpr_at_fpr[rate]
    return {
        "release": safe_text(risk.release),
        "name": plain_name(risk.release, findings.target.task),
        "attack": safe_text(risk.attack),
        "outcome": _outcome(risk, findings),
        "plain": in_plain_words(risk),
        "people": "" if found is None else out_of(100, found),
        "rate": rate,
        "rate_text": "" if rate is None else percent(rate),
        "found": described(found, "percent"),
        "auc": described(risk.auc),
        "blind": described(risk.blind),
        "control": described(risk.control),
        "control_kind": risk.control_kind,
        "bound": _bound(bound, rate),
        "study": False,
    }


def _outcome(risk: ReleaseRisk, findings: Findings) -> str:
    """In a few words, from the intervals; the verdict speaks for the release that it is about."""
    if not risk.beats_chance:
        return "nothing sure"
    never = risk.control_kind == "never trained"
    doubted = (never and risk.beyond_control.low <= 0) or (
        not never and risk.beyond_blind is not None and risk.beyond_blind.low <= 0
    )
    alone = not never and risk.blind is None and findings.verdict.kind == "cannot tell"
    return "may be the data" if doubted or alone else "tells members apart"


def _study_row(study: Study, findings: Findings) -> dict[str, Any]:
    headline = study.numbers[0] if study.numbers else None
    return {
        "release": safe_text(study.release),
        "name": plain_name(study.release),
        "attack": safe_text(headline.name) if headline else "",
        "outcome": "see below",
        "plain": f"{safe_text(study.answer, 600)} {measured_on(study, findings.target.model)}",
        "people": "",
        "rate": None,
        "rate_text": "",
        "found": described(headline.estimate) if headline else None,
        "auc": None,
        "blind": None,
        "control": None,
        "control_kind": "",
        "bound": _bound(study.bound, None),
        "study": True,
    }


def _bound(bound: Bound | None, rate: float | None) -> dict[str, Any] | None:
    """The most that any attack finds (`Bound.most_found`); nothing where an attack went beyond it."""
    if bound is None or bound.contradicted:
        return None
    advantage = bound.advantage
    if rate is None:
        return {
            "estimate": described(advantage),
            "people": "",
            "text": f"an advantage of {described(advantage)['text'].removeprefix('at most').strip()}",
        }
    most = bound.most_found(rate)
    at_rate = Estimate(most, 0.0, most, advantage.confidence, "upper bound", n=advantage.n, method=advantage.method)
    people = out_of(100, at_rate)
    return {
        "estimate": described(at_rate, "percent"),
        "people": people,
        "text": f"{people.removeprefix('at most ')} of 100 at {percent(rate)} false alarms",
    }


def _bound_note(findings: Findings) -> str:
    said = [] if findings.bound is None else [_bound_words(findings.bound)]
    said += [
        f"{_bound_words(study.bound)} What holds for parameters holds for all that is computed from them, so for every row "
        "here, if the audited model was trained in this way."
        for study in findings.studies
        if study.bound is not None
    ]
    if said:
        return " ".join(said)
    unknown = "No bound is known for this model, so that attacks stronger than those tried may find more."
    if findings.target.task == "scores":
        return unknown
    if any(study.kind == "leakage" for study in findings.studies):
        return f"{unknown} The measured leakage gives none: its warnings say why."
    return (
        f"{unknown} A bound comes from differential privacy (--epsilon) or from measured leakage (leakscope leakage, added "
        "with --with)."
    )


def _bound_words(bound: Bound) -> str:
    if bound.contradicted:
        return (
            f"A promise is contradicted by this audit, so that no bound is shown: {safe_text(bound.why, 600)}, and an attack shows "
            "significantly more than that allows."
        )
    most = described(bound.advantage)["text"].removeprefix("at most").strip()
    return f"No attack can gain an advantage of more than {most}: {safe_text(bound.why, 600)} ({safe_text(bound.source, 200)})."


def prediction(findings: Findings) -> str:
    """The prediction that this model gives, by the name of its release."""
    if findings.target.task == "regression":
        return "predictions"
    return "probabilities" if any(risk.release == "probabilities" for risk in findings.by_release) else "labels"


def _not_measured(findings: Findings) -> list[dict[str, str]]:
    """Kinds of release that nobody looked at, and how to: nothing is skipped in silence."""
    if findings.target.task == "scores":
        return []
    usual = {"labels", "label_stability", "boundary_distance", "probabilities", "predictions", *LOSSES}
    there = {study.release for study in findings.studies}
    if any(risk.release not in usual for risk in findings.by_release):
        there.add("explanations")
    left_out = [
        {"name": name[:1].upper() + name[1:], "reason": f"not measured: {how.format(prediction(findings))}"}
        for name, how in _HOW.items()
        if name not in there
    ]
    kept = {risk.release for risk in findings.by_release}
    if findings.target.task == "regression" and "predictions" not in kept:
        reason = "attacked through the loss, by whoever knows the true value; no attack without it is run"
        left_out.insert(0, {"name": plain_name("predictions"), "reason": reason})
    refused: dict[str, list[str]] = {}
    for item in findings.not_run:
        if item.release not in kept:
            refused.setdefault(item.release, []).append(item.reason)
    return left_out + [
        {"name": plain_name(release), "reason": f"not attacked: {safe_text(reasons[0], 600)}"}
        for release, reasons in refused.items()
    ]


def summarize_exposure(findings: Findings) -> dict[str, Any]:
    """How many people are how exposed: the share of members that look more like members than almost every non-member."""
    tpr = findings.strongest.tpr_at_fpr
    rows = [
        {
            "rate": rate,
            "name": f"{percent(1 - rate)} of non-members",
            "share": described(found, "percent"),
            "expected": percent(rate),
            "people": f"{out_of(1000, found)} of {count(1000)}",
        }
        for rate, found in sorted(tpr.items(), reverse=True)
    ]
    return {
        "title": "How many people are how exposed",
        "description": "Share of the people in the training data whom the strongest attack scores higher than so many "
        "non-members. Without any leak it would be the expected share.",
        "rows": rows,
    }
