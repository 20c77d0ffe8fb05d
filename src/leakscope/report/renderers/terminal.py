"""Terminal renderer in colour, by Rich, for the command line.

Every text is a `rich.text.Text`, which does not interpret markup, so that names cannot change colours, links or layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leakscope.core.result import Result
from leakscope.core.wording import count
from leakscope.report.document import Items, KeyFigures, Table, Tone, cell_text
from leakscope.report.document import Text as Paragraphs
from leakscope.report.documents import document
from leakscope.report.renderers.text import brief_blocks

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table as RichTable

_COLOURS: dict[Tone, str] = {"risk": "red", "safe": "green", "unknown": "yellow", "plain": ""}


def render(result: Result, others: Sequence[Result] = ()) -> Group:
    """Return the brief blocks of a result's document in colour."""
    from rich.console import Group
    from rich.text import Text

    shown = document(result, others)
    answer = shown.answer
    head = Text.assemble((answer.label, f"bold {_COLOURS[answer.tone]}".strip()), "  ")
    head.append(" ".join((answer.headline, *answer.sentences)))
    parts: list[RenderableType] = [head, *(Text(f"- {said}") for said in answer.technical)]
    if shown.facts:
        parts += [Text(), Text("; ".join(f"{name}: {cell_text(value)}" for name, value in shown.facts), style="dim")]
    for block in brief_blocks(shown.blocks):
        parts.append(Text())
        if block.title:
            parts.append(Text(block.title, style="bold"))
        if isinstance(block, Table):
            parts.append(_table(block))
            parts += [Text(block.note, style="dim")] if block.note else []
        elif isinstance(block, KeyFigures):
            parts += [Text(f"{name}: {cell_text(value)}") for name, value, _ in block.figures]
        elif isinstance(block, Items):
            parts += _items(block)
        elif isinstance(block, Paragraphs):
            parts += [Text(paragraph) for paragraph in block.paragraphs]
    return Group(*parts)


def _table(table: Table) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    tagged = any(row.tag for row in table.rows)
    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for heading in (*table.columns, "") if tagged else table.columns:
        shown.add_column(Text(heading), overflow="fold")
    for row in table.rows[: table.most]:
        tag = [Text(row.tag, style=_COLOURS[row.tone])] if tagged else []
        shown.add_row(*(Text(cell_text(cell)) for cell in row.cells), *tag)
    if len(table.rows) > table.most:
        shown.caption = Text(f"and {count(len(table.rows) - table.most)} more: see the report", style="dim")
    return shown


def _items(block: Items) -> list[RenderableType]:
    from rich.text import Text

    lines: list[RenderableType] = []
    for at, item in enumerate(block.items[: block.most], start=1):
        start = f"{at}. " if block.style == "steps" else "- "
        tag = f" ({item.tag})" if item.tag else ""
        title = (f"{item.title}{tag}: ", "cyan") if item.title else ""
        lines.append(Text.assemble(start, title, item.text if item.title else f"{item.text}{tag}"))
    if len(block.items) > block.most:
        lines.append(Text(f"and {count(len(block.items) - block.most)} more: see the report", style="dim"))
    return lines
