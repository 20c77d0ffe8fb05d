"""Documents on a terminal: coloured where it may be, as wide as there is room, and no name can colour, link or move anything."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any, Literal

import pytest
from rich.console import Console
from samples import sample_audit, with_names

from leakscope.cli.options import show
from leakscope.core.result import Caveat, NotRun
from leakscope.evaluation.results import Audit
from leakscope.report.documents import document
from leakscope.report.renderers import html
from leakscope.report.renderers.text import render

Kind = Literal["leaks", "not_detected", "inconclusive"]
COLOUR = re.compile(r"\x1b\[[\d;]*m")
HOSTILE = (
    "[red]alarm[/red]",
    "[link=http://example.com]click[/link]",
    "[/]",
    "\x1b[31mred\x1b[0m\x1b[2J",
    "\x1b]8;;http://example.com\x1b\\click\x1b]8;;\x1b\\",
    ":warning: [bold",
    "\r\x08over",
    "x" * 10_000,
)


def shown(audit: Audit, width: int = 100, **options: Any) -> str:
    stream = io.StringIO()
    settings = {"force_terminal": True, "color_system": "standard"} | options
    Console(file=stream, width=width, **settings).print(audit)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def colours_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("kind", "colour"), [("leaks", 31), ("not_detected", 32), ("inconclusive", 33)])
def test_the_verdict_comes_first_and_in_its_colour(kind: Kind, colour: int) -> None:
    audit = sample_audit(kind)
    text = shown(audit)
    assert text.startswith(f"\x1b[1;{colour}m{document(audit).answer.label}\x1b[0m")


@pytest.mark.parametrize("kind", ["leaks", "not_detected", "inconclusive"])
def test_plain_text_has_the_same_in_100_columns(kind: Kind) -> None:
    audit = sample_audit(kind)
    lines = str(audit).splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line.isprintable() for line in lines)
    assert lines[0].startswith(document(audit).answer.label)
    assert set(str(audit).splitlines()) <= set(render(audit, full=True).splitlines())


@pytest.mark.parametrize("width", [40, 80, 120])
def test_it_is_as_wide_as_the_terminal(width: int) -> None:
    lines = COLOUR.sub("", shown(sample_audit(), width)).splitlines()
    assert max(map(len, lines)) <= width


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.search(r"\x1b\[[\d;]*3\d", shown(sample_audit()))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[\d;]*3\d", shown(sample_audit()))


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_inert(name: str) -> None:
    audit = with_names(sample_audit(), name)
    many = replace(
        audit, warnings=(Caveat("no_groups_to_compare", {"column": name}),) * 9, not_run=(NotRun(name, name, name),) * 9
    )
    text = shown(many)
    plain = COLOUR.sub("", text)
    assert "\x1b" not in plain
    assert not set(COLOUR.findall(text)) - set(COLOUR.findall(shown(with_names(sample_audit(), "name"))))
    assert "and 6 more: see the report" in plain
    assert max(map(len, plain.splitlines())) <= 100
    if name.startswith("["):
        assert name in " ".join(plain.split())


def test_the_command_line_is_plain_where_nobody_looks(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = sample_audit()
    show(audit)
    assert capsys.readouterr().out == f"{audit}\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    show(audit)
    assert "\x1b[" in capsys.readouterr().out


def test_a_notebook_shows_the_fragment() -> None:
    audit = sample_audit()
    assert audit._repr_html_() == html.render_fragment(audit)
