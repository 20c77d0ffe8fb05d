"""Sweeps: every setting measured or refused with a reason, claims from intervals and warnings, goals, charts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat
from leakscope.learners import Ridge
from leakscope.report.documents import document
from leakscope.report.documents.leakage import _ADVICE, advise
from leakscope.studies.leakage import Leakage, membership_leakage, sweep
from leakscope.studies.leakage.claims import conclude
from leakscope.studies.leakage.result import _crossing

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
Y = X[:, 0] + RNG.normal(size=400)
SMALL = {"records": 8, "draws": 100, "models": 10}


@pytest.fixture(scope="module")
def found() -> Leakage:
    return sweep(Ridge(), X, Y, sizes=(2, 20, 80), l2=(0.0, 1.0), noise=(0.0, 0.5), **SMALL)


def test_every_setting_is_measured_or_refused(found):
    settings = {(point.size, point.l2, point.noise) for point in found.points}
    refused = {(item.size, item.l2, item.noise) for item in found.not_measured}
    assert len(settings) + len(refused) == 12
    assert refused == {(2, 0.0, 0.0), (2, 0.0, 0.5)}
    assert all("l2" in item.reason for item in found.not_measured)
    assert all(point.threshold_attack is not None for point in found.points)
    assert len(found.to_frame()) == 10
    assert len(found.records) == 10 * 8


def test_each_point_is_what_the_measure_says_of_that_setting(found):
    point = next(point for point in found.points if (point.size, point.l2, point.noise) == (20, 1.0, 0.5))
    alone = membership_leakage(Ridge(1.0), X, Y, size=20, records=8, draws=100, noise=0.5)
    assert point.rho_kl == alone.rho_kl
    assert alone.point == replace(point, threshold_attack=None)


def test_goal_is_read_off_the_curve():
    curve = [(10, Estimate(1.0, 0.9, 1.1)), (100, Estimate(0.1, 0.05, 0.3)), (1000, Estimate(0.01, 0.0, 0.02))]
    assert _crossing(curve, 0.2) == (1000, pytest.approx(10 ** (1 + math.log10(5))))
    assert _crossing(curve, 0.001) == (None, None)
    assert _crossing(curve, 2.0) == (10, None)


def test_goals_for_each_combination(found):
    goals = found.below(1e6)
    places = [(goal.fixed["l2"], goal.fixed["noise"]) for goal in goals]
    assert places == [(0.0, 0.0), (0.0, 0.5), (1.0, 0.0), (1.0, 0.5)]
    assert [goal.value for goal in goals] == [20, 20, 2, 2]
    assert found.below(1e-12)[0].value is None
    assert {goal.value for goal in found.below(1e6, along="noise")} == {0.0}
    assert {goal.fixed["size"] for goal in found.below(0.1, along="l2")} == {2, 20, 80}
    for bits in (0, -1, math.nan, "x"):
        with pytest.raises(InputError, match="bits"):
            found.below(bits)
    with pytest.raises(InputError, match="rho_mi"):
        found.below(1, measure="kl")
    with pytest.raises(InputError, match="along"):
        found.below(1, along="draws")


def test_where_nothing_can_be_measured_the_reason_is_the_error():
    with pytest.raises(InputError, match="l2"):
        sweep("ridge", X, Y, sizes=(2,), **SMALL)


def test_one_value_stands_for_a_list_and_repeats_count_once():
    one = sweep("ridge", X, Y, sizes=30, l2=0.5, noise=0.0, records=4, draws=60, models=0)
    assert [(point.size, point.l2) for point in one.points] == [(30, 0.5)]
    assert one.points[0].threshold_attack is None
    assert len(sweep("ridge", X, Y, sizes=(30, 30), records=4, draws=60, models=0).points) == 1


def test_progress_counts_settings():
    calls = []
    sweep("ridge", X, Y, sizes=(20, 30), records=4, draws=60, models=0, progress=lambda *call: calls.append(call))
    assert [call for call in calls if call[0] == "settings"] == [("settings", 1, 2), ("settings", 2, 2)]
    assert {call[0] for call in calls} == {"settings", "measuring"}


def test_an_attack_beyond_the_bound_refutes_it(monkeypatch):
    from leakscope.evaluation import membership_experiment as experiment

    sure = experiment.Experiment(np.ones(3), Estimate(1.0, 0.99, 1.0), 30, "fixed threshold")
    monkeypatch.setattr(experiment, "membership_experiment", lambda *_, **__: sure)
    found = sweep("ridge", X, Y, sizes=(30,), records=4, draws=60, models=5)
    assert found.warnings[-1].code == "attack_exceeds_bound"
    assert found.claim("bounded").outcome == "no"


def test_a_measured_leakage_survives_an_experiment_that_cannot_be_run():
    from sklearn.linear_model import Ridge as Theirs

    found = sweep(Theirs(), X, Y, sizes=(30,), noise=(0.1,), records=3, draws=50, models=5, workers=1)
    assert found.point.threshold_attack is None
    assert found.point.l2 is None
    assert found.warnings[-1].code == "no_threshold_attack"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"models": 1}, "models"),
        ({"workers": 0}, "workers"),
        ({"cluster": "here"}, "Dask"),
        ({"models": -1}, "models"),
        ({"confidence": 0.3}, "confidence"),
        ({"seed": -1}, "seed"),
        ({"below": 0}, "bits"),
        ({"sizes": ()}, "sizes"),
        ({"learner": LinearRegression(), "l2": (0.1, 1.0)}, "l2"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_trained(settings, named, monkeypatch):
    monkeypatch.setattr("leakscope.studies.leakage.sweeping.measure_point", pytest.fail)
    with pytest.raises(InputError, match=named):
        sweep(**{"learner": "ridge", "X": X, "y": Y, "sizes": (30,)} | settings)


@pytest.mark.parametrize("values", [np.array([30, 40]), (size for size in (30, 40)), [np.int32(30), 40]])
def test_sizes_of_any_kind_are_swept_and_saved(values, tmp_path):
    found = sweep("ridge", X, Y, sizes=values, l2=np.array([0.0, 0.5]), records=3, draws=50, models=0)
    assert [point.size for point in found.points] == [30, 40] * 2
    found.save(tmp_path)
    assert ls.load(tmp_path) == found


# --- claims -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swept():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(1000, 2))
    values = features @ [1.0, -1.0] + rng.normal(size=1000)
    return sweep("ridge", features, values, sizes=(20, 200), l2=(0.0, 0.01), records=40, draws=400, models=10)


def changed(found, place, **figures):
    """The sweep with other figures or warnings at one of its points."""
    now = list(found.points)
    now[place] = replace(now[place], **figures)
    return conclude(now, found.records, found.settings)


def test_claims_are_about_the_largest_size_and_the_weakest_setting(swept):
    assert (swept.point.size, swept.point.l2) == (200, 0.0)
    leak, bounded = swept.claim("leak"), swept.claim("bounded", size=200, l2=0.0)
    assert leak.outcome == "yes"
    assert leak.estimates["attack"] == swept.point.attack
    assert bounded.outcome == "yes"
    assert bounded.estimates["advantage_bound"] == swept.point.advantage_bound
    each = [claim for claim in swept.claims if claim.code == "leak" and claim.subject]
    assert len(each) == 4
    assert all(claim.estimates["attack"].confidence == pytest.approx(1 - 0.05 / 4) for claim in each)
    assert each[0].estimates["attack"].low < swept.points[0].attack.low


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("neighbours_disagree", "no"),
        ("attack_exceeds_bound", "no"),
        ("gaussian_unchecked_noise", "inconclusive"),
        ("ill_conditioned", "inconclusive"),
        ("a_warning_of_a_later_version", "inconclusive"),
        ("few_records_dominate", "yes"),
        ("fixed_parameters", "yes"),
    ],
)
def test_doubt_withdraws_the_bound(swept, code, outcome):
    claim = changed(swept, 1, warnings=(Caveat(code),)).claim("bounded", size=200, l2=0.0)
    assert claim.outcome == outcome
    assert bool(claim.estimates) == (outcome == "yes")


def test_bound_is_not_stated_with_noise():
    found = sweep("ridge", X, Y, sizes=(30,), noise=0.1, records=4, draws=400, models=0)
    assert [caveat.code for caveat in found.warnings] == ["gaussian_unchecked_noise"]
    assert found.claim("bounded").outcome == "inconclusive"


def test_settings_are_compared_by_intervals_of_the_median_record(swept):
    """With a tenth of the records the leakage of a mean is about ten times as large. l2 of 0.01 changes nothing."""
    assert swept.claim("leaks_less", setting="size", value=20).outcome == "no"
    assert swept.claim("leaks_less", setting="l2", value=0.01).outcome == "inconclusive"
    assert [item.title for item in advise(swept)] == [_ADVICE["size"]]
    less = replace(swept.point.rho_kl_median, value=1e-6, low=0.0, high=2e-6)
    better = changed(swept, 3, rho_kl_median=less)
    assert better.claim("leaks_less", setting="l2", value=0.01).outcome == "yes"
    assert [item.title for item in advise(better)] == [_ADVICE["size"], _ADVICE["l2"]]
    doubted = changed(better, 3, warnings=(Caveat("neighbours_disagree"),))
    assert doubted.claim("leaks_less", setting="l2", value=0.01).outcome == "inconclusive"


def test_goals_are_claims(swept):
    outcomes = {}
    for bits in (1e6, 1e-9):
        found = conclude(swept.points, swept.records, swept.settings, goal=bits)
        assert found.goals == (*found.below(bits), *found.below(bits, along="l2"))
        outcomes[bits] = {claim.outcome for claim in found.claims if claim.code == "below_goal"}
    assert outcomes == {1e6: {"yes"}, 1e-9: {"no"}}


# --- charts -----------------------------------------------------------------------------------------------------------


def test_leakage_is_drawn_along_what_varies(swept):
    along_size, along_l2 = document(swept).charts()
    assert (along_size.x.scale, along_size.y.scale) == ("log", "log")
    assert [series.name for series in along_size.series] == ["l2 0", "l2 0.01"]
    assert along_size.series[0].marks[0].y == swept.points[0].rho_kl
    assert along_l2.x.scale == "linear"  # of 0 and 0.01, a logarithmic axis would show one
    three = sweep("ridge", X, Y, sizes=(30,), l2=(0.0, 0.1, 1.0), records=3, draws=50, models=0)
    (chart,) = document(three).charts()
    assert [mark.x for mark in chart.series[0].marks] == [0.1, 1.0]
    assert document(sweep("ridge", X, Y, sizes=(30,), records=3, draws=50, models=0)).charts() == []
