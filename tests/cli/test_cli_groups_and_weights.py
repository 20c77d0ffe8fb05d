"""The options --bins and --weights give what the same call in Python gives, or one sentence."""

import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

import leakscope as ls
from leakscope.cli.main import main
from leakscope.cli.options import read_bins
from leakscope.core.errors import InputError

FEATURES = ["age", "pay"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"age": rng.integers(18, 90, 400), "pay": rng.normal(size=400), "weight": rng.random(400) + 0.5}
    )
    table["ill"] = (table["pay"] + rng.normal(size=400) > 0).astype(int)
    train, holdout = table[:200].reset_index(drop=True), table[200:].reset_index(drop=True)
    model = LogisticRegression().fit(train[FEATURES], train["ill"], train["weight"])
    monkeypatch.chdir(tmp_path)
    skops.io.dump(model, "model.skops")
    train.to_csv("train.csv", index=False)
    holdout.to_csv("holdout.csv", index=False)
    return model, train, holdout


def run(capsys, *options):
    with pytest.raises(SystemExit) as end:
        main(["audit", "model.skops", "--train", "train.csv", "--holdout", "holdout.csv", "--label", "ill", *options])
    return end.value.code, capsys.readouterr()


def test_weights_and_bins_are_those_of_python(files, capsys):
    model, train, holdout = files
    options = ["--weights", "weight", "--groups", "age", "--bins", "age=40,60", "--references", "2", "--json"]
    code, said = run(capsys, *options)
    found = json.loads(said.out)
    sets = ((side[[*FEATURES, "weight"]], side["ill"]) for side in (train, holdout))
    python = ls.audit(
        model, *sets, sample_weight="weight", groups="age", bins={"age": [40, 60]}, references=2
    ).as_dict()
    assert code == 0
    assert found["settings"]["sample weights"] is True
    assert found["settings"] == python["settings"]
    assert found["claims"] == python["claims"]
    assert "40 to 60" in said.out


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--weights", "wieght"], "wieght"),
        (["--groups", "age", "--bins", "40,60"], "--bins takes a column and ends"),
        (["--groups", "age", "--bins", "age=old"], "--bins age="),
        (["--groups", "age", "--bins", "pay=1,2"], "'pay'"),
        (["--weights", "ill"], "ill"),
    ],
)
@pytest.mark.usefixtures("files")
def test_wrong_options_end_in_one_sentence(capsys, options, named):
    code, said = run(capsys, *options)
    assert code == 2
    assert named in said.err
    assert len(said.err.strip().splitlines()) == 1


def test_bins_are_read_from_repeats_and_semicolons():
    assert read_bins(["age=18,30", "pay=1.5; ward="]) == {"age": [18.0, 30.0], "pay": [1.5], "ward": None}
    assert read_bins(None) is None
    with pytest.raises(InputError):
        read_bins(["=3"])
