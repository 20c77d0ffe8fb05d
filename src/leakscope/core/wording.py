"""Formatting of numbers, intervals, names and text tables for people.

Values are rounded to nearest, and interval ends outwards. An interval gets more digits if rounding would hide that it
excludes 0 or 0.5, the usual null values. Names of models, columns, levels and records from user data pass through `name`.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple

from leakscope.core.estimate import Estimate

#: ``number`` unscaled; ``percent`` for shares; ``signed`` for differences; ``count`` for integers.
Style = Literal["number", "percent", "signed", "count"]
NAME_LENGTH = 80
SENTENCE_LENGTH = 600
COLUMNS = 100
LEAST_WIDTH = 16
MOST_DIGITS = 6
MINUS = "−"
_JOINERS = "\u200c\u200d"  # needed in Persian, Indic scripts and emoji
_NULLS = (0.0, 0.5)
_LARGE, _SMALL = 1e6, 1e-4


# --- numbers ----------------------------------------------------------------------------------------------------------


class Written(NamedTuple):
    """A formatted estimate: prefix (``at most``, ``at least`` or empty), value and interval."""

    prefix: str
    value: str
    interval: str

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


def write(estimate: Estimate, style: Style = "number") -> str:
    """Format an estimate.

    Examples
    --------
    >>> write(Estimate(0.851, 0.8452, 0.8568)), write(Estimate(0.851, 0.8452, 0.8568), "percent")
    ('0.851 [0.845, 0.857]', '85.1 % [84.5, 85.7]')
    >>> write(Estimate(-0.016, -0.034, 0.002), "signed"), write(Estimate(0.0101, 0, 0.01041, kind="upper bound"))
    ('−0.02 [−0.04, +0.01]', 'at most 0.0105')
    >>> write(Estimate(0.53, 0.5004, 0.56)), write(Estimate(2913, 2702.2, 3101), "count")
    ('0.5300 [0.5004, 0.5600]', '2,913 [2,702, 3,101]')
    """
    return str(written(estimate, style))


def written(estimate: Estimate, style: Style = "number") -> Written:
    """Format the parts of an estimate; see `write`."""
    digits = _digits(estimate, style)
    unit = "%" if style == "percent" else name(estimate.unit)
    after = f" {unit}" if unit else ""
    match estimate.kind:
        case "exact":
            return Written("", _rounded(estimate.value, style, digits) + after, "")
        case "upper bound":
            return Written("at most", _bound(estimate.high, style, up=True) + after, "")
        case "lower bound":
            return Written("at least", _bound(estimate.low, style, up=False) + after, "")
    if estimate.low == estimate.high:  # such as identical runs: an interval of width 0 would suggest certainty
        return Written("", _rounded(estimate.value, style, digits) + after, "")
    low, high = _rounded(estimate.low, style, digits, up=False), _rounded(estimate.high, style, digits, up=True)
    value, interval = _rounded(estimate.value, style, digits), f"[{low}, {high}]"
    return Written("", value + after, interval) if style == "percent" else Written("", value, interval + after)


def _digits(estimate: Estimate, style: Style) -> int | None:
    """Return the number of decimals that the interval supports; None for numbers written with a power of ten."""
    if style == "count":
        return 0
    scale = 100.0 if style == "percent" else 1.0
    shown = [scale * abs(end) for end in (estimate.value, estimate.low, estimate.high) if math.isfinite(end)]
    largest, width = max(shown), scale * (estimate.high - estimate.low)
    if largest >= _LARGE or 0 < largest < _SMALL:
        return None
    least = 0 if style == "percent" or largest >= 100 else 1 if largest >= 10 else 2
    found = least if not 0 < width < math.inf else max(least, math.ceil(-math.log10(width / 2)))
    return _telling(estimate, scale, min(MOST_DIGITS, found))


def _telling(estimate: Estimate, scale: float, digits: int) -> int:
    """Add digits until the rounded interval excludes every null value that the exact interval excludes."""
    for null in _NULLS:
        while digits < MOST_DIGITS and (
            (estimate.low > null and _floor(scale * estimate.low, digits) <= scale * null)
            or (estimate.high < null and -_floor(-scale * estimate.high, digits) >= scale * null)
        ):
            digits += 1
    return digits


def _floor(value: float, digits: int) -> float:
    return math.floor(_tidy(value * 10.0**digits)) / 10.0**digits


def _rounded(value: float, style: Style, digits: int | None, *, up: bool | None = None) -> str:
    """Format one number, rounded to nearest, up or down."""
    if not math.isfinite(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    scaled = 100 * value if style == "percent" else value
    if digits is None:
        text = number(_significant(scaled, up))
        return f"+{text}" if style == "signed" and scaled > 0 else text
    outwards = -_floor(-scaled, digits) if up else _floor(scaled, digits)
    found = round(scaled, digits) if up is None else outwards
    text = f"{abs(found):,.{digits}f}"
    if found == 0 or not float(text.replace(",", "")):
        return text
    return (MINUS if found < 0 else "+" if style == "signed" else "") + text


def _bound(value: float, style: Style, *, up: bool) -> str:
    """Format a bound with three significant digits, since it has no width that would determine them."""
    if not math.isfinite(value) or style == "count":
        return _rounded(value, style, 0, up=up)
    return number(_significant(100 * value if style == "percent" else value, up))


def _significant(value: float, up: bool | None) -> float:
    """Round to three significant digits: to nearest, up or down."""
    if value == 0 or up is None:
        return float(f"{value:.3g}")
    digits = 2 - math.floor(math.log10(abs(value)))
    tidy = round(value * 10.0**digits, 6)
    return (math.ceil(tidy) if up else math.floor(tidy)) / 10.0**digits


def _tidy(value: float) -> float:
    """Remove rounding errors, so that 0.05 · 100 is 5 and is not rounded up to 6."""
    return round(value, 9)


def number(value: float) -> str:
    """Format a number without an interval, such as an axis tick: three digits, and a power of ten for many zeros.

    Examples
    --------
    >>> number(0.01234), number(1e-12), number(-2.5e7), number(30162)
    ('0.0123', '10⁻¹²', '−2.5·10⁷', '30,200')
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value == 0 or 1e-3 <= abs(value) < _LARGE:
        return f"{float(f'{value:.3g}'):,.10g}".replace("-", MINUS)
    digits, _, power = f"{value:.2e}".partition("e")
    digits = digits.rstrip("0").rstrip(".").replace("-", MINUS)
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if digits == "1" else f"{digits}·10{raised}"


def count(number: int, thing: str = "", things: str = "") -> str:
    """Format an integer, optionally with the noun that it counts.

    Examples
    --------
    >>> count(30162), count(1, "record"), count(2, "query", "queries")
    ('30,162', '1 record', '2 queries')
    """
    if not thing:
        return f"{number:,}"
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def percent(share: float) -> str:
    """Format a share as a percentage with as few digits as possible.

    Examples
    --------
    >>> percent(0.001)
    '0.1 %'
    """
    return f"{100 * share:.10g} %"


def duration(seconds: float) -> str:
    """Format a duration in one unit.

    Examples
    --------
    >>> [duration(seconds) for seconds in (0.2, 45, 170, 9000)]
    ['1 s', '45 s', '3 min', '2.5 h']
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def out_of(people: int, estimate: Estimate) -> str:
    """Format a share as a number of people for the lay summary, with interval ends rounded outwards.

    Examples
    --------
    >>> out_of(100, Estimate(0.06, 0.042, 0.088)), out_of(100, Estimate(0.05, 0.0, 0.05, kind="upper bound"))
    ('4 to 9', 'at most 5')
    """
    low, high = math.floor(_tidy(estimate.low * people)), math.ceil(_tidy(estimate.high * people))
    match estimate.kind:
        case "upper bound":
            return f"at most {count(high)}"
        case "lower bound":
            return f"at least {count(low)}"
    return count(low) if low == high else f"{count(low)} to {count(high)}"


# --- names and sentences ----------------------------------------------------------------------------------------------


def name(text: object, limit: int = NAME_LENGTH) -> str:
    """Make a text from user data safe to display: at most ``limit`` characters, no control characters.

    Bidirectional marks and other invisible characters become ``\N{REPLACEMENT CHARACTER}``, which is visible.

    Examples
    --------
    >>> name("caf\u00e9 \u202egnp.exe")
    'café \N{REPLACEMENT CHARACTER}gnp.exe'
    >>> name("a" * 10_000, limit=5)
    'aaaa…'
    """
    whole = str(text)
    start = "".join(" " if letter.isspace() else letter for letter in whole[: limit + 1])
    shown = "".join(letter if _is_visible(letter) else "\N{REPLACEMENT CHARACTER}" for letter in start)
    return shown[: limit - 1] + "…" if len(whole) > limit else shown


def _is_visible(letter: str) -> bool:
    return letter in _JOINERS or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")


def quoted(text: object, limit: int = 40) -> str:
    """Put a name in quotation marks.

    Examples
    --------
    >>> quoted("sex = F")
    '“sex = F”'
    """
    return f"“{name(text, limit)}”"


def sentence(text: object) -> str:
    """Capitalise a text and end it with a full stop.

    Examples
    --------
    >>> sentence("the holdout is small"), sentence("Add records.")
    ('The holdout is small.', 'Add records.')
    """
    safe = name(text, SENTENCE_LENGTH).rstrip(".")
    return safe[:1].upper() + safe[1:] + ("" if safe.endswith("…") else ".")


def listing(names: Sequence[object], most: int = 3) -> str:
    """Join names for a sentence.

    Examples
    --------
    >>> listing(["age", "sex", "race", "job", "town"]), listing(["age", "sex"])
    ('age, sex, race and 2 more', 'age and sex')
    """
    safe = [name(one, 40) for one in names]
    if len(safe) > most:
        return f"{', '.join(safe[:most])} and {len(safe) - most} more"
    return safe[0] if len(safe) == 1 else f"{', '.join(safe[:-1])} and {safe[-1]}" if safe else ""


# --- lines of text ----------------------------------------------------------------------------------------------------


def wrap(text: str, first: str = "", rest: str = "", columns: int = COLUMNS) -> list[str]:
    """Break a text into lines; ``first`` and ``rest`` start the first line and the others."""
    return textwrap.wrap(text, columns, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def align(rows: Sequence[Sequence[str]], *, indent: str = "", columns: int = COLUMNS) -> list[str]:
    r"""Align the cells of a text table: text to the left, columns of numbers to the right; wrap long texts.

    Examples
    --------
    >>> print("\n".join(align([("release", "AUC"), ("labels", "0.61"), ("probabilities", "0.7")])))
    release         AUC
    labels         0.61
    probabilities   0.7
    """
    if not rows:
        return []
    cells = list(zip(*rows, strict=True))
    right = [at > 0 and all(is_number(cell) for cell in column[1:]) for at, column in enumerate(cells)]
    widths = _fitting([max(map(_width, column)) for column in cells], right, columns - len(indent))

    def line(cells: Sequence[str]) -> str:
        aligned = []
        for cell, width, numeric in zip(cells, widths, right, strict=True):
            blank = " " * (width - _width(cell))
            aligned.append(blank + cell if numeric else cell + blank)
        return (indent + "  ".join(aligned)).rstrip()

    lines = []
    for row in rows:
        pairs = zip(row, widths, strict=True)
        parts = [[cell] if _width(cell) <= width else wrap(cell, columns=width) for cell, width in pairs]
        lines += [line(cells) for cells in zip_longest(*parts, fillvalue="")]
    return lines


def _fitting(widths: list[int], right: list[bool], room: int) -> list[int]:
    """Reduce text columns, the widest first, to at least `LEAST_WIDTH` until the table fits; keep number columns."""
    while sum(widths) + 2 * (len(widths) - 1) > room:
        texts = [at for at, width in enumerate(widths) if not right[at] and width > LEAST_WIDTH]
        if not texts:
            break
        widths[max(texts, key=lambda at: widths[at])] -= 1
    return widths


def is_number(cell: str) -> bool:
    """Return whether a cell is a formatted number or empty, and is therefore aligned to the right."""
    return not cell.strip("–") or cell[:1].isdigit() or cell.startswith((MINUS, "+", "at most", "at least"))


def _width(text: str) -> int:
    """Return the number of terminal columns of a text."""
    letters = [letter for letter in text if not unicodedata.combining(letter)]
    return len(letters) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in letters)
