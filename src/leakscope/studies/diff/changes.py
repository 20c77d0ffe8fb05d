r"""A number in two audits: the difference, its interval, and an outcome that follows from the interval.

**What is compared.** For a release and a figure, the largest value of any attack that *both* audits ran: with true values
:math:`\theta_a`, :math:`\theta = \max_a \theta_a`. The attack that looks strongest may be another one in each audit. Comparing only these
two would be wrong: of an attack with a narrow interval and a slightly better one with a wide interval, chance decides which is chosen, and
the difference between the two would look like a change of the model.

**Interval.** Each attack has an interval :math:`[L_a, U_a]` around :math:`v_a`. The lower end of *new minus old* is that of
MOVER (Zou and Donner 2008), the new audit with its attack :math:`a` of the largest lower end, the old one with its largest
value :math:`V` and its largest upper end :math:`U`:

.. math:: v_a - V - \sqrt{(v_a - L_a)^2 + (U - V)^2}.

It grows in neither :math:`V` nor :math:`U`, so that it lies at or below the MOVER end for :math:`a` against any attack of the
old audit, including the truly strongest one. "Increased" is therefore false only if MOVER fails for some attack of the new audit
against that one attack of the old. The upper end is the same with the audits exchanged.

**Outcomes are simultaneous.** Every attack that both ran, with every figure and every group, is one comparison (Bonferroni): with :math:`K`
of them each interval has confidence :math:`1 - \alpha/K`. A saved audit has intervals at one confidence, so they are stretched to this one, by
the ratio of the normal quantiles on the logit scale. The interval of the AUC is computed on that scale, so that this is exact except at its ends,
and intervals of shares are nearly symmetric on it. Tests check the rate of false outcomes by simulation.

**The advantage** is taken at the threshold that an audit chose on other records, and its interval takes that threshold as given.
From audit to audit the threshold varies too, so that in a comparison its interval is longer by :math:`\sqrt 2`, as if half of the
records went into the choice.

**Independence.** MOVER treats the audits as independent. Two audits of the same records on the same sides are positively correlated: the interval
is then too wide, never too narrow. Only where records changed sides, from the holdout of one audit to the training data of the other, can it be too
narrow, by a factor of :math:`\sqrt 2` at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from leakscope.core.estimate import Estimate
from leakscope.core.intervals import difference, normal_quantile
from leakscope.core.result import Caveat

ChangeOutcome = Literal["increased", "decreased", "not_significant", "shift_possible"]
Ends = tuple[float, float]
SHARE, SIGNED = (0.0, 1.0), (-1.0, 1.0)


@dataclass(frozen=True)
class Change:
    """One figure in two audits. ``difference`` is new minus old; its interval is simultaneous with all others of the diff.

    ``in_doubt``: a change of it may be one of the records and not of the model; see `leakscope.studies.diff.beyond`.
    """

    figure: str
    old: Estimate
    new: Estimate
    difference: Estimate
    in_doubt: bool = False

    @property
    def direction(self) -> Literal[-1, 0, 1]:
        """Whether the number grew (1) or fell (-1) significantly, for whatever reason."""
        if self.difference.low > 0:
            return 1
        return -1 if self.difference.high < 0 else 0

    @property
    def outcome(self) -> ChangeOutcome:
        """What the interval allows to state."""
        if self.direction and self.in_doubt:
            return "shift_possible"
        return "increased" if self.direction > 0 else "decreased" if self.direction < 0 else "not_significant"


@dataclass(frozen=True)
class ReleaseChange:
    """What the attacks that both audits ran find in one release: the most that any of them does, figure by figure.

    ``bounds_only`` are the false-positive rates that one of the two samples can't carry; ``beyond`` is the AUC beyond that of each
    rival, and ``doubt`` is why a change may be one of the records, if it may.
    """

    release: str
    old_attack: str
    new_attack: str
    changes: tuple[Change, ...]
    bounds_only: tuple[float, ...] = ()
    beyond: tuple[Change, ...] = ()
    doubt: Caveat | None = None

    @property
    def auc(self) -> Change:
        return self.changes[0]


@dataclass(frozen=True)
class GroupChange:
    """The gap of one group to all other records, under the attack that is strongest in the new audit."""

    column: str
    level: str
    gap: Change


def change_of_one(figure: str, old: Estimate, new: Estimate, confidence: float, ends: Ends | None = SHARE) -> Change:
    """A figure that was measured in one way in both audits.

    Examples
    --------
    >>> change_of_one("gap", Estimate(0.0, -0.1, 0.1), Estimate(0.3, 0.2, 0.4), 0.99, SIGNED).outcome
    'increased'
    """
    before, after = (at_confidence(estimate, confidence, ends) for estimate in (old, new))
    return Change(figure, before, after, difference(after, before, confidence))


def change_of_strongest(
    figure: str, attacks: Sequence[tuple[Estimate, Estimate]], confidence: float, ends: Ends = SHARE, widen: float = 1.0
) -> Change:
    """The most that any of several attacks finds, in two audits; see the head of this module.

    ``attacks`` has the old and the new estimate of each; intervals are made longer by the factor ``widen``.

    Examples
    --------
    >>> weak, strong, vague = Estimate(0.52, 0.48, 0.56), Estimate(0.8, 0.76, 0.83), Estimate(0.7, 0.4, 0.85)
    >>> change_of_strongest("AUC", [(weak, weak), (weak, strong)], 0.95).difference
    0.28 [0.22, 0.33]
    >>> change_of_strongest("AUC", [(weak, strong), (vague, weak)], 0.95).outcome  # the vague attack may have been as strong
    'not_significant'
    """
    before, after = ([at_confidence(pair[side], confidence, ends, widen) for pair in attacks] for side in (0, 1))
    first, last = _strongest(before), _strongest(after)
    low, high = _least_gain(last, before), -_least_gain(first, after)
    n = (first.n or 0) + (last.n or 0)
    gain = Estimate(last.value - first.value, low, high, confidence, n=n or None, method="MOVER, strongest of each")
    return Change(figure, _reach(first, before), _reach(last, after), gain)


def _strongest(attacks: Sequence[Estimate]) -> Estimate:
    return max(attacks, key=lambda estimate: estimate.low)


def _reach(strongest: Estimate, attacks: Sequence[Estimate]) -> Estimate:
    """The strongest attack, with an interval for the best of all of them."""
    return replace(strongest, high=max(estimate.high for estimate in attacks))


def _least_gain(one: Estimate, others: Sequence[Estimate]) -> float:
    """Lower end of the interval for one attack minus the best of others."""
    most, highest = max(other.value for other in others), max(other.high for other in others)
    return one.value - most - math.hypot(one.value - one.low, highest - most)


def at_confidence(estimate: Estimate, confidence: float, ends: Ends | None = SHARE, widen: float = 1.0) -> Estimate:
    """The estimate with its interval stretched to a higher confidence; one that has it already stays as it is.

    ``ends`` are those of the scale, such as 0 and 1; None: it has none, and is stretched as it is. Where the point lies on an
    end, the interval is as long as the square of the quantile (that of a score interval).

    Examples
    --------
    >>> at_confidence(Estimate(0.7, 0.65, 0.745), 0.999)
    0.70 [0.61, 0.78]
    >>> at_confidence(Estimate(1.0, 0.99, 1.0), 0.999)
    1.00 [0.97, 1.00]
    """
    ratio = widen * max(1.0, normal_quantile(confidence) / normal_quantile(estimate.confidence))
    if estimate.kind == "exact" or ratio <= 1:
        return estimate
    low, high = (_stretch(estimate.value, end, ratio, ends) for end in (estimate.low, estimate.high))
    value, reached = estimate.value, max(confidence, estimate.confidence)
    return replace(estimate, low=min(low, value), high=max(high, value), confidence=reached)


def _stretch(value: float, end: float, ratio: float, ends: Ends | None) -> float:
    if ends is None:
        return value + ratio * (end - value)
    least, most = ends
    here, there = ((number - least) / (most - least) for number in (value, end))
    if 0 < here < 1:
        centre = _logit(here)
        share = _expit(centre + ratio * (_logit(there) - centre))
    else:
        share = min(1.0, max(0.0, here + ratio**2 * (there - here)))
    return least + share * (most - least)


def _logit(share: float) -> float:
    if not 0 < share < 1:
        return math.inf if share >= 1 else -math.inf
    return math.log(share / (1 - share))


def _expit(place: float) -> float:
    return 1 / (1 + math.exp(-place)) if place > -700 else 0.0
