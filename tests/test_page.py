"""The page without a browser: its numbers, its order, its policy, its charts, and the fragment for notebooks."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from leakscope.report.studies import figure_words
from leakscope.report.summary import READINGS_APART, summarize
from pages import Page
from samples import around, sample_audit, sample_studies, with_names

from leakscope.core.estimate import Estimate
from leakscope.intervals import FALSE_ALARMS_NEEDED
from leakscope.report import audit_charts as charts
from leakscope.report import html
from leakscope.report.figures import draw_figure
from leakscope.results import Audit, Bound, Extra, Figure, Point, Roc, Series

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
HOSTILE = (
    "<script>alert('x')</script>",
    "\"' onload='alert(1)' </script></style></title></svg>",
    "\u202e\u2066evil\u2069 \u200fשלום\u0007\u2028",
    "x<b>" * 2500,
)


def everything(audit: Audit) -> Audit:
    extras = tuple(
        Extra(name, "labels", around(gain, 0.02), around(gain, 0.03), around(0.6, 0.01), around(0.6 + gain, 0.01),
              around(0.0, 0.02), around(gain, 0.03))
        for name, gain in (("gradient", 0.1), ("smoothgrad", 0.0))
    )  # fmt: skip
    bound = Bound(
        Estimate(0.46, 0.0, 0.46, 1.0, "upper bound"), "the training is said to be private, ε = 1", "a theorem"
    )
    return replace(audit, extras=extras, studies=sample_studies(), bounds=(bound,))


@pytest.fixture(scope="module")
def audit() -> Audit:
    return everything(sample_audit())


@pytest.fixture(scope="module")
def summary(audit: Audit) -> dict[str, Any]:
    return summarize(audit)


@pytest.fixture(scope="module")
def page(summary: dict[str, Any]) -> str:
    return html.render_summary(summary)


def leaves(thing: Any) -> Iterator[Any]:
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, list):
        for value in thing:
            yield from leaves(value)
    else:
        yield thing


# --- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["leaks", "not_detected", "inconclusive"])
def test_every_number_on_the_page_is_in_the_summary(kind: Any) -> None:
    summary = summarize(everything(sample_audit(kind)))
    known = {found for leaf in leaves(summary) if isinstance(leaf, str) for found in NUMBER.findall(leaf)}
    shown = [found for words in Page(html.render_summary(summary)).shown() for found in NUMBER.findall(words)]
    assert len(shown) > 500
    assert set(shown) <= known


def test_tables_sort_by_the_numbers_of_the_summary(page: str, summary: dict[str, Any]) -> None:
    known = {float(leaf) for leaf in leaves(summary) if isinstance(leaf, int | float)}
    given = [
        float(attributes["data-value"] or "") for _, attributes in Page(page).elements if "data-value" in attributes
    ]
    assert len(given) > 150
    assert set(given) <= known


def test_what_the_summary_says_stands_on_the_page(page: str, summary: dict[str, Any]) -> None:
    shown = " ".join(Page(page).shown())
    said = [
        *summary["answer"]["sentences"], summary["answer"]["audited"], summary["answer"]["sure"],
        summary["verdict"]["headline"], *summary["verdict"]["reasons"], summary["reproduce"]["text"],
        summary["releases"]["note"], summary["releases"]["bound_note"], summary["exposure"]["description"],
        *summary["guide"]["how_to_read"], *summary["reading"], *summary["caveats"]["warnings"],
    ]  # fmt: skip
    for rows in (
        summary["next_steps"],
        summary["guide"]["glossary"],
        summary["guide"]["methods"],
        summary["guide"]["papers"],
    ):
        said += [value for row in rows for value in row.values() if isinstance(value, str)]
    for row in summary["releases"]["rows"]:
        said += [row["name"], row["outcome"], row["plain"], row["bound"]["text"] if row["bound"] else "no bound known"]
    for row in summary["releases"]["not_measured"]:
        said += [row["name"], row["reason"]]
    for study in summary["studies"]:
        said += [study["title"], study["question"], study["answer"], *study["advice"], *study["warnings"]]
        said += [item[name] for item in study["numbers"] for name in ("name", "note")]
    assert [words for words in said if words.strip() not in shown] == []


# --- structure ------------------------------------------------------------------------------------------------------


def test_the_answer_comes_first_and_the_rest_in_its_order(page: str, summary: dict[str, Any]) -> None:
    parsed = Page(page)
    assert [attributes["class"] for attributes in parsed.of("header")] == ["verdict leaks"]
    assert parsed.inside("h1") == summary["answer"]["sentences"][0]
    headings = [attributes["id"] for attributes in parsed.of("h2")]
    assert headings == [
        "next", "releases", "strongest", "exposed", "explanations", "studies", "attacks", "reading", "mislead",
        "glossary", "methods", "settings",
    ]  # fmt: skip
    linked = [(attributes["href"] or "")[1:] for attributes in parsed.of("a")]
    assert [name for name in linked if name in headings][: len(headings)] == headings


def test_what_there_is_nothing_to_say_of_has_no_section() -> None:
    parsed = Page(html.render(sample_audit(groups=False)))
    names = {attributes.get("id") for _, attributes in parsed.elements}
    assert not names & {"groups", "explanations", "studies"}
    assert {"exposed", "records", "exposure"} <= names


def test_names_in_the_page_are_unique_and_found(page: str) -> None:
    elements = Page(page).elements
    names = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(names) == len(set(names))
    wanted = {attributes["aria-labelledby"] for _, attributes in elements if "aria-labelledby" in attributes}
    wanted |= {(attributes["href"] or "")[1:] for _, attributes in elements if "href" in attributes}
    assert len(wanted) >= 15
    assert wanted <= set(names)


def test_releases_that_nobody_measured_stand_in_the_table_with_the_reason() -> None:
    summary = summarize(sample_audit())
    left_out = summary["releases"]["not_measured"]
    page = html.render_summary(summary)
    assert len(left_out) >= 3
    assert page.count('<tr class="skipped"') == len(left_out)
    assert all(row["reason"] in Page(page).inside("table") for row in left_out)


@pytest.mark.parametrize(
    ("kind", "tone"), [("leaks", "plain-tag"), ("not_detected", "no-evidence"), ("inconclusive", "plain-tag")]
)
def test_nothing_sure_is_good_news_only_where_something_could_have_been_seen(kind: Any, tone: str) -> None:
    summary = summarize(sample_audit(kind))
    for row in summary["releases"]["rows"]:
        row["outcome"] = "nothing sure"
    tags = [
        given["class"]
        for given in Page(html.render_summary(summary)).of("span")
        if "tone" in (given.get("class") or "")
    ]
    assert set(tags) == {f"tag tone {tone}"}


def test_steps_that_a_measurement_supports_say_so(page: str, summary: dict[str, Any]) -> None:
    assert page.count('class="tag measured"') == sum(step["measured"] for step in summary["next_steps"]) > 0


def test_scores_alone_and_old_records_have_a_page() -> None:
    audit = sample_audit()
    risk = replace(
        audit.strongest, blind=None, beyond_blind=None, roc=Roc(audit.strongest.roc.fpr, audit.strongest.roc.tpr)
    )
    target = replace(audit.target, task="scores", features=None, performance=None, control_models=None)
    bare = replace(audit, strongest=risk, risks=(risk,), target=target, by_release=(), exposed=(), extras=())
    page = html.render(bare)
    assert 'class="band"' not in page
    assert "–" in Page(page).inside("table")
    # Without a band the curve says no more than the marks do: a number without an interval is not shown.
    assert sum(not item["mark"] for item in summarize(bare)["roc"]["readings"]) == 0


# --- policy ---------------------------------------------------------------------------------------------------------


def test_the_policy_names_the_one_script_and_nothing_else(page: str) -> None:
    parsed = Page(page)
    policy = next(given["content"] for given in parsed.of("meta") if "http-equiv" in given) or ""
    script = page.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    assert len(parsed.of("script")) == 1
    assert "\r" not in script
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(|https?:|fetch\(", script
    )


def test_no_data_reach_the_script() -> None:
    scripts = {
        html.render(sample_audit(kind)).split("<script>")[1].split("</script>")[0] for kind in ("leaks", "inconclusive")
    }
    assert len(scripts) == 1


def test_the_page_loads_nothing(page: str) -> None:
    parsed = Page(page)
    assert not {"link", "img", "iframe", "object", "embed", "form", "base"} & {tag for tag, _ in parsed.elements}
    attributes = {name for _, given in parsed.elements for name in given}
    assert not {"src", "srcset", "style", "xlink:href", "action"} & attributes
    assert not any(name.startswith("on") for name in attributes)
    assert all((given["href"] or "").startswith("#") for given in parsed.of("a"))
    outside = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|url\(|@import|[\"'=]//", outside)
    assert not parsed.open
    assert len(page) < 400_000


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_text(audit: Audit, name: str) -> None:
    tame, hostile = (Page(html.render(with_names(audit, given))) for given in ("tame", name))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in tame.elements]
    assert {key for _, given in hostile.elements for key in given} == {
        key for _, given in tame.elements for key in given
    }
    assert not hostile.open
    assert not re.search("[\u0000-\u0008\u202a-\u202e\u2066-\u2069\u200e\u200f\u2028]", "".join(hostile.shown()))


# --- charts ---------------------------------------------------------------------------------------------------------


def test_every_chart_has_words_and_every_point_its_value(page: str, summary: dict[str, Any]) -> None:
    drawn = [ElementTree.fromstring(found) for found in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)]
    assert len(drawn) == 7  # dots, curve, histogram, groups, explanations, and a figure of each of two studies
    for root in drawn:
        assert root.attrib["role"] == "img"
        assert [child.tag for child in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
        assert root.attrib["aria-label"] == f"{root[0].text}. {root[1].text}"
    points = [node for root in drawn for node in root.iter() if "point" in node.attrib.get("class", "").split()]
    said = {node.findtext(f"{SVG}title") for node in points}
    expected = {
        item["label"] for item in summary["histogram"]["bins"] + summary["groups"]["rows"] + summary["extras"]["rows"]
    }
    expected |= {item["label"] for item in summary["roc"]["curves"] + summary["roc"]["readings"]}
    for study in summary["studies"]:
        expected |= {
            point["said"] for figure in study["figures"] for series in figure["series"] for point in series["points"]
        }
    assert said == expected


def test_what_a_chart_shows_stands_in_a_table_too(page: str, summary: dict[str, Any]) -> None:
    cells = Page(page).inside("td", "th")
    for item in summary["roc"]["readings"]:
        assert item["rate_text"] in cells
        assert item["found"]["shown"] in cells
    for study in summary["studies"]:
        for figure in study["figures"]:
            for point in (point for series in figure["series"] for point in series["points"]):
                assert point["x_text"] in cells
                assert point["y_text"] in cells


def test_readings_are_points_of_the_record_evenly_spread(audit: Audit, summary: dict[str, Any]) -> None:
    roc = audit.strongest.roc
    on_curve = set(zip(roc.fpr, roc.tpr, roc.low, roc.high, strict=True))
    readings = summary["roc"]["readings"]
    quiet = [item for item in readings if not item["mark"]]
    assert len(quiet) > 5
    for item in quiet:
        if item["found"]["kind"] == "estimate":
            assert (item["rate"], *(item["found"][end] for end in ("value", "low", "high"))) in on_curve
        else:
            assert item["rate"] * audit.target.judged < FALSE_ALARMS_NEEDED
            assert (item["rate"], item["found"]["high"]) in {(fpr, high) for fpr, _, _, high in on_curve}
    marks = [item for item in readings if item["mark"]]
    assert {item["rate"] for item in marks} == set(audit.strongest.tpr_at_fpr)
    steps = [math.log10(after["rate"] / before["rate"]) for before, after in pairwise(readings)]
    assert min(steps) >= READINGS_APART - 1e-9


def places(path: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([[float(place) for place in pair.split()] for pair in path[1:].split("L")])


def test_the_band_holds_the_curve_and_is_as_wide_as_its_intervals() -> None:
    fpr, tpr = (0.0, 0.001, 0.01, 0.1, 1.0), (0.0, 0.01, 0.1, 0.5, 1.0)
    low, high = (0.0, 0.005, 0.08, 0.4, 1.0), (0.1, 0.1, 0.2, 0.6, 1.0)
    root = ElementTree.fromstring(charts.roc_chart([charts.Curve("x", fpr, tpr, low, high)], [], 1e-3, "t", "d"))
    paths = {node.attrib["class"]: places(node.attrib["d"]) for node in root.iter(f"{SVG}path")}
    band, curve = paths["band"], paths["point curve strongest"]
    count = len(curve)
    upper, lower = band[:count], band[count : 2 * count][::-1]
    np.testing.assert_array_equal(upper[:, 0], lower[:, 0])
    assert (upper[:, 1] <= curve[:, 1]).all()
    assert (curve[:, 1] <= lower[:, 1]).all()

    def share(height: float) -> float:
        return float(10 ** (-3 * (height - charts.TOP) / (346 - charts.TOP)))

    at = int(np.argmin(np.abs(upper[:, 0] - (54 + (charts.RIGHT - 54) * 2 / 3))))  # 10 % false alarms
    # Heights are rounded to a tenth of a pixel, of which a factor of ten takes a hundred.
    assert [share(upper[at, 1]), share(lower[at, 1])] == pytest.approx([0.6, 0.4], rel=0.02)


@pytest.mark.parametrize(("low", "high", "guess"), [(0, 0, 1), (4, 9, 1), (63, 71, 50), (100, 100, 10)])
def test_a_hundred_dots(low: int, high: int, guess: float) -> None:
    drawn = charts.people_chart(low, high, guess, "t", "d")
    counts = {kind: drawn.count(f'"dot {kind}"') for kind in ("sure", "maybe", "not", "guess")}
    assert counts == {"sure": low, "maybe": high - low, "not": 100 - high, "guess": guess}


def test_dots_show_the_second_sentence() -> None:
    for kind in ("leaks", "not_detected"):
        answer = summarize(sample_audit(kind))["answer"]  # type: ignore[arg-type]
        assert answer["picture"]["text"] in answer["sentences"][1]
    assert summarize(sample_audit("inconclusive"))["answer"]["picture"] is None


def drawn_figure(kind: Any = "lines", **more: Any) -> tuple[Any, list[tuple[float, float]]]:
    """A figure of 1/x at four places, and where its points stand."""
    points = tuple(Point(x, Estimate(1 / x, 0.5 / x, 2 / x), f"p{x:g}") for x in (1.0, 10.0, 100.0, 1000.0))
    figure = Figure("t", "d", kind, "x", "y", (Series("s", points),), **more)
    root = ElementTree.fromstring(draw_figure(figure_words(figure)))
    shapes = [node for node in root.iter() if "point" in node.attrib.get("class", "").split()]
    circles = [node.find(f".//{SVG}circle") for node in shapes]
    return root, [(float(node.attrib["cx"]), float(node.attrib["cy"])) for node in circles if node is not None]


def test_points_of_a_figure_stand_where_its_axes_say() -> None:
    root, spots = drawn_figure(logarithmic_x=True, logarithmic_y=True)
    assert [round(after[0] - before[0]) for before, after in pairwise(spots)] == pytest.approx(
        [spots[1][0] - spots[0][0]] * 3, abs=1
    )
    ticks = [
        (float(node.attrib["y"]) - 4, node.text or "")
        for node in root.iter(f"{SVG}text")
        if node.attrib["class"] == "tick end"
    ]
    heights = {text: height for height, text in ticks}
    assert heights["0.1"] == pytest.approx(spots[1][1], abs=0.2)
    assert heights["0.01"] == pytest.approx(spots[2][1], abs=0.2)


@pytest.mark.parametrize("kind", ["lines", "scatter"])
@pytest.mark.parametrize("value", [0.0, -1.0, 1e-12, 1e9])
def test_figures_of_any_size(kind: Any, value: float) -> None:
    points = (
        Point(value, Estimate(value, value - 1, value + 1), "a"),
        Point(1.0, Estimate(0.5, -math.inf, math.inf), "b"),
    )
    figure = Figure("t", "d", kind, "x", "y", (Series("s", points),), True, True, marked=("a",))
    drawn = draw_figure(figure_words(figure))
    ElementTree.fromstring(drawn)
    assert "nan" not in drawn.replace("dominant", "")
    assert "inf" not in drawn
    assert drawn.count("<title>") == 3


def test_a_figure_without_points_is_no_picture() -> None:
    assert draw_figure(figure_words(Figure("t", "d", "lines", "x", "y", ()))) == ""


def test_those_that_nothing_beats_are_diamonds_joined_by_a_line() -> None:
    root, spots = drawn_figure("scatter", marked=("p1", "p100"))
    classes = [node.attrib["class"] for node in root.iter() if "class" in node.attrib]
    assert classes.count("diamond") == 2
    assert len(spots) == 2
    front = next(places(node.attrib["d"]) for node in root.iter(f"{SVG}path") if node.attrib["class"] == "front")
    assert len(front) == 2


# --- the fragment ---------------------------------------------------------------------------------------------------


def test_a_fragment_keeps_to_itself(audit: Audit) -> None:
    fragment = html.render_fragment(audit)
    parsed = Page(fragment)
    assert not {"script", "link", "img", "iframe", "a"} & {tag for tag, _ in parsed.elements}
    assert not {"id", "style", "href", "src"} & {name for _, given in parsed.elements for name in given}
    assert not any(name.startswith("on") for _, given in parsed.elements for name in given)
    assert fragment.startswith('<div class="leakscope-audit">')
    assert fragment.endswith("</div>")
    assert not parsed.open
    style = re.sub(r"@media[^{]*\{(.*?\})\s*\}", r"\1", parsed.inside("style"), flags=re.DOTALL)
    selectors = [one.strip() for rule in re.findall(r"([^{}]+)\{[^{}]*\}", style) for one in rule.split(",")]
    assert len(selectors) > 40
    assert [one for one in selectors if ".leakscope-audit" not in one] == []
    assert not re.search(r"url\(|@import|@font-face|:root", style)
    assert len(fragment) < 100_000


def test_a_fragment_has_the_answer_the_releases_and_the_curve(audit: Audit, summary: dict[str, Any]) -> None:
    fragment = html.render_fragment(audit)
    shown = " ".join(Page(fragment).shown())
    assert summary["verdict"]["word"] in shown
    assert all(sentence in shown for sentence in summary["answer"]["sentences"])
    assert all(row["name"] in shown for row in summary["releases"]["rows"])
    assert fragment.count("<svg") == 1
    known = {found for leaf in leaves(summary) if isinstance(leaf, str) for found in NUMBER.findall(leaf)}
    assert {found for words in Page(fragment).shown() for found in NUMBER.findall(words)} <= known
