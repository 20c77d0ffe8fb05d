"""The command line as a new user meets it: exit codes, one sentence for bad input, nothing half-written."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import shown as run
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from typer.main import get_command

import leakscope as ls
from leakscope.cli.main import app
from leakscope.cli.options import FORMER


def people(n, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "hours": rng.integers(1, 60, n),
            "sex": rng.integers(0, 2, n),
            "person": [f"p{seed}-{row}" for row in range(n)],
        }
    )
    table["income"] = np.where(table["age"] + rng.normal(0, 20, n) > 50, ">50K", "<=50K")
    return table


FEATURES = ["age", "hours", "sex"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model and its data, as files."""
    folder = tmp_path_factory.mktemp("files")
    train, holdout = people(300, 1), people(300, 2)
    train.to_csv(folder / "train.csv", index=False)
    holdout.to_csv(folder / "holdout.csv", index=False)
    steady = LogisticRegression(max_iter=1000).fit(train[FEATURES], train["income"])
    skops.io.dump(steady, folder / "model.skops")
    forest = ExtraTreesClassifier(30, random_state=0).fit(train[FEATURES], train["income"])
    skops.io.dump(forest, folder / "forest.skops")
    (folder / "model.pkl").write_bytes(pickle.dumps(steady))
    regression = LinearRegression().fit(train[["age", "sex"]], train["hours"])
    skops.io.dump(regression, folder / "regression.skops")
    return folder


def audit(capsys, folder, *more, model="model.skops", train="train.csv", holdout="holdout.csv", label="income"):
    paths = ["--train", folder / train, "--holdout", folder / holdout]
    return run(capsys, "audit", folder / model, *paths, "--label", label, *more)


def spoiled(folder, name, change, source="train.csv"):
    """A copy of a table with a change."""
    table = pd.read_csv(folder / source)
    table = change(table)
    table.to_csv(folder / name, index=False)
    if name == "long.csv":
        lines = (folder / name).read_text().splitlines()
        (folder / name).write_text("\n".join([lines[0], *(f"{line},9" for line in lines[1:])]) + "\n")
    return name


def test_an_audit_prints_the_verdict_and_writes_three_files(capsys, files, tmp_path):
    code, out, err = audit(capsys, files, "--groups", "sex", "--id", "person", "--out", tmp_path / "audit")
    assert code == 0
    assert err == ""
    assert "report.html" in out
    result = ls.load(tmp_path / "audit")
    assert result.verdict.kind == "inconclusive"
    assert result.records["id"].tolist()[:2] == ["p1-0", "p1-1"]
    assert {group.level for group in result.strongest.by_group} == {"0", "1", "<=50K", ">50K"}
    assert result.target.features == 3  # the id is not shown to the model


def test_json_is_for_machines(capsys, files):
    options = ("--json", "--fail-if", "auc.low > 0.99", "--on-uncertain", "pass", "--no-retrain")
    code, out, err = audit(capsys, files, *options)
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["verdict"]["kind"] == "inconclusive"
    assert document["gate"]["outcome"] == "passed"
    judged = [(one["condition"], one["outcome"]) for one in document["gate"]["conditions"]]
    assert judged == [("auc.low > 0.99", "passed"), ("leak is decided", "uncertain")]
    assert {risk["control"]["kind"] for risk in document["risks"]} == {"permuted"}


def test_the_same_seed_prints_the_same_numbers(capsys, files):
    first, second, other = (audit(capsys, files, "--seed", seed)[1] for seed in (4, 4, 5))
    assert first == second != other


def test_a_gate_that_fails_exits_with_1_and_still_writes_the_audit(capsys, files, tmp_path):
    trust = ["--trust", "sklearn.tree._tree.Tree"]
    gates = ["--fail-if", "auc.high > 0.6", "--fail-if", "tpr_at_fpr[0.1].high > 1", "--fail-if", "group_gap.low > 0.9"]
    options = ("--groups", "sex", *trust, *gates, "--out", tmp_path, "--json")
    code, out, _ = audit(capsys, files, *options, model="forest.skops")
    assert code == 1
    assert [one["outcome"] for one in json.loads(out)["gate"]["conditions"]] == ["failed", "passed", "passed"]
    assert ls.load(tmp_path).verdict.kind == "leaks"


def test_a_pickle_is_read_only_when_told_so(capsys, files):
    code, _, err = audit(capsys, files, model="model.pkl")
    assert code == 2
    assert "--trust-pickle" in err
    assert audit(capsys, files, "--trust-pickle", model="model.pkl")[0] == 0


def test_explanations_are_audited_beside_the_prediction(capsys, files, tmp_path):
    options = ("--releases", "probabilities, gradient,smoothgrad:samples=3", "--out", tmp_path / "audit")
    code, _, err = audit(capsys, files, *options, "--fail-if", "extra.low > 0.4", "--on-uncertain", "pass")
    assert (code, err) == (0, "")
    result = ls.load(tmp_path / "audit")
    assert [extra.release for extra in result.extras] == ["gradient", "smoothgrad:samples=3"]
    assert audit(capsys, files, *options[:2], "--fail-if", "extra.high > -1")[0] == 1


@pytest.mark.parametrize(
    ("options", "model", "says"),
    [
        (("--releases", "probabilities,gradient"), "forest.skops", "gradient"),
        (("--releases", "nonsense"), "model.skops", "'nonsense'"),
        (("--releases", ""), "model.skops", "releases"),
        (("--fail-if", "extra > 0"), "model.skops", "--releases"),
        (("--references", "3"), "model.skops", "references"),
    ],
)
def test_explanations_that_cannot_be_released_are_refused_in_one_sentence(capsys, files, options, model, says):
    trust = ("--trust", "sklearn.tree._tree.Tree") if model == "forest.skops" else ()
    code, out, err = audit(capsys, files, *options, *trust, model=model)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


@pytest.mark.parametrize("option", [("--shadows", "2"), ("--shadows=2",)])
def test_an_option_of_the_last_version_works_and_says_what_to_write(capsys, files, option):
    code, out, err = audit(capsys, files, *option, "--json")
    assert (code, err) == (0, "leakscope: write --references: the next version has no --shadows\n")
    assert json.loads(out)["settings"]["references"] == 2


@pytest.mark.parametrize("name", FORMER)
def test_an_option_of_the_last_version_stands_for_one_that_there_is(name):
    options = {option for each in get_command(app).commands[name].params for option in each.opts}
    assert {*FORMER[name].values()} <= options
    assert not {*FORMER[name]} & options


def test_a_refuted_claim_of_privacy_is_exit_code_1(capsys, files):
    trust = ("--trust", "sklearn.tree._tree.Tree")
    code, out, _ = audit(capsys, files, "--epsilon", "0.01", "--random-split", "--json", *trust, model="forest.skops")
    assert (code, json.loads(out)["verdict"]["kind"]) == (1, "claim_refuted")


def test_a_stated_random_split_is_recorded_and_needs_no_control(capsys, files):
    code, out, _ = audit(capsys, files, "--random-split", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["basis"]["random_split"], found["target"]["control_models"]) == (True, None)


def test_a_regression_model_is_audited(capsys, files):
    code, out, _ = audit(capsys, files, "--drop", "income,person", "--json", model="regression.skops", label="hours")
    assert code == 0
    assert json.loads(out)["target"]["task"] == "regression"


BAD = {
    "no model file": ({"model": "none.skops"}, [], "none.skops"),
    "no train file": ({"train": "none.csv"}, [], "none.csv"),
    "a folder for a file": ({"train": "."}, [], "CSV"),
    "a model file that isn't one": ({"model": "train.csv"}, [], "train.csv"),
    "a type to be trusted": ({"model": "forest.skops"}, [], "sklearn.tree._tree.Tree"),
    "no label column": ({"label": "salary"}, [], "'salary'"),
    "no group column": ({}, ["--groups", "race"], "'race'"),
    "no id column": ({}, ["--id", "name"], "'name'"),
    "an unknown condition": ({}, ["--fail-if", "roc > 0.6"], "roc"),
    "a condition that compares with nothing": ({}, ["--fail-if", "auc > nan"], "nan"),
    "no name in --groups": ({}, ["--groups", ","], "','"),
    "no cluster address": ({}, ["--cluster", "here"], "tcp://host:port"),
    "no workers": ({}, ["--workers", "0"], "workers"),
    "a missing id": ({"train": ("no-id.csv", lambda t: t.assign(person=t["person"].mask(t.index > 1, "")))}, ["--id", "person"], "ids"),
    "unknown outputs": ({}, ["--outputs", "odds"], "odds"),
    "an empty id column": ({}, ["--id", ""], "''"),
    "rows longer than the header": ({"train": ("long.csv", lambda t: t)}, [], "long.csv"),
    "an unknown task": ({}, ["--task", "clustering"], "clustering"),
    "a margin of 0.9": ({}, ["--margin", "0.9"], "margin"),
    "a confidence of 2": ({}, ["--confidence", "2"], "confidence"),
    "a place that can't be written to": ({}, ["--out", "/proc/audit"], "/proc"),
    "an attack that is not there": ({}, ["--attacks", "default,boundry"], "boundary"),
    "a cluster that is not there": ({}, ["--cluster", "tcp://127.0.0.1:1"], "tcp://127.0.0.1:1"),
    "columns that differ": ({"holdout": ("lacking.csv", lambda t: t.drop(columns="hours"))}, [], "hours"),
    "missing values": ({"train": ("missing.csv", lambda t: t.assign(age=t["age"].mask(t.index == 250)))}, [], "age"),
    "infinity": ({"holdout": ("infinite.csv", lambda t: t.assign(age=t["age"].mask(t.index == 7, np.inf)))}, [], "age"),
    "no records": ({"holdout": ("empty.csv", lambda t: t[:0])}, [], "empty.csv"),
    "one class": ({"holdout": ("one.csv", lambda t: t.assign(income=">50K"))}, [], "holdout"),
    "a label never seen": ({"holdout": ("unseen.csv", lambda t: t.assign(income=t["income"].mask(t.index == 3, "?")))}, [], "holdout"),
    "too few records": ({"holdout": ("few.csv", lambda t: t.groupby("income").head(3))}, [], "held-out"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input_gets_one_sentence_exit_code_2_and_leaves_nothing(what, capsys, files, tmp_path):
    changes, options, says = BAD[what]
    names = {place: value if isinstance(value, str) else spoiled(files, *value) for place, value in changes.items()}
    code, out, err = audit(capsys, files, "--out", tmp_path / "audit", *options, **names)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert says in err
    assert not (tmp_path / "audit").exists()


@pytest.mark.parametrize(("name", "options"), [("binary.csv", ()), ("semicolons.csv", ("--separator", ","))])
def test_a_table_that_is_no_table_is_bad_input(name, options, capsys, files):
    (files / "binary.csv").write_bytes(bytes(range(256)) * 10)
    pd.read_csv(files / "train.csv").to_csv(files / "semicolons.csv", index=False, sep=";")
    code, _, err = audit(capsys, files, *options, train=name)
    assert code == 2
    assert name in err


def test_ids_groups_and_labels_are_read_as_they_stand(capsys, files, tmp_path):
    """007 stays 007, the group NA is a group, and the class "1" is a text if the model's classes are texts."""
    for name in ("train.csv", "holdout.csv"):
        table = pd.read_csv(files / name)
        table["person"] = [f"{row:05}" for row in range(len(table))]
        table["race"] = np.where(table["sex"] == 1, "NA", "01")
        table["label"] = (table["income"] == ">50K").astype(int)
        table.to_csv(files / f"plain-{name}", index=False)
    train = pd.read_csv(files / "plain-train.csv")
    skops.io.dump(
        LogisticRegression(max_iter=1000).fit(train[FEATURES], train["label"].astype(str)), files / "text.skops"
    )
    options = ["--id", "person", "--groups", "race,race", "--drop", "income", "--out", tmp_path]
    names = {"train": "plain-train.csv", "holdout": "plain-holdout.csv", "label": "label", "model": "text.skops"}
    code, _, err = audit(capsys, files, *options, **names)
    assert code == 0, err
    result = ls.load(tmp_path)
    assert result.records["id"].tolist()[:2] == ["00000", "00001"]
    assert {group.level for group in result.strongest.by_group if group.column == "race"} == {"NA", "01"}


@pytest.mark.parametrize("condition", ["group_gap > 0", "group_gap > 0.9"])
def test_a_gate_on_groups_too_small_to_show_is_uncertain_after_the_audit_is_saved(condition, capsys, files, tmp_path):
    """Classes are groups that are large enough, and do not stand for those that were named."""
    options = ("--groups", "person", "--fail-if", condition, "--out", tmp_path / "a", "--json")
    code, out, _ = audit(capsys, files, *options)
    assert (code, json.loads(out)["gate"]["conditions"][0]["outcome"]) == (1, "uncertain")
    assert {group.column for group in ls.load(tmp_path / "a").strongest.by_group} == {"class"}


def test_a_folder_in_the_way_leaves_an_older_audit_whole(capsys, files, tmp_path):
    assert audit(capsys, files, "--out", tmp_path)[0] == 0
    first = ls.load(tmp_path)
    (tmp_path / "report.html").unlink()
    (tmp_path / "report.html").mkdir()
    assert audit(capsys, files, "--out", tmp_path, "--seed", 9)[0] == 2
    assert ls.load(tmp_path) == first


@pytest.mark.parametrize(
    "words", [["audit"], ["no-such-command"], ["audit", "m", "--seed", "-3"], ["selfcheck", "--sed", "1"]]
)
def test_usage_errors_are_one_sentence_and_exit_with_2(capsys, words):
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1


def test_a_terminal_that_knows_ascii_only_is_served(files):
    command = [sys.executable, "-m", "leakscope", "audit", files / "model.skops", "--label", "income", "--no-retrain"]
    paths = ["--train", files / "train.csv", "--holdout", files / "holdout.csv"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*command, *paths], capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


def test_selfcheck_says_that_all_is_right(capsys):
    assert run(capsys, "selfcheck")[0] == 0
    code, out, _ = run(capsys, "selfcheck", "--json", "--seed", 3)
    assert code == 0
    assert json.loads(out)["passed"] is True


def test_the_demo_runs_and_its_command_gives_the_same_audit(capsys, tmp_path):
    code, out, _ = run(capsys, "demo", "--out", tmp_path / "demo")
    assert code == 0
    first = ls.load(tmp_path / "demo" / "audit")
    assert first.verdict.kind == "leaks"
    command = out.strip().splitlines()[-1].split()
    assert command[0] == "leakscope"
    assert run(capsys, *command[1:])[0] == 0
    assert ls.load(tmp_path / "demo" / "audit").strongest == first.strongest


def test_data_sets_are_listed(capsys):
    code, out, _ = run(capsys, "data", "list", "--json")
    assert code == 0
    assert {"adult", "mnist", "purchase100"} <= {row["name"] for row in json.loads(out)}
    assert run(capsys, "data", "list")[0] == 0
    code, _, err = run(capsys, "data", "fetch", "census")
    assert code == 2
    assert "census" in err


@pytest.mark.parametrize(("error", "expected"), [(ZeroDivisionError, 70), (KeyboardInterrupt, 130)])
def test_a_defect_and_an_interrupt_have_exit_codes_of_their_own(error, expected, capsys, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr("leakscope.selfcheck.run", fail)
    code, _, err = run(capsys, "selfcheck")
    assert (code, "leakscope" in err) == (expected, True)


def test_help_needs_no_heavy_import():
    script = "import sys; sys.argv[1:] = ['--help']\ntry:\n import leakscope.cli.main as c; c.main()\nexcept SystemExit: pass\n"
    script += "print([name for name in ('numpy', 'pandas', 'sklearn', 'scipy', 'torch') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
    assert "audit" in done.stdout
