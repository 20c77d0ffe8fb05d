"""What the makers of studies share: estimates and settings as a record holds them, and numbers as sentences say them.

A study goes into ``audit.json``, and JSON knows no infinity, no tuple and no number of numpy's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from leakscope.core.estimate import Estimate
from leakscope.report.words import describe, safe_text

#: Points of all curves of a study together.
MOST_POINTS = 300
#: What a report shows of a sentence; longer ones lose their end.
LONGEST = 600


def finite(estimate: Estimate) -> Estimate:
    """The estimate with finite ends: one that is open above becomes a lower bound, one that is open below an upper bound.

    Examples
    --------
    >>> finite(Estimate(2.0, 1.5, float("inf")))
    at least 1.50
    >>> finite(Estimate(0.5, 0.4, 0.6))
    0.50 [0.40, 0.60]
    """
    value, low, high = float(estimate.value), float(estimate.low), float(estimate.high)
    kind = estimate.kind
    if not isfinite(high):
        value, high, kind = low, value, "lower bound"
    elif not isfinite(low):
        value, low, kind = high, value, "upper bound"
    n = None if estimate.n is None else int(estimate.n)
    return replace(estimate, value=value, low=low, high=high, kind=kind, n=n, confidence=float(estimate.confidence))


def mapped(estimate: Estimate, change: Callable[[float], float], unit: str = "") -> Estimate:
    """The estimate on another scale, by a map that never falls.

    >>> mapped(Estimate(0.1, 0.0, 0.2), lambda advantage: (1 + advantage) / 2)
    0.55 [0.50, 0.60]
    """
    value, low, high = (float(change(end)) for end in (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=low, high=high, unit=unit)


def shown(estimate: Estimate) -> str:
    """A number with its interval, for a sentence."""
    return str(describe(finite(estimate))["text"])


def listed(names: Sequence[object], most: int = 3) -> str:
    """Names for a sentence, each made safe.

    >>> listed(["age", "sex", "race", "job", "town"])
    'age, sex, race and 2 more'
    """
    safe = [safe_text(name, 40) for name in names]
    if len(safe) > most:
        return f"{', '.join(safe[:most])} and {len(safe) - most} more"
    return safe[0] if len(safe) == 1 else f"{', '.join(safe[:-1])} and {safe[-1]}"


def thinned(curve: Sequence[Any], most: int) -> list[Any]:
    """At most so many of the points of a curve, the first and the last among them.

    >>> thinned(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(curve) <= most:
        return list(curve)
    return [curve[int(place)] for place in np.linspace(0, len(curve) - 1, most).round()]


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON takes them and gives them back: texts made safe, no numpy number, no tuple.

    >>> plain({"sizes": (np.int64(30), 100), "learner": "ridge"})
    {'sizes': [30, 100], 'learner': 'ridge'}
    """
    return {safe_text(name): _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value)):
        return value
    return safe_text(value)
