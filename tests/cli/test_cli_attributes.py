"""`leakscope attributes` as a new user meets it."""

import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import check_refused, run
from sklearn.linear_model import LogisticRegression

import leakscope as ls


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    place = tmp_path_factory.mktemp("people")
    table = pd.DataFrame(rng.integers(2, size=(400, 2)), columns=["member", "other"])
    table["age"] = rng.normal(size=400)
    table["y"] = (table["age"] + table["member"] + rng.normal(size=400) > 0.5).astype(int)
    model = LogisticRegression().fit(table[["member", "other", "age"]], table["y"])
    skops.io.dump(model, place / "model.skops")
    table[:200].to_csv(place / "train.csv", index=False)
    table[200:].to_csv(place / "holdout.csv", index=False)
    return place


def command(folder, *more):
    files = ("--train", folder / "train.csv", "--holdout", folder / "holdout.csv")
    return ("attributes", folder / "model.skops", *files, "--label", "y", *more)


def test_it_is_printed_and_written(folder, tmp_path, capsys):
    assert run(*command(folder, "--sensitive", "member", "--out", tmp_path / "out")) == 0
    assert "member" in capsys.readouterr().out
    found = ls.load(tmp_path / "out")
    assert found.claim("attribute_leak", column="member").outcome == "yes"
    assert found.command.startswith("leakscope attributes")
    assert list(found.fingerprints) == ["model file"]


def test_json_of_two_columns(folder, capsys):
    assert run(*command(folder, "--sensitive", "member,other", "--known", "member,age", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(column["name"], column["known"]) for column in found["columns"]] == [
        ("member", ["age"]),
        ("other", ["member", "age"]),
    ]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--sensitive", "age"], "'age'"),
        (["--sensitive", "snow"], "'snow'"),
        (["--sensitive", "y"], "'y'"),
        (["--sensitive", "member", "--known", "snow"], "snow"),
        (["--sensitive", "member", "--confidence", "7"], "confidence"),
    ],
)
def test_bad_input_ends_in_one_sentence(folder, arguments, name, capsys):
    check_refused(capsys, name, *command(folder, *arguments))
