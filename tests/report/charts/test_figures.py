"""``result.plot()``: the charts of a report by matplotlib, equal to those of the page."""

import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text
from samples import sample_audit

import leakscope
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.report.charts import figures
from leakscope.report.charts.labels import touch
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series
from leakscope.report.documents import document


def around(value, half=0.02):
    return Estimate(value, value - half, value + half)


def forms():
    """A chart of every form."""
    numbers = tuple(Mark(at, around(0.1 * at)) for at in range(1, 4))
    names = Axis("set", "category", categories=("a", "b", "c", "d"))
    boxes = tuple(Mark(at, None, box=(0, 0.1, 0.2, 0.3, 0.4)) for at in range(4))
    bars = tuple(Mark(at, around(0.1 * at)) for at in range(4))
    rows = tuple(Mark(around(0.5), at) for at in range(4))
    people = Series("s", (Mark(0, Estimate(6, 4, 9)),), "people")

    def chart(x, y, *series, title="t", rules=()):
        return Chart(title, "d", x, y, series, rules)

    x, y = Axis("x"), Axis("y")
    second = Series("r", numbers, "steps", end=4.0)
    return {
        "line": chart(x, Axis("y", "log"), Series("s", (*numbers, Mark(4, None))), rules=(Rule(0.2, label="goal"),)),
        "curve": chart(Axis("x", "log"), y, Series("s", numbers, "curve"), Series("r", numbers, "curve", "muted")),
        "bars": chart(
            names, y, *(Series(name, bars, form) for name, form in zip("srp", ("bars", "bars", "points"), strict=True))
        ),
        "boxes": chart(names, y, Series("s", boxes, "boxes"), Series("r", bars)),
        "rows": chart(x, names, Series("s", rows, "bars")),
        "histogram": chart(x, y, Series("s", numbers, "area", end=4.0), second),
        "people": chart(Axis(""), Axis(""), people, title="$t$"),
    }


@pytest.mark.parametrize("form", forms())
def test_every_form_is_drawn(form):
    chart = forms()[form]
    figure = figures.draw(chart)
    figure.savefig(io.BytesIO(), format="png")
    plot = figure.axes[0]
    assert plot.get_title(loc="left").replace("\\", "") == chart.title
    assert plot.has_data()
    if form != "people":
        assert (plot.get_xlabel(), plot.get_ylabel()) == (chart.x.label, chart.y.label)


@pytest.mark.parametrize("chart", [0, "scores", "within each GROUP"])
def test_a_chart_is_chosen_by_position_or_title(chart):
    audit = sample_audit()
    titles = [one.title for one in document(audit).charts()]
    title = audit.plot(chart).axes[0].get_title(loc="left")
    assert title in titles
    assert chart == titles.index(title) or str(chart).casefold() in title.casefold()


def test_the_curve_has_the_numbers_of_the_result():
    audit = sample_audit()
    plot = audit.plot("ROC").axes[0]
    strongest = max(plot.lines, key=lambda line: line.get_linewidth() if len(line.get_xdata()) > 50 else 0)
    expected = np.interp(strongest.get_xdata(), audit.strongest.roc.fpr, audit.strongest.roc.tpr)
    np.testing.assert_allclose(strongest.get_ydata(), expected, atol=1e-12)
    assert plot.get_xscale() == plot.get_yscale() == "log"


@pytest.mark.parametrize("chart", [-1, 99, "groups"])
def test_a_chart_that_is_not_there_is_refused_with_the_titles(chart):
    with pytest.raises(InputError, match="ROC") as refusal:
        sample_audit().plot(chart)
    assert "\n" not in str(refusal.value)


def test_without_matplotlib_one_sentence_has_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(InputError, match=r"'leakscope\[plot\]'"):
        sample_audit().plot()


def test_labels_of_40_points_never_touch():
    rng = np.random.default_rng(0)
    marks = tuple(
        Mark(around(x), around(y), f"defense {at} with a name") for at, (x, y) in enumerate(rng.random((40, 2)))
    )
    chart = Chart("t", "d", Axis("x"), Axis("y"), (Series("s", marks, "points"),), highlighted=(marks[0].label,))
    figure = figures.draw(chart)
    figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text).extents for text in figure.axes[0].texts]
    assert len(boxes) > 10
    assert marks[0].label in [text.get_text() for text in figure.axes[0].texts]
    assert not any(touch(one, other) for at, one in enumerate(boxes) for other in boxes[:at])


def test_colours_are_those_of_the_page():
    colours = (Path(leakscope.__file__).parent / "report/templates/colours.j2").read_text()
    light = dict(re.findall(r"--([\w-]+): (#\w+)", colours[: colours.index("macro dark")]))
    assert {name: light[name] for name in figures.PALETTE if name in light} == {
        name: colour for name, colour in figures.PALETTE.items() if name in light
    }
    assert (figures.PALETTE["strong"], figures.PALETTE["muted"]) == (light["member"], light["outsider"])
    assert (light["ink"], light["soft"], light["line"]) == (figures.INK, figures.SOFT, figures.LINE)
