"""Confidence intervals: coverage, comparison with literal references, and edge cases."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from leakscope.core import intervals
from leakscope.core.ranking import Ranking, Scale, split

REPEATS = 1000


def covers(make, truth, seed, repeats=REPEATS):
    """Share of repetitions whose interval contains the true value."""
    rng = np.random.default_rng(seed)
    found = [make(rng) for _ in range(repeats)]
    return np.mean([estimate.low <= truth <= estimate.high for estimate in found])


def least(nominal=0.95, repeats=REPEATS):
    """Coverage below which a valid interval falls once in 30,000 tests."""
    return nominal - 4 * np.sqrt(nominal * (1 - nominal) / repeats)


def ranking_of(members, nonmembers):
    member = np.repeat([True, False], [len(members), len(nonmembers)])
    return Ranking.of(split(np.concatenate([members, nonmembers]), member))


def independent(stratum):
    """Strata that do not depend on each other."""
    return Scale(stratum, stratum)


def paired(first, second, member, scale):
    return intervals.paired_auc_difference(split(first, member, scale), split(second, member, scale))(0.95)


def literal_auc(members, nonmembers):
    """The definition, pair by pair, with DeLong's variance from the pairs."""
    pairs = np.array([[float(s > t) + 0.5 * float(s == t) for t in nonmembers] for s in members])
    rows, columns = pairs.mean(axis=1), pairs.mean(axis=0)
    return pairs.mean(), rows.var(ddof=1) / len(rows) + columns.var(ddof=1) / len(columns)


@pytest.mark.parametrize("ties", [False, True])
def test_ranking_agrees_with_the_definition(ties):
    rng = np.random.default_rng(1)
    s, t = rng.normal(0.5, 1, 40), rng.normal(0, 1, 60)
    if ties:
        s, t = np.round(s, 1), np.round(t, 1)
    value, variance = literal_auc(s, t)
    ranking = ranking_of(s, t)
    assert ranking.auc == pytest.approx(value, abs=1e-14)
    assert ranking.auc_deviation == pytest.approx(np.sqrt(variance), rel=1e-12)


def test_auc_depends_on_the_order_of_scores_only():
    rng = np.random.default_rng(2)
    s, t = rng.normal(0.7, 1, 100), rng.normal(0, 1, 80)
    plain, warped = (intervals.auc(ranking_of(f(s), f(t))) for f in (np.array, np.exp))
    assert (plain.value, plain.low, plain.high) == (warped.value, warped.low, warped.high)


def test_auc_of_swapped_sides_is_the_complement():
    rng = np.random.default_rng(3)
    s, t = rng.normal(0.7, 1, 100), rng.normal(0, 1, 80)
    one, other = intervals.auc(ranking_of(s, t)), intervals.auc(ranking_of(t, s))
    assert (one.value, one.low, one.high) == pytest.approx((1 - other.value, 1 - other.high, 1 - other.low))


@pytest.mark.parametrize("distance", [0.0, 0.5, 1.5, 3.0])
@pytest.mark.parametrize("n", [30, 200])
def test_auc_interval_covers(n, distance):
    truth = ndtr(distance / np.sqrt(2))
    make = lambda rng: intervals.auc(ranking_of(rng.normal(distance, 1, n), rng.normal(0, 1, n)))  # noqa: E731
    assert covers(make, truth, seed=n) >= least()


def test_auc_interval_covers_with_ties_and_unequal_sides():
    values = np.arange(4)
    weights_in, weights_out = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.25, 0.25, 0.25, 0.25])
    wins = values[:, None] > values[None, :]
    truth = weights_in @ (wins + 0.5 * np.eye(4)) @ weights_out
    make = lambda rng: intervals.auc(  # noqa: E731
        ranking_of(rng.choice(4, 60, p=weights_in).astype(float), rng.choice(4, 200, p=weights_out).astype(float))
    )
    assert covers(make, truth, seed=4) >= least()


def test_auc_interval_is_not_too_wide():
    """DeLong's interval has the width that theory gives: at chance the variance is 1/(6n)."""
    rng = np.random.default_rng(5)
    n = 2000
    estimate = intervals.auc(ranking_of(rng.normal(size=n), rng.normal(size=n)))
    assert estimate.high - estimate.low == pytest.approx(2 * 1.96 / np.sqrt(6 * n), rel=0.05)


@pytest.mark.parametrize(("members", "nonmembers", "value"), [(1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.5)])
def test_auc_without_disagreement_keeps_an_honest_interval(members, nonmembers, value):
    n = 300
    estimate = intervals.auc(ranking_of(np.full(n, members), np.full(n, nonmembers)))
    assert estimate.value == value
    width = estimate.high - estimate.low
    assert 0.5 / n < width < 10 / n


def test_one_record_a_side_says_nothing():
    estimate = intervals.auc(ranking_of(np.array([1.0]), np.array([0.0])))
    assert (estimate.low, estimate.high) == (0.0, 1.0)


def correlated_scores(rng, n):
    """Two scores of the same records with AUCs Φ(1/√2) and Φ(0.6/√2)."""
    member = np.repeat([True, False], n)
    common = np.sqrt(0.5) * rng.normal(size=2 * n)
    return [shift * member + np.sqrt(0.5) * rng.normal(size=2 * n) + common for shift in (1.0, 0.6)], member


@pytest.mark.parametrize("strata", [1, 3])
def test_paired_difference_covers(strata):
    n, truth = 150, ndtr(1.0 / np.sqrt(2)) - ndtr(0.6 / np.sqrt(2))

    def make(rng):
        (first, second), member = correlated_scores(rng, n)
        return paired(first, second, member, independent(np.arange(2 * n) % strata))

    assert covers(make, truth, seed=6) >= least()


def test_pairing_narrows_the_difference():
    rng = np.random.default_rng(7)
    member = np.repeat([True, False], 300)
    scores = rng.normal(member, 1.0)
    almost = scores + 0.1 * rng.normal(size=600)
    joint = paired(scores, almost, member, None)
    alone = [intervals.auc(Ranking.of(split(each, member))) for each in (scores, almost)]
    unpaired = intervals.difference(*alone)
    assert joint.value == pytest.approx(unpaired.value)
    assert joint.high - joint.low < 0.3 * (unpaired.high - unpaired.low)


# --- strata: folds whose scores have different scales -----------------------------------------------------------------


def test_a_scale_of_its_own_in_each_stratum_makes_no_difference():
    rng = np.random.default_rng(20)
    member, stratum = np.arange(600) % 2 == 0, rng.integers(0, 3, 600)
    scale = independent(stratum)
    scores = rng.normal(1.0 * member, 1.0)
    moved = np.exp(scores) * np.array([1.0, 100.0, 0.01])[stratum] + np.array([0.0, 50.0, -9.0])[stratum]
    plain, other = Ranking.of(split(scores, member, scale)), Ranking.of(split(moved, member, scale))
    assert intervals.auc(plain) == intervals.auc(other)
    assert intervals.tpr_at_fpr(plain, 0.1) == intervals.tpr_at_fpr(other, 0.1)
    first, second = (paired(s, scores, member, scale) for s in (scores, moved))
    assert first == second


def test_the_auc_over_strata_is_the_mean_of_literal_aucs():
    rng = np.random.default_rng(21)
    member, stratum = np.arange(120) % 2 == 0, np.arange(120) // 2 % 3
    scores = rng.normal(1.0 * member, 1.0)
    parts = [literal_auc(scores[member & (stratum == k)], scores[~member & (stratum == k)]) for k in range(3)]
    deviations = np.sqrt([variance for _, variance in parts])
    for scale, error in (
        (independent(stratum), np.sqrt(np.sum(deviations**2)) / 3),  # independent strata: squares add up
        (Scale(stratum, np.zeros(120, int)), np.sum(deviations) / 3),  # strata of one block: errors add up
    ):
        ranking = Ranking.of(split(scores, member, scale))
        assert ranking.auc == pytest.approx(np.mean([value for value, _ in parts]))
        assert ranking.auc_deviation == pytest.approx(error)


@pytest.mark.parametrize("strata", [2, 5])
@pytest.mark.parametrize("distance", [0.0, 1.0])
def test_intervals_over_strata_cover(strata, distance):
    n = 300

    def draw(rng):
        member = np.repeat([True, False], n)
        return Ranking.of(split(rng.normal(distance * member, 1.0), member, independent(np.arange(2 * n) % strata)))

    truth = ndtr(distance / np.sqrt(2))
    assert covers(lambda rng: intervals.auc(draw(rng)), truth, seed=22) >= least()
    for fpr in (0.1, 0.04, 0.01):
        truth = 1 - ndtr(ndtri(1 - fpr) - distance)
        assert covers(lambda rng, fpr=fpr: intervals.tpr_at_fpr(draw(rng), fpr), truth, seed=23, repeats=500) >= least(
            repeats=500
        )


def test_strata_without_both_kinds_count_nothing():
    scores = np.array([5.0, 4.0, 1.0, 2.0, 9.0])
    member = np.array([True, True, False, False, False])
    ranking = Ranking.of(split(scores, member, independent(np.array([0, 0, 0, 0, 1]))))
    assert ranking.auc == 1.0


@pytest.mark.parametrize("distance", [0.0, 0.5, 1.5, 3.0])
@pytest.mark.parametrize("fpr", [0.1, 0.05, 0.01])
def test_tpr_interval_covers(distance, fpr):
    truth = 1 - ndtr(ndtri(1 - fpr) - distance)
    n = 400
    make = lambda rng: intervals.tpr_at_fpr(ranking_of(rng.normal(distance, 1, n), rng.normal(0, 1, n)), fpr)  # noqa: E731
    assert covers(make, truth, seed=8) >= least()


def test_tpr_is_a_bound_exactly_where_the_sample_is_too_small():
    rng = np.random.default_rng(9)
    kinds = {
        n: intervals.tpr_at_fpr(ranking_of(rng.normal(size=n), rng.normal(size=n)), 0.01).kind for n in (999, 1000)
    }
    assert kinds == {999: "upper bound", 1000: "estimate"}


def test_tpr_agrees_with_counting():
    rng = np.random.default_rng(10)
    s, t = rng.normal(1, 1, 500), rng.normal(0, 1, 500)
    threshold = np.sort(t)[::-1][50]  # the 51st largest: fifty non-members lie above
    assert intervals.tpr_at_fpr(ranking_of(s, t), 0.1).value == pytest.approx(np.mean(s > threshold))


def test_among_equal_scores_the_attacker_picks_at_random():
    """All tied: equal rates. Half of the non-members tied with all members: TPR 0.2 at FPR 0.1."""
    assert intervals.tpr_at_fpr(ranking_of(np.zeros(500), np.zeros(500)), 0.1).value == pytest.approx(0.1)
    assert intervals.tpr_at_fpr(ranking_of(np.ones(500), np.repeat([0.0, 1.0], 250)), 0.1).value == pytest.approx(0.2)


@pytest.mark.parametrize("fpr", [0.05, 0.2, 0.5])
def test_tpr_interval_covers_with_ties(fpr):
    """Scores 0, 1, 2, 3: the ROC curve is linear between its corners."""
    weights_in, weights_out = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])
    truth = np.interp(fpr, np.cumsum([0, *weights_out[::-1]]), np.cumsum([0, *weights_in[::-1]]))
    make = lambda rng: intervals.tpr_at_fpr(  # noqa: E731
        ranking_of(rng.choice(4, 300, p=weights_in).astype(float), rng.choice(4, 300, p=weights_out).astype(float)), fpr
    )
    assert covers(make, truth, seed=24) >= least()


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.9, 0.1), (0.99, 0.01), (0.05, 0.02)])
def test_mean_difference_covers_for_decisions(p, q):
    n = 100
    member = np.repeat([True, False], n)
    make = lambda rng: intervals.mean_difference(  # noqa: E731
        split((rng.random(2 * n) < np.where(member, p, q)).astype(float), member)
    )
    assert covers(make, p - q, seed=11) >= least()


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_proportion_covers(p):
    assert covers(lambda rng: intervals.proportion(int(rng.binomial(60, p)), 60), p, seed=13) >= least()


def of_betas(rng):
    member = np.repeat([True, False], 80)
    return intervals.mean_difference(split(np.where(member, rng.beta(3, 2, 160), rng.beta(2, 3, 160)), member))


@pytest.mark.parametrize(
    ("make", "truth"),
    [
        (of_betas, 0.2),
        (lambda rng: intervals.mean(rng.normal(3, 2, 12)), 3),
        (lambda rng: intervals.difference(*(intervals.mean(rng.normal(one, one, 30)) for one in (3, 1))), 2),
    ],
    ids=["mean difference of probabilities", "mean", "difference of independent estimates"],
)
def test_other_intervals_cover(make, truth):
    assert covers(make, truth, seed=14) >= least()


def test_a_wider_confidence_gives_a_wider_interval():
    rng = np.random.default_rng(16)
    ranking = ranking_of(rng.normal(1, 1, 300), rng.normal(0, 1, 300))
    for make in (intervals.auc, lambda r, c: intervals.tpr_at_fpr(r, 0.1, c)):
        narrow, wide = make(ranking, 0.9), make(ranking, 0.999)
        assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("n", [6, 25, 200])
def test_median_covers_whatever_the_distribution(n):
    """The interval is valid for a heavy-tailed, skewed distribution: the median of a log-normal is 1."""
    assert covers(lambda rng: intervals.median(rng.lognormal(0, 2, n)), 1.0, seed=n) >= least()


def test_median_of_too_few_values_says_so():
    found = intervals.median(np.array([3.0, 1.0, 2.0]))
    assert (found.low, found.value, found.high) == (1.0, 2.0, 3.0)
    assert found.method != intervals.median(np.arange(6.0)).method
