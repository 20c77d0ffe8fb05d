"""The document of a comparison of defenses: which one lowers the risk, and what does it cost?"""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.result import Result
from leakscope.core.wording import listing, name, number, out_of, percent, quoted, sentence, write
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series
from leakscope.report.document import Answer, Block, Cell, Document, Item, KeyFigures, Row, Table, Tag, Value
from leakscope.report.documents import comparison_parts as parts
from leakscope.report.documents.caveats import describe, warnings
from leakscope.report.documents.cells import control_name, outcome, value
from leakscope.report.documents.common import cite, filled, not_run, provenance, reading, sources
from leakscope.report.documents.releases import in_pairs
from leakscope.report.documents.verdict import technical
from leakscope.studies.compare.result import Comparison, Version

_LABELS: dict[str, Tag] = {
    "use": ("Defense found", "safe"),
    "utility_limit": ("Lower risk, lower utility", "unknown"),
    "not_lowered": ("Not lowered", "unknown"),
    "nothing_to_lower": ("Nothing to lower", "plain"),
    "inconclusive": ("Inconclusive", "unknown"),
    "untested": ("Not tested enough", "unknown"),
}
HOW_TO_READ = (
    "The risk of a version is the largest AUC of all attacks on it. Some of these attacks are adapted to the defense.",
    "A lower AUC means that the attacks that were run find less. Stronger attacks may exist. Only a guarantee covers all attacks, and only if its "
    "assumptions hold.",
    "A defense that changes outputs in a way that can be undone, such as a temperature, hides nothing from an attacker who knows it.",
    "Intervals are about these trained models and these records. Another training, or other people, can give other numbers.",
    "What the attacks show of ε is a lower bound. At least 0 means that nothing was shown; it does not mean that ε is small.",
    "“Pareto-optimal” and “dominated” compare values and can be due to chance. “Significantly dominated” uses intervals that are simultaneous for all pairs.",
    "A small average loss can be a large loss for a few people: check the groups, and those that are too small to be shown.",
)


def make(found: Comparison, others: Sequence[Result]) -> Document:  # noqa: ARG001
    """Make the document of a comparison of defenses."""
    return Document(
        kind="comparison",
        title=f"Defenses of {name(found.studied)}",
        question="Which defense lowers the risk, and what does it cost?",
        answer=_answer(found),
        facts=_facts(found),
        blocks=_blocks(found),
    )


def advise(found: Comparison) -> list[Item]:
    """Return the next steps that this comparison supports, for the report of an audit."""
    steps = []
    if (chosen := found.recommendation.version) is not None:
        said = f"{sentence(found[chosen].what)} {_changed(found[chosen])}"
        steps.append(Item(said, f"Use {quoted(chosen)}", "measured"))
    for version in found.refuted:
        said = f"{parts.claimed(version)} {parts.shown(version)} Find the error first."
        steps.append(Item(said, f"Do not rely on the guarantee of {quoted(version.name)}", "measured"))
    return steps


def _blocks(found: Comparison) -> tuple[Block, ...]:
    records = found.record_explanations
    cited = [(version.source, version.defense) for version in found.compared]
    cited += [(version.guarantee.source, version.defense) for version in found.compared if version.guarantee]
    return filled(
        _figures(found),
        _versions(found),
        *parts.guarantees(found),
        frontier(found),
        parts.utility(found),
        parts.faithfulness(found),
        None if records is None else parts.record_explanations(records),
        parts.groups(found),
        parts.attacks(found),
        parts.retrained(found),
        parts.notes(found),
        warnings(found),
        not_run((*found.not_run, *(records.not_run if records else ())), brief=True),
        reading(HOW_TO_READ),
        sources(cite(cited)),
        provenance(found, _call(found)),
    )


def _call(found: Comparison) -> str:
    names = ("utility_loss", "references", "retrain", "confidence", "margin", "tolerance", "seed")
    given = [f"{key}={found.settings[key]!r}" for key in names if key in found.settings]
    return f"ls.compare(target, defenses=[…], {', '.join(given)})"


# --- the answer -------------------------------------------------------------------------------------------------------


def _answer(found: Comparison) -> Answer:
    label, tone = _LABELS[found.recommendation.kind]
    headline, *sentences = _said(found)
    if refuted := [quoted(version.name) for version in found.refuted]:
        sentences = [headline, *sentences]
        label, tone = "Guarantee refuted", "risk"
        guarantees = "guarantee of {} is" if len(refuted) == 1 else "guarantees of {} are"
        headline = f"The {guarantees.format(listing(refuted))} refuted by an attack."
    return Answer(label, tone, headline, tuple(sentences), tuple(_technical(found)))


def _said(found: Comparison) -> list[str]:
    """The recommendation for lay readers."""
    limit = _limit(found)
    as_it_is = in_pairs(found.as_it_is.risk, "the strongest attack on the model as it is")
    match found.recommendation.kind:
        case "use":
            version = found[str(found.recommendation.version)]
            use = f"Use {quoted(version.name)}: it significantly lowers the risk, and {limit}."
            return [use, f"{sentence(version.what)} {_effect(found, version)}"]
        case "utility_limit":
            version = found[str(found.recommendation.candidate)]
            least = f"{quoted(version.name)} loses least: {name(version.what, 200)}. {_effect(found, version)}"
            return [f"The risk can be lowered, but no version significantly lowers it while {limit}.", least]
        case "nothing_to_lower":
            where = "" if found.record_explanations is None else " from the outputs"
            nothing = f"No leak{where} was detected that a defense could lower."
            return [nothing, f"{as_it_is} Stronger attacks may exist."]
        case "inconclusive":
            doubts = filter(None, [found.recommendation.doubt])
            return ["It is inconclusive whether a defense lowers the risk.", *map(describe, doubts)]
        case "untested":
            return [
                f"{quoted(found.recommendation.candidate)} lowers what these attacks find, but the attacks that know a defense best were not run.",
                "These use reference models trained with the defense, and often find what is hidden from simpler attacks. Train reference models "
                "(references=4, --references 4) of a model that can be retrained.",
            ]
    if len(found.compared) == 1:
        return ["No other version of the model was compared: these defenses change record explanations only.", as_it_is]
    return ["No version significantly lowers the risk.", as_it_is]


def _effect(found: Comparison, version: Version) -> str:
    """What a version does to risk and utility, for lay readers."""
    metric, metrics = version.main.metric, [one.metric for one in (*version.utility.values(), *version.faithfulness)]
    lost = [one for one in metrics if outcome(found, "utility_lost", version=version.name, metric=one) == "yes"]
    also = [one for one in lost if one != metric]
    more = f" It significantly worsens {listing(also)} too." if also else ""
    return (
        f"{in_pairs(version.risk, 'the strongest attack then')} For the model as it is, this is {out_of(100, found.as_it_is.risk.auc)} times. The "
        f"{name(metric)} changes by {write(version.main.change, 'signed')}.{more}"
    )


def _limit(found: Comparison) -> str:
    """The limit of utility that a recommended version keeps."""
    limit, metric = found.settings["utility_loss"], name(found.as_it_is.main.metric)
    if found.settings["task"] == "classification":
        return f"its loss of {metric} is significantly below {number(limit)}"
    return f"its increase of {metric} is significantly below {percent(limit)}"


def _changed(version: Version) -> str:
    assert version.risk_change is not None
    return (
        f"The largest AUC of any attack changes by {write(version.risk_change, 'signed')} to {write(version.risk.auc)}, the "
        f"{name(version.main.metric)} by {write(version.main.change, 'signed')} to {write(version.main.value)}."
    )


def _technical(found: Comparison) -> list[str]:
    said = []
    candidate = found.recommendation.candidate
    if candidate is not None:
        said.append(f"{quoted(candidate)}: {_changed(found[candidate])}")
    elif found.recommendation.kind in ("inconclusive", "nothing_to_lower"):
        said += technical(found.verdict)
    if (better := found.as_it_is.significantly_dominated_by) is not None and better != candidate:
        said.append(f"{quoted(better)} significantly dominates the model as it is.")
    for version in found.compared:
        if version.guarantee_status in ("refuted", "in doubt"):
            said.append(f"{parts.claimed(version)} {parts.shown(version)}")
    if candidate is not None and (loss := parts.largest_group_loss(found, found[candidate])):
        said.append(loss)
    if found.record_explanations is not None:
        said.append(parts.record_recommendation(found.record_explanations))
    return said


# --- versions ---------------------------------------------------------------------------------------------------------


def _facts(found: Comparison) -> tuple[tuple[str, Cell], ...]:
    settings = found.settings
    return (
        ("Model", name(found.studied)),
        ("Task", name(settings["task"])),
        ("Members (training records)", settings["members"]),
        ("Non-members (held-out records)", settings["held out"]),
        ("Judged on each side", settings["judged"]),
        ("Versions", len(found.compared)),
        (f"{name(found.as_it_is.main.metric).capitalize()} as it is", Value(found.as_it_is.main.value)),
        ("Confidence", f"{percent(settings['confidence'])}, simultaneous for all versions and attacks"),
    )


def _figures(found: Comparison) -> KeyFigures:
    before, metric = found.as_it_is, name(found.as_it_is.main.metric)
    figures: list[tuple[str, Cell, str]] = [
        ("AUC as it is", Value(before.risk.auc), f"0.5 is chance; strongest attack: {name(before.strongest)}"),
        ("Control AUC as it is", Value(before.control), control_name(before.control_kind)),
        (f"{metric.capitalize()} as it is", Value(before.main.value), "on held-out records"),
    ]
    if found.recommendation.candidate is not None:
        version = found[found.recommendation.candidate]
        of, main = quoted(version.name), version.main
        figures[1:1] = [
            (f"AUC of {of}", Value(version.risk.auc), f"strongest attack: {name(version.strongest)}"),
            (f"Change of AUC by {of}", value(version.risk_change, "signed"), "below 0 is less risk"),
        ]
        figures.append((f"Change of {metric} by {of}", Value(main.change, "signed"), f"{main.better} is better"))
    return KeyFigures(tuple(figures))


def _versions(found: Comparison) -> Table:
    rows = []
    for at, version in enumerate(found.compared, start=1):
        change = None if version.risk_change is None else Value(version.main.change, "signed")
        figures = (Value(version.risk.auc), value(version.risk_change, "signed"), change)
        note = f"{sentence(version.what)} {parts.standing(version)} Strongest attack: {name(version.strongest)}."
        rows.append(Row((f"{at} {name(version.name)}", *figures), *_tag(found, version), note))
    note = (
        "AUC: the largest of any attack; 0.5 is chance, and the upper end of the interval is not excluded. Intervals of the AUC are simultaneous for all "
        "versions. Changes are paired on the same records, and simultaneous too."
    )
    columns = ("Version", "AUC", "Change of AUC", f"Change of {name(found.as_it_is.main.metric)}")
    return Table(columns, tuple(rows), "Versions", note, brief=True, most=40)


def _tag(found: Comparison, version: Version) -> Tag:
    if version.guarantee_status == "refuted":
        return "guarantee refuted", "risk"
    if version.name == found.recommendation.version:
        return "recommended", "safe"
    if version.significantly_dominated_by is not None:
        return "dominated", "plain"
    if outcome(found, "risk_lowered", version=version.name) == "yes":
        return "lower risk", "safe"
    return "", "plain"


def frontier(found: Comparison) -> Chart:
    """Draw risk against utility: one mark for each version, with intervals on both axes."""
    main = found.as_it_is.main
    metric, side = name(main.metric), "right" if main.better == "more" else "left"
    labels = {version.name: f"{at} {name(version.name)}" for at, version in enumerate(found.compared, start=1)}
    marks: dict[str, list[Mark]] = {}
    for version in found.compared:
        mark = Mark(version.main.value.finite(), version.risk.auc, labels[version.name])
        marks.setdefault(version.defense, []).append(mark)
    series = [
        Series(name(defense or found.as_it_is.name), tuple(some), "points", "plain" if defense else "strong")
        for defense, some in marks.items()
    ]
    return Chart(
        "Risk against utility",
        f"One mark for each version: further {side} is more useful, further down is less risk. Bars are intervals. Diamonds are Pareto-optimal in AUC and "
        f"{metric}, by values.",
        Axis(f"{metric.capitalize()} on held-out records ({side} is better)", from_zero=False),
        Axis("Largest AUC of any attack", from_zero=False),
        tuple(series),
        rules=(Rule(0.5, label="chance"),),
        highlighted=tuple(labels[version.name] for version in found.compared if version.pareto_optimal),
        highlight="Pareto-optimal",
    )
