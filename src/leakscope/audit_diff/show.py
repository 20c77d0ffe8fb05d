"""Two audits compared, in words: for the terminal, as Markdown, and as plain data."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leakscope.audit_diff.beyond import BLIND, CONTROL, RIVALS
from leakscope.audit_diff.changes import Change, GroupChange, ReleaseChange
from leakscope.audit_diff.facts import FEWEST_SHARED, Fact, Listed
from leakscope.report.extras import signed
from leakscope.report.plain import finite
from leakscope.report.words import SENTENCE_LENGTH, Style, count, describe, percent, safe_text

if TYPE_CHECKING:
    from leakscope.audit_diff import AuditDiff

COLUMNS = 100
MOST_LISTED = 10
MOST_NAMED = 3
TURNED = 'chance alone can do that; leakscope gate --fail-if "verdict = leaks" stops on it'
HEADINGS = ("figure", "old", "new", "change", "")


def sentence(
    kind: str,
    reasons: Sequence[str],
    releases: Sequence[ReleaseChange],
    verdicts: tuple[str, str],
    *,
    same_records: bool = False,
) -> str:
    """The answer in one sentence."""
    if kind == "not comparable":
        return f"Not comparable: {'; '.join(reasons)}."
    named = {word: _surely(releases, word) for word in ("more", "less", "may be the data")}
    why = "that may be how members and held-out records differ by themselves" if same_records else "so may the records"
    maybe = f"The numbers differ, but {why}: {named['may be the data']}."
    if kind == "may be the data":
        return maybe
    if kind != "no sure change":
        first = "less" if kind == "less" else "more"
        said = f"{first.capitalize()} leaks out than before: {named[first]}."
        also = f" And less: {named['less']}." if kind == "more and less" else ""
        # A release is named once: where one of its figures is sure, its others only stand in the table.
        return said + also + (f" Elsewhere {maybe[0].lower()}{maybe[1:]}" if named["may be the data"] else "")
    most = max(max(-release.auc.difference.low, release.auc.difference.high) for release in releases)
    unseen = math.ceil(100 * most - 1e-9) / 100
    said = f"No change beyond noise: differences of up to {unseen:.2f} in AUC could go unseen."
    if verdicts[0] != verdicts[1]:
        said += f" The verdict went from “{verdicts[0]}” to “{verdicts[1]}”, which chance alone can do."
    return said


def raised(found: AuditDiff, word: str) -> tuple[str, ...]:
    """Figures that surely rose and have this word: one of each release, and groups that are more exposed than the rest."""
    releases = [said for release in found.releases if (said := _sure(release, word, rising=True))]
    groups = [
        f"{_group_name(group)}: gap to the rest {_arrow(group.gap)}"
        for group in found.groups
        if group.gap.word == word and group.gap.direction > 0 and group.gap.new.value > 0
    ]
    return (*releases, *groups)


def _surely(releases: Sequence[ReleaseChange], word: str) -> str:
    if word == "may be the data":
        releases = [release for release in releases if not {"more", "less"} & {one.word for one in release.changes}]
    said = [found for release in releases if (found := _sure(release, word))]
    more = [f"and {count(len(said) - MOST_NAMED)} more"] if len(said) > MOST_NAMED else []
    return "; ".join([*said[:MOST_NAMED], *more])


def _sure(release: ReleaseChange, word: str, *, rising: bool = False) -> str:
    """The first figure of a release that has this word: the AUC, if it does. ``rising``: only figures that grew."""
    fitting = (change for change in release.changes if change.word == word and (change.direction > 0 or not rising))
    found = next(fitting, None)
    if found is None:
        return ""
    doubt = f", {release.doubt}" if found.in_doubt else ""
    return f"{safe_text(release.release)}, {found.figure} {_arrow(found)}{doubt}"


# --- the parts ------------------------------------------------------------------------------------------------------


def _rows(release: ReleaseChange) -> list[tuple[str, ...]]:
    # What is beyond a rival is no finding by itself, but what a word rests on.
    return [*map(_cells, release.changes), *((*_cells(change)[:-1], "") for change in release.beyond)]


def _cells(change: Change, style: Style = "ratio") -> tuple[str, ...]:
    old, new = (describe(end, style)["text"].replace("\u00a0", " ") for end in (change.old, change.new))
    gain = signed(change.difference) if style != "significant" else describe(change.difference, style)["text"]
    return change.figure, old, new, gain.replace("\u00a0", " "), change.word


def paragraphs(found: AuditDiff) -> list[tuple[str, list[str]]]:
    """Headings with sentences under them; headings without any are left out."""
    said = [
        ("How sure", _how_sure(found)),
        ("Attacks", _attacks(found)),
        ("Groups", _groups(found)),
        ("The most exposed", _records(found)),
        ("How well the model does", [_side_by_side(change) for change in found.performance]),
        ("Data", _data(found)),
        ("Warnings", _in_one(found.warnings, "new", "gone")),
        ("Studies", _studies(found)),
        ("Settings", _facts(found.settings)),
        ("Versions", _facts(found.versions)),
    ]
    return [(heading, sentences) for heading, sentences in said if sentences]


def _how_sure(found: AuditDiff) -> list[str]:
    if not found.releases:
        return []
    said = [
        f"All {count(found.comparisons)} comparisons hold together with {percent(found.confidence)} confidence; for each "
        "release stands the most that any attack finds which both audits ran; “found at 1 %”: members found at 1 % false alarms."
    ]
    shown = {change.figure for release in found.releases for change in release.beyond}
    said += [f"“{name}”: AUC minus that of {RIVALS[name]}." for name in (CONTROL, BLIND) if name in shown]
    if any(release.doubt for release in found.releases) or any(group.gap.in_doubt for group in found.groups):
        said.append(
            "“may be the data”: it surely moved, but not surely by more than a difference between members and held-out records "
            "can do; a holdout drawn like the training data, or more records, settle it."
        )
    rates = sorted({rate for release in found.releases for rate in release.bounds_only}, reverse=True)
    if rates:
        named = ", ".join(percent(rate) for rate in rates)
        said.append(f"Not compared at {named} false alarms: the samples give bounds only.")
    return [line.replace("\u00a0", " ") for line in [*said, *found.notes]]


def _attacks(found: AuditDiff) -> list[str]:
    moved = [
        f"{safe_text(release.release)}: the strongest was {safe_text(release.old_attack)}, now {safe_text(release.new_attack)}"
        for release in found.releases
        if release.old_attack != release.new_attack
    ]
    return moved + _in_one(found.attacks, "only in the new audit", "only in the old audit")


def _groups(found: AuditDiff) -> list[str]:
    surely = [group for group in found.groups if group.gap.word != "no sure change"]
    said = [f"{_group_name(group)}: gap to the rest {_arrow(group.gap)}: {group.gap.word}" for group in surely]
    others = [group for group in found.groups if group not in surely]
    if others:
        widest = max(others, key=lambda group: abs(group.gap.difference.value))
        said.append(
            f"no sure change in the gap to the rest of {count(len(others))} group{'s' if len(others) > 1 else ''}; "
            f"the largest: {_group_name(widest)}, {_arrow(widest.gap)}"
        )
    return said + _in_one(found.group_names, "only in the new audit", "only in the old audit")


def _group_name(group: GroupChange) -> str:
    return f"{safe_text(group.column)} = {safe_text(group.level)}"


def _arrow(change: Change) -> str:
    old, new = (f"{round(end.value, 2) + 0.0:.2f}" for end in (change.old, change.new))
    return f"{old} → {new} ({signed(change.difference)})"


def _records(found: AuditDiff) -> list[str]:
    records = found.records
    if records is None:
        return []
    said = [f"{count(records.shared)} training records are named in both audits"]
    if records.exposed:
        said[0] = (
            f"{count(records.newly_exposed)} of the {count(records.exposed)} most exposed records were not among them before; "
            + said[0]
        )
    if records.correlation is not None:
        shown = describe(records.correlation)["text"].replace("\u00a0", " ")
        said.append(f"rank correlation of their exposure: {shown} (1: the same order, 0: none)")
    elif records.shared >= FEWEST_SHARED:
        said.append("in one of the audits all of them are equally exposed, so that there is no order to compare")
    return said


def _side_by_side(change: Change) -> str:
    style: Style = "percent" if change.figure.startswith("accuracy") else "significant"
    _, old, new, _, word = _cells(change, style)
    return f"{change.figure}: {old} → {new}: {word}"


def _data(found: AuditDiff) -> list[str]:
    return [f"the {safe_text(name)} {'are the same' if same else 'differ'}" for name, same in found.data.items()]


def _studies(found: AuditDiff) -> list[str]:
    numbers = [
        f"{safe_text(one.kind)}, {safe_text(one.name)}: {_plain(one.old)} → {_plain(one.new)}"
        for one in found.study_numbers
        if one.old != one.new
    ]
    return _in_one(found.studies, "only beside the new audit", "only beside the old audit") + numbers


def _plain(estimate: Any) -> str:
    return str(describe(estimate)["text"]).replace("\u00a0", " ")


def _in_one(names: Listed, added: str, gone: str) -> list[str]:
    said = []
    for what, found in ((added, names.added), (gone, names.gone)):
        said += [f"{what}: {safe_text(name, SENTENCE_LENGTH)}" for name in found[:MOST_LISTED]]
        if len(found) > MOST_LISTED:
            said.append(f"{what}: and {count(len(found) - MOST_LISTED)} more")
    return said


def _facts(facts: Sequence[Fact]) -> list[str]:
    return [
        f"{safe_text(fact.name)}: {safe_text(fact.old, 200) or 'none'} → {safe_text(fact.new, 200) or 'none'}"
        for fact in facts
    ]


# --- as text, Markdown and data -----------------------------------------------------------------------------------------


def render_text(found: AuditDiff) -> str:
    """What ``print(diff)`` shows: lines of at most 100 columns."""
    lines = [*_wrap(found.sentence), *_wrap(f"Verdict: {_verdicts(found)}."), ""]
    if found.releases:
        lines += [*_aligned(found.releases), ""]
    for heading, sentences in paragraphs(found):
        starts = [f"{heading}: ", *["  "] * (len(sentences) - 1)]
        lines += [line for start, said in zip(starts, sentences, strict=True) for line in _wrap(start + said)]
    return "\n".join(lines).rstrip()


def _aligned(releases: Sequence[ReleaseChange]) -> list[str]:
    """The name of each release, and its figures under it."""
    cells = [HEADINGS, *(row for release in releases for row in _rows(release))]
    widths = [max(len(row[at]) for row in cells) for at in range(len(HEADINGS))]

    def line(row: tuple[str, ...]) -> str:
        return ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()

    lines = [line(HEADINGS)]
    for release in releases:
        lines += [safe_text(release.release), *(line(row) for row in _rows(release))]
    return lines


def _verdicts(found: AuditDiff) -> str:
    if found.old_verdict == found.new_verdict:
        return f"“{found.new_verdict}”, as before"
    said = f"“{found.old_verdict}” → “{found.new_verdict}”"
    return f"{said} ({TURNED})" if found.new_verdict in ("leaks", "claim refuted") else said


def _wrap(words: str) -> list[str]:
    return textwrap.wrap(words, COLUMNS, subsequent_indent="    ", break_on_hyphens=False)


def render_markdown(found: AuditDiff) -> str:
    """For a pull request: the answer, the table, and the rest as lists."""
    from leakscope.report.markdown import escape, lines_of_table

    lines = ["# What changed between two audits", "", f"**{escape(found.sentence)}**", ""]
    lines += [f"Verdict: {escape(_verdicts(found))}.", ""]
    if found.releases:
        rows = [(safe_text(release.release), *row) for release in found.releases for row in _rows(release)]
        lines += [*lines_of_table(("release", *HEADINGS), rows), ""]
    for heading, sentences in paragraphs(found):
        lines += [f"## {heading}", "", *(f"- {escape(said)}" for said in sentences), ""]
    return "\n".join(lines).rstrip() + "\n"


def with_words(found: AuditDiff, document: dict[str, Any]) -> dict[str, Any]:
    """The words that intervals say, put beside them, and numbers that JSON can hold."""
    for release, shown in zip(found.releases, document["releases"], strict=True):
        for change, cell in zip(release.changes, shown["changes"], strict=True):
            cell["word"] = change.word
    for group, shown in zip(found.groups, document["groups"], strict=True):
        shown["gap"]["word"] = group.gap.word
    for change, shown in zip(found.performance, document["performance"], strict=True):
        shown["word"] = change.word
    return dict(finite(document))
