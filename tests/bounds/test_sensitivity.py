"""The exact sensitivity is the definition, bounds are never below it, and noise made from it keeps its promise."""

import math
from itertools import combinations

import numpy as np
import pytest
from mean_learner import Mean

from leakscope.bounds.any_attack import gaussian_delta, gaussian_noise
from leakscope.bounds.sensitivity import sensitivity
from leakscope.core.errors import InputError
from leakscope.learners import Logistic, Ridge


def universe(records, columns, seed, heavy=False):
    """Random records; heavy tails make single records matter."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2, size=(records, columns)) if heavy else rng.normal(size=(records, columns))
    return X, X @ rng.normal(size=columns) + rng.standard_t(3, size=records)


def classes(y):
    return (y > np.median(y)).astype(int)


def literal_parameters(X, y, size, l2):
    """θ(S) for every set S of the size, from the definition: least squares with the penalty as more records."""
    columns = np.column_stack([X, np.ones(len(X))])
    below = math.sqrt(size * l2) * np.eye(columns.shape[1])
    return {
        drawn: np.linalg.lstsq(
            np.vstack([columns[list(drawn)], below]), np.append(y[list(drawn)], np.zeros(len(below))), rcond=None
        )[0]
        for drawn in combinations(range(len(X)), size)
    }


def swap_distances(parameters, norm=2):
    """‖θ(S) − θ(S′)‖ for all pairs of sets that are one swap apart, by looking at all pairs."""
    return [
        float((np.abs(parameters[first] - parameters[second]) ** norm).sum() ** (1 / norm))
        for first, second in combinations(parameters, 2)
        if len(set(first) & set(second)) == len(first) - 1
    ]


# --- exact ---


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_exact_is_the_largest_distance_over_all_swaps(size):
    # the distances of [farokhi2020, Prop. 1] and [tople2020, Def. 5]
    X, y = universe(7, 2, seed=size, heavy=True)
    parameters = literal_parameters(X, y, size, 0.05)
    euclidean, absolute = (sensitivity(Ridge(l2=0.05), X, y, size, method="exact", norm=norm) for norm in (2, 1))
    for norm, found in ((2, euclidean), (1, absolute)):
        assert found.value == pytest.approx(max(swap_distances(parameters, norm)), rel=1e-9)
        assert found.kind == "exact"
        assert found.low == found.high == found.value
    assert absolute.value > euclidean.value


def test_exact_needs_no_penalty():
    X, y = universe(8, 1, seed=0)
    found = sensitivity(Ridge(), X, y, 4)
    assert found.value == pytest.approx(max(swap_distances(literal_parameters(X, y, 4, 0.0))), rel=1e-9)


def test_the_mean_moves_by_the_range_over_n():
    values = np.array([-3.0, 0.5, 1.0, 2.0, 8.0])
    for size in range(1, 5):
        found = sensitivity(Ridge(intercept=False), np.ones((5, 1)), values, size)
        assert found.value == pytest.approx(11 / size, rel=1e-12)


def test_many_sets_of_nearly_all_records():
    # leaving one of 60 out: any two sets are one swap apart, and the mean moves by the range over n
    values = np.random.default_rng(0).normal(size=60)
    found = sensitivity(Ridge(intercept=False), np.ones((60, 1)), values, 59)
    assert found.value == pytest.approx(np.ptp(values) / 59, rel=1e-9)
    assert "60" in found.method


# --- absolute distance ---


def test_one_coefficient_moves_as_far_by_either_distance():
    values = np.array([-3.0, 0.5, 1.0, 2.0, 8.0])
    for method in ("exact", "bound", "sampled"):
        one, two = (
            sensitivity(Ridge(l2=0.1, intercept=False), np.ones((5, 1)), values, 3, method=method, norm=norm).value
            for norm in (1, 2)
        )
        assert one == pytest.approx(two, rel=1e-12)


def test_a_column_of_zeros_does_not_raise_the_bound():
    X, y = universe(30, 3, seed=0)
    padded = np.hstack([X, np.zeros((30, 5))])
    for learner, labels in ((Ridge(l2=0.1), y), (Logistic(l2=0.1), classes(y))):
        plain, wide, euclidean = (
            sensitivity(learner, table, labels, 10, method="bound", norm=norm).value
            for table, norm in ((X, 1), (padded, 1), (X, 2))
        )
        assert wide == pytest.approx(plain, rel=1e-12)
        assert plain == pytest.approx(2 * euclidean, rel=1e-12)  # three columns and the intercept: √4


# --- bounds ---


@pytest.mark.parametrize("l2", [1e-3, 0.03, 1.0, 30.0])
@pytest.mark.parametrize(("heavy", "norm"), [(False, 2), (True, 2), (True, 1)])
def test_no_swap_passes_the_bound(l2, heavy, norm):
    for seed in range(6 if norm == 2 else 4):
        X, y = universe(8, 2, seed, heavy)
        for size in (1, 3, 7):
            for learner, labels in ((Ridge(l2=l2), y), (Logistic(l2=l2), classes(y))):
                exact, bound = (
                    sensitivity(learner, X, labels, size, method=method, norm=norm, workers=1)
                    for method in ("exact", "bound")
                )
                assert 0 < exact.value <= bound.value * (1 + 1e-9)
                assert bound.kind == "upper bound"


def test_the_bounds_are_met_where_the_penalty_rules():
    # one column of ones and labels ±1: the gradients at 0 are all there is, and a swap turns one around
    ones, labels = np.ones((6, 1)), np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    for learner in (Ridge(l2=1e4, intercept=False), Logistic(l2=1e4, intercept=False)):
        exact, bound = (sensitivity(learner, ones, labels, 3, method=method) for method in ("exact", "bound"))
        # what is left is of the order of the radius: 1/(2√λ) = 0.005 of the labels
        assert exact.value <= bound.value <= 1.006 * exact.value


def test_the_bounds_fall_as_one_over_n():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = rng.choice([-1.0, 1.0], size=4000)
    for size in (100, 1000):
        one, two = (sensitivity(Logistic(l2=1.0, intercept=False), X, y, n, "bound").value for n in (size, 2 * size))
        assert one / two == pytest.approx(2, rel=1e-12)
        one, two = (sensitivity(Ridge(l2=1.0, intercept=False), X, y, n, "bound").value for n in (size, 2 * size))
        # q/(1 + q²) with q² = 1/n: 1/n up to a factor 1 + 1/n
        assert one / two == pytest.approx(2 * (1 + 1 / (2 * size)) / (1 + 1 / size), rel=1e-12)


def test_the_ridge_bound_is_never_more_than_strong_convexity_gives():
    for seed in range(20):
        X, y = universe(50, 3, seed, heavy=True)
        for l2 in (1e-3, 0.1, 10.0):
            norms = np.sqrt(1 + (X**2).sum(axis=1))
            gradients = 2 * (np.abs(y) + norms * np.abs(y).max() / (2 * math.sqrt(l2))) * norms
            convexity = np.sort(gradients)[-2:].sum() / (2 * l2 * 10)
            assert sensitivity(Ridge(l2=l2), X, y, 10, "bound").value <= convexity


# --- sampled ---


@pytest.mark.parametrize("norm", [2, 1])
def test_random_swaps_stay_below_the_exact_value_and_find_it_where_there_are_few(norm):
    X, y = universe(7, 2, seed=3)
    exact = sensitivity(Ridge(l2=0.1), X, y, 3, norm=norm).value
    few, many = (sensitivity(Ridge(l2=0.1), X, y, 3, method="sampled", norm=norm, swaps=swaps) for swaps in (5, 3000))
    assert few.value <= exact * (1 + 1e-9)
    # 35 sets with 12 swaps each make 210 pairs: 3,000 draws miss the largest with probability 6e-7
    assert many.value == pytest.approx(exact, rel=1e-9)
    assert many.kind == "lower bound"
    assert many.high == math.inf


def test_swaps_are_repeatable_and_differ_by_seed():
    X, y = universe(30, 2, seed=4)
    first, again, other = (
        sensitivity(Ridge(l2=0.1), X, y, 10, method="sampled", swaps=100, seed=seed).value for seed in (1, 1, 2)
    )
    assert first == again != other


def test_random_training_is_refused_where_it_would_pass_for_sensitivity():
    X, y = universe(6, 1, seed=5)
    for method in ("auto", "exact"):
        with pytest.raises(InputError, match="method='sampled'"):
            sensitivity(Mean(spread=1.0), X, y, 3, method=method)
    found = sensitivity(Mean(spread=1.0), X, y, 3, method="sampled", swaps=2000)  # pairs share what is random
    assert found.value == pytest.approx(np.ptp(y) / 3, rel=1e-9)
    assert sensitivity(Mean(), X, y, 3).value == pytest.approx(np.ptp(y) / 3, rel=1e-9)


# --- what it is for ---


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (3.0, 0.05)])
def test_noise_from_the_sensitivity_keeps_its_promise_for_all_swaps(epsilon, delta):
    # [farokhi2020, Def. 3], read as swaps
    X, y = universe(7, 2, seed=6)
    sigma = gaussian_noise(epsilon, delta, sensitivity(Ridge(l2=0.1), X, y, 3).value)
    distances = np.array(swap_distances(literal_parameters(X, y, 3, 0.1)))
    spent = [gaussian_delta(sigma, epsilon, distance) for distance in distances]
    assert max(spent) == pytest.approx(delta, rel=1e-6)  # and nothing is wasted
    assert (np.array(spent) <= delta * (1 + 1e-6)).all()


# --- what is chosen, and what is refused ---


def test_auto_is_exact_where_it_can_be_and_a_bound_elsewhere():
    X, y = universe(40, 2, seed=7)
    assert sensitivity(Ridge(l2=0.1), X[:10], y[:10], 5).kind == "exact"
    assert sensitivity(Ridge(l2=0.1), X, y, 20).kind == "upper bound"
    assert sensitivity("ridge", X, y, 39).kind == "exact"
    assert sensitivity(Logistic(l2=0.1), X, classes(y), 20).kind == "upper bound"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        *(({"size": size}, "size") for size in (40, 0, 2.0)),
        ({"X": np.ones((1, 1)), "y": np.ones(1), "size": 1}, r"\b2\b.*\b1\b"),
        ({"method": "guess"}, "'guess'"),
        ({"method": "exact"}, "20,000.*'sampled'"),
        ({"method": "sampled", "swaps": 0}, "swaps"),
        ({"learner": Ridge()}, "l2"),
        ({"learner": Ridge(), "method": "bound"}, "l2"),
        ({"learner": Mean()}, "mean.*'sampled'"),
        ({"learner": "guess"}, "'guess'"),
        ({"X": np.full((40, 2), np.inf)}, r"\b0\b"),  # the column
        ({"X": np.zeros(40)}, r"\(40,\)"),
        ({"norm": 3}, "norm"),
        ({"norm": True}, "norm"),
        ({"seed": -1, "method": "sampled"}, "seed"),
        ({"seed": -1, "method": "exact", "size": 39}, "seed"),
    ],
)
def test_wrong_settings_are_refused_in_words(settings, named):
    X, y = universe(40, 2, seed=8)
    with pytest.raises(InputError, match=named) as refusal:
        sensitivity(**({"learner": Ridge(l2=0.1), "X": X, "y": y, "size": 20} | settings))
    assert "\n" not in str(refusal.value)
