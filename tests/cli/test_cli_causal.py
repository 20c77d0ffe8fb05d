"""`leakscope causal` as a new user meets it."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import check_refused, run

import leakscope as ls
from leakscope import causal
from leakscope.studies.causal.scenarios import from_graph

BIF = """network garden { }
variable rain { type discrete [ 3 ] { None, some, much }; }
variable flood { type discrete [ 2 ] { no, yes }; }
variable boots { type discrete [ 2 ] { no, yes }; }
probability ( rain ) { table 0.5, 0.3, 0.2; }
probability ( flood | rain ) { (None) 0.9, 0.1; (some) 0.5, 0.5; (much) 0.1, 0.9; }
probability ( boots | flood ) { (no) 0.9, 0.1; (yes) 0.1, 0.9; }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("garden")
    (place / "garden.bif").write_text(BIF)
    network = causal.parse_bif(BIF)
    data = causal.to_frame(network, causal.draw(network, 450)).astype("str")
    data.to_csv(place / "people.csv", index=False)
    data.assign(person=np.arange(450)).to_csv(place / "named.csv", index=False)
    cyclic = BIF.replace(
        "( rain ) { table 0.5, 0.3, 0.2; }", "( rain | boots ) { (no) 0.5, 0.3, 0.2; (yes) 0.5, 0.3, 0.2; }"
    )
    (place / "cyclic.bif").write_text(cyclic)
    pd.DataFrame({"a": [1.0, 2.0]}).to_csv(place / "short.csv", index=False)
    return place


def quick(*more):
    return ("causal", *more, "--label", "flood", "--model", "logistic", "--draws", 1, "--no-noise")


def test_it_is_printed_and_written(folder, tmp_path, capsys):
    assert run(*quick(folder / "people.csv"), "--graph", folder / "garden.bif", "--out", tmp_path / "out") == 0
    shown = capsys.readouterr().out
    assert "rain" in shown
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "result.json", "table.csv"]
    found = ls.load(tmp_path / "out")
    assert found.causes == ("rain",)
    assert found.command.startswith("leakscope causal")


def test_json_and_nothing_else(folder, tmp_path, capsys):
    where = ("--workers", 2, "--cache", tmp_path / "cache")
    assert run(*quick(folder / "people.csv"), "--causes", "rain", "--json", *where) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(list((tmp_path / "cache").glob("*.npz"))) == 3
    assert found["causes"] == ["rain"]
    assert found["settings"]["trained_on"] == 150


REFUSED = {
    "no label": (["causal", "--graph", "sachs"], "--label"),
    "no file": (["causal", "{}/nobody.csv", "--label", "flood", "--graph", "{}/garden.bif"], "nobody.csv"),
    "no graph": (["causal", "{}/people.csv", "--label", "flood", "--graph", "{}/no.bif"], "no.bif"),
    "cycle": (["causal", "{}/people.csv", "--label", "flood", "--graph", "{}/cyclic.bif"], "'rain'"),
    "no label column": (["causal", "{}/people.csv", "--label", "snow", "--graph", "{}/garden.bif"], "'snow'"),
    "short": (["causal", "{}/short.csv", "--label", "a", "--causes", "b"], "'a'"),
    "label dropped": (["causal", "{}/people.csv", "--label", "flood", "--causes", "rain", "--drop", "flood"], "'flood'"),
    "label of a graph dropped": (["causal", "--label", "Akt", "--graph", "sachs", "--drop", "Akt"], "'Akt'"),
    "cause dropped": (["causal", "--label", "Akt", "--graph", "sachs", "--drop", "PKA"], "'PKA'"),
    "cause dropped from a file": (["causal", "{}/people.csv", "--label", "flood", "--graph", "{}/garden.bif", "--drop", "rain"], "'rain'"),
    "unknown variable dropped": (["causal", "--label", "Akt", "--graph", "sachs", "--drop", "CO"], "'CO'"),
    "unknown column dropped": (["causal", "{}/people.csv", "--label", "flood", "--graph", "{}/garden.bif", "--drop", "snow"], "'snow'"),
    "nothing dropped": (["causal", "--label", "Akt", "--graph", "sachs", "--drop", ","], "','"),
    "rows with data": (["causal", "{}/people.csv", "--label", "flood", "--graph", "{}/garden.bif", "--rows", "200"], "rows"),
    "task of a graph": (["causal", "--label", "Akt", "--graph", "sachs", "--task", "regression"], "task"),
    "dropped and sensitive": (["causal", "--label", "Akt", "--graph", "sachs", "--drop", "Raf", "--sensitive", "Raf"], "'Raf'"),
    "bad shift": (["causal", "--label", "Akt", "--graph", "sachs", "--shift", "up"], "'up'"),
    "out is a file": (["causal", "--label", "Akt", "--graph", "sachs", "--out", "{}/people.csv"], "people.csv"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_ends_in_one_sentence(case, folder, capsys):
    arguments, name = REFUSED[case]
    check_refused(capsys, name, *(argument.format(folder) for argument in arguments))


@pytest.mark.parametrize(
    ("label", "graph", "options", "causes", "columns"),
    [
        ("Akt", "sachs", [], ["Erk", "PKA"], 10),
        ("Akt", "sachs", ["--drop", "Raf, Jnk"], ["Erk", "PKA"], 8),
        ("HR", "alarm", ["--drop", "CO"], ["CATECHOL"], 35),
    ],
)
def test_variables_of_a_named_graph_are_dropped(label, graph, options, causes, columns, capsys):
    assert run("causal", "--label", label, "--graph", graph, "--rows", 150, "--model", "logistic", "--draws", 1,
               "--no-noise", "--json", *options) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    dropped = [name.strip() for name in options[-1].split(",")] if options else []
    everything = next(model for model in found["models"] if model["name"] == "logistic on all columns")
    assert found["causes"] == causes
    assert found["settings"]["columns"] == len(everything["columns"]) == columns
    assert found["settings"]["dropped"] == dropped
    assert not set(dropped) & set(everything["columns"])


def test_a_variable_is_dropped_from_a_file_as_from_samples(folder, capsys):
    arguments = (*quick(folder / "named.csv"), "--graph", folder / "garden.bif", "--json")
    assert run(*arguments, "--drop", "person") == 0
    every = json.loads(capsys.readouterr().out)
    assert run(*arguments, "--drop", "person,boots") == 0
    found = json.loads(capsys.readouterr().out)
    assert (every["settings"]["columns"], found["settings"]["columns"]) == (2, 1)
    assert found["causes"] == every["causes"] == ["rain"]


def test_dropping_changes_no_record_that_is_left():
    seeds = [np.random.SeedSequence(0) for _ in range(2)]
    sachs = causal.load_network("sachs")
    whole, part = (
        from_graph(sachs, "Akt", 150, shift=("random", 1), seeds=seed, drop=drop)
        for seed, drop in zip(seeds, ((), ("Raf",)), strict=True)
    )
    kept = [column for column, name in enumerate(whole.names) if name != "Raf"]
    assert part.names == tuple(whole.names[column] for column in kept)
    for before, after in zip(whole.scenarios[0].samples, part.scenarios[0].samples, strict=True):
        assert np.array_equal(before.X[:, kept], after.X)
        assert np.array_equal(before.y, after.y)
