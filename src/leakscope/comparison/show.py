"""A comparison as text for a terminal: what to do first, then the numbers."""

from __future__ import annotations

import textwrap

from leakscope.comparison import record_words, words
from leakscope.comparison.result import Comparison, Version
from leakscope.report.axes import short_number
from leakscope.report.words import SENTENCE_LENGTH, count, safe_text
from leakscope.telling import listed

WIDTH = 110
#: Of a table; names are cut where numbers need the room.
WIDEST = 120
NAME = 30


def describe(comparison: Comparison) -> str:
    """What was found, the recommendation first.

    Examples
    --------
    >>> import leakscope as ls
    >>> toy = ls.toys.lookup(n=300)
    >>> target = ls.make_target(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> print(describe(ls.compare(target, ls.defenses.Rounding([1]), references=0, retrain=False)).splitlines()[0][:66])
    None of these versions surely lowers the risk: the intervals of al
    """
    lines = _wrap(safe_text(comparison.recommendation.sentence, SENTENCE_LENGTH))
    if comparison.record_explanations is not None:
        lines += ["", *_wrap(safe_text(comparison.record_explanations.recommendation.sentence, SENTENCE_LENGTH))]
    lines += [line for version in comparison.broken for line in ("", *_wrap(f"! {words.promise(version)}", "  "))]
    lines += ["", *_wrap(_measured(comparison)), "", *_table(comparison), ""]
    lines += _wrap(_legend(comparison))
    lines += _explained(comparison)
    lines += _by_records(comparison)
    for sentence in _remarks(comparison):
        lines += _wrap(f"- {sentence}", "  ")
    return "\n".join(lines)


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _measured(comparison: Comparison) -> str:
    run = comparison.run
    return (
        f"Versions of {safe_text(run['model'])}, each attacked on {count(run['judged'])} members and as many others, its "
        f"{safe_text(run['metric'])} measured on {count(run['held out'])} held-out records. The intervals of the AUC hold for "
        "all versions at once, and so do those of each kind of change, which is paired on the same records."
    )


def _table(comparison: Comparison) -> list[str]:
    """One line for each version, and below it by what it is beaten and whether its guarantee is broken."""
    metric = {"mean squared error": "error"}.get(comparison.run["metric"], safe_text(comparison.run["metric"], 12))
    rows = [["  version", "largest AUC", "change of AUC", metric, "its change", "ε claimed / shown"]]
    head, *rest = _aligned([*rows, *(_row(version) for version in comparison.versions)])
    lines = [head]
    for line, version in zip(rest, comparison.versions, strict=True):
        lines += [line, *(f"      {said}" for said in _below(version))]
    return lines


def _row(version: Version) -> list[str]:
    first = version.lowered is None
    return [
        f"{'*' if version.beaten_by is None else ' '} {safe_text(version.name, NAME)}",
        words.said(version.risk.auc),
        "" if version.lowered is None else words.said_change(version.lowered),
        short_number(version.main.value.value),
        "" if first else words.said_change(version.main.change),
        f"{_claimed(version)} / {words.said(version.epsilon).removeprefix('at least ')}",
    ]


def _claimed(version: Version) -> str:
    """The claim for the swap of one record, so that it can be held beside what was shown."""
    return "–" if version.guarantee is None else f"{version.guarantee.for_swaps()[0]:.4g}"


def _below(version: Version) -> list[str]:
    said = [] if version.beaten_by is None and version.surely_beaten_by is None else [words.standing(version)]
    if version.promise in ("broken", "in doubt"):
        said.append(words.BROKEN if version.promise == "broken" else "the guarantee is in doubt")
    return said


def _explained(comparison: Comparison) -> list[str]:
    """How faithful the released explanations are; nothing where none is released."""
    rows = [
        [
            f"  {safe_text(version.name, NAME)}",
            safe_text(one.metric, 44),
            words.said(one.value),
            "" if version.lowered is None else words.said_change(one.change),
        ]
        for version in comparison.versions
        for one in version.faithfulness
    ]
    if not rows:
        return []
    rows = [["  version", "explanation (0: no better than a random order)", "found", "its change"], *rows]
    return ["", *_aligned(rows), ""]


def _by_records(comparison: Comparison) -> list[str]:
    """What explanations by records give away; nothing where none are released."""
    found = comparison.record_explanations
    if found is None:
        return []
    said = [line for sentence in record_words.remarks(found) for line in _wrap(f"- {sentence}", "  ")]
    return ["", "Explanations by records:", *_aligned(record_words.rows(found)), *said, ""]


def _aligned(rows: list[list[str]]) -> list[str]:
    _, *others = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names = [_cut(name, max(14, WIDEST - sum(others) - 2 * len(others))) for name, *_ in rows]
    widths = [max(map(len, names)), *others]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip((name, *cells), widths, strict=True)).rstrip()
        for name, (_, *cells) in zip(names, rows, strict=True)
    ]


def _cut(name: str, width: int) -> str:
    """A name without its middle where it is too long: its end is the setting, which tells it from others."""
    return name if len(name) <= width else f"{name[: width - 7]}…{name[-6:]}"


def _legend(comparison: Comparison) -> str:
    said = (
        "* nothing is both less risky and better, by points. Beaten: another is, by points; surely beaten: also by intervals. "
        "Risk is the largest AUC of any attack, and the upper end of its interval is what is not excluded; 0.5 is guessing. ε is "
        "that of differential privacy for the swap of one record: claimed, and what the attacks show that it is at least."
    )
    said += f" {_beside(comparison)}"
    if any(version.promise == "in doubt" for version in comparison.versions):
        said += f" A guarantee is {words.IN_DOUBT}."
    return said


def _beside(comparison: Comparison) -> str:
    """What the table has no room for: the controls, and how far the first metric is uncertain."""
    controls = [version.control for version in comparison.versions]
    trained = all(version.control_kind == "never trained" for version in comparison.versions)
    kind = (
        "models that never saw the members"
        if trained
        else "shuffled memberships, or models that never saw the members,"
    )
    widest = max(max(one.high - one.value, one.value - one.low) for one in (v.main.value for v in comparison.versions))
    return (
        f"Controls: on {kind} the same attacks have AUCs of {min(one.value for one in controls):.2f} to "
        f"{max(one.value for one in controls):.2f}, with intervals from {min(one.low for one in controls):.2f} to "
        f"{max(one.high for one in controls):.2f}. Intervals of the {safe_text(comparison.run['metric'])} itself reach at most "
        f"{short_number(widest)} to either side."
    )


def _remarks(comparison: Comparison) -> list[str]:
    """Who surely pays for the version that is spoken of, what could not be run, notes and warnings."""
    version = words.proposed(comparison)
    costs = [] if version is None else words.group_costs(version)
    said = [
        f"With {words.quoted(version.name)} the group {group} surely loses: its {safe_text(version.main.metric)} changes by "
        f"{words.said_change(change)}."
        for group, change in costs
        if version is not None
    ]
    said += [
        f"not run: {safe_text(item.attack)}, since {safe_text(item.reason, SENTENCE_LENGTH)}."
        for item in comparison.not_run
    ]
    said += [f"{listed(names)}: {safe_text(note, SENTENCE_LENGTH)}" for note, names in words.noted(comparison).items()]
    return [*said, *(f"warning: {safe_text(warning, SENTENCE_LENGTH)}" for warning in comparison.warnings)]
