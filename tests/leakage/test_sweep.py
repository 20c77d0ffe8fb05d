"""Sweeps: every setting measured or refused with a reason, goals read off the curve, files that are whole and safe."""

import json
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from leakscope.core.estimate import Estimate
from leakscope.errors import InputError
from leakscope.leakage import Sweep, sweep
from leakscope.leakage.sweeping import _crossing
from leakscope.learners import Ridge

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
Y = X[:, 0] + RNG.normal(size=400)
SMALL = {"records": 8, "draws": 100, "models": 10}


@pytest.fixture(scope="module")
def found() -> Sweep:
    ids = [f"=cmd|'{row}" for row in range(400)]
    table = pd.DataFrame(X, columns=["<script>", "secret"], index=ids)
    return sweep(Ridge(), table, Y, sizes=(2, 20, 80), l2=(0.0, 1.0), noise=(0.0, 0.5), **SMALL)


def test_every_setting_is_measured_or_refused(found):
    settings = {(point.size, point.l2, point.noise) for point in found.points}
    refused = {(item.size, item.l2, item.noise) for item in found.not_measured}
    assert len(settings) + len(refused) == 12
    assert refused == {(2, 0.0, 0.0), (2, 0.0, 0.5)}
    assert all("l2" in item.reason for item in found.not_measured)
    assert all(point.experiment is not None for point in found.points)
    table = found.table()
    assert len(table) == 12
    assert table["not_measured"].notna().sum() == 2


def test_each_point_is_what_the_measure_says_of_that_setting(found):
    from leakscope.leakage import membership_leakage

    point = next(point for point in found.points if (point.size, point.l2, point.noise) == (20, 1.0, 0.5))
    alone = membership_leakage(Ridge(1.0), X, Y, size=20, records=8, draws=100, noise=0.5)
    assert point.leakage.rho_kl == alone.rho_kl
    assert point.leakage.settings["l2"] == 1.0


def test_files_are_whole_and_hold_no_features(found, tmp_path):
    found.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "leakage.json", "leakage.csv", "records.csv", "leakage.svg", "study.json",
    }  # fmt: skip
    document = json.loads((tmp_path / "leakage.json").read_text(), parse_constant=pytest.fail)
    assert len(document["points"]) == 10
    assert document["points"][0]["leakage"]["rho_kl"]["unit"] == "nats"
    assert set(document["points"][0]["experiment"]) >= {"advantage", "adversary"}
    records = pd.read_csv(tmp_path / "records.csv")
    assert len(records) == 10 * 8
    assert records["id"].str.startswith("'=").all()
    everything = "".join(path.read_text() for path in tmp_path.iterdir())
    assert "secret" not in everything
    assert "<script>" not in everything
    ElementTree.fromstring((tmp_path / "leakage.svg").read_text())


def test_text_names_what_was_not_measured(found):
    text = str(found)
    assert "not measured: size 2, l2 0" in text
    assert max(map(len, text.splitlines())) <= 140
    assert "threshold attack" in text


def test_goal_is_read_off_the_curve():
    curve = [(10, Estimate(1.0, 0.9, 1.1)), (100, Estimate(0.1, 0.05, 0.3)), (1000, Estimate(0.01, 0.0, 0.02))]
    assert _crossing(curve, 0.2) == (1000, pytest.approx(10 ** (1 + math.log10(5))))
    assert _crossing(curve, 0.001) == (None, None)
    assert _crossing(curve, 2.0) == (10, None)


def test_goal_in_words(found):
    goals = found.below(1e6)
    assert [(goal.fixed["l2"], goal.fixed["noise"]) for goal in goals] == [
        (0.0, 0.0),
        (0.0, 0.5),
        (1.0, 0.0),
        (1.0, 0.5),
    ]
    assert goals[0].sentence() == "below 1e+06 bits at l2 0: from size 20 on"
    assert "not with the sizes measured" in found.below(1e-12)[0].sentence()
    quieter = found.below(1e6, along="noise")
    assert {goal.value for goal in quieter} == {0.0}
    assert any("at size 20, l2 0: from noise 0 on" in goal.sentence() for goal in quieter)
    assert {goal.fixed["size"] for goal in found.below(0.1, along="l2")} == {2, 20, 80}
    for bits in (0, -1, math.nan, "x"):
        with pytest.raises(InputError, match="bits"):
            found.below(bits)
    with pytest.raises(InputError, match="rho_mi"):
        found.below(1, measure="kl")
    with pytest.raises(InputError, match="along"):
        found.below(1, along="draws")


def test_what_cannot_be_swept_is_refused():
    with pytest.raises(InputError, match="no l2 of its own"):
        sweep(LinearRegression(), X, Y, l2=(0.1, 1.0), **SMALL)
    with pytest.raises(InputError, match="sizes is empty"):
        sweep("ridge", X, Y, sizes=(), **SMALL)
    with pytest.raises(InputError, match="l2"):
        sweep("ridge", X, Y, sizes=(2,), **SMALL)  # nothing measured: the reason is the error


def test_one_value_stands_for_a_list_and_repeats_count_once():
    one = sweep("ridge", X, Y, sizes=30, l2=0.5, noise=0.0, records=4, draws=60, models=0)
    assert [(point.size, point.l2) for point in one.points] == [(30, 0.5)]
    assert one.points[0].experiment is None
    assert len(sweep("ridge", X, Y, sizes=(30, 30), records=4, draws=60, models=0).points) == 1


def test_progress_counts_settings():
    calls = []
    sweep(
        "ridge", X, Y, sizes=(20, 30), records=4, draws=60, models=0,
        progress=lambda *call: calls.append(call),
    )  # fmt: skip
    assert [call for call in calls if call[0] == "settings"] == [("settings", 1, 2), ("settings", 2, 2)]
    assert {call[0] for call in calls} == {"settings", "measuring"}


def test_an_attack_beyond_the_bound_is_said(monkeypatch):
    from leakscope import experiment

    sure = experiment.Experiment(np.ones(3), Estimate(1.0, 0.99, 1.0), 30, "fixed threshold")
    monkeypatch.setattr(experiment, "membership_experiment", lambda *_, **__: sure)
    found = sweep("ridge", X, Y, sizes=(30,), records=4, draws=60, models=5)
    assert "the bound does not hold" in str(found).replace("\n  ", " ")


def test_a_measured_leakage_survives_an_experiment_that_cannot_be_run():
    from sklearn.linear_model import Ridge as Theirs

    found = sweep(Theirs(), X, Y, sizes=(30,), noise=(0.1,), records=3, draws=50, models=5, workers=1)
    assert found.points[0].experiment is None
    assert any("no threshold attack" in warning for warning in found.points[0].warnings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"models": 1}, "models is 0"),
        ({"workers": 0}, "workers"),
        ({"cluster": "here"}, "Dask"),
        ({"models": -1}, "models"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_trained(settings, words, monkeypatch):
    monkeypatch.setattr("leakscope.leakage.sweeping.membership_leakage", pytest.fail)
    with pytest.raises(InputError, match=words):
        sweep("ridge", X, Y, sizes=(30,), **settings)


@pytest.mark.parametrize("values", [np.array([30, 40]), (size for size in (30, 40)), [np.int32(30), 40]])
def test_sizes_of_any_kind_are_swept_saved_and_drawn(values, tmp_path):
    found = sweep("ridge", X, Y, sizes=values, l2=np.array([0.0, 0.5]), records=3, draws=50, models=0)
    assert len(found.points) == 4
    found.save(tmp_path)
    assert [point["size"] for point in json.loads((tmp_path / "leakage.json").read_text())["points"]] == [30, 40] * 2


@pytest.mark.parametrize("varied", [{"l2": (0.0, 0.1, 1.0)}, {"noise": (0.0, 0.1)}, {"noise": 0.0}, {"l2": (0.0, 0.0)}])
def test_pictures_along_any_setting(varied, tmp_path):
    sweep("ridge", X, Y, sizes=(30,), records=3, draws=50, models=0, **varied).save(tmp_path)
    ElementTree.fromstring((tmp_path / "leakage.svg").read_text())


def test_warnings_of_one_kind_are_said_once(found):
    lines = str(found).replace("\n  ", " ").splitlines()
    few = [line for line in lines if "too few draws" in line]
    assert len(few) == 1
    assert "size 20, l2 0; size 80, l2 0; size 2, l2 1; size 20, l2 1; size 80, l2 1:" in few[0]
