"""The document of an audit: does the model reveal who was in its training data?"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.estimate import Estimate
from leakscope.core.result import Result
from leakscope.core.wording import Style, count, name, percent, write
from leakscope.evaluation.results import Audit, AuditedModel, Bound, ReleaseRisk
from leakscope.evaluation.settings import REFERENCE_MODELS
from leakscope.evaluation.verdict import choose_strongest
from leakscope.report.document import Answer, Block, Details, Document, Items, KeyFigures, Row, Table, Tag, Text, Value
from leakscope.report.documents import audit_charts as charts
from leakscope.report.documents.audit_limits import limits, stronger
from leakscope.report.documents.audit_steps import more_exposed, next_steps
from leakscope.report.documents.caveats import warnings
from leakscope.report.documents.cells import group_name, tag_if, value, values
from leakscope.report.documents.common import cite, filled, not_run, provenance, reading, sources, steps
from leakscope.report.documents.releases import LOSSES, identified, in_pairs, in_plain_words, release_name, shown_rate
from leakscope.report.documents.verdict import LABELS, LEAKS, leaks_within, technical, why_inconclusive

CHARTED_GROUPS = 30
HOW_TO_READ = (
    "A member is a person whose record the model was trained on. A non-member is a person from the same population whose record it was not trained on.",
    "The audit runs attacks: each uses what the model releases about a person and decides whether they are a member. Where an attack is significantly "
    "better than chance, whoever sees the release learns who was in the training data. This may itself be sensitive: that somebody was a patient, a "
    "debtor or a suspect.",
    "Every number has a confidence interval in brackets. Conclusions follow from the ends of intervals, never from the value alone.",
    "Every attack is compared with the same attack on a model that never saw the members (never-trained control) and with a classifier that does not use "
    "the model (blind baseline).",
    f"“Leaks” means that {LEAKS}. “Not detected” covers the attacks that were run.",
)


def make(audit: Audit, others: Sequence[Result]) -> Document:
    """Make the document of an audit."""
    target, verdict = audit.target, audit.verdict
    question = "Does this model reveal who was in its training data?"
    if target.task == "scores":
        question = "Do these scores reveal who was in the training data?"
    return Document(
        kind="audit",
        title=f"Audit of {name(target.model)}",
        question=question,
        answer=Answer(*LABELS[verdict.kind], _headline(audit), tuple(_sentences(audit)), technical(verdict)),
        facts=(
            ("Model", name(target.model)),
            ("Task", _task(target)),
            ("Members (training records)", target.members),
            ("Non-members (held-out records)", target.nonmembers),
            ("Judged on each side", target.judged),
            *_performance(target),
            ("Confidence", _certainty(audit)),
        ),
        picture=charts.people(audit),
        blocks=filled(
            _releases(audit),
            steps(next_steps(audit, others)),
            _strongest(audit),
            _exposure(audit),
            _extras(audit) if audit.extras else None,
            _attacks(audit),
            warnings(audit),
            not_run(audit.not_run, brief=True),
            Items(tuple(stronger(audit)), "Stronger options", brief=True),
            limits(audit, others),
            reading(HOW_TO_READ),
            sources(cite((risk.source, risk.attack) for risk in audit.risks), [bound.source for bound in audit.bounds]),
            provenance(audit, _call(audit)),
        ),
    )


# --- the answer -------------------------------------------------------------------------------------------------------


def _headline(audit: Audit) -> str:
    what = "These scores reveal" if audit.target.task == "scores" else "This model reveals"
    match audit.verdict.kind:
        case "leaks":
            return f"{what} who was in the training data."
        case "claim_refuted":
            return f"{what} more about who was in the training data than the claimed differential privacy allows."
        case "not_detected":
            return "No attack that was run reveals who was in the training data."
    return "This audit can't determine whether the model reveals who was in its training data."


def _sentences(audit: Audit) -> list[str]:
    verdict = audit.verdict
    if verdict.kind == "inconclusive":
        return [said] if (said := why_inconclusive(verdict)) else []
    if verdict.kind == "not_detected":
        return [f"{in_pairs(audit.strongest)} Stronger attacks may exist."]
    if verdict.finding is not None and verdict.finding.code == "group_auc":
        said = leaks_within(verdict.finding)
    elif verdict.kind == "claim_refuted" and not audit.strongest.beats_chance:
        said = technical(verdict)[0]
    else:
        said = in_plain_words(audit.strongest)
    if audit.named is None or not audit.named.count:
        return [said]
    people = count(audit.named.count, "person", "people")
    return [said, f"An attacker who accepts one wrong name in ten could name {people} of the training data."]


def _performance(target: AuditedModel) -> list[tuple[str, Value]]:
    if (performance := target.performance) is None:
        return []
    style: Style = "percent" if performance.metric == "accuracy" else "number"
    figures = {"training": performance.train, "holdout": performance.holdout}
    return [(f"{performance.metric.capitalize()}, {on}", Value(figure, style)) for on, figure in figures.items()]


def _certainty(audit: Audit) -> str:
    confidence = percent(round(audit.settings.get("confidence", audit.strongest.auc.confidence), 4))
    tried = len(audit.risks)
    return confidence + (f", corrected for selection among {count(tried)} attacks" if tried > 1 else "")


def _task(target: AuditedModel) -> str:
    classes = f", {count(target.classes, 'class', 'classes')}" if target.classes else ""
    features = "" if target.features is None else f", {count(target.features, 'feature')}"
    return f"{target.task}{classes}{features}"


# --- releases and attacks ---------------------------------------------------------------------------------------------

_TAGS: dict[str, Tag] = {"yes": ("leaks", "risk"), "no": ("not detected", "safe")}


def _releases(audit: Audit) -> Table:
    """Return one row per release: its strongest attack."""
    shown = list(audit.by_release)
    if audit.target.task != "scores":
        losses = [risk for risk in shown if risk.release in LOSSES]
        best = losses[choose_strongest(losses)] if losses else None
        shown = [risk for risk in shown if risk.release not in LOSSES or risk is best]
    rates = [rate for risk in shown if (rate := shown_rate(risk.tpr_at_fpr)) is not None]
    heading = f"TPR at {percent(rates[0])} FPR" if len(set(rates)) == 1 else "TPR at low FPR"
    bound = None if audit.bound is None or audit.bound.contradicted else audit.bound
    columns = ["Release", heading, "AUC", "Control AUC", "Strongest attack", *(["TPR bound"] if bound else [])]
    rows = []
    for risk in shown:
        rate = shown_rate(risk.tpr_at_fpr)
        tpr = None if rate is None else Value(risk.tpr_at_fpr[rate], "percent")
        most = [_tpr_bound(bound, rate)] if bound else []
        which = release_name(risk.release, audit.target.task)
        cells = (which, tpr, *values(risk.auc, risk.control), name(risk.attack), *most)
        rows.append(Row(cells, *_tag(audit, risk), in_plain_words(risk)))
    note = "Each row is the strongest attack on that release. All intervals are simultaneous."
    if bound is not None:
        note += f" By the claimed privacy, the advantage of any attack is {write(bound.advantage)}."
    return Table(tuple(columns), tuple(rows), "Risk by release", note, brief=True)


def _tpr_bound(bound: Bound, rate: float | None) -> Value | None:
    """State the largest TPR of any attack at a false-positive rate under the claimed privacy."""
    if rate is None:
        return None
    most = bound.most_found(rate)
    return Value(Estimate(most, 0.0, most, kind="upper bound"), "percent")


def _tag(audit: Audit, risk: ReleaseRisk) -> Tag:
    claims = [one for one in audit.claims if one.code == "leak" and one.subject.get("release") == risk.release]
    if claims and claims[0].outcome in _TAGS:
        return _TAGS[claims[0].outcome]
    return ("shift possible", "unknown") if risk.beats_chance else ("not significant", "plain")


def _strongest(audit: Audit) -> Details:
    risk = audit.strongest
    figures = (
        ("AUC", Value(risk.auc), "0.5 is chance"),
        ("Advantage", Value(risk.advantage), "0 is chance"),
        ("Accuracy", Value(risk.accuracy, "percent"), "50 % is chance"),
    )
    rates = [(percent(rate), Value(tpr, "percent")) for rate, tpr in risk.tpr_at_fpr.items()]
    tprs = ((f"TPR at {rate} FPR", tpr, f"{rate} is chance") for rate, tpr in rates)
    release = f"{name(risk.release)}, {release_name(risk.release, audit.target.task).lower()}"
    said = [f"Attack: {name(risk.attack)}. Release: {release}.", in_pairs(risk)]
    said += filter(None, [identified(risk)])
    if risk.blind is not None and risk.beyond_blind is not None:
        more = write(risk.beyond_blind, "signed")
        verb = "adds" if risk.beyond_blind.low > 0 else "adds nothing significant:"
        said.append(f"Without the model, the blind baseline has AUC {write(risk.blind)}. The model {verb} {more}.")
    blocks = (Text(tuple(said)), KeyFigures((*figures, *tprs)), charts.roc(audit), charts.histogram(audit))
    return Details("Strongest attack", blocks, open=True)


def _attacks(audit: Audit) -> Table:
    strongest = audit.strongest
    rates = sorted({rate for risk in (strongest, *audit.risks) for rate in risk.tpr_at_fpr}, reverse=True)
    columns = ["Attack", "Release", "AUC", "Control AUC", "Beyond control", "Beyond blind", "Advantage", "Accuracy"]
    columns += [f"TPR at {percent(rate)} FPR" for rate in rates]
    rows = []
    for risk in sorted(audit.risks, key=lambda one: -one.auc.value):
        same = (risk.release, risk.attack) == (strongest.release, strongest.attack)
        shown = strongest if same else risk
        beyond = values(shown.beyond_control, shown.beyond_blind, style="signed")
        shares = values(shown.accuracy, *map(shown.tpr_at_fpr.get, rates), style="percent")
        figures = (*values(shown.auc, shown.control.auc), *beyond, Value(shown.advantage), *shares)
        cells = (name(shown.attack), name(shown.release), *figures)
        rows.append(Row(cells, "strongest" if same else "", "risk" if same and audit.verdict.leaks else "plain"))
    return Table(tuple(columns), tuple(rows), "All attacks", _intervals_note(audit))


def _intervals_note(audit: Audit) -> str:
    best = audit.strongest
    others = [risk for risk in audit.risks if (risk.release, risk.attack) != (best.release, best.attack)]
    strongest, *each = (percent(_floor(risk.auc.confidence)) for risk in (best, *others))
    if not others:
        return f"Intervals have {strongest} confidence."
    said = (
        f"Intervals have {each[0]} confidence for each row. Those of the strongest attack have {strongest} confidence: they are corrected for selection "
        f"among {count(len(others) + 1)} attacks."
    )
    if not audit.verdict.leaks and any(risk.auc.low > 0.5 for risk in audit.risks):
        said += " Among many rows, one may be above 0.5 by chance. The verdict uses simultaneous intervals."
    return said


def _floor(confidence: float) -> float:
    """Format four decimals, rounded down: 0.99999 is not 1."""
    return int(confidence * 10_000 + 1e-6) / 10_000


# --- exposure ---------------------------------------------------------------------------------------------------------


def _exposure(audit: Audit) -> Details:
    rows = [
        Row((f"{percent(1 - rate)} of non-members", Value(tpr, "percent"), percent(rate)))
        for rate, tpr in sorted(audit.strongest.tpr_at_fpr.items(), reverse=True)
    ]
    columns = ("Scored above", "Share of members", "Expected without a leak")
    recognised = Table(columns, tuple(rows), "How many members are recognised", "By the strongest attack.")
    groups = _groups(audit) if audit.strongest.by_group else ()
    records = _exposed_records(audit) if audit.exposed else None
    return Details("Exposure", filled(*groups, recognised, records, charts.exposure(audit)), open=True)


def _groups(audit: Audit) -> tuple[Block, ...]:
    ordered, out = sorted(audit.strongest.by_group, key=lambda group: -group.gap.value), more_exposed(audit)
    first = max(out, key=lambda group: group.gap.low) if out else ordered[0]
    which, gap = group_name(first.column, first.level), write(first.gap, "signed")
    said = f"No group is significantly more exposed than the rest. The largest gap is {gap} ({which})."
    if out:
        said = f"{which} is significantly more exposed than the rest: {gap} in AUC."
    if len(out) > 1:
        said += f" {count(len(out) - 1, 'more group is', 'more groups are')} significantly more exposed too."
    note = "Label classes, or deciles of the label in a regression, are always groups. Intervals are simultaneous over all groups. Small groups are pooled."
    rows = []
    for group in ordered:
        figures = (Value(group.auc), Value(group.gap, "signed"), Value(group.advantage))
        cells = (group_name(group.column, group.level), *figures, group.members, group.nonmembers)
        rows.append(Row(cells, *tag_if(group in out, "more exposed")))
    columns = ("Group", "AUC", "Gap to the rest", "Advantage", "Members", "Non-members")
    shown, rest = Table(columns, tuple(rows[:CHARTED_GROUPS]), note=note), Table(columns, tuple(rows[CHARTED_GROUPS:]))
    return filled(
        Text((said,), "Groups", brief=True),
        charts.groups(audit, ordered[:CHARTED_GROUPS], out),
        shown,
        Details(count(len(rest.rows), "other group"), filled(rest)),
    )


def _exposed_records(audit: Audit) -> Table:
    notes = {
        "not_detected": "No leak was detected, so this order may be chance.",
        "inconclusive": "The verdict is inconclusive, so this order may be chance.",
    }
    usual = (
        "Exposure: one minus the mean probability of the true label under the reference models."
        if audit.settings.get("references")
        else "Exposure: the share of non-members that score lower under the strongest attack."
    )
    note = f"{notes.get(audit.verdict.kind, usual)} {_shared_rank(audit)}records.csv lists all records."
    rows = tuple(Row((name(record.id), f"{record.score:.4f}", record.rank)) for record in audit.exposed)
    return Table(("Record", "Exposure", "Rank"), rows, "Most exposed records (by id only)", note, private=True)


def _shared_rank(audit: Audit) -> str:
    """State that more records share the last rank than are listed."""
    last = audit.exposed[-1]
    named = sum(record.rank == last.rank for record in audit.exposed)
    if last.shared <= named:
        return ""
    if last.shared == audit.target.members:
        return "All training records are equally exposed, and these are the first of them. "
    return f"{count(last.shared, 'record')} share rank {count(last.rank)}, of which {count(named)} are listed here. "


def _extras(audit: Audit) -> Details:
    ordered = sorted(audit.extras, key=lambda extra: -extra.auc.value)
    adding = [extra for extra in ordered if extra.adds]
    prediction = name(ordered[0].prediction)
    if adding:
        added = count(len(adding), "explanation adds", "explanations add")
        listed = "; ".join(f"{name(extra.release)} {write(extra.auc, 'signed')}" for extra in adding[:5])
        said = f"{added} significantly to what an attacker learns from the {prediction}: {listed}."
    else:
        highest = max(ordered, key=lambda extra: extra.auc.high)
        said = (
            f"No explanation significantly increases what an attacker learns beyond the {prediction}. The widest interval is that of {name(highest.release)}: "
            f"{write(highest.auc, 'signed')}."
        )
    rows = []
    for extra in ordered:
        gains, control = values(extra.auc, extra.advantage, style="signed"), value(extra.control, "signed")
        cells = (name(extra.release), *gains, *values(extra.without, extra.together), control)
        rows.append(Row(cells, *tag_if(extra.adds, "adds")))
    columns = ("Explanation", "Gain in AUC", "Gain in advantage", "AUC without", "AUC with", "Gain on the control")
    note = "The same attack with the prediction and the true label, without and with the explanation, on the same records. Intervals are simultaneous."
    blocks = (Text((said,), brief=True), charts.extras(ordered), Table(columns, tuple(rows), note=note))
    return Details("Feature explanations", blocks, open=True)


def _call(audit: Audit) -> str:
    """Return the call in Python that reproduces the audit."""
    settings = audit.settings
    if audit.target.task == "scores":
        split = settings.get("random split", False)
        return f"ls.audit_scores(scores, member, seed={settings.get('seed', 0)}, random_split={split})"
    usual = {"releases": None, "references": REFERENCE_MODELS, "random split": False}
    given = {key: settings.get(key, value) for key, value in usual.items()}
    more = "".join(f", {key.replace(' ', '_')}={value!r}" for key, value in given.items() if value != usual[key])
    return (
        f"ls.audit(model, train, holdout, seed={settings.get('seed', 0)}, confidence={settings.get('confidence', 0.95)}, "
        f"margin={settings.get('margin', 0.05)}, retrain={settings.get('retrain', True)}, drop_overlap={settings.get('drop overlap', False)}{more})"
    )
