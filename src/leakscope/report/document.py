"""The `Document`: a report as data, with title, question, answer, and blocks of text, figures, tables, charts and lists.

`leakscope.report.documents` makes documents from results and is the only place with prose. The renderers (`text`, `terminal`, `markdown`, `html`)
depend on documents, not on studies. A number in a document is a `Value`, which holds an `Estimate` of the result, or an `int`, which is a count, so
that every renderer writes it in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from leakscope.core.estimate import Estimate
from leakscope.core.wording import Style, count, write
from leakscope.report.charts.model import Chart

#: What an outcome means for the persons in the data; it determines colours only.
Tone = Literal["risk", "safe", "unknown", "plain"]
#: One or two words, such as "leaks", and their colour.
Tag = tuple[str, Tone]


@dataclass(frozen=True)
class Value:
    """A number with its interval and its format."""

    estimate: Estimate
    style: Style = "number"

    def __str__(self) -> str:
        return write(self.estimate, self.style)


#: Content of a cell: a text, a count, a number with its interval, or nothing.
Cell = str | int | Value | None


def cell_text(cell: Cell) -> str:
    """Return the text of a cell; an empty one is a dash.

    Examples
    --------
    >>> cell_text(Value(Estimate(0.6, 0.5, 0.7))), cell_text(2000), cell_text(None)
    ('0.60 [0.50, 0.70]', '2,000', '–')
    """
    if cell is None:
        return "–"
    return count(cell) if isinstance(cell, int) else str(cell)


@dataclass(frozen=True)
class Text:
    """Paragraphs. ``brief`` blocks are shown on the terminal too, the others in the report only."""

    paragraphs: tuple[str, ...]
    title: str = ""
    brief: bool = False
    code: bool = False


@dataclass(frozen=True)
class KeyFigures:
    """The numbers that a reader looks for first, each with its name and what it means."""

    figures: tuple[tuple[str, Cell, str], ...]
    title: str = ""
    brief: bool = False


@dataclass(frozen=True)
class Row:
    """A row of a table: its cells, the first of which names it, and a tag such as ``strongest`` in the colour of its tone."""

    cells: tuple[Cell, ...]
    tag: str = ""
    tone: Tone = "plain"
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table. On the terminal it has at most ``most`` rows. A ``private`` one names records, and is left out of Markdown."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    title: str = ""
    note: str = ""
    brief: bool = False
    most: int = 8
    private: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"a row of {self.title!r} has {len(row.cells)} cells for {len(self.columns)} columns")


@dataclass(frozen=True)
class Item:
    """An entry of a list: a title in bold, a text, and a tag such as ``measured``."""

    text: str
    title: str = ""
    tag: str = ""


@dataclass(frozen=True)
class Items:
    """A list. On the terminal it has at most ``most`` entries.

    ``style`` applies to the page: ``steps`` are numbered and side by side, ``warnings`` have a coloured background, ``terms`` are titles with their
    texts.
    """

    items: tuple[Item, ...]
    title: str = ""
    style: Literal["list", "steps", "warnings", "terms"] = "list"
    brief: bool = False
    most: int = 3


@dataclass(frozen=True)
class Details:
    """Blocks under a heading: a section of the page, collapsed unless ``open``."""

    title: str
    blocks: tuple[Block, ...]
    open: bool = False


Block = Text | KeyFigures | Table | Chart | Items | Details


@dataclass(frozen=True)
class Answer:
    """The answer to the question of a document.

    Parameters
    ----------
    label, tone
        One or two words, such as "Leaks", and their colour.
    headline
        The answer in one sentence for a lay reader.
    sentences
        What it means in numbers, for a lay reader.
    technical
        The same in the terms of the field.
    """

    label: str
    tone: Tone
    headline: str
    sentences: tuple[str, ...] = ()
    technical: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """A report.

    Parameters
    ----------
    kind
        The kind of result that it is about.
    title, question, answer
        What it is about, what is asked, and the answer.
    facts
        What was studied, as names with values.
    picture
        A chart next to the answer.
    blocks
        The rest, the most important first. Blocks with a title are sections of the page.
    """

    kind: str
    title: str
    question: str
    answer: Answer
    facts: tuple[tuple[str, Cell], ...] = ()
    picture: Chart | None = None
    blocks: tuple[Block, ...] = ()

    def charts(self) -> list[Chart]:
        """All charts, in their order."""
        return [block for block in walk(self.blocks) if isinstance(block, Chart)]

    def values(self) -> list[Value]:
        """All numbers with intervals, in their order."""
        cells: list[Cell] = [value for _, value in self.facts]
        for block in walk(self.blocks):
            if isinstance(block, KeyFigures):
                cells += [value for _, value, _ in block.figures]
            elif isinstance(block, Table):
                cells += [cell for row in block.rows for cell in row.cells]
        return [cell for cell in cells if isinstance(cell, Value)]


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield all blocks, including nested ones."""
    for block in blocks:
        yield block
        if isinstance(block, Details):
            yield from walk(block.blocks)
