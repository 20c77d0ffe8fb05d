"""Dominance between options that are measured on several axes, such as risk and utility. All studies use this rule.

The gain of one option over another on an axis is the difference of their values, so that more is better.

- *Point dominance*: no gain is negative and at least one is positive. Values are uncertain, so chance alone makes some options dominated.
- *Significant dominance*: point dominance, and by intervals at least one gain is positive and none is below minus the tolerance of its
  axis. Exact equality can't be shown by an interval: hence the tolerance. If the intervals of all gains are simultaneous, all these
  statements are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from leakscope.core.estimate import Estimate

#: Values that are closer than this are equal.
ROUNDING = 1e-9
#: The gains of the first option over the second, one for each axis.
Gains = Callable[[int, int], Sequence[Estimate]]


def dominates(gains: Sequence[Estimate], tolerances: Sequence[float] | None = None) -> bool:
    """Tell whether an option dominates another one.

    Parameters
    ----------
    gains
        Its gain over the other option on each axis.
    tolerances
        How much worse it may be on each axis; significant dominance. By default, point dominance.

    Examples
    --------
    >>> less_risk, same_accuracy = Estimate(0.10, 0.05, 0.15), Estimate(0.00, -0.01, 0.01)
    >>> dominates([less_risk, same_accuracy]), dominates([less_risk, same_accuracy], [0.05, 0.005])
    (True, False)
    """
    if any(gain.value < -ROUNDING for gain in gains):
        return False
    if tolerances is None:
        return any(gain.value > ROUNDING for gain in gains)
    within = all(gain.low >= -tolerance for gain, tolerance in zip(gains, tolerances, strict=True))
    return within and any(gain.low > 0 for gain in gains)


def find_dominating(options: int, gains: Gains, tolerances: Sequence[float] | None = None) -> list[int | None]:
    """Find for each option the one that dominates it, or None.

    Of several, it is the one with the largest gain on the first axis; the next axes break ties.

    Parameters
    ----------
    options
        The number of options.
    gains, tolerances
        See `dominates`; ``gains(ours, theirs)`` are those of option ``ours`` over option ``theirs``.

    Examples
    --------
    >>> values = [(0.5, 0.2), (0.4, 0.1), (0.1, 0.1)]
    >>> def gains(ours, theirs):
    ...     return [difference(exact(a), exact(b)) for a, b in zip(values[ours], values[theirs])]
    >>> find_dominating(3, gains)
    [None, 0, 0]
    """
    found: list[int | None] = []
    for theirs in range(options):
        over = {ours: gains(ours, theirs) for ours in range(options) if ours != theirs}
        better = [ours for ours, by in over.items() if dominates(by, tolerances)]
        found.append(max(better, key=lambda ours: [gain.value for gain in over[ours]], default=None))
    return found


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Subtract two estimates whose intervals are simultaneous: the interval of the difference then needs no correction.

    Examples
    --------
    >>> difference(Estimate(0.10, 0.08, 0.12), Estimate(0.03, 0.01, 0.05))
    0.07 [0.03, 0.11]
    """
    low, high = first.low - second.high, first.high - second.low
    return Estimate(first.value - second.value, low, high, min(first.confidence, second.confidence))


def negated(estimate: Estimate) -> Estimate:
    """Return the estimate with the opposite sign: a loss becomes a gain."""
    return replace(estimate, value=-estimate.value, low=-estimate.high, high=-estimate.low)


def exact(value: float) -> Estimate:
    """Return an estimate of a number that is known exactly, or compared by its value alone."""
    return Estimate(value, value, value, 1.0, "exact")
