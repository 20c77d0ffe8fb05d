"""Which settings are beaten by another: by their points, and surely.

A setting has a quality, the more the better, and a leakage, the less the better. By points, one is beaten by another that
is at least as good in both and better in one. The points are uncertain, so this alone would name some by chance.

*Surely beaten* is a claim over intervals: of those that beat it by points, another is surely better in one of the two, and
in the other surely worse by no more than a margin, since that it is exactly as good could never be shown. Qualities are
compared record by record, with the confidence shared out over all pairs; leakages by intervals that hold together. Each of
the two families of statements is thus right as a whole at the stated confidence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leakscope import intervals
from leakscope.core.estimate import Estimate


def beaten_by_points(quality: Sequence[float], leakage: Sequence[float]) -> list[int | None]:
    """For each setting the one that beats it by points, the best if there are several, or None.

    Examples
    --------
    >>> beaten_by_points([0.5, 0.4, 0.1, 0.4], [0.2, 0.1, 0.15, 0.1])
    [None, None, 1, None]
    """
    found: list[int | None] = []
    for good, leaks in zip(quality, leakage, strict=True):
        better = [
            other
            for other, (theirs, gives) in enumerate(zip(quality, leakage, strict=True))
            if theirs >= good and gives <= leaks and (theirs > good or gives < leaks)
        ]
        found.append(min(better, key=lambda other: (-quality[other], leakage[other])) if better else None)
    return found


def surely_beaten(
    quality: Sequence[NDArray[np.float64]], leakage: Sequence[Estimate], margin: float, confidence: float = 0.95
) -> list[int | None]:
    """For each setting one that surely beats it, the least leaking if there are several, or None.

    Parameters
    ----------
    quality
        For each setting its quality at each record, the same records for all.
    leakage
        For each setting its leakage, with intervals that hold for all at once.
    margin
        By how much the other may be worse in one of the two.

    Examples
    --------
    >>> records = np.random.default_rng(0).normal(size=100)
    >>> leakage = [Estimate(0.10, 0.08, 0.12), Estimate(0.03, 0.01, 0.05), Estimate(0.04, 0.02, 0.06)]
    >>> surely_beaten([records, records, records - 1], leakage, margin=0.05)
    [1, None, 1]
    """
    pairs = max(1, len(leakage) * (len(leakage) - 1) // 2)
    careful = 1 - (1 - confidence) / pairs
    found: list[int | None] = []
    for own, leaks in zip(quality, leakage, strict=True):
        better = []
        for other, (theirs, gives) in enumerate(zip(quality, leakage, strict=True)):
            gain = intervals.mean(theirs - own, careful)
            by_points = gain.value >= 0 and gives.value <= leaks.value
            leaks_less = gives.high < leaks.low and gain.low >= -margin
            says_more = gain.low > 0 and gives.high <= leaks.low + margin
            if by_points and (leaks_less or says_more):
                better.append((gives.value, -gain.value, other))
        found.append(min(better)[-1] if better else None)
    return found
