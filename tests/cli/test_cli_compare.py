"""`leakscope compare` as a new user meets it."""

import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import check_refused, run
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leakscope as ls
from leakscope.core.estimate import Estimate


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("people")
    table = pd.DataFrame(
        {"age": rng.normal(45, 15, 500), "job": rng.choice(["a", "b", "c"], 500), "sex": rng.choice(["f", "m"], 500)}
    )
    table["income"] = np.where(table["age"] + rng.normal(0, 20, 500) > 45, "high", "low")
    parts = {"train": table[:200], "holdout": table[200:400], "more": table[400:]}
    for name, part in parts.items():
        part.to_csv(folder / f"{name}.csv", index=False)
    encode = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["job", "sex"]))
    model = make_pipeline(encode, LogisticRegression()).fit(table[:200].drop(columns="income"), table[:200]["income"])
    skops.io.dump(model, folder / "model.skops")
    return folder


def quick(people, *more):
    return (
        "compare", people / "model.skops", "--train", people / "train.csv", "--holdout", people / "holdout.csv",
        "--label", "income", *(() if {"--no-retrain", "--budget"} & {*more} else ("--references", 2)), *more,
    )  # fmt: skip


def test_prints_and_writes(people, tmp_path, capsys):
    code = run(
        *quick(people, "--defenses", "l2:0.1/1,more-data,pate:4,causal-features,irm:1,round:1,label-only,parameter-noise:2"),
        "--more", people / "more.csv", "--public", people / "more.csv", "--causes", "age", "--environments", "sex",
        "--out", tmp_path / "out",
    )  # fmt: skip
    printed, errors = capsys.readouterr()
    assert code == 0, errors
    assert "report.html" in printed
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"result.json", "table.csv", "report.html"}
    found = ls.load(tmp_path / "out")
    assert found.command.startswith("leakscope compare")
    names = "as it is, l2 0.1, l2 1, more-data 0.5, more-data 1, causal-features, irm 1, round 1, label-only, parameter-noise 2"
    assert [version.name for version in found.compared] == names.split(", ")
    assert [one.attack for one in found.not_run] == ["pate 4"]
    assert all(name in printed for name in ("as it is", "l2 0.1", "pate 4"))
    version = found["parameter-noise 2"]
    assert (version.guarantee.epsilon, version.guarantee_status) == (2, "not refuted")


def test_json_alone(people, capsys):
    assert run(*quick(people, "--defenses", "round", "--json", "--no-retrain")) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert [version["name"] for version in document["compared"]] == ["as it is", "round 3", "round 1"]


def test_record_explanations(people, capsys, monkeypatch):
    monkeypatch.setattr("leakscope.studies.compare.record_explanations.BUDGET", 20)
    defenses = ("--defenses", "query-budget:3,fewer-records:1", "--no-retrain", "--json")
    assert run(*quick(people, *defenses, "--record-explanations")) == 0
    shown = json.loads(capsys.readouterr().out)["record_explanations"]
    assert [row["name"] for row in shown["versions"]] == ["as it is", "query-budget 3", "fewer-records 1"]


def test_a_refuted_guarantee_is_exit_code_1(people, capsys, monkeypatch):
    bound = Estimate(3.0, 3.0, 3.0, kind="lower bound")
    monkeypatch.setattr("leakscope.studies.compare.combining.hold_claim", lambda *_: (bound, "refuted"))
    assert run(*quick(people, "--defenses", "parameter-noise:1", "--no-retrain", "--json")) == 1
    claims = json.loads(capsys.readouterr().out)["claims"]
    refuted = [claim for claim in claims if claim["code"] == "guarantee_refuted" and claim["outcome"] == "yes"]
    assert [claim["subject"] for claim in refuted] == [{}, {"version": "parameter-noise 1"}]


def test_a_report_of_an_audit_shows_it(people, tmp_path, capsys):
    assert run(*quick(people, "--defenses", "round:1", "--no-retrain", "--out", tmp_path / "compare")) == 0
    base = ("--train", people / "train.csv", "--holdout", people / "holdout.csv", "--label", "income", "--no-retrain")
    code = run("audit", people / "model.skops", *base, "--with", tmp_path / "compare", "--out", tmp_path / "audit")
    assert code == 0
    capsys.readouterr()
    assert "round 1" in (tmp_path / "audit" / "report.html").read_text()


def test_a_budget_of_time(people, capsys):
    assert run(*quick(people, "--defenses", "round", "--budget", "0.001s", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["settings"]["references"], found["settings"]["budget"]) == (2, 0.001)


@pytest.mark.parametrize(
    ("more", "name"),
    [
        (["--defenses", "nope"], "'nope'"),
        (["--defenses", "round,"], "''"),
        (["--defenses", "round,round"], "round"),
        (["--defenses", "l2:x"], "'l2:x'"),
        (["--defenses", "l2:-1"], "-1"),
        (["--defenses", "label-only:3"], "label-only"),
        (["--defenses", "pate"], "--public"),
        (["--defenses", "more-data"], "--more"),
        (["--defenses", "irm"], "--environments"),
        (["--defenses", "causal-features"], "--causes"),
        (["--defenses", "smoothgrad"], "--releases"),
        (["--defenses", "query-budget:3"], "--record-explanations"),
        (["--defenses", "more-data", "--more", "nofile.csv"], "nofile.csv"),
        (["--defenses", "round", "--utility-loss", "2"], "utility_loss"),
        (["--defenses", "round", "--references", "3"], "references"),
        (["--defenses", "round", "--budget", "soon"], "--budget"),
        (["--defenses", "parameter-noise", "--defense-delta", "2"], "delta"),
        (["--defenses", "round", "--releases", "nope"], "'nope'"),
        (["--defenses", "causal-features", "--causes", "shoe"], "'shoe'"),
        (["--defenses", "irm", "--environments", "year"], "year"),
        (["--defenses", "round", "--task", "guessing"], "--task"),
    ],
)
def test_wrong_input_is_refused(people, capsys, more, name):
    check_refused(capsys, name, *quick(people, *more))
