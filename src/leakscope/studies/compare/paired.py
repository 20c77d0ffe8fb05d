r"""Differences of risk between versions that were judged on the same records.

Each version is attacked by several attacks, and its risk is the largest AUC among them. With :math:`A_{v,a}` the AUC of
attack a on version v, the difference of two versions' risks is

.. math:: D_{vw} = \max_a A_{v,a} - \max_b A_{w,b} = \max_a \min_b \,(A_{v,a} - A_{w,b}).

If intervals :math:`[l_{ab}, u_{ab}]` of the single differences hold all at once, then so does
:math:`\max_a\min_b l_{ab} \le D_{vw} \le \max_a\min_b u_{ab}`. The AUCs are means over records (DeLong's placements), so that the
variance of every difference comes from one covariance matrix, and what the versions share cancels. The intervals are
simultaneous by the quantile of the largest standardised difference (the max-t method; Hothorn, Bretz and Westfall 2008), drawn from a
normal law with that covariance; Bonferroni's quantile, which ignores the correlations, is its upper limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import normal_quantile, placements_in_order
from leakscope.core.ranking import Ranking, ScoreSplit

#: Draws behind the quantile of the largest standardised difference; its own error is then about 0.02.
DRAWS = 4000


@dataclass(frozen=True, eq=False)
class PairedAucs:
    """AUCs on the same records, the standard error of each difference, and how many of these an interval spans."""

    values: Floats
    deviations: Floats
    quantile: float
    unseen: float
    confidence: float
    records: int

    def difference(self, ours: Sequence[int], theirs: Sequence[int]) -> Estimate:
        """Difference of the largest of ours and the largest of theirs; the intervals are simultaneous."""
        pairs = np.ix_(list(ours), list(theirs))
        own, other = self.values[pairs[0]], self.values[pairs[1]]
        value, half = float(own.max() - other.max()), np.maximum(self.quantile * self.deviations[pairs], self.unseen)
        low, high = (float(ends.min(axis=1).max()) for ends in (own - other - half, own - other + half))
        # Ends are those of other pairs than the point: where nearly equal attacks compete they can cross it by rounding.
        low, high = min(max(-1.0, low), value), max(min(1.0, high), value)
        return Estimate(value, low, high, self.confidence, n=self.records, method="DeLong, paired, max-t")


def pair_aucs(scores: Sequence[Sequence[ScoreSplit]], confidence: float = 0.95, seed: int = 0) -> PairedAucs:
    """Compare AUCs of several scores of the same records, given by stratum as `split` gives them.

    Examples
    --------
    >>> from leakscope.core.ranking import split
    >>> rng = np.random.default_rng(0)
    >>> member = np.repeat([True, False], 1000)
    >>> first = rng.normal(member, 1.0)
    >>> paired = pair_aucs([split(first, member), split(first / 2, member), split(rng.normal(size=2000), member)])
    >>> paired.difference([0], [1])
    0.000 [−0.002, 0.002]
    >>> paired.difference([0], [2]).low > 0.1
    True
    """
    shape = Ranking.of(scores[0])
    values, spread = np.zeros(len(scores)), np.zeros((len(scores), len(scores)))
    covariance = np.zeros_like(spread)
    for stratum, weight in enumerate(shape.weights):
        if not weight:
            continue
        placed = [placements_in_order(parts[stratum]) for parts in scores]
        values += weight * np.array([inside.mean() for inside, _ in placed])
        sides = [np.stack(side) for side in zip(*placed, strict=True)]
        own = sum(np.atleast_2d(np.cov(side)) / side.shape[1] for side in sides)
        covariance += weight**2 * own
        # Strata were fitted on each other: their errors add up (`ranking.combine`).
        spread += weight * _deviations(own)
    fewest = max(1, min(shape.members, shape.nonmembers))
    unseen = -float(np.log((1 - confidence) / 2)) / (2 * fewest)
    quantile = largest_quantile(covariance, confidence, seed)
    return PairedAucs(values, spread, quantile, unseen, confidence, shape.members + shape.nonmembers)


def _deviations(covariance: Floats) -> Floats:
    own = np.diag(covariance)
    return np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * covariance, 0.0))


def largest_quantile(covariance: Floats, confidence: float, seed: int = 0) -> float:
    """How many standard errors all differences of normal numbers with this covariance stay within, together.

    Examples
    --------
    For two numbers there is one difference, and the quantile is the usual one:

    >>> round(largest_quantile(np.eye(2), 0.95), 1)
    2.0
    """
    first, second = np.triu_indices(len(covariance), 1)
    spread = _deviations(covariance)[first, second]
    varies = spread > 1e-12
    if not varies.any():
        return normal_quantile(confidence)
    first, second, spread = first[varies], second[varies], spread[varies]
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = np.random.default_rng(seed).normal(size=(DRAWS, len(covariance))) @ root.T
    largest = np.zeros(DRAWS)
    for pairs in np.array_split(np.arange(len(first)), max(1, len(first) // 2000)):
        apart = np.abs(normal[:, first[pairs]] - normal[:, second[pairs]]) / spread[pairs]
        largest = np.maximum(largest, apart.max(axis=1))
    drawn = float(np.quantile(largest, confidence))
    return max(normal_quantile(confidence), min(drawn, normal_quantile(1 - (1 - confidence) / len(first))))
