"""Noise on parameters covers the worst swap, follows its law, and a mechanism that breaks its claim is caught."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from leakscope import learners
from leakscope.bounds.any_attack import gaussian_noise
from leakscope.bounds.epsilon import epsilon_lower_bound
from leakscope.bounds.sensitivity import sensitivity
from leakscope.defenses import ParameterNoise, apply
from leakscope.defenses.bounded_linear import ALWAYS, SLACK, least_squares, make_rows, minimum, spherical_laplace
from leakscope.defenses.parameter_noise import SWAPS, noise_scale, proven_sensitivity
from leakscope.models.encoding import PUBLIC_ENCODING
from leakscope.models.target import make_target

TWO, THREE = np.arange(2), np.arange(3)


def make_small(n=40, columns=2, classes=2, seed=0, model=None):
    """A target whose pipeline passes records on as they are."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2 * n, columns)), np.arange(2 * n) % classes
    X[:, 0] += y
    pipeline = make_pipeline(FunctionTransformer(), model or LogisticRegression()).fit(X[:n], y[:n])
    return make_target(pipeline, (X[:n], y[:n]), (X[n:], y[n:]))


def parameters(defense, target, setting, seed=0, fit=None):
    """Parameters of the rows, as the mechanism released them."""
    fit = fit or defense.defend(target, setting).learner.fit
    predict = fit(target.members.X, target.members.y, np.random.default_rng(seed)).predict
    return np.vstack([predict.coefficients, predict.intercept]) * fit.rows.radius


def unit_rows(rng, n, columns, lengths=1.0):
    rows = rng.normal(size=(n, columns))
    return lengths * rows / np.linalg.norm(rows, axis=1, keepdims=True)


# --- rows and minima --------------------------------------------------------------------------------------------------


def test_rows_are_no_longer_than_one_and_depend_on_their_record_alone():
    target = make_small(200, columns=3)
    rows, rests_on = make_rows(target, radius=None)
    table = rows.rows(target.members.X)
    lengths = np.linalg.norm(np.column_stack([target.members.X, np.ones(200)]), axis=1)
    assert np.linalg.norm(table, axis=1).max() <= 1 + 1e-12
    assert (lengths > rows.radius).sum() == 10  # the 95 % quantile of 200
    short = lengths < rows.radius
    np.testing.assert_allclose(table[short, :3] * rows.radius, target.members.X[short])
    np.testing.assert_array_equal(rows.rows(target.members.X[7:8]), table[7:8])
    assert f"{rows.radius:.3g}" in "; ".join(rests_on)


def test_a_radius_that_is_given_is_not_read_from_the_records():
    rows, rests_on = make_rows(make_small(), radius=2.5)
    assert rows.radius == 2.5
    assert rests_on == [PUBLIC_ENCODING, *ALWAYS]


@pytest.mark.parametrize("l2", [1e-4, 0.01, 1.0])
def test_the_minimum_of_two_classes_is_newtons(l2):
    rng = np.random.default_rng(1)
    rows, codes = unit_rows(rng, 60, 4), rng.integers(0, 2, 60)
    (reference,) = learners.Logistic(l2=l2, intercept=False).fit_many(rows, codes, [np.arange(60)], [])
    found = minimum(rows, codes, 1, l2)
    assert np.linalg.norm(found[:, 0] - reference) <= (SLACK / 60 + 1e-10) / (2 * l2)


def test_the_minimum_of_many_classes_is_scikit_learns():
    rng = np.random.default_rng(2)
    rows, codes, l2 = unit_rows(rng, 90, 4), rng.integers(0, 3, 90), 0.02
    reference = LogisticRegression(C=1 / (2 * l2 * 90), fit_intercept=False, tol=1e-10, max_iter=1000).fit(rows, codes)
    np.testing.assert_allclose(minimum(rows, codes, 3, l2), reference.coef_.T, atol=1e-6)


def test_the_minimum_is_the_same_from_any_start():
    rng = np.random.default_rng(4)
    rows, codes = unit_rows(rng, 50, 3), rng.integers(0, 2, 50)
    far = minimum(rows, codes, 1, 0.01, start=np.full((3, 1), 40.0))
    assert np.linalg.norm(far - minimum(rows, codes, 1, 0.01)) <= 2 * SLACK / 50 / (2 * 0.01)


# --- sensitivity [Chaudhuri, Monteleoni and Sarwate 2011, Corollary 8] ------------------------------------------------

WORST = 70.0  # degrees; the swapped rows point this far to either side of all others
N, L2 = 2000, 1e-3


def worst_pair():
    """Two neighbouring sets that nearly reach the bound.

    Many records agree on a direction, two disagree and disagree
    with each other; the penalty alone holds the direction in which they differ.
    """
    angle = math.radians(WORST)
    others = np.tile([0.0, math.cos(angle)], (N - 1, 1))
    codes = np.append(np.ones(N - 1, dtype=np.int64), 0)
    for side in (1, -1):
        yield np.vstack([others, [[side * math.sin(angle), math.cos(angle)]]]), codes


@pytest.fixture(scope="module")
def worst():
    return [minimum(rows, codes, 1, L2)[:, 0] for rows, codes in worst_pair()]


def test_the_sensitivity_of_two_classes_is_nearly_reached_and_never_passed(worst):
    apart = np.linalg.norm(worst[0] - worst[1])
    assert 0.85 * proven_sensitivity(N, L2, TWO) < apart <= proven_sensitivity(N, L2, TWO)


@pytest.mark.parametrize("classes", [TWO, THREE, None], ids=["two", "three", "values"])
@pytest.mark.parametrize("l2", [1e-3, 0.1])
def test_no_swap_passes_the_proven_sensitivity(classes, l2):
    rng, n, largest = np.random.default_rng(5), 12, 0.0
    for _ in range(40):
        rows = unit_rows(rng, n + 1, 2, lengths=rng.choice([0.1, 1.0], size=(n + 1, 1)))
        first, second = np.arange(n), np.r_[np.arange(n - 1), n]
        if classes is None:
            y = rng.choice([-1.0, 1.0], n + 1)
            moved = least_squares(rows[first], y[first], l2) - least_squares(rows[second], y[second], l2)
        else:
            y, scores = rng.integers(0, len(classes), n + 1), 1 if len(classes) == 2 else len(classes)
            y[: n - 1] = np.where(rng.random() < 0.5, 1, y[: n - 1])
            moved = minimum(rows[first], y[first], scores, l2) - minimum(rows[second], y[second], scores, l2)
        largest = max(largest, float(np.linalg.norm(moved)))
    assert 0 < largest <= proven_sensitivity(n, l2, classes)


def test_least_squares_in_one_dimension_against_its_closed_form():
    # of n rows of length 1, one value flips from 1 to -1: the solution is their mean / (1 + λ), and moves 2/n(1 + λ)
    n, l2 = 50, 0.1
    y = np.ones(n)
    before, after = (least_squares(np.ones((n, 1)), values, l2) for values in (y, np.r_[y[1:], -1.0]))
    assert float(before[0, 0] - after[0, 0]) == pytest.approx(2 / n / (1 + l2))
    assert 2 / n / (1 + l2) <= proven_sensitivity(n, l2, None)


def test_the_bound_for_values_is_the_one_of_the_given_records_where_these_are_the_worst():
    rng = np.random.default_rng(6)
    rows, y = unit_rows(rng, 40, 3), rng.choice([-1.0, 1.0], 40)
    for n, l2 in ((30, 0.1), (30, 0.01), (5, 0.01)):
        given = sensitivity(learners.Ridge(l2, intercept=False), rows, y, n, "bound")
        assert proven_sensitivity(n, l2, None) == pytest.approx(given.value)


def test_sensitivity_and_noise_follow_their_formulas():
    assert proven_sensitivity(200, 0.01, TWO) == pytest.approx(2 * proven_sensitivity(400, 0.01, TWO))
    assert proven_sensitivity(200, 0.01, TWO) == pytest.approx(1 / (200 * 0.01), rel=1e-6)
    assert proven_sensitivity(200, 0.01, THREE) == pytest.approx(math.sqrt(2) / (200 * 0.01), rel=1e-6)
    assert noise_scale("laplace", 0.5, 0.0, 0.3) == pytest.approx(0.6)
    assert noise_scale("gaussian", 3.0, 1e-5, 0.3) == gaussian_noise(3.0, 1e-5, 0.3)
    assert noise_scale("gaussian", 0.5, 1e-5, 1.0, "classic") == pytest.approx(math.sqrt(2 * math.log(1.25e5)) / 0.5)
    assert noise_scale("gaussian", 2.0, 1e-5, 1.0, "classic") == gaussian_noise(2.0, 1e-5, 1.0)  # not proven from 1 on


# --- the law of the noise ---------------------------------------------------------------------------------------------


def released(defense, target, setting, count):
    fit = defense.defend(target, setting).learner.fit
    return np.array([parameters(defense, target, setting, seed, fit).ravel() for seed in range(count)])


def test_gaussian_noise_has_the_covariance_of_its_formula():
    target, count = make_small(), 400
    drawn = released(ParameterNoise(l2=0.1, radius=2.0), target, 1.0, count)
    sigma = gaussian_noise(1.0, 1e-5, proven_sensitivity(40, 0.1, TWO))
    rows, _ = make_rows(target, 2.0)
    center = minimum(rows.rows(target.members.X), target.members.y, 1, 0.1)[:, 0]
    noise = (drawn - center) / sigma
    assert np.abs(noise.mean(axis=0)).max() < 4 / math.sqrt(count)
    assert np.abs(np.cov(noise.T) - np.eye(3)).max() < 4 * math.sqrt(2 / count)  # a variance errs by √(2/count)
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-3


def test_laplace_noise_has_a_gamma_length_and_no_direction():
    target, count = make_small(), 400
    drawn = released(ParameterNoise(noise="laplace", l2=0.1, radius=2.0), target, 2.0, count)
    rows, _ = make_rows(target, 2.0)
    noise = drawn - minimum(rows.rows(target.members.X), target.members.y, 1, 0.1)[:, 0]
    lengths = np.linalg.norm(noise, axis=1)
    scale = proven_sensitivity(40, 0.1, TWO) / 2.0
    assert stats.kstest(lengths, stats.gamma(3, scale=scale).cdf).pvalue > 1e-3
    cosines = (noise / lengths[:, None])[:, 0]  # in three dimensions uniform, by Archimedes
    assert stats.kstest(cosines, stats.uniform(-1, 2).cdf).pvalue > 1e-3


# --- audits of the guarantee, where the truth is known ----------------------------------------------------------------


def attack(worst, noise, scale, count, rng):
    """Scores of runs on either set: the logarithm of the ratio of the densities, up to its factor."""
    first, second = worst
    scores = []
    for center in worst:
        if noise == "gaussian":
            seen = center + scale * rng.standard_normal((count, 2))
        else:
            seen = center + scale * np.array([spherical_laplace((2,), rng) for _ in range(count)])
        far, near = (np.linalg.norm(seen - other, axis=1) for other in (second, first))
        scores.append(far**2 - near**2 if noise == "gaussian" else far - near)
    return scores


@pytest.mark.parametrize(("noise", "delta"), [("gaussian", 0.01), ("laplace", 0.0)])
def test_the_proven_sensitivity_passes_and_half_of_it_is_caught(worst, noise, delta):
    proven = proven_sensitivity(N, L2, TWO)
    for share, broken in ((1.0, False), (0.5, True)):
        scale = noise_scale(noise, 1.0, delta, share * proven)
        rng = np.random.default_rng(9)
        found = epsilon_lower_bound(*attack(worst, noise, scale, 20_000, rng), delta, 0.999).value
        assert (found > 1.0) == broken


# --- the knob, and what is claimed ------------------------------------------------------------------------------------


def test_a_proof_is_claimed_only_where_there_is_one():
    target = make_small()
    proven = ParameterNoise(1.0, l2=0.01).defend(target, 1.0)
    assert (proven.guarantee.epsilon, proven.guarantee.delta, proven.guarantee.neighbours) == (1.0, 1e-5, "swap")
    assert PUBLIC_ENCODING in proven.guarantee.rests_on
    assert ParameterNoise(noise="laplace").defend(target, 1.0).guarantee.delta == 0.0
    stated = ParameterNoise(sensitivity=0.2).defend(target, 1.0)
    (word,) = set(stated.guarantee.rests_on.split("; ")) - set(proven.guarantee.rests_on.split("; "))
    assert "0.2" in word
    estimated = ParameterNoise(sensitivity="estimated").defend(target, 1.0)
    assert estimated.guarantee is None
    assert str(SWAPS) in estimated.notes[0]


def test_a_stated_sensitivity_is_used_and_an_estimated_one_is_below_the_proven():
    target = make_small()
    rows, _ = make_rows(target, None)
    center = minimum(rows.rows(target.members.X), target.members.y, 1, 0.01)
    length = {}
    for how in ("proven", "estimated", 0.01, 0.02):
        length[how] = np.linalg.norm(parameters(ParameterNoise(sensitivity=how, l2=0.01), target, 1.0) - center)
    assert length[0.02] == pytest.approx(2 * length[0.01], rel=1e-6)
    assert 0 < length["estimated"] < length["proven"]


def test_the_estimate_is_the_largest_of_literal_retrainings():
    target = make_small(20)
    fit = ParameterNoise(sensitivity="estimated", l2=0.01).defend(target, 1.0).learner.fit
    table, y = fit.rows.rows(target.members.X), target.members.y
    theta = minimum(table, y, 1, 0.01)
    found = fit.largest_move(table, y, theta, np.random.default_rng(3))
    every = []
    for gone in range(20):
        for twice in range(20):
            swapped = np.arange(20)
            swapped[gone] = twice
            every.append(np.linalg.norm(minimum(table[swapped], y[swapped], 1, 0.01, start=theta) - theta))
    assert np.abs(np.array(every) - found).min() < 1e-6  # it is one of them, and not above the largest
    assert np.median(every) < found <= max(every) + 1e-6


# --- any target -------------------------------------------------------------------------------------------------------


def test_training_does_not_change_the_records_and_lives_with_one_class():
    target = make_small()
    X, y = target.members.X.copy(), target.members.y.copy()
    learner = ParameterNoise().defend(target, 4.0).learner
    only = learner.fit(X[y == 1], y[y == 1], np.random.default_rng(0))
    assert only.predict(X).shape == (40, 2)
    np.testing.assert_array_equal(target.members.X, X)
    np.testing.assert_array_equal(target.members.y, y)


def score(data, model, setting, **fields):
    X, y = data(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, cut = X[order], y[order], 2 * len(y) // 3
    pipeline = make_pipeline(StandardScaler(), model).fit(X[:cut], y[:cut])
    target = make_target(pipeline, (X[:cut], y[:cut]), (X[cut:], y[cut:]))
    said = apply(ParameterNoise(**fields), target, setting).model.predict(target.nonmembers.X)
    truth = target.nonmembers.y
    if said.ndim == 2:
        return (said.argmax(axis=1) == truth).mean()
    return 1 - np.mean((said - truth) ** 2) / truth.var()


def test_the_defended_models_are_of_use():
    assert score(load_breast_cancer, LogisticRegression(), 4.0) > 0.9
    assert score(load_digits, LogisticRegression(max_iter=500), 8.0) > 0.8  # ten classes; guessing gives 0.1
    assert score(load_diabetes, Ridge(), 8.0) > 0.15  # values; their mean gives 0


def test_values_are_cut_off_at_their_limits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X[:, 0].copy()
    y[0] = 1e9
    target = make_target(make_pipeline(StandardScaler(), Ridge()).fit(X, y), (X, y), (X, X[:, 0] + 0.5))
    model = apply(ParameterNoise(1e9, limits=(-2.0, 2.0), noise="laplace"), target, 1e9).model
    assert np.abs(model.predict(X)).max() < 4
    moved = target.members.y.copy()
    moved[0] = 5.0  # above the limit as well: the same model
    fit = ParameterNoise(limits=(-2.0, 2.0)).defend(target, 1.0).learner.fit
    first, second = (fit(X, values, np.random.default_rng(0)).predict(X) for values in (target.members.y, moved))
    np.testing.assert_array_equal(first, second)


def test_what_cannot_be_encoded_is_refused():
    X, y = np.array([[0.0], [np.nan], [1.0], [2.0]]), np.array([0, 1, 0, 1])
    target = make_target(lambda X: np.full((len(X), 2), 0.5), (X, y), (X, y))
    assert ParameterNoise().refuse(target) is not None
    assert ParameterNoise().refuse(make_small()) is None
