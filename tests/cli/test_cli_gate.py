"""The gate as a pipeline meets it: exit codes, one line each, JUnit, and the page that tells how."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import commands
import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import check_refused
from commands import shown as run
from samples import sample_audit
from sklearn.ensemble import ExtraTreesClassifier

import leakscope as ls
from leakscope.cli.options import command_line
from leakscope.record.conditions import parse_condition

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A forest that learned its records by heart, with its data, and its audit under audit/."""
    place = tmp_path_factory.mktemp("release")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    table["sex"] = rng.integers(0, 2, 400)
    table["y"] = (table["a"] + rng.normal(0, 1, 400) > 0).astype(int)
    table[:200].to_csv(place / "train.csv", index=False)
    table[200:].to_csv(place / "holdout.csv", index=False)
    forest = ExtraTreesClassifier(20, random_state=0).fit(table[:200].drop(columns="y"), table["y"][:200])
    skops.io.dump(forest, place / "model.skops")
    assert commands.run(*arguments(place, "--groups", "sex", "--out", place / "audit")) == 0
    return place


def arguments(folder, *more):
    paths = ["--train", folder / "train.csv", "--holdout", folder / "holdout.csv"]
    return ["audit", folder / "model.skops", *paths, "--label", "y", "--no-retrain", *more]


def cases(path):
    return ElementTree.parse(path).getroot().findall("testsuite/testcase")


def test_an_audit_is_judged_and_written_though_the_gate_fails(capsys, folder, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'on_uncertain = "pass"\n[[fail_if]]\ncondition = "auc.high > 0.6"\nbecause = "the model is public"\n'
        '[[fail_if]]\ncondition = "tpr_at_fpr[0.001] > 0"\n'
    )
    options = ("--policy", policy, "--fail-if", "labels: auc.low > 0.99", "--fail-if", "auc.high > 0.60")
    code, out, err = run(
        capsys, *arguments(folder, *options, "--out", tmp_path / "audit", "--junit", tmp_path / "ci" / "gate.xml")
    )
    assert (code, err) == (1, "")
    lines = [line for line in out.splitlines() if line.startswith("gate ")]
    assert len(lines) == 2
    assert re.fullmatch(r"gate failed: auc\.high > 0\.60 \(it is [\d., \[\]]+; the model is public\)", lines[0])
    assert lines[1].startswith("gate uncertain: tpr_at_fpr[0.001] > 0 (")
    assert ls.load(tmp_path / "audit").verdict.kind == "leaks"
    found = [[child.tag for child in case] for case in cases(tmp_path / "ci" / "gate.xml")]
    assert found == [["system-out"], ["failure"], ["skipped"]]
    assert not list((tmp_path / "ci").glob(".writing-*"))


def test_json_and_junit_without_out(capsys, folder, tmp_path):
    options = ("--fail-if", "verdict = leaks", "--fail-if", "auc < 0.5", "--json", "--junit", tmp_path / "gate.xml")
    code, out, err = run(capsys, *arguments(folder, *options))
    assert (code, err) == (1, "")
    gate = json.loads(out)["gate"]
    assert (gate["outcome"], gate["on_uncertain"]) == ("failed", "fail")
    assert [one["outcome"] for one in gate["conditions"]] == ["failed", "passed"]
    assert gate["conditions"][1]["estimate"]["kind"] == "estimate"
    assert len(cases(tmp_path / "gate.xml")) == 2
    assert json.loads(run(capsys, *arguments(folder, "--json"))[1])["gate"] is None


def test_a_saved_audit_is_judged_without_auditing_again(capsys, folder, tmp_path):
    saved = folder / "audit"
    code, out, err = run(capsys, "gate", saved, "--fail-if", "auc.low < 0.5", "--fail-if", "auc > 0.999")
    assert (code, out, err) == (0, "gate passed: 2 conditions\n", "")
    code, out, _ = run(capsys, "gate", saved, "--fail-if", "auc > 0.55", "--junit", tmp_path / "gate.xml")
    assert code == 1
    assert out.startswith("gate failed: auc > 0.55 (it is ")
    assert [case.get("name") for case in cases(tmp_path / "gate.xml")] == ["auc > 0.55"]
    code, out, _ = run(capsys, "gate", saved, "--fail-if", "bound > 0.1", "--json")
    assert code == 1
    document = json.loads(out)
    assert document["claims"][0]["outcome"] == "yes"
    assert document["gate"]["conditions"][0] == {
        "condition": "bound > 0.1",
        "outcome": "uncertain",
        "estimate": None,
        "reason": "no bound was measured",
        "because": "",
    }
    assert run(capsys, "gate", saved, "--fail-if", "bound > 0.1", "--on-uncertain", "pass")[0] == 0
    assert run(capsys, "gate", saved, "--fail-if", "extra > 0")[0] == 1  # no explanation was audited
    same = ls.gate(ls.load(saved), "bound > 0.1")
    assert same.as_dict() == document["gate"]


def test_an_audit_that_cannot_tell_fails_by_default(capsys, tmp_path):
    sample_audit("inconclusive").save(tmp_path)
    code, out, _ = run(capsys, "gate", tmp_path, "--fail-if", "auc > 0.99")
    assert code == 1
    assert out.startswith("gate uncertain: leak is decided (leak is inconclusive")
    code, out, _ = run(capsys, "gate", tmp_path, "--fail-if", "auc > 0.99", "--on-uncertain", "pass")
    assert code == 0
    assert out.splitlines()[-1] == "gate passed: 2 conditions, 1 uncertain"
    shown = json.loads(run(capsys, "gate", tmp_path, "--fail-if", "auc > 0.99", "--json")[1])["claims"]
    assert (shown[0]["code"], shown[0]["outcome"]) == ("leak", "inconclusive")


AUDIT_REFUSES = {
    "a condition that cannot be read": (["--fail-if", "auc"], "cannot read"),
    "a rate that is not measured": (["--fail-if", "tpr_at_fpr[0.3] > 0"], "not measured"),
    "a release that isn't named": (["--releases", "labels", "--fail-if", "probabilities: auc > 1"], "use labels"),
    "a release that isn't one": (["--fail-if", "weights: auc > 1"], "use labels, probabilities"),
    "junit without a gate": (["--junit", "gate.xml"], "--junit goes with a gate"),
    "a choice without a gate": (["--on-uncertain", "pass"], "--on-uncertain goes with a gate"),
    "a choice that isn't one": (["--fail-if", "auc > 1", "--on-uncertain", "skip"], "fail or pass, not skip"),
    "no policy file": (["--policy", "none.toml"], "none.toml cannot"),
    "junit in no place": (["--fail-if", "auc > 1", "--junit", "/proc/none/gate.xml"], "/proc"),
    "a result that is none": (["--with", "no-study"], "no result in no-study"),
    "a delta alone": (["--delta", "0.1"], "--epsilon"),
    "an epsilon below 0": (["--epsilon", "-1"], "epsilon"),
    "an epsilon that is no number": (["--epsilon", "nan"], "epsilon"),
}  # fmt: skip


@pytest.mark.parametrize("what", AUDIT_REFUSES)
def test_an_audit_refuses_in_one_sentence_and_leaves_nothing(what, capsys, folder, tmp_path):
    options, says = AUDIT_REFUSES[what]
    check_refused(capsys, says, *arguments(folder, *options, "--out", tmp_path / "audit"))
    assert not (tmp_path / "audit").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "no condition"),
        (["--fail-if", "tpr_at_fpr[0.3] > 0"], "not measured"),
        (["--fail-if", "lrp: auc > 0"], "'lrp'"),
        (["--fail-if", "auc > 0", "--junit", "."], "is a folder"),
        (["--fail-if", "auc > 0", "--junit", "there/result.json"], "overwrite"),
    ],
)
def test_the_gate_refuses_in_one_sentence(options, says, capsys, folder):
    check_refused(capsys, says, "gate", folder / "audit", *options)


def test_a_folder_without_an_audit_is_bad_input(capsys, tmp_path):
    check_refused(capsys, "no result", "gate", tmp_path, "--fail-if", "auc > 1", "--junit", tmp_path / "gate.xml")
    assert not (tmp_path / "gate.xml").exists()


def test_a_claimed_epsilon_and_the_command_are_recorded(capsys, folder, tmp_path):
    words = arguments(folder, "--with", folder / "audit", "--epsilon", "9", "--out", tmp_path / "audit")
    code, out, err = run(capsys, *words, "--fail-if", "bound > 0.4")
    assert (code, err) == (1, "")
    assert "gate failed: bound > 0.4" in out
    saved = ls.load(tmp_path / "audit")
    assert [bound.advantage.kind for bound in saved.bounds] == ["upper bound"]
    assert saved.command.startswith(f"leakscope audit {folder / 'model.skops'} --train ")
    assert saved.command.endswith("--fail-if 'bound > 0.4'")
    assert (tmp_path / "audit" / "report.html").read_text().count("Risk by release") > 1


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("https://ann:secret@host:8000/predict", "https://host:8000/predict"),
        ("http://host/predict?token=secret", "'http://host/predict?…'"),
        ("HTTP:/host/predict#secret", "'HTTP:/host/predict?…'"),
        ("--cluster=tcp://me:secret@host:1", "--cluster=tcp://host:1"),
        ("model.skops", "model.skops"),
        ("a b?c.csv", "'a b?c.csv'"),
        ("\udcff.csv", "'?.csv'"),
    ],
)
def test_no_secret_of_an_address_goes_into_the_record(typed, kept):
    assert command_line(SimpleNamespace(obj=["audit", typed])) == f"leakscope audit {kept}"


# --- the page -------------------------------------------------------------------------------------------------------


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S)


def test_the_policy_of_the_page_is_read(capsys, folder, tmp_path):
    (policy,) = blocks("toml")
    (tmp_path / "policy.toml").write_text(policy)
    code, out, err = run(capsys, "gate", folder / "audit", "--policy", tmp_path / "policy.toml", "--json")
    assert (code, err) == (1, "")
    conditions = json.loads(out)["gate"]["conditions"]
    assert len(conditions) == policy.count("condition = ")
    assert any(one["because"] for one in conditions)


def test_every_condition_of_the_page_can_be_read():
    found = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(), flags=re.M)
    assert len(found) == 15
    assert all(parse_condition(text).text == text for text in found)


def test_the_steps_of_the_page_are_yaml_and_their_command_runs(capsys, folder, tmp_path, monkeypatch):
    yaml = pytest.importorskip("yaml")
    github, gitlab = (yaml.safe_load(block) for block in blocks("yaml"))
    commands = [step["run"] for step in github["jobs"]["privacy"]["steps"] if "leakscope audit" in step.get("run", "")]
    assert commands == gitlab["privacy"]["script"]
    (tmp_path / "policy.toml").write_text(blocks("toml")[0])
    for name in ("train.csv", "holdout.csv", "model.skops"):
        shutil.copy(folder / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(commands[0].replace("income", "y").replace("race,sex", "sex"))
    code, _, err = run(capsys, *words[1:], "--no-retrain")
    assert (code, err) == (1, "")
    kept = [step for step in github["jobs"]["privacy"]["steps"] if step.get("if") == "always()"]
    assert all(Path(name).exists() for name in kept[0]["with"]["path"].split())


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_the_make_target_of_the_page_works(folder, tmp_path):
    (target,) = blocks("make")
    (policy,) = blocks("toml")
    for name in ("train.csv", "holdout.csv", "model.skops"):
        shutil.copy(folder / name, tmp_path / name)
    (tmp_path / "policy.toml").write_text(policy)
    (tmp_path / "Makefile").write_text(target)
    leakscope = f"{sys.executable} -m leakscope"
    done = subprocess.run(
        ["make", "release", f"LEAKSCOPE={leakscope}", "LABEL=y", "GROUPS=sex", "OPTIONS=--no-retrain"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr  # what make says if a command fails
    assert "gate failed: " in done.stdout
    assert "Error 1" in done.stderr
    assert (tmp_path / "audit" / "report.html").exists()
    assert "released" not in done.stdout
    (tmp_path / "policy.toml").write_text('on_uncertain = "pass"\nfail_if = ["auc.low > 0.9999"]')
    subprocess.run(["make", "gate", f"LEAKSCOPE={leakscope}"], cwd=tmp_path, capture_output=True, text=True, check=True)


def test_the_python_of_the_page_runs(folder, monkeypatch):
    (code,) = blocks("python")
    monkeypatch.chdir(folder)
    names = {}
    exec(compile(code, str(PAGE), "exec"), names)
    assert names["decision"].outcome in ("failed", "passed")
