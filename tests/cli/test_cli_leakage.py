"""`leakscope leakage` as a new user meets it."""

import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import check_refused, run
from sklearn.linear_model import LogisticRegression

import leakscope as ls


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("people")
    table = pd.DataFrame(
        {"age": rng.integers(18, 80, 400), "job": rng.choice(["a", "b", "c"], 400), "person": np.arange(400)}
    )
    table["income"] = np.where(table["age"] + rng.normal(0, 20, 400) > 50, ">50K", "<=50K")
    table.to_csv(folder / "people.csv", index=False)
    skops.io.dump(LogisticRegression(), folder / "model.skops")
    return folder


def quick(people, *more):
    return (
        "leakage", people / "people.csv", "--label", "income", "--id", "person", "--records", 6, "--draws", 80,
        "--models", 8, *more,
    )  # fmt: skip


def test_sweep_is_printed_and_saved(people, tmp_path, capsys):
    code = run(*quick(people, "--sizes", "2,20,60", "--l2", "0,1", "--below", 0.5, "--out", tmp_path / "out"))
    assert code == 0
    assert capsys.readouterr().out
    found = ls.load(tmp_path / "out")
    assert [(item.size, item.l2) for item in found.not_measured] == [(2, 0.0)]
    assert {goal.along for goal in found.goals} == {"size", "l2"}
    assert found.command.startswith("leakscope leakage")
    assert (tmp_path / "out" / "report.html").exists()


def test_json_alone(people, capsys):
    assert run(*quick(people, "--sizes", "30", "--json", "--below", "0.1")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["points"][0]["rho_kl"]["value"] > 0
    assert document["goals"][0]["bits"] == 0.1


@pytest.mark.parametrize(
    "more",
    [
        ("--learner", "logistic", "--l2", "0.1"),
        ("--learner", "mlp", "--widths", "4", "--space", "function", "--records", "2", "--draws", "30"),
        ("--noise", "0,0.5"),
        ("--independent",),
        ("--encode", "one-hot", "--components", "2", "--no-intercept"),
    ],
)
def test_learners_and_options(people, capsys, more):
    assert run(*quick(people, "--sizes", "40", *more)) == 0
    assert "ρ_KL" in capsys.readouterr().out


def test_an_estimator_from_a_file(people, capsys):
    code = run(*quick(people, "--sizes", "60", "--learner", people / "model.skops", "--draws", 40, "--records", 3))
    assert code == 0
    assert "LogisticRegression" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--sizes", "ten"), "--sizes"),
        (("--l2", "a,b"), "--l2"),
        (("--sizes", "500"), "398"),
        (("--learner", "svm"), "logistic"),
        (("--space", "weights"), "'weights'"),
        (("--encode", "hash"), "one-hot"),
        (("--below", "-1"), "bits"),
        (("--components", "7"), "components"),
        (("--noise", "-1"), "noise"),
        (("--confidence", "7"), "confidence"),
        (("--workers", "0"), "workers"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_2(people, capsys, more, named):
    arguments = more if "--sizes" in more else ("--sizes", "30", *more)
    check_refused(capsys, named, *quick(people, *arguments))


def test_a_file_in_the_way_is_said_before_anything_is_trained(people, tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    check_refused(capsys, "taken", *quick(people, "--sizes", "30", "--out", tmp_path / "taken"))
