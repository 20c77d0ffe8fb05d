"""Sections of the document of a comparison: guarantees, utility, groups, attacks and record explanations."""

from __future__ import annotations

from leakscope.core.wording import SENTENCE_LENGTH, count, listing, name, number, percent, quoted, sentence, write
from leakscope.report.document import Block, Cell, Details, Items, Row, Table, Tag, Text, Value
from leakscope.report.documents.cells import group_name, outcome, tag_if, value, values
from leakscope.report.documents.common import cite, filled, terms
from leakscope.report.documents.releases import shown_rate
from leakscope.studies.compare.result import (
    Comparison,
    GroupUtility,
    MetricChange,
    RecordComparison,
    RecordVersion,
    Version,
)

#: Pairs of a version and a group that are shown above the table of all.
MOST_GROUPS = 8
_STATUS: dict[str, Tag] = {
    "not refuted": ("not refuted", "safe"),
    "refuted": ("refuted", "risk"),
    "in doubt": ("in doubt", "unknown"),
    "none": ("", "plain"),
}
_KNOWS = {"references": "reference models", "labels": "labels of changed copies", "": "defended outputs"}


def standing(version: Version | RecordVersion) -> str:
    """State which version dominates this one."""
    if version.significantly_dominated_by is not None:
        return f"Significantly dominated by {quoted(version.significantly_dominated_by)}."
    if version.dominated_by is not None:
        return f"Dominated by {quoted(version.dominated_by)}, not significantly."
    return "Pareto-optimal."


def _with_change(version: Version, one: MetricChange) -> tuple[Cell, Cell]:
    """A metric and its change; the model as it is has none."""
    return Value(one.value), None if version.risk_change is None else Value(one.change, "signed")


# --- guarantees -------------------------------------------------------------------------------------------------------


def claimed(version: Version) -> str:
    """State what is guaranteed, for the neighbours that it is proven for and for the swap of one record."""
    guarantee = version.guarantee
    assert guarantee is not None
    delta = f", δ = {number(guarantee.delta)}" if guarantee.delta else ""
    said = f"{quoted(version.name)} guarantees ε = {number(guarantee.epsilon)}{delta} for "
    if guarantee.neighbours == "swap":
        return f"{said}the swap of one record."
    swaps = number(guarantee.for_swaps()[0])
    return f"{said}one record added or removed, which is ε = {swaps} for the swap of one record."


def shown(version: Version) -> str:
    """State what the attacks show, and what this means for the guarantee."""
    said = f"The attacks show that ε is {write(version.epsilon)} for the swap of one record."
    if version.guarantee_status == "in doubt":
        said += " This is more than the guarantee allows, but a distribution shift may explain it."
    return said


def guarantees(found: Comparison) -> list[Block]:
    """List guarantees, what the attacks show, and what they assume."""
    rows, assumed = [], []
    for version in found.compared:
        if version.guarantee is not None:
            figures = found.claim("guarantee_refuted", version=version.name).estimates
            epsilons = values(figures["guaranteed_epsilon"], figures["epsilon"])
            cells = (name(version.name), *epsilons, version.guarantee.covers)
            rows.append(Row(cells, *_STATUS[version.guarantee_status], claimed(version)))
            assumed.append((version.guarantee.rests_on, version.name))
    columns = ("Version", "Guaranteed ε", "ε shown by attacks", "Covers")
    note = "For the swap of one record. What the attacks show is a lower bound: one above the guarantee refutes it."
    if any(version.guarantee_status == "in doubt" for version in found.compared):
        note += " In doubt: the bound is above the guarantee, but a distribution shift between members and non-members may explain it."
    assumptions = ((listing(names, 6), sentence(text)) for text, names in cite(assumed).items())
    table = Table(columns, tuple(rows), "Guarantees", note, brief=True, most=20)
    return [table, terms(assumptions, "Assumptions of the guarantees")]


def notes(found: Comparison) -> Items:
    """Return the notes of defenses, each once."""
    records = () if found.record_explanations is None else found.record_explanations.versions
    noted = cite((note, one.name) for some in (found.compared, records) for one in some for note in one.notes)
    return terms(((listing(names, 6), name(note, SENTENCE_LENGTH)) for note, names in noted.items()), "Notes")


# --- utility and attacks ----------------------------------------------------------------------------------------------


def utility(found: Comparison) -> Table:
    """List every metric of every version with its change."""
    metrics = [name(one.metric) for one in found.as_it_is.utility.values()]
    rows = []
    for version in found.compared:
        cells = [cell for one in version.utility.values() for cell in _with_change(version, one)]
        rows.append(Row((name(version.name), *cells)))
    columns = ["Version", *(column for metric in metrics for column in (metric.capitalize(), f"Change of {metric}"))]
    note = "On held-out records. Of the log-loss, the calibration error and the mean squared error, less is better."
    return Table(tuple(columns), tuple(rows), "Utility", note)


def faithfulness(found: Comparison) -> Table:
    """List how faithful the released explanations are."""
    rows = [
        Row((name(version.name), name(one.metric), *_with_change(version, one)))
        for version in found.compared
        for one in version.faithfulness
    ]
    note = "How much better the order of the features is than a random one; 0 is a random order."
    return Table(("Version", "Explanation", "Faithfulness", "Change"), tuple(rows), "Feature explanations", note)


def _loses(found: Comparison, version: Version, group: GroupUtility) -> bool:
    about = {"version": version.name, "column": group.column, "level": group.level}
    return outcome(found, "group_utility_lost", **about) == "yes"


def largest_group_loss(found: Comparison, version: Version) -> str:
    """State which group loses most with a version, where one loses significantly."""
    losing = [group for group in version.groups if _loses(found, version, group)]
    if not losing:
        return ""
    most = min(losing, key=lambda group: group.gain.value)
    return (
        f"With {quoted(version.name)}, {count(len(losing), 'group loses', 'groups lose')} utility significantly. The largest loss is that of "
        f"{group_name(most.column, most.level)}: its {name(most.metric)} changes by {write(most.change, 'signed')}."
    )


def groups(found: Comparison) -> Details | None:
    """List utility and risk of every group with every version, the largest loss first."""
    before = {(group.column, group.level): group.auc for group in found.as_it_is.groups}
    pairs = [(version, group) for version in found.compared[1:] for group in version.groups]
    if not pairs:
        return None
    rows = []
    for version, group in sorted(pairs, key=lambda pair: pair[1].gain.value):
        aucs = values(group.auc, before.get((group.column, group.level)))
        figures = (group.records, Value(group.value), Value(group.change, "signed"), *aucs)
        cells = (name(version.name), group_name(group.column, group.level), *figures)
        rows.append(Row(cells, *tag_if(_loses(found, version, group), "loses")))
    metric = name(found.as_it_is.main.metric)
    columns = ("Version", "Group", "Records", metric.capitalize(), f"Change of {metric}", "AUC", "AUC as it is")
    lost, of = sum(row.tag == "loses" for row in rows), f"{count(len(rows), 'pair')} of a version and a group"
    said = f"In {count(lost) if lost else 'none'} of {of}, the group loses utility significantly."
    note = (
        "Changes are simultaneous for all groups and versions. Small groups have wide intervals, which can hide losses."
    )
    first, rest = Table(columns, tuple(rows[:MOST_GROUPS]), note=note), Table(columns, tuple(rows[MOST_GROUPS:]))
    more = Details(count(len(rest.rows), "other pair"), filled(rest))
    return Details("Groups", filled(Text((said,), brief=True), first, more), open=True)


def attacks(found: Comparison) -> Details:
    """List every attack on every version."""
    rows, rates = [], set()
    for version in found.compared:
        for one in version.attacks:
            rate = shown_rate(one.tpr_at_fpr)
            rates.add(rate)
            tpr = None if rate is None else Value(one.tpr_at_fpr[rate], "percent")
            names = (name(version.name), name(one.attack), name(one.release))
            rows.append(Row((*names, *values(one.auc, one.control), tpr, _KNOWS[one.knows])))
    (only, *more) = rates or {None}
    heading = "TPR at low FPR" if more or only is None else f"TPR at {percent(only)} FPR"
    columns = ("Version", "Attack", "Release", "AUC", "Control AUC", heading, "Adapted to the defense by")
    note = "Attacks that learn are fitted on defended outputs. Reference models are trained with the defense. Labels of changed copies need no confidences."
    return Details("All attacks", (Table(columns, tuple(rows), note=note),))


def retrained(found: Comparison) -> Details:
    """List the main metric over several trainings of each version."""
    rows = [
        Row((name(version.name), *values(version.main.value, version.retrained)))
        for version in found.compared
        if version.retrained is not None
    ]
    columns = ("Version", name(found.as_it_is.main.metric).capitalize(), "Mean over other trainings")
    note = "Models trained in the same way on other draws of records, each on records that it did not see: how much a single training varies."
    return Details("Variation over trainings", filled(Table(columns, tuple(rows), note=note)))


# --- record explanations ----------------------------------------------------------------------------------------------


def record_recommendation(found: RecordComparison) -> str:
    """State what to do about record explanations."""
    before, limit = found.as_it_is, number(found.settings["utility_loss"])
    match found.recommendation.kind:
        case "nothing_to_lower":
            return "No attack recovers a training record from record explanations."
        case "not_lowered":
            tried = "No other release was compared, so none lowers"
            if len(found.versions) > 1:
                tried = "No release of record explanations significantly lowers"
            return f"{tried} the share of the training records that attacks recover: {write(before.share, 'percent')} as it is."
    version = found[str(found.recommendation.candidate)]
    assert version.change is not None
    changed = f"the share of the training records that attacks recover changes by {write(version.change, 'signed')} to {write(version.share)}"
    if found.recommendation.kind == "use":
        queries = count(version.budget, "query", "queries")
        fewer = f" if ordinary users need at most {queries}" if version.budget < before.budget else ""
        return f"For record explanations, use {quoted(version.name)}{fewer}: {changed}. The loss of usefulness is significantly within {limit}."
    return (
        f"For record explanations, {quoted(version.name)} lowers the risk most: {changed}. No release that significantly lowers it is significantly within a "
        f"loss of usefulness of {limit}: ordinary users get {write(version.found, 'percent')} of the {count(version.best)} most influential records."
    )


def record_explanations(found: RecordComparison) -> Details:
    """Compare releases of record explanations."""
    rows, useful = [], []
    for version in found.versions:
        chosen = version.name == found.recommendation.version
        tag = "recommended" if chosen else "dominated" if version.significantly_dominated_by else ""
        risk = (version.budget, Value(version.share), value(version.change, "signed"), Value(version.ceiling))
        note = f"{sentence(version.release)} {standing(version)} Strongest attack: {name(version.strongest)}."
        rows.append(Row((name(version.name), *risk), tag, "safe" if chosen else "plain", note))
        useful.append(Row((name(version.name), *values(version.answered, version.found, version.error))))
    settings, best = found.settings, found.as_it_is.best
    note = (
        f"Recovered: the largest share of {count(settings['records'])} training records that any attack sees through explanations, over "
        f"{count(settings['repeats'])} runs; the attacker has {count(settings['holdout'])} own records. Intervals are over the randomness of the attacks, and "
        "simultaneous. Limit: queries times records shown; no attack by one user can see more."
    )
    columns = ("Release", "Queries", "Recovered", "Change", "Limit")
    kept = ("Release", "Queries answered", f"Share of the best {best} records shown", "Relative error of influences")
    blocks = (
        Text((record_recommendation(found),)),
        Table(columns, tuple(rows), note=note, brief=True, most=20),
        Table(kept, tuple(useful), "What ordinary users get"),
    )
    return Details("Record explanations", blocks, open=True)
