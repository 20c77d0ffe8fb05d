r"""Markdown renderer for pull requests and wikis, in GitHub's dialect.

All text passes through `escape`, so that no name of a column, a model or a record becomes markup, HTML, a link, a picture or a mention. Tables of record
ids (``private``) are omitted, because a pull request has more readers than ``report.html``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from leakscope.core.result import Result
from leakscope.report.charts.model import Chart
from leakscope.report.document import Block, Details, Document, Items, KeyFigures, Table, Text, cell_text
from leakscope.report.documents import document

_ACTIVE = re.compile(r"[\\`*<&|~$\[\]]")
#: An underscore inside a word has no effect in GitHub's dialect, and release names have many.
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
#: An interval such as [0.61, 0.72] is not a link unless an address follows, or it starts a line.
_INTERVAL = re.compile(r"\\\[([-−+]?[\d.∞]+, [-−+]?[\d.∞]+)\\\](?![(\[])")
#: Line starts of lists, headings and quotations.
_START = re.compile(r"^(\d{1,9}(?=[.)](?: |$))|(?=[-+#>=\[]))")
#: Plain text that GitHub converts to a link or a picture: addresses, mentions, issue numbers, names of emoji.
_LINKED = re.compile(
    r"(?i)(?<=[@])(?=\S)|(?<=#)(?=\w)|(?<=:)(?=//)|(?<=:)(?=[a-z_+-][\w+-]*:)|(?<=\bwww)(?=\.)|(?<=\bGH)(?=-\d)"
)
_JOINER = "\u2060"  # zero width


def escape(text: str) -> str:
    r"""Return a text in which nothing is Markdown, HTML, a link or a mention; on one line.

    Examples
    --------
    >>> escape("a|b <b>*x*</b> log_loss [0.1, 0.2]")
    'a\\|b \\<b>\\*x\\*\\</b> log_loss [0.1, 0.2]'
    >>> escape("# [x](http://example.com)").replace("\u2060", "~")
    '\\# \\[x\\](http:~//example.com)'
    """
    return _START.sub(r"\1\\", _inline(text))


def _inline(text: str) -> str:
    """Escape text that is not at the start of a line."""
    line = " ".join(str(text).split())
    line = _ACTIVE.sub(lambda found: f"\\{found[0]}", line)
    line = _UNDERSCORE.sub(r"\\_", line)
    return _LINKED.sub(_JOINER, _INTERVAL.sub(r"[\1]", line))


def code(text: str) -> list[str]:
    """Return the lines of a fenced block that the text cannot close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *(text.splitlines() or [""]), fence]


def lines_of_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table; every cell is escaped."""
    shown = [[_inline(cell) or " " for cell in row] for row in (headings, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in shown]
    return [lines[0], f"|{'---|' * len(headings)}", *lines[1:]]


def render(result: Result, others: Sequence[Result] = ()) -> str:
    """Return the document of a result as Markdown."""
    return render_document(document(result, others))


def render_document(shown: Document) -> str:
    """Return a document as Markdown."""
    answer = shown.answer
    said = " ".join(escape(sentence) for sentence in (answer.headline, *answer.sentences))
    lines = [f"# {escape(shown.title)}", "", escape(shown.question), "", f"**{escape(answer.label)}.** {said}", ""]
    lines += [*(f"- {escape(one)}" for one in answer.technical), ""] if answer.technical else []
    lines += (
        [*(f"- {escape(name)}: {escape(cell_text(value))}" for name, value in shown.facts), ""] if shown.facts else []
    )
    for block in shown.blocks:
        lines += _block(block, level=2)
    return "\n".join(lines).rstrip() + "\n"


def _block(block: Block, level: int) -> list[str]:
    """Return the lines of a block, with an empty one at the end."""
    if isinstance(block, Table) and block.private:
        return []
    heading = [f"{'#' * min(level, 6)} {escape(block.title)}", ""] if block.title else []
    if isinstance(block, Details):
        return [*heading, *(line for part in block.blocks for line in _block(part, level + 1))]
    if isinstance(block, Chart):
        return [f"*{escape(block.title)}*: {escape(block.description)}", ""]
    return [*heading, *_content(block), ""]


def _content(block: Text | KeyFigures | Table | Items) -> list[str]:
    if isinstance(block, Text):
        if block.code:
            return code("\n".join(block.paragraphs))
        lines = [line for part in block.paragraphs for line in (escape(part), "")]
        return lines[:-1]
    if isinstance(block, KeyFigures):
        rows = [(name, cell_text(value), note) for name, value, note in block.figures]
        return lines_of_table(("figure", "value", "meaning"), rows)
    if isinstance(block, Table):
        return _table(block)
    return [
        _item(item.title, item.tag, item.text, f"{at}." if block.style == "steps" else "-")
        for at, item in enumerate(block.items, 1)
    ]


def _table(table: Table) -> list[str]:
    tagged = any(row.tag for row in table.rows)
    headings = (*table.columns, "") if tagged else table.columns
    rows = [(*map(cell_text, row.cells), row.tag) if tagged else tuple(map(cell_text, row.cells)) for row in table.rows]
    return [*lines_of_table(headings, rows), *(["", escape(table.note)] if table.note else [])]


def _item(title: str, tag: str, text: str, bullet: str) -> str:
    note = f" ({escape(tag)})" if tag else ""
    return f"{bullet} **{escape(title)}**{note}: {escape(text)}" if title else f"{bullet} {escape(text)}{note}"
