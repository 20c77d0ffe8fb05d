"""The same numbers on every surface: terminal, text, page, Markdown, notebook, JSON and CSV."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from pages import Page
from rich.console import Console

from leakscope.core.estimate import Estimate
from leakscope.core.result import Result
from leakscope.record.schema import MODULES
from leakscope.report.document import Cell, Details, KeyFigures, Table, Value, cell_text
from leakscope.report.documents import document
from leakscope.report.renderers import html, markdown
from leakscope.report.renderers.text import brief_blocks
from surfaces.samples import KINDS


@pytest.fixture(params=KINDS)
def result(request: pytest.FixtureRequest) -> Result:
    return KINDS[request.param]()


def test_there_is_a_sample_of_every_kind() -> None:
    assert sorted(KINDS) == sorted(MODULES)


def cells(blocks: Any, *, private: bool = True) -> Iterator[Cell]:
    """All numbers with intervals, and counts."""
    for block in blocks:
        if isinstance(block, Details):
            yield from cells(block.blocks, private=private)
        elif isinstance(block, KeyFigures):
            yield from (value for _, value, _ in block.figures)
        elif isinstance(block, Table) and (private or not block.private):
            yield from (cell for row in block.rows for cell in row.cells)


def numbers(found: Iterator[Cell]) -> list[str]:
    return [cell_text(cell) for cell in found if isinstance(cell, Value | int)]


def flat(text: str) -> str:
    return " ".join(text.split())


def brief(result: Result) -> list[str]:
    """Numbers of the blocks that a terminal shows, without rows that it leaves out."""
    blocks = brief_blocks(document(result).blocks)
    shown = [Table(block.columns, block.rows[: block.most]) if isinstance(block, Table) else block for block in blocks]
    return numbers(cells(shown)) + numbers(cell for _, cell in document(result).facts)


def test_the_page_and_markdown_have_every_number_of_the_document(result: Result) -> None:
    shown = document(result)
    facts = numbers(cell for _, cell in shown.facts)
    page = flat(Page(html.render(result)).text)
    assert [number for number in [*facts, *numbers(cells(shown.blocks))] if number not in page] == []
    text = flat(markdown.render(result).replace("\\", ""))
    assert [number for number in [*facts, *numbers(cells(shown.blocks, private=False))] if number not in text] == []
    assert len(shown.values()) > 1


def test_text_and_terminal_have_every_number_of_the_brief_blocks(result: Result) -> None:
    expected = brief(result)
    written = io.StringIO()
    Console(file=written, width=600).print(result)
    for surface in (str(result), written.getvalue()):
        assert [number for number in expected if number not in flat(surface)] == []
    assert expected


def test_a_notebook_has_every_number_of_the_brief_blocks(result: Result) -> None:
    shown = flat(Page(result._repr_html_()).text)
    found = [block for block in brief_blocks(document(result).blocks) if isinstance(block, Table | KeyFigures)]
    assert [number for number in numbers(cells(found)) if number not in shown] == []


def estimates(thing: Any) -> Iterator[tuple[float, float, float]]:
    """All estimates of a JSON document."""
    if isinstance(thing, dict) and {"value", "low", "high"} <= set(thing):
        yield thing["value"], thing["low"], thing["high"]
    elif isinstance(thing, dict | list):
        for one in thing.values() if isinstance(thing, dict) else thing:
            yield from estimates(one)


def ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.low, estimate.high


def test_every_number_with_an_interval_is_in_the_json(result: Result) -> None:
    known = set(estimates(json.loads(json.dumps(result.as_dict()))))
    shown = [value for value in document(result).values() if value.estimate.kind != "exact"]
    assert [str(value) for value in shown if ends(value.estimate.finite()) not in known] == []


def plain_numbers(thing: Any) -> Iterator[float]:
    if isinstance(thing, dict | list):
        for one in thing.values() if isinstance(thing, dict) else thing:
            yield from plain_numbers(one)
    elif isinstance(thing, int | float) and not isinstance(thing, bool):
        yield float(thing)


def test_every_number_in_the_csv_is_in_the_json(result: Result) -> None:
    known = set(plain_numbers(json.loads(json.dumps(result.as_dict()))))
    table = pd.read_csv(io.StringIO(result.to_csv()))
    pd.testing.assert_frame_equal(table, pd.read_csv(io.StringIO(result.to_frame().to_csv(index=False))))
    found = {float(cell) for column in table.select_dtypes("number") for cell in table[column] if math.isfinite(cell)}
    assert found
    assert found <= known


def test_charts_show_numbers_of_the_result(result: Result) -> None:
    known = set(plain_numbers(json.loads(json.dumps(result.as_dict()))))
    shown = [
        place.finite()
        for chart in document(result).charts()
        for series in chart.series
        if series.form in ("points", "bars", "line")
        for mark in series.marks
        for place in (mark.x, mark.y)
        if isinstance(place, Estimate)
    ]
    assert [str(place) for place in shown if not {place.low, place.value, place.high} <= known] == []
