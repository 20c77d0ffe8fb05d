"""Documents as Markdown: every block is there, and no text from outside becomes markup."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from samples import sample_audit

from leakscope.core.wording import name as safe
from leakscope.report.charts.model import Chart
from leakscope.report.document import Table, walk
from leakscope.report.documents import document
from leakscope.report.renderers.markdown import code, escape, lines_of_table, render

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
FOREIGN = {"html_inline", "html_block", "link_open", "image", "heading_open", "em_open", "s_open", "code_inline", "hr"}


def kinds(markdown: str) -> list[str]:
    """The kinds of all blocks and of all that stands in them, but for text."""
    found = []
    for token in PARSER.parse(markdown):
        found.append(token.type)
        found += [child.type for child in token.children or () if child.type not in ("text", "text_special")]
    return found


def shown(markdown: str) -> str:
    tokens = [child for token in PARSER.parse(markdown) for child in token.children or ()]
    return "".join(token.content for token in tokens).replace("\u2060", "")


@given(st.text())
def test_escaped_text_is_text(name: str) -> None:
    name = safe(name, 1000)
    for markdown in (f"{escape(name)}\n", f"- {escape(name)}\n", "\n".join(lines_of_table(["a"], [[name]]))):
        assert not FOREIGN & set(kinds(markdown))
    words = " ".join(name.split())
    assert shown(f"x {escape(name)}\n").removeprefix("x").strip() == words.replace("\u2060", "").strip()


@pytest.mark.parametrize(
    ("bare", "left"),
    [
        ("@somebody", "@s"),
        ("see #12", "#1"),
        ("http://example.com", "://"),
        ("www.example.com", "www."),
        ("a :shipit: b", ":shipit:"),
        ("me@example.com", "@e"),
        ("GH-12", "GH-1"),
    ],
)
def test_nothing_bare_becomes_a_link_or_a_mention(bare: str, left: str) -> None:
    assert left in bare
    assert left not in escape(bare)
    assert escape(bare).replace("\u2060", "") == bare


@pytest.mark.parametrize("words", ["log_loss", "gradient:top=5", "0.66 [0.64, 0.68]", "at most 0.98 %", "race = Black"])
def test_ordinary_words_stay_as_they_are(words: str) -> None:
    assert escape(words) == words


@given(st.text(alphabet="`~ab \n", min_size=1))
def test_no_text_closes_its_block(text: str) -> None:
    tokens = PARSER.parse("\n".join(code(text)))
    assert [token.type for token in tokens] == ["fence"]


def test_every_block_of_a_document_is_in_it_and_private_tables_are_not() -> None:
    audit = replace(sample_audit(), command="leakscope audit model.skops --label income")
    lines = render(audit).splitlines()
    headings = {line.lstrip("#").strip() for line in lines if line.startswith("#")}
    for one in walk(document(audit).blocks):
        if one.title and not isinstance(one, Chart):
            assert (one.title in headings) != (isinstance(one, Table) and one.private)
    assert lines.index("leakscope audit model.skops --label income") == lines.index("```") + 1
    ids = {one.id for one in audit.exposed}
    assert not ids & {cell.strip() for line in lines for cell in line.split("|")}
