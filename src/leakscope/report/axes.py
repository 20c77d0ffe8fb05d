"""Axes for numbers of any size: linear or logarithmic, with round numbers to label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from leakscope.report import svg

Triple = tuple[float, float, float]  # a value and the ends of its interval


class Axis(NamedTuple):
    """Where a value stands on the page, the values that are labelled, and the ends."""

    place: svg.Scale
    ticks: list[float]
    low: float
    high: float


def linear_axis(values: Sequence[Triple], start: float, end: float, *, from_zero: bool = True) -> Axis:
    """Holds zero, all values, and the ends of their intervals as far as they are not much farther out.

    Without ``from_zero`` it holds the values and all finite ends of their intervals, and no more.
    """
    if not from_zero:
        return _close_axis(values, start, end)
    centres = [0.0, *(value for value, _, _ in values)]
    reach = 3 * (max(centres) - min(centres)) or 1.0
    ends = [end for _, *pair in values for end in pair]
    near = [*centres, *(end for end in ends if min(centres) - reach <= end <= max(centres) + reach)]
    low, high = min(near), max(near)
    if high <= low:
        high = low + 1.0
    pad = 0.04 * (high - low)
    low, high = low - (pad if low < 0 else 0), high + pad
    return Axis(svg.scale(low, high, start, end), svg.ticks(low, high, 5), low, high)


def _close_axis(values: Sequence[Triple], start: float, end: float) -> Axis:
    held = [number for triple in values for number in triple if math.isfinite(number)]
    pad = 0.04 * (max(held) - min(held)) or 0.05 * abs(held[0]) or 0.05
    low, high = min(held) - pad, max(held) + pad
    return Axis(svg.scale(low, high, start, end), svg.ticks(low, high, 5), low, high)


def log_axis(values: Sequence[Triple], start: float, end: float) -> Axis:
    """Holds all positive values, and the ends of their intervals as far as they are within a factor of 30."""
    centres = [value for value, _, _ in values if value > 0]
    centres = centres or [high for _, _, high in values if 0 < high < math.inf] or [1.0]
    lowest, highest = min(centres), max(centres)
    ends = [end for _, *pair in values for end in pair if lowest / 30 <= end <= highest * 30]
    low, high = math.log10(min([lowest, *ends])), math.log10(max([highest, *ends]))
    pad = 0.04 * (high - low) if high - low > 1e-6 else 0.05
    low, high = low - pad, high + pad
    place = svg.scale(low, high, start, end)
    return Axis(lambda value: place(math.log10(value)), _log_ticks(low, high), 10**low, 10**high)


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten if there are three or more, otherwise as many round numbers as there is room for."""
    decades = range(math.ceil(low), math.floor(high) + 1)
    if len(decades) >= 3:
        step = math.ceil(len(decades) / 8)
        return [10.0**decade for decade in decades if decade % step == 0]
    if high - low > 0.7:
        found = [digit * 10.0**decade for decade in range(math.floor(low), math.ceil(high)) for digit in (1, 2, 5)]
        return [float(f"{tick:.12g}") for tick in found if 10**low <= tick <= 10**high]
    return [tick for tick in svg.ticks(10**low, 10**high) if tick > 0]


def short_number(value: float) -> str:
    """Three digits, and a power of ten where there would be many zeros.

    >>> short_number(0.01234), short_number(1e-12), short_number(-2.5e7)
    ('0.0123', '10⁻¹²', '−2.5·10⁷')
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{float(f'{value:.3g}'):,.10g}".replace("-", "−")
    digits, _, power = f"{value:.2e}".partition("e")
    digits = digits.rstrip("0").rstrip(".").replace("-", "−")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if digits == "1" else f"{digits}·10{raised}"
