"""The page of a comparison: its numbers, its order, its policy, hostile names, and a browser that finds nothing wrong."""

# ruff: noqa: F811  # fixtures of the browser are imported by their names

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from comparisons import sample_comparison
from pages import Page
from test_report_browser import AXE, DESK, PAPER, PHONE, RULES, Open, browser, missing, open_page, overflow  # noqa: F401

from leakscope.comparison.page import point_texts, render, render_summary
from leakscope.comparison.result import Comparison
from leakscope.comparison.summary import summarize
from leakscope.report import drawing

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
KINDS = ("use", "at a price", "no sure gain", "nothing to lower")
HOSTILE = (
    "<script>window.pwned = 1</script>",
    "\"'><img src=x onerror=window.pwned=1> ' onfocus='window.pwned=1' autofocus='",
    "</script></title></style></svg><svg onload=window.pwned=1>",
    "\u202e\u2066evil\u2069 \u200fשלום\u0007\u2028",
    "W" * 10_000,
)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return sample_comparison()


@pytest.fixture(scope="module")
def summary(comparison: Comparison) -> dict[str, Any]:
    return summarize(comparison)


@pytest.fixture(scope="module")
def page(summary: dict[str, Any]) -> str:
    return render_summary(summary)


@pytest.fixture(scope="module")
def file(page: str, tmp_path_factory: Any) -> Path:
    path = Path(tmp_path_factory.mktemp("compare")) / "compare.html"
    path.write_text(page, encoding="utf-8")
    return path


def leaves(thing: Any) -> Iterator[Any]:
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, list | tuple):
        for value in thing:
            yield from leaves(value)
    else:
        yield thing


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_on_the_page_is_in_the_summary(kind: Any) -> None:
    summary = summarize(sample_comparison(kind))
    known = {found for leaf in leaves(summary) for found in NUMBER.findall(str(leaf))}
    shown = [found for words in Page(render_summary(summary)).shown() for found in NUMBER.findall(words)]
    assert len(shown) > 500
    assert set(shown) <= known


def test_every_estimate_of_the_summary_is_one_of_the_comparison(comparison: Comparison, summary: Any) -> None:
    known = {round(leaf, 12) for leaf in leaves(comparison.as_dict()) if isinstance(leaf, int | float)}

    def estimates(thing: Any) -> Iterator[float]:
        if isinstance(thing, dict):
            if {"value", "low", "high"} <= set(thing):
                yield thing["value"]
            thing = list(thing.values())
        if isinstance(thing, list):
            for one in thing:
                yield from estimates(one)

    found = list(estimates(summary))
    assert len(found) > 150
    assert {round(value, 12) for value in found} <= known


def test_tables_sort_by_the_numbers_of_the_summary(page: str, summary: dict[str, Any]) -> None:
    known = {float(leaf) for leaf in leaves(summary) if isinstance(leaf, int | float)}
    given = [float(each["data-value"] or "") for _, each in Page(page).elements if "data-value" in each]
    assert len(given) > 100
    assert set(given) <= known


def test_no_value_of_a_record_and_no_bare_number(summary: dict[str, Any]) -> None:
    # What is a float in the summary belongs to an estimate or to a point of the picture, which has both its intervals.
    bare = {name: value for name, value in summary.items() if isinstance(value, float)}
    assert bare == {}
    for row in summary["versions"]:
        assert not any(isinstance(value, float) for value in row.values())


def test_the_same_comparison_makes_the_same_bytes(comparison: Comparison, page: str) -> None:
    assert render(comparison) == page
    assert render(sample_comparison()) == page


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_recommendation_is_the_headline(kind: Any) -> None:
    comparison = sample_comparison(kind)
    summary = summarize(comparison)
    parsed = Page(render_summary(summary))
    assert parsed.inside("h1") == summary["sentences"][0]
    assert summary["sentences"][1] in " ".join(parsed.shown())
    assert comparison.recommendation.sentence in " ".join(parsed.shown())
    assert [given["class"] for given in parsed.of("header")] == [f"verdict {kind.replace(' ', '-')}"]


def test_the_guarantee_is_broken_in_these_words(page: str) -> None:
    parsed = Page(page)
    assert "The guarantee is broken" in parsed.inside("h2")
    assert page.index('id="broken"') < page.index('id="frontier"')
    shown = " ".join(parsed.shown())
    assert "“dp-sgd 1” claims ε = 0.25, δ = 1e-05 for one record added or removed, that is ε = 0.5" in shown
    assert '<span class="tag tone leaks">the guarantee is broken</span>' in page
    whole = Page(render(sample_comparison(versions=8)))
    assert "broken" not in {given.get("id") for _, given in whole.elements}
    assert "the guarantee is broken" not in " ".join(whole.shown())


def test_what_the_summary_says_stands_on_the_page(page: str, summary: dict[str, Any]) -> None:
    shown = " ".join(Page(page).shown())
    said = [summary["audited"], summary["sure"], *summary["alarms"], *summary["doubts"], *summary["warnings"]]
    said += [*summary["meaning"], summary["reproduce"], summary["groups"]["finding"], summary["figure"]["description"]]
    for row in summary["versions"]:
        said += [row["name"], row["what"], row["standing"], row["claim"], row["promise"], row["lowered"] and "change"]
        said += [price["value"]["interval"] for price in row["prices"]]
    for rows in ("attacks", "not_run", "notes", "foundations", "glossary", "sources", "settings", "explained"):
        said += [value for row in summary[rows] for value in row.values() if isinstance(value, str)]
    assert [words for words in said if words and words.strip() not in shown] == []
    assert shown.count("the seed of the noise stays secret") == 1


def test_who_pays_comes_with_the_largest_loss_first(comparison: Comparison, summary: dict[str, Any]) -> None:
    rows = [*summary["groups"]["rows"], *summary["groups"]["rest"]]
    changes = [row["change"]["value"] for row in rows]
    assert changes == sorted(changes)
    assert len(rows) == sum(len(version.groups) for version in comparison.versions[1:])
    sure = sum(group.change.high < 0 for version in comparison.versions[1:] for group in version.groups)
    assert sum(row["loses"] for row in rows) == sure
    assert summary["groups"]["finding"].startswith(f"In {sure} of {len(rows)} pairs")
    parts = Page(render(sample_comparison(groups=False, explained=False)))
    assert not {"groups", "explanations"} & {given.get("id") for _, given in parts.elements}


# --- the picture ------------------------------------------------------------------------------------------------------


def test_every_version_has_a_point_and_its_number(page: str, summary: dict[str, Any]) -> None:
    (drawn,) = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    root = ElementTree.fromstring(drawn)
    points = [node for node in root.iter() if "point" in node.attrib.get("class", "").split()]
    assert len(points) == len(summary["versions"])
    labels = [node.text or "" for node in root.iter(f"{SVG}text") if "rim" in node.attrib["class"]]
    numbers = [label.split()[0] for label in labels]
    assert sorted(numbers, key=int) == [str(row["number"]) for row in summary["versions"]]
    for label in labels:
        name = summary["versions"][int(label.split()[0]) - 1]["name"]
        assert label in (f"{label.split()[0]} {name}", label.split()[0])
    assert sum(node.attrib["class"] == "chance" for node in root.iter(f"{SVG}line")) == 2  # the line and its legend
    assert sum(node.attrib.get("class") == "diamond" for node in root.iter(f"{SVG}path")) == len(
        summary["figure"]["marked"]
    )


def test_names_in_the_picture_never_overlap_and_give_way_to_numbers() -> None:
    points = [(f"version {at}", 200.0 + at % 3, 150.0 + at // 3) for at in range(14)]
    shown = {name: (f"{at} {name}", str(at)) for at, (name, _, _) in enumerate(points)}
    drawn = drawing.point_names(points, ("version 3",), (0, 0, 420, 300), shown)
    assert len(drawn) > len(drawing.point_names(points, ("version 3",), (0, 0, 420, 300)))
    boxes = []
    for part in drawn:
        node = ElementTree.fromstring(part)
        x, y, text = float(node.attrib["x"]), float(node.attrib["y"]), node.text or ""
        boxes.append((x, y - 10, x + drawing.LETTER * len(text), y + 3))
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    texts = [ElementTree.fromstring(part).text or "" for part in drawn]
    assert [text for text in texts if not text.isdigit()] == ["3 version 3"]
    assert len(drawing.point_names(points[:2], (), (0, 0, 420, 300), shown)) == 2
    assert all("version" in text for text in drawing.point_names(points[:2], (), (0, 0, 420, 300), shown))
    assert point_texts({"versions": [{"name": "l2 1", "number": 3}]}) == {"l2 1": ("3 l2 1", "3")}


# --- structure and policy ---------------------------------------------------------------------------------------------


def test_names_in_the_page_are_unique_and_found(page: str) -> None:
    elements = Page(page).elements
    names = [given["id"] for _, given in elements if "id" in given]
    assert len(names) == len(set(names))
    wanted = {given["aria-labelledby"] for _, given in elements if "aria-labelledby" in given}
    wanted |= {(given["href"] or "")[1:] for _, given in elements if "href" in given}
    assert len(wanted) >= 9
    assert wanted <= set(names)


def test_the_page_loads_nothing_and_runs_one_script(page: str) -> None:
    parsed = Page(page)
    assert not {"link", "img", "iframe", "object", "embed", "form", "base"} & {tag for tag, _ in parsed.elements}
    attributes = {name for _, given in parsed.elements for name in given}
    assert not {"src", "srcset", "style", "xlink:href", "action"} & attributes
    assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"https?:|url\(|@import|[\"'=]//", page.replace("http://www.w3.org/2000/svg", ""))
    policy = next(given["content"] for given in parsed.of("meta") if "http-equiv" in given) or ""
    script = page.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    assert len(parsed.of("script")) == 1
    assert not parsed.open
    assert len(page) < 400_000


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_text(name: str) -> None:
    tame, hostile = (Page(render(sample_comparison(name=given))) for given in ("tame", name))
    # A long name beside a point gives way to its number, and the text is there either way.
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in tame.elements]
    assert {key for _, given in hostile.elements for key in given} == {
        key for _, given in tame.elements for key in given
    }
    assert not hostile.open
    assert not re.search("[\u0000-\u0008\u202a-\u202e\u2066-\u2069\u200e\u200f\u2028]", "".join(hostile.shown()))


def test_a_folder_holds_the_page(comparison: Comparison, page: str, tmp_path: Path) -> None:
    comparison.save(tmp_path)
    assert (tmp_path / "compare.html").read_text(encoding="utf-8") == page
    assert {path.name for path in tmp_path.iterdir()} == {"compare.html", "compare.json", "compare.csv", "study.json"}


def test_without_a_command_the_call_is_shown(comparison: Comparison) -> None:
    called = summarize(replace(comparison, run=comparison.run | {"command": ""}))["reproduce"]
    assert called.startswith("ls.compare(target, defenses=[…], price=0.01, references=8")


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"viewport": PHONE, "color_scheme": "dark"}], ids=["light", "dark phone"])
def test_nothing_stands_in_anybodys_way(open_page: Open, file: Path, options: dict[str, Any]) -> None:
    if not AXE.is_file():
        missing("needs axe-core: npm install --prefix .venv/axe axe-core")
    with open_page(file, bypass_csp=True, **options) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.locator("svg .point").last.hover()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate(
            "rules => axe.run(document, { runOnly: { type: 'tag', values: rules }, resultTypes: ['violations'] })",
            RULES,
        )
        assert [(item["id"], [node["html"][:200] for node in item["nodes"]][:3]) for item in found["violations"]] == []
        assert len(found["passes"]) > 20


def test_the_first_screen_has_the_answer_and_no_window_is_too_narrow(open_page: Open, file: Path) -> None:
    with open_page(file) as page:
        for window in (DESK, PHONE):
            page.set_viewport_size(window)
            second = page.locator(".second").bounding_box()
            assert second["y"] + second["height"] < window["height"]
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        for width in (320, 390, 768, 1280):
            page.set_viewport_size({"width": width, "height": 844})
            assert overflow(page) == [], width
            inside = """() => [...document.querySelectorAll(".versions td, .versions th")].filter((cell) =>
                [...cell.querySelectorAll("*")].some((one) => one.getBoundingClientRect().right
                    > cell.getBoundingClientRect().right + 1)).map((cell) => cell.textContent.slice(0, 60))"""
            assert page.evaluate(inside) == [], width


def test_on_paper_nothing_is_cut(open_page: Open, file: Path) -> None:
    with open_page(file, viewport=PAPER) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.emulate_media(media="print")
        cut = page.evaluate("""() => [...document.querySelectorAll("main *")]
            .filter((one) => !one.closest("svg, .unseen") && one.getBoundingClientRect().right > innerWidth + 1)
            .map((one) => one.tagName + "." + one.className + " " + one.textContent.slice(0, 40))""")
        assert cut == []


@pytest.mark.parametrize("name", [HOSTILE[1], HOSTILE[4]], ids=["markup", "long"])
def test_hostile_names_run_nothing_and_break_nothing(open_page: Open, tmp_path: Path, name: str) -> None:
    path = tmp_path / "compare.html"
    path.write_text(render(sample_comparison(name=name)), encoding="utf-8")
    with open_page(path) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.locator("svg .point").last.hover()
        page.locator("table.versions thead button").first.click()
        assert page.locator("main img, main script, main iframe, [onload], [onerror], [onfocus]").count() == 0
        for window in (DESK, PHONE):
            page.set_viewport_size(window)
            assert overflow(page) == []
