"""No value of a record leaves through messages, logs, caches, temporary files, shared memory or outputs.

A marked value stands in each column of both sets. Every command runs, with and without a failure, and all that it leaves
behind is searched for the marks. Ids name records in results by design, and in no message.
"""

import json
import logging
import os
import stat
import struct
import tempfile
import time
import traceback
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import leakscope as ls
from leakscope.cli.main import main
from leakscope.core.errors import InputError, TrainingError
from leakscope.data.records import Records
from leakscope.studies import audit as auditing
from leakscope.worlds.training import leave_one_out, retrain

NUMBER = 86753.0914
CITY, REGION, PERSON, LABEL = "Qzmarkcity", "Qzmarkregion", "Qzmarkperson", "Qzmarklabel"
DEBUG = "LEAKSCOPE_DEBUG"  # the environment variable that shows whole messages
ROW = 7  # of the marked record in both files
FEATURES = ["age", "income", "city", "sex"]


def spellings(number):
    """A number as text, and as the bytes that it has in an array."""
    whole = int(number)
    texts = [f"{whole}.", f"{whole:,}", f"{number:.6e}"[:8], f"{number:.1f}"]
    return [text.encode() for text in texts] + [struct.pack("<d", number), struct.pack("<f", number)]


MARKS = [mark.encode() for mark in (CITY, REGION, LABEL)] + spellings(NUMBER)
SECRET = [*MARKS, PERSON.encode()]  # what no message may hold


def found(content, marks=SECRET):
    content = content.encode() if isinstance(content, str) else content
    return [mark for mark in marks if mark in content]


def make_people(seed, count=90):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(45, 12, count).round(1),
            "income": rng.normal(30_000, 9_000, count).round(2),
            "city": rng.choice(["bern", "genf"], count),
            "sex": rng.choice(["f", "m"], count),
            "region": rng.choice(["north", "south"], count),
            "person": [f"p{seed}-{number}" for number in range(count)],
        }
    )
    table["buys"] = np.where(table["age"] + rng.normal(0, 9, count) > 45, "yes", "no")
    marked = {"income": NUMBER, "city": CITY, "region": REGION, "person": f"{PERSON}{seed}"}
    for name, value in marked.items():
        table.loc[ROW, name] = value
    return table


def make_model(unknown="ignore"):
    encode = make_column_transformer(
        (StandardScaler(), ["age", "income"]), (OneHotEncoder(handle_unknown=unknown), ["city", "sex"])
    )
    return make_pipeline(encode, LogisticRegression())


class UnspeakableError(Exception):
    """An error whose message can't be made."""

    def __str__(self):
        raise RuntimeError(CITY)


class Talkative(ClassifierMixin, BaseEstimator):
    """A model that says the record that it fails on, when it predicts or when it is trained again."""

    def __init__(self, fails="predict"):
        self.fails = fails

    def fit(self, X, y):
        if self.fails == "fit":
            raise KeyError(f"{X.to_dict()}\n" * 200)
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        if self.fails == "exit":
            raise SystemExit(CITY)
        if self.fails == "message":
            raise UnspeakableError
        if self.fails == "predict" and (X["city"] == CITY).any():
            raise ValueError(f"can't take {X.loc[X['city'] == CITY].to_dict()}")
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X):
        return self.classes_[np.zeros(len(X), int)]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    train, holdout = make_people(0), make_people(1)
    for name, table in (("train", train), ("holdout", holdout)):
        table.to_csv(folder / f"{name}.csv", index=False)
    skops.io.dump(make_model().fit(train[FEATURES], train["buys"]), folder / "model.skops")
    make_people(2, 400).to_csv(folder / "crowd.csv", index=False)
    strict = make_model("error").fit(train[FEATURES], train["buys"])
    skops.io.dump(strict, folder / "strict.skops")
    numbers = LogisticRegression().fit(train[["age"]], train["buys"])
    skops.io.dump(numbers, folder / "numbers.skops")
    for fails in ("predict", "fit", "exit", "message"):
        model = Talkative().fit(train[FEATURES], train["buys"])
        joblib.dump(model.set_params(fails=fails), folder / f"{fails}.joblib")
    scores = pd.DataFrame({"loss": np.arange(60.0), "member": [1, 0] * 30, "region": "north", "person": range(60)})
    scores = scores.astype({"person": str, "loss": object})
    scores.loc[ROW, ["region", "person"]] = [REGION, PERSON]
    scores.to_csv(folder / "scores.csv", index=False)
    scores.assign(loss=scores["loss"].where(scores.index != ROW, CITY)).to_csv(folder / "text-scores.csv", index=False)
    scores.assign(person=PERSON).to_csv(folder / "twice-scores.csv", index=False)
    scores.assign(member=CITY).to_csv(folder / "odd-scores.csv", index=False)
    return folder


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Folders for output, cache and temporary files; the latter is emptied of nothing before it is searched."""
    for name in ("out", "cache", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv(DEBUG, raising=False)
    return tmp_path


@pytest.fixture
def run(places, capfd, caplog):
    """Run a command and search what it says and leaves behind; give its exit code and what it says."""
    caplog.set_level(logging.DEBUG)

    def run(*arguments):
        capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        code = stopped.value.code or 0
        assert not found(err), err[-2000:]
        assert not found(out, MARKS if code in (0, 1) else SECRET)
        assert not found(caplog.text)
        assert not found("".join(traceback.format_exception(stopped.value)))
        for path in files(places):
            assert not found(path.read_bytes(), MARKS), path
        assert_no_shared_memory()
        return code, out + err

    return run


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def assert_no_shared_memory():
    """What joblib shared with the workers of this process is gone, as soon as its resource tracker has removed it."""
    deadline = time.monotonic() + 10
    while left := [path for path in Path("/dev/shm").glob(f"joblib*_{os.getpid()}_*/*") if path.is_file()]:
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def sets(people, model="model.skops", train="train.csv", holdout="holdout.csv"):
    return (people / model, "--train", people / train, "--holdout", people / holdout, "--label", "buys")


# --- commands that succeed --------------------------------------------------------------------------------------------


def test_audit_report_diff_and_gate(people, places, run):
    options = ("--id", "person", "--groups", "region,sex", "--cache", places / "cache", "--references", 2)
    for seed in (0, 1):
        out = places / "out" / f"{seed}"
        code, said = run("audit", *sets(people), *options, "--out", out, "--seed", seed)
        assert code == 0, said
        assert stat.S_IMODE((out / "records.csv").stat().st_mode) == 0o600
    assert list((places / "cache").iterdir())
    first, second = places / "out" / "0", places / "out" / "1"
    for form in ("html", "md", "json"):
        assert run("report", first, "--format", form, "--out", places / f"report.{form}")[0] == 0
    assert run("diff", first, second)[0] == 0
    assert run("gate", first, "--fail-if", "auc.high > 0.0", "--junit", places / "gate.xml")[0] == 1
    document = json.loads((first / "result.json").read_text())
    document["risks"] = PERSON
    (first / "result.json").write_text(json.dumps(document))
    assert run("gate", first, "--fail-if", "auc.high > 0.9")[0] == 2


COMMANDS = {  # options beside --out; {} stands for the folder of the files
    "compare": "model.skops --train {}/train.csv --holdout {}/holdout.csv --label buys --references 2 --groups region --id person"
    " --defenses l2:1,more-data,pate:3,causal-features,round:1,label-only --more {}/holdout.csv --public {}/holdout.csv"
    " --causes age --environments sex --cache cache",
    "frontier": "model.skops --train {}/train.csv --holdout {}/holdout.csv --label buys --id person --cache cache"
    " --releases gradient,integrated_gradients",
    "attributes": "model.skops --train {}/train.csv --holdout {}/holdout.csv --label buys --sensitive sex --id person",
    "causal": "crowd.csv --label buys --model logistic --draws 1 --no-noise --drop person,region,income --causes age,sex",
    "leakage": "train.csv --label buys --id person --sizes 40 --records 4 --draws 60 --models 8 --cache cache --drop region",
    "reconstruct": "train.csv --label buys --id person --size 60 --queries 40 --runs 1 --groups region",
    "scores": "scores.csv --score loss --groups region --id person",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_other_commands(people, places, run, command, monkeypatch):
    monkeypatch.chdir(places)
    file, *options = COMMANDS[command].format(*[people] * 4).split()
    code, said = run(command, people / file, *options, "--out", places / "out")
    assert code == 0, said
    if command in ("leakage", "reconstruct", "scores"):
        assert stat.S_IMODE((places / "out" / "records.csv").stat().st_mode) == 0o600


# --- commands that fail -----------------------------------------------------------------------------------------------


def spoil(people, name, **columns):
    """The training set with other values in the marked row."""
    table = pd.read_csv(people / "train.csv").astype(object)
    for column, value in columns.items():
        table.loc[ROW, column] = value
    table.to_csv(people / name, index=False)
    return name


FAILING = {  # model, what is spoiled in the training set, options, exit code, what is said
    "unconvertible text": ("model.skops", {"income": CITY}, (), 2, f"in column 'income', row {ROW} (counted from 0)"),
    "unknown category": ("strict.skops", {"city": "Qzmarkcity2"}, (), 2, f"in column 'city', row {ROW} (counted from 0)"),
    "rare category in a control": ("strict.skops", {}, (), 2, 'handle_unknown="ignore"'),
    "unseen label": ("model.skops", {"buys": LABEL}, (), 2, f"in 1 of 90 records, the first in row {ROW} "),
    "missing value": ("model.skops", {"age": None}, (), 2, "in columns 'age'"),
    "model that says the record": ("predict.joblib", {}, ("--trust-pickle",), 2, f"in column 'city', row {ROW} "),
    "model that can't be trained": ("fit.joblib", {}, ("--trust-pickle",), 2, "KeyError (test_no_values.py, line"),
    "model that ends the program": ("exit.joblib", {}, ("--trust-pickle",), 2, "SystemExit"),
    "error without a message": ("message.joblib", {}, ("--trust-pickle",), 2, "UnspeakableError (test_no_values.py, line"),
    "in worker processes": ("fit.joblib", {}, ("--trust-pickle", "--workers", 2), 2, "KeyError (test_no_values.py, line"),
}  # fmt: skip


@pytest.mark.parametrize("what", FAILING)
def test_failing_audits(people, places, run, what):
    model, spoiled, options, code, words = FAILING[what]
    train = spoil(people, f"{what}.csv", **spoiled) if spoiled else "train.csv"
    out = ("--out", places / "out" / "audit", "--cache", places / "cache", "--id", "person")
    found_code, said = run("audit", *sets(people, model, train), *options, *out)
    assert found_code == code
    assert words in said
    assert len(said) < 1000
    if "--workers" not in options:
        defenses = ("--defenses", "l2:1,round:1", "--references", 2)
        assert run("compare", *sets(people, model, train), *options, *defenses)[0] == 2


def test_a_file_of_texts_without_a_header(people, run):
    table = pd.read_csv(people / "train.csv").iloc[ROW:][["person", "city", "sex"]]
    table.to_csv(people / "texts.csv", index=False, header=False)
    assert run("audit", *sets(people, train="texts.csv"))[0] == 2


def test_repeated_ids(people, run):
    train = spoil(people, "twice.csv")
    table = pd.read_csv(people / train).assign(person=lambda rows: rows["person"].mask(rows.index == 2, f"{PERSON}0"))
    table.to_csv(people / train, index=False)
    code, said = run("audit", *sets(people, train=train), "--id", "person")
    assert code == 2
    assert f"1 of 90 records repeat an id, the first in rows 2 and {ROW} " in said


def test_a_file_without_a_header(people, run):
    pd.read_csv(people / "train.csv").iloc[ROW:].to_csv(people / "bare.csv", index=False, header=False)
    assert run("audit", *sets(people, train="bare.csv"))[0] == 2
    pd.read_csv(people / "train.csv").iloc[ROW:].to_csv(people / "bars.csv", index=False, header=False, sep="|")
    assert run("audit", *sets(people, train="bars.csv"))[0] == 2


def test_other_commands_that_fail(people, run):
    quick = ("--label", "buys", "--model", "logistic", "--draws", 1, "--no-noise", "--drop", "person")
    label = spoil(people, "label.csv", buys=LABEL)
    table = people / label
    for arguments in (
        ("attributes", *sets(people), "--sensitive", "city"),
        ("attributes", *sets(people), "--sensitive", "region"),
        ("attributes", *sets(people, train=label), "--sensitive", "sex"),
        ("attributes", *sets(people, "predict.joblib"), "--sensitive", "sex", "--trust-pickle"),
        ("causal", people / "train.csv", *quick, "--environments", "region"),
        ("causal", people / "train.csv", *quick, "--environments", "city"),
        ("causal", people / "train.csv", *quick, "--graph", "sachs"),
        ("leakage", table, "--label", "buys", "--learner", "logistic", "--drop", "person", "--sizes", 30),
        ("leakage", people / "train.csv", "--label", "city", "--learner", "ridge", "--sizes", 30),
        ("reconstruct", table, "--label", "buys", "--drop", "person"),
        ("reconstruct", people / "train.csv", "--label", "buys", "--holdout", table, "--drop", "person"),
        ("frontier", *sets(people, "predict.joblib"), "--trust-pickle"),
        ("scores", people / "text-scores.csv", "--score", "loss"),
        ("scores", people / "twice-scores.csv", "--score", "loss", "--id", "person"),
        ("scores", people / "odd-scores.csv", "--score", "loss"),
        ("audit", people / "train.csv", *sets(people)[1:]),
    ):
        code, said = run(*arguments)
        assert code == 2, (arguments, said)


def test_a_defect_shows_where_it_is_and_not_what_it_holds(people, run, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError(f"{CITY} {NUMBER}")

    monkeypatch.setattr(auditing, "observe_version", broken)
    code, said = run("audit", *sets(people))
    assert code == 70
    assert "RuntimeError" in said
    assert ", in broken\n" in said


# --- from Python ------------------------------------------------------------------------------------------------------


def frames(name="buys"):
    return [(table[FEATURES], table[name]) for table in (make_people(0), make_people(1))]


def whole(error):
    return "".join(traceback.format_exception(error.type, error.value, error.tb))


@pytest.mark.usefixtures("places")
def test_a_function_that_raises_with_its_records():
    def fit(X, y, rng):  # noqa: ARG001
        raise ValueError(f"{X.to_dict()} {CITY}")

    train, holdout = frames()
    model = make_model().fit(*train)
    for workers in (1, 2):
        with pytest.raises(InputError, match=r"fit= .* ValueError \(test_no") as error:
            ls.audit(model, train, holdout, fit=fit, workers=workers, references=0)
        assert not found(whole(error))


@pytest.mark.usefixtures("places")
def test_a_message_of_five_megabytes_is_not_shown():
    """What a user's function says went into our message at any length."""

    def fit(X, y, rng):  # noqa: ARG001
        raise ValueError("x" * 5_000_000)

    train, holdout = frames()
    with pytest.raises(InputError) as error:
        ls.audit(make_model().fit(*train), train, holdout, fit=fit, workers=1)
    assert len(str(error.value)) < 1000


class Failing:
    """A learner for `retrain` that is not one of ours; its records are large enough to be shared through files."""

    def fit(self, X, y, rng):  # noqa: ARG002
        raise RuntimeError(f"{CITY} {X[0, 0]}")


@pytest.mark.parametrize("workers", [1, 2])
def test_training_that_fails_leaves_frames_without_values_and_no_shared_memory(places, workers):
    X = np.full((400, 400), NUMBER)
    with pytest.raises(TrainingError, match=r"[01]: RuntimeError \(test_no_values.py") as error:
        retrain(Failing(), X, np.arange(400), leave_one_out(400), lambda *_: {}, seed=0, workers=workers)
    assert not found(whole(error))
    assert any(", in fit" in note for note in error.value.__notes__)
    assert not [path for path in files(places) if found(path.read_bytes())]
    assert_no_shared_memory()


def test_nothing_is_left_in_shared_memory_after_training(places):
    X = np.full((400, 400), NUMBER)
    found_means = retrain(Mean(), X, np.arange(400), leave_one_out(400), one_number, seed=0, workers=2)
    assert len(found_means) == 400
    assert not [path for path in files(places) if found(path.read_bytes())]
    assert_no_shared_memory()


class Mean:
    def fit(self, X, y, rng):  # noqa: ARG002
        return float(y.mean())


def one_number(model, number, indices):  # noqa: ARG001
    return {"mean": model}


@pytest.mark.usefixtures("places")
def test_debugging_shows_whole_messages(monkeypatch):
    monkeypatch.setenv(DEBUG, "1")
    train, holdout = frames()
    with pytest.raises(InputError, match=CITY) as error:
        ls.audit(Talkative().fit(*train), train, holdout)
    assert isinstance(error.value.__cause__, ValueError)


def test_records_do_not_show_themselves():
    X, y = frames()[0]
    assert not found(repr(Records(X, y.to_numpy(), np.arange(len(y)))))
    assert not found(repr(ls.defenses.MoreData((X, y))))
