r"""Tests of a claim of differential privacy with the scores and figures of an audit.

**What refutes a claim.** Only the one-run bound (`epsilon.epsilon_from_pairs`) does: a lower bound on ε above the claimed ε, at
the claimed δ. It holds for any training if a random split decided which records are members.

**What the reported figures say.** If training is (ε, δ)-private for swaps, every attack has

.. math::

   \mathrm{TPR} \le \min\bigl\{e^\varepsilon\,\mathrm{FPR} + \delta,\; 1 - e^{-\varepsilon}(1 - \delta - \mathrm{FPR}),\; 1\bigr\},

where the rates are probabilities over the split and the training (Kairouz, Oh and Viswanath 2015). The area under this curve is
the largest AUC, and its largest distance from the diagonal the largest advantage:

.. math::

   \mathrm{AUC} \le 1 - \frac{(1 - \delta)^2}{1 + e^\varepsilon}, \qquad
   \mathrm{TPR} - \mathrm{FPR} \le 1 - \frac{2(1 - \delta)}{1 + e^\varepsilon}.

Solved for ε, these give the ε that a figure implies. They are shown and do not refute a claim, for this reason. The intervals of an
audit treat the records of *one* training as independent. Differential privacy does not imply independence: it limits what the
model reveals about each record, and the errors for different records may depend on each other. Two mechanisms show it:

- Randomised response for whole pairs, (ε, 0)-private: the model names one record of each pair, the member with probability
  :math:`e^\varepsilon/(1 + e^\varepsilon)`. The AUC is at its limit. A correct answer raises the TPR and lowers the FPR together, so
  the variance of the AUC is twice what DeLong's formula estimates. A 95 % interval lies above the limit in 8 % of the trainings,
  not in 2.5 %.
- With probability :math:`m\delta/k`, the model reveals k of m records, otherwise none. This is (0, δ)-private. With m = 1,000,
  δ = 0.01 and k = 80, the interval lies above the limit in every eighth training.

Repeating the training does give independent figures, and these bound ε (`epsilon.epsilon_lower_bound`). Within one training, the
theorem for one run accounts for the dependence between records.

**Assumptions.** Membership was decided by a random split of the audited records, of fixed size or by independent coins, and
members and non-members are paired at random. Given the pairs, each record of a pair is the member with probability ½. No score uses
the memberships of the pairs that it is evaluated on. Records that occur more than once are excluded, because their membership
is not decided by a fair coin. Under distribution shift nothing is refuted: check the blind baseline first.

**Neighbours.** ε is for the swap of one record, as in `leakscope.bounds.epsilon`. With ``neighbours="added or removed"`` the claim is
converted first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from leakscope.bounds.any_attack import advantage_from_epsilon
from leakscope.bounds.epsilon import Curve, epsilon_from_pairs
from leakscope.bounds.guarantee import Guarantee
from leakscope.core.checks import check_share
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate


@dataclass(frozen=True, eq=False)
class Pairs:
    """Scores of one attack for pairs of a member and a non-member; see `epsilon.epsilon_from_pairs`."""

    attack: str
    inside: Any
    outside: Any
    half: Any = None


@dataclass(frozen=True)
class Implied:
    """A figure and the largest value that the claim allows.

    Parameters
    ----------
    figure
        ``auc``, ``advantage`` or ``tpr``; for ``tpr``, ``fpr`` is the false-positive rate.
    found
        The figure with its interval.
    limit
        The largest expected value under the claim.
    epsilon
        The ε that the lower end of the interval implies: 0 if it implies none, infinite if no ε allows it.
    """

    figure: Literal["auc", "advantage", "tpr"]
    found: Estimate
    limit: float
    epsilon: float
    fpr: float | None = None

    @property
    def above(self) -> bool:
        """Whether the interval lies above the limit, which is a warning and not a refutation."""
        return self.found.low > self.limit


@dataclass(frozen=True)
class ClaimTest:
    """Whether an audit refutes a claim of (ε, δ)-differential privacy.

    Parameters
    ----------
    epsilon, delta, neighbours
        The claim as it was made.
    swap_epsilon, swap_delta
        The same claim for the swap of one record; all bounds are for swaps.
    bound
        Lower bound on ε from one run, at ``swap_delta``; None without pairs.
    attack
        The attack that gave it.
    refuted
        Whether ``bound`` is above ``swap_epsilon``.
    figures
        What AUC, advantage and TPR imply.
    """

    epsilon: float
    delta: float
    neighbours: Literal["swap", "added or removed"]
    swap_epsilon: float
    swap_delta: float
    bound: Estimate | None
    attack: str
    refuted: bool
    figures: tuple[Implied, ...] = ()


def check_claim(
    epsilon: float,
    delta: float = 0.0,
    *,
    pairs: Sequence[Pairs] = (),
    auc: Estimate | None = None,
    advantage: Estimate | None = None,
    tpr_at_fpr: Mapping[float, Estimate] | None = None,
    neighbours: Literal["swap", "added or removed"] = "swap",
    confidence: float = 0.95,
    curve: Curve = "any",
) -> ClaimTest:
    """Test the claim that training is (ε, δ)-differentially private.

    Parameters
    ----------
    epsilon, delta, neighbours
        The claim, and the neighbours that it is about.
    pairs
        Scores of each attack for pairs of a member and a non-member, from a random split. Without them nothing is refuted.
    auc, advantage, tpr_at_fpr
        Figures of the audit, for the ε that each implies.
    confidence
        Confidence of the one-run bound. The error probability 1 - ``confidence`` is divided equally among the attacks. Pass
        the share of the audit's error probability that this test may use.
    curve
        ``gaussian`` tests the claim that training is a Gaussian mechanism with this ε and δ, and no other claim.

    Returns
    -------
    ClaimTest

    Examples
    --------
    >>> import numpy as np
    >>> found = check_claim(1.0, pairs=[Pairs("loss", np.ones(500), np.zeros(500))], auc=Estimate(0.73, 0.70, 0.76))
    >>> found.refuted, found.bound
    (True, at least 4.68)
    >>> round(found.figures[0].limit, 4), round(found.figures[0].epsilon, 4), found.figures[0].above
    (0.7311, 0.8473, False)
    """
    if not (epsilon >= 0 and math.isfinite(epsilon)) or not 0 <= delta < 1:
        raise InputError(
            f"epsilon must be finite and 0 or more, and delta from 0 to below 1, not {epsilon} and {delta}"
        )
    swap_epsilon, swap_delta = Guarantee(epsilon, delta, neighbours).for_swaps()
    bound, attack = _largest_bound(pairs, swap_delta, confidence, curve)
    return ClaimTest(
        float(epsilon),
        float(delta),
        neighbours,
        swap_epsilon,
        swap_delta,
        bound,
        attack,
        bound is not None and bound.value > swap_epsilon,
        tuple(_implied(swap_epsilon, swap_delta, auc, advantage, tpr_at_fpr or {})),
    )


def auc_from_epsilon(epsilon: float, delta: float = 0.0) -> float:
    r"""Bound the expected AUC of any attack under (ε, δ)-differential privacy: :math:`1 - (1 - \delta)^2/(1 + e^\varepsilon)`.

    Examples
    --------
    >>> round(auc_from_epsilon(1.0), 4), round(auc_from_epsilon(0.0, delta=0.1), 4)
    (0.7311, 0.595)
    """
    return 1 - (1 - delta) ** 2 * _expit(-epsilon)


def epsilon_from_auc(auc: float, delta: float = 0.0) -> float:
    """Return the least ε that allows the AUC; the inverse of `auc_from_epsilon`.

    Examples
    --------
    >>> round(epsilon_from_auc(0.7), 4), epsilon_from_auc(0.5), epsilon_from_auc(1.0)
    (0.8473, 0.0, inf)
    """
    return _odds((1 - auc) / (1 - delta) ** 2)


def tpr_from_epsilon(fpr: float, epsilon: float, delta: float = 0.0) -> float:
    """Bound the expected TPR at a false-positive rate under (ε, δ)-differential privacy.

    Examples
    --------
    >>> round(tpr_from_epsilon(0.01, 1.0), 4), round(tpr_from_epsilon(0.5, 1.0), 4)
    (0.0272, 0.8161)
    """
    rising = math.exp(min(epsilon, 700.0)) * fpr + delta
    return min(rising, 1 - math.exp(-epsilon) * max(1 - delta - fpr, 0.0))


def epsilon_from_tpr(tpr: float, fpr: float, delta: float = 0.0) -> float:
    """Return the least ε that allows the TPR at the FPR; the inverse of `tpr_from_epsilon`.

    Examples
    --------
    >>> round(epsilon_from_tpr(0.25, 0.01), 4), epsilon_from_tpr(0.01, 0.01), epsilon_from_tpr(0.25, 0.0)
    (3.2189, 0.0, inf)
    """
    return max(_log_ratio(tpr - delta, fpr), _log_ratio(1 - delta - fpr, 1 - tpr))


def epsilon_from_advantage(advantage: float, delta: float = 0.0) -> float:
    """Return the least ε that allows the advantage; the inverse of `bounds.advantage_from_epsilon`.

    Examples
    --------
    >>> round(epsilon_from_advantage(0.4621), 3), epsilon_from_advantage(-0.1)
    (1.0, 0.0)
    """
    return _odds((1 - advantage) / (2 * (1 - delta)))


def _largest_bound(
    pairs: Sequence[Pairs], delta: float, confidence: float, curve: Curve
) -> tuple[Estimate | None, str]:
    """Return the largest bound over the attacks, each at its share of the error probability."""
    if not pairs:
        return None, ""
    check_share("confidence", confidence)
    if delta >= 1:
        nothing = Estimate(0.0, 0.0, math.inf, confidence, "lower bound", method="delta is 1 or more for swaps")
        return nothing, pairs[0].attack
    each = 1 - (1 - confidence) / len(pairs)
    found = [epsilon_from_pairs(one.inside, one.outside, delta, each, one.half, curve) for one in pairs]
    best = max(range(len(found)), key=lambda place: found[place].value)
    return found[best], pairs[best].attack


def _implied(
    epsilon: float, delta: float, auc: Estimate | None, advantage: Estimate | None, tpr_at_fpr: Mapping[float, Estimate]
) -> list[Implied]:
    if delta >= 1:
        return []
    figures = []
    if auc is not None:
        figures.append(Implied("auc", auc, auc_from_epsilon(epsilon, delta), epsilon_from_auc(auc.low, delta)))
    if advantage is not None:
        limit = float(advantage_from_epsilon(epsilon, delta))
        figures.append(Implied("advantage", advantage, limit, epsilon_from_advantage(advantage.low, delta)))
    for fpr, tpr in tpr_at_fpr.items():
        limit = tpr_from_epsilon(fpr, epsilon, delta)
        # An upper bound has no lower end: it implies nothing.
        implied = 0.0 if tpr.kind == "upper bound" else epsilon_from_tpr(tpr.low, fpr, delta)
        figures.append(Implied("tpr", tpr, limit, implied, float(fpr)))
    return figures


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(max(x, -700.0)) / (1 + math.exp(max(x, -700.0)))


def _odds(small: float) -> float:
    """Solve 1/(1 + e^ε) = ``small`` for ε ≥ 0."""
    if small <= 0:
        return math.inf
    return max(0.0, math.log1p(-small) - math.log(small)) if small < 1 else 0.0


def _log_ratio(above: float, below: float) -> float:
    """Return the logarithm of a ratio, at least 0; infinite if the denominator is 0."""
    if above <= 0 or above <= below:
        return 0.0
    return math.inf if below <= 0 else math.log(above / below)
