"""Charts as SVG: every value where its axes say, whatever its size; labels that never touch; nothing but a picture."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.core.estimate import Estimate
from leakscope.core.wording import number
from leakscope.report.charts.axes import span
from leakscope.report.charts.labels import touch, width_of
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series
from leakscope.report.charts.svg import WIDE, WIDTH, draw

SVG = "{http://www.w3.org/2000/svg}"
#: Places are rounded to a tenth of a pixel.
PIXEL = 0.1
HOSTILE = ["</title><script>alert(1)</script>", '" onload="alert(1)', "&amp; & <b>", "W" * 3000, ""]


def around(value, spread=2.0):
    return Estimate(value, value / spread, value * spread)


def chart(*series, x=None, y=None, **more):
    return Chart("t", "d", x or Axis("x"), y or Axis("y"), series, **more)


def parsed(drawn):
    return ElementTree.fromstring(drawn)


def of_class(drawn, tag, kind):
    return [node for node in parsed(drawn).iter(SVG + tag) if kind in node.attrib.get("class", "").split()]


def said(drawn):
    return [
        node.findtext(f"{SVG}title") for node in parsed(drawn).iter() if "point" in node.attrib.get("class", "").split()
    ]


def scale(drawn, along="y", log=False):
    """Pixels to values of an axis, read off its labels."""
    kind = "end" if along == "y" else "middle"
    ticks = [node for node in of_class(drawn, "text", "tick") if kind in node.attrib["class"].split()]
    shift = 4 if along == "y" else 0
    places = [float(node.attrib[along]) - shift for node in ticks]
    values = [float(node.text.replace(",", "").replace("−", "-").removesuffix(" %")) for node in ticks]
    slope, start = np.polyfit(places, np.log10(values) if log else values, 1)
    return lambda place: 10 ** (slope * place + start) if log else slope * place + start


def circles(drawn):
    """Middles of the points, without those of the legend."""
    points = [node for node in parsed(drawn).iter() if "point" in node.attrib.get("class", "").split()]
    found = [node.find(f".//{SVG}circle") for node in points]
    return np.array([[float(node.attrib[f"c{axis}"]) for axis in "xy"] for node in found if node is not None])


def corners(node):
    return np.array([pair.split() for pair in node.attrib["d"][1:].split("L")], dtype=float)


def check_inside(drawn):
    """Everything is inside of the picture, and every number finite."""
    root = parsed(drawn)
    width, height = (float(size) for size in root.attrib["viewBox"].split()[2:])
    assert width in (WIDTH, WIDE)
    assert "nan" not in drawn
    assert "inf" not in drawn
    for node in root.iter():
        for name in {"x", "x1", "x2", "cx", "y", "y1", "cy"} & set(node.attrib):
            assert -1 <= float(node.attrib[name]) <= (width if "x" in name else height) + 1, node.attrib
        if node.tag == f"{SVG}path":
            assert (corners(node) >= -10).all()
            assert (corners(node) <= [width + 10, height + 10]).all()


# --- places -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale_name", ["linear", "log"])
@pytest.mark.parametrize("form", ["line", "points"])
def test_marks_stand_where_both_axes_say(scale_name, form):
    values = [(1.0, 8.0), (10.0, 2.0), (100.0, 0.5), (400.0, 20.0)]
    marks = tuple(Mark(x, around(y)) for x, y in values)
    drawn = draw(chart(Series("s", marks, form), x=Axis("x", scale_name), y=Axis("y", scale_name)))
    log = scale_name == "log"
    across, up = scale(drawn, "x", log), scale(drawn, "y", log)
    found = [(across(x), up(y)) for x, y in circles(drawn)]
    # a tenth of a pixel, of 380 for two decades and a half or 420
    np.testing.assert_allclose(found, values, rtol=0.01 if log else 0, atol=0 if log else 0.3)


def test_an_end_that_is_off_the_axis_becomes_an_arrow():
    points = [Estimate(1.0, 0.0, 2.0), Estimate(0.5, -3.0, math.inf), Estimate(0.2, 0.1, 0.3)]
    marks = tuple(Mark(x, y) for x, y in zip((1, 2, 3), points, strict=True))
    drawn = draw(chart(Series("s", marks), y=Axis("y", "log")))
    assert len(of_class(drawn, "path", "arrow")) == 3
    check_inside(drawn)
    one = Mark(Estimate(0.1, -50.0, 50.0), 1.0)
    both = draw(chart(Series("s", (one, Mark(0.2, 2.0)), "points")))
    assert len(of_class(both, "path", "arrow")) == 2


def test_a_logarithmic_axis_with_a_value_that_is_not_positive_is_linear():
    drawn = draw(chart(Series("s", (Mark(0.0, 1.0), Mark(10.0, 2.0), Mark(20.0, 3.0))), x=Axis("x", "log")))
    np.testing.assert_allclose(np.diff(circles(drawn)[:, 0])[0], np.diff(circles(drawn)[:, 0])[1], atol=2 * PIXEL)


def test_bounds_are_triangles_without_a_whisker():
    bounds = (
        Mark(1, Estimate(0.5, 0.0, 0.5, kind="upper bound")),
        Mark(2, Estimate(0.2, 0.2, 1.0, kind="lower bound")),
    )
    drawn = draw(chart(Series("s", bounds, "points")))
    tips = [corners(node)[2, 1] - corners(node)[0, 1] for node in of_class(drawn, "path", "bound")]
    assert tips[0] > 0 > tips[1]  # down from the upper bound, up from the lower one
    assert not of_class(drawn, "line", "whisker")


def test_what_was_not_measured_is_a_cross_and_not_joined():
    marks = (Mark(1, around(1.0)), Mark(2, None), Mark(3, around(2.0)), Mark(4, around(3.0)))
    drawn = draw(chart(Series("s", marks)))
    assert len(of_class(drawn, "path", "missing")) == 2 * 2  # two strokes a cross; one in the legend
    assert len(of_class(drawn, "path", "curve")) == 1
    assert "s, 2: not measured" in said(drawn)
    forest = draw(
        chart(Series("s", (Mark(None, 0), Mark(0.5, 1)), "points"), y=Axis("", "category", categories=("a", "b")))
    )
    assert "s, a: not measured" in said(forest)


def test_the_band_holds_the_curve_and_is_as_wide_as_its_intervals():
    fpr, tpr = (0.0, 0.001, 0.01, 0.1, 1.0), (0.0, 0.01, 0.1, 0.5, 1.0)
    low, high = (0.0, 0.005, 0.08, 0.4, 1.0), (0.1, 0.1, 0.2, 0.6, 1.0)
    marks = tuple(Mark(x, Estimate(*ends)) for x, *ends in zip(fpr, tpr, low, high, strict=True))
    axis = Axis("rate", "log", percent=True, low=1e-3, high=1)
    drawn = draw(chart(Series("s", marks, "curve"), x=axis, y=axis, rules=(Rule(None, "diagonal", "chance"),)))
    band, curve = (corners(of_class(drawn, "path", kind)[0]) for kind in ("band", "curve"))
    count = len(curve)
    upper, lower = band[:count], band[count : 2 * count][::-1]
    assert (upper[:, 1] <= curve[:, 1]).all()
    assert (curve[:, 1] <= lower[:, 1]).all()
    across, share = scale(drawn, "x", log=True), scale(drawn, "y", log=True)
    at = int(np.argmin(np.abs([math.log(across(x) / 10) for x in curve[:, 0]])))
    # of 280 pixels a factor of ten takes about a hundred
    assert [share(row[at, 1]) for row in (upper, curve, lower)] == pytest.approx([60, 50, 40], rel=0.03)


def test_bars_are_as_high_as_their_values_and_side_by_side():
    names = ("Adult", "Hospital")
    series = (
        Series("k = 1", (Mark(0, around(10)), Mark(1, None)), "bars"),
        Series("k = 5", (Mark(0, around(30)), Mark(1, Estimate(-5, -6, -4))), "bars"),
        Series("paper", (Mark(0, 33),), "points", "strong"),
    )
    drawn = draw(chart(*series, x=Axis("set", "category", categories=names)))
    value = scale(drawn)
    drawn_bars = [
        {name: float(node.attrib[name]) for name in ("x", "y", "width", "height")}
        for node in of_class(drawn, "rect", "core")
    ]
    found = [value(bar["y"]) - value(bar["y"] + bar["height"]) for bar in drawn_bars]
    np.testing.assert_allclose(found, [10, 30, 5], atol=0.1)
    assert drawn_bars[0]["x"] + drawn_bars[0]["width"] <= drawn_bars[1]["x"]
    assert drawn_bars[1]["x"] + drawn_bars[1]["width"] <= circles(drawn)[0, 0]
    assert "k = 1, Hospital: not measured" in said(drawn)
    check_inside(drawn)


def test_boxes_have_their_quartiles():
    boxes = Series(
        "attack", (Mark(0, None, box=(0.0, 0.1, 0.2, 0.3, 0.6)), Mark(1, None, box=(0, 0.2, 0.3, 0.6, 0.6))), "boxes"
    )
    drawn = draw(chart(boxes, x=Axis("n", "category", categories=("10", "20"))))
    heights = [float(node.attrib["height"]) for node in of_class(drawn, "rect", "core")]
    assert heights[1] / heights[0] == pytest.approx(2.0, abs=0.02)
    assert said(drawn)[0] == "attack, 10: median 0.2, quartiles 0.1 and 0.3, ends 0 and 0.6"


def test_a_histogram_shows_every_bin():
    counts = {"members": (4, 0, 9), "non-members": (1, 5, 2)}
    series = tuple(
        Series(name, tuple(Mark(at, many) for at, many in enumerate(row)), form, end=3.0)
        for (name, row), form in zip(counts.items(), ("area", "steps"), strict=True)
    )
    drawn = draw(chart(*series, y=Axis("Records")))
    assert said(drawn) == [
        f"{at} to {at + 1}: {one} (members), {other} (non-members)"
        for at, (one, other) in enumerate(zip(*counts.values(), strict=True))
    ]
    value = scale(drawn)
    outline = corners(of_class(drawn, "path", "area")[-1])
    assert [round(value(height)) for height in outline[1:-1:2, 1]] == [4, 0, 9]


def test_categories_stand_in_rows_under_their_headings():
    axis = Axis("", "category", categories=("White", "Black", "Male"), groups=("race", "race", "sex"))
    marks = tuple(Mark(around(0.5 + at / 10, 1.1), at) for at in range(3))
    drawn = draw(chart(Series("s", marks, "points"), y=axis, rules=(Rule(0.5, "x", "chance"),)))
    rows = {
        node.text: float(node.attrib["y"]) for kind in ("level", "heading") for node in of_class(drawn, "text", kind)
    }
    assert sorted(rows, key=rows.get) == ["race", "White", "Black", "sex", "Male"]
    np.testing.assert_allclose([rows[name] - 4 for name in axis.categories], circles(drawn)[:, 1], atol=PIXEL)


def test_highlighted_marks_are_diamonds_joined_by_a_line():
    marks = tuple(Mark(at, 1 / (1 + at), f"p{at}") for at in range(4))
    drawn = draw(chart(Series("s", marks, "points"), highlighted=("p0", "p2"), highlight="Pareto-optimal"))
    assert len(of_class(drawn, "path", "diamond")) == 2
    assert len(corners(of_class(drawn, "path", "front")[0])) == 2
    assert "Pareto-optimal" in [node.text for node in of_class(drawn, "text", "tick")]


@pytest.mark.parametrize(("low", "high", "guess"), [(0, 0, 1), (4, 9, 1), (63, 71, 50), (100, 100, 10)])
def test_a_hundred_dots(low, high, guess):
    filled = Series("identified", (Mark(0, Estimate((low + high) / 2, low, high)),), "people")
    drawn = draw(chart(filled, rules=(Rule(guess),)))
    counts = {kind: drawn.count(f'"dot {kind}"') for kind in ("sure", "maybe", "not", "guess")}
    assert counts == {"sure": low, "maybe": high - low, "not": 100 - high, "guess": guess}


def test_many_muted_series_are_one_line_of_the_legend():
    muted = [Series(f"attack {at}", (Mark(0, at), Mark(1, 1)), "curve", "muted") for at in range(5)]
    drawn = draw(chart(*muted, Series("strongest", (Mark(0, 0), Mark(1, 1)), "curve", "strong")))
    assert {"strongest", "5 others"} <= {node.text for node in of_class(drawn, "text", "tick")}
    assert len(said(drawn)) == 6


# --- any input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 9, 30])
@pytest.mark.parametrize("size", [1e-12, 1.0, 1e6])
@pytest.mark.parametrize("kind", ["linear", "log"])
def test_any_number_of_marks_of_any_size(count, size, kind):
    values = tuple(around(size * 1.7**at) for at in range(count))
    names = tuple(f"{10.0**at:g}" for at in range(count))
    across, up = Axis("x", kind), Axis("y", kind)
    lines = [Series(f"series {at}", tuple(Mark(value, value, names[at]) for value in values)) for at in range(count)]
    check_inside(draw(chart(*lines, x=across, y=up, rules=(Rule(size / 10, label="goal"),))))
    bars = [
        Series(f"series {at}", tuple(Mark(at, value) for at, value in enumerate(values)), "bars") for at in range(3)
    ]
    check_inside(draw(chart(*bars, x=Axis("n", "category", categories=names), y=up)))
    check_inside(draw(chart(*bars[:1], x=Axis("n", "category", categories=names, groups=("g",) * count), y=up)))
    rows = Series("s", tuple(Mark(value, at) for at, value in enumerate(values)), "points")
    check_inside(draw(chart(rows, x=across, y=Axis("", "category", categories=names))))


@pytest.mark.parametrize("value", [0.0, -1.0, 1e-12, 1e9])
def test_one_value_and_endless_intervals(value):
    marks = (
        Mark(value, Estimate(value, value - 1, value + 1), "a"),
        Mark(1.0, Estimate(0.5, -math.inf, math.inf), "b"),
    )
    for form in ("line", "points"):
        check_inside(draw(chart(Series("s", marks, form), x=Axis("x", "log"), y=Axis("y", "log"), highlighted=("a",))))
        check_inside(draw(chart(Series("s", marks[:1], form))))


def test_a_chart_without_values_says_so():
    for series in ((), (Series("s", ()),), (Series("s", (), "steps"),)):
        assert "no values" in draw(chart(*series))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text(text):
    mark = Mark(0, around(1.0), text, text)
    for form in ("line", "points", "bars"):
        axis = Axis(text, "category", categories=(text,), groups=(text,))
        for x in (axis, Axis(text)):
            series = (Series(text, (mark,), form), Series("b", ()))
            made = Chart(text, text, x, Axis(text), series, (Rule(1, label=text),), (text,), text)
            root = parsed(draw(made))
            assert root[0].text == (text or None)
            assert {node.tag.removeprefix(SVG) for node in root.iter()} <= {
                "svg", "title", "desc", "g", "path", "line", "rect", "circle", "text",
            }  # fmt: skip
            assert not [name for node in root.iter() for name in node.attrib if name.startswith("on")]


def test_a_chart_loads_nothing_and_speaks():
    drawn = draw(chart(Series("s", (Mark(1, around(1.0)),))))
    root = parsed(drawn)
    assert re.findall(r"https?://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == "t. d"
    assert [node.tag for node in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
    assert said(drawn) == ["s, 1: 1.00 [0.50, 2.00]"]


# --- axes and labels --------------------------------------------------------------------------------------------------


@given(st.floats(1e-12, 1e6), st.floats(1e-12, 1e6), st.booleans())
def test_an_axis_holds_its_values_and_has_labels(one, other, from_zero):
    for kind in ("log", "linear"):
        made = span(Axis("", kind, from_zero=from_zero), [(one,) * 3, (other,) * 3])
        assert all(made.holds(value) for value in (one, other, *made.ticks))
        assert 1 <= len(made.ticks) <= 13
        assert (made.at(one) - made.at(other)) * (one - other) >= 0
        labels = [made.words(tick) for tick in made.ticks]
        spread = max(one, other) / min(one, other)
        assert len(set(labels)) == len(labels) or spread < 1.01  # labels have three digits


def test_ticks_are_written_as_numbers_are():
    made = span(Axis("", percent=True, low=0, high=1), [])
    assert [made.words(tick) for tick in made.ticks] == [f"{number(value)} %" for value in (0, 20, 40, 60, 80, 100)]


@pytest.mark.parametrize("count", [1, 5, 40, 200])
def test_labels_never_touch(count):
    rng = np.random.default_rng(count)
    marks = tuple(Mark(x, y, f"defense {at} at {x:.2f}") for at, (x, y) in enumerate(rng.random((count, 2))))
    first = marks[-1].label
    drawn = draw(chart(Series("s", marks, "points"), highlighted=(first,)))
    check_inside(drawn)
    names = of_class(drawn, "text", "name")
    assert first in [node.text for node in names] or count > 40
    assert len(names) == count if count <= 5 else len(names) >= 20 or count > 40
    boxes = [
        (x, y - 11, x + width_of(node.text), y + 4)
        for node in names
        for x, y in [(float(node.attrib["x"]), float(node.attrib["y"]))]
    ]
    spots = [(x - 4.5, y - 4.5, x + 4.5, y + 4.5) for x, y in circles(drawn)]
    for at, one in enumerate(boxes):
        assert not any(touch(one, other) for other in [*spots, *boxes[:at]])
