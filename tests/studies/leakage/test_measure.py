"""What `membership_leakage` and `gaussian_leakage` accept, refuse, warn of and give back."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from leakscope.core.errors import InputError
from leakscope.core.result import Caveat
from leakscope.learners import Ridge
from leakscope.studies.leakage import gaussian_leakage, membership_leakage
from leakscope.studies.leakage.neighbours import beyond_gaussian, neighbour_divergence

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = X @ [1.0, -1.0] + RNG.normal(size=300)
DRAWS = np.random.default_rng(6).normal(size=(100, 2))
SMALL = {"size": 20, "records": 12, "draws": 120}


def measured(learner="ridge", features=X, values=Y, **settings):
    return membership_leakage(learner, features, values, **(SMALL | settings))


def codes(found):
    return {caveat.code for caveat in found.warnings}


def test_figures_hang_together():
    found = measured(draws=600)
    table, found = found.records, found.point
    assert list(table.columns) == [
        "record", "id", "kl", "kl_low", "kl_high", "mi", "advantage_bound", "attack", "renyi_2", "renyi_inf",
        "finite_up_to", "size", "l2", "noise",
    ]  # fmt: skip
    assert len(table) == 12
    assert table["record"].is_unique
    assert (table["kl_low"] <= table["kl"]).all()
    assert (table["kl"] <= table["kl_high"]).all()
    assert found.rho_kl.value == pytest.approx(table["kl"].mean(), rel=0.05)
    assert found.rho_kl_worst.value == table["kl"].max()
    assert found.rho_kl.unit == found.rho_mi.unit == "nats"
    assert found.advantage_bound.kind == "upper bound"
    assert found.rho_neighbours is not None
    assert [(item.order, item.direction) for item in found.renyi] == [
        (order, way) for order in (2.0, 10.0, "inf") for way in ("with‖without", "without‖with")
    ]
    # two Gaussians of different width: one of the two directions has no finite divergence of order infinity
    assert found.renyi[-2].infinite.value + found.renyi[-1].infinite.value >= 1


def test_same_seed_same_numbers_and_another_seed_others():
    first, again, other = measured(seed=4), measured(seed=4), measured(seed=5)
    pd.testing.assert_frame_equal(first.records, again.records)
    assert not np.array_equal(first.records["kl"], other.records["kl"])


def test_an_estimator_without_coefficients_is_measured_by_its_outputs():
    forest = RandomForestRegressor(5, max_depth=3)
    with pytest.raises(InputError, match="function"):
        measured(forest, records=2, draws=40)
    found = measured(forest, records=3, draws=60, space="function")
    assert found.point.dimensions == 1
    assert found.rho_kl.high > 0


def test_a_tree_that_remembers_is_measured_once_its_answers_are_noisy():
    tree = DecisionTreeRegressor()
    settings = {"records": 3, "draws": 60, "space": "function", "workers": 1}
    with pytest.raises(InputError, match="noise"):
        measured(tree, **settings)
    found = measured(tree, noise=0.1, **settings)
    assert found.attack.value > 0.3
    assert found.rho_kl.value > 1


def test_noise_on_outputs_is_noise_along_one_parameter():
    """A model with one parameter and a record with x = 1: its output is its parameter."""
    ones = np.ones((300, 1))
    parameters, outputs = (
        measured(Ridge(intercept=False), features=ones, noise=0.1, space=space) for space in ("parameters", "function")
    )
    np.testing.assert_allclose(parameters.records["kl"], outputs.records["kl"], rtol=1e-9)


def test_chosen_records_and_their_ids():
    table = pd.DataFrame(X, columns=["a", "b"], index=[f"person {row}" for row in range(300)])
    found = measured(features=table, records=[7, 3])
    assert found.records["record"].tolist() == [7, 3]
    assert found.records["id"].tolist() == ["person 7", "person 3"]
    assert len(measured(features=X[:30], values=Y[:30], size=10, records=500).records) == 30


def test_all_records_measured_leave_no_doubt_about_their_choice():
    every = measured(features=X[:40], values=Y[:40], records=40, draws=400)
    some = measured(features=X[:40], values=Y[:40], records=20, draws=400)
    assert every.rho_kl.high - every.rho_kl.low < some.rho_kl.high - some.rho_kl.low


def test_prior_sets_the_odds_of_the_mutual_information():
    even, rare = measured(prior=0.5), measured(prior=0.01)
    assert even.rho_mi.value > rare.rho_mi.value
    assert even.rho_kl == rare.rho_kl
    assert measured().point.prior == 20 / 300


def test_parameters_that_never_vary_are_left_out_and_said():
    padded = np.column_stack([X, np.zeros(300), X[:, 0]])  # a column of zeros, and one twice: fixed at any l2 > 0
    plain, more = measured(Ridge(0.1)), measured(Ridge(0.1), features=padded)
    assert "fixed_parameters" in codes(more)
    assert more.point.dimensions == plain.point.dimensions == 3
    doubled = measured(features=np.repeat(X[:100], 2, axis=0), values=np.repeat(Y[:100], 2))  # copies of records
    assert all(np.isfinite(one.rho_kl.high) for one in (more, doubled))


def test_fewer_records_than_parameters_need_regularisation():
    wide = RNG.normal(size=(100, 15))
    with pytest.raises(InputError, match="l2"):
        measured(features=wide, values=Y[:100], size=8)
    found = measured(Ridge(1e-2), features=wide, values=Y[:100], size=8, draws=400)
    assert np.isfinite(found.rho_kl.value)


def test_heavy_tails_near_the_number_of_parameters_are_warned_of():
    found = measured(size=4, records=20, draws=600)
    assert found.point.ill_conditioned.low > 0
    assert "ill_conditioned" in codes(found)
    assert found.rho_kl_median.value < found.point.rho_kl_worst.value


def test_too_few_draws_to_check_the_gaussians_is_said():
    found = measured()
    assert found.point.rho_neighbours is None
    assert "gaussian_unchecked_draws" in codes(found)
    assert found.claim("bounded").outcome == "inconclusive"


def test_laws_with_atoms_are_warned_of():
    values = (RNG.random(300) < 0.1).astype(float)  # most sets of 8 hold no one: the model is then exactly zero
    found = measured(Ridge(intercept=False), values=values, size=8, draws=500, records=5)
    assert "no_density" in codes(found)
    assert found.claim("bounded").outcome == "no"


OUT_OF_RANGE = {
    "size": [1, 300, 299, 2.5], "records": [1, [1, 1], [0, 300], ["a", "b"]], "draws": [3], "noise": [-1.0, math.nan],
    "space": ["outputs"], "confidence": [1.0], "prior": [0.0], "seed": [-1],
}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        *(({name: value}, name) for name, values in OUT_OF_RANGE.items() for value in values),
        ({"learner": "svm"}, "'svm'"),
        ({"values": Y[:10]}, "10"),
        ({"features": np.full((300, 2), np.nan)}, r"\b0\b"),  # the column
        ({"features": np.full((300, 2), "text")}, "<U4"),
        ({"learner": Ridge(0.1), "features": RNG.normal(size=(300, 40)), "draws": 30}, "draws"),
        ({"learner": Ridge(0.1), "values": np.zeros(300)}, r"\bX\b"),  # the same model from every training set
        ({"values": X @ [1.0, 2.0]}, r"\bX\b"),  # models differ by rounding only
        ({"values": np.ones(300)}, r"\bX\b"),
        ({"size": 3}, "l2"),  # three parameters, three records: the model fits all of them exactly
    ],
)
def test_wrong_input_is_refused_in_one_sentence(settings, named):
    with pytest.raises(InputError, match=named) as caught:
        measured(**settings)
    assert "\n" not in str(caught.value)


def test_the_fewest_draws_are_measured():
    assert measured(draws=10, records=3).rho_kl.value >= 0


# --- draws of one record ----------------------------------------------------------------------------------------------


def test_gaussian_leakage_does_not_change_under_linear_maps():
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.3, 1.0, (400, 3)), rng.normal(0.0, 1.2, (500, 3))
    mixing = rng.normal(size=(3, 3))
    plain, mixed = gaussian_leakage(first, second), gaussian_leakage(first @ mixing + 7, second @ mixing + 7)
    assert (plain.value, plain.low, plain.high) == pytest.approx((mixed.value, mixed.low, mixed.high), rel=1e-9)


def test_noise_is_that_of_draws_to_which_it_was_added():
    rng = np.random.default_rng(3)
    first, second = rng.normal(1.0, 1.0, (40_000, 1)), rng.normal(0.0, 1.0, (40_000, 1))
    # N(1, 1 + 4) against N(0, 1 + 4): J = 1/5
    for found in (
        gaussian_leakage(first, second, noise=2.0),
        gaussian_leakage(first + rng.normal(0, 2, first.shape), second + rng.normal(0, 2, second.shape)),
    ):
        assert found.low <= 0.2 <= found.high
        assert found.high - found.low < 0.05


@pytest.mark.parametrize(
    ("first", "second", "settings", "named"),
    [
        (np.zeros(5), np.zeros((5, 1)), {}, r"theta_in.*\(5,\)"),
        (np.zeros((50, 2)), np.zeros((50, 3)), {}, "theta_out"),
        (np.full((50, 1), np.nan), np.zeros((50, 1)), {}, "theta_in"),
        ([["a"]], [["b"]], {}, "theta_in"),
        (DRAWS, DRAWS[:60], {"paired": True}, "paired"),
        (RNG.normal(size=(5, 4)), RNG.normal(size=(5, 4)), {}, "draws"),
        (DRAWS, DRAWS, {"confidence": 2}, "confidence"),
        (DRAWS, 0 * DRAWS, {}, "l2"),  # a law that is constant on one side
        (0 * DRAWS, DRAWS, {}, "l2"),
        (DRAWS, np.column_stack([DRAWS[:, 0], np.ones(100)]), {}, "l2"),
        (0 * DRAWS, 0 * DRAWS, {}, "theta_in"),
    ],
)
def test_wrong_draws_are_refused(first, second, settings, named):
    with pytest.raises(InputError, match=named):
        gaussian_leakage(first, second, **settings)


# --- nearest neighbours -----------------------------------------------------------------------------------------------


def test_neighbours_find_the_divergence_of_gaussians_and_of_other_laws():
    rng = np.random.default_rng(4)
    count = 4000
    # exponential laws of rates 1 and 2: D(1‖2) + D(2‖1) = (1 - 2)²/(1·2)... = 1/2
    exponential = neighbour_divergence(rng.exponential(1.0, (count, 1)), rng.exponential(0.5, (count, 1)))
    assert exponential == pytest.approx(0.5, abs=0.1)
    shifted = neighbour_divergence(rng.normal(size=(count, 2)), rng.normal([1.0, 0.0], 1.0, (count, 2)))
    assert shifted == pytest.approx(1.0, abs=0.15)


def test_neighbours_see_beyond_two_moments():
    rng = np.random.default_rng(5)
    normal = rng.normal(size=(2, 10, 2000, 1))
    # a two-point mixture and a Gaussian of the same mean and variance: no Gaussian figure tells them apart
    signs = rng.choice([-1.0, 1.0], size=(10, 2000, 1)) * 0.95
    mixture = signs + rng.normal(0, math.sqrt(1 - 0.95**2), signs.shape)
    null, seen = beyond_gaussian(*normal, seed=0).mean(axis=0), beyond_gaussian(mixture, normal[0], seed=0).mean(axis=0)
    error = null.std(ddof=1) / math.sqrt(len(null))
    assert abs(null.mean()) < 4 * error
    assert seen.mean() > 0.5


def test_repeated_values_have_no_neighbours_to_speak_of():
    assert math.isnan(neighbour_divergence(np.zeros((50, 1)), np.ones((50, 1))))


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e200])
def test_gaussian_leakage_does_not_depend_on_scale(scale):
    first, second = np.random.default_rng(7).normal(size=(2, 100, 2))
    assert gaussian_leakage(first * scale, second * scale).high == pytest.approx(gaussian_leakage(first, second).high)


def test_an_offset_where_nothing_varies_is_seen():
    first, second = np.random.default_rng(8).normal(size=(2, 100, 2))
    with pytest.raises(InputError, match="l2"):
        gaussian_leakage(np.c_[first, first[:, 0]], np.c_[second, second[:, 0] + 1e-3])
    assert gaussian_leakage(np.c_[first, first[:, 0]], np.c_[second, second[:, 0]]).low == 0


@pytest.mark.parametrize("counts", [(20, 100), (11, 10), (25, 24)])
def test_numbers_of_draws_may_differ(counts):
    first, second = (np.random.default_rng(9).normal(size=(count, 1)) for count in counts)
    assert gaussian_leakage(first, second).n == sum(counts)


def test_networks_are_measured_in_function_space_only():
    pytest.importorskip("torch")
    with pytest.raises(InputError, match="function"):
        measured("mlp")


def test_a_mean_that_rests_on_few_records_is_warned_of():
    rng = np.random.default_rng(10)
    heavy = rng.standard_t(3, size=(1500, 2))
    found = measured(features=heavy, values=heavy[:, 0] + rng.standard_t(3, 1500), size=100, records=40, draws=200)
    assert "few_records_dominate" in codes(found)
    assert "few_records_dominate" not in codes(measured(records=40))


@pytest.mark.parametrize("settings", [{}, {"shared": False}, {"space": "function"}, {"noise": 0.1}])
def test_the_control_holds_zero(settings):
    held = 0
    for seed in range(20):
        found = measured(draws=200, records=12, seed=seed, **settings)
        held += found.point.control.low == 0
        if settings.get("shared", True):  # independent draws are too few here to tell leakage from nothing
            assert found.point.control.high < found.rho_kl.high
    assert held >= 17  # of 20 at 97.5 %: fewer come up in one case of a thousand


def test_the_control_of_any_learner_is_that_of_the_fast_one():
    for space in ("parameters", "function"):
        fast, slow = (
            measured(learner, records=3, draws=60, space=space, workers=1).point.control
            for learner in ("ridge", LinearRegression())
        )
        assert space == "parameters" or fast.n == slow.n == 3
        assert fast.high == pytest.approx(slow.high, rel=1e-6)


def test_a_control_that_cannot_be_measured_is_said(monkeypatch):
    def refuse(*_):
        raise InputError("no such sets")

    monkeypatch.setattr("leakscope.studies.leakage.swaps.SwapTraining.control", refuse)
    found = measured()
    assert found.point.control is None
    assert Caveat("no_control", {"reason": "no such sets"}) in found.warnings


def test_a_control_that_finds_something_is_said(monkeypatch):
    draws = np.random.default_rng(12).normal(size=(2, 1, 120, 3)) + np.array([0.0, 3.0])[:, None, None, None]
    monkeypatch.setattr("leakscope.studies.leakage.swaps.SwapTraining.control", lambda *_: (draws[0], draws[1]))
    assert "control_not_zero" in codes(measured())
