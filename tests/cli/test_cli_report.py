"""The report of a saved result, rendered again: the same page, other formats, other results in it, and nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import check_refused, shown
from samples import sample_audit, with_claims

import leakscope as ls
from leakscope.evaluation.exposed_records import most_exposed
from leakscope.evaluation.results import Audit
from leakscope.report.renderers import html, markdown
from leakscope.studies.diff import diff

FILES = ("result.json", "records.csv", "table.csv", "report.html")


@pytest.fixture(scope="module")
def small() -> Audit:
    records = sample_audit().records.head(200)
    return with_claims(sample_audit(), records=records, exposed=most_exposed(records))


@pytest.fixture
def folder(tmp_path: Path, small: Audit) -> Path:
    small.save(tmp_path / "audit")
    diff(small, small).save(tmp_path / "diff")
    return tmp_path / "audit"


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def run(capsys: Any, *arguments: Any) -> tuple[int, str, str]:
    return shown(capsys, "report", *arguments)


def test_the_page_of_a_real_audit_is_the_same_to_the_last_byte(capsys: Any, tmp_path: Path) -> None:
    toy = ls.toys.lookup(n=60)
    groups = [["odd", "even"][row % 2] for row in range(60)]
    ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit, groups=(groups, groups)).save(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "report.html").unlink()
    code, out, err = run(capsys, tmp_path)
    assert (code, out, err) == (0, f"report: {tmp_path / 'report.html'}\n", "")
    assert contents(tmp_path) == before


def test_other_formats_go_to_the_terminal_or_to_a_file(capsys: Any, folder: Path, small: Audit) -> None:
    before = contents(folder)
    written = {form: run(capsys, folder, "--format", form)[1] for form in ("md", "json", "csv", "text")}
    assert written["md"] == markdown.render(small)
    assert json.loads(written["json"], parse_constant=pytest.fail) == json.loads(json.dumps(small.as_dict()))
    assert written["csv"].encode() == before["table.csv"]
    for form, content in written.items():
        target = folder.parent / "new" / f"report.{form}"
        assert run(capsys, folder, "--format", form, "--out", target) == (0, f"written: {target}\n", "")
        assert target.read_text() == content
    assert contents(folder) == before


def test_html_to_another_file_leaves_the_result_as_it_is(capsys: Any, folder: Path) -> None:
    before = contents(folder)
    assert run(capsys, folder, "--out", folder.parent / "page.html")[0] == 0
    assert (folder.parent / "page.html").read_bytes() == before["report.html"]
    assert contents(folder) == before
    assert not list(folder.parent.glob(".writing-*"))


def test_other_results_are_shown_and_the_record_stays(capsys: Any, folder: Path, small: Audit) -> None:
    before = contents(folder)
    assert run(capsys, folder, "--with", folder.parent / "diff")[0] == 0
    after = contents(folder)
    assert after.pop("report.html").decode() == html.render(small, [ls.load(folder.parent / "diff")])
    assert after == {name: content for name, content in before.items() if name != "report.html"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere"),
        (["audit", "--format", "pdf"], "--format"),
        (["audit", "--with", "nowhere"], "nowhere"),
        (["audit", "--with", "diff", "--out", "."], "--out"),
        (["audit", "--with", "diff", "--out", "audit/records.csv"], "--out"),
        (["audit", "--out", "audit/result.json/x"], "result.json"),
    ],
)
def test_wrong_input_is_one_sentence_and_nothing_is_written(
    capsys: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(folder.parent)
    before = contents(folder)
    check_refused(capsys, said, "report", *arguments)
    assert contents(folder) == before
    assert {path.name for path in folder.parent.iterdir()} == {"audit", "diff"}


@pytest.mark.parametrize("damage", ["truncated", "edited", "missing"])
def test_a_damaged_result_to_include_leaves_the_old_files(damage: str, capsys: Any, folder: Path) -> None:
    before, other = contents(folder), folder.parent / "diff" / "result.json"
    if damage == "missing":
        other.unlink()
    else:
        text = other.read_text()
        other.write_text(
            text[: len(text) // 2] if damage == "truncated" else text.replace('"outcome": "', '"outcome": "x', 1)
        )
    check_refused(capsys, "diff", "report", folder, "--with", other.parent)
    assert contents(folder) == before
