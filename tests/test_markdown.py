"""The report as Markdown: what it says, and that nothing from outside becomes markup."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from leakscope.audit_diff.show import render_markdown
from markdown_it import MarkdownIt
from samples import around, sample_audit, with_names

from leakscope.audit_diff import diff
from leakscope.report.markdown import code, escape, lines_of_table, render
from leakscope.report.summary import summarize
from leakscope.report.words import safe_text
from leakscope.results import Audit, Number, Study

AUDIT = sample_audit()
PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
FOREIGN = {"html_inline", "html_block", "link_open", "image", "heading_open", "em_open", "s_open", "code_inline", "hr"}
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](http://example.com/x.png)",
    "[click](javascript:alert(1))",
    "<http://example.com>",
    "[x]: http://example.com",
    "[0.1, 0.2](http://example.com)",
    "a | b || c",
    "# heading",
    "- item",
    "1. item",
    "> quoted",
    "*a* **b** _c_ __d__ ~~e~~",
    "`code` ``` fence",
    "&lt;b&gt; &#60;i&#62;",
    "line\n\n# heading\n\n<b>",
    "\\<b> \\\\[x](y)",
    "---",
    "===",
    "~~~",
    "    indented",
    "$x$ <!-- comment",
    "x<b>" * 2500,
)


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


def whole(audit: Audit) -> Audit:
    """With everything that a report can hold."""
    name = audit.target.model
    study = Study("leakage", "parameters", name, name, (Number(name, around(0.1, 0.05), name),), advice=(name,))
    return replace(audit, studies=(replace(study, warnings=(name,)),), command=name)


@cache
def kinds_with(name: str) -> list[str]:
    return kinds(render(whole(with_names(AUDIT, name))))


@cache
def kinds_of_diff(name: str) -> list[str]:
    audit = with_names(AUDIT, name)
    changed = replace(audit, warnings=(f"{name}2",), versions={"numpy": f"{name}2"})
    return kinds(render_markdown(diff(audit, changed)))


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_change_no_block_and_no_markup(name: str) -> None:
    ordinary = kinds_with("name")
    assert kinds_with(name) == ordinary
    assert not {"html_inline", "html_block", "link_open", "image"} & set(ordinary)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_in_a_diff(name: str) -> None:
    assert kinds_of_diff(name) == kinds_of_diff("name")


@given(st.text())
def test_escaped_text_is_text(name: str) -> None:
    name = safe_text(name, 1000)
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


def test_it_says_what_the_summary_says() -> None:
    audit = replace(sample_audit(), command="leakscope audit model.skops --label income")
    markdown = render(audit)
    summary = summarize(audit)
    plain = markdown.replace("\u2060", "")
    said: list[Any] = [
        *summary["answer"]["sentences"],
        *(step["text"] for step in summary["next_steps"]),
        *(row["auc"]["text"] for row in summary["releases"]["rows"]),
        *(row["gap"]["text"] for row in summary["groups"]["rows"]),
        *summary["caveats"]["warnings"],
        summary["caveats"]["control"],
    ]
    for sentence in said:
        assert sentence.replace("\u00a0", " ") in plain
    assert "```\nleakscope audit model.skops --label income\n```" in markdown
    assert "Not run: learned: MLP on probabilities" in markdown
    assert markdown.startswith(
        "# Leakscope audit of Pipeline(ColumnTransformer, RandomForestClassifier)\n\n**Leaks.** "
    )


def test_no_id_of_a_record_is_in_it() -> None:
    records = sample_audit().records.assign(id=lambda table: "person-" + table["id"])
    audit = replace(sample_audit(), records=records)
    audit = replace(audit, exposed=tuple(replace(one, id=f"person-{one.id}") for one in audit.exposed))
    assert "person-" not in render(audit)


def test_without_groups_there_is_no_part_about_them() -> None:
    assert "## Groups" not in render(sample_audit(groups=False))
    assert "## Groups" in render(sample_audit())
