"""The document of an audit: does the model reveal who was in its training data?"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.estimate import Estimate
from leakscope.core.result import Result
from leakscope.core.wording import Style, count, name, percent, write
from leakscope.evaluation.results import Audit, AuditedModel, Bound, NamedMembers, ReleaseRisk
from leakscope.evaluation.settings import REFERENCE_MODELS
from leakscope.evaluation.verdict import choose_strongest
from leakscope.report.document import (
    Answer,
    Block,
    Cell,
    Details,
    Document,
    Item,
    Items,
    KeyFigure,
    KeyFigures,
    Row,
    Table,
    Text,
    Tone,
    Value,
)
from leakscope.report.documents import audit_charts as charts
from leakscope.report.documents.audit_limits import limits, stronger
from leakscope.report.documents.audit_steps import more_exposed, next_steps
from leakscope.report.documents.caveats import warnings
from leakscope.report.documents.common import glossary, not_run, provenance, sources
from leakscope.report.documents.releases import LOSSES, identified, in_pairs, in_plain_words, release_name, shown_rate
from leakscope.report.documents.verdict import LABELS, LEAKS, TONES, leaks_within, technical, why_inconclusive

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
    return Document(
        kind="audit",
        title=f"Audit of {name(audit.target.model)}",
        question="Does this model reveal who was in its training data?"
        if audit.target.task != "scores"
        else "Do these scores reveal who was in the training data?",
        answer=_answer(audit),
        facts=tuple(_facts(audit)),
        picture=charts.people(audit),
        blocks=tuple(_blocks(audit, others)),
    )


def _blocks(audit: Audit, others: Sequence[Result]) -> list[Block]:
    blocks: list[Block] = [
        _releases(audit),
        Items(tuple(next_steps(audit, others)), "What to do next", "steps", brief=True),
        _strongest(audit),
        _exposure(audit),
    ]
    if audit.extras:
        blocks.append(_extras(audit))
    blocks.append(_attacks(audit))
    if audit.warnings:
        blocks.append(warnings(audit))
    blocks += not_run(audit.not_run, brief=True)
    if options := stronger(audit):
        blocks.append(Items(tuple(options), "Stronger options", brief=True))
    cited: dict[str, list[str]] = {}
    for risk in audit.risks:
        if risk.attack not in cited.setdefault(risk.source, []):
            cited[risk.source].append(risk.attack)
    return [
        *blocks,
        limits(audit, others),
        Details("How to read this report", (Items(tuple(map(Item, HOW_TO_READ))), glossary()), open=True),
        sources(cited, [bound.source for bound in audit.bounds]),
        provenance(audit, _call(audit)),
    ]


# --- the answer -------------------------------------------------------------------------------------------------------


def _answer(audit: Audit) -> Answer:
    verdict = audit.verdict
    return Answer(
        LABELS[verdict.kind], TONES[verdict.kind], _headline(audit), tuple(_sentences(audit)), technical(verdict)
    )


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
    return [said, *_named(audit.named)]


def _named(named: NamedMembers | None) -> list[str]:
    """State how many people an attacker could name, where that is anybody."""
    if named is None or not named.count:
        return []
    people = count(named.count, "person", "people")
    return [f"An attacker who accepts one wrong name in ten could name {people} of the training data."]


def _facts(audit: Audit) -> list[tuple[str, Cell]]:
    target = audit.target
    facts: list[tuple[str, Cell]] = [
        ("Model", name(target.model)),
        ("Task", _task(target)),
        ("Members (training records)", target.members),
        ("Non-members (held-out records)", target.nonmembers),
        ("Judged on each side", target.judged),
    ]
    if (performance := target.performance) is not None:
        metric = performance.metric.capitalize()
        style: Style = "percent" if performance.metric == "accuracy" else "number"
        facts += [
            (f"{metric}, training", Value(performance.train, style)),
            (f"{metric}, holdout", Value(performance.holdout, style)),
        ]
    return [*facts, ("Confidence", _certainty(audit))]


def _certainty(audit: Audit) -> str:
    confidence = percent(round(audit.settings.get("confidence", audit.strongest.auc.confidence), 4))
    tried = len(audit.risks)
    chosen = f", corrected for selection among {count(tried)} attacks" if tried > 1 else ""
    return f"{confidence}{chosen}"


def _task(target: AuditedModel) -> str:
    classes = f", {count(target.classes, 'class', 'classes')}" if target.classes else ""
    features = "" if target.features is None else f", {count(target.features, 'feature')}"
    return f"{target.task}{classes}{features}"


# --- releases and attacks ---------------------------------------------------------------------------------------------

_TAGS: dict[str, tuple[str, Tone]] = {"yes": ("leaks", "risk"), "no": ("not detected", "safe")}


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
        tag, tone = _tag(audit, risk)
        rate = shown_rate(risk.tpr_at_fpr)
        found = None if rate is None else Value(risk.tpr_at_fpr[rate], "percent")
        cells: tuple[Cell, ...] = (
            release_name(risk.release, audit.target.task), found, Value(risk.auc), Value(risk.control),
            name(risk.attack), *([_tpr_bound(bound, rate)] if bound else []),
        )  # fmt: skip
        rows.append(Row(cells, tag, tone, in_plain_words(risk)))
    note = "Each row is the strongest attack on that release. All intervals are simultaneous."
    if bound is not None:
        note += f" By the claimed privacy, the advantage of any attack is {write(bound.advantage)}."
    return Table(tuple(columns), tuple(rows), "Risk by release", note, brief=True)


def _tpr_bound(bound: Bound, rate: float | None) -> Cell:
    """State the largest TPR of any attack at a false-positive rate under the claimed privacy."""
    if rate is None:
        return None
    most = bound.most_found(rate)
    return Value(Estimate(most, 0.0, most, kind="upper bound"), "percent")


def _tag(audit: Audit, risk: ReleaseRisk) -> tuple[str, Tone]:
    outcome = next(
        (one.outcome for one in audit.claims if one.code == "leak" and one.subject.get("release") == risk.release),
        "inconclusive",
    )
    if outcome in _TAGS:
        return _TAGS[outcome]
    return ("shift possible", "unknown") if risk.beats_chance else ("not significant", "plain")


def _strongest(audit: Audit) -> Details:
    risk = audit.strongest
    figures = [
        KeyFigure("AUC", Value(risk.auc), "0.5 is chance"),
        KeyFigure("Advantage", Value(risk.advantage), "0 is chance"),
        KeyFigure("Accuracy", Value(risk.accuracy, "percent"), "50 % is chance"),
    ]
    for rate, tpr in risk.tpr_at_fpr.items():
        figures.append(KeyFigure(f"TPR at {percent(rate)} FPR", Value(tpr, "percent"), f"{percent(rate)} is chance"))
    said = [
        f"Attack: {name(risk.attack)}. Release: {name(risk.release)}, {release_name(risk.release, audit.target.task).lower()}.",
        in_pairs(risk),
    ]
    said += [found] if (found := identified(risk)) else []
    if risk.blind is not None and risk.beyond_blind is not None:
        more = write(risk.beyond_blind, "signed")
        verb = "adds" if risk.beyond_blind.low > 0 else "adds nothing significant:"
        said.append(f"Without the model, the blind baseline has AUC {write(risk.blind)}. The model {verb} {more}.")
    return Details(
        "Strongest attack",
        (Text(tuple(said)), KeyFigures(tuple(figures)), charts.roc(audit), charts.histogram(audit)),
        open=True,
    )


def _attacks(audit: Audit) -> Table:
    strongest = audit.strongest
    rates = sorted({rate for risk in (strongest, *audit.risks) for rate in risk.tpr_at_fpr}, reverse=True)
    columns = ["Attack", "Release", "AUC", "Control AUC", "Beyond control", "Beyond blind", "Advantage", "Accuracy"]
    columns += [f"TPR at {percent(rate)} FPR" for rate in rates]
    rows = []
    for risk in sorted(audit.risks, key=lambda one: -one.auc.value):
        same = (risk.release, risk.attack) == (strongest.release, strongest.attack)
        shown = strongest if same else risk
        cells: list[Cell] = [name(shown.attack), name(shown.release), Value(shown.auc), Value(shown.control.auc)]
        cells += [
            Value(shown.beyond_control, "signed"),
            None if shown.beyond_blind is None else Value(shown.beyond_blind, "signed"),
        ]
        cells += [Value(shown.advantage), Value(shown.accuracy, "percent")]
        cells += [Value(shown.tpr_at_fpr[rate], "percent") if rate in shown.tpr_at_fpr else None for rate in rates]
        rows.append(Row(tuple(cells), "strongest" if same else "", "risk" if same and audit.verdict.leaks else "plain"))
    return Table(tuple(columns), tuple(rows), "All attacks", _intervals_note(audit))


def _intervals_note(audit: Audit) -> str:
    strongest = audit.strongest.auc.confidence
    others = [
        risk.auc.confidence
        for risk in audit.risks
        if risk.attack != audit.strongest.attack or risk.release != audit.strongest.release
    ]
    if not others:
        return f"Intervals have {percent(_floor(strongest))} confidence."
    said = (
        f"Intervals have {percent(_floor(others[0]))} confidence for each row. Those of the strongest attack have {percent(_floor(strongest))} "
        f"confidence: they are corrected for selection among {count(len(others) + 1)} attacks."
    )
    if not audit.verdict.leaks and any(risk.auc.low > 0.5 for risk in audit.risks):
        said += " Among many rows, one may be above 0.5 by chance. The verdict uses simultaneous intervals."
    return said


def _floor(confidence: float) -> float:
    """Format four decimals, rounded down: 0.99999 is not 1."""
    return int(confidence * 10_000 + 1e-6) / 10_000


# --- exposure ---------------------------------------------------------------------------------------------------------


def _exposure(audit: Audit) -> Details:
    blocks: list[Block] = []
    if audit.strongest.by_group:
        blocks += _groups(audit)
    rows = [
        Row((f"{percent(1 - rate)} of non-members", Value(tpr, "percent"), percent(rate)))
        for rate, tpr in sorted(audit.strongest.tpr_at_fpr.items(), reverse=True)
    ]
    if rows:
        columns = ("Scored above", "Share of members", "Expected without a leak")
        blocks.append(Table(columns, tuple(rows), "How many members are recognised", "By the strongest attack."))
    if audit.exposed:
        blocks.append(_exposed_records(audit))
    if (drawn := charts.exposure(audit)) is not None:
        blocks.append(drawn)
    return Details("Exposure", tuple(blocks), open=True)


def _groups(audit: Audit) -> list[Block]:
    groups = audit.strongest.by_group
    ordered, out = sorted(groups, key=lambda group: -group.gap.value), more_exposed(audit)
    if out:
        first = max(out, key=lambda group: group.gap.low)
        more = (
            f" {count(len(out) - 1, 'more group is', 'more groups are')} significantly more exposed too."
            if len(out) > 1
            else ""
        )
        said = f"{_group(first.column, first.level)} is significantly more exposed than the rest: {write(first.gap, 'signed')} in AUC.{more}"
    else:
        first = ordered[0]
        said = f"No group is significantly more exposed than the rest. The largest gap is {write(first.gap, 'signed')} ({_group(first.column, first.level)})."
    note = "Label classes, or deciles of the label in a regression, are always groups. Intervals are simultaneous over all groups. Small groups are pooled."
    rows = [
        Row(
            (
                _group(group.column, group.level),
                Value(group.auc),
                Value(group.gap, "signed"),
                Value(group.advantage),
                group.members,
                group.nonmembers,
            ),
            "more exposed" if group in out else "",
            "risk" if group in out else "plain",
        )
        for group in ordered
    ]
    columns = ("Group", "AUC", "Gap to the rest", "Advantage", "Members", "Non-members")
    shown, rest = rows[:CHARTED_GROUPS], rows[CHARTED_GROUPS:]
    blocks: list[Block] = [
        Text((said,), "Groups", brief=True),
        charts.groups(audit, ordered[:CHARTED_GROUPS], out),
        Table(columns, tuple(shown), note=note),
    ]
    if rest:
        blocks.append(Details(f"{count(len(rest), 'other group')}", (Table(columns, tuple(rest)),)))
    return blocks


def _group(column: str, level: str) -> str:
    return f"{name(column, 40)} = {name(level, 40)}"


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
        said = (
            f"{count(len(adding), 'explanation adds', 'explanations add')} significantly to what an attacker learns from the {prediction}: "
            + "; ".join(f"{name(extra.release)} {write(extra.auc, 'signed')}" for extra in adding[:5])
            + "."
        )
    else:
        highest = max(ordered, key=lambda extra: extra.auc.high)
        said = (
            f"No explanation significantly increases what an attacker learns beyond the {prediction}. The widest interval is that of {name(highest.release)}: "
            f"{write(highest.auc, 'signed')}."
        )
    rows = [
        Row(
            (name(extra.release), Value(extra.auc, "signed"), Value(extra.advantage, "signed"), Value(extra.without), Value(extra.together),
             None if extra.control is None else Value(extra.control, "signed")),
            "adds" if extra.adds else "",
            "risk" if extra.adds else "plain",
        )
        for extra in ordered
    ]  # fmt: skip
    columns = ("Explanation", "Gain in AUC", "Gain in advantage", "AUC without", "AUC with", "Gain on the control")
    note = "The same attack with the prediction and the true label, without and with the explanation, on the same records. Intervals are simultaneous."
    return Details(
        "Feature explanations",
        (Text((said,), brief=True), charts.extras(ordered), Table(columns, tuple(rows), note=note)),
        open=True,
    )


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
