"""`leakscope causal` as a new user meets it."""

import json

import numpy as np
import pandas as pd
import pytest

from leakscope import causal
from leakscope.cli import main

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
    (place / "wrong.bif").write_text(BIF.replace("0.9, 0.1; (some)", "0.9, 0.2; (some)"))
    pd.DataFrame({"a": [1.0, 2.0]}).to_csv(place / "short.csv", index=False)
    return place


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code or 0


def quick(*more):
    return ("causal", *more, "--label", "flood", "--model", "logistic", "--draws", 1, "--no-noise")


def test_it_is_printed_and_written(folder, tmp_path, capsys):
    assert run(*quick(folder / "people.csv"), "--graph", folder / "garden.bif", "--out", tmp_path / "out") == 0
    shown = capsys.readouterr().out
    assert "Does a model on the causes of flood give away less? Causes: rain" in shown
    assert "table of the causes" in shown
    assert "files:" in shown
    names = ["causal.csv", "causal.json", "causal.svg", "study.json"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    assert max(len(line) for line in shown.splitlines() if not line.startswith("files:")) <= 120


def test_json_and_nothing_else(folder, capsys):
    assert run(*quick(folder / "people.csv"), "--parents", "rain", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["causes"] == ["rain"]
    assert found["run"]["trained_on"] == 150


def test_samples_of_a_named_graph(capsys):
    assert run("causal", "--label", "Akt", "--graph", "sachs", "--rows", 150, "--model", "logistic", "--draws", 1,
               "--no-noise") == 0  # fmt: skip
    assert "Causes: Erk, PKA" in capsys.readouterr().out


REFUSED = {
    "no label": (["causal", "--graph", "sachs"], "--label names the column"),
    "no source": (["causal", "{}/people.csv", "--label", "flood"], "one of graph, parents and environments"),
    "no file": (["causal", "{}/nobody.csv", "--label", "flood", "--graph", "{}/garden.bif"], "there is no file"),
    "no graph": (["causal", "{}/people.csv", "--label", "flood", "--graph", "{}/no.bif"], "there is no file"),
    "cycle": (["causal", "{}/people.csv", "--label", "flood", "--graph", "{}/cyclic.bif"], "the graph has a cycle"),
    "bad table": (["causal", "{}/people.csv", "--label", "flood", "--graph", "{}/wrong.bif"], "sums to 1.1, not 1"),
    "not a graph": (["causal", "{}/people.csv", "--label", "flood", "--graph", "{}/people.csv"], "is it BIF?"),
    "extra column": (["causal", "{}/named.csv", "--label", "flood", "--graph", "{}/garden.bif"], "columns that the graph doesn't know: 'person'"),
    "no parents": (["causal", "{}/people.csv", "--label", "rain", "--graph", "{}/garden.bif"], "rain has no parents in the graph"),
    "no label column": (["causal", "{}/people.csv", "--label", "snow", "--graph", "{}/garden.bif"], "no label column 'snow'"),
    "short": (["causal", "{}/short.csv", "--label", "a", "--parents", "b"], "a"),
    "label dropped": (["causal", "{}/people.csv", "--label", "flood", "--parents", "rain", "--drop", "flood"], "can't be dropped"),
    "bad shift": (["causal", "--label", "Akt", "--graph", "sachs", "--shift", "up"], "shift is random"),
    "out is a file": (["causal", "--label", "Akt", "--graph", "sachs", "--out", "{}/people.csv"], "people.csv"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_ends_in_one_sentence(case, folder, capsys):
    arguments, words = REFUSED[case]
    assert run(*(argument.format(folder) for argument in arguments)) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_dropped_column_and_the_level_none(folder, capsys):
    assert run(*quick(folder / "named.csv"), "--drop", "person", "--graph", folder / "garden.bif") == 0
    assert "Causes: rain" in capsys.readouterr().out
