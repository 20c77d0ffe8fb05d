"""Hostile names stay text on every surface, and no value of a record is on any."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from pages import Page
from rich.console import Console

import leakscope as ls
from leakscope.core.result import Result
from leakscope.report.renderers import html, markdown
from surfaces.samples import CITY, HOSTILE, KINDS, NUMBER

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\u200e\u200f\u2028]")
LOADING = {"link", "img", "iframe", "object", "embed", "form", "base", "video", "audio"}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def word(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def attributes(page: Page) -> set[str]:
    return {name for _, given in page.elements for name in given}


def test_names_are_text_on_the_page_and_in_a_notebook(kind: str, word: str) -> None:
    tame, hostile = KINDS[kind](), KINDS[kind](word)
    for surface in (html.render, html.render_fragment):
        plain, page = Page(surface(tame)), Page(surface(hostile))
        assert {tag for tag, _ in page.elements} <= {tag for tag, _ in plain.elements} | {"line"}  # to a far label
        assert attributes(page) <= attributes(plain) | {"transform"}  # of a long name below a chart
        assert not page.open
        assert not CONTROLS.search("".join(page.shown()).replace("\n", ""))


def test_names_are_text_in_markdown_on_a_terminal_and_in_csv(kind: str, word: str) -> None:
    result = KINDS[kind](word)
    written = io.StringIO()
    Console(file=written, width=200, force_terminal=False).print(result)
    for shown in (str(result), written.getvalue(), markdown.render(result)):
        assert not CONTROLS.search(shown.replace("\n", ""))
    outside_code = re.sub(r"(?ms)^(`{3,}).*?^\1$", "", markdown.render(result))
    assert not re.search(r"(?<!\\)<(?:script|img|svg)|(?<!\\)\]\(http|(?<!\w)@all", outside_code)
    for text in pd.read_csv(io.StringIO(result.to_csv()), dtype=str, keep_default_na=False).to_numpy().ravel():
        assert not str(text).startswith(("=", "@", "\t", "\r"))


def test_names_survive_saving(kind: str, word: str, tmp_path: Path) -> None:
    result = KINDS[kind](word)
    result.save(tmp_path)
    assert ls.load(tmp_path) == result


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_policy_names_the_one_script_and_nothing_else(kind: str) -> None:
    written = html.render(KINDS[kind]())
    page = Page(written)
    policy = next(given["content"] for given in page.of("meta") if "http-equiv" in given) or ""
    script = written.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    assert len(page.of("script")) == 1
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(|https?:|fetch\(", script
    )


def test_the_page_loads_nothing_and_its_names_are_unique(kind: str) -> None:
    written = html.render(KINDS[kind]())
    page = Page(written)
    assert not LOADING & {tag for tag, _ in page.elements}
    assert not {"src", "srcset", "style", "xlink:href", "action"} & attributes(page)
    assert not any(name.startswith("on") for name in attributes(page))
    assert not re.search(r"https?:|url\(|@import|[\"'=]//", written.replace("http://www.w3.org/2000/svg", ""))
    names = [given["id"] for _, given in page.elements if "id" in given]
    assert len(names) == len(set(names))
    wanted = {given["aria-labelledby"] for _, given in page.elements if "aria-labelledby" in given}
    wanted |= {(given["href"] or "")[1:] for given in page.of("a")}
    assert wanted <= set(names)
    assert len(written) < 600_000


def test_a_fragment_keeps_to_itself(kind: str) -> None:
    fragment = KINDS[kind]()._repr_html_()
    page = Page(fragment)
    assert not {*LOADING, "script", "a"} & {tag for tag, _ in page.elements}
    assert not {"id", "style", "href", "src"} & attributes(page)
    style = re.sub(r"@media[^{]*\{(.*?\})\s*\}", r"\1", page.inside("style"), flags=re.DOTALL)
    selectors = [one.strip() for rule in re.findall(r"([^{}]+)\{[^{}]*\}", style) for one in rule.split(",")]
    assert [one for one in selectors if ".leakscope-result" not in one] == []
    assert not re.search(r"url\(|@import|@font-face|:root", style)


# --- values of records ------------------------------------------------------------------------------------------------


def surfaces(result: Result, folder: Path) -> Iterator[tuple[str, str]]:
    """Everything that a result prints and saves; records.csv holds ids and scores."""
    written = io.StringIO()
    Console(file=written, width=200).print(result)
    yield from (("text", str(result)), ("repr", repr(result)), ("terminal", written.getvalue()))
    yield from (("markdown", markdown.render(result)), ("notebook", result._repr_html_()))
    result.save(folder)
    yield from ((path.name, path.read_text(encoding="utf-8")) for path in folder.iterdir())


def test_no_value_of_a_record_is_on_any_surface(kind: str, tmp_path: Path) -> None:
    marks = (CITY, f"{NUMBER:.5f}", f"{NUMBER:.6e}"[:8], f"{100 * NUMBER:.3f}")
    for name, written in surfaces(KINDS[kind](), tmp_path):
        assert [mark for mark in marks if mark in written] == [], name
