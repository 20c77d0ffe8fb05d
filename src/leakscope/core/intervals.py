r"""Confidence intervals of proportions, means, AUCs, AUC differences and true-positive rates, from arrays of scores.

Members are the positive class. With :math:`m` member scores :math:`s_i` and :math:`n` non-member scores :math:`t_j`,

.. math:: \mathrm{AUC} = \frac1{mn}\sum_{i,j}\bigl(1[s_i>t_j]+\tfrac12 1[s_i=t_j]\bigr).

Each interval has a coverage test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Any

import numpy as np

from leakscope.core.arrays import Booleans, Floats, Indices
from leakscope.core.estimate import Estimate
from leakscope.core.ranking import Ranking, Scale, ScoreSplit, Stratum, combine

#: Expected number of false positives from which on the true-positive rate at a false-positive rate is estimated.
FALSE_ALARMS_NEEDED = 10
AUC_METHOD, TOO_FEW = "DeLong, logit scale", "too few records"


def normal_quantile(confidence: float) -> float:
    """Return the two-sided quantile of the standard normal distribution: 1.96 at 95 %."""
    return NormalDist().inv_cdf(0.5 + confidence / 2) if confidence < 1 else math.inf


def suspicious(auc: Estimate) -> bool:
    """Return whether the AUC of a control is more than two standard errors above 0.5, at any confidence.

    Examples
    --------
    >>> suspicious(Estimate(0.52, 0.49, 0.55)), suspicious(Estimate(0.56, 0.53, 0.59))
    (False, True)
    """
    error = (auc.value - auc.low) / normal_quantile(auc.confidence)
    return auc.value - 2 * error > 0.5


def proportion(successes: int, n: int, confidence: float = 0.95, *, independent: int | None = None) -> Estimate:
    """Estimate a proportion with the exact interval of Clopper and Pearson (1934).

    ``independent`` is the effective number of independent trials if the n trials are dependent.

    Examples
    --------
    >>> proportion(0, 30)
    0.00 [0.00, 0.12]
    """
    value, trials = successes / n, independent or n
    fewest_and_most = np.array([np.floor(value * trials), np.ceil(value * trials)])
    low, high = _clopper_pearson(fewest_and_most, trials, (1 - confidence) / 2)
    ends = min(value, float(low[0])), max(value, float(high[1]))
    return Estimate(value, *ends, confidence, n=n, method="Clopper-Pearson")


def _clopper_pearson(successes: Floats, n: int, tail: float) -> tuple[Floats, Floats]:
    """Return the ends of each interval; a fractional number of successes is an expectation over random tie-breaking."""
    from scipy import special

    some, few = np.where(successes > 0, successes, 1.0), np.where(successes < n, successes, n - 1.0)
    low = np.where(successes > 0, special.betaincinv(some, n - some + 1, tail), 0.0)
    high = np.where(successes < n, special.betaincinv(few + 1, n - few, 1 - tail), 1.0)
    return np.minimum(low, successes / n), np.maximum(high, successes / n)


def mean(values: Floats, confidence: float = 0.95) -> Estimate:
    """Estimate a mean with Student's t interval.

    Examples
    --------
    >>> mean(np.array([1.0, 2.0, 3.0, 4.0]))
    2.50 [0.44, 4.56]
    """
    from scipy import special

    n = len(values)
    value = float(np.mean(values))
    spread = float(np.std(values, ddof=1)) / np.sqrt(n) if n > 1 else np.inf
    half = float(special.stdtrit(max(n - 1, 1), 0.5 + confidence / 2)) * spread
    return Estimate(value, value - half, value + half, confidence, n=n, method="Student")


def mean_of_runs(values: Floats, confidence: float = 0.95) -> Estimate:
    """Estimate the mean over a few runs, such as repeated trainings, with Student's t interval.

    Examples
    --------
    >>> mean_of_runs(np.array([0.80, 0.82, 0.81]))
    0.81 [0.78, 0.84]
    """
    from scipy import special

    n, value = len(values), float(np.mean(values))
    half = float(special.stdtrit(n - 1, (1 + confidence) / 2) * np.std(values, ddof=1) / np.sqrt(n))
    return Estimate(value, value - half, value + half, confidence, n=n, method="Student, over runs")


def median(values: Floats, confidence: float = 0.95) -> Estimate:
    """Estimate a median with the distribution-free interval of order statistics.

    With too few values for the confidence (under six at 95 %), the interval is the range and ``method`` states it.

    Examples
    --------
    >>> median(np.arange(101.0))
    50.0 [40.0, 60.0]
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    outside = _binomial_quantile(n, 0.5, (1 - confidence) / 2)  # values excluded on each side, plus one
    method = "order statistics" if outside else f"all of {n} values, too few for the confidence"
    skip = max(outside - 1, 0)
    low, high = float(ordered[skip]), float(ordered[n - 1 - skip])
    return Estimate(float(np.median(ordered)), low, high, confidence, n=n, method=method)


def mean_difference(parts: Sequence[ScoreSplit], confidence: float = 0.95) -> Estimate:
    """Estimate the mean of members minus that of non-members, for values in [0, 1] such as decisions (see `split`).

    The interval of Agresti and Caffo (2000) adds one success and one failure to each sample. It is applied here to any
    values in [0, 1], and has a positive width even if all decisions agree. Intervals of the strata are combined.

    Examples
    --------
    >>> member = np.repeat([True, False], 50)
    >>> from leakscope.core.ranking import split
    >>> mean_difference(split(member * 1.0, member))
    1.00 [0.90, 1.00]
    """
    used = [part for part in parts if len(part.members) and len(part.nonmembers)]
    weights = np.array([len(part.members) * len(part.nonmembers) / part.size for part in used])
    weights /= weights.sum()
    values = np.array([np.mean(part.members) - np.mean(part.nonmembers) for part in used])
    samples = [(part.members, part.nonmembers) for part in used]
    sums, squares, counts = (
        np.array([[measure(sample) for sample in pair] for pair in samples], np.float64).T
        for measure in (np.sum, lambda sample: np.sum(sample * sample), len)
    )
    centres, halves = agresti_caffo(sums, squares, counts, confidence)
    value, centre = float(weights @ values), float(weights @ centres)
    half = combine(halves, weights, np.array([part.block for part in used]))
    low, high = min(value, max(-1.0, centre - half)), max(value, min(1.0, centre + half))
    return Estimate(value, low, high, confidence, n=sum(part.size for part in parts), method="Agresti-Caffo")


def agresti_caffo(sums: Floats, squares: Floats, counts: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return centre and half-width of the interval of a difference of two means, from sums and sums of squares."""
    n = counts + 2
    means = (sums + 1) / n
    variances = np.maximum((squares + 1) / n - means**2, 0.0) / n
    return np.asarray(means[0] - means[1]), normal_quantile(confidence) * np.sqrt(variances[0] + variances[1])


def auc(ranking: Ranking, confidence: float = 0.95) -> Estimate:
    """Estimate the AUC with DeLong's interval on the logit scale, which stays inside [0, 1].

    Near 0 and 1, where fewer than five records of the smaller class are misranked, DeLong's variance is unreliable (zero
    at perfect separation). There the interval is widened to include Newcombe's (2006, method 5). If all scores are equal,
    the interval follows from the number of disjoint tied pairs.

    Examples
    --------
    >>> from leakscope.core.ranking import split
    >>> rng = np.random.default_rng(0)
    >>> member = np.repeat([True, False], 500)
    >>> auc(Ranking.of(split(rng.normal(member, 1.0), member)))
    0.78 [0.74, 0.81]
    >>> auc(Ranking.of(split(member * 1.0, member)))
    1.000 [0.996, 1.000]
    """
    m, n = ranking.members, ranking.nonmembers
    if not ranking.weights.any():
        return Estimate(0.5, 0.0, 1.0, confidence, n=m + n, method=TOO_FEW)
    value, deviation = np.array([ranking.auc]), np.array([ranking.auc_deviation])
    low, high = auc_ends(value, deviation, np.array([m]), np.array([n]), confidence)
    return Estimate(ranking.auc, float(low[0]), float(high[0]), confidence, n=m + n, method=AUC_METHOD)


def auc_ends(value: Floats, deviation: Floats, m: Indices, n: Indices, confidence: float) -> tuple[Floats, Floats]:
    """Return the interval ends of several AUCs, from their standard errors and numbers of members and non-members."""
    from scipy import special

    z, fewest = normal_quantile(confidence), np.minimum(m, n)
    inside = (value > 0) & (value < 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre, half = special.logit(value), z * deviation / (value * (1 - value))
        # If all scores are equal, k tied pairs give an upper bound on the probability of an untied pair.
        tied = (1 - ((1 - confidence) / 2) ** (1 / fewest)) / 2
        low, high = (
            np.where(inside, np.where(deviation > 0, special.expit(centre + side * half), value + side * tied), value)
            for side in (-1, 1)
        )
    near = np.flatnonzero(np.minimum(value, 1 - value) * fewest < 5)
    if len(near):
        low[near] = np.minimum(low[near], _newcombe(value[near], m[near], n[near], z, 0.0))
        high[near] = np.maximum(high[near], _newcombe(value[near], m[near], n[near], z, 1.0))
    return np.maximum(0.0, np.minimum(low, value)), np.minimum(1.0, np.maximum(high, value))


def _newcombe(value: Floats, m: Indices, n: Indices, z: float, end: float) -> Floats:
    """Return the end of the score interval of the AUC, z standard errors (Hanley-McNeil, at the end) from the value."""

    def excess(theta: Floats) -> Floats:
        shape = 1 + ((m + n) / 2 - 1) * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return np.asarray(np.abs(value - theta) - z * np.sqrt(theta * (1 - theta) * shape / (m * n)))

    near, far = value, np.full(len(value), end)
    keeps = (excess(far) < 0) | (near == far)
    for _ in range(60):
        middle = (near + far) / 2
        outside = excess(middle) > 0
        near, far = np.where(outside, near, middle), np.where(outside, middle, far)
    return np.where(keeps, end, far)


def paired_auc_difference(first: Sequence[ScoreSplit], second: Sequence[ScoreSplit]) -> Callable[[float], Estimate]:
    """Estimate the AUC of the first minus that of the second scores of the same records, with DeLong's paired interval.

    Returns a function from the confidence to the estimate, because most of the work does not depend on the confidence.

    Examples
    --------
    >>> from leakscope.core.ranking import split
    >>> rng = np.random.default_rng(0)
    >>> member = np.repeat([True, False], 400)
    >>> scores = split(rng.normal(member, 1.0), member)
    >>> paired_auc_difference(scores, scores)(0.95)
    0.000 [−0.005, 0.005]
    """
    ranking = Ranking.of(first)
    value, deviations = 0.0, []
    for weight, one, other in zip(ranking.weights, first, second, strict=True):
        if not weight:
            deviations.append(0.0)
            continue
        placed = placements_in_order(one), placements_in_order(other)
        changes = [ours - theirs for ours, theirs in zip(*placed, strict=True)]
        value += weight * float(np.mean(changes[0]))
        deviations.append(np.sqrt(sum(float(np.var(change, ddof=1)) / len(change) for change in changes)))
    deviation = combine(np.array(deviations), ranking.weights, ranking.blocks)
    return partial(_paired_estimate, value, deviation, ranking)


def _paired_estimate(value: float, deviation: float, ranking: Ranking, confidence: float) -> Estimate:
    # A deviation of zero means that no record differed; a share of about 3 / n still could.
    fewest = max(1, min(ranking.members, ranking.nonmembers))
    unseen = -float(np.log((1 - confidence) / 2)) / (2 * fewest)
    half = max(normal_quantile(confidence) * deviation, unseen)
    low, high = max(-1.0, value - half), min(1.0, value + half)
    return Estimate(value, low, high, confidence, n=ranking.members + ranking.nonmembers, method="DeLong, paired")


def auc_beyond_control(
    member: Booleans, target: tuple[Floats, Scale], control: tuple[Floats, Scale]
) -> Callable[[float], Estimate]:
    r"""Estimate the AUC on the target minus the AUC on the never-trained control, paired over records.

    The variance follows DeLong, DeLong and Clarke-Pearson (1988). Both AUCs are means over strata with weights
    :math:`w_s`. A member of a stratum with :math:`m_s` members has the placement
    :math:`V_i`, the share of the non-members of its stratum that score below it (ties count one half). With the mean
    :math:`\bar V_s` of these,

    .. math:: t_i = w_s\,\frac{V_i-\bar V_s}{\sqrt{m_s(m_s-1)}},

    and likewise for non-members. :math:`\sum_i t_i^2` is DeLong's variance of the AUC on the target. With the
    corresponding :math:`c_i` of the control, the variance of the difference is

    .. math:: \sum_i (t_i-c_i)^2 + \sum_{i\text{ member}} c_i^2.

    The second sum is added if the control consists of several models. Each of these is trained on the members on which
    the other models are evaluated. A chance similarity between two parts of the members therefore raises the AUC on
    both, and at most doubles the members' part of the variance of the control. Errors of dependent strata are added as
    in `ranking.combine`, by the strata of the target, which contain the strata of the control.

    Returns a function from the confidence to the estimate.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member, one = np.repeat([True, False], 400), Scale(np.zeros(800, int), np.zeros(800, int))
    >>> hardness = rng.normal(size=800)
    >>> auc_beyond_control(member, (hardness + member, one), (hardness, one))(0.95)
    0.26 [0.24, 0.28]
    """
    (ranking, ours), (rival, theirs) = (_deviations(scores, member, scale) for scores, scale in (target, control))
    value = ranking.auc - rival.auc
    if not (ranking.weights.any() and rival.weights.any()):
        return lambda confidence: Estimate(value, -1.0, 1.0, confidence, n=len(member), method=TOO_FEW)
    squares = (ours - theirs) ** 2
    if len(np.unique(rival.blocks)) > 1:
        squares[member] += theirs[member] ** 2
    errors = np.array([np.sqrt(squares[rows].sum()) for rows, _ in target[1].strata()])
    return partial(_paired_estimate, value, combine(errors, np.ones(len(errors)), ranking.blocks), ranking)


def _deviations(scores: Floats, member: Booleans, scale: Scale) -> tuple[Ranking, Floats]:
    """Return the ranking and each record's contribution to the error of its AUC; squares sum to DeLong's variance."""
    rows, strata, blocks = [], [], []
    for of_stratum, block in scale.strata():
        sides = [np.flatnonzero(of_stratum & side) for side in (member, ~member)]
        rows.append([side[np.argsort(scores[side])] for side in sides])
        strata.append(Stratum(*(scores[side] for side in rows[-1])))
        blocks.append(block)
    ranking, found = Ranking(tuple(strata), np.array(blocks, np.intp)), np.zeros(len(scores))
    for weight, stratum, sides in zip(ranking.weights, strata, rows, strict=True):
        if weight:
            for side, placed in zip(sides, stratum.placements, strict=True):
                found[side] = weight * (placed - placed.mean()) / np.sqrt(len(side) * (len(side) - 1.0))
    return ranking, found


def placements_in_order(part: ScoreSplit) -> tuple[Floats, Floats]:
    """Return placements as in `Stratum`, in the order of the input scores."""
    rank_s, rank_t = np.argsort(part.members), np.argsort(part.nonmembers)
    sorted_s, sorted_t = Stratum(part.members[rank_s], part.nonmembers[rank_t]).placements
    in_s, in_t = np.empty_like(sorted_s), np.empty_like(sorted_t)
    in_s[rank_s], in_t[rank_t] = sorted_s, sorted_t
    return in_s, in_t


def difference(first: Estimate, second: Estimate, confidence: float | None = None) -> Estimate:
    """Estimate the difference of two independent estimates of equal confidence: MOVER, Zou and Donner (2008).

    Examples
    --------
    >>> difference(Estimate(0.7, 0.6, 0.8), Estimate(0.5, 0.4, 0.6))
    0.20 [0.05, 0.35]
    """
    value, low, high = mover(*((one.value, one.low, one.high) for one in (first, second)))
    n = (first.n or 0) + (second.n or 0)
    return Estimate(value, float(low), float(high), confidence or first.confidence, n=n or None, method="MOVER")


def mover(first: tuple[Any, Any, Any], second: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Return value, low and high of the difference of two independent estimates, given as such triples or as arrays."""
    value = first[0] - second[0]
    low = value - np.hypot(first[0] - first[1], second[2] - second[0])
    high = value + np.hypot(first[2] - first[0], second[0] - second[1])
    return value, low, high


def tpr_at_fpr(ranking: Ranking, fpr: float, confidence: float = 0.95) -> Estimate:
    """Estimate the true-positive rate at a false-positive rate, or an upper bound if there are too few non-members.

    The estimate is the share of members above the threshold that a share ``fpr`` of the non-members exceeds. Ties at the
    threshold are broken at random. Two quantities are uncertain: the rate at the threshold (Clopper-Pearson) and the
    threshold (order statistics of the non-members, distribution-free). MOVER combines these two, and the strata. With
    fewer than ten expected false positives the threshold cannot be estimated. The result is then an upper bound: the
    rate at the highest threshold that is low enough at the confidence.

    Examples
    --------
    >>> from leakscope.core.ranking import split
    >>> rng = np.random.default_rng(0)
    >>> member = np.repeat([True, False], 2000)
    >>> ranking = Ranking.of(split(rng.normal(member, 1.0), member))
    >>> tpr_at_fpr(ranking, 0.1)
    0.38 [0.32, 0.42]
    >>> tpr_at_fpr(ranking, 0.001).method
    'upper bound: false-positive rate 0.001 needs 10,000 non-members, not 2,000'
    """
    return tprs_at_fprs(ranking, (fpr,), confidence)[fpr]


def tprs_at_fprs(ranking: Ranking, fprs: Sequence[float], confidence: float = 0.95) -> dict[float, Estimate]:
    """Compute `tpr_at_fpr` at several false-positive rates in one pass."""
    m, n = ranking.members, ranking.nonmembers
    found = {fpr: _tpr_bound(ranking, fpr, confidence) for fpr in fprs if n * fpr < FALSE_ALARMS_NEEDED}
    carried = [fpr for fpr in fprs if fpr not in found]
    if carried:
        parts = [_tprs_of(part, carried, (1 - confidence) / 2) for part in ranking.strata]
        sizes = [len(part.members) if len(part.nonmembers) else 0 for part in ranking.strata]
        weights = np.array(sizes, dtype=np.float64) / max(sum(sizes), 1.0)
        # Axes: strata; rate, distance to the low end, distance to the high end; false-positive rates.
        for fpr, (points, below, above) in zip(carried, np.moveaxis(np.array(parts), 0, 2).swapaxes(0, 1), strict=True):
            value = float(weights @ points)
            low = max(0.0, value - combine(below, weights, ranking.blocks))
            high = min(1.0, value + combine(above, weights, ranking.blocks))
            method = "Clopper-Pearson and order statistics, MOVER"
            found[fpr] = Estimate(value, low, high, confidence, n=m + n, method=method)
    return {fpr: found[fpr] for fpr in fprs}


def _tprs_of(part: Stratum, fprs: Sequence[float], tail: float) -> Floats:
    """Return the rates in one stratum and the distances to the ends of their intervals, (3, rates)."""
    m, n = len(part.members), len(part.nonmembers)
    if not (m and n):
        return np.repeat([[0.0], [0.0], [1.0]], len(fprs), axis=1)
    alarms = [[fpr * n, *(_binomial_quantile(n, fpr, level) for level in (tail, 1 - tail))] for fpr in fprs]
    value, least, most = part.rates(np.array(alarms, dtype=np.float64).T)
    low, high = _clopper_pearson(m * value, m, tail)
    below = np.hypot(value - low, value - np.minimum(least, value))
    above = np.hypot(high - value, np.maximum(most, value) - value)
    return np.stack([value, below, above])


def _tpr_bound(ranking: Ranking, fpr: float, confidence: float) -> Estimate:
    """Return an upper bound if the threshold cannot be estimated; both error sources and all strata share the error."""
    m, n = ranking.members, ranking.nonmembers
    tail = (1 - confidence) / 2
    caught, level = 0.0, 1 - tail / len(ranking.strata)
    for part in ranking.strata:
        alarms = _binomial_quantile(len(part.nonmembers), fpr, level)
        caught += len(part.members) * part.rates(np.array([alarms], dtype=np.float64))[0]
    high = float(_clopper_pearson(np.array([caught]), m, tail)[1][0])
    needed = int(np.ceil(FALSE_ALARMS_NEEDED / fpr - 1e-9))
    method = f"upper bound: false-positive rate {fpr:g} needs {needed:,} non-members, not {n:,}"
    return Estimate(high, 0.0, high, confidence, "upper bound", n=m + n, method=method)


@lru_cache(maxsize=1024)  # the same for all attacks of an audit
def _binomial_quantile(n: int, p: float, level: float) -> int:
    """Smallest k with P(Binomial(n, p) <= k) >= level."""
    from scipy import special

    low, high = -1, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if special.bdtr(middle, n, p) >= level else (middle, high)
    return high
