"""Formatted numbers: interval ends are rounded outwards, and rounding never includes an excluded null value."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Literal, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leakscope.core.estimate import Estimate
from leakscope.core.wording import (
    LEAST_WIDTH,
    MINUS,
    MOST_DIGITS,
    Style,
    align,
    count,
    duration,
    listing,
    name,
    number,
    out_of,
    percent,
    sentence,
    write,
    written,
)

RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = re.compile(r"[+−]?(?:\d[\d,]*(?:\.\d+)?(?:·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?|∞)")
Styles = st.sampled_from(get_args(Style))
usual = st.floats(-1, 1, allow_subnormal=False)
wild = st.floats(-1e12, 1e12, allow_subnormal=False)


def estimates(ends: st.SearchStrategy[float]) -> st.SearchStrategy[Estimate]:
    rising = st.lists(ends, min_size=3, max_size=3).map(sorted).filter(lambda three: three[0] < three[2])
    return rising.map(lambda three: Estimate(three[1], three[0], three[2]))


def read(text: str) -> float:
    """Parse a formatted number."""
    if text.startswith("10") and text[2:3] in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹" and text[2:3]:
        text = f"1·{text}"
    plain = text.replace(",", "").replace(MINUS, "-").replace("∞", "inf").replace("+", "")
    digits, _, power = plain.partition("·10")
    return float(digits) * 10.0 ** int(power.translate(RAISED) or 0)


def interval(estimate: Estimate, style: Style) -> tuple[float, float]:
    """Parse the ends of a formatted interval, on the scale of the estimate."""
    low, high = written(estimate, style).interval.split("]")[0].strip("[").split(", ")
    scale = 0.01 if style == "percent" else 1.0
    return scale * read(low), scale * read(high)


@given(estimates(st.one_of(usual, wild)), Styles)
@example(Estimate(0.05, 0.03, 0.07), "percent")
@example(Estimate(0.2, 1e-9, 0.3), "signed")
def test_the_written_interval_contains_the_interval(estimate: Estimate, style: Style) -> None:
    low, high = interval(estimate, style)
    slack = 1e-8 * max(1.0, abs(estimate.low), abs(estimate.high))  # the last bits of a float are dropped
    assert low <= estimate.low + slack
    assert estimate.high - slack <= high


@given(estimates(usual), st.sampled_from(["number", "signed", "percent"]), st.sampled_from([0.0, 0.5]))
@example(Estimate(0.53, 0.5004, 0.56), "number", 0.5)
@example(Estimate(0.3, 0.00002, 0.6), "percent", 0.0)
def test_a_null_value_that_is_excluded_stays_excluded(estimate: Estimate, style: Style, null: float) -> None:
    low, high = interval(estimate, style)
    visible = 10.0**-MOST_DIGITS
    if estimate.low > null + visible:
        assert low > null
    if estimate.high < null - visible:
        assert high < null


@given(st.floats(0, 1e9, allow_subnormal=False), st.sampled_from(["number", "percent"]))
def test_a_bound_stays_a_bound(end: float, style: Style) -> None:
    scale = 0.01 if style == "percent" else 1.0
    upper = written(Estimate(end, 0.0, end, kind="upper bound"), style)
    lower = written(Estimate(end, end, 2 * end + 1, kind="lower bound"), style)
    assert (upper.prefix, lower.prefix, upper.interval, lower.interval) == ("at most", "at least", "", "")
    shown = [scale * read(one.value.removesuffix(" %")) for one in (lower, upper)]
    slack = 1e-8 * max(1.0, end)
    assert shown[0] <= end + slack
    assert end - slack <= shown[1]


@pytest.mark.parametrize(
    ("estimate", "style", "text"),
    [
        (Estimate(0.612, 0.583, 0.641), "number", "0.61 [0.58, 0.65]"),
        (Estimate(0.6123, 0.6111, 0.6135), "number", "0.612 [0.611, 0.614]"),
        (Estimate(-0.0, -0.0, 0.0), "number", "0.00"),
        (Estimate(2.0, 2.0, 2.0, kind="exact", unit="bits"), "number", "2.00 bits"),
        (Estimate(1.2, 0.9, 1.5, unit="bits"), "number", "1.20 [0.90, 1.50] bits"),
        (Estimate(1.2, 0.9, math.inf), "number", "1.20 [0.90, ∞]"),
        (Estimate(0.039, 0.032, 0.046), "percent", "3.9 % [3.2, 4.6]"),
        (Estimate(0.0501, 0, 0.0501, kind="upper bound"), "percent", "at most 5.01 %"),
        (Estimate(2871.0, 2711.0, 3031.0), "number", "2,871 [2,711, 3,031]"),
        (Estimate(0.04, 0.01, 0.07), "signed", "+0.04 [+0.01, +0.07]"),
        (Estimate(-0.04, -0.07, -0.01), "signed", f"{MINUS}0.04 [{MINUS}0.07, {MINUS}0.01]"),
    ],
)
def test_estimates_are_written_in_one_way(estimate: Estimate, style: Style, text: str) -> None:
    assert write(estimate, style) == text
    if style == "number":
        assert repr(estimate) == text


@given(st.floats(-1e12, 1e12, allow_subnormal=False))
def test_a_number_reads_back_to_three_digits(value: float) -> None:
    assert read(number(value)) == pytest.approx(value, rel=0.006, abs=1e-300)


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted), st.sampled_from([100, 1000, 10_000]))
def test_people_are_counted_outwards(ends: list[float], people: int) -> None:
    low, value, high = ends
    said = [int(one.replace(",", "")) for one in out_of(people, Estimate(value, low, high)).split(" to ")]
    assert said[0] - 1e-6 <= low * people
    assert high * people <= said[-1] + 1e-6
    assert said[-1] - said[0] < (high - low) * people + 2


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (percent(0.001), "0.1 %"), (percent(0.3), "30 %"), (count(1, "class", "classes"), "1 class"),
        (count(2, "class", "classes"), "2 classes"), (duration(99.6), "100 s"), (duration(3000), "50 min"),
        (listing(["a"]), "a"), (listing([]), ""), (sentence("a"), "A."), (sentence("A. B."), "A. B."),
    ],
)  # fmt: skip
def test_counts_shares_times_and_lists(shown: str, text: str) -> None:
    assert shown == text


# --- names ------------------------------------------------------------------------------------------------------------


@given(st.text(), st.integers(2, 50))
def test_a_name_is_short_and_has_no_controls(text: str, limit: int) -> None:
    shown = name(text, limit)
    assert len(shown) <= limit
    assert all(unicodedata.category(letter) not in ("Cc", "Cs", "Zl", "Zp") for letter in shown)
    assert all(unicodedata.bidirectional(letter) not in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI"} for letter in shown)
    shown.encode()


def test_ordinary_names_stay_as_they_are() -> None:
    for word in ("Zürich", "非公開", "می\u200cخواهم", "a & b <c>", "👩\u200d🔬"):
        assert name(word) == word


# --- tables -----------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.text("abc ", min_size=1, max_size=60), st.text("de ", max_size=90)), min_size=1, max_size=5)
)
def test_a_text_table_keeps_every_word_and_fits(rows: list[tuple[str, str]]) -> None:
    lines = align([("name", "text"), *rows], columns=60)
    assert max(map(len, lines)) <= 60
    words = [word for row in rows for cell in row for word in cell.split() if len(word) <= LEAST_WIDTH]
    joined = " ".join(lines)
    assert all(word in joined for word in words)


def test_numbers_are_aligned_to_the_right_and_never_wrapped() -> None:
    long: Literal["x"] = "x"
    rows = [("name", "AUC"), (long * 80, "0.6123 [0.6111, 0.6135]"), ("b", "at most 0.1")]
    lines = align(rows, columns=50)
    assert sum("0.6123 [0.6111, 0.6135]" in line for line in lines) == 1
    assert len({len(line) for line in lines if line.endswith(("AUC", "]", "0.1"))}) == 1
