"""The document of an audit of record explanations: which training records do they reveal?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakscope.attacks.membership_record_explanation import GroupShare
from leakscope.core.result import Result
from leakscope.core.wording import count, name, out_of, percent, write
from leakscope.report.charts.forest import by_category, rows_of
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series
from leakscope.report.document import Answer, Block, Cell, Details, Document, Item, KeyFigures, Row, Table, Tag, Value
from leakscope.report.documents.caveats import warnings
from leakscope.report.documents.cells import control_name, group_name, outcome, tag_if, values
from leakscope.report.documents.common import cite, filled, not_run, provenance, reading, sources, steps
from leakscope.studies.reconstruct.result import ReconstructionAudit

MOST_ADVICE = 3
CHARTED_GROUPS = 30
_LABELS: dict[str, Tag] = {
    "yes": ("Records recovered", "risk"),
    "no": ("No record recovered", "unknown"),
    "inconclusive": ("Not significant", "unknown"),
}
_GAPS: dict[str, Tag] = {"yes": ("more", "risk"), "no": ("less", "safe"), "inconclusive": ("", "plain")}
HOW_TO_READ = (
    "An explanation shows the training records with the largest influence on a prediction. The influence of a record is the change of the loss if the model is "
    "trained without it.",
    "A record is self-revealing if it is among the records that explain it. A query about such a person shows that the person is a member. Only a copy of a "
    "training record can be a false positive.",
    "A reconstruction attack queries the model with points of its choice and collects the training records in the explanations. Each recovered record is compared "
    "with the training set.",
    "Intervals of attacks are over runs that differ in the randomness of the attack. Where all runs agree, no interval is shown.",
)


def make(found: ReconstructionAudit, others: Sequence[Result]) -> Document:  # noqa: ARG001
    """Make the document of an audit of record explanations."""
    settings = found.settings
    accuracy = () if found.accuracy is None else (("Accuracy, holdout", Value(found.accuracy, "percent")),)
    return Document(
        kind="reconstruction",
        title="Reconstruction of training records from explanations",
        question="What do explanations that show training records reveal about the people in the training data?",
        answer=_answer(found),
        facts=(
            ("Model", name(found.studied)),
            ("Training records", settings["records"]),
            ("Features", settings["features"]),
            ("Held-out records", settings["holdout"]),
            ("An explanation shows", name(found.release, 200)),
            ("Queries at most", settings["budget"]),
            ("Runs of each attack", settings["repeats"]),
            *accuracy,
            ("Confidence", percent(settings["confidence"])),
        ),
        blocks=_blocks(found),
    )


def advise(found: ReconstructionAudit) -> list[Item]:
    """Return releases through which every attack recovers significantly less, those with the smallest share first."""
    better = [one for one in found.defended if outcome(found, "less_recovered", release=one.release) == "yes"]
    better.sort(key=lambda one: (0.0 if one.share is None else one.share.value, -one.usefulness.found.value))
    return [
        Item(
            f"Release “{name(one.release, 200)}” instead of “{name(found.release, 200)}”. The strongest attack recovers {write(one.share, 'percent')} of the "
            f"records instead of {write(found.strongest.share, 'percent')}. {write(one.usefulness.answered, 'percent')} of ordinary queries are answered and show "
            f"{write(one.usefulness.found, 'percent')} of the {one.usefulness.best} most influential records.",
            "Release less",
            "measured",
        )
        for one in better[:MOST_ADVICE]
        if one.share is not None
    ]


def _answer(found: ReconstructionAudit) -> Answer:
    best, k = found.strongest, found.settings["release"]["k"]
    headline = f"With at most {count(found.settings['budget'], 'query', 'queries')}, an attacker recovers the training records of {out_of(100, best.share)} of 100 people."
    own = found.self_revealing[k]
    said = (
        f"Of 100 people in the training data, {out_of(100, own)} are shown when their own case is explained: whoever asks about such a person learns that the "
        "person was in the training data."
    )
    technical = (
        f"Strongest attack: {name(best.attack)} recovers {write(best.share, 'percent')} of {count(found.settings['records'])} training records with "
        f"{write(best.queries, 'count')} queries.",
        f"{write(own, 'percent')} of the training records are self-revealing with k = {k}.",
    )
    return Answer(*_LABELS[found.claim("recovered").outcome], headline, (said,), technical)


def _blocks(found: ReconstructionAudit) -> tuple[Block, ...]:
    best = found.strongest
    return filled(
        Details("Reconstruction attacks", (_attacks(found), _curves(found)), open=True),
        steps(advise(found), "What lowers reconstruction"),
        _self_revealing(found),
        _membership(found),
        _defended(found),
        Table(
            ("Significant digits", "Recovered"),
            tuple(Row((digits, Value(share, "percent"))) for digits, share in found.precision.items()),
            "Precision of the influences",
            "Share of the training records that subspace reduction recovers, by significant digits of the influences shown.",
            brief=True,
        ),
        _groups(found, best.by_group, f"Groups: recovered by {name(best.attack)} (first run)", attack=best.attack),
        None if found.settings["release"]["noise"] else _graph(found),
        warnings(found),
        not_run(found.not_run, brief=True),
        reading(HOW_TO_READ, "AUC", "Confidence interval", "Member", "Never-trained control", "Release", "Significant"),
        sources(cite((attack.source, attack.attack) for attack in found.attacks), ["shokri2019"]),
        provenance(found),
    )


def _attacks(found: ReconstructionAudit) -> Table:
    rows = []
    for one in sorted(found.attacks, key=lambda one: -one.share.value):
        figures = (Value(one.records, "count"), Value(one.share, "percent"), Value(one.queries, "count"))
        rows.append(Row((name(one.attack), *figures), "strongest" if one is found.strongest else ""))
    return Table(("Attack", "Records", "Share", "Queries"), tuple(rows), "Training records recovered", brief=True)


def _curves(found: ReconstructionAudit) -> Chart:
    series = []
    for one in found.attacks:
        marks = tuple(Mark(at, share) for at, share in one.curve)
        series.append(Series(name(one.attack), marks, tone="strong" if one is found.strongest else "plain"))
    return Chart(
        "Training records recovered by number of queries",
        f"Share of {count(found.settings['records'])} training records that each attack has recovered after a number of queries ({name(found.release, 200)}).",
        Axis("Queries", "log"),
        Axis("Share of the training records", percent=True),
        tuple(series),
    )


def _self_revealing(found: ReconstructionAudit) -> Details:
    figures = tuple(
        (f"Self-revealing with k = {k}", Value(share, "percent"), "of the training records")
        for k, share in found.self_revealing.items()
    )
    shown = sorted(found.groups, key=lambda group: -group.share.value)[:CHARTED_GROUPS]
    chart = by_category(
        "Self-revealing records by group",
        "Share of the records of each group that are in their own explanation, with intervals.",
        Axis("Share of the group", percent=True),
        rows_of((name(group.level) for group in shown), (name(group.column) for group in shown)),
        {"groups": [group.share for group in shown]},
        Rule(found.self_revealing[found.settings["release"]["k"]].value, "x", "all records"),
    )
    groups = replace(_groups(found, found.groups, "Self-revealing by group"), brief=True)
    return Details("Self-revealing records", filled(KeyFigures(figures, brief=True), groups, chart), open=True)


def _groups(found: ReconstructionAudit, groups: Sequence[GroupShare], title: str, **about: str) -> Table:
    rows = []
    for group in sorted(groups, key=lambda group: -group.share.value):
        figures = (Value(group.share, "percent"), Value(group.gap, "signed"), group.records)
        tag = _GAPS[outcome(found, "group_gap", column=group.column, level=group.level, **about)]
        rows.append(Row((group_name(group.column, group.level), *figures), *tag))
    note = "Gap: share in the group minus that of all others; simultaneous intervals over all groups. Small groups are pooled."
    return Table(("Group", "Share", "Gap", "Records"), tuple(rows), title, note)


def _membership(found: ReconstructionAudit) -> Table:
    rows = []
    for risk in found.membership:
        figures = (*values(risk.auc, risk.control.auc), Value(risk.beyond_control, "signed"))
        leaks = outcome(found, "membership", attack=risk.attack) == "yes"
        cells = (name(risk.attack), *figures, control_name(risk.control.kind))
        rows.append(Row(cells, *tag_if(leaks, "leaks")))
    columns = ("Attack", "AUC", "Control AUC", "Beyond control", "Control")
    note = "Members against held-out records, by their explanation. Intervals hold for each row; tags use simultaneous intervals."
    return Table(columns, tuple(rows), "Membership inference", note, brief=True)


def _defended(found: ReconstructionAudit) -> Table:
    rows = []
    for one in found.defended:
        useful = one.usefulness
        recovered: Cell = "no attack can be run" if one.share is None else Value(one.share, "percent")
        shares = values(useful.answered, useful.found, style="percent")
        error: Cell = "hidden" if useful.error is None else Value(useful.error)
        less = outcome(found, "less_recovered", release=one.release) == "yes"
        cells = (name(one.release, 200), recovered, name(one.strongest) or None, *shares, error)
        rows.append(Row(cells, *tag_if(less, "less", "safe")))
    best = next((one.usefulness.best for one in found.defended), 0)
    columns = ("Release", "Recovered", "Strongest attack", "Answered", f"Best {best} shown", "Relative error")
    note = (
        "Recovered: share that the strongest attack recovers. Utility: share of ordinary queries that are answered, share of the most influential records that "
        "are shown, relative error of the influences."
    )
    return Table(columns, tuple(rows), "Other releases", note, brief=True, most=12)


def _graph(found: ReconstructionAudit) -> KeyFigures:
    graph, single = found.graph, f"of which single records: {count(found.graph.single_components)}"
    figures = (
        (
            "Revealed by a traversal",
            Value(graph.reachable, "count"),
            "records on average, from a random training record",
        ),
        ("In no explanation", graph.in_degree_zero, "training records that a traversal can't reach"),
        ("Strongly connected components", graph.components, single),
        ("Largest component", graph.largest_component, "records"),
        ("Largest in-degree", graph.largest_in_degree, "explanations that show one record"),
    )
    return KeyFigures(figures, "Influence graph")
