"""Figures: every value where it belongs, whatever its size, and nothing in the file but a picture."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope import plots
from leakscope.core.estimate import Estimate
from leakscope.errors import InputError
from leakscope.report import drawing
from leakscope.report.axes import linear_axis, log_axis, short_number

SVG = "{http://www.w3.org/2000/svg}"
BOX = (0.0, 0.1, 0.2, 0.3, 0.6)
HOSTILE = [
    "</title><script>alert(1)</script>",
    '" onload="alert(1)',
    "&amp; & <b>",
    "a" * 5000,
    "\x00\x1b[31m\u202e",
    "",
]


def estimate(value, spread=2.0):
    return Estimate(value, value / spread, value * spread)


def of_class(figure, tag, kind):
    root = ElementTree.fromstring(figure)
    return [node for node in root.iter(SVG + tag) if kind in node.attrib.get("class", "").split()]


def right_scale(figure):
    """Pixel height to value on the right axis, read off its labels."""
    labels = [node for node in of_class(figure, "text", "tick") if float(node.attrib.get("x", 0)) > drawing.WIDTH - 82]
    heights = [float(node.attrib["y"]) - 4 for node in labels]
    values = [float(node.text.replace(",", "")) for node in labels]
    slope, intercept = np.polyfit(heights, np.log10(values), 1)
    return lambda height: 10 ** (slope * height + intercept)


def simple(**more):
    places = ["10", "100", "1000"]
    line = [estimate(10.0), estimate(1.0), estimate(0.1)]
    return plots.boxes_and_line("t", "d", places, [BOX] * 3, line, place_label="n", **more)


def test_the_line_stands_where_the_right_axis_says():
    figure = simple()
    value = right_scale(figure)
    circles = [float(node.attrib["cy"]) for node in ElementTree.fromstring(figure).iter(f"{SVG}circle")][1:]
    # a tenth of a pixel is what coordinates are rounded to; 320 pixels hold 2.7 decades
    np.testing.assert_allclose([value(height) for height in circles], [10.0, 1.0, 0.1], rtol=0.01)


def test_boxes_are_as_high_as_their_quartiles():
    figure = plots.boxes_and_line("t", "d", ["a", "b"], [BOX, (0, 0.2, 0.3, 0.6, 0.6)], [None, None], place_label="n")
    heights = [float(node.attrib["height"]) for node in of_class(figure, "rect", "box")][1:]
    assert heights[1] / heights[0] == pytest.approx(2.0, abs=0.01)
    top = {float(node.attrib["y1"]) for node in of_class(figure, "line", "reach")}
    zero = max(float(node.attrib["y1"]) for node in of_class(figure, "line", "base"))
    assert (zero - min(top)) / heights[0] == pytest.approx(3.0, abs=0.01)


def test_an_end_that_is_off_the_axis_becomes_an_arrow():
    points = [
        Estimate(1.0, 0.0, 2.0),
        Estimate(0.5, -3.0, math.inf),
        Estimate(0.2, 0.1, 0.3),
        Estimate(-1.0, -2.0, 0.0),
    ]
    figure = plots.lines("t", "d", {"s": list(zip((1, 2, 3, 4), points, strict=True))}, x_label="x", y_label="y")
    # one for the first, two for the second, and the last is below the axis with both of its ends
    assert len(of_class(figure, "path", "arrow")) == 5
    assert len(list(ElementTree.fromstring(figure).iter(f"{SVG}circle"))) == 3 + 1  # one of them in the legend
    assert "s, 4: −1 [−2, 0]" in figure


def test_what_was_not_measured_is_marked_and_not_joined():
    line = [estimate(1.0), None, estimate(2.0), estimate(3.0)]
    boxes = [BOX, BOX, None, BOX]
    figure = plots.boxes_and_line("t", "d", list("abcd"), boxes, line, place_label="n")
    assert len(of_class(figure, "path", "missing")) == 2 * (2 + 1)  # two strokes a cross; one in the legend
    assert len(of_class(figure, "path", "curve")) == 1
    assert "b: not measured (Leakage (nats)); median 0.2" in figure


def test_bound_and_marks_stand_on_the_left_axis():
    figure = simple(bound=[1.0, 0.5, None], marks=[Estimate(0.6, 0.5, 0.7)] * 3, mark_label="other")
    assert len(of_class(figure, "path", "bound")) == 1
    assert len(of_class(figure, "path", "diamond")) == 3 + 1
    most = min(float(node.attrib["y1"]) for node in of_class(figure, "line", "reach"))  # 0.6, as the marks
    marked = of_class(figure, "path", "diamond")[1].attrib["d"][1:].split("L")
    middle = np.mean([float(pair.split()[1]) for pair in marked[:4]])
    assert middle == pytest.approx(most, abs=0.1)
    assert "at most 0.5 (No adversary passes); 0.6 [0.5, 0.7] (other)" in figure


def left_scale(figure):
    """Pixel height to value on the left axis, which is linear, read off its labels."""
    labels = [node for node in of_class(figure, "text", "end") if float(node.attrib.get("x", 99)) < drawing.LEFT]
    heights = [float(node.attrib["y"]) - 4 for node in labels]
    values = [float(node.text.replace(",", "").replace("−", "-")) for node in labels]
    slope, intercept = np.polyfit(heights, values, 1)
    return lambda height: slope * height + intercept


def test_linear_lines_hold_zero_and_stand_where_the_axis_says():
    points = [(0, Estimate(0.0, 0.0, 0.0)), (10, Estimate(4.0, 3.0, 5.0)), (40, Estimate(20.0, 18.0, 22.0))]
    labels = {"x_label": "x", "y_label": "y"}
    figure = plots.lines("t", "d", {"s": points}, **labels, logarithmic_x=False, logarithmic_y=False, goal=12.0)
    value = left_scale(figure)
    circles = [node.attrib for node in ElementTree.fromstring(figure).iter(f"{SVG}circle")][1:]
    # coordinates are rounded to a tenth of a pixel, and 320 pixels hold 23
    np.testing.assert_allclose([value(float(circle["cy"])) for circle in circles], [0, 4, 20], atol=0.02)
    across = [float(circle["cx"]) for circle in circles]
    assert (across[2] - across[0]) / (across[1] - across[0]) == pytest.approx(4.0, abs=0.01)
    assert not of_class(figure, "path", "arrow")
    goal = of_class(figure, "line", "bound")[-1]
    assert value(float(goal.attrib["y1"])) == pytest.approx(12.0, abs=0.02)


def test_bars_are_as_high_as_their_values_and_the_paper_stands_beside():
    series = {"k = 1": [Estimate(10, 9, 11), None], "k = 5": [Estimate(30, 25, 35), Estimate(0, 0, 2)]}
    paper = {"k = 5": [33, None]}
    figure = plots.bars("t", "d", ["Adult", "Hospital"], series, place_label="set", y_label="%", paper=paper)
    value = left_scale(figure)
    drawn = [{name: float(node.attrib[name]) for name in ("x", "y", "width", "height")}
             for node in of_class(figure, "rect", "bar")][2:]  # fmt: skip
    found = [value(bar["y"]) - value(bar["y"] + bar["height"]) for bar in drawn]
    np.testing.assert_allclose(found, [10, 30, 0], atol=0.03)
    starts = [bar["x"] for bar in drawn]
    assert starts[0] + drawn[0]["width"] <= starts[1]  # side by side
    diamonds = of_class(figure, "path", "diamond")[1:]
    assert len(diamonds) == 1
    corners = np.array([pair.split() for pair in diamonds[0].attrib["d"][1:].split("L")[:4]], dtype=float)
    assert value(corners[:, 1].mean()) == pytest.approx(33, abs=0.05)
    assert corners[:, 0].mean() > starts[1] + drawn[1]["width"]
    assert len(of_class(figure, "path", "missing")) == 2 * 2  # two strokes a cross; one in the legend
    assert "Adult, k = 5: 30 [25, 35]; paper: 33" in figure
    assert "Hospital, k = 1: not measured" in figure


def test_a_histogram_counts_every_value_once():
    rng = np.random.default_rng(0)
    values = {"members": 10 ** rng.normal(-3, 1, 500), "others": 10 ** rng.normal(-2, 1, 300)}
    figure = plots.histograms("t", "d", values, x_label="x", bins=25)
    said = [node.text for node in ElementTree.fromstring(figure).iter(f"{SVG}title")][1:]
    assert len(said) == 25
    for name, total in (("members", 500), ("others", 300)):
        assert sum(int(re.search(rf"([\d,]+) \({name}\)", words)[1]) for words in said) == total
    outlines = of_class(figure, "path", "area")
    value = left_scale(figure)
    heights = [[float(pair.split()[1]) for pair in node.attrib["d"][1:].split("L")] for node in outlines]
    edges = np.geomspace(min(map(np.min, values.values())), max(map(np.max, values.values())), 26)
    for column, drawn in zip(values.values(), heights, strict=True):
        assert [round(value(height)) for height in drawn[1:-2:2]] == np.histogram(column, edges)[0].tolist()


def test_stacked_figures_do_not_touch():
    one, other = simple(), plots.histograms("t", "d", {"s": [1.0, 2.0]}, x_label="x")
    root = ElementTree.fromstring(plots.stacked("both", "of them", [one, other, one]))
    places = [float(node.attrib["transform"].split()[1].rstrip(")")) for node in root.iter(f"{SVG}g")
              if node.attrib.get("transform")]  # fmt: skip
    heights = [float(figure.attrib["height"]) for figure in root.iter(f"{SVG}svg")][1:]
    assert len(places) == len(heights) == 3
    assert all(start + high <= after for start, high, after in zip(places, heights, places[1:], strict=False))
    assert places[-1] + heights[-1] <= float(root.attrib["height"])


def test_scattered_points_stand_where_both_axes_say():
    points = [("one", Estimate(0.1, 0.05, 0.2), Estimate(0.3, 0.2, 0.4)), ("two", Estimate(0.4, 0.4, 0.4), Estimate(-0.1, -0.2, 0)),
              ("three", Estimate(0.2, 0.1, 0.3), Estimate(0.0, -9.0, 9.0))]  # fmt: skip
    figure = plots.scatter(
        "t", "d", {"s": points[:2], "r": points[2:]}, x_label="x", y_label="y", marked=["two", "three"]
    )
    value = left_scale(figure)
    labels = [node for node in of_class(figure, "text", "tick") if "middle" in node.attrib["class"]]
    slope, intercept = np.polyfit(
        [float(node.attrib["x"]) for node in labels], [float(node.text) for node in labels], 1
    )
    circle = [node.attrib for node in ElementTree.fromstring(figure).iter(f"{SVG}circle")][-1]
    # coordinates are rounded to a tenth of a pixel; 320 and 682 pixels hold less than 1 each
    assert value(float(circle["cy"])) == pytest.approx(0.3, abs=2e-3)
    assert slope * float(circle["cx"]) + intercept == pytest.approx(0.1, abs=1e-3)
    joined = [pair.split() for pair in of_class(figure, "path", "bound")[0].attrib["d"][1:].split("L")]
    across = [slope * float(x) + intercept for x, _ in joined]
    np.testing.assert_allclose(across, [0.2, 0.4], atol=1e-3)
    np.testing.assert_allclose([value(float(y)) for _, y in joined], [0.0, -0.1], atol=2e-3)
    level = [node.attrib for node in of_class(figure, "line", "whisker") if node.attrib["y1"] == node.attrib["y2"]]
    lengths = sorted(slope * (float(line["x2"]) - float(line["x1"])) for line in level)
    assert lengths[-2:] == pytest.approx([0.15, 0.2], abs=1e-3)
    assert len(of_class(figure, "path", "arrow")) == 2  # both ends of the third
    assert "r, three: 0.2 [0.1, 0.3]; 0 [−9, 9]" in figure
    off = [Estimate(0.1, -50.0, 50.0), Estimate(0.2, 0.1, 0.3)]
    assert len(of_class(plots.scatter("t", "d", {"s": [("a", *off)]}, x_label="x", y_label="y"), "path", "arrow")) == 2


@pytest.mark.parametrize("count", [1, 5, 60])
def test_names_of_scattered_points_never_touch(count):
    rng = np.random.default_rng(count)
    points = [
        (f"explanation number {number}", estimate(x), estimate(y))
        for number, (x, y) in enumerate(rng.random((count, 2)))
    ]
    marked = [points[-1][0]]
    figure = plots.scatter("t", "d", {"s": points}, x_label="x", y_label="y", marked=marked)
    check_inside(figure)
    named = [
        node
        for node in ElementTree.fromstring(figure).iter(f"{SVG}text")
        if (node.text or "").startswith("explanation")
    ]
    assert marked[0] in [node.text for node in named]
    assert count > 5 or len(named) == count
    boxes = [(float(node.attrib["x"]), float(node.attrib["y"]), drawing.LETTER * len(node.text)) for node in named]
    for place, (x, y, width) in enumerate(boxes):
        assert all(x + width <= a or a + wide <= x or abs(y - b) >= 13 for a, b, wide in boxes[:place])


@pytest.mark.parametrize("count", [1, 2, 9, 30])
@pytest.mark.parametrize("size", [1e-12, 1.0, 1e6])
@pytest.mark.parametrize("logarithmic", [True, False])
def test_any_number_of_places_and_any_size(count, size, logarithmic):
    line = [estimate(size * 1.7**number) for number in range(count)]
    names = [f"{10.0**number:g}" for number in range(count)]
    figure = plots.boxes_and_line(
        "t", "d", names, [BOX] * count, line, place_label="n", logarithmic=logarithmic, bound=[1.0] * count
    )
    check_inside(figure)
    series = {f"series {number}": [(size * 2, estimate(size)), (size, None)] for number in range(count)}
    labels = {"x_label": "x", "y_label": "y"}
    check_inside(plots.lines("t", "d", series, **labels, goal=size / 10))
    check_inside(plots.lines("t", "d", series, **labels, goal=size * 5, logarithmic_x=False, logarithmic_y=False))
    columns = {f"series {number}": line for number in range(3)}
    paper = {"series 1": [size] * count}
    check_inside(
        plots.bars("t", "d", names, columns, place_label="p", y_label="y", paper=paper, logarithmic=logarithmic)
    )
    values = {"one": [size], "many": [point.value for point in line]}
    check_inside(plots.histograms("t", "d", values, x_label="x", logarithmic_x=logarithmic))


def check_inside(figure):
    """Every coordinate is a number inside of the picture, and no two labels of the level axis touch."""
    root = ElementTree.fromstring(figure)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert "nan" not in figure
    assert "inf" not in figure.replace("info", "")
    for node in root.iter():
        for name, value in node.attrib.items():
            if name in ("x", "x1", "x2", "cx"):
                assert 0 <= float(value) <= width
            if name in ("y", "y1", "y2", "cy"):
                assert 0 <= float(value) <= height
            if name == "d":
                assert all(0 <= float(number) <= width for number in re.findall(r"-?[\d.]+", value))
    names = [node for node in of_class(figure, "text", "middle") if "tick" in node.attrib["class"]]
    spans = sorted((float(node.attrib["x"]), drawing.LETTER * len(node.text) / 2) for node in names)
    assert all(x + half <= other - wide for (x, half), (other, wide) in pairwise(spans))


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_stay_words(words):
    figure = plots.boxes_and_line(
        words, words, [words, words], [BOX, BOX], [estimate(1.0), None], place_label=words, box_label=words,
        line_label=words, bound=[1.0, 1.0], bound_label=words, marks=[estimate(0.1)] * 2, mark_label=words,
    )  # fmt: skip
    series = {words: [(1, estimate(1.0))]}
    for drawn in (
        figure,
        plots.lines(words, words, series, x_label=words, y_label=words, goal=1.0, goal_label=words),
        plots.bars(
            words,
            words,
            [words, words],
            {words: [estimate(1.0), None]},
            place_label=words,
            y_label=words,
            paper={words: [1.0, None]},
            paper_label=words,
        ),
        plots.histograms(words, words, {words: [1.0, 2.0]}, x_label=words, y_label=words),
        plots.stacked(words, words, [figure, figure]),
        plots.scatter(
            words,
            words,
            {words: [(words, estimate(1.0), estimate(2.0))]},
            x_label=words,
            y_label=words,
            marked=[words],
            marked_label=words,
        ),
    ):
        root = ElementTree.fromstring(drawn)
        assert {node.tag.removeprefix(SVG) for node in root.iter()} <= {
            "svg", "title", "desc", "style", "g", "line", "rect", "circle", "path", "text",
        }  # fmt: skip
        assert not any(name.startswith("on") for node in root.iter() for name in node.attrib)
        assert not re.search("[\x00-\x08\u202a-\u202e]", drawn)
        assert len(drawn) < 60_000


def test_a_figure_is_one_file_that_loads_nothing_and_speaks():
    figure = simple()
    root = ElementTree.fromstring(figure)
    assert re.findall(r"https?://[^\"]*", figure) == ["http://www.w3.org/2000/svg"]
    assert "url(" not in figure
    assert "@import" not in figure
    assert "prefers-color-scheme: dark" in figure
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == "t. d"
    assert [node.tag for node in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
    assert [node.text for node in root.iter(f"{SVG}title")][1].startswith("10: 10 [5, 20] (Leakage")


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.boxes_and_line("t", "d", [], [], [], place_label="n"),
        lambda: plots.boxes_and_line("t", "d", ["a"], [BOX, BOX], [None], place_label="n"),
        lambda: plots.boxes_and_line("t", "d", ["a"], [(0, 1)], [None], place_label="n"),
        lambda: plots.boxes_and_line("t", "d", ["a"], [(0, 1, 0.5, 2, 3)], [None], place_label="n"),
        lambda: plots.boxes_and_line("t", "d", ["a"], [(0, 1, 2, 3, math.nan)], [None], place_label="n"),
        lambda: plots.lines("t", "d", {}, x_label="x", y_label="y"),
        lambda: plots.lines("t", "d", {"s": [(0, estimate(1.0))]}, x_label="x", y_label="y"),
        lambda: plots.lines("t", "d", {"s": [(math.inf, estimate(1.0))]}, x_label="x", y_label="y"),
        lambda: plots.lines("t", "d", {"s": [(math.nan, None)]}, x_label="x", y_label="y", logarithmic_x=False),
        lambda: plots.bars("t", "d", [], {}, place_label="p", y_label="y"),
        lambda: plots.bars("t", "d", ["a"], {}, place_label="p", y_label="y"),
        lambda: plots.bars("t", "d", ["a"], {"s": [None, None]}, place_label="p", y_label="y"),
        lambda: plots.bars("t", "d", ["a"], {"s": [None]}, place_label="p", y_label="y", paper={"s": [1, 2]}),
        lambda: plots.histograms("t", "d", {}, x_label="x"),
        lambda: plots.histograms("t", "d", {"s": [0.0, 1.0]}, x_label="x"),
        lambda: plots.histograms("t", "d", {"s": [math.nan]}, x_label="x", logarithmic_x=False),
        lambda: plots.histograms("t", "d", {"s": [1.0]}, x_label="x", bins=0),
        lambda: plots.stacked("t", "d", []),
        lambda: plots.scatter("t", "d", {}, x_label="x", y_label="y"),
        lambda: plots.scatter("t", "d", {"s": []}, x_label="x", y_label="y"),
    ],
)
def test_what_can_not_be_drawn_is_refused_in_a_sentence(draw):
    with pytest.raises(InputError) as refusal:
        draw()
    assert "\n" not in str(refusal.value)


@given(st.floats(1e-12, 1e6), st.floats(1e-12, 1e6))
def test_an_axis_holds_its_values_and_has_labels(one, other):
    for axis in (log_axis, linear_axis):
        made = axis([(one, one, one), (other, other, other)], 400.0, 80.0)
        assert all(80 <= made.place(value) <= 400 for value in (one, other))
        assert 1 <= len(made.ticks) <= 13
        assert all(80 - 1e-6 <= made.place(tick) <= 400 + 1e-6 for tick in made.ticks)
        assert (made.place(one) - made.place(other)) * (one - other) <= 0
        labels = [short_number(tick) for tick in made.ticks]
        spread = max(one, other) / min(one, other)
        assert len(set(labels)) == len(labels) or spread < 1.01  # labels have three digits


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1234.5, "1,230"),
        (0.05, "0.05"),
        (-0.5, "−0.5"),
        (1e-4, "10⁻⁴"),
        (2.34e6, "2.34·10⁶"),
        (math.inf, "∞"),
    ],
)
def test_numbers_are_short(value, shown):
    assert short_number(value) == shown
