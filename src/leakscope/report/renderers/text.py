"""Plain-text renderer for ``print(result)`` and, with all blocks, ``leakscope report --format text``."""

from __future__ import annotations

from collections.abc import Sequence

from leakscope.core.result import Result
from leakscope.core.wording import align, count, wrap
from leakscope.report.charts.model import Chart
from leakscope.report.document import Block, Details, Items, KeyFigures, Row, Table, Text, cell_text
from leakscope.report.documents import document

INDENT = "  "


def render(result: Result, others: Sequence[Result] = (), *, full: bool = False) -> str:
    """Return the document of a result as text; without ``full`` only its brief blocks."""
    shown = document(result, others)
    answer = shown.answer
    lines = wrap(" ".join((f"{answer.label}.", answer.headline, *answer.sentences)), rest=INDENT)
    lines = [*([*wrap(shown.title), *wrap(shown.question), ""] if full else []), *lines]
    for said in answer.technical:
        lines += wrap(said, "- ", INDENT)
    facts = "; ".join(f"{name}: {cell_text(value)}" for name, value in shown.facts)
    lines += ["", *wrap(f"{facts}.", rest=INDENT)] if facts else []
    for block in brief_blocks(shown.blocks) if not full else shown.blocks:
        lines += ["", *_block(block, full=full)]
    return "\n".join(line.rstrip() for line in lines).rstrip()


def brief_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks for a terminal, including those of open sections."""
    found: list[Block] = []
    for block in blocks:
        if isinstance(block, Details):
            found += brief_blocks(block.blocks) if block.open else []
        elif not isinstance(block, Chart) and block.brief:
            found.append(block)
    return found


def _block(block: Block, *, full: bool) -> list[str]:
    title = [f"{block.title}:"] if block.title else []
    if isinstance(block, Text):
        lines = block.paragraphs if block.code else [line for part in block.paragraphs for line in wrap(part)]
        return [*title, *lines]
    if isinstance(block, KeyFigures):
        rows = [(name, cell_text(value), note if full else "") for name, value, note in block.figures]
        return [*title, *align(rows, indent=INDENT)]
    if isinstance(block, Table):
        return [*title, *_table(block, len(block.rows) if full else block.most)]
    if isinstance(block, Items):
        return _items(block, len(block.items) if full else block.most)
    if isinstance(block, Chart):
        return wrap(f"{block.title}: {block.description}")
    inner = [line for part in block.blocks for line in ["", *_block(part, full=full)]]
    return [block.title, "=" * len(block.title), *inner]


def _table(table: Table, most: int) -> list[str]:
    rows = [_cells(row) for row in table.rows[:most]]
    left_out = len(table.rows) - len(rows)
    lines = align([table.columns, *rows], indent=INDENT)
    lines += [f"{INDENT}and {count(left_out)} more: see the report"] if left_out else []
    return [*lines, *wrap(table.note, INDENT, INDENT)]


def _cells(row: Row) -> tuple[str, ...]:
    """Return the texts of a row; its tag follows its name."""
    first, *rest = map(cell_text, row.cells)
    return (f"{first} ({row.tag})" if row.tag else first, *rest)


def _items(items: Items, most: int) -> list[str]:
    lines = [f"{items.title}:"] if items.title else []
    for at, item in enumerate(items.items[:most], start=1):
        tag = f" ({item.tag})" if item.tag else ""
        said = f"{item.title}{tag}: {item.text}" if item.title else f"{item.text}{tag}"
        lines += wrap(said, f"{at}. " if items.style == "steps" else "- ", "   " if items.style == "steps" else INDENT)
    left_out = len(items.items) - most
    return lines + ([f"{INDENT}and {count(left_out)} more: see the report"] if left_out > 0 else [])
