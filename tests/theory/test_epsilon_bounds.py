"""Empirical lower bounds on ε: valid where the truth is known, close to it with many runs, and broken mechanisms are caught."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit, ndtri

from leakscope import epsilon
from leakscope.bounds import gaussian_delta
from leakscope.epsilon import epsilon_from_pairs, epsilon_lower_bound

REPEATS = 400
#: A bound at 95 % is above the truth more often than this once in 30,000 tests.
MOST = 0.05 + 4 * np.sqrt(0.05 * 0.95 / REPEATS)

#: Scores on D and on D', n of each; the ε of the mechanism, and its δ.
MECHANISMS = {
    "nothing": (lambda rng, n: (rng.normal(0, 1, n), rng.normal(0, 1, n)), 0.0, 0.0),
    "randomised response": (lambda rng, n: (rng.random(n) < expit(1), rng.random(n) < expit(-1)), 1.0, 0.0),
    "Laplace": (lambda rng, n: (rng.laplace(1, 1, n), rng.laplace(0, 1, n)), 1.0, 0.0),
    "Gaussian": (lambda rng, n: (rng.normal(1, 1, n), rng.normal(0, 1, n)), 1.0, gaussian_delta(1.0, 1.0, 1.0)),
    "Gaussian, small δ": (
        lambda rng, n: (rng.normal(1, 1, n), rng.normal(0, 1, n)),
        3.0,
        gaussian_delta(1.0, 3.0, 1.0),
    ),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_many_runs_exceed_the_truth_at_most_at_the_nominal_rate(name):
    draw, truth, delta = MECHANISMS[name]
    rng = np.random.default_rng(1)
    bounds = [epsilon_lower_bound(*draw(rng, 400), delta).value for _ in range(REPEATS)]
    assert np.mean(np.array(bounds) > truth) <= MOST


def test_a_threshold_judged_on_the_runs_that_chose_it_breaks_the_bound():
    """Which is why some of the runs choose and the others judge."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(1000):
        inside, outside = MECHANISMS["nothing"][0](rng, 100)
        thresholds = epsilon._candidates(np.concatenate([inside, outside]))
        wrong += epsilon._ratios(inside, outside, thresholds, 0.0, 0.025).max() > 0
    assert wrong / 1000 > 0.05 + 4 * np.sqrt(0.05 * 0.95 / 1000)


def test_with_more_runs_the_bound_approaches_epsilon():
    rng = np.random.default_rng(3)
    draw, truth, _ = MECHANISMS["Laplace"]
    means = [np.mean([epsilon_lower_bound(*draw(rng, n)).value for _ in range(20)]) for n in (300, 3000, 30_000)]
    assert means[0] < means[1] < means[2] <= truth
    # {score ≥ 1} has the rates 1/2 and 1/(2e), and the bound is 2 deviations of ln(p/q) low, the choice about as many.
    deviation = np.sqrt((1 + (2 * math.e - 1)) / 20_000)
    assert means[2] > truth - 5 * deviation


@pytest.mark.parametrize("claim", [0.0, 1.0, 4.0])
def test_forgotten_noise_is_caught_at_any_claim_with_runs_in_proportion(claim):
    runs = math.ceil(6 * math.exp(claim)) + 6
    assert epsilon_lower_bound(np.ones(runs), np.zeros(runs)).value > claim


@pytest.mark.parametrize("claim", [1.0, 2.0])
def test_halved_sensitivity_is_caught_by_800_runs(claim):
    rng = np.random.default_rng(4)
    caught = [
        epsilon_lower_bound(rng.laplace(2 * claim, 1, 800), rng.laplace(0, 1, 800)).value > claim for _ in range(50)
    ]
    assert np.mean(caught) >= 0.9
    honest = [epsilon_lower_bound(rng.laplace(claim, 1, 800), rng.laplace(0, 1, 800)).value > claim for _ in range(50)]
    assert np.mean(honest) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 50)


def test_a_perfect_attack_has_the_closed_form():
    judged = 900 - 300
    rate = 0.025 ** (1 / judged)
    assert epsilon_lower_bound(np.ones(900), np.zeros(900)).value == pytest.approx(
        math.log(rate / (1 - rate)), rel=1e-9
    )


@pytest.mark.parametrize(("often", "seldom", "delta"), [(25, 3, 0.0), (30, 0, 0.1), (10, 10, 0.0), (7, 29, 0.0)])
def test_the_ratio_of_rates_agrees_with_binomial_tails(often, seldom, delta):
    found = float(epsilon._log_ratio(np.array([often]), 30, np.array([seldom]), 40, delta, 0.025)[0])
    # At the lower end so many successes or more have the probability 0.025, and at the upper end so many or fewer.
    low = root(lambda rate: stats.binom.sf(often - 1, 30, rate), 0.025)
    high = root(lambda rate: stats.binom.sf(seldom, 40, rate), 0.975)
    assert found == pytest.approx(math.log((low - delta) / high), abs=1e-9)


def root(growing, level):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if growing(middle) > level else (middle, high)
    return low


def literal_p_value(right, guesses, pairs, e, delta):
    """The theorem, term by term."""
    q = math.exp(e) / (1 + math.exp(e))
    mass = [math.comb(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in range(guesses + 1)]
    steps = [sum(mass[max(0, right - i) : right]) / i for i in range(1, pairs + 1)]
    return min(1.0, sum(mass[right:]) + 2 * pairs * delta * max(steps))


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-4, 2e-3])
def test_the_p_value_is_that_of_the_theorem(delta):
    for pairs, guesses in [(200, 200), (200, 60), (40, 20)]:
        for right in range(guesses // 2, guesses + 1, 3):
            for e in (0.0, 0.3, 1.0, 3.0):
                fast, slow = (
                    epsilon._p_value(right, guesses, pairs, e, delta),
                    literal_p_value(right, guesses, pairs, e, delta),
                )
                assert fast == pytest.approx(slow, rel=1e-9, abs=1e-13)


def test_the_p_value_is_never_below_the_theorem_and_grows_with_epsilon_at_any_delta():
    grid = np.linspace(0, 4, 60)
    for delta in (1e-3, 0.01, 0.1, 0.5):
        for right in (25, 40, 50):
            values = np.array([epsilon._p_value(right, 50, 120, e, delta) for e in grid])
            assert np.all(np.diff(values) >= -1e-12)
            assert np.all(values >= np.array([literal_p_value(right, 50, 120, e, delta) for e in grid]) - 1e-12)


def test_the_numbers_that_the_paper_prints():
    # arXiv:2305.08846v1: Appendix D, 75 of 100 guesses right, and section 7, where it prints 2.675 without rounding up.
    assert epsilon._invert(75, 100, 1000, 1e-4, 0.05) == pytest.approx(0.673, abs=5e-4)
    assert epsilon._invert(1439, 1510, 100_000, 1e-5, 0.05) == pytest.approx(2.675, abs=1e-3)


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
