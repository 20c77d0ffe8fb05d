"""Sections of the document of a comparison: guarantees, utility, groups, attacks and record explanations."""

from __future__ import annotations

from leakscope.comparison.result import Comparison, RecordComparison, RecordVersion, Version
from leakscope.core.estimate import Estimate
from leakscope.core.wording import (
    SENTENCE_LENGTH,
    count,
    listing,
    name,
    number,
    percent,
    quoted,
    sentence,
    write,
)
from leakscope.report.document import Block, Cell, Details, Item, Items, Row, Table, Text, Tone, Value
from leakscope.report.documents.releases import shown_rate

#: Pairs of a version and a group that are shown above the table of all.
MOST_GROUPS = 8
_STATUS: dict[str, tuple[str, Tone]] = {
    "not refuted": ("not refuted", "safe"),
    "refuted": ("refuted", "risk"),
    "in doubt": ("in doubt", "unknown"),
    "none": ("", "plain"),
}
_KNOWS = {
    "references": "reference models",
    "labels": "labels of changed copies",
    "": "defended outputs",
}


def standing(version: Version | RecordVersion) -> str:
    """State which version dominates this one."""
    if version.significantly_dominated_by is not None:
        return f"Significantly dominated by {quoted(version.significantly_dominated_by)}."
    if version.dominated_by is not None:
        return f"Dominated by {quoted(version.dominated_by)}, not significantly."
    return "Pareto-optimal."


def _change(estimate: Estimate | None) -> Cell:
    return None if estimate is None else Value(estimate, "signed")


# --- guarantees -------------------------------------------------------------------------------------------------------


def claimed(version: Version) -> str:
    """State what is guaranteed, for the neighbours that it is proven for and for the swap of one record."""
    guarantee = version.guarantee
    assert guarantee is not None
    delta = f", δ = {number(guarantee.delta)}" if guarantee.delta else ""
    of = "the swap of one record" if guarantee.neighbours == "swap" else "one record added or removed"
    swaps = (
        ""
        if guarantee.neighbours == "swap"
        else f", which is ε = {number(guarantee.for_swaps()[0])} for the swap of one record"
    )
    return f"{quoted(version.name)} guarantees ε = {number(guarantee.epsilon)}{delta} for {of}{swaps}."


def shown(version: Version) -> str:
    """State what the attacks show, and what this means for the guarantee."""
    said = f"The attacks show that ε is {write(version.epsilon)} for the swap of one record."
    if version.guarantee_status == "in doubt":
        said += " This is more than the guarantee allows, but a distribution shift may explain it."
    return said


def guarantees(found: Comparison) -> list[Block]:
    """List guarantees, what the attacks show, and what they assume; nothing where there are none."""
    having = [version for version in found.compared if version.guarantee is not None]
    if not having:
        return []
    rows = []
    for version in having:
        guarantee = version.guarantee
        assert guarantee is not None
        tag, tone = _STATUS[version.guarantee_status]
        (claim,) = found.claims_about(version.name, "guarantee_refuted")
        epsilon, shown_epsilon = claim.estimates["guaranteed_epsilon"], claim.estimates["epsilon"]
        cells: tuple[Cell, ...] = (name(version.name), Value(epsilon), Value(shown_epsilon), guarantee.covers)
        rows.append(Row(cells, tag, tone, claimed(version)))
    columns = ("Version", "Guaranteed ε", "ε shown by attacks", "Covers")
    note = "For the swap of one record. What the attacks show is a lower bound: one above the guarantee refutes it."
    if any(version.guarantee_status == "in doubt" for version in having):
        note += " In doubt: the bound is above the guarantee, but a distribution shift between members and non-members may explain it."
    blocks: list[Block] = [Table(columns, tuple(rows), "Guarantees", note, brief=True, most=20)]
    assumed: dict[str, list[str]] = {}
    for version in having:
        if version.guarantee is not None and version.guarantee.rests_on:
            assumed.setdefault(version.guarantee.rests_on, []).append(version.name)
    if assumed:
        items = [Item(sentence(text), listing(names, 6)) for text, names in assumed.items()]
        blocks.append(Items(tuple(items), "Assumptions of the guarantees", style="terms"))
    return blocks


def notes(found: Comparison) -> list[Item]:
    """Give the notes of defenses, each once."""
    said: dict[str, list[str]] = {}
    records = () if found.record_explanations is None else found.record_explanations.versions
    noted = [(one.name, one.notes) for one in found.compared] + [(one.name, one.notes) for one in records]
    for version, some in noted:
        for note in some:
            said.setdefault(note, []).append(version)
    return [Item(name(note, SENTENCE_LENGTH), listing(names, 6)) for note, names in said.items()]


# --- utility and attacks ----------------------------------------------------------------------------------------------


def utility(found: Comparison) -> Table:
    """List every metric of every version with its change."""
    metrics = [name(one.metric) for one in found.as_it_is.utility.values()]
    rows = []
    for version in found.compared:
        cells: list[Cell] = [name(version.name)]
        for one in version.utility.values():
            cells += [Value(one.value), _change(None if version.risk_change is None else one.change)]
        rows.append(Row(tuple(cells)))
    columns = ["Version", *(column for metric in metrics for column in (metric.capitalize(), f"Change of {metric}"))]
    note = "On held-out records. Of the log-loss, the calibration error and the mean squared error, less is better."
    return Table(tuple(columns), tuple(rows), "Utility", note)


def faithfulness(found: Comparison) -> Table:
    """List how faithful the released explanations are."""
    rows = [
        Row(
            (
                name(version.name),
                name(one.metric),
                Value(one.value),
                _change(None if version.risk_change is None else one.change),
            )
        )
        for version in found.compared
        for one in version.faithfulness
    ]
    note = "How much better the order of the features is than a random one; 0 is a random order."
    return Table(
        ("Version", "Explanation", "Faithfulness", "Change"),
        tuple(rows),
        "Feature explanations",
        note,
    )


def group_name(column: str, level: str) -> str:
    """Give the name of a group."""
    return f"{name(column, 40)} = {name(level, 40)}"


def largest_group_loss(found: Comparison, version: Version) -> str:
    """State which group loses most with a version, where one loses significantly."""
    lost = [
        (one.subject["column"], one.subject["level"]) for one in found.claims_about(version.name, "group_utility_lost")
    ]
    losing = [group for group in version.groups if (group.column, group.level) in lost]
    if not losing:
        return ""
    most = min(losing, key=lambda group: group.gain.value)
    return (
        f"With {quoted(version.name)}, {count(len(losing), 'group loses', 'groups lose')} utility significantly. The largest loss is that of "
        f"{group_name(most.column, most.level)}: its {name(most.metric)} changes by {write(most.change, 'signed')}."
    )


def groups(found: Comparison) -> Details:
    """List utility and risk of every group with every version, the largest loss first."""
    lost = {
        (one.subject["version"], one.subject["column"], one.subject["level"])
        for one in found.claims
        if one.code == "group_utility_lost" and one.outcome == "yes"
    }
    before = {(group.column, group.level): group.auc for group in found.as_it_is.groups}
    pairs = [(version, group) for version in found.compared[1:] for group in version.groups]
    pairs.sort(key=lambda pair: pair[1].gain.value)
    rows = []
    for version, group in pairs:
        loses = (version.name, group.column, group.level) in lost
        then = before.get((group.column, group.level))
        cells: tuple[Cell, ...] = (
            name(version.name), group_name(group.column, group.level), group.records, Value(group.value), Value(group.change, "signed"),
            None if group.auc is None else Value(group.auc), None if then is None else Value(then),
        )  # fmt: skip
        rows.append(Row(cells, "loses" if loses else "", "risk" if loses else "plain"))
    metric = name(found.as_it_is.main.metric)
    columns = ("Version", "Group", "Records", metric.capitalize(), f"Change of {metric}", "AUC", "AUC as it is")
    of = f"{count(len(rows), 'pair')} of a version and a group"
    said = (
        f"In {count(len(lost))} of {of}, the group loses significantly."
        if lost
        else f"In none of {of} does the group lose significantly."
    )
    note = (
        "Changes are simultaneous for all groups and versions. Small groups have wide intervals, which can hide losses."
    )
    blocks: list[Block] = [Text((said,), brief=True), Table(columns, tuple(rows[:MOST_GROUPS]), note=note)]
    if rest := rows[MOST_GROUPS:]:
        blocks.append(Details(f"{count(len(rest), 'other pair')}", (Table(columns, tuple(rest)),)))
    return Details("Groups", tuple(blocks), open=True)


def attacks(found: Comparison) -> Details:
    """List every attack on every version."""
    rows = []
    rates = set()
    for version in found.compared:
        for one in version.attacks:
            rate = shown_rate(one.tpr_at_fpr)
            rates.add(rate)
            tpr = None if rate is None else Value(one.tpr_at_fpr[rate], "percent")
            cells: tuple[Cell, ...] = (
                name(version.name),
                name(one.attack),
                name(one.release),
                Value(one.auc),
                Value(one.control),
                tpr,
                _KNOWS[one.knows],
            )
            rows.append(Row(cells))
    (only, *more) = rates or {None}
    heading = "TPR at low FPR" if more or only is None else f"TPR at {percent(only)} FPR"
    columns = ("Version", "Attack", "Release", "AUC", "Control AUC", heading, "Adapted to the defense by")
    note = "Attacks that learn are fitted on defended outputs. Reference models are trained with the defense. Labels of changed copies need no confidences."
    return Details("All attacks", (Table(columns, tuple(rows), note=note),))


def retrained(found: Comparison) -> Details:
    """List the main metric over several trainings of each version."""
    rows = [
        Row((name(version.name), Value(version.main.value), Value(version.retrained)))
        for version in found.compared
        if version.retrained is not None
    ]
    metric = name(found.as_it_is.main.metric)
    columns = ("Version", metric.capitalize(), "Mean over other trainings")
    note = "Models trained in the same way on other draws of records, each on records that it did not see: how much a single training varies."
    return Details("Variation over trainings", (Table(columns, tuple(rows), note=note),))


# --- record explanations ----------------------------------------------------------------------------------------------


def record_recommendation(found: RecordComparison) -> str:
    """State what to do about record explanations."""
    before, limit = found.as_it_is, number(found.settings["price"])
    match found.recommendation.kind:
        case "nothing_to_lower":
            return "No attack recovers a training record from record explanations."
        case "not_lowered":
            tried = (
                "No release of record explanations significantly lowers"
                if len(found.versions) > 1
                else "No other release was compared, so none lowers"
            )
            return f"{tried} the share of the training records that attacks recover: {write(before.share, 'percent')} as it is."
    version = found[str(found.recommendation.candidate)]
    assert version.change is not None
    changed = f"the share of the training records that attacks recover changes by {write(version.change, 'signed')} to {write(version.share)}"
    if found.recommendation.kind == "use":
        fewer = (
            f" if honest users need at most {count(version.budget, 'query', 'queries')}"
            if version.budget < before.budget
            else ""
        )
        return f"For record explanations, use {quoted(version.name)}{fewer}: {changed}. The loss of usefulness is significantly within {limit}."
    return (
        f"For record explanations, {quoted(version.name)} lowers the risk most: {changed}. No release that significantly lowers it is significantly within a "
        f"loss of usefulness of {limit}: honest users get {write(version.found, 'percent')} of the {count(version.best)} most influential records."
    )


def record_explanations(found: RecordComparison) -> Details:
    """Compare releases of record explanations."""
    rows, useful = [], []
    for version in found.versions:
        chosen = version.name == found.recommendation.version
        tag = "recommended" if chosen else "dominated" if version.significantly_dominated_by else ""
        risk: tuple[Cell, ...] = (name(version.name), version.budget, Value(version.share), _change(version.change))
        note = f"{sentence(version.release)} {standing(version)} Strongest attack: {name(version.strongest)}."
        rows.append(Row((*risk, Value(version.ceiling)), tag, "safe" if chosen else "plain", note))
        error = None if version.error is None else Value(version.error)
        useful.append(Row((name(version.name), Value(version.answered), Value(version.found), error)))
    settings, best = found.settings, found.as_it_is.best
    note = (
        f"Recovered: the largest share of {count(settings['records'])} training records that any attack sees through explanations, over "
        f"{count(settings['repeats'])} runs; the attacker has {count(settings['holdout'])} own records. Intervals are over the randomness of the attacks, and "
        "simultaneous. Limit: queries times records shown; no attack by one user can see more."
    )
    columns = ("Release", "Queries", "Recovered", "Change", "Limit")
    kept = ("Release", "Queries answered", f"Share of the best {best} records shown", "Relative error of influences")
    return Details(
        "Record explanations",
        (
            Text((record_recommendation(found),)),
            Table(columns, tuple(rows), note=note, brief=True, most=20),
            Table(kept, tuple(useful), "What honest users get"),
        ),
        open=True,
    )
