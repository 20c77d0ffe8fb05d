"""The report made anew from a saved audit: the same page, other formats, studies beside it, and nothing half-written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import around, sample_audit

import leakscope as ls
from leakscope.cli import main
from leakscope.report.summary import summarize
from leakscope.results import SCHEMA_VERSION, Audit, Number, Study
from leakscope.risk import most_exposed
from leakscope.study import study_to_json

FILES = ("audit.json", "records.csv", "report.html")


@pytest.fixture(scope="module")
def small() -> Audit:
    records = sample_audit().records.head(200)
    return replace(sample_audit(), records=records, exposed=most_exposed(records))


@pytest.fixture
def folder(tmp_path: Path, small: Audit) -> Path:
    small.save(tmp_path / "audit")
    return tmp_path / "audit"


def saved_study(folder: Path, answer: str = "A little.") -> Path:
    study = Study("leakage", "parameters", "How much?", answer, (Number("information", around(0.2, 0.1)),))
    folder.mkdir(exist_ok=True)
    (folder / "study.json").write_bytes(study_to_json(study))
    return folder


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


def test_markdown_and_json_go_to_the_terminal_or_to_a_file(capsys: Any, folder: Path) -> None:
    before = contents(folder)
    code, markdown, err = run(capsys, folder, "--format", "md")
    assert (code, err) == (0, "")
    assert markdown.startswith("# Leakscope audit of Pipeline")
    code, out, _ = run(capsys, folder, "--format", "json")
    assert json.loads(out, parse_constant=pytest.fail) == json.loads(json.dumps(summarize(ls.load(folder))))
    for form, content in (("md", markdown), ("json", out)):
        target = folder.parent / "new" / f"report.{form}"
        assert run(capsys, folder, "--format", form, "--out", target)[:2] == (0, f"written: {target}\n")
        assert target.read_text() == content
    assert contents(folder) == before


def test_html_to_another_file_leaves_the_audit_as_it_is(capsys: Any, folder: Path) -> None:
    before = contents(folder)
    assert run(capsys, folder, "--out", folder.parent / "page.html")[0] == 0
    assert (folder.parent / "page.html").read_bytes() == before["report.html"]
    assert contents(folder) == before
    assert not list(folder.parent.glob(".writing-*"))


def test_studies_are_kept_in_the_record(capsys: Any, folder: Path) -> None:
    study = saved_study(folder.parent / "leakage", "The parameters carry a little.")
    code, out, err = run(capsys, folder, "--with", study)
    assert (code, out) == (0, f"report: {folder / 'report.html'}\n")
    assert err == f"kept in {folder / 'audit.json'}: {study}\n"
    assert [one.answer for one in ls.load(folder).studies] == ["The parameters carry a little."]
    assert "The parameters carry a little." in (folder / "report.html").read_text()
    assert "The parameters carry a little." in run(capsys, folder, "--format", "md")[1]
    saved_study(study, "Much.")
    run(capsys, folder, "--with", study)
    assert [one.answer for one in ls.load(folder).studies] == ["Much."]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no audit in"),
        (["audit", "--format", "pdf"], "--format must be html, md or json, not pdf"),
        (["audit", "--with", "nowhere"], "no study in"),
        (["audit", "--with", "leakage", "--out", "."], "--out names a file"),
        (["audit", "--with", "leakage", "--out", "audit/records.csv"], "is part of the audit: name another file"),
        (["audit", "--out", "audit/audit.json/x"], "can't write to"),
    ],
)
def test_wrong_input_is_one_sentence_and_nothing_is_written(
    capsys: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    saved_study(folder.parent / "leakage")
    monkeypatch.chdir(folder.parent)
    before = contents(folder)
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert contents(folder) == before
    assert {path.name for path in folder.parent.iterdir()} == {"audit", "leakage"}


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda text: text[:100], "is broken"),
        (lambda text: text.replace(f'"schema_version": {SCHEMA_VERSION}', '"schema_version": 99'), "upgrade leakscope"),
        (lambda text: "[]", "is not an audit"),
    ],
)
def test_a_broken_or_newer_record_is_refused(capsys: Any, folder: Path, spoil: Any, said: str) -> None:
    path = folder / "audit.json"
    path.write_text(spoil(path.read_text()))
    before = contents(folder)
    code, out, err = run(capsys, folder)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert contents(folder) == before


def test_a_broken_study_is_refused(capsys: Any, folder: Path) -> None:
    study = saved_study(folder.parent / "leakage")
    (study / "study.json").write_text("{}")
    before = contents(folder)
    code, _, err = run(capsys, folder, "--with", study)
    assert code == 2
    assert "is broken" in err
    assert contents(folder) == before
