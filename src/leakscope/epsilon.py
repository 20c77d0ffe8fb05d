r"""How private is it at most? An empirical lower bound on ε: arrays in, a number out; no model in sight.

A mechanism M is :math:`(\varepsilon, \delta)`-differentially private if for all neighbours D, D' and every event E

.. math:: P[M(D) \in E] \le e^\varepsilon P[M(D') \in E] + \delta.

Whatever an attack tells apart better than this shows that ε is larger. There are two ways to look.

**Many independent runs** (`epsilon_lower_bound`; Jagielski, Ullman and Oprea 2020; Nasr et al. 2021). With the rates p of E on
one data set and q on its neighbour, :math:`\varepsilon \ge \ln((p - \delta)/q)`. E is {score ≥ t} or its complement, and
either data set may be the one on which it is the more likely. p is replaced by its lower and q by its upper bound of Clopper
and Pearson (1934), each wrong with probability at most α/2, where 1 - α is the confidence. *Corrected for the choice of
threshold*: the event that looks best on the runs that it was chosen from looks too good, so a third of the runs choose it,
and the other two thirds, which had no say, give the bound.

**One run, many records** (`epsilon_from_pairs`; Steinke, Nasr and Jagielski 2023). Records come in pairs, one member and one
non-member, and a fair coin decided which; to flip one coin is to swap one record. An attacker who sees the model names the
member of each pair, or abstains. Let r be the number of guesses, fixed beforehand, of m pairs. If training is (ε, δ)-private
for swaps, then with :math:`W \sim \mathrm{Binomial}(r, e^\varepsilon/(1 + e^\varepsilon))`, for every v,

.. math::

   P[\text{at least } v \text{ right}] \le P[W \ge v] + 2m\delta\,\max_{i \ge 1} \tfrac1i\, P[v - i \le W < v]

(their Corollary 5.4 in arXiv:2305.08846v1; the p-value of their Appendix D). The bound is the least ε that this does not
contradict. At δ = 0 it is the lower bound of Clopper and Pearson on the share of right guesses, taken as
:math:`e^\varepsilon/(1 + e^\varepsilon)`.

A lower bound never proves privacy: a stronger attack, or more runs, may show more. "At least 0" says that nothing was shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from leakscope.errors import InputError
from leakscope.results import Estimate

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Fewer guesses than this show next to nothing, even if all are right.
FEWEST_GUESSES = 16
#: An event is chosen by what it shows with this tail on either rate, smaller than that of the bound: rare events, which are
#: the most likely to look good by luck, are then chosen less often.
CHOOSING_TAIL = 0.0025


def epsilon_lower_bound(inside: Any, outside: Any, delta: float = 0.0, confidence: float = 0.95) -> Estimate:
    r"""Lower bound on ε from many independent runs: one score per run on D, and one per run on a neighbour D'.

    Only the order of the scores matters, and high ones need not point to D. With n runs on each, of a mechanism that gives
    itself away every time, the bound is about :math:`\ln(n/5.5)` at 95 %: to contradict a claim of ε takes at least
    :math:`5.5 e^\varepsilon` runs on each. Laplace noise for half the true sensitivity, so that ε is 2 where 1 is claimed, is
    caught almost surely by 400.

    Parameters
    ----------
    inside, outside
        Scores of the runs on D and on D'; the runs must be independent of each other.
    delta
        The δ of the claim in question.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> epsilon_lower_bound(rng.laplace(1, 1, 20_000), rng.laplace(0, 1, 20_000))  # ε = 1
    at least 0.9589
    >>> epsilon_lower_bound(np.ones(1000), np.zeros(1000))  # the noise was forgotten
    at least 5.195
    """
    first, second = _shuffled(_scores(inside, "inside")), _shuffled(_scores(outside, "outside"))
    _check(delta, confidence)
    if min(len(first), len(second)) < 2:
        raise InputError("a lower bound on epsilon needs at least two runs on each of the two data sets")
    cuts = len(first) // 3 or 1, len(second) // 3 or 1
    tail = (1 - confidence) / 2
    thresholds = _candidates(np.concatenate([first[: cuts[0]], second[: cuts[1]]]))
    chosen = np.argmax(_ratios(first[: cuts[0]], second[: cuts[1]], thresholds, delta, CHOOSING_TAIL))
    event, place = divmod(int(chosen), len(thresholds))
    bound = _ratios(first[cuts[0] :], second[cuts[1] :], thresholds[[place]], delta, tail)[event, 0]
    method = "Clopper-Pearson on two thirds of the runs, the threshold chosen on the others"
    return _at_least(bound, confidence, len(first) + len(second), method)


def epsilon_from_pairs(
    inside: Any, outside: Any, delta: float = 0.0, confidence: float = 0.95, half: Any = None
) -> Estimate:
    r"""Lower bound on ε for swaps from one trained model: pairs of a member and a non-member.

    The attacker says that the record with the higher score is the member, for the r pairs whose scores differ most, and
    abstains on the others. Which pairs these are does not depend on who is the member, since \|difference\| is symmetric.
    r is m, m/2, m/4, … down to 16, and each of these K bounds is taken at the level α/K; the largest is given. Equal scores
    give no guess; at δ > 0, where r must be fixed beforehand, they count as wrong guesses. Since differences are compared,
    the scale of the scores matters, unlike in `epsilon_lower_bound`.

    It holds if training and held-out records were split at random and paired at random (members and non-members in an order
    that has nothing to do with what they are), and if the scores do not use who is the member.

    Parameters
    ----------
    inside, outside
        Scores of the member and of the non-member of each pair.
    delta
        The δ of the claim in question.
    half
        Where the attack was fitted on the memberships of one half of the pairs and judged on the other, and vice versa: the
        half of each pair. Given all memberships of one half, the coins of the other are still fair, and training is still
        private in them: the theorem holds within each half, though not for both at once, since each half's scores know the
        other half's coins. So each half is bounded at the level α/2, and the larger bound is given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> told = np.where(rng.random(10_000) < special.expit(1.0), 1.0, -1.0)  # randomised response with ε = 1
    >>> epsilon_from_pairs(told, -told)
    at least 0.9491
    """
    gap, groups = _gaps(inside, outside, half)
    _check(delta, confidence)
    labels = np.unique(groups)
    level = (1 - confidence) / len(labels)
    bound = max(_from_gaps(gap[groups == label], delta, level) for label in labels)
    return _at_least(bound, confidence, 2 * len(gap), "right guesses in one run, Steinke, Nasr and Jagielski 2023")


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
    r"""Lower bound on ε of a mechanism, run many times on two neighbouring data sets.

    ``run(data, rng)`` releases something and gives it as a number; what is not a number is turned into one by ``run``, best
    into how much likelier it is on ``first`` than on ``second``.

    Examples
    --------
    A count with Laplace noise of scale 1 is private with ε = 1, and here somebody forgot the noise.

    >>> def forgotten(data, rng):
    ...     return sum(data)
    >>> audit_mechanism(forgotten, [1, 1, 1], [1, 1, 0])
    at least 5.195
    """
    if runs < 2:
        raise InputError(f"a lower bound on epsilon needs at least two runs, not {runs}")
    rng = np.random.default_rng(seed)
    inside, outside = ([run(data, child) for child in rng.spawn(runs)] for data in (first, second))
    return epsilon_lower_bound(inside, outside, delta, confidence)


def _at_least(bound: float, confidence: float, n: int, method: str) -> Estimate:
    value = max(0.0, float(bound))
    return Estimate(value, value, np.inf, confidence, "lower bound", n=n, method=method)


def _shuffled(scores: Floats) -> Floats:
    """The scores in a fixed random order: the runs that choose are then a random third, even of sorted scores."""
    return scores[np.random.default_rng(0).permutation(len(scores))]


def _candidates(scores: Floats) -> Floats:
    """Thresholds to choose from: the scores, of many of them some 400, thicker towards both ends."""
    ordered = np.unique(scores)
    steps = np.unique(np.geomspace(1, len(ordered), 200).astype(np.int64)) - 1
    return ordered[np.union1d(steps, len(ordered) - 1 - steps)]


def _ratios(first: Floats, second: Floats, thresholds: Floats, delta: float, tail: float) -> Floats:
    """Lower bound of ε by each event: {score ≥ t} and {score < t}, likelier on the first data and on the second."""
    n, m = len(first), len(second)
    a, b = (len(side) - np.searchsorted(np.sort(side), thresholds, side="left") for side in (first, second))
    return np.array(
        [
            _log_ratio(a, n, b, m, delta, tail),
            _log_ratio(n - a, n, m - b, m, delta, tail),
            _log_ratio(b, m, a, n, delta, tail),
            _log_ratio(m - b, m, n - a, n, delta, tail),
        ]
    )


def _log_ratio(often: Integers, n: int, seldom: Integers, m: int, delta: float, tail: float) -> Floats:
    """ln((p - δ)/q), with p the lower and q the upper end of Clopper and Pearson, each with the given tail."""
    low = np.where(often > 0, special.betaincinv(np.maximum(often, 1), n - often + 1, tail), 0.0)
    high = np.where(seldom < m, special.betaincinv(seldom + 1, np.maximum(m - seldom, 1), 1 - tail), 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(low - delta, 0.0) / high), dtype=np.float64)


def _from_gaps(gap: Floats, delta: float, level: float) -> float:
    """The largest bound over the numbers of guesses r, each at its share of the level."""
    # Given what was released, a guess is right with at most e^ε/(1 + e^ε) at δ = 0, however many guesses are made.
    pairs, most = len(gap), len(gap) if delta else int(np.count_nonzero(gap))
    right = np.cumsum(gap[np.argsort(-np.abs(gap), kind="stable")] > 0)
    sizes = [most >> k for k in range(most.bit_length()) if most >> k >= FEWEST_GUESSES]
    return max((_invert(int(right[r - 1]), r, pairs, delta, level / len(sizes)) for r in sizes), default=0.0)


def _invert(right: int, guesses: int, pairs: int, delta: float, level: float) -> float:
    """The least ε ≥ 0 whose p-value is above the level; the p-value grows with ε."""
    if _p_value(right, guesses, pairs, 0.0, delta) > level:
        return 0.0
    # At δ = 0 it is the quantile, and δ > 0 only lowers it.
    low, high = 0.0, float(special.logit(special.betaincinv(right, guesses - right + 1, level)))
    while delta and high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if _p_value(right, guesses, pairs, middle, delta) > level else (middle, high)
    return low if delta else high


def _p_value(right: int, guesses: int, pairs: int, epsilon: float, delta: float) -> float:
    r"""At most this is the probability of so many right guesses under (ε, δ)-privacy.

    With c = 2mδ, the right side of the theorem is the largest of (1 - c/i) P[W ≥ v] + (c/i) P[W ≥ v - i] over i. Where
    1 - c/i is negative, 0 stands in its place: this can only enlarge it, and makes every term grow with ε.
    """
    if right == 0:
        return 1.0
    q = float(special.expit(epsilon))
    tail = float(special.betainc(right, guesses - right + 1, q))
    if not delta:
        return tail
    # Eight deviations below its mean W is surely reached, and from there on the terms fall with i.
    lowest = int(max(0.0, guesses * q - 8 * np.sqrt(guesses * q * (1 - q)) - 20))
    below = np.arange(right - 1, min(lowest, right - 1) - 1, -1)
    reached = np.where(below > 0, special.betainc(np.maximum(below, 1), guesses - below + 1, q), 1.0)
    share = 2 * pairs * delta / (right - below)
    return min(1.0, float(np.max(np.maximum(1 - share, 0.0) * tail + share * reached)))


def _gaps(inside: Any, outside: Any, half: Any) -> tuple[Floats, NDArray[Any]]:
    """By how much the member's score is higher, pair by pair, and each pair's half."""
    first, second = _scores(inside, "inside"), _scores(outside, "outside")
    groups = np.zeros(len(first), dtype=np.int64) if half is None else np.asarray(half)
    if not len(first) or len(second) != len(first) or groups.shape != first.shape:
        raise InputError(
            "a pair needs a member and a non-member: give as many scores outside as inside, and one half each"
        )
    with np.errstate(invalid="ignore"):  # two infinite scores are equal, and their difference is not a number
        return np.where(first == second, 0.0, first - second), groups


def _scores(values: Any, name: str) -> Floats:
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, one score each") from None
    if scores.ndim != 1 or np.isnan(scores).any():
        raise InputError(f"{name} must be one list of numbers without gaps, one score each")
    return scores


def _check(delta: float, confidence: float) -> None:
    if not 0 <= delta < 1:
        raise InputError(f"delta must be at least 0 and below 1, not {delta}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, not {confidence}")
