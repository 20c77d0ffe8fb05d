"""The document of a comparison of two results: what changed, and whether the change is significant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from leakscope.core.result import Result
from leakscope.core.wording import Style, count, listing, name, percent, write
from leakscope.report.document import Answer, Block, Cell, Document, Item, Items, Row, Table, Text, Tone, Value
from leakscope.report.documents.caveats import describe, warnings
from leakscope.report.documents.common import provenance
from leakscope.studies.diff import Diff
from leakscope.studies.diff.changes import Change, GroupChange
from leakscope.studies.diff.facts import Fact, Listed

MOST_NAMED = 3
_LABELS: dict[str, tuple[str, Tone]] = {
    "increased": ("Risk increased", "risk"),
    "increased_and_decreased": ("Risk increased and decreased", "risk"),
    "decreased": ("Risk decreased", "safe"),
    "shift_possible": ("Changed, cause unknown", "unknown"),
    "not_significant": ("No significant change", "plain"),
    "not_comparable": ("Not comparable", "unknown"),
}
_OUTCOMES: dict[str, tuple[str, Tone]] = {
    "increased": ("increased", "risk"),
    "decreased": ("decreased", "safe"),
    "shift_possible": ("changed, shift possible", "unknown"),
    "not_significant": ("", "plain"),
}
_FIGURES = {
    "auc": "AUC",
    "advantage": "Advantage",
    "gap": "Gap to the rest",
    "beyond_control": "AUC beyond the control",
    "beyond_blind": "AUC beyond the blind baseline",
}


def make(found: Diff, others: Sequence[Result]) -> Document:  # noqa: ARG001
    """Make the document of a comparison of two results."""
    label, tone = _LABELS[found.outcome]
    return Document(
        kind="diff",
        title=f"Changes between two results ({name(found.of)})",
        question="Did the risk change between the two results?",
        answer=Answer(label, tone, _headline(found), tuple(_sentences(found))),
        facts=(
            ("Old model", name(found.studied_models[0])),
            ("New model", name(found.studied_models[1])),
            *(
                (f"{code.replace('_', ' ')}", f"{found.old_outcomes.get(code, '–')} → {outcome}")
                for at, (code, outcome) in enumerate(found.new_outcomes.items())
                if at == 0 or found.old_outcomes.get(code) != outcome
            ),
        ),
        blocks=tuple(_blocks(found)),
    )


def _figure(figure: str) -> str:
    """The name of a figure.

    >>> _figure("tpr_at_fpr[0.01]"), _figure("auc")
    ('TPR at 1 % FPR', 'AUC')
    """
    head, _, rate = figure.partition("[")
    if rate:
        return f"TPR at {percent(float(rate[:-1]))} FPR"
    return _FIGURES.get(head, head.replace("_", " "))


def _headline(found: Diff) -> str:
    if found.outcome == "not_comparable":
        return " ".join(describe(caveat) for caveat in found.not_comparable)
    if found.outcome == "not_significant":
        return "No risk changed significantly."
    up = _changed(found, "increased")
    down = _changed(found, "decreased")
    said = [
        f"Significantly more risk than before: {up}." if up else "",
        f"Significantly less risk than before: {down}." if down else "",
    ]
    maybe = _changed(found, "shift_possible")
    if maybe and not up and not down:
        said.append(f"These figures changed significantly, but the change can't be attributed to the model: {maybe}.")
    return " ".join(part for part in said if part)


def _changed(found: Diff, outcome: str) -> str:
    """One figure of each release or claim with this outcome, by name."""
    said = []
    for release in found.releases:
        change = next((one for one in release.changes if one.outcome == outcome), None)
        if change is not None:
            said.append(f"{name(release.release)}, {_arrow(change)}")
    said += [
        f"{name(' '.join(map(str, (one.code, *one.subject.values()))))}, {_arrow(one.change)}"
        for one in found.claim_changes
        if one.change is not None and one.risk == outcome
    ]
    more = f" and {count(len(said) - MOST_NAMED)} more" if len(said) > MOST_NAMED else ""
    return "; ".join(said[:MOST_NAMED]) + more


def _arrow(change: Change) -> str:
    old, new = (f"{round(end.value, 2) + 0.0:.2f}" for end in (change.old, change.new))
    return f"{_figure(change.figure)} {old} → {new} ({write(change.difference, 'signed')})"


def _sentences(found: Diff) -> list[str]:
    doubts = [release.doubt for release in found.releases if release.doubt is not None]
    said = [describe(doubt) for doubt in doubts[:1]]
    if found.outcome == "not_significant" and found.releases:
        most = max(max(-release.auc.difference.low, release.auc.difference.high) for release in found.releases)
        said.append(f"Changes of up to {math.ceil(100 * most - 1e-9) / 100:.2f} in AUC are not excluded.")
    flipped = [code for code, outcome in found.new_outcomes.items() if found.old_outcomes.get(code, outcome) != outcome]
    if flipped and found.outcome == "not_significant":
        said.append(
            f"The outcome of {listing([code.replace('_', ' ') for code in flipped])} changed, which chance alone can cause."
        )
    return said


def _blocks(found: Diff) -> list[Block]:
    blocks: list[Block] = []
    if found.releases:
        blocks += _release_tables(found)
    other = [one for one in found.releases if one.old_attack != one.new_attack]
    if other:
        items = [Item(f"{name(one.old_attack)} → {name(one.new_attack)}", name(one.release)) for one in other]
        blocks.append(Items(tuple(items), "Other strongest attack", style="terms"))
    if found.claim_changes:
        blocks.append(_claim_table(found))
    if found.groups:
        blocks.append(_group_table(found.groups))
    if found.performance:
        rows = [replace(_row((change.figure,), change), tone="plain") for change in found.performance]
        blocks.append(Table(("Metric", "Old", "New", "Change"), tuple(rows), "Performance of the model", brief=True))
    if found.exposure is not None:
        blocks.append(_exposure(found))
    if found.data:
        items = [Item("the same" if same else "different", name(which)) for which, same in found.data.items()]
        blocks.append(Items(tuple(items), "Data", style="terms"))
    if found.warnings:
        blocks.append(warnings(found))
    names = {"attack": found.attacks, "group": found.group_names, "claim": found.claim_names, "warning": found.caveats}
    only = [item for what, listed in names.items() for item in _only(listed, what)]
    if only:
        blocks.append(Items(tuple(only), "In one result only", style="terms"))
    for title, facts in (("Settings", found.changed_settings), ("Versions", found.changed_versions)):
        if facts:
            blocks.append(_facts(title, facts))
    return [*blocks, provenance(found)]


def _row(head: tuple[str, ...], change: Change, style: Style = "number") -> Row:
    tag, tone = _OUTCOMES[change.outcome]
    cells: tuple[Cell, ...] = (
        *head,
        Value(change.old, style),
        Value(change.new, style),
        Value(change.difference, "signed"),
    )
    return Row(cells, tag, tone)


def _release_tables(found: Diff) -> list[Table]:
    """The AUC of each release with the figures that changed significantly, and all figures."""
    columns = ("Release", "Figure", "Old", "New", "Change")
    first, rows = [], []
    for release in found.releases:
        for change in release.changes:
            row = _row((name(release.release), _figure(change.figure)), change)
            rows.append(row)
            first += [row] if change is release.auc or change.outcome != "not_significant" else []
        for change in release.beyond:
            row = _row((name(release.release), _figure(change.figure)), change, "signed")
            rows.append(replace(row, tag="", tone="plain"))
    note = (
        f"All {count(found.comparisons)} comparisons are simultaneous at {percent(found.confidence)} confidence. Each row is the largest figure of any attack "
        "that both audits ran."
    )
    rates = sorted({rate for release in found.releases for rate in release.bounds_only}, reverse=True)
    if rates:
        note += (
            f" Not compared at {listing([percent(rate) for rate in rates])} FPR, where the samples give bounds only."
        )
    return [
        Table(columns, tuple(first), "Risk by release", note, brief=True, most=20),
        Table(columns, tuple(rows), "All figures"),
    ]


def _claim_table(found: Diff) -> Table:
    rows = []
    for one in found.claim_changes:
        subject = name(", ".join(map(str, one.subject.values())))
        head = (name(one.code.replace("_", " ")), subject, f"{one.old_outcome} → {one.new_outcome}")
        if one.change is None:
            rows.append(Row((*head, None, None, None)))
        else:
            row = _row(head, one.change)
            rows.append(row if one.risky else replace(row, tone="plain"))
    columns = ("Claim", "About", "Outcome", "Old", "New", "Change")
    note = f"All {count(found.comparisons)} comparisons are simultaneous at {percent(found.confidence)} confidence."
    return Table(columns, tuple(rows), "Claims", note, brief=True, most=20)


def _group_table(groups: Sequence[GroupChange]) -> Table:
    ordered = sorted(groups, key=lambda group: -abs(group.gap.difference.value))
    rows = [_row((f"{name(group.column)} = {name(group.level)}",), group.gap, "signed") for group in ordered]
    return Table(
        ("Group", "Old gap", "New gap", "Change"),
        tuple(rows),
        "Groups",
        "Gap: AUC within the group minus that of the rest.",
        brief=True,
    )


def _exposure(found: Diff) -> Text:
    exposure = found.exposure
    assert exposure is not None
    said = [f"{count(exposure.shared, 'training record is', 'training records are')} named in both audits."]
    if exposure.exposed:
        said.append(
            f"{count(exposure.newly_exposed)} of the {count(exposure.exposed)} most exposed records were not among them before."
        )
    if exposure.correlation is not None:
        said.append(
            f"The rank correlation of their exposure is {write(exposure.correlation)} (1: the same order, 0: none)."
        )
    return Text((" ".join(said),), "Exposed records")


def _only(names: Listed, what: str) -> list[Item]:
    found = []
    for which, some in (("new", names.added), ("old", names.gone)):
        if some:
            found.append(
                Item(
                    listing([one.replace("_", " ") for one in some], 5),
                    f"{what.capitalize()}s in the {which} result only",
                )
            )
    return found


def _facts(title: str, facts: Sequence[Fact]) -> Table:
    rows = [Row((name(fact.name), name(fact.old, 200) or "–", name(fact.new, 200) or "–")) for fact in facts]
    return Table(("Name", "Old", "New"), tuple(rows), f"Changed {title.lower()}")
