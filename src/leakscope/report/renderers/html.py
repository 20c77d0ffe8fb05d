"""HTML renderer: one self-contained file per document, without network access or values of records.

The only script of a page is inline, and the page's content security policy allows it by its digest and no other. The page is complete without it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from leakscope.core.estimate import Estimate
from leakscope.core.result import Result
from leakscope.core.versions import versions
from leakscope.core.wording import is_number, written
from leakscope.report.charts.model import Axis, Chart
from leakscope.report.charts.svg import draw, is_wide
from leakscope.report.document import Block, Cell, Details, Document, Items, Row, Table, Value, cell_text
from leakscope.report.documents import document
from leakscope.report.renderers.text import brief_blocks

_TEMPLATES = Path(__file__).parents[1] / "templates"
_FONT = Markup('system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif')
CHARTS = "Charts"


def render(result: Result, others: Sequence[Result] = ()) -> str:
    """Return the page of a result, with a section for each other result."""
    return render_document(document(result, others), created=result.created)


def render_document(shown: Document, *, created: str = "") -> str:
    """Return a document as a page."""
    script = (_TEMPLATES / "report.js").read_text(encoding="utf-8")
    page: str = _template("document.html.j2").render(
        _content(shown),
        script=Markup(script),
        policy=_policy(script),
        font=_FONT,
        created=created,
        version=versions().get("leakscope", ""),
    )
    return page


def render_fragment(result: Result) -> str:
    """Return the answer, the brief tables and the first chart, for a notebook: one ``div`` without script or ids."""
    shown = document(result)
    brief = [block for block in brief_blocks(shown.blocks) if not isinstance(block, Items)]
    content = _content(shown) | {"groups": _grouped([*brief, *shown.charts()[:1]])}
    fragment: str = _template("notebook.html.j2").render(content, font=_FONT)
    return fragment.strip()


def _content(shown: Document) -> dict[str, Any]:
    sections = [_section(block, f"s{at}") for at, block in enumerate(_with_charts(shown.blocks), start=1)]
    picture = None if shown.picture is None else draw(shown.picture)
    return {"document": shown, "picture": picture, "sections": sections, "cell": _cell, "cell_text": cell_text}


def _with_charts(blocks: Sequence[Block]) -> list[Block]:
    """Put consecutive charts into one section."""
    found: list[Block] = []
    for is_chart, run in groupby(blocks, lambda block: isinstance(block, Chart)):
        several = tuple(run)
        found += [Details(CHARTS, several, open=True)] if is_chart and len(several) > 1 else several
    return found


def _section(block: Block, anchor: str) -> dict[str, Any]:
    """Return a part of the page with a heading: a section with its blocks, which may be collapsed, or one block."""
    inside = block.blocks if isinstance(block, Details) else (block,)
    folded = isinstance(block, Details) and not block.open
    return {"anchor": anchor, "title": block.title, "folded": folded, "groups": _grouped(inside, within=block.title)}


def _grouped(blocks: Sequence[Block], within: str = "") -> list[dict[str, Any]]:
    """Return blocks with the name of their kind; consecutive charts are side by side."""
    groups: list[dict[str, Any]] = []
    for block in blocks:
        title = "" if block.title == within else block.title
        entry: dict[str, Any] = {"kind": type(block).__name__, "block": block, "title": title}
        if isinstance(block, Chart):
            table = _chart_table(block)
            entry |= {"svg": draw(block), "table": table, "words": _words(table), "wide": is_wide(block)}
            if groups and groups[-1]["kind"] == "Charts":
                groups[-1]["charts"].append(entry)
                continue
            entry = {"kind": "Charts", "charts": [entry]}
        elif isinstance(block, Details):
            entry |= {"groups": _grouped(block.blocks, within=block.title)}
        elif isinstance(block, Table):
            entry |= {"words": _words(block)}
        groups.append(entry)
    return groups


def _words(table: Table) -> list[bool]:
    """Return for each column of a table whether it has texts, which are aligned left."""
    columns = zip(*(row.cells for row in table.rows), strict=True)
    found = [any(isinstance(cell, str) and not is_number(cell) for cell in column) for column in columns]
    return found or [True] * len(table.columns)


def _cell(cell: Cell) -> dict[str, Any]:
    """Return the parts of a cell, with the number to sort the table by."""
    if isinstance(cell, Value):
        parts = written(cell.estimate, cell.style)
        return {"prefix": parts.prefix, "shown": parts.value, "interval": parts.interval, "value": cell.estimate.value}
    return {"prefix": "", "shown": cell_text(cell), "interval": "", "value": cell if isinstance(cell, int) else None}


def _chart_table(chart: Chart) -> Table:
    """Convert a chart to a table, for screen readers."""
    named = len(chart.series) > 1 or any(mark.label for series in chart.series for mark in series.marks)
    rows = []
    for series in chart.series:
        for mark in series.marks:
            label = " ".join(dict.fromkeys(part for part in (series.name, mark.label) if part))
            places = (_place(mark.x, chart.x), _place(mark.y, chart.y))
            rows.append(Row((label, *places) if named else places))
    heading = (chart.x.label or "x", chart.y.label or "y")
    return Table(("Series", *heading) if named else heading, tuple(rows), title=chart.title)


def _place(place: float | Estimate | None, axis: Axis) -> Cell:
    if isinstance(place, Estimate):
        return Value(place, "percent" if axis.percent else "number")
    return None if place is None else axis.number(place)


def _template(name: str) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    options: dict[str, Any] = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True}
    return Environment(loader=FileSystemLoader(_TEMPLATES), undefined=StrictUndefined, **options).get_template(name)


def _policy(script: str) -> str:
    """Return the content security policy, which allows this one script only."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
