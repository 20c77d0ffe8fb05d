"""From the findings of an audit to a plain dict: every number and every sentence of a report, and nothing else.

The dict can be written as JSON. It is made from the record alone, never from the model, and it holds aggregates and
record ids only. Text from outside (names of models, columns, levels, records) is made safe here, once.
"""

from __future__ import annotations

import json
import math
from typing import Any, Literal

from leakscope.intervals import FALSE_ALARMS_NEEDED
from leakscope.report.answer import summarize_answer, summarize_next_steps
from leakscope.report.caveats import summarize_caveats
from leakscope.report.extras import summarize_extras
from leakscope.report.guide import summarize_guide, summarize_reproduction
from leakscope.report.releases import identified, in_pairs, summarize_exposure, summarize_releases
from leakscope.report.studies import summarize_studies
from leakscope.report.words import (
    SENTENCE_LENGTH,
    Style,
    as_sentence,
    count,
    describe,
    described,
    percent,
    safe_text,
)
from leakscope.results import AuditedModel, Estimate, Findings, GroupRisk, Risk, Verdict
from leakscope.verdict_text import headline

CHARTED_GROUPS = 30
#: How far apart the readings of a curve are, in powers of ten.
READINGS_APART = 0.2

_VERDICT_WORDS = {
    "leaks": "Leaks",
    "claim refuted": "Privacy claim refuted",
    "no evidence": "No evidence of leakage",
    "cannot tell": "Cannot tell",
}


def summarize(findings: Findings) -> dict[str, Any]:
    """Put the findings of an audit into words.

    Parameters
    ----------
    findings
        What ``audit.json`` holds.

    Returns
    -------
    dict
        Strings, numbers, lists and dicts only. Each estimate stands both as numbers and as text.
    """
    strongest = findings.strongest
    rates = sorted({rate for risk in (strongest, *findings.risks) for rate in risk.tpr_at_fpr}, reverse=True)
    return {
        "title": f"Leakscope audit of {safe_text(findings.target.model)}",
        "created": safe_text(findings.created),
        "schema_version": findings.schema_version,
        "verdict": _verdict(findings.verdict),
        "answer": summarize_answer(findings),
        "next_steps": summarize_next_steps(findings),
        "releases": summarize_releases(findings),
        "exposure": summarize_exposure(findings),
        "studies": summarize_studies(findings),
        "guide": summarize_guide(findings),
        "reproduce": summarize_reproduction(findings),
        "reading": _reading(strongest),
        "facts": _facts(findings),
        "rates": [{"rate": rate, "text": percent(rate)} for rate in rates],
        "strongest": _risk(strongest, rates, is_strongest=True),
        "risks": [
            # The same attack has the same numbers everywhere: those corrected for selection.
            _risk(strongest if same else risk, rates, is_strongest=same)
            for risk in findings.risks
            for same in [_is_same(risk, strongest)]
        ],
        "risks_note": _risks_note(findings),
        "control_kind": _control_kind(findings),
        "roc": _roc(findings),
        "histogram": _histogram(strongest),
        "extras": summarize_extras(findings),
        "groups": _groups(strongest),
        "exposed": _exposed(findings),
        "caveats": summarize_caveats(findings),
        "details": _details(findings),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "kind": verdict.kind,
        "word": _VERDICT_WORDS[verdict.kind],
        "sentence": as_sentence(verdict.sentence),
        # Under the word there is no need to say "leaks:" again.
        "headline": as_sentence(headline(verdict)),
        "reasons": [as_sentence(reason) for reason in verdict.reasons],
    }


def _reading(risk: Risk) -> list[str]:
    """What the strongest attack means to somebody who has never seen a ROC curve."""
    said = [
        in_pairs(risk),
        *filter(None, [identified(risk)]),
    ]
    if risk.blind is None or risk.beyond_blind is None:
        return said
    more = describe(risk.beyond_blind)["text"]
    added = f"the model adds {more}" if risk.beyond_blind.low > 0 else f"the model adds nothing significant: {more}"
    return [
        *said,
        f"From the records alone, without the model, the blind baseline distinguishes the two with an AUC of "
        f"{describe(risk.blind)['text']}; {added}.",
    ]


def _facts(findings: Findings) -> list[dict[str, str]]:
    target = findings.target
    facts = [
        ("Model", safe_text(target.model)),
        ("Task", _task(target)),
        ("Training records (members)", count(target.members)),
        ("Held-out records (non-members)", count(target.nonmembers)),
        ("Judged", f"{count(target.judged)} members and {count(target.judged)} non-members"),
    ]
    if (performance := target.performance) is not None:
        style: Style = "percent" if performance.metric == "accuracy" else "significant"
        metric = performance.metric.capitalize()
        facts += [
            (f"{metric} on training records", describe(performance.train, style)["text"]),
            (f"{metric} on held-out records", describe(performance.holdout, style)["text"]),
        ]
    if target.control_models is not None and performance is not None:
        control = target.control_models
        models = "1 model" if control.models == 1 else f"{count(control.models)} models"
        facts += [
            ("Control", f"{models} retrained on {count(control.records)} other records"),
            (f"{metric} of the control on held-out records", describe(control.holdout, style)["text"]),
        ]
    if (procedure := findings.procedure) is not None:
        trained = f"{describe(procedure.auc)['text']}, mean over {count(procedure.models)} reference models as targets"
        facts.append(("AUC of the training procedure", trained))
    return [{"name": name, "value": value} for name, value in facts]


def _task(target: AuditedModel) -> str:
    classes = f", {count(target.classes)} classes" if target.classes else ""
    if target.features is None:
        return f"{target.task}{classes}"
    return f"{target.task}{classes}, {count(target.features)} feature{'' if target.features == 1 else 's'}"


def _is_same(risk: Risk, other: Risk) -> bool:
    return (risk.release, risk.attack) == (other.release, other.attack)


def _risk(risk: Risk, rates: list[float], *, is_strongest: bool) -> dict[str, Any]:
    return {
        "release": safe_text(risk.release),
        "attack": safe_text(risk.attack),
        "source": safe_text(risk.source),
        "strongest": is_strongest,
        "auc": describe(risk.auc),
        "advantage": describe(risk.advantage),
        "accuracy": describe(risk.accuracy, "percent"),
        "tpr_at_fpr": [_rate(risk.tpr_at_fpr.get(rate), rate) for rate in rates],
        "control": {"kind": risk.control.kind, "auc": describe(risk.control.auc)},
        "permuted": {"kind": risk.permuted.kind, "auc": describe(risk.permuted.auc)},
        "blind": described(risk.blind),
        "beyond_blind": described(risk.beyond_blind),
        "beyond_control": describe(risk.beyond_control),
    }


def _rate(tpr: Estimate | None, rate: float) -> dict[str, Any]:
    return {"rate": rate, "rate_text": percent(rate), "estimate": describe(tpr, "percent") if tpr else None}


def _risks_note(findings: Findings) -> str:
    strongest = findings.strongest.auc.confidence
    others = [risk.auc.confidence for risk in findings.risks if not _is_same(risk, findings.strongest)]
    if not others:
        return f"Numbers stand above their {percent(_floor(strongest))} intervals."
    wider = f": its intervals are wider, at {percent(_floor(strongest))} each" if strongest > others[0] else ""
    return (
        f"Numbers stand above their {percent(_floor(others[0]))} intervals, each for its own row. The numbers of the "
        f"strongest attack allow for its having been picked from {count(len(others) + 1)}{wider}."
        + _alone_above_chance(findings)
    )


def _alone_above_chance(findings: Findings) -> str:
    """A sentence where a row by itself lies above chance and all of them together do not."""
    if not findings.verdict.leaks and any(risk.auc.low > 0.5 for risk in findings.risks):
        return (
            " Of so many rows one may lie above 0.5 by chance: the verdict looks at intervals that hold for all rows at once, and "
            "“strongest” is then the attack of which the least is excluded."
        )
    return ""


def _floor(confidence: float) -> float:
    """Four decimals, rounded down: 0.99999 is not certainty."""
    return math.floor(confidence * 10_000 + 1e-6) / 10_000


def _control_kind(findings: Findings) -> str | None:
    """The kind of control that all attacks share, if they do."""
    kinds = {risk.control.kind for risk in findings.risks}
    return kinds.pop() if len(kinds) == 1 else None


def _roc(findings: Findings) -> dict[str, Any]:
    strongest = findings.strongest
    others = [risk for risk in findings.risks if not _is_same(risk, strongest)]
    marks: list[dict[str, Any]] = [
        {
            "label": f"at {percent(rate)} false alarms: {describe(tpr, 'percent')['text']} of members found",
            "fpr": rate,
            "value": tpr.value,
            "low": tpr.low,
            "high": tpr.high,
            "bound": tpr.kind == "upper bound",
        }
        for rate, tpr in sorted(strongest.tpr_at_fpr.items(), reverse=True)
    ]
    return {
        "title": "How many members each attack finds at each rate of false alarms",
        "description": f"Strongest attack ({_name(strongest)}): "
        + ("; ".join(mark["label"] for mark in marks) if marks else f"AUC {describe(strongest.auc)['text']}")
        + ". On the dashed line an attack is no better than guessing.",
        "smallest": 1 / max(2, findings.target.judged),
        "curves": [_curve(risk) for risk in others] + [_curve(strongest)],
        "marks": marks,
        "readings": _readings(strongest, findings.target.judged),
    }


def _readings(risk: Risk, judged: int) -> list[dict[str, Any]]:
    """Points of the curve whose values can be read off, evenly spread on a logarithmic axis; those of ``marks`` first.

    Without a band there are no others: a number without an interval is not shown.
    """
    found = {rate: (tpr, True) for rate, tpr in risk.tpr_at_fpr.items()}
    roc = risk.roc
    for fpr, tpr, low, high in reversed(list(zip(roc.fpr, roc.tpr, roc.low, roc.high, strict=False))):
        if 0 < fpr < 1 and all(abs(math.log10(fpr / rate)) >= READINGS_APART for rate in found if rate > 0):
            carried = fpr * judged >= FALSE_ALARMS_NEEDED  # below, only an upper bound is known
            seen = (tpr, low, high) if carried else (high, 0.0, high)
            kind: Literal["estimate", "upper bound"] = "estimate" if carried else "upper bound"
            found[fpr] = (Estimate(*seen, risk.auc.confidence, kind), False)
    return [
        {
            "label": f"at {_rate_text(rate)} false alarms: {describe(tpr, 'percent')['text']} of members found",
            "rate": rate,
            "rate_text": _rate_text(rate),
            "found": describe(tpr, "percent"),
            "mark": mark,
        }
        for rate, (tpr, mark) in sorted(found.items())
    ]


def _rate_text(rate: float) -> str:
    return percent(float(f"{rate:.3g}"))


def _curve(risk: Risk) -> dict[str, Any]:
    label = f"{_name(risk)}: AUC {describe(risk.auc)['text']}"
    roc = risk.roc
    return {"label": label, "fpr": list(roc.fpr), "tpr": list(roc.tpr), "low": list(roc.low), "high": list(roc.high)}


def _name(risk: Risk) -> str:
    return f"{safe_text(risk.release)} · {safe_text(risk.attack)}"


def _histogram(risk: Risk) -> dict[str, Any]:
    histogram = risk.histogram
    ends = zip(histogram.edges[:-1], histogram.edges[1:], strict=True)
    bins: list[dict[str, Any]] = [
        {
            "label": f"exposure {low:.4g} to {high:.4g}: {count(members)} members, {count(nonmembers)} non-members",
            "range": f"{low:.4g} to {high:.4g}",
            "low": low,
            "high": high,
            "members": members,
            "members_text": count(members),
            "nonmembers": nonmembers,
            "nonmembers_text": count(nonmembers),
        }
        for (low, high), members, nonmembers in zip(ends, histogram.members, histogram.nonmembers, strict=True)
    ]
    highest = max(
        (item for item in bins if item["members"] or item["nonmembers"]), key=lambda item: item["low"], default=bins[-1]
    )
    return {
        "title": "Exposure scores of members and non-members",
        "description": "The more the members pile up on the right, above the non-members, the more the model gives away. "
        f"Highest scores: {highest['label']}.",
        "bins": bins,
    }


def _groups(risk: Risk) -> dict[str, Any] | None:
    if not risk.by_group:
        return None
    columns = list(dict.fromkeys(group.column for group in risk.by_group))
    ordered = sorted(risk.by_group, key=lambda group: (columns.index(group.column), -group.auc.value))
    largest = sorted(ordered, key=lambda group: group.gap.value, reverse=True)[:CHARTED_GROUPS]
    left_out = len(ordered) - len(largest)
    return {
        "title": "AUC of the strongest attack within each group",
        "description": _groups_finding(ordered),
        "finding": _groups_finding(ordered),
        "overall": describe(risk.auc),
        "note": f"The chart and the first table leave out the {count(left_out)} least exposed groups."
        if left_out
        else "",
        "left_out": left_out,
        "rows": [{**_group(group), "charted": group in largest} for group in ordered],
    }


def _group(group: GroupRisk) -> dict[str, Any]:
    column, level = safe_text(group.column), safe_text(group.level)
    auc, gap = describe(group.auc), describe(group.gap)
    records = f"{count(group.members)} members, {count(group.nonmembers)} non-members"
    return {
        "label": f"{column}: {level} — AUC {auc['text']}, gap to the rest {gap['text']} ({records})",
        "column": column,
        "level": level,
        "members": group.members,
        "nonmembers": group.nonmembers,
        "records": records,
        "auc": auc,
        "advantage": describe(group.advantage),
        "gap": gap,
        "stands_out": group.gap.low > 0,
    }


def _groups_finding(groups: list[GroupRisk]) -> str:
    """One sentence; the intervals of the gaps hold for all groups at once, so any that excludes 0 may be named."""
    exposed = sorted((group for group in groups if group.gap.low > 0), key=lambda group: group.gap.low, reverse=True)
    if not exposed:
        first = max(groups, key=lambda group: group.gap.value)
        return f"No group stands out: the largest gap, {_gap(first)}, may be chance."
    others = len(exposed) - 1
    more = f"; so {'is' if others == 1 else 'are'} {count(others)} more" if others else ""
    return f"More exposed than the rest: {_gap(exposed[0])} in AUC{more}."


def _gap(group: GroupRisk) -> str:
    return f"{safe_text(group.column)} = {safe_text(group.level)}, {describe(group.gap)['text']}"


def _exposed(findings: Findings) -> dict[str, Any]:
    notes = {
        "leaks": "Score: one minus the mean probability of the true label under models of which half had the record; records that "
        "are hard to predict without training on them are the most vulnerable."
        if findings.settings.get("references")
        else "A record with score 0.99 is caught by an attacker who accepts 1 false alarm per 100 non-members.",
        "no evidence": "Without evidence of leakage, this order is no more than chance.",
        "cannot tell": "The audit cannot tell, so this order may be no more than chance.",
    }
    exposed = findings.exposed
    return {
        "note": notes["leaks" if findings.verdict.leaks else findings.verdict.kind] + _shared_rank(findings),
        "rows": [
            {
                "id": safe_text(record.id),
                "score": record.score,
                "score_text": f"{record.score:.4f}",
                "rank": record.rank,
                "rank_text": count(record.rank),
            }
            for record in exposed
        ],
    }


def _shared_rank(findings: Findings) -> str:
    """A sentence where more records share the last rank than are named."""
    if not findings.exposed:
        return ""
    last = findings.exposed[-1]
    named = sum(record.rank == last.rank for record in findings.exposed)
    if last.shared <= named:
        return ""
    if last.shared == findings.target.members:
        return f" All {count(last.shared)} training records are equally exposed: those named here are simply the first."
    return (
        f" Rank {count(last.rank)} is shared by {count(last.shared)} records, of which the first {named} "
        f"{'is' if named == 1 else 'are'} named: records.csv lists them all."
    )


def _details(findings: Findings) -> list[dict[str, Any]]:
    strongest = findings.strongest
    methods = {
        "AUC": strongest.auc.method,
        "advantage": strongest.advantage.method,
        "accuracy": strongest.accuracy.method,
        "beyond blind": "" if strongest.beyond_blind is None else strongest.beyond_blind.method,
        "beyond control": strongest.beyond_control.method,
        "source of the strongest attack": strongest.source,
    }
    seconds = {name: f"{value:.2f} s" for name, value in findings.seconds.items()}
    written = {"record written": findings.created, "record version": str(findings.schema_version)}
    parts = {
        "Settings and seeds": {name: _setting(value) for name, value in findings.settings.items()},
        "How the intervals were made": {name: text for name, text in methods.items() if text},
        "Fingerprints": findings.fingerprints,
        "Versions": findings.versions,
        "Time taken": seconds,
        "Record": written,
    }
    return [
        {
            "title": title,
            "rows": [
                {"name": safe_text(name), "value": safe_text(value, SENTENCE_LENGTH)} for name, value in rows.items()
            ],
        }
        for title, rows in parts.items()
        if rows
    ]


def _setting(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
