r"""Advantage and AUC over the levels of a feature, and differences of them on the same records.

With L levels, :math:`n_w` records of level w, :math:`N` in all, and the guess :math:`A_i` about record i,

.. math:: \mathrm{Adv} = \frac1L \sum_v \Bigl[\Pr(A = v \mid x_s = v) - \Pr(A = v \mid x_s \ne v)\Bigr]
          = \sum_w \frac1{n_w} \sum_{i: x_{s,i} = w} c_i, \qquad
          c_i = \frac1L \Bigl[1[A_i = w] - \sum_{v \ne w} 1[A_i = v] \frac{n_w}{N - n_v}\Bigr],

which for two levels is [tople2020, Def. 8]. So an advantage, and the difference of two on the same records, is a sum of
means, one for each level. Its interval is that of Price and Bonett (2004) for a linear function of proportions, carried to
values in an interval: 2/L successes and 2/L failures are added to each mean (for two levels: Agresti and Caffo 2000).

Given probabilities :math:`p_v` and shares :math:`\pi_v`, the guess that maximises the advantage is the level with the largest
:math:`(p_v - \pi_v) / (\pi_v (1 - \pi_v))`: guessing v adds :math:`p_v/\pi_v - (1 - p_v)/(1 - \pi_v)` to L times the advantage.

The AUC is the mean over levels of that of :math:`p_v` for one level against the rest, and its error is DeLong's, with the
placements of a record in all L comparisons added up.

Both are taken within each half of the cross-fitted records, and errors of the halves add up (see `ranking.Scale`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from leakscope.core.arrays import Floats, Indices
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import normal_quantile
from leakscope.core.ranking import combine


class InferredLevels(NamedTuple):
    """The levels that an attack infers for some records, and the true ones.

    ``probability`` is (records, levels); ``said`` is the inferred level, ``level`` the true one, ``half`` the half in which
    the record was judged.
    """

    probability: Floats
    said: Indices
    level: Indices
    half: Indices

    @property
    def levels(self) -> int:
        return int(self.probability.shape[1])

    def take(self, rows: Indices) -> InferredLevels:
        return InferredLevels(self.probability[rows], self.said[rows], self.level[rows], self.half[rows])


def decide(probability: Floats, share: Floats) -> Indices:
    """The guess with the largest advantage, given the probability and the share of each level.

    Examples
    --------
    >>> decide(np.array([[0.8, 0.2], [0.95, 0.05]]), np.array([0.9, 0.1]))
    array([1, 0])
    """
    return np.asarray(np.argmax((probability - share) / (share * (1 - share)), axis=1), dtype=np.intp)


def advantage(found: InferredLevels, confidence: float) -> Estimate:
    """Attribute advantage, with its interval.

    Examples
    --------
    >>> level = np.tile([0, 0, 1, 1], 25)
    >>> perfect = InferredLevels(np.eye(2)[level], level, level, np.tile([0, 1], 50))
    >>> advantage(perfect, 0.95)
    1.00 [0.82, 1.00]
    """
    return _sum_of_means(found, None, confidence)


def gain(found: InferredLevels, baseline: InferredLevels, confidence: float) -> Estimate:
    """Advantage of one attack minus that of another on the same records.

    Examples
    --------
    >>> level = np.tile([0, 0, 1, 1], 25)
    >>> half = np.tile([0, 1], 50)
    >>> coin = InferredLevels(np.full((100, 2), 0.5), np.zeros(100, np.intp), level, half)
    >>> gain(InferredLevels(np.eye(2)[level], level, level, half), coin, 0.95).value
    1.0
    """
    return _sum_of_means(found, baseline, confidence)


def _sum_of_means(found: InferredLevels, other: InferredLevels | None, confidence: float) -> Estimate:
    """The advantage, or the difference of two, over both halves."""

    def measure(rows: Indices, level: Indices, counts: Indices) -> tuple[float, ...]:
        points = _points(counts)
        given = points[level, found.said[rows]]
        low, high = points.min(axis=1), points.max(axis=1)
        if other is not None:
            given = given - points[level, other.said[rows]]
            low, high = low - high, high - low
        return _price_bonett(given, level, counts, low, high)

    value, centre, error = _over_halves(found, measure)
    most = 1.0 if other is None else 2.0
    value = min(most, max(-most, value))  # sums of ones may round to more
    reach = normal_quantile(confidence) * error
    low_end, high_end = min(value, max(-most, centre - reach)), max(value, min(most, centre + reach))
    method = "Price-Bonett" if other is None else "Price-Bonett, paired"
    return Estimate(value, low_end, high_end, confidence, n=len(found.level), method=method)


def _over_halves(
    found: InferredLevels, measure: Callable[[Indices, Indices, Indices], tuple[float, ...]]
) -> tuple[float, ...]:
    """Figures of rows, their levels and counts of these, over both halves; the last figure is a standard error."""
    parts, weights = [], []
    for half in np.unique(found.half):
        rows = np.flatnonzero(found.half == half)
        counts = np.bincount(found.level[rows], minlength=found.levels)
        parts.append(measure(rows, found.level[rows], counts))
        weights.append(1 / np.sum(1 / counts))
    share = np.array(weights) / np.sum(weights)
    *figures, errors = map(list, zip(*parts, strict=True))
    error = combine(np.array(errors), share, np.zeros(len(share), np.intp))
    return *(float(share @ figure) for figure in figures), error


def _points(counts: Indices) -> Floats:
    """What a guess gives a record to the sum of means, (true level, guess): :math:`c_i` of the module."""
    levels = len(counts)
    points = -counts[:, None] / (counts.sum() - counts)[None, :] / levels
    np.fill_diagonal(points, 1 / levels)
    return np.asarray(points)


def _price_bonett(
    values: Floats, level: Indices, counts: Indices, low: Floats, high: Floats
) -> tuple[float, float, float]:
    """Sum of the means of all levels, the centre of its interval, and its standard error."""
    sums = np.bincount(level, values, len(counts))
    span, added = high - low, 2 / len(counts)
    scaled = (values - low[level]) / span[level]
    n = counts + 2 * added
    mean = (np.bincount(level, scaled, len(counts)) + added) / n
    square = (np.bincount(level, scaled * scaled, len(counts)) + added) / n
    variance = np.maximum(square - mean**2, 0.0) / n
    return float(np.sum(sums / counts)), float(np.sum(low + span * mean)), float(np.sqrt(np.sum(span**2 * variance)))


# --- AUC --------------------------------------------------------------------------------------------------------------


def auc(found: InferredLevels, confidence: float) -> Estimate:
    """Mean over levels of the AUC of one level against the rest, with DeLong's interval on the logit scale.

    Examples
    --------
    >>> level = np.tile([0, 0, 1, 1], 25)
    >>> perfect = InferredLevels(np.eye(2)[level], level, level, np.tile([0, 1], 50))
    >>> auc(perfect, 0.95)
    1.00 [0.96, 1.00]
    """
    value, deviation, fewest = _auc(found, None)
    value = min(value, 1.0)  # a mean of ones may round to more
    slope = max(value * (1 - value), 1e-12)
    centre, reach = special.logit(value), normal_quantile(confidence) * deviation / slope
    low, high = (float(special.expit(centre + sign * reach)) for sign in (-1, 1)) if 0 < value < 1 else (value, value)
    unseen = _unseen(confidence, fewest)
    low, high = max(0.0, min(low, value - unseen)), min(1.0, max(high, value + unseen))
    return Estimate(value, low, high, confidence, n=len(found.level), method="DeLong over levels, logit scale")


def auc_gain(found: InferredLevels, baseline: InferredLevels, confidence: float) -> Estimate:
    """AUC of one attack minus that of another on the same records.

    Examples
    --------
    >>> level = np.tile([0, 0, 1, 1], 25)
    >>> half = np.tile([0, 1], 50)
    >>> coin = InferredLevels(np.full((100, 2), 0.5), np.zeros(100, np.intp), level, half)
    >>> auc_gain(coin, coin, 0.95)
    0.00 [−0.04, 0.04]
    """
    value, deviation, fewest = _auc(found, baseline)
    reach = max(normal_quantile(confidence) * deviation, _unseen(confidence, fewest))
    low, high = max(-1.0, value - reach), min(1.0, value + reach)
    return Estimate(value, low, high, confidence, n=len(found.level), method="DeLong over levels, paired")


def _unseen(confidence: float, fewest: int) -> float:
    """A deviation of zero says only that no record disagreed: a share of about 3 / n could still do so."""
    return -float(np.log((1 - confidence) / 2)) / (2 * max(1, fewest))


def _auc(found: InferredLevels, other: InferredLevels | None) -> tuple[float, float, int]:
    """AUC, or the difference of two, its standard error, and the records of the rarest level."""

    def measure(rows: Indices, level: Indices, counts: Indices) -> tuple[float, ...]:
        value, given = _placements(found.probability[rows], level, counts)
        if other is not None:
            base, theirs = _placements(other.probability[rows], level, counts)
            value, given = value - base, given - theirs
        means = np.bincount(level, given, len(counts)) / counts
        squares = np.bincount(level, (given - means[level]) ** 2, len(counts)) / np.maximum(counts - 1, 1)
        return value, float(np.sqrt(np.sum(squares / counts)))

    value, error = _over_halves(found, measure)
    return value, error, int(np.bincount(found.level, minlength=found.levels).min())


def _placements(probability: Floats, level: Indices, counts: Indices) -> tuple[float, Floats]:
    """Mean AUC over the levels, and what each record gives to it: its placements, weighted as in DeLong's variance."""
    levels, total = len(counts), len(level)
    given, value = np.zeros(total), 0.0
    for number in range(levels):
        inside = level == number
        s, t = probability[inside, number], probability[~inside, number]
        above = _share_below(t, s)
        given[inside] += above / levels
        given[~inside] += (1 - _share_below(s, t)) * counts[level[~inside]] / (total - counts[number]) / levels
        value += float(np.mean(above)) / levels
    return value, given


def _share_below(scores: Floats, at: Floats) -> Floats:
    """Share of the scores below each number, those equal to it counted half."""
    ordered = np.sort(scores)
    both = np.searchsorted(ordered, at, side="left") + np.searchsorted(ordered, at, side="right")
    return np.asarray(both / (2 * len(ordered)))
