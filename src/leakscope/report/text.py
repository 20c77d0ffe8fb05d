"""The audit as text: what ``print(result)`` shows. Plain, some 28 lines of at most 100 columns, and one more for each explanation."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from leakscope.report.summary import summarize
from leakscope.report.words import count, percent, safe_text
from leakscope.results import Audit

COLUMNS = 100
TABLE_ROWS = 8
LISTED = 2
REASONS = 3
TRAINED = " on training records"


def render(audit: Audit) -> str:
    """The verdict and what it means, what was audited, every attack in one table, what to doubt, and what to do next."""
    summary = summarize(audit)
    lines = [
        *_wrap(summary["verdict"]["sentence"], most=4),
        *_answer(summary),
        *_list(summary["verdict"]["reasons"], "- ", REASONS),
        "",
        *_audited(summary),
        *_strongest(summary),
        "",
        *_table(summary["risks"]),
        *_note(summary),
        *_explanations(summary),
        *_doubts(summary),
        *_next_steps(summary),
    ]
    return "\n".join(line.rstrip() for line in lines).replace("\u00a0", " ").rstrip()


def _answer(summary: dict[str, Any]) -> list[str]:
    """The two sentences; where the audit cannot tell, the second one is the verdict's."""
    said = summary["answer"]["sentences"]
    return _wrap(said[0] if summary["verdict"]["kind"] == "cannot tell" else " ".join(said), most=3)


def _next_steps(summary: dict[str, Any]) -> list[str]:
    titles = [step["title"].rstrip(".") for step in summary["next_steps"]]
    return _wrap(f"Next: {'; '.join(titles)}.", most=2) if titles else []


def _audited(summary: dict[str, Any]) -> list[str]:
    facts = {fact["name"]: fact["value"] for fact in summary["facts"]}
    sizes = (
        f"{facts['Training records (members)']} training and {facts['Held-out records (non-members)']} held-out records"
    )
    lines = _wrap(f"Audited: {facts['Model']}; {facts['Task']}; {sizes}.", most=2)
    metric = next((name.removesuffix(TRAINED) for name in facts if name.endswith(TRAINED)), None)
    if metric is None:
        return lines
    train, holdout = (facts[f"{metric} on {kind} records"] for kind in ("training", "held-out"))
    return [*lines, *_wrap(f"{metric}: {train} on training records, {holdout} on held-out records.", most=2)]


def _strongest(summary: dict[str, Any]) -> list[str]:
    risk = summary["strongest"]
    found = [
        f"{item['estimate']['text']} of members at {item['rate_text']} false alarms"
        for item in risk["tpr_at_fpr"]
        if item["estimate"]
    ]
    sentence = (
        f"Strongest: {safe_text(risk['attack'], 40)} on {safe_text(risk['release'], 40)}: AUC {risk['auc']['text']}, "
        f"advantage {risk['advantage']['text']}, {risk['accuracy']['text']} right guesses"
    )
    return _wrap(sentence + (f"; finds {', '.join(found)}." if found else "."), most=4)


def _table(risks: list[dict[str, Any]]) -> list[str]:
    """The attacks with the highest AUC, aligned."""
    shown = sorted(risks, key=lambda risk: -risk["auc"]["value"])[:TABLE_ROWS]
    numbers = [("AUC", "control")]
    numbers += [(risk["auc"]["text"], risk["control"]["auc"]["text"]) for risk in shown]
    releases = ["release", *(safe_text(risk["release"], 32) for risk in shown)]
    room = max(12, COLUMNS - 6 - sum(_widths(numbers)) - max(map(len, releases)))
    attacks = ["attack", *(safe_text(risk["attack"], room) for risk in shown)]
    rows = [(release, attack, *row) for release, attack, row in zip(releases, attacks, numbers, strict=True)]
    widths = _widths(rows)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    left_out = len(risks) - len(shown)
    return lines + ([f"and {count(left_out)} more with a lower AUC: see the report"] if left_out else [])


def _note(summary: dict[str, Any]) -> list[str]:
    """At which confidence the numbers of the table hold."""
    rows, strongest = summary["risks"], summary["strongest"]["auc"]["confidence"]
    others = [row["auc"]["confidence"] for row in rows if not row["strongest"]]
    if not others:
        return [f"Intervals: {_confidence(strongest)}."]
    picked = f"{_confidence(strongest)} for the strongest, to allow for its having been picked from {count(len(rows))}"
    return _wrap(f"Intervals: {_confidence(others[0])} for each row; {picked}.", most=2)


def _confidence(share: float) -> str:
    """Rounded down: 0.99999 is not certainty."""
    return percent(math.floor(share * 10_000 + 1e-6) / 10_000)


def _explanations(summary: dict[str, Any]) -> list[str]:
    """What each explanation adds, aligned."""
    extras = summary["extras"]
    if extras is None:
        return []
    shown = extras["rows"][:TABLE_ROWS]
    rows = [("explanation", "adds to the AUC", "in the control")]
    rows += [(safe_text(row["release"], 44), row["gain"], row["control_gain"]) for row in shown]
    widths = _widths(rows)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    left_out = len(extras["rows"]) - len(shown)
    more = [f"and {count(left_out)} more that add less: see the report"] if left_out else []
    return ["", f"What each explanation adds to {safe_text(extras['beside'], 20)}:", *lines, *more]


def _widths(rows: Sequence[tuple[str, ...]]) -> list[int]:
    return [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]


def _doubts(summary: dict[str, Any]) -> list[str]:
    caveats = summary["caveats"]
    not_run = [f"{item['attack']} on {item['release']}: {item['reason']}" for item in caveats["not_run"]]
    groups = summary["groups"]
    return [
        *(_wrap(f"Groups: {groups['finding']}", most=2) if groups else []),
        *_list(caveats["warnings"], "Warning: ", LISTED),
        *_list(not_run, "Not run: ", LISTED),
        # Without the time that it would take, so that the same audit prints the same.
        *_list([f"{item['what']} ({item['option']})" for item in caveats["stronger"]], "Would be stronger: ", LISTED),
    ]


def _list(sentences: list[str], start: str, most: int) -> list[str]:
    lines = [line for sentence in sentences[:most] for line in _wrap(start + sentence, most=2)]
    left_out = len(sentences) - most
    return lines + ([f"{start}and {count(left_out)} more: see the report"] if left_out > 0 else [])


def _wrap(text: str, most: int) -> list[str]:
    """At most so many lines, the last one cut with an ellipsis."""
    return textwrap.wrap(
        text, COLUMNS, max_lines=most, placeholder=" …", subsequent_indent="  ", break_on_hyphens=False
    )
