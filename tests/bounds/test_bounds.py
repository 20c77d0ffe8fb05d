"""The ceilings hold over laws whose total variation is known, are reached where theory says so, and are stable."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import integrate, special

from leakscope.bounds.any_attack import (
    advantage_from_epsilon,
    advantage_from_epsilon_loose,
    advantage_from_kl,
    entropy,
    gaussian_delta,
    gaussian_noise,
    information_ceiling,
    laplace_epsilon,
    laplace_noise,
    success_from_advantage,
)
from leakscope.core.errors import InputError


def random_laws(count, values, seed=0):
    """Pairs of laws on a few values, from nearly equal to nearly apart."""
    rng = np.random.default_rng(seed)
    sharpness = np.exp(rng.uniform(-3, 2.5, size=(count, 1)))
    first, second = (special.softmax(sharpness * rng.normal(size=(count, values)), axis=1) for _ in range(2))
    return first, second


def total_variation(p, q):
    return np.abs(p - q).sum(axis=-1) / 2


def divergence(p, q):
    return special.rel_entr(p, q).sum(axis=-1)


def symmetric(p, q):
    return divergence(p, q) + divergence(q, p)


# --- from the divergence ---


def test_no_test_between_two_laws_passes_the_bound_from_their_divergence():
    p, q = random_laws(20_000, 4)
    J = symmetric(p, q)
    bound = advantage_from_kl(J)
    assert J.min() < 1e-3
    assert J.max() > 10
    assert (total_variation(p, q) <= bound + 1e-12).all()
    # not idle: two coins with shares ½ ± t/2 have J = 2t·ln((1 + t)/(1 − t)), and for small t the bound is t itself
    t = 1e-3
    assert advantage_from_kl(2 * t * math.log((1 + t) / (1 - t))) == pytest.approx(t, rel=1e-6)


def test_the_bound_on_the_mean_holds_for_a_mixed_population():
    # [farokhi2020, Thm 1, corrected]: the mean advantage over records against the mean divergence over records
    p, q = random_laws(2_000, 3, seed=1)
    for part in np.array_split(np.random.default_rng(2).permutation(2_000), 50):
        mean_advantage = total_variation(p[part], q[part]).mean()
        assert mean_advantage <= advantage_from_kl(float(symmetric(p[part], q[part]).mean()))


def test_the_two_inequalities_change_places_where_they_cross():
    crossing = 3.18724  # J/4 = 1 − exp(−J/2)
    assert advantage_from_kl(3.0) == pytest.approx(math.sqrt(3) / 2, rel=1e-12)
    assert advantage_from_kl(3.3) == pytest.approx(math.sqrt(1 - math.exp(-1.65)), rel=1e-12)
    assert math.sqrt(crossing) / 2 == pytest.approx(math.sqrt(1 - math.exp(-crossing / 2)), abs=1e-5)
    grid = advantage_from_kl(np.linspace(0, 60, 500))
    assert (np.diff(grid) >= 0).all()
    assert (np.diff(grid, 2) <= 1e-15).all()  # concave, which the step to the mean needs
    assert grid[-1] <= 1


def test_the_printed_theorem_would_call_a_coin_impossible():
    # with no leakage a coin is right half the time, more than the printed bound of 0 on the success
    assert advantage_from_kl(0.0) == 0.0
    assert success_from_advantage(advantage_from_kl(0.0)) == 0.5


# --- from differential privacy ---


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 0.01, 1.0])
def test_the_worst_mechanism_reaches_the_bound_from_epsilon(epsilon, delta):
    # the pair of laws that dominates every (ε, δ) mechanism (Kairouz, Oh and Viswanath 2015, supplement, Eq. 12 and 13)
    e = math.exp(epsilon)
    worst = np.array([delta, (1 - delta) * e / (1 + e), (1 - delta) / (1 + e), 0.0])
    assert total_variation(worst, worst[::-1]) == pytest.approx(advantage_from_epsilon(epsilon, delta), abs=1e-15)


def test_the_bound_from_epsilon_stays_below_yeoms_and_below_one():
    # [Yeom et al. 2018, Theorem 1]
    epsilon = np.array([0.0, 1e-9, 0.3, 3.0, 800.0, np.inf])
    bound = advantage_from_epsilon(epsilon)
    with np.errstate(over="ignore"):
        assert (bound <= np.expm1(epsilon)).all()
    assert bound[0] == 0
    assert bound[-1] == 1
    assert (advantage_from_epsilon(epsilon, 0.5) <= 1).all()


def test_the_loose_bound_is_yeoms_up_to_one_and_never_below_the_tight_one():
    # [tople2020, Lemma 2]
    epsilon = np.linspace(0, 0.69, 50)  # ln 2 = 0.6931 is where it reaches 1
    np.testing.assert_allclose(advantage_from_epsilon_loose(epsilon), np.expm1(epsilon), rtol=1e-15)
    wide = np.array([0.0, 1e-12, 0.5, math.log(2), 1.0, 50.0, 1e4, np.inf])
    loose = advantage_from_epsilon_loose(wide)
    assert (loose >= advantage_from_epsilon(wide)).all()
    assert (loose[3:] == 1).all()
    assert advantage_from_epsilon(math.log(2)) == pytest.approx(1 / 3)  # where the loose one says nothing any more


# --- Laplace noise ---


def test_laplace_noise_keeps_its_promise_and_wastes_nothing():
    # the log-likelihood ratio of two vectors of Laplace noise is at most the absolute distance of their centres over b
    rng = np.random.default_rng(0)
    first, second, scale = rng.normal(size=5), rng.normal(size=5), 0.7
    epsilon = laplace_epsilon(float(np.abs(first - second).sum()), scale)
    points = rng.normal(scale=5, size=(100_000, 5))
    ratios = (np.abs(points - second) - np.abs(points - first)).sum(axis=1) / scale
    assert (np.abs(ratios) <= epsilon * (1 + 1e-12)).all()
    beyond = first + 10 * np.sign(first - second)  # on the far side of the first from the second, in every direction
    assert (np.abs(beyond - second) - np.abs(beyond - first)).sum() / scale == pytest.approx(epsilon, rel=1e-12)


def test_laplace_noise_and_epsilon_undo_each_other():
    epsilon = np.array([0.01, 1.0, 30.0])
    np.testing.assert_allclose(
        [laplace_epsilon(3.0, scale) for scale in laplace_noise(epsilon, 3.0)], epsilon, rtol=1e-15
    )
    assert laplace_epsilon(0.0, 1.0) == 0.0
    assert laplace_noise(1.0, 0.0) == 0.0


# --- information ---


def test_the_information_never_passes_its_ceiling():
    # [farokhi2020, Cor. 1]
    p1, p0 = random_laws(5_000, 4, seed=3)
    for share in (0.02, 0.3, 0.5, 0.9):
        mixture = share * p1 + (1 - share) * p0
        information = share * divergence(p1, mixture) + (1 - share) * divergence(p0, mixture)
        assert (information <= information_ceiling(symmetric(p1, p0), share) + 1e-12).all()


def test_the_ceiling_is_the_right_product_of_shares_and_reached_at_both_ends():
    assert information_ceiling(0.5, 0.5) == 0.125  # J/4
    assert information_ceiling(0.5, 0.1) == pytest.approx(0.09 * 0.5, rel=1e-12)
    assert information_ceiling(math.inf, 0.1) == entropy(0.1) == pytest.approx(0.3250829733914482, rel=1e-12)
    assert information_ceiling(math.inf, 1.0) == 0.0
    # laws that are nearly the same: I = α₀α₁J/2 to first order, so the ceiling is no more than twice the truth
    p1, p0 = np.array([0.501, 0.499]), np.array([0.5, 0.5])
    mixture = 0.2 * p1 + 0.8 * p0
    information = 0.2 * divergence(p1, mixture) + 0.8 * divergence(p0, mixture)
    assert information_ceiling(float(symmetric(p1, p0)), 0.2) == pytest.approx(2 * information, rel=1e-3)


# --- Gaussian noise ---


def integrated_delta(sigma, epsilon, sensitivity):
    """∫ max(0, p − e^ε q) for p = N(Δ, σ²), q = N(0, σ²), literally."""

    def excess(x):
        p, q = (math.exp(-(((x - mean) / sigma) ** 2) / 2) for mean in (sensitivity, 0.0))
        return max(0.0, p - math.exp(epsilon) * q) / (sigma * math.sqrt(2 * math.pi))

    cut = epsilon * sigma**2 / sensitivity + sensitivity / 2  # where p = e^ε q
    end = max(cut, sensitivity) + 12 * sigma
    peak = [sensitivity] if cut < sensitivity else None
    return integrate.quad(excess, cut, end, points=peak, epsabs=0, epsrel=1e-10, limit=200)[0]


@pytest.mark.parametrize("epsilon", [0.001, 0.3, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
def test_delta_is_the_hockey_stick_divergence(epsilon, sigma):
    expected = integrated_delta(sigma, epsilon, 1.7)
    assert gaussian_delta(sigma, epsilon, 1.7) == pytest.approx(expected, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.1, 0.999])
def test_noise_and_delta_undo_each_other_for_any_epsilon(delta):
    epsilon = np.array([1e-3, 0.1, 1.0, 7.0, 50.0, 1e4])
    sigma = gaussian_noise(epsilon, delta, 3.0)
    # 64 halvings leave 1e-13; a tail of φ(t)(R(t₋) − R(t₊)) loses ε/a² units in the last place, 1e-10 at the worst here
    np.testing.assert_allclose(
        [gaussian_delta(s, e, 3.0) for s, e in zip(sigma, epsilon, strict=True)], delta, rtol=1e-9
    )
    assert (np.diff(sigma) < 0).all()
    just_less = [gaussian_delta(0.999 * s, e, 3.0) for s, e in zip(sigma, epsilon, strict=True)]
    assert (np.array(just_less) > delta).all()


def test_arrays_give_what_numbers_give():
    epsilon = np.array([0.2, 0.9])
    for method in ("analytic", "classic"):
        one_by_one = [gaussian_noise(float(e), 1e-6, 2.0, method) for e in epsilon]
        np.testing.assert_array_equal(gaussian_noise(epsilon, 1e-6, 2.0, method), one_by_one)
    assert isinstance(gaussian_noise(0.2, 1e-6, 2.0), float)


@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.01, 0.3])
def test_the_analytic_noise_is_never_more_than_the_classic(delta):
    epsilon = np.geomspace(1e-3, 0.999, 30)
    classic = gaussian_noise(epsilon, delta, 1.0, method="classic")
    assert (gaussian_noise(epsilon, delta, 1.0) <= classic).all()
    promised = [gaussian_delta(s, e, 1.0) for s, e in zip(classic, epsilon, strict=True)]
    assert max(promised) <= delta


def test_the_classic_formula_breaks_the_promise_at_large_epsilon():
    # why it is refused from ε = 1 on [farokhi2020, Prop. 1]: at ε = 30 its noise gives a δ thousands of times as large
    epsilon, delta = 30.0, 1e-5
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    assert gaussian_delta(sigma, epsilon, 1.0) > 100 * delta
    with pytest.raises(InputError, match="analytic"):
        gaussian_noise(epsilon, delta, 1.0, method="classic")


def test_noise_grows_with_the_sensitivity_alone():
    assert gaussian_noise(1.0, 1e-5, 6.0) == pytest.approx(6 * gaussian_noise(1.0, 1e-5, 1.0), rel=1e-15)
    assert gaussian_noise(1.0, 1e-5, 0.0) == 0.0
    assert gaussian_delta(2.0, 1.0, 0.0) == 0.0


def test_limits_of_delta():
    assert gaussian_delta(1e-6, 1.0, 1.0) == 1.0
    assert gaussian_delta(1e200, 1e-3, 1.0) == 0.0
    # at ε = 0 it is the total variation of the two Gaussians
    assert gaussian_delta(2.0, 0.0, 1.0) == pytest.approx(math.erf(1 / (4 * math.sqrt(2))), rel=1e-14)


WRONG = {
    advantage_from_kl: [(-1e-9,), (math.nan,), ("much",)],
    success_from_advantage: [(1.2,)],
    advantage_from_epsilon: [(-1.0,), (1.0, 1.5)],
    advantage_from_epsilon_loose: [(-1.0,)],
    laplace_epsilon: [(-1.0, 1.0), (1.0, 0.0)],
    laplace_noise: [(0.0, 1.0), (math.inf, 1.0), (1.0, math.inf)],
    entropy: [(-0.1,)],
    information_ceiling: [(1.0, 2.0)],
    gaussian_delta: [(0.0, 1.0, 1.0)],
    gaussian_noise: [(0.0, 1e-5, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1e-5, -1.0), (1.0, 1e-5, math.inf)],
    partial(gaussian_noise, method="best"): [(1.0, 1e-5, 1.0)],
}


@pytest.mark.parametrize(("function", "numbers"), [(one, numbers) for one, rows in WRONG.items() for numbers in rows])
def test_wrong_numbers_are_refused_in_words(function, numbers):
    with pytest.raises(InputError) as refusal:
        function(*numbers)
    assert len(str(refusal.value)) < 120
    assert "\n" not in str(refusal.value)
