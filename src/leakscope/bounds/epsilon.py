r"""Lower bounds on the ε of differential privacy from the scores of an attack.

A mechanism M is :math:`(\varepsilon, \delta)`-differentially private if for all neighbouring data sets D, D' and every event E

.. math:: P[M(D) \in E] \le e^\varepsilon P[M(D') \in E] + \delta.

An attack that distinguishes D from D' better than this shows that ε is larger.

**Neighbours.** Leakscope uses one convention: D' is D with one record *swapped* for another. `defenses.Guarantee.for_swaps`
converts a claim for one record that is added or removed: :math:`(\varepsilon, \delta)` becomes
:math:`(2\varepsilon, (1 + e^\varepsilon)\delta)`.

**Many independent runs** (`epsilon_lower_bound`; Jagielski, Ullman and Oprea 2020; Nasr et al. 2021). Let p and q be the
probabilities of an event on D and on D'. Then :math:`\varepsilon \ge \ln((p - \delta)/q)`. The events are {score > t} and
{score < t}, each tested for both orders of the two data sets. The thresholds t are order statistics of the runs on the second
data set, at ranks that are fixed before the data are seen. If j of its m scores lie above t, then q is distributed as
:math:`V \sim \mathrm{Beta}(j + 1, m - j)`, whatever the distribution of the scores; and given t, the number of the n other
scores above t is binomial with p at most :math:`e^\varepsilon q + \delta`. So under :math:`(\varepsilon, \delta)`-privacy

.. math::

   P[\text{at least } a \text{ above}] \le P[A \le e^\varepsilon V + \delta], \qquad A \sim \mathrm{Beta}(a, n - a + 1),

with A and V independent. This p-value has no unknown rate in it and uses both samples together, which separate intervals of
Clopper and Pearson for p and q do not. It is the melded p-value of Fay, Proschan and Brittain (2015); where scores are tied at
t, j is the number that lies strictly above, and their exact calculations for two binomial samples apply. The error
probability is divided among all events (Bonferroni), so that all runs choose the threshold and all runs are used in the bound.

**One run, many records** (`epsilon_from_pairs`; Steinke, Nasr and Jagielski 2023; Mahloujifar, Melis and Chaudhuri 2024).
Records come in m pairs of one member and one non-member; a fair coin decided which is the member. Flipping one coin swaps one
record. An attacker who sees the model guesses the member of c pairs, c fixed in advance, and T guesses are right. Let
:math:`p_t = P[T = t]`. Compare, for one pair, the event "the guess is right, and t others are" with "the guess is wrong, and t
others are right": flipping the coin of the pair exchanges the two events. The mean over the pairs gives

.. math::

   \sum_{t \in J} (t + 1)\,p_{t+1} \le e^\varepsilon \sum_{t \in J} (c - t)\,p_t + m\delta \quad\text{for every set } J.

The largest :math:`P[T \ge v]` under these constraints is a linear program with a closed form. Let
:math:`W \sim \mathrm{Binomial}(c, e^\varepsilon/(1 + e^\varepsilon))`. The solution is a mixture over :math:`l \le v` of W given
:math:`W \ge l`, each at the cost :math:`\kappa_l = l\,P[W = l]/P[W \ge l]`, of mean cost at most :math:`m\delta`. So
:math:`P[T \ge v]` is at most the concave envelope of the points :math:`(\kappa_l, P[W \ge v]/P[W \ge l])`, read at mδ. At δ = 0
it is :math:`P[W \ge v]`, as in Steinke et al. At δ > 0 it is below their bound in every case tried where theirs is below 0.9. It
assumes only (ε, δ)-differential privacy.

**A Gaussian trade-off curve** (``curve="gaussian"``). Mahloujifar et al. replace (ε, δ) by a whole trade-off curve f, so that
:math:`\sum_{t \ge j} t\,p_t/m \le 1 - f\bigl(\sum_{t \ge j-1} (c - t)\,p_t/m\bigr)` for every j. With the curve of a Gaussian
mechanism, ε can be bounded much closer to the truth. The bound then holds *only for Gaussian differential privacy*: it is the
least ε at which a Gaussian mechanism with this δ is not contradicted. It does not refute a claim of (ε, δ) by other means.
For randomised response with ε = 1 in 2,000 pairs it says "at least 1.6".

A lower bound does not prove privacy: a stronger attack or more runs may give a larger bound. "At least 0" states nothing.

References
----------
M. P. Fay, M. A. Proschan, E. Brittain. Combining one-sample confidence procedures for inference in the two-sample case.
Biometrics, 2015.
S. Mahloujifar, L. Melis, K. Chaudhuri. Auditing f-differential privacy in one run. arXiv:2410.22235, 2024.
T. Steinke, M. Nasr, M. Jagielski. Privacy auditing with one (1) training run. arXiv:2305.08846, 2023.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from leakscope.bounds.any_attack import gaussian_noise
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_share
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate

Integers = NDArray[np.int64]
#: ``any``: nothing but (ε, δ)-differential privacy is assumed. ``gaussian``: the trade-off curve of a Gaussian mechanism.
Curve = Literal["any", "gaussian"]

#: Smallest number of guesses: fewer give almost no bound, even if all are right.
FEWEST_GUESSES = 16
#: Share of each family's error probability for the threshold that no score of the second data set exceeds, which gives the
#: largest bound if an attack is nearly perfect.
EXTREME_SHARE = 1 / 3
#: Share for the median of the second data set, which gives the largest bound for weak attacks and for scores of few values.
MEDIAN_SHARE = 1 / 5
#: The other ranks fall from the median by this factor, and share the rest equally.
RANK_FACTOR = 1.45
#: Share of the pairs that chooses the number of guesses for the Gaussian curve; testing several numbers would lose more.
CHOOSING_SHARE = 1 / 5
#: Precision of a bound; the lower end is returned.
TOLERANCE = 1e-6


def epsilon_lower_bound(inside: Any, outside: Any, delta: float = 0.0, confidence: float = 0.95) -> Estimate:
    r"""Bound ε from below with many independent runs: one score per run on D, and one per run on a neighbour D'.

    Only the order of the scores matters, and high scores need not point to D. With n runs on each data set and scores that
    separate the two perfectly, the bound is about :math:`\ln(n/5.5)` at 95 %: refuting a claim of ε takes at least
    :math:`5.5 e^\varepsilon` runs on each.

    Parameters
    ----------
    inside, outside
        Scores of the runs on D and on D'; the runs must be independent of each other.
    delta
        The δ of the claim in question.
    confidence
        Probability, at least, with which the bound lies below the true ε.

    Returns
    -------
    Estimate
        Of the kind "lower bound".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> epsilon_lower_bound(rng.laplace(1, 1, 20_000), rng.laplace(0, 1, 20_000))  # ε = 1
    at least 0.964
    >>> epsilon_lower_bound(np.ones(1000), np.zeros(1000))  # the noise was forgotten
    at least 5.2
    """
    first, second = _scores(inside, "inside"), _scores(outside, "outside")
    _check(delta, confidence)
    if min(len(first), len(second)) < 2:
        raise InputError("inside and outside must hold at least two runs each")
    # High scores on the first data set, low ones on the second, and the same with the data sets exchanged.
    families = ((first, second), (-second, -first), (-first, -second), (second, first))
    bound = 0.0
    for often, seldom in families:
        bound = _largest_ratio(often, seldom, delta, (1 - confidence) / len(families), bound)
    return _at_least(bound, confidence, len(first) + len(second), "melded binomial tests, Bonferroni over thresholds")


def epsilon_from_pairs(
    inside: Any, outside: Any, delta: float = 0.0, confidence: float = 0.95, half: Any = None, curve: Curve = "any"
) -> Estimate:
    r"""Bound ε for swaps from below with one trained model and pairs of a member and a non-member.

    The attacker guesses that the record with the higher score is the member, for the c pairs whose scores differ most, and
    abstains on the others. The choice of pairs does not depend on memberships, since \|difference\| is symmetric. c is m, m/2,
    m/4, … down to 16. Each of these K bounds has the error probability α/K, and the largest is returned. Equal scores give no
    guess; at δ > 0, where c must be fixed in advance, they count as wrong guesses. Since differences are compared, the scale of
    the scores matters, unlike in `epsilon_lower_bound`.

    The bound holds if training and held-out records were split at random and paired at random (in an order that does not depend
    on the records), and if the scores do not use memberships.

    Parameters
    ----------
    inside, outside
        Scores of the member and of the non-member of each pair.
    delta
        The δ of the claim in question.
    confidence
        Probability, at least, with which the bound lies below the true ε.
    half
        The half that each pair belongs to, if the attack was fitted on one half of the pairs and evaluated on the other, and
        vice versa. Given all memberships of one half, the coins of the other are still fair, and training is still private
        in them. The theorem holds within each half, but not for both together, since each half's scores use the other half's
        coins. So each half gets half of the error probability, and the larger bound is returned.
    curve
        ``any`` assumes only (ε, δ)-differential privacy. ``gaussian`` is closer to the truth and holds only where training is
        Gaussian differentially private for swaps. It needs δ > 0. A fifth of the pairs, by a fixed draw, then chooses c, and
        the others are guessed, at the whole error probability.

    Returns
    -------
    Estimate
        Of the kind "lower bound".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> told = np.where(rng.random(10_000) < special.expit(1.0), 1.0, -1.0)  # randomised response with ε = 1
    >>> epsilon_from_pairs(told, -told)
    at least 0.949
    """
    gap, groups = _gaps(inside, outside, half)
    _check(delta, confidence)
    if curve not in ("any", "gaussian"):
        raise InputError(f"unknown curve {curve!r}: use 'any' or 'gaussian'")
    if curve == "gaussian" and not delta:
        raise InputError("curve 'gaussian' needs a delta above 0: pass one, or use curve='any'")
    labels = np.unique(groups)
    level = (1 - confidence) / len(labels)
    one_run = _from_gaps_gaussian if curve == "gaussian" else _from_gaps
    bound = max(one_run(gap[groups == label], delta, level) for label in labels)
    method = "right guesses in one run, Mahloujifar, Melis and Chaudhuri 2024"
    if curve == "gaussian":
        method += ", for Gaussian differential privacy only"
    return _at_least(bound, confidence, 2 * len(gap), method)


def audit_mechanism(
    run: Callable[[Any, np.random.Generator], float],
    first: Any,
    second: Any,
    runs: int = 1000,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    r"""Bound ε of a mechanism from below with many runs on two neighbouring data sets.

    ``run(data, rng)`` returns the released number. If the release is not a number, ``run`` converts it to one; the ratio of
    its likelihoods on ``first`` and ``second`` is best.

    Examples
    --------
    A count with Laplace noise of scale 1 is private with ε = 1. Here the noise was forgotten.

    >>> def forgotten(data, rng):
    ...     return sum(data)
    >>> audit_mechanism(forgotten, [1, 1, 1], [1, 1, 0])
    at least 5.2
    """
    if runs < 2:
        raise InputError(f"runs must be 2 or more, not {runs}")
    rng = np.random.default_rng(seed)
    inside, outside = ([run(data, child) for child in rng.spawn(runs)] for data in (first, second))
    return epsilon_lower_bound(inside, outside, delta, confidence)


def _at_least(bound: float, confidence: float, n: int, method: str) -> Estimate:
    value = max(0.0, float(bound))
    return Estimate(value, value, np.inf, confidence, "lower bound", n=n, method=method)


def _ranks(m: int) -> tuple[Integers, Floats]:
    """Return how many of m scores lie above each threshold, and each threshold's share of the error probability."""
    steps = int(np.log(max(m / 2, 1.0)) / np.log(RANK_FACTOR))
    between = np.unique((m / 2 / RANK_FACTOR ** np.arange(1, steps + 1)).astype(np.int64))
    shares = np.full(len(between), (1 - EXTREME_SHARE - MEDIAN_SHARE) / max(len(between), 1))
    return np.r_[0, m // 2, between], np.r_[EXTREME_SHARE, MEDIAN_SHARE, shares]


def _largest_ratio(often: Floats, seldom: Floats, delta: float, level: float, least: float) -> float:
    """Return the largest bound of any event {score > t}, or ``least`` if none is larger."""
    test = _events(often, seldom, delta, level)
    low, high = least, least + 1.0
    if not len(test.levels) or not test.refute(low):
        return least
    while test.refute(high):
        low, high = high, 2 * high
    while high - low > TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if test.refute(middle) else (low, middle)
    return low


def _events(often: Floats, seldom: Floats, delta: float, level: float) -> _Melded:
    """Return the events {score > t} of one family that occurred on the first data set."""
    ranks, shares = _ranks(len(seldom))
    ordered = np.sort(seldom)
    thresholds = ordered[len(seldom) - 1 - ranks]
    a, b = (len(side) - np.searchsorted(side, thresholds, side="right") for side in (np.sort(often), ordered))
    some = a > 0
    return _Melded(a[some], len(often), b[some], len(seldom), delta, level * shares[some])


class _Melded:
    """Events with a of n scores on the first data set, b of m on the second, each with its level."""

    def __init__(self, a: Integers, n: int, b: Integers, m: int, delta: float, levels: Floats) -> None:
        # The mean over A is a sum over the logit of A, on which its density has light tails. V's distribution function must not
        # be steep between two nodes; it becomes steeper as the second sample grows.
        nodes = int(np.clip(80 * np.sqrt(m / (4 * n)), 80, 4000))
        a, rest = a[:, None].astype(np.float64), n - a[:, None] + 1.0
        spread = np.sqrt(special.polygamma(1, a) + special.polygamma(1, rest))
        logit = special.digamma(a) - special.digamma(rest) + spread * np.linspace(-14, 14, nodes + 1)
        density = a * special.log_expit(logit) + rest * special.log_expit(-logit)
        weights = np.exp(density - density.max(axis=1, keepdims=True))
        self.weights = weights / weights.sum(axis=1, keepdims=True)
        self.rates = np.maximum(special.expit(logit) - delta, 0.0)
        self.levels, self.b, self.m = levels, b[:, None], m

    def p_values(self, epsilon: float) -> Floats:
        """Bound the probability of at least a scores on the first data set, for each event."""
        tails = special.betaincc(self.b + 1.0, self.m - self.b, self.rates * np.exp(-epsilon))
        return np.asarray(np.sum(tails * self.weights, axis=1))

    def refute(self, epsilon: float) -> bool:
        """Whether an event refutes ε; if so, drop the events that do not, since p-values grow with ε."""
        refuted = self.p_values(epsilon) <= self.levels
        if not refuted.any():
            return False
        self.rates, self.weights = self.rates[refuted], self.weights[refuted]
        self.levels, self.b = self.levels[refuted], self.b[refuted]
        return True


def _from_gaps(gap: Floats, delta: float, level: float) -> float:
    """Return the largest bound over the numbers of guesses, each at its share of the level."""
    # Given the release, a guess is right with probability at most e^ε/(1 + e^ε) at δ = 0, for any number of guesses.
    pairs, most = len(gap), len(gap) if delta else int(np.count_nonzero(gap))
    right = _right_guesses(_mixed(gap))
    sizes = [most >> k for k in range(most.bit_length()) if most >> k >= FEWEST_GUESSES]
    bound = 0.0
    for guesses in sizes:
        bound = _invert(int(right[guesses - 1]), guesses, pairs, delta, level / len(sizes), bound)
    return bound


def _from_gaps_gaussian(gap: Floats, delta: float, level: float) -> float:
    """Return the bound for Gaussian mechanisms: some pairs choose the number of guesses, the others are guessed."""
    mixed = _mixed(gap)
    cut = int(len(gap) * CHOOSING_SHARE)
    chosen_by, rest = _right_guesses(mixed[:cut]), mixed[cut:]
    if len(rest) < FEWEST_GUESSES:
        return 0.0
    parts = np.sqrt(0.5) ** np.arange(40)
    tried, sizes = (cut * parts).astype(np.int64), (len(rest) * parts).astype(np.int64)
    enough = (tried >= 4) & (sizes >= FEWEST_GUESSES)
    guesses = len(rest)
    if enough.any():
        tried, sizes = tried[enough], sizes[enough]
        expected = ((chosen_by[tried - 1] + 1) / (tried + 2) * sizes).astype(np.int64)
        guesses = int(sizes[_invert_gaussian(expected, sizes, len(rest), delta, level)[1]])
    right = _right_guesses(rest)[guesses - 1]
    found = _invert_gaussian(np.array([right]), np.array([guesses]), len(rest), delta, level)[0]
    # A Gaussian mechanism is (ε, δ)-private too: both bound the probability of the same event, so use the larger bound.
    return _invert(int(right), guesses, len(rest), delta, level, found)


def _mixed(gap: Floats) -> Floats:
    """Return the pairs in a fixed random order, so that the given order does not rank equal differences."""
    return gap[np.random.default_rng(0).permutation(len(gap))]


def _right_guesses(gap: Floats) -> Integers:
    """Count the right guesses among the first 1, 2, … guesses; the largest differences come first."""
    return np.cumsum(gap[np.argsort(-np.abs(gap), kind="stable")] > 0)


def _invert(right: int, guesses: int, pairs: int, delta: float, level: float, least: float = 0.0) -> float:
    """Return the least ε whose p-value is above the level, or ``least`` if it is smaller; the p-value grows with ε."""
    if not right:
        return least
    # At δ = 0 the bound is the quantile; δ > 0 only lowers it.
    low, high = least, float(special.logit(special.betaincinv(right, guesses - right + 1, level)))
    if not delta or high <= low:
        return max(low, high)
    combinations = _log_choose(guesses)
    if _p_value(right, guesses, pairs, low, delta, combinations) > level:
        return low
    while high - low > TOLERANCE:
        middle = (low + high) / 2
        refuted = _p_value(right, guesses, pairs, middle, delta, combinations) <= level
        low, high = (middle, high) if refuted else (low, middle)
    return low


def _log_choose(guesses: int) -> Floats:
    """Return the logarithms of the binomial coefficients, for every number of right guesses."""
    t = np.arange(guesses + 1.0)
    return np.asarray(special.gammaln(guesses + 1.0) - special.gammaln(t + 1) - special.gammaln(guesses - t + 1))


def _p_value(
    right: int, guesses: int, pairs: int, epsilon: float, delta: float, combinations: Floats | None = None
) -> float:
    r"""Return the largest probability of this many right guesses under (ε, δ)-privacy: the module's linear program.

    The envelope at mδ is the least over slopes s of :math:`\max_l(\mathrm{gain}_l - s\kappa_l) + s m\delta`. Every slope gives
    a valid bound. The one used is that of the best chord to the last point, which belongs to the envelope.
    """
    if right == 0:
        return 1.0
    t = np.arange(guesses + 1.0)
    logs = _log_choose(guesses) if combinations is None else combinations
    mass = np.exp(logs + t * special.log_expit(epsilon) + (guesses - t) * special.log_expit(-epsilon))
    reached = np.minimum(np.cumsum(mass[::-1])[::-1], 1.0)
    # If this number of right guesses is too unlikely for floating point, the probability of a smaller number bounds it.
    last = min(right, int(np.count_nonzero(reached > 1e-250)) - 1)
    gain, cost = reached[last] / reached[: last + 1], t[: last + 1] * mass[: last + 1] / reached[: last + 1]
    cost = np.maximum.accumulate(cost)
    allowed = pairs * delta
    if cost[-1] <= allowed:
        return 1.0
    before = np.flatnonzero(cost <= allowed)
    slopes = (1 - gain[before]) / (cost[-1] - cost[before])
    slope = slopes[np.argmax(gain[before] + slopes * (allowed - cost[before]))]
    return min(1.0, float(np.max(gain - slope * cost) + slope * allowed))


def _invert_gaussian(right: Integers, guesses: Integers, pairs: int, delta: float, level: float) -> tuple[float, int]:
    """Return the largest ε up to which some number of guesses refutes a Gaussian mechanism, and that number."""
    low, high, which = 0.0, 16.0, 0
    while high - low > 10 * TOLERANCE:
        grid = np.linspace(low, high, 17)[1:]
        refuted = _refute_gaussian(right, guesses, pairs, 1 / gaussian_noise(grid, delta, 1.0), level)
        passed = int(np.count_nonzero(refuted.any(axis=0)))
        if passed:
            which = int(refuted[:, passed - 1].argmax())
            low = float(grid[passed - 1])
        high = float(grid[passed]) if passed < len(grid) else 2 * high
    return low, which


def _refute_gaussian(right: Integers, guesses: Integers, pairs: int, mu: Floats, level: float) -> NDArray[np.bool_]:
    r"""Whether this many right guesses have a probability below the level for each μ: one row per number of guesses.

    If :math:`P[T \ge v]` were the level, each constraint from j = v down would require more probability of T = j - 1, in
    sum more than 1. ``hit`` and ``miss`` are the two sums of the constraint.
    """
    shape = len(right), len(mu)
    v, c, shift = (np.broadcast_to(one, shape).ravel() for one in (right[:, None], guesses[:, None], mu))
    hit: Floats = level * v.astype(np.float64) / pairs
    miss, t = level * (c - v) / pairs, v.astype(np.float64)
    refuted, place = np.zeros(len(v), dtype=bool), np.arange(len(v))
    while len(place):
        t = t - 1
        needed = np.maximum(special.ndtr(special.ndtri(hit) - shift), miss)
        hit = np.minimum(hit + np.maximum(t, 0.0) / (c - t) * (needed - miss), 1.0)
        over = hit + needed > c / pairs
        refuted[place[over]] = True
        going = ~over & (needed > miss) & (t > 0)
        place, c, shift, t = place[going], c[going], shift[going], t[going]
        hit, miss = hit[going], needed[going]
    return refuted.reshape(shape)


def _gaps(inside: Any, outside: Any, half: Any) -> tuple[Floats, NDArray[Any]]:
    """Return the member's score minus the non-member's for each pair, and each pair's half."""
    first, second = _scores(inside, "inside"), _scores(outside, "outside")
    groups = np.zeros(len(first), dtype=np.int64) if half is None else np.asarray(half)
    if not len(first) or len(second) != len(first) or groups.shape != first.shape:
        raise InputError("inside, outside and half must have the same length: one value of each per pair")
    with np.errstate(invalid="ignore"):  # the difference of two equal infinite scores is not a number
        return np.where(first == second, 0.0, first - second), groups


def _scores(values: Any, name: str) -> Floats:
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers, one score per run or record") from None
    if scores.ndim != 1 or np.isnan(scores).any():
        raise InputError(f"{name} must be one-dimensional, without missing values")
    return scores


def _check(delta: float, confidence: float) -> None:
    if delta != 0:
        check_share("delta", delta)
    check_share(
        "confidence", confidence
    )  # several attacks share an error probability, so the confidence of one may exceed that of a study
