"""Every command that reads tables: the same result from CSV of any kind, Parquet, Feather and folders of parts."""

import json

import commands
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from typer.main import get_command

from leakscope.cli.main import app

#: What a run of a command states beside its numbers.
ABOUT_THE_RUN = {"command", "created", "seconds"}
SETS = "model.skops --train {train} --holdout {holdout} --label buys --id person"
COMMANDS = {  # {name} stands for a file of that name
    "audit": f"{SETS} --groups region --no-retrain",
    "compare": f"{SETS} --defenses more-data,round:1 --more {{holdout}} --references 0 --random-split",
    "frontier": f"{SETS} --references 0 --releases gradient,gradient:top=1 --records 20 --random-split",
    "attributes": f"{SETS} --sensitive sex",
    "causal": "{train} --label buys --model logistic --draws 1 --no-noise --drop person,region --causes age,sex",
    "leakage": "{train} --label buys --id person --sizes 40 --records 4 --draws 60 --models 8 --drop region",
    "reconstruct": "{train} --holdout {holdout} --label buys --id person --size 60 --queries 40 --runs 1 --groups region",
    "scores": "{scores} --score loss --member trained --groups region --id person",
}
TEXT = {"semicolons": (";", ",", ".csv"), "tabs": ("\t", ",", ".tsv.gz"), "bars": ("|", ".", ".txt.xz")}


def options_of(command):
    return {option: each for each in get_command(app).commands[command].params for option in each.opts}


def people(seed, count=400):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(45, 12, count).round(1),
            "sex": rng.choice(["f", "m"], count),
            "region": rng.choice(["north", "NA"], count),
            "person": [f"{row:04}" for row in range(count)],
        }
    )
    return table.assign(buys=np.where(table["age"] + rng.normal(0, 9, count) > 45, "yes", "no"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    found = {"train": people(0), "holdout": people(1)}
    scores = people(2)
    found["scores"] = scores.assign(loss=scores["age"] / 7, trained=np.arange(len(scores)) % 2)
    for name, table in found.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        for kind, (separator, decimal, suffix) in TEXT.items():
            table.to_csv(folder / f"{name}-{kind}{suffix}", index=False, sep=separator, decimal=decimal)
    encode = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["sex"]))
    model = make_pipeline(encode, LogisticRegression()).fit(found["train"][["age", "sex"]], found["train"]["buys"])
    skops.io.dump(model, folder / "model.skops")
    return folder, found


@pytest.fixture
def result(tables, monkeypatch, capsys):
    folder, _ = tables
    monkeypatch.chdir(folder)

    def run(command, ending, *options):
        words = COMMANDS[command].format(**{name: f"{name}{ending}" for name in ("train", "holdout", "scores")})
        code, out, err = commands.shown(capsys, command, *words.split(), *options, "--json")
        assert code == 0, err
        document = json.loads(out)
        return {key: value for key, value in document.items() if key not in ABOUT_THE_RUN}

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_text_of_other_marks_gives_the_same_result(command, result):
    expected = result(command, ".csv")
    kinds = TEXT if command in ("audit", "scores") else ("semicolons",)
    for kind in kinds:
        assert result(command, f"-{kind}{TEXT[kind][2]}") == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_parquet_gives_the_same_result(command, result, tables):
    pytest.importorskip("pyarrow")
    folder, found = tables
    expected = result(command, ".csv")
    for name, table in found.items():
        table.to_parquet(folder / f"{name}.parquet")
        table.to_feather(folder / f"{name}.feather")
        (folder / f"{name}-parts").mkdir(exist_ok=True)
        for part in range(4):
            table.iloc[100 * part : 100 * part + 100].to_parquet(folder / f"{name}-parts" / f"{part}.parquet")
    for ending in (".parquet", ".feather", "-parts") if command in ("audit", "scores") else (".parquet",):
        assert result(command, ending) == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_reads_tables_has_the_options(command, result):
    options = options_of(command)
    for name in ("--separator", "--decimal"):
        assert (options[name].rich_help_panel, options[name].default) == ("Input", None)
    if command == "scores":
        assert result(command, "-tabs.tsv.gz", "--separator", "tab", "--decimal", ",") == result(command, ".csv")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--separator", ";;"), "--separator"),
        (("--decimal", "x"), "--decimal"),
        (("--separator", ",", "--decimal", ","), "--separator and --decimal"),
    ],
)
def test_marks_that_cannot_be_are_refused_by_every_command(command, options, named, tables, capsys, monkeypatch):
    monkeypatch.chdir(tables[0])
    words = COMMANDS[command].format(train="train.csv", holdout="holdout.csv", scores="scores.csv").split()
    commands.check_refused(capsys, named, command, *words, *options)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (command, option)
        for command in COMMANDS
        for option in ("--label", "--groups", "--id", "--drop")
        if option in options_of(command)
    ],
)
def test_a_misspelt_column_gets_the_nearest_name(command, option, tables, capsys, monkeypatch):
    monkeypatch.chdir(tables[0])
    words = COMMANDS[command].format(train="train.csv", holdout="holdout.csv", scores="scores.csv").split()
    commands.check_refused(capsys, "region\n", command, *words, option, "Regions")
