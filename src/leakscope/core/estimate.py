"""`Estimate`: a value with its confidence interval, kind, unit and sample size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

EstimateKind = Literal["exact", "estimate", "lower bound", "upper bound"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval. Public functions return estimates, never bare floats.

    Parameters
    ----------
    value, low, high
        Point estimate and the two ends of the interval at ``confidence``.
    kind
        ``exact`` (low = value = high), ``estimate``, ``lower bound`` (value = low) or ``upper bound`` (value = high).
    unit
        Unit such as ``nats``; empty for a dimensionless number.
    n
        Sample size: the number of records used.
    method
        How the interval was computed.

    Examples
    --------
    >>> Estimate(0.61, 0.58, 0.64)
    0.61 [0.58, 0.64]
    >>> Estimate(0.05, 0.0, 0.05, kind="upper bound")
    at most 0.05
    """

    value: float
    low: float
    high: float
    confidence: float = 0.95
    kind: EstimateKind = "estimate"
    unit: str = ""
    n: int | None = None
    method: str = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.low <= self.value <= self.high):
            raise ValueError(f"an estimate needs low <= value <= high, not {self.low}, {self.value}, {self.high}")

    def __repr__(self) -> str:
        from leakscope.core.wording import write

        return write(self)

    def finite(self) -> Estimate:
        """Return the estimate with finite ends, as JSON requires.

        An interval without an upper end becomes a lower bound, one without a lower end becomes an upper bound.

        Examples
        --------
        >>> Estimate(2.0, 1.5, float("inf")).finite()
        at least 1.5
        """
        value, low, high = float(self.value), float(self.low), float(self.high)
        kind = self.kind
        if not math.isfinite(high):
            value, high, kind = low, value, "lower bound"
        elif not math.isfinite(low):
            value, low, kind = high, value, "upper bound"
        n = None if self.n is None else int(self.n)
        return replace(self, value=value, low=low, high=high, kind=kind, n=n, confidence=float(self.confidence))

    def mapped(self, change: Callable[[float], float], unit: str = "") -> Estimate:
        """Transform the value and the interval by a non-decreasing function.

        Examples
        --------
        >>> Estimate(0.1, 0.0, 0.2).mapped(lambda advantage: (1 + advantage) / 2)
        0.55 [0.50, 0.60]
        """
        value, low, high = (float(change(end)) for end in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high, unit=unit)


def largest(estimates: Sequence[Estimate]) -> Estimate:
    """Estimate the maximum of quantities with simultaneous intervals: from the largest low end to the largest high end.

    Examples
    --------
    >>> largest([Estimate(0.05, 0.04, 0.06), Estimate(0.04, 0.01, 0.07)])
    0.05 [0.04, 0.07]
    """
    if len(estimates) == 1:
        return estimates[0]
    first = max(estimates, key=lambda estimate: estimate.value)
    low, high = max(estimate.low for estimate in estimates), max(estimate.high for estimate in estimates)
    kind = first.kind if len({estimate.kind for estimate in estimates}) == 1 else "estimate"
    method = f"the largest of {len(estimates)}; {first.method}"
    return replace(first, low=low, high=high, kind=kind, n=None, method=method)
