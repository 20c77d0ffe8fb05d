"""Every kind of result, saved and loaded: equal; broken, edited, newer or foreign files end in one sentence and stay as they are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from commands import run
from samples import rewrite

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.core.result import Result
from leakscope.record.schema import DIGEST, class_of, json_schema
from surfaces.samples import KINDS

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"
Damage = Callable[[Path], object]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a saved result of every kind."""
    made = tmp_path_factory.mktemp("saved")
    for kind, make in KINDS.items():
        make().save(made / kind)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_loading_gives_back_the_result(kind: str, folders: Path) -> None:
    result, loaded = KINDS[kind](), ls.load(folders / kind)
    assert type(loaded) is type(result)
    assert loaded == result
    assert str(loaded) == str(result)
    expected = {"report.html", "result.json", "table.csv"} | ({"records.csv"} if result.records is not None else set())
    assert {path.name for path in (folders / kind).iterdir()} == expected


@pytest.mark.parametrize("kind", KINDS)
def test_the_json_follows_the_schema_in_the_docs(kind: str, folders: Path) -> None:
    schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text())
    assert schema == json_schema(class_of(kind)), "run make schema"
    jsonschema.validate(json.loads((folders / kind / "result.json").read_text()), schema)


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_that_the_schema_does_not_know_is_refused_by_it(kind: str, folders: Path) -> None:
    document = json.loads((folders / kind / "result.json").read_text())
    schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"block": {}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({name: value for name, value in document.items() if name != schema["required"][-1]}, schema)


def spoil(change: Callable[[dict[str, Any]], object], *, sealed: bool = True) -> Damage:
    """Change the document; ``sealed`` with the digest that its new content has."""
    return lambda folder: rewrite(folder, change, sealed=sealed)


def truncate(folder: Path) -> None:
    path = folder / "result.json"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES: dict[str, tuple[Damage, str]] = {
    "missing": (lambda folder: (folder / "result.json").unlink(), "no result"),
    "truncated": (truncate, "damaged"),
    "not json": (lambda folder: (folder / "result.json").write_bytes(b"\xff\xfe\x00"), "damaged"),
    "a list": (lambda folder: (folder / "result.json").write_text("[]"), "not a result"),
    "newer": (spoil(lambda document: document.update(schema_version=document["schema_version"] + 1)), "upgrade leakscope"),
    "no version": (spoil(lambda document: document.pop("schema_version")), "no schema_version"),
    "unknown kind": (spoil(lambda document: document.update(kind="junk")), "unknown kind"),
    "unknown block": (spoil(lambda document: document.update(block={"title": "x"})), "result: block"),
    "unknown claim": (spoil(lambda document: document["claims"].append({"code": "junk", "subject": {}, "outcome": "yes", "estimates": {}})), ""),
    "odd outcome": (spoil(lambda document: document["claims"][0].update(outcome="maybe")), "result: claims"),
    "edited": (spoil(lambda document: document.update(command="other"), sealed=False), "edited"),
    "no digest": (spoil(lambda document: document.pop(DIGEST), sealed=False), "no digest"),
    "not a number": (spoil(lambda document: document["seconds"].update(x=float("nan"))), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_result_ends_in_one_sentence_and_stays_as_it_is(
    kind: str, what: str, folders: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "result"
    shutil.copytree(folders / kind, folder)
    damage, words = DAMAGES[what]
    damage(folder)
    before = contents(folder)
    with pytest.raises(InputError, match=words or None) as error:
        ls.load(folder)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_of_another_kind_is_not_a_whole_one(kind: str, folders: Path, tmp_path: Path) -> None:
    folder = tmp_path / "result"
    shutil.copytree(folders / kind, folder)
    other = next(name for name in KINDS if name != kind)
    spoil(lambda document: document.update(kind=other, schema_version=class_of(other).schema_version))(folder)
    with pytest.raises(InputError, match="result"):
        ls.load(folder)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["html", "md", "text", "json", "csv"])
def test_the_command_line_renders_every_kind(kind: str, form: str, folders: Path, tmp_path: Path) -> None:
    out = tmp_path / f"report.{form}"
    assert run("report", folders / kind, "--format", form, "--out", out) == 0
    assert out.stat().st_size > 50


def test_the_command_line_refuses_damaged_results_and_leaves_the_output(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "result", tmp_path / "report.md"
    shutil.copytree(folders / "audit", folder)
    spoil(lambda document: document.update(block={}))(folder)
    out.write_text("old")
    for arguments in (
        ("report", folder, "--format", "md", "--out", out), ("gate", folder, "--fail-if", "auc > 0.9"), ("diff", folders / "audit", folder),
    ):  # fmt: skip
        assert run(*arguments) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) <= 2
    assert out.read_text() == "old"


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_while_making_the_report_leaves_the_earlier_result_whole(
    kind: str, folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "result"
    shutil.copytree(folders / kind, folder)
    before = contents(folder)

    def fail(*_: object) -> None:
        raise RuntimeError("no report today")

    monkeypatch.setattr("leakscope.report.renderers.html.render", fail)
    with pytest.raises(RuntimeError):
        KINDS[kind]().save(folder)
    assert contents(folder) == before


@pytest.mark.parametrize("kind", KINDS)
def test_gate_and_diff_take_every_kind_with_claims(kind: str) -> None:
    result: Result = KINDS[kind]()
    code = next(iter(result.codes), None)
    if not result.claims:
        with pytest.raises(InputError, match="claims"):
            ls.gate(result, "leak = yes")
        return
    assert ls.gate(result, f"{code} = yes").outcome in ("passed", "failed", "inconclusive")
    if kind != "diff":
        assert not ls.diff(result, result).worse
