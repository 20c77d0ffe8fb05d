"""The density of a tilted minimum is known in closed form: its guarantee is checked without drawing anything."""

import math

import numpy as np
import pytest
from scipy import special, stats
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from leakscope.defenses import ObjectivePerturbation
from leakscope.defenses.bounded_linear import ALWAYS
from leakscope.defenses.objective_perturbation import EXACT, noise_for
from leakscope.models.encoding import PUBLIC_ENCODING
from leakscope.models.target import make_target


def make_small(n=40, classes=2):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2 * n, 2)), np.arange(2 * n) % classes
    X[:, 0] += y
    pipeline = make_pipeline(FunctionTransformer(), LogisticRegression()).fit(X[:n], y[:n])
    return make_target(pipeline, (X[:n], y[:n]), (X[n:], y[n:]))


# --- the density, by the change of variables from θ to b --------------------------------------------------------------


def tilts(theta, rows, l2):
    """The b (…, d) whose minimum is θ, for rows that carry the sign of their label."""
    wrong = special.expit(-theta @ rows.T)
    return -2 * len(rows) * l2 * theta + wrong @ rows


def log_density(theta, rows, l2, scale, delta):
    """Logarithm of the density of the released θ, without the constant that all data share for Laplace noise."""
    b = tilts(theta, rows, l2)
    wrong = special.expit(-theta @ rows.T)
    curvature = np.einsum("...n,ni,nj->...ij", wrong * (1 - wrong), rows, rows)
    volume = np.linalg.slogdet(curvature + 2 * len(rows) * l2 * np.eye(rows.shape[1]))[1]
    if delta:
        return stats.norm.logpdf(b, scale=scale).sum(axis=-1) + volume
    return -np.linalg.norm(b, axis=-1) / scale + volume


def unit_rows(rng, n, columns):
    rows = rng.normal(size=(n, columns))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def worst_pair(n=1000):
    """Neighbours that nearly reach the bound: far out all rows are wrong, and the two that are swapped are opposite."""
    high = 0.1
    others = np.tile([math.sqrt(1 - high**2), -high], (n - 1, 1))
    return [np.vstack([others, [[side * math.sqrt(1 - high**2), -high]]]) for side in (1, -1)]


def largest_ratio(theta, pair, l2, scale):
    first, second = (log_density(theta, rows, l2, scale, 0.0) for rows in pair)
    return np.abs(first - second).max()


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_pure_privacy_holds_at_every_parameter(columns, epsilon):
    rng = np.random.default_rng([1, columns])
    for n in (1, 2, 10):
        for _ in range(20):
            first = unit_rows(rng, n, columns) * rng.choice([0.2, 1.0])
            second = np.vstack([first[:-1], unit_rows(rng, 1, columns)])
            l2, scale = noise_for(n, epsilon, 0.0, 0.01)
            theta = rng.normal(size=(300, columns)) * np.exp(rng.uniform(-3, 5, size=(300, 1)))
            assert largest_ratio(theta, (first, second), l2, scale) <= epsilon + 1e-9


def test_pure_privacy_is_nearly_used_up_and_half_the_noise_is_caught():
    epsilon, pair = 2.0, worst_pair()
    l2, scale = noise_for(len(pair[0]), epsilon, 0.0, 0.001)
    theta = np.stack(np.meshgrid(np.linspace(-10, 10, 21), np.linspace(-20, 80, 101)), axis=-1).reshape(-1, 2)
    assert 0.9 * epsilon < largest_ratio(theta, pair, l2, scale) <= epsilon
    assert largest_ratio(theta, pair, l2, scale / 2) > epsilon


def test_one_record_uses_up_its_share_for_the_determinant():
    # a row of length 1 swapped for one of length 0, at θ = 0, where the curvature is 1/4: the ratio is 1 + 1/8nλ itself
    n, l2 = 5, 0.1
    zeros = np.zeros((n, 1))
    pair = [np.vstack([zeros[1:], [[1.0]]]), zeros]
    ratio = log_density(np.zeros((1, 1)), pair[0], l2, 1e9, 0.0) - log_density(np.zeros((1, 1)), pair[1], l2, 1e9, 0.0)
    assert ratio[0] == pytest.approx(math.log1p(1 / (8 * n * l2)))
    assert 2.0 - 2 / noise_for(n, 2.0, 0.0, l2)[1] == pytest.approx(ratio[0])


def smallest_delta(pair, epsilon, l2, scale, width):
    """Hockey-stick divergence of the two laws by a sum over a grid in two dimensions, and the mass that the grid holds."""
    axis = np.linspace(-width, width, 301)
    theta = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    first, second = (np.exp(log_density(theta, rows, l2, scale, 0.5)) for rows in pair)
    cell = (axis[1] - axis[0]) ** 2
    return np.maximum(first - math.exp(epsilon) * second, 0).sum() * cell, first.sum() * cell


@pytest.mark.parametrize("delta", [1e-3, 0.05])
def test_gaussian_tilts_keep_their_delta_and_too_little_noise_does_not(delta):
    epsilon, n = 1.0, 3
    l2, scale = noise_for(n, epsilon, delta, 0.3)
    angle = math.radians(40)
    others = np.tile([0.0, -0.1], (n - 1, 1))
    pairs = [
        [np.vstack([others, [[1.0, 0.0]]]), np.vstack([others, [[-1.0, 0.0]]])],
        [np.vstack([others, [[1.0, 0.0]]]), np.vstack([others, [[0.0, 0.0]]])],
        [np.vstack([others, [[side * math.sin(angle), math.cos(angle)]]]) for side in (1, -1)],
    ]
    width = 8 * scale / (2 * n * l2)
    for pair in pairs:
        found, mass = smallest_delta(pair, epsilon, l2, scale, width)
        assert mass == pytest.approx(1, abs=1e-4)  # the density is one, and the grid fine enough
        assert found <= delta
    found, mass = smallest_delta(pairs[0], epsilon, l2, scale / 6, width / 6)
    assert mass == pytest.approx(1, abs=1e-4)
    assert found > delta


def test_the_deviation_leaves_each_of_three_corners_a_third_of_delta():
    for epsilon, delta in ((0.3, 1e-5), (2.0, 1e-3), (10.0, 0.1)):
        l2, sigma = noise_for(100, epsilon, delta, 0.01)
        left = epsilon - math.log1p(1 / (8 * 100 * l2))
        tails = [special.ndtr(-(sigma * left / length - length / (2 * sigma))) for length in (2, 1, 1)]
        assert tails[0] == pytest.approx(delta / 3)
        assert sum(tails) <= delta


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 1.0, 50.0, 1e4])
def test_at_least_half_of_epsilon_is_left_for_the_noise(epsilon):
    for n in (1, 30, 10_000):
        l2, scale = noise_for(n, epsilon, 0.0, 0.001)
        assert l2 >= 0.001
        assert 2 / epsilon <= scale <= 4 / epsilon * (1 + 1e-9)
        if l2 > 0.001:
            assert scale == pytest.approx(4 / epsilon)


# --- what is released has that density --------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_tilt_read_back_from_the_released_parameters_follows_its_law(noise):
    target, count = make_small(), 300
    fit = ObjectivePerturbation(noise=noise, l2=0.1, radius=2.0).defend(target, 1.0).learner.fit
    rows = fit.rows.rows(target.members.X) * (2 * target.members.y - 1)[:, None]
    l2, scale = noise_for(40, 1.0, 1e-5 if noise == "gaussian" else 0.0, 0.1)
    read = []
    for seed in range(count):
        predict = fit(target.members.X, target.members.y, np.random.default_rng(seed)).predict
        theta = np.append(predict.coefficients[:, 0], predict.intercept) * 2.0
        read.append(tilts(theta, rows, l2) / scale)
    read = np.array(read)
    if noise == "gaussian":
        assert stats.kstest(read.ravel(), "norm").pvalue > 1e-3
        assert np.abs(np.cov(read.T) - np.eye(3)).max() < 4 * math.sqrt(2 / count)
    else:
        lengths = np.linalg.norm(read, axis=1)
        assert stats.kstest(lengths, stats.gamma(3).cdf).pvalue > 1e-3
        assert stats.kstest(read[:, 0] / lengths, stats.uniform(-1, 2).cdf).pvalue > 1e-3


# --- any target -------------------------------------------------------------------------------------------------------


def test_what_is_claimed_and_what_it_rests_on():
    target = make_small()
    made = ObjectivePerturbation().defend(target, 1.0)
    assert (made.guarantee.epsilon, made.guarantee.delta, made.guarantee.neighbours) == (1.0, 1e-5, "swap")
    assert all(clause in made.guarantee.rests_on for clause in (PUBLIC_ENCODING, *ALWAYS, EXACT))
    assert ObjectivePerturbation(noise="laplace").defend(target, 1.0).guarantee.delta == 0.0
    assert made.notes == ()
    (raised,) = ObjectivePerturbation(l2=0.01).defend(target, 0.1).notes
    assert "0.061" in raised


def test_only_two_classes_are_defended():
    X = np.random.default_rng(0).normal(size=(20, 1))
    values = make_target(Ridge().fit(X, X[:, 0]), (X, X[:, 0]), (X, X[:, 0] + 0.1))
    assert "classes" in ObjectivePerturbation().refuse(make_small(classes=3))
    assert "classes" in ObjectivePerturbation().refuse(values)
    assert ObjectivePerturbation().refuse(make_small()) is None
