"""The audit where colours can be shown: what the command line prints on a terminal, through Rich.

Every text is a `rich.text.Text`, which knows no markup, so that no name can colour, link or move anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leakscope.report.summary import summarize

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from leakscope.results import Findings

_COLOURS = {"leaks": "red", "claim refuted": "red", "no evidence": "green", "cannot tell": "yellow"}
_OUTCOMES = {"tells members apart": "red", "nothing sure": "green", "may be the data": "yellow"}
LISTED = 3


def render(findings: Findings) -> Group:
    """The answer, the releases in a table, the groups, what to doubt, and what to do next."""
    from rich.console import Group
    from rich.text import Text

    summary = summarize(findings)
    answer, kind = summary["answer"], summary["verdict"]["kind"]
    head = Text.assemble((summary["verdict"]["word"], f"bold {_COLOURS[kind]}"), "  ")
    head.append(" ".join(answer["sentences"]))
    parts: list[Text | Table] = [head, Text()]
    parts += [Text(f"{answer['audited']} {answer['sure']}", style="dim"), _releases(summary["releases"])]
    if summary["groups"] is not None:
        parts.append(_titled("Groups", summary["groups"]["finding"]))
    parts += [_titled(name, said, "yellow") for name, said in _doubts(summary["caveats"])]
    parts += [_titled(f"Next: {step['title']}", step["text"], "cyan") for step in summary["next_steps"]]
    return Group(*(_plain_spaces(part) if isinstance(part, Text) else part for part in parts))


def _titled(title: str, said: str, colour: str = "bold") -> Text:
    from rich.text import Text

    return Text.assemble((f"{title.rstrip('.')}: ", colour), said)


def _plain_spaces(text: Text) -> Text:
    text.plain = text.plain.replace("\u00a0", " ")
    return text


def _releases(releases: dict[str, Any]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for heading in ("release", "members found", "AUC", "on the control", "finding"):
        table.add_column(heading, overflow="fold")
    for row in releases["rows"]:
        found = f"{_text(row['found'])} at {row['rate_text']} false alarms" if row["rate_text"] else "–"
        outcome = Text(row["outcome"], style=_OUTCOMES.get(row["outcome"], ""))
        cells = (row["name"], found, _text(row["auc"]), _text(row["control"]))
        table.add_row(*(Text(cell.replace("\u00a0", " ")) for cell in cells), outcome)
    return table


def _text(estimate: dict[str, Any] | None) -> str:
    return estimate["text"] if estimate else "–"


def _doubts(caveats: dict[str, Any]) -> list[tuple[str, str]]:
    not_run = [f"{item['attack']} on {item['release']}: {item['reason']}" for item in caveats["not_run"]]
    said = []
    stronger = [item["text"] for item in caveats["stronger"]]
    for name, sentences in (("Warning", caveats["warnings"]), ("Not run", not_run), ("Stronger", stronger)):
        said += [(name, sentence) for sentence in sentences[:LISTED]]
        if len(sentences) > LISTED:
            said.append((name, f"and {len(sentences) - LISTED:,} more: see the report"))
    return said
