"""The document of a comparison of two results: what changed, and whether the change is significant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from leakscope.core.result import Result
from leakscope.core.wording import Style, count, listing, name, percent, write
from leakscope.report.document import Answer, Block, Document, Row, Table, Tag, Text
from leakscope.report.documents.caveats import describe, warnings
from leakscope.report.documents.cells import values
from leakscope.report.documents.common import filled, provenance, terms
from leakscope.studies.diff import Diff
from leakscope.studies.diff.changes import Change, GroupChange
from leakscope.studies.diff.facts import Fact, Listed

MOST_NAMED = 3
_LABELS: dict[str, Tag] = {
    "increased": ("Risk increased", "risk"),
    "increased_and_decreased": ("Risk increased and decreased", "risk"),
    "decreased": ("Risk decreased", "safe"),
    "shift_possible": ("Changed, cause unknown", "unknown"),
    "not_significant": ("No significant change", "plain"),
    "not_comparable": ("Not comparable", "unknown"),
}
_OUTCOMES: dict[str, Tag] = {
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
    before, after = found.old_outcomes, found.new_outcomes
    first = next(iter(after), None)
    decided = [(code, f"{before.get(code, '–')} → {outcome}") for code, outcome in after.items()]
    shown = [(code, change) for code, change in decided if code == first or before.get(code) != after[code]]
    return Document(
        kind="diff",
        title=f"Changes between two results ({name(found.of)})",
        question="Did the risk change between the two results?",
        answer=Answer(*_LABELS[found.outcome], _headline(found), tuple(_sentences(found))),
        facts=(
            ("Old model", name(found.studied_models[0])),
            ("New model", name(found.studied_models[1])),
            *((code.replace("_", " "), change) for code, change in shown),
        ),
        blocks=_blocks(found),
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
    said = []
    if up := _changed(found, "increased"):
        said.append(f"Significantly more risk than before: {up}.")
    if down := _changed(found, "decreased"):
        said.append(f"Significantly less risk than before: {down}.")
    if not said and (maybe := _changed(found, "shift_possible")):
        said.append(f"These figures changed significantly, but the change can't be attributed to the model: {maybe}.")
    return " ".join(said)


def _changed(found: Diff, outcome: str) -> str:
    """One figure of each release or claim with this outcome, by name."""
    said = []
    for release in found.releases:
        changes = [change for change in release.changes if change.outcome == outcome]
        said += [f"{name(release.release)}, {_arrow(change)}" for change in changes[:1]]
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
        codes = listing([code.replace("_", " ") for code in flipped])
        said.append(f"The outcome of {codes} changed, which chance alone can cause.")
    return said


def _blocks(found: Diff) -> tuple[Block, ...]:
    other = [one for one in found.releases if one.old_attack != one.new_attack]
    attacks = ((name(one.release), f"{name(one.old_attack)} → {name(one.new_attack)}") for one in other)
    performance = tuple(replace(_row((change.figure,), change), tone="plain") for change in found.performance)
    names = {"attack": found.attacks, "group": found.group_names, "claim": found.claim_names, "warning": found.caveats}
    return filled(
        *_release_tables(found),
        terms(attacks, "Other strongest attack"),
        _claim_table(found),
        _group_table(found.groups),
        Table(("Metric", "Old", "New", "Change"), performance, "Performance of the model", brief=True),
        _exposure(found),
        terms(((name(which), "the same" if same else "different") for which, same in found.data.items()), "Data"),
        warnings(found),
        terms((pair for what, listed in names.items() for pair in _only(listed, what)), "In one result only"),
        _facts("Changed settings", found.changed_settings),
        _facts("Changed versions", found.changed_versions),
        provenance(found),
    )


def _row(head: tuple[str, ...], change: Change, style: Style = "number") -> Row:
    figures = (*values(change.old, change.new, style=style), *values(change.difference, style="signed"))
    return Row((*head, *figures), *_OUTCOMES[change.outcome])


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
    bounds_only = sorted({rate for release in found.releases for rate in release.bounds_only}, reverse=True)
    if bounds_only:
        rates = listing([percent(rate) for rate in bounds_only])
        note += f" Not compared at {rates} FPR, where the samples give bounds only."
    table = Table(columns, tuple(first), "Risk by release", note, brief=True, most=20)
    return [table, Table(columns, tuple(rows), "All figures")]


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
    note = "Gap: AUC within the group minus that of the rest."
    return Table(("Group", "Old gap", "New gap", "Change"), tuple(rows), "Groups", note, brief=True)


def _exposure(found: Diff) -> Text | None:
    if (exposure := found.exposure) is None:
        return None
    said = f"{count(exposure.shared, 'training record is', 'training records are')} named in both audits."
    if exposure.exposed:
        of = f"{count(exposure.newly_exposed)} of the {count(exposure.exposed)}"
        said += f" {of} most exposed records were not among them before."
    if exposure.correlation is not None:
        said += (
            f" The rank correlation of their exposure is {write(exposure.correlation)} (1: the same order, 0: none)."
        )
    return Text((said,), "Exposed records")


def _only(names: Listed, what: str) -> list[tuple[str, str]]:
    sides = (("new", names.added), ("old", names.gone))
    listed = [(which, listing([one.replace("_", " ") for one in some], 5)) for which, some in sides if some]
    return [(f"{what.capitalize()}s in the {which} result only", some) for which, some in listed]


def _facts(title: str, facts: Sequence[Fact]) -> Table:
    rows = [Row((name(fact.name), name(fact.old, 200) or "–", name(fact.new, 200) or "–")) for fact in facts]
    return Table(("Name", "Old", "New"), tuple(rows), title)
