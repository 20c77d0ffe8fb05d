"""Differences of risk between versions on the same records: against literal references, and their coverage."""

import numpy as np
import pytest
from scipy import stats

from leakscope.core import intervals
from leakscope.core.ranking import Scale, split
from leakscope.studies.compare.paired import PairedAucs, largest_quantile, pair_aucs


def scores_of(rng: np.random.Generator, n: int, shifts: list[float], shared: float = 0.9) -> tuple[np.ndarray, list]:
    """Scores of the same records by several attacks: members are shifted, and all share most of their noise."""
    member = np.repeat([True, False], n)
    common = rng.normal(size=2 * n)
    own = [np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.normal(size=2 * n) + shift * member for shift in shifts]
    return member, own


@pytest.mark.parametrize("strata", [1, 2])
def test_single_difference_is_delong_paired(strata: int) -> None:
    """The errors of strata, which were fitted on each other, are added as `intervals` adds them."""
    member, scores = scores_of(np.random.default_rng(strata), 400, [0.5, 0.2])
    half = np.arange(800) % strata
    parts = [split(one, member, Scale(half, np.zeros_like(half))) for one in scores]
    paired, theirs = pair_aucs(parts), intervals.paired_auc_difference(*parts)(0.95)
    assert paired.difference([0], [1]).value == pytest.approx(theirs.value, abs=1e-12)
    deviation = (theirs.high - theirs.low) / 2 / intervals.normal_quantile(0.95)
    assert paired.deviations[0, 1] == pytest.approx(deviation, rel=1e-9)


def test_difference_of_the_largest_by_enumeration() -> None:
    """The largest of smallest over all pairs of single intervals, written out."""
    member, scores = scores_of(np.random.default_rng(2), 200, [0.1, 0.4, 0.3, 0.2])
    paired = pair_aucs([split(one, member) for one in scores])
    found = paired.difference([0, 1], [2, 3])
    half = np.maximum(paired.quantile * paired.deviations, paired.unseen)
    low = max(min(paired.values[a] - paired.values[b] - half[a, b] for b in (2, 3)) for a in (0, 1))
    high = max(min(paired.values[a] - paired.values[b] + half[a, b] for b in (2, 3)) for a in (0, 1))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.value == pytest.approx(paired.values[[0, 1]].max() - paired.values[[2, 3]].max())


def test_more_pairs_need_a_larger_quantile_and_correlation_a_smaller_one() -> None:
    independent = [largest_quantile(np.eye(size), 0.95) for size in (2, 5, 20)]
    assert independent == sorted(independent)
    # The range of five independent normals over √2: Tukey's studentised range with infinitely many degrees of freedom.
    exact = stats.studentized_range.ppf(0.95, 5, np.inf) / np.sqrt(2)
    assert independent[1] == pytest.approx(exact, abs=0.08)  # three standard errors of a quantile of 4,000 draws
    # Two groups whose numbers are nearly the same: within a group differences are tiny but standardised all the same.
    pairs = 20 * 19 / 2
    assert independent[2] <= intervals.normal_quantile(1 - 0.05 / pairs)


def test_all_differences_hold_together() -> None:
    """Coverage of the whole family: the difference of two versions with three attacks each, and all single pairs."""
    runs, n, failed = 400, 150, 0
    shifts = [0.3, 0.5, 0.45, 0.2, 0.25, 0.1]
    truth = np.array([stats.norm.cdf(shift / np.sqrt(2)) for shift in shifts])
    for run in range(runs):
        member, scores = scores_of(np.random.default_rng([4, run]), n, shifts, shared=0.8)
        paired = pair_aucs([split(one, member) for one in scores], seed=run)
        failed += not _covers(paired, truth)
    # 5 % may fail; 36 is the 99.9 % quantile of a binomial with 400 runs.
    assert failed <= stats.binom.ppf(0.999, runs, 0.05)


def _covers(paired: PairedAucs, truth: np.ndarray) -> bool:
    places = [[place] for place in range(len(truth))] + [[0, 1, 2], [3, 4, 5]]
    for ours in places:
        for theirs in places:
            found, exact = paired.difference(ours, theirs), truth[ours].max() - truth[theirs].max()
            if not found.low - 1e-12 <= exact <= found.high + 1e-12:
                return False
    return True
