"""Dominance on made-up points and intervals."""

import numpy as np

from leakscope.core import intervals
from leakscope.core.estimate import Estimate
from leakscope.evaluation.dominance import difference, dominates, exact, find_dominating


def by_values(*rows):
    return find_dominating(len(rows), lambda a, b: [exact(x - y) for x, y in zip(rows[a], rows[b], strict=True)])


def around(value, half=0.01):
    return Estimate(value, value - half, value + half)


def test_dominance_by_values():
    rows = [(0.9, -0.3), (0.5, -0.1), (0.5, -0.2), (0.1, -0.1), (0.9, -0.3)]
    assert by_values(*rows) == [None, None, 1, 1, None]  # the first and the last are equal
    assert by_values((1.0, 0.0)) == [None]
    assert by_values((0.6,), (0.6 + 1e-12,)) == [None, None]  # equal up to rounding
    rows = np.random.default_rng(0).random((40, 2))
    found = by_values(*rows)
    for place, other in enumerate(found):
        better = (rows >= rows[place]).all(axis=1) & (np.arange(40) != place)
        assert (other is not None) == better.any()
        assert other is None or (better[other] and found[other] is None)  # what dominates is itself not dominated


def test_significant_dominance():
    tolerances = (0.05, 0.05)
    less, same, worse = around(0.1), exact(0.0), around(-0.02)
    assert dominates([less, same], tolerances)
    assert dominates([less, around(0.0)], tolerances)
    assert not dominates([less, worse], tolerances)  # worse by its value, though within the tolerance
    assert not dominates([around(0.005), same], tolerances)  # better by its value only
    assert not dominates([less, around(0.0)], (0.05, 0.005))  # no worse by its value, but not within the tolerance
    assert not dominates([same, same], tolerances)


def test_chance_is_rarely_significant():
    """All options alike: significant dominance is wrong, and occurs in no more than about 5 % of 200 samples."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(200):
        base = rng.normal(size=60)
        quality = [base + rng.normal(size=60) for _ in range(6)]
        # Simultaneous intervals of six values: a twelfth of 5 % in each tail is 2.64 deviations.
        leakage = [around(value, 2.64 * 0.01) for value in rng.normal(0.1, 0.01, 6)]
        each = 1 - 0.05 / 15  # of 15 pairs

        def gains(a, b, quality=quality, leakage=leakage, each=each):
            return [difference(leakage[b], leakage[a]), intervals.mean(quality[a] - quality[b], each)]

        wrong += any(other is not None for other in find_dominating(6, gains, (0.5, 0.5)))
    assert wrong <= 20  # two families at 5 %: 20 expected at most; a Binomial(200, 0.1) has a deviation of 4
