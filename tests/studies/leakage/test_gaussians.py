"""Closed forms against numerical integration, and their limits."""

import numpy as np
import pytest
from scipy import integrate

from leakscope.studies.leakage.gaussians import (
    GaussianPair,
    canonical,
    information_per_divergence,
    renyi_divergence,
    swapped,
    symmetric_divergence,
)


def pair_of(scale, shift):
    return GaussianPair(np.atleast_1d(np.asarray(scale, float)), np.atleast_1d(np.asarray(shift, float)))


def densities(scale, shift):
    def first(x):
        return np.exp(-((x - shift) ** 2) / (2 * scale)) / np.sqrt(2 * np.pi * scale)

    def second(x):
        return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

    return first, second


def integral(function):
    return integrate.quad(function, -30, 30, limit=400, epsabs=1e-13, points=[-1, 0, 1])[0]


ONE_DIMENSION = [(1.0, 0.3), (0.7, 0.0), (0.9, -1.2), (1.4, 0.5)]


@pytest.mark.parametrize(("scale", "shift"), ONE_DIMENSION)
def test_symmetric_divergence_is_the_integral(scale, shift):
    first, second = densities(scale, shift)
    expected = integral(lambda x: (first(x) - second(x)) * np.log(first(x) / second(x)))
    assert symmetric_divergence(pair_of(scale, shift)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("order", [1.5, 2.0, 3.0])
@pytest.mark.parametrize(("scale", "shift"), ONE_DIMENSION)
def test_renyi_divergence_is_the_integral_or_infinite(scale, shift, order):
    value = renyi_divergence(pair_of(scale, shift), order)
    if order + (1 - order) * scale <= 0:
        assert np.isinf(value)
        return

    def powers(x):
        log_first = -((x - shift) ** 2) / (2 * scale) - np.log(2 * np.pi * scale) / 2
        return np.exp(order * log_first + (1 - order) * (-(x**2) - np.log(2 * np.pi)) / 2)

    expected = np.log(integral(powers)) / (order - 1)
    assert value == pytest.approx(expected, rel=1e-6)


def test_renyi_divergence_tends_to_kullback_leibler_and_to_the_largest_log_ratio():
    pair = pair_of([0.8, 0.95], [0.4, -0.2])
    both = sum(renyi_divergence(one, 1 + 1e-7) for one in (pair, swapped(pair)))
    assert both == pytest.approx(symmetric_divergence(pair), rel=1e-5)
    assert renyi_divergence(pair, 1e9) == pytest.approx(renyi_divergence(pair, np.inf), rel=1e-6)
    grid = np.linspace(-30, 30, 2_000_001)
    largest = sum(
        np.max(-np.log(scale) / 2 - (grid - shift) ** 2 / (2 * scale) + grid**2 / 2)
        for scale, shift in zip(pair.scale, pair.shift, strict=True)
    )
    assert renyi_divergence(pair, np.inf) == pytest.approx(largest, rel=1e-6)


def test_order_infinity_is_infinite_unless_narrower_in_every_direction():
    assert np.isinf(renyi_divergence(pair_of([0.5, 1.1], [0.0, 0.0]), np.inf))
    assert np.isinf(renyi_divergence(pair_of([1.0], [0.1]), np.inf))
    assert renyi_divergence(pair_of([1.0], [0.0]), np.inf) == 0
    narrower = pair_of([0.5, 0.9], [1.0, 0.0])
    assert np.isfinite(renyi_divergence(narrower, np.inf))
    assert np.isinf(renyi_divergence(swapped(narrower), np.inf))


@pytest.mark.parametrize(("scale", "shift"), [*ONE_DIMENSION, (0.999, 0.03), (0.9999, 0.0)])
@pytest.mark.parametrize("share", [0.5, 0.1, 1e-4])
def test_mutual_information_is_the_integral(scale, shift, share):
    # [farokhi2020, Def. 1, Eq. 3]
    first, second = densities(scale, shift)

    def integrand(x):
        mixture = share * first(x) + (1 - share) * second(x)
        return share * first(x) * np.log(first(x) / mixture) + (1 - share) * second(x) * np.log(second(x) / mixture)

    expected = integrate.quad(integrand, -15, 15, limit=800, epsabs=1e-16, points=[-3, -1, 0, 1, 3])[0]
    pair = pair_of(scale, shift)
    found = symmetric_divergence(pair) * information_per_divergence(pair, share)
    assert found == pytest.approx(expected, rel=0.02)


def test_information_keeps_its_digits_where_leakage_is_small():
    for shift in (1e-1, 1e-3, 1e-6):
        ratio = information_per_divergence(pair_of([1.0] * 10, [shift] * 10), 0.3)
        assert ratio == pytest.approx(0.3 * 0.7 / 2, rel=max(1e-4, 10 * shift**2))
    assert information_per_divergence(pair_of([1.0], [0.0]), 0.3) == pytest.approx(0.3 * 0.7 / 2)


def test_canonical_form_has_the_divergence_of_the_matrices():
    rng = np.random.default_rng(0)
    covariances = [part @ part.T + np.eye(4) for part in rng.normal(size=(2, 4, 4))]
    means = rng.normal(size=(2, 4))
    form = canonical(means[0], covariances[0], means[1], covariances[1])
    inverse, delta = [np.linalg.inv(covariance) for covariance in covariances], means[1] - means[0]
    # [farokhi2020, Remark 3] with trace(Σ₀⁻¹Σ₁) and the transpose
    expected = 0.5 * (
        np.trace(inverse[1] @ covariances[0]) + np.trace(inverse[0] @ covariances[1]) - 8 + delta @ sum(inverse) @ delta
    )
    assert symmetric_divergence(form.pair) == pytest.approx(expected, rel=1e-10)
    moved = (rng.multivariate_normal(means[1], covariances[1], 10) - form.centre) @ form.map
    assert moved.shape == (10, 4)
    np.testing.assert_allclose(form.map.T @ covariances[1] @ form.map, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(form.map.T @ covariances[0] @ form.map, np.diag(form.pair.scale), atol=1e-12)
