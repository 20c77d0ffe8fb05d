"""Empirical lower bounds on ε: valid if the truth is known, close to it with many runs, and broken mechanisms are detected."""

import math

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, logit, ndtr, ndtri

from leakscope.bounds import epsilon
from leakscope.bounds.any_attack import gaussian_delta, gaussian_noise
from leakscope.bounds.epsilon import epsilon_from_pairs, epsilon_lower_bound

REPEATS = 400
#: A bound at 95 % is above the truth more often than this once in 30,000 tests.
MOST = 0.05 + 4 * np.sqrt(0.05 * 0.95 / REPEATS)

#: Scores on D and on D', n of each; the ε of the mechanism, and its δ.
MECHANISMS = {
    "nothing": (lambda rng, n: (rng.normal(0, 1, n), rng.normal(0, 1, n)), 0.0, 0.0),
    "randomised response": (
        lambda rng, n: (1.0 * (rng.random(n) < expit(1)), 1.0 * (rng.random(n) < expit(-1))),
        1.0,
        0.0,
    ),
    "five values": (
        lambda rng, n: tuple(np.round(np.clip(rng.laplace(mean, 1, n), -1, 2)) for mean in (1, 0)),
        1.0,
        0.0,
    ),
    "Laplace": (lambda rng, n: (rng.laplace(1, 1, n), rng.laplace(0, 1, n)), 1.0, 0.0),
    "Gaussian": (lambda rng, n: (rng.normal(1, 1, n), rng.normal(0, 1, n)), 1.0, gaussian_delta(1.0, 1.0, 1.0)),
    "Gaussian, small δ": (
        lambda rng, n: (rng.normal(1, 1, n), rng.normal(0, 1, n)),
        3.0,
        gaussian_delta(1.0, 3.0, 1.0),
    ),
}


def exceeds(inside, outside, truth, delta):
    """Whether the bound at 95 % is above the truth: some event refutes it."""
    families = ((inside, outside), (-outside, -inside), (-inside, -outside), (outside, inside))
    return any(epsilon._events(*pair, delta, 0.05 / 4).refute(truth) for pair in families)


@pytest.mark.parametrize("name", MECHANISMS)
def test_many_runs_exceed_the_truth_at_most_at_the_nominal_rate(name):
    draw, truth, delta = MECHANISMS[name]
    rng = np.random.default_rng(1)
    above = [exceeds(*draw(rng, 100), truth, delta) for _ in range(200)]
    assert np.mean(above) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)


def test_a_bound_is_above_what_an_event_refutes():
    rng = np.random.default_rng(2)
    inside, outside = MECHANISMS["Laplace"][0](rng, 300)
    bound = epsilon_lower_bound(inside, outside).value
    assert exceeds(inside, outside, bound, 0.0)
    assert not exceeds(inside, outside, bound + 1e-4, 0.0)


@pytest.mark.parametrize(("truth", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.1), (3.0, 0.02)])
def test_an_event_is_valid_by_enumeration_for_all_rates(truth, delta):
    """Two binomial samples at the limit p = e^ε q + δ: exact probabilities that the p-value is at most 5 % or 1 %."""
    n, m = 24, 30
    a, b = (counts.ravel() for counts in np.meshgrid(np.arange(1, n + 1), np.arange(m), indexing="ij"))
    p_values = epsilon._Melded(a, n, b, m, delta, np.ones(len(a))).p_values(truth)
    for q in np.linspace(0.001, 0.999, 60):
        p = min(math.exp(truth) * q + delta, 1 - math.exp(-truth) * max(1 - delta - q, 0.0))
        chances = stats.binom.pmf(a, n, p) * stats.binom.pmf(b, m, q)
        for level in (0.05, 0.01):
            assert chances[p_values <= level].sum() <= level + 1e-9


@pytest.mark.parametrize(
    ("a", "n", "b", "m", "e", "delta"),
    [(1000, 1000, 0, 1000, 5.2, 0.0), (30, 40, 9, 400, 1.0, 0.05), (19, 20, 10_000, 20_000, 0.3, 0.0), (1, 30, 0, 30, 0.1, 0.0)],
)  # fmt: skip
def test_the_p_value_of_an_event_is_the_mean_over_the_first_rate(a, n, b, m, e, delta):
    levels = (np.arange(20_000) + 0.5) / 20_000
    rates = np.maximum(stats.beta.ppf(levels, a, n - a + 1) - delta, 0) * math.exp(-e)
    expected = np.mean(stats.beta.sf(rates, b + 1, m - b))
    found = epsilon._Melded(np.array([a]), n, np.array([b]), m, delta, np.ones(1)).p_values(e)[0]
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-9)


def test_with_more_runs_the_bound_approaches_epsilon():
    rng = np.random.default_rng(3)
    draw, truth, _ = MECHANISMS["Laplace"]
    means = [np.mean([epsilon_lower_bound(*draw(rng, n)).value for _ in range(5)]) for n in (300, 3000, 30_000)]
    assert means[0] < means[1] < means[2] <= truth
    # {score > 1} has the rates 1/2 and 1/(2e); the level of one threshold is reached at about 3.5 deviations of ln(p/q).
    deviation = np.sqrt((1 + (2 * math.e - 1)) / 30_000)
    assert means[2] > truth - 5 * deviation


def test_a_perfect_attack_has_the_closed_form():
    """A is nearly 1, and a third of a quarter of 5 % is the level: (1 - e^-ε)^n."""
    level = 0.05 / 4 * epsilon.EXTREME_SHARE
    expected = -math.log(-math.expm1(math.log(level) / 900))
    assert epsilon_lower_bound(np.ones(900), np.zeros(900)).value == pytest.approx(expected, abs=2e-3)


def literal_p_value(right, guesses, pairs, e, delta):
    """The linear program, solved as such: probabilities of t right guesses, and by how much each exceeds its limit."""
    numbers, steps = guesses + 1, np.arange(guesses)
    limits = np.zeros((guesses + 1, numbers + guesses))
    limits[steps, steps + 1] = steps + 1
    limits[steps, steps] = -math.exp(e) * (guesses - steps)
    limits[steps, numbers + steps] = -1
    limits[guesses, numbers:] = 1
    total = np.r_[np.ones(numbers), np.zeros(guesses)]
    wanted = np.where((np.arange(numbers + guesses) >= right) & (total > 0), -1.0, 0.0)
    most = np.r_[np.zeros(guesses), pairs * delta]
    return -optimize.linprog(wanted, A_ub=limits, b_ub=most, A_eq=total[None], b_eq=[1.0]).fun


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-4, 2e-3, 0.1])
def test_the_p_value_is_that_of_the_linear_program(delta):
    for pairs, guesses in [(100, 30), (20, 20)]:
        for right in range(guesses // 2, guesses + 1, 4):
            for e in (0.0, 0.3, 2.0):
                found = epsilon._p_value(right, guesses, pairs, e, delta)
                assert found == pytest.approx(literal_p_value(right, guesses, pairs, e, delta), abs=1e-6)


def test_the_numbers_that_the_paper_prints_are_reached():
    # arXiv:2305.08846v1: Appendix D, 75 of 100 guesses right, and section 7: 0.673 and 2.675.
    assert epsilon._invert(75, 100, 1000, 1e-4, 0.05) == pytest.approx(0.695, abs=5e-4)
    assert epsilon._invert(1439, 1510, 100_000, 1e-5, 0.05) == pytest.approx(2.803, abs=1e-3)


def response(rng, m, e):
    """Randomised response per pair: +1 where it tells the truth."""
    return np.where(rng.random(m) < expit(e), 1.0, -1.0)


@pytest.mark.parametrize("e", [0.0, 0.5, 2.0])
def test_one_run_is_valid_by_enumeration(e):
    """Of 30 pairs the number of right answers decides, since there is one number of guesses only."""
    chance = 0.0
    for right in range(31):
        told = np.repeat([1.0, -1.0], [right, 30 - right])
        chance += stats.binom.pmf(right, 30, expit(e)) * (epsilon_from_pairs(told, -told).value > e)
    assert 0 < chance <= 0.05


@pytest.mark.parametrize("e", [0.0, 1.0])
def test_one_run_is_valid_where_the_number_of_guesses_is_chosen(e):
    rng = np.random.default_rng(5)
    bounds = []
    for _ in range(REPEATS):
        told = response(rng, 1000, e) * rng.exponential(1, 1000)  # how loud an answer is says nothing
        bounds.append(epsilon_from_pairs(told, -told).value)
    assert np.mean(np.array(bounds) > e) <= MOST


def test_one_run_is_nearly_tight_for_many_records():
    told = response(np.random.default_rng(6), 20_000, 1.0)
    numbers = len([k for k in range(20) if 20_000 >> k >= epsilon.FEWEST_GUESSES])
    deviation = 1 / np.sqrt(20_000 * expit(1) * expit(-1))  # of the logit of the share of right guesses
    reach = -ndtri(0.05 / numbers)
    assert 1 - (reach + 4) * deviation < epsilon_from_pairs(told, -told).value < 1 - (reach - 4) * deviation


@pytest.mark.parametrize(("delta", "least"), [(1e-4, 0.5), (0.02, 0.0)])
def test_delta_is_taken_into_account(delta, least):
    """Each pair is given away with probability δ, and otherwise answered at random: (1, δ)-private, but not (1, 0)."""
    rng = np.random.default_rng(7)
    with_delta, without = [], []
    for _ in range(100):
        told = np.where(rng.random(2000) < delta, 5.0, response(rng, 2000, 1.0))
        with_delta.append(epsilon_from_pairs(told, -told, delta).value)
        without.append(epsilon_from_pairs(told, -told).value)
    assert np.mean(np.array(with_delta) > 1) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 100)
    assert np.mean(with_delta) >= least
    if delta * 2000 > epsilon.FEWEST_GUESSES:
        assert np.mean(np.array(without) > 1) > 0.5


def test_a_mechanism_that_gives_all_away_once_in_a_hundred_times():
    """(0, δ)-private: the bound may be wrong when it happens, and must be 0 nearly always."""
    rng = np.random.default_rng(8)
    bounds = []
    for _ in range(REPEATS):
        told = np.ones(64) if rng.random() < 0.01 else response(rng, 64, 0.0)
        bounds.append(epsilon_from_pairs(told, -told, delta=0.01).value)
    assert np.mean(np.array(bounds) > 0) <= MOST


def test_delta_costs_and_a_small_one_costs_little():
    told = response(np.random.default_rng(9), 5000, 2.0)
    bounds = [epsilon_from_pairs(told, -told, delta=delta).value for delta in (0.0, 1e-12, 1e-6, 1e-4, 1e-2)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[1] == pytest.approx(bounds[0], abs=1e-5)
    assert bounds[-1] < bounds[0] - 0.05


def test_a_lookup_model_gives_a_bound_that_grows_like_the_logarithm_of_the_pairs():
    for m in (100, 1000, 10_000):
        numbers = len([k for k in range(20) if m >> k >= epsilon.FEWEST_GUESSES])
        expected = logit((0.05 / numbers) ** (1 / m))
        assert epsilon_from_pairs(np.ones(m), np.zeros(m)).value == pytest.approx(expected, rel=1e-9)
        assert expected == pytest.approx(math.log(m / math.log(numbers / 0.05)), abs=0.05)


def test_an_attack_that_knows_the_other_half_needs_the_halves_named():
    """What is told is whether the coins of two pairs, one of each half, agree, by randomised response with ε = 1.

    Who knows one half guesses the other, and both guesses are right or wrong together: too many agree for one binomial.
    """
    half = np.repeat([0, 1], 250)
    named = unnamed = 0.0
    for right in range(251):
        told = np.tile(np.repeat([1.0, -1.0], [right, 250 - right]), 2)
        told[250:] *= 2
        chance = stats.binom.pmf(right, 250, expit(1))
        # Only the number of right guesses in either half counts here: all guesses of a half are equally loud.
        if epsilon._invert(right, 250, 250, 0.0, 0.025) > 1:
            named += chance
        if epsilon._invert(2 * right, 500, 500, 0.0, 0.05) > 1:
            unnamed += chance
        assert epsilon_from_pairs(told, -told, half=half).value == max(
            epsilon_from_pairs(told[half == k], -told[half == k], confidence=0.975).value for k in (0, 1)
        )
    assert named <= 0.05 < unnamed


def gaussian_pairs(rng, m, e, delta):
    """A Gaussian mechanism for each pair, (e, δ)-private for swaps: one number, whose sign the coin decides."""
    told = rng.normal(1 / (2 * gaussian_noise(e, delta, 1.0)), 1, m)
    return told, -told


@pytest.mark.parametrize("e", [1.0, 4.0])
def test_the_gaussian_curve_is_valid_by_enumeration(e):
    """One Gaussian number per pair: a guess is right with probability Φ(μ/2), and every number of guesses is tested."""
    mu = 1 / gaussian_noise(e, 1e-5, 1.0)
    for m in (30, 200, 1000):
        right = np.arange(m + 1)
        refuted = epsilon._refute_gaussian(right, np.full(m + 1, m), m, np.array([mu]), 0.05)[:, 0]
        assert stats.binom.pmf(right, m, ndtr(mu / 2))[refuted].sum() <= 0.05


def test_the_gaussian_curve_is_valid_where_some_pairs_choose_the_number_of_guesses():
    rng = np.random.default_rng(12)
    bounds = [epsilon_from_pairs(*gaussian_pairs(rng, 200, 2.0, 1e-5), 1e-5, curve="gaussian").value for _ in range(20)]
    assert np.mean(np.array(bounds) > 2.0) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 20)


@pytest.mark.parametrize(("e", "least"), [(1.0, 0.3), (4.0, 0.5), (8.0, 0.57)])
def test_the_gaussian_curve_is_closer_to_the_truth(e, least):
    rng = np.random.default_rng(13)
    pairs = [gaussian_pairs(rng, 5000, e, 1e-5) for _ in range(3)]
    close = np.mean([epsilon_from_pairs(*pair, 1e-5, curve="gaussian").value for pair in pairs])
    assert close > least * e
    assert close > np.mean([epsilon_from_pairs(*pair, 1e-5).value for pair in pairs])


def test_the_gaussian_recursion_is_that_of_the_paper():
    """The same sums one number of right guesses at a time."""

    def literal(v, c, m, mu, level):
        hit, miss = level * v / m, level * (c - v) / m
        for t in range(v - 1, -1, -1):
            needed = max(miss, stats.norm.cdf(stats.norm.ppf(hit) - mu))
            hit, miss = min(hit + t / (c - t) * (needed - miss), 1.0), needed
        return hit + miss > c / m

    right, guesses, mu = np.array([30, 55, 90]), np.array([40, 80, 100]), np.linspace(0.05, 3, 12)
    expected = [[literal(v, c, 120, one, 0.03) for one in mu] for v, c in zip(right, guesses, strict=True)]
    assert np.array_equal(epsilon._refute_gaussian(right, guesses, 120, mu, 0.03), expected)
    assert 0 < np.mean(expected) < 1
