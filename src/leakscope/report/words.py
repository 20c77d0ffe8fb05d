"""Numbers and names as a reader sees them: safe, short, and rounded so that a bound stays a bound."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal

from leakscope.results import Estimate

NAME_LENGTH = 80
SENTENCE_LENGTH = 600
Style = Literal["ratio", "percent", "significant"]

_JOINERS = "\u200c\u200d"  # parts of ordinary words in Persian, in Indic scripts and in emoji
_SPACE = "\u00a0"  # keeps a number and its percent sign on one line


def safe_text(text: object, limit: int = NAME_LENGTH) -> str:
    """Text that can't reorder, break or flood the page: cut to ``limit`` characters, control characters replaced.

    Bidirectional marks and other invisible controls become ``\N{REPLACEMENT CHARACTER}``, so that they are seen.

    Examples
    --------
    >>> safe_text("caf\u00e9 \u202egnp.exe")
    'café \N{REPLACEMENT CHARACTER}gnp.exe'
    >>> safe_text("a" * 10_000, limit=5)
    'aaaa…'
    """
    whole = str(text)
    # A little more than is shown is enough, whatever the length of the name.
    words = "".join(" " if letter.isspace() else letter for letter in whole[: limit + 1])
    shown = "".join(letter if _is_visible(letter) else "\N{REPLACEMENT CHARACTER}" for letter in words)
    return shown[: limit - 1] + "…" if len(whole) > limit else shown


def as_sentence(text: object) -> str:
    """Safe text that starts with a capital letter and ends with a full stop.

    >>> as_sentence("the holdout is small"), as_sentence("Add records.")
    ('The holdout is small.', 'Add records.')
    """
    safe = safe_text(text, SENTENCE_LENGTH).rstrip(".")
    return safe[:1].upper() + safe[1:] + ("" if safe.endswith("…") else ".")


def count(number: int) -> str:
    """A whole number with thousands separators.

    >>> count(30162)
    '30,162'
    """
    return f"{number:,}"


def percent(share: float) -> str:
    """A share in per cent, as short as it goes.

    >>> percent(0.001).replace("\u00a0", " ")
    '0.1 %'
    """
    return f"{100 * share:.10g}{_SPACE}%"


def describe(estimate: Estimate, style: Style = "ratio") -> dict[str, Any]:
    r"""An estimate as raw numbers and as text: ``prefix`` ("at most"), ``shown``, ``interval``, and all in ``text``.

    Upper bounds are rounded up and lower bounds down, so that the sentence stays true.

    Examples
    --------
    >>> describe(Estimate(0.851, 0.845, 0.857), "percent")["text"].replace("\u00a0", " ")
    '85.1 % [84.5, 85.7]'
    >>> describe(Estimate(0.0101, 0, 0.0104, kind="upper bound"))["text"].replace("\u00a0", " ")
    'at most 0.011'
    """
    prefix, shown, interval = _texts(estimate, style)
    return {
        "value": estimate.value,
        "low": estimate.low if math.isfinite(estimate.low) else None,
        "high": estimate.high if math.isfinite(estimate.high) else None,
        "confidence": estimate.confidence,
        "kind": estimate.kind,
        "n": estimate.n,
        "method": safe_text(estimate.method, SENTENCE_LENGTH),
        "prefix": prefix,
        "shown": shown,
        "interval": interval,
        "text": _SPACE.join(part for part in (prefix, shown, interval) if part),
    }


def described(estimate: Estimate | None, style: Style = "ratio") -> Any:
    """As `describe`; None stays None."""
    return None if estimate is None else describe(estimate, style)


#: The rate of false alarms that sentences speak of where the sample carries it.
PLAIN_RATE = 0.01


def shown_rate(tpr_at_fpr: Mapping[float, Estimate]) -> float | None:
    """The false-positive rate to speak of: 1 %, otherwise the smallest one that the sample carries, otherwise the largest.

    Examples
    --------
    >>> shown_rate({0.1: Estimate(0.3, 0.2, 0.4), 0.001: Estimate(0.5, 0, 0.5, kind="upper bound")})
    0.1
    """
    carried = [rate for rate, tpr in tpr_at_fpr.items() if tpr.kind in ("estimate", "exact")]
    if PLAIN_RATE in carried:
        return PLAIN_RATE
    return min(carried) if carried else max(tpr_at_fpr, default=None)


def false_alarms(rate: float) -> str:
    """A false-positive rate in plain words.

    >>> false_alarms(0.01)
    '1 false alarm per 100 non-members'
    """
    per = 1 / rate
    if math.isclose(per, round(per)):
        return f"1 false alarm per {count(round(per))} non-members"
    return f"false alarms for {percent(rate)} of the non-members"


def out_of(people: int, estimate: Estimate) -> str:
    """How many of so many people, with the ends of the interval rounded outwards.

    >>> out_of(100, Estimate(0.06, 0.042, 0.088))
    '4 to 9'
    >>> out_of(100, Estimate(0.05, 0.0, 0.05, kind="upper bound"))
    'at most 5'
    """
    low, high = math.floor(_tidy(estimate.low * people)), math.ceil(_tidy(estimate.high * people))
    match estimate.kind:
        case "upper bound":
            return f"at most {count(high)}"
        case "lower bound":
            return f"at least {count(low)}"
    return count(low) if low == high else f"{count(low)} to {count(high)}"


def _is_visible(letter: str) -> bool:
    return letter in _JOINERS or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")


def _texts(estimate: Estimate, style: Style) -> tuple[str, str, str]:
    """What stands before the number, the number, and its interval."""
    match estimate.kind:
        case "exact":
            return "", _number(estimate, estimate.value, style), ""
        case "upper bound":
            return "at most", _number(estimate, estimate.high, style, round_up=True), ""
        case "lower bound":
            return "at least", _number(estimate, estimate.low, style, round_up=False), ""
    low, high = _end(estimate, estimate.low, style, up=False), _end(estimate, estimate.high, style, up=True)
    return "", _number(estimate, estimate.value, style), f"[{low},{_SPACE}{high}]"


def _end(estimate: Estimate, end: float, style: Style, *, up: bool) -> str:
    """An end of an interval. One that would be rounded to zero is rounded outwards: that an interval holds zero must be seen.

    >>> _end(Estimate(0.12, -0.004, 0.244), -0.004, "ratio", up=False)
    '-0.004'
    """
    shown = _number(estimate, end, style, bare=True)
    outwards = end > 0 if up else end < 0
    if style != "significant" and math.isfinite(end) and outwards and float(shown) == 0:
        return _number(estimate, end, style, round_up=up, bare=True)
    return shown


def _number(estimate: Estimate, value: float, style: Style, *, round_up: bool | None = None, bare: bool = False) -> str:
    """One of the estimate's numbers, with as many digits as its interval can carry; ``bare``: without the unit."""
    name = "%" if style == "percent" else safe_text(estimate.unit)
    unit = f"{_SPACE}{name}" if name and not bare else ""
    if not math.isfinite(value):
        return ("∞" if value > 0 else "−∞") + unit
    if style == "significant":
        return f"{value:,.4g}{unit}"
    scale = 100 if style == "percent" else 1
    digits = _digits(estimate.high - estimate.low, style) + (round_up is not None)
    scaled = _tidy(value * scale * 10**digits)
    whole = round(scaled) if round_up is None else math.ceil(scaled) if round_up else math.floor(scaled)
    return f"{whole / 10**digits:.{digits}f}" + unit


def _digits(width: float, style: Style) -> int:
    """How many decimals an interval of this width carries; a ratio has as many as in its ``repr``."""
    if not 0 < width < math.inf:
        return 1 if style == "percent" else 2
    if style == "percent":
        return min(4, max(0, math.ceil(-math.log10(100 * width / 2))))
    return min(6, max(2, math.floor(-math.log10(width)) + 1))


def _tidy(value: float) -> float:
    """Without the last bits, so that 0.05 · 100 is 5 and is not rounded up to 6."""
    return round(value, 9)
