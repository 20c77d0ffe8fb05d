"""The report of a saved result, rendered again: the same page, other formats, other results in it, and nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from samples import sample_audit, with_claims

import leakscope as ls
from leakscope.audit_diff import diff
from leakscope.cli import main
from leakscope.evaluation.exposed_records import most_exposed
from leakscope.report.renderers import html, markdown
from leakscope.results import Audit

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
    with pytest.raises(SystemExit) as stop:
        main(["report", *map(str, arguments)])
    shown = capsys.readouterr()
    return int(stop.value.code or 0), shown.out, shown.err


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
    shown = {form: run(capsys, folder, "--format", form)[1] for form in ("md", "json", "csv", "text")}
    assert shown["md"] == markdown.render(small)
    assert json.loads(shown["json"], parse_constant=pytest.fail) == json.loads(json.dumps(small.as_dict()))
    assert shown["csv"].encode() == before["table.csv"]
    for form, content in shown.items():
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


def test_a_result_of_another_kind_has_a_report_too(capsys: Any, folder: Path) -> None:
    found = folder.parent / "diff"
    code, out, err = run(capsys, found, "--format", "md")
    assert (code, err) == (0, "")
    assert out == markdown.render(ls.load(found))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere"),
        (["audit", "--format", "pdf"], "--format"),
        (["audit", "--with", "nowhere"], "nowhere"),
        (["audit", "--with", "diff", "--out", "."], "--out"),
        (["audit", "--with", "diff", "--out", "audit/records.csv"], "--out"),
        (["audit", "--out", "audit/result.json/x"], "can't write to"),
    ],
)
def test_wrong_input_is_one_sentence_and_nothing_is_written(
    capsys: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(folder.parent)
    before = contents(folder)
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert contents(folder) == before
    assert {path.name for path in folder.parent.iterdir()} == {"audit", "diff"}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:100],
        lambda text: text.replace('"schema_version": 4', '"schema_version": 99'),
        lambda text: "[]",
    ],
    ids=["truncated", "newer", "something else"],
)
@pytest.mark.parametrize("place", ["audit", "diff"])
def test_a_broken_or_newer_result_is_refused(capsys: Any, folder: Path, spoil: Any, place: str) -> None:
    path = folder.parent / place / "result.json"
    path.write_text(spoil(path.read_text()).replace('"schema_version": 1', '"schema_version": 99'))
    before = contents(folder)
    code, out, err = run(capsys, folder, *(("--with", folder.parent / place) if place == "diff" else ()))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert contents(folder) == before
