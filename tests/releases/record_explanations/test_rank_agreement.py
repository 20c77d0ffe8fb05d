"""Agreement of two tables of influences: 1 if they are equal, chance if they are independent."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from leakscope.core.errors import InputError
from leakscope.releases.record_explanations.rank_agreement import agreement, bounded_mean


def table(points: int = 300, records: int = 40, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(points, records))


@pytest.mark.parametrize("factor", [1.0, -1.0, 3.0])
def test_only_the_order_of_sizes_counts(factor: float) -> None:
    found = agreement(factor * table(), table())
    assert (found.top.value, found.first.value, found.k) == (1.0, 1.0, 5)
    assert found.rank_correlation.value == pytest.approx(1.0, abs=1e-15)
    for estimate in (found.top, found.first, found.rank_correlation):
        assert estimate.low < 1.0 == estimate.high


@pytest.mark.parametrize("k", [1, 5, 20])
def test_shuffled_records_agree_by_chance(k: int) -> None:
    points, records = 2000, 40
    exact = table(points, records)
    shuffled = np.random.default_rng(1).permuted(exact, axis=1)
    found = agreement(shuffled, exact, k)
    # hypergeometric: k draws out of n with k marked; four standard errors over the points
    chance = k / records
    deviation = np.sqrt(k * chance * (1 - chance) * (records - k) / (records - 1)) / k
    assert found.top.value == pytest.approx(chance, abs=4 * deviation / np.sqrt(points))
    assert found.first.value == pytest.approx(1 / records, abs=4 * np.sqrt(1 / records / points))
    assert found.rank_correlation.value == pytest.approx(0.0, abs=4 / np.sqrt((records - 1) * points))


def test_the_correlation_is_that_of_scipy_ties_included() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.integers(-4, 5, (2, 30, 25))
    expected = [spearmanr(np.abs(one), np.abs(other)).statistic for one, other in zip(first, second, strict=True)]
    assert agreement(first, second).rank_correlation.value == pytest.approx(np.mean(expected), abs=1e-14)


def test_points_without_an_order() -> None:
    flat, sloped = np.ones((4, 6)), np.tile(np.arange(6.0), (4, 1))
    assert agreement(flat, -flat).rank_correlation.value == 1.0
    assert agreement(flat, sloped).rank_correlation.value == 0.0


def test_shares_counted_by_hand() -> None:
    exact = [[5.0, -4.0, 3.0, 0.0], [1.0, 2.0, -3.0, 4.0]]
    approximate = [[4.0, 5.0, 0.0, 3.0], [1.0, 2.0, 3.0, 4.0]]
    found = agreement(approximate, exact, k=3)
    assert found.top.value == pytest.approx((2 / 3 + 1) / 2)
    assert found.first.value == 0.5
    # 1 - 6 Σd² / (n(n² - 1)), where every record of the first point is one rank off
    assert found.rank_correlation.value == pytest.approx((0.6 + 1) / 2)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.97, 0.99, 0.999])
def test_intervals_cover(share: float) -> None:
    # 2,000 repetitions: a coverage of 0.95 reads 0.93 or more; 0.92 allows for the skewness of shares near one.
    rng = np.random.default_rng(3)
    samples = rng.binomial(5, share, (2000, 200)) / 5
    estimates = [bounded_mean(sample, 0.0, 0.2, 0.95) for sample in samples]
    assert np.mean([estimate.low <= share <= estimate.high for estimate in estimates]) >= 0.92


@pytest.mark.parametrize(
    ("approximate", "exact", "k", "named"),
    [
        (np.ones((2, 3)), np.ones((2, 4)), 1, "approximate.*exact"),
        (np.ones((2, 3)), np.ones((2, 3)), 4, "^k"),
        (np.ones((2, 3)), np.ones((2, 3)), True, "^k"),
        (np.ones(3), np.ones((1, 3)), 1, "approximate"),
        (np.ones((0, 3)), np.ones((0, 3)), 1, "approximate"),
        (np.full((1, 3), np.nan), np.ones((1, 3)), 1, "approximate"),
    ],
)
def test_tables_that_can_not_be_compared_are_refused(approximate: Any, exact: Any, k: int, named: str) -> None:
    with pytest.raises(InputError, match=named):
        agreement(approximate, exact, k)
