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

from leakscope.core.arrays import Floats, Indices
from leakscope.core.estimate import Estimate
from leakscope.core.ranking import Ordered, Ranking, ScoreSplit, Stratum, combine

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


def _clopper_pearson(successes: Floats, n: int | Indices, tail: float | Floats) -> tuple[Floats, Floats]:
    """Ends of each interval; a number of successes that is not whole is one expected from picking at random."""
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
    return mean_differences(parts, [confidence])[0]


def mean_differences(parts: Sequence[ScoreSplit], confidences: Sequence[float]) -> list[Estimate]:
    """`mean_difference` at several confidences."""
    used = [part for part in parts if len(part.members) and len(part.nonmembers)]
    weights = np.array([len(part.members) * len(part.nonmembers) / part.size for part in used])
    weights /= weights.sum()
    values = np.array([np.mean(part.members) - np.mean(part.nonmembers) for part in used])
    samples = [(part.members, part.nonmembers) for part in used]
    sums, squares, counts = (
        np.array([[measure(sample) for sample in pair] for pair in samples], np.float64).T
        for measure in (np.sum, lambda sample: np.sum(sample * sample), len)
    )
    blocks, records, found = np.array([part.block for part in used]), sum(part.size for part in parts), []
    for confidence in confidences:
        centres, halves = agresti_caffo(sums, squares, counts, confidence)
        value, centre = float(weights @ values), float(weights @ centres)
        half = combine(halves, weights, blocks)
        low, high = min(value, max(-1.0, centre - half)), max(value, min(1.0, centre + half))
        found.append(Estimate(value, low, high, confidence, n=records, method="Agresti-Caffo"))
    return found


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
    changes = []
    for one, other in zip(first, second, strict=True):
        few = min(len(one.members), len(one.nonmembers)) < 2  # such strata do not count
        placed = one[:2], one[:2]
        if not few:
            placed = placements_in_order(one), placements_in_order(other)
        changes.append(ScoreSplit(placed[0][0] - placed[1][0], placed[0][1] - placed[1][1], one.block))
    return mean_change(changes)


def mean_change(changes: Sequence[ScoreSplit]) -> Callable[[float], Estimate]:
    """The same from the differences of the placements of each record (`ranking.Stratum`)."""
    sides = tuple(Stratum(change.members, change.nonmembers) for change in changes)
    ranking = Ranking(sides, np.array([change.block for change in changes], np.intp))
    value, deviations = 0.0, []
    for weight, change in zip(ranking.weights, changes, strict=True):
        if not weight:
            deviations.append(0.0)
            continue
        value += weight * float(np.mean(change.members))
        deviations.append(np.sqrt(sum(float(np.var(side, ddof=1)) / len(side) for side in change[:2])))
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
    target: tuple[Ranking, Sequence[Ordered]], control: tuple[Ranking, Sequence[Ordered]]
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

    Takes for each side the ranking and the ordered records that it was made of (`Ranking.in_order`), and returns a
    function from the confidence to the estimate.

    Examples
    --------
    >>> from leakscope.core.ranking import Scale, order_scores
    >>> rng = np.random.default_rng(0)
    >>> member, one = np.repeat([True, False], 400), Scale(np.zeros(800, int), np.zeros(800, int))
    >>> hardness = rng.normal(size=800)
    >>> def ranked(scores):
    ...     ordered = order_scores(scores, member, one)
    ...     return Ranking.in_order(scores, ordered), ordered
    >>> auc_beyond_control(ranked(hardness + member), ranked(hardness))(0.95)
    0.26 [0.24, 0.28]
    """
    (ranking, ordered), (rival, others) = target, control
    value, records = ranking.auc - rival.auc, ranking.members + ranking.nonmembers
    if not (ranking.weights.any() and rival.weights.any()):
        return lambda confidence: Estimate(value, -1.0, 1.0, confidence, n=records, method=TOO_FEW)
    ours, theirs = _deviations(ranking, ordered, records), _deviations(rival, others, records)
    squares = (ours - theirs) ** 2
    if len(np.unique(rival.blocks)) > 1:
        for one in ordered:
            members = one.rows[one.member]
            squares[members] += theirs[members] ** 2
    errors = np.array([np.sqrt(squares[np.sort(one.rows)].sum()) for one in ordered])
    return partial(_paired_estimate, value, combine(errors, np.ones(len(errors)), ranking.blocks), ranking)


def _deviations(ranking: Ranking, ordered: Sequence[Ordered], records: int) -> Floats:
    """What each record adds to the error of the AUC: the squares add up to DeLong's variance."""
    found = np.zeros(records)
    for weight, stratum, one in zip(ranking.weights, ranking.strata, ordered, strict=True):
        if weight:
            for rows, placed in zip((one.rows[one.member], one.rows[~one.member]), stratum.placements, strict=True):
                found[rows] = weight * (placed - placed.mean()) / np.sqrt(len(rows) * (len(rows) - 1.0))
    return found


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
    """`tpr_at_fpr` at several rates, read from the sorted scores at once."""
    return tprs_at_confidences(ranking, fprs, [confidence])[0]


def tprs_at_confidences(
    ranking: Ranking, fprs: Sequence[float], confidences: Sequence[float]
) -> list[dict[float, Estimate]]:
    """`tprs_at_fprs` at several confidences."""
    few = [fpr for fpr in fprs if ranking.nonmembers * fpr < FALSE_ALARMS_NEEDED]
    carried = [fpr for fpr in fprs if fpr not in few]
    bounds, rates = _tpr_bounds(ranking, few, confidences), _tprs_of(ranking, carried, confidences)
    return [
        {fpr: (bound if fpr in bound else rate)[fpr] for fpr in fprs} for bound, rate in zip(bounds, rates, strict=True)
    ]


def _tprs_of(ranking: Ranking, fprs: Sequence[float], confidences: Sequence[float]) -> list[dict[float, Estimate]]:
    """Rates that the non-members can carry, at each confidence."""
    if not fprs:
        return [{} for _ in confidences]
    sizes = [len(part.members) if len(part.nonmembers) else 0 for part in ranking.strata]
    weights = np.array(sizes, dtype=np.float64) / max(sum(sizes), 1.0)
    tails = [(1 - confidence) / 2 for confidence in confidences]
    reached = np.moveaxis(np.array([_rates_of(part, fprs, tails) for part in ranking.strata]), 0, -1)
    m, (value, least, most) = np.maximum(sizes, 1), reached
    low, high = _clopper_pearson(m * value, m, np.array(tails)[:, None, None])
    below = np.hypot(value - low, value - np.minimum(least, value))
    above = np.hypot(high - value, np.maximum(most, value) - value)
    below[..., np.equal(sizes, 0)], above[..., np.equal(sizes, 0)] = 0.0, 1.0
    found, records = [], ranking.members + ranking.nonmembers
    method = "Clopper-Pearson and order statistics, MOVER"
    for confidence, *figures in zip(confidences, value, below, above, strict=True):
        rates = {}
        for fpr, point, under, over in zip(fprs, *figures, strict=True):
            rate = float(weights @ point)
            lower = max(0.0, rate - combine(under, weights, ranking.blocks))
            upper = min(1.0, rate + combine(over, weights, ranking.blocks))
            rates[fpr] = Estimate(rate, lower, upper, confidence, n=records, method=method)
        found.append(rates)
    return found


def _rates_of(part: Stratum, fprs: Sequence[float], tails: Sequence[float]) -> Floats:
    """Rates of one stratum at each tail, with the rates at the ends of the threshold's interval, (3, tails, rates)."""
    n = len(part.nonmembers)
    if not (len(part.members) and n):
        return np.zeros((3, len(tails), len(fprs)))
    ends = [[[_binomial_quantile(n, fpr, level) for fpr in fprs] for level in (tail, 1 - tail)] for tail in tails]
    alarms = np.array([[[fpr * n for fpr in fprs], *pair] for pair in ends], dtype=np.float64)
    return part.rates(alarms.swapaxes(0, 1))


def _tpr_bounds(ranking: Ranking, fprs: Sequence[float], confidences: Sequence[float]) -> list[dict[float, Estimate]]:
    """Upper bounds where the threshold can't be placed; the two ways to be wrong share the error, and so do the strata."""
    if not fprs:
        return [{} for _ in confidences]
    m, n, strata = ranking.members, ranking.nonmembers, ranking.strata
    tails, caught = [(1 - confidence) / 2 for confidence in confidences], np.zeros((len(confidences), len(fprs)))
    for part in strata:
        size = len(part.nonmembers)
        alarms = [[_binomial_quantile(size, fpr, 1 - tail / len(strata)) for fpr in fprs] for tail in tails]
        caught += len(part.members) * part.rates(np.array(alarms, dtype=np.float64))
    _, highs = _clopper_pearson(caught, m, np.array(tails)[:, None])
    found: list[dict[float, Estimate]] = []
    for confidence, ends in zip(confidences, highs.tolist(), strict=True):
        found.append({})
        for fpr, high in zip(fprs, ends, strict=True):
            needed = int(np.ceil(FALSE_ALARMS_NEEDED / fpr - 1e-9))
            method = f"upper bound: false-positive rate {fpr:g} needs {needed:,} non-members, not {n:,}"
            found[-1][fpr] = Estimate(high, 0.0, high, confidence, "upper bound", n=m + n, method=method)
    return found


@lru_cache(maxsize=1024)  # the same for all attacks of an audit
def _binomial_quantile(n: int, p: float, level: float) -> int:
    """Smallest k with P(Binomial(n, p) <= k) >= level."""
    from scipy import special

    low, high = -1, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if special.bdtr(middle, n, p) >= level else (middle, high)
    return high
