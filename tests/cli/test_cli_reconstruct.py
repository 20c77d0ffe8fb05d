"""`leakscope reconstruct` as a new user meets it."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import check_refused, run

import leakscope as ls
from leakscope.core.result import Caveat


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("people")
    table = pd.DataFrame({"age": rng.integers(18, 80, 300), "job": rng.choice(["a", "b", "c", None], 300)})
    table["sex"] = rng.choice(["f", "m"], 300)
    table["person"] = [f"P{number:03}" for number in range(300)]
    table["income"] = np.where(table["age"] + rng.normal(0, 20, 300) > 50, ">50K", "<=50K")
    table.to_csv(folder / "people.csv", index=False)
    table.iloc[:60].to_csv(folder / "others.csv", index=False)
    table.iloc[:60].assign(age=lambda people: people["age"] + 0.5).to_csv(folder / "few.csv", index=False)
    table.assign(income=rng.choice(["low", "middle", "high"], 300)).to_csv(folder / "three.csv", index=False)
    return folder


def quick(people, *more):
    return (
        "reconstruct", people / "people.csv", "--label", "income", "--id", "person", "--size", 100, "--queries", 80,
        "--runs", 2, *more,
    )  # fmt: skip


def test_it_is_printed_and_saved(people, tmp_path, capsys):
    assert run(*quick(people, "--groups", "sex", "--k", 3, "--out", tmp_path / "out")) == 0
    assert "sex" in capsys.readouterr().out
    found = ls.load(tmp_path / "out")
    assert Caveat("sampled_records", {"records": 100, "of": 300}) in found.warnings
    assert found.records["id"].str.fullmatch(r"P\d{3}").all()
    assert found.settings["release"]["k"] == 3
    assert found.command.startswith("leakscope reconstruct")
    assert (tmp_path / "out" / "report.html").exists()


def test_json_is_all_that_is_printed(people, capsys):
    assert run(*quick(people, "--attack", "uniform,graph", "--defenses", "--precision", "1,16", "--json")) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [found["attack"] for found in printed["attacks"]] == [
        "static queries (uniform)",
        "graph traversal (breadth-first)",
    ]
    assert list(printed["precision"]) == ["1", "16"]
    assert len(printed["defended"]) == 10


def test_a_holdout_file_is_what_the_attacker_knows(people, tmp_path, capsys):
    arguments = ("reconstruct", people / "people.csv", "--label", "income", "--holdout", people / "others.csv")
    # all of them are training records as well
    check_refused(capsys, "(records)", *arguments, "--drop", "person", "--queries", 50, "--attack", "records")
    more = ("--drop", "person", "--queries", 50, "--attack", "uniform", "--runs", 1, "--out", tmp_path)
    assert run(*arguments, *more) == 0
    assert Caveat("copies_removed_from_holdout", {"records": 60}) in ls.load(tmp_path).warnings


OUT_OF_RANGE = {
    "k": 0, "queries": 0, "digits": 0, "noise": -1, "near": 2, "loss": "hinge", "penalty": 0, "size": 301,
    "confidence": 0.3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "named"),
    [
        *(((f"--{name}", value), f"leakscope: {name}") for name, value in OUT_OF_RANGE.items()),
        (("--k", "5000"), "5000"),
        (("--attack", "magic"), "'magic'"),
        (("--attack", ","), "uniform"),  # what there is to choose from
        (("--groups", "shoe"), "'shoe'"),
        (("--label", "shoe"), "'shoe'"),
        (("--precision", "x"), "--precision"),
        (("--hide-influences", "--attack", "subspace"), "subspace"),
    ],
)
def test_wrong_options_are_one_sentence_and_nothing_is_written(people, tmp_path, capsys, options, named):
    check_refused(capsys, named, *quick(people, *options, "--out", tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_defense_that_stops_all_chosen_attacks_is_a_row(people, tmp_path):
    assert run(*quick(people, "--attack", "subspace", "--defenses", "--out", tmp_path)) == 0
    assert any(row.share is None for row in ls.load(tmp_path).defended)


def test_no_holdout_and_most_queries_refused(people, tmp_path):
    arguments = ("reconstruct", people / "people.csv", "--label", "income", "--drop", "person", "--size", 300)
    assert run(*arguments, "--near", 0.01, "--queries", 60, "--runs", 1, "--out", tmp_path) == 0
    found = ls.load(tmp_path)
    assert "static queries (records)" in [item.attack for item in found.not_run]
    assert "no_holdout" in [caveat.code for caveat in found.warnings]


def test_more_records_than_the_control_has(people, tmp_path):
    assert (
        run(*quick(people, "--k", 100, "--attack", "uniform", "--holdout", people / "few.csv", "--out", tmp_path)) == 0
    )
    assert {risk.control.kind for risk in ls.load(tmp_path).membership} == {"permuted"}


def test_three_classes_are_refused(people, capsys):
    check_refused(capsys, "3", "reconstruct", people / "three.csv", "--label", "income", "--drop", "person")
