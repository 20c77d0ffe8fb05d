"""Pages of every kind in a browser: with the network cut, by mouse, by keyboard, for a screen reader, on a phone and on paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from leakscope.core.estimate import Estimate
from leakscope.report.charts.model import Axis, Chart, Mark, Series
from leakscope.report.document import Answer, Document
from leakscope.report.documents import document
from leakscope.report.renderers import html
from surfaces.conftest import DESK, Open, missing
from surfaces.samples import HOSTILE, KINDS

AXE = Path(__file__).parents[2] / ".venv/axe/node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PHONE = {"width": 390, "height": 844}
PAPER = {"width": 695, "height": 983}  # what the margins leave of A4, in CSS pixels
UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true"
Pages = Callable[..., Path]


def overflow(page: Any) -> list[str]:
    """Elements that stick out of the window, but for those inside of a box that scrolls by itself."""
    found: list[str] = page.evaluate("""() => [...document.querySelectorAll("body *")]
        .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
        .filter((one) => !one.closest(".scroll, nav, .unseen, svg > *"))
        .map((one) => one.tagName + "." + one.className + " " + one.textContent.slice(0, 40))""")
    return [*found, *(["page"] if page.evaluate("document.documentElement.scrollWidth > innerWidth") else [])]


def check_axe(page: Any, within: str = "document") -> None:
    if not AXE.is_file():
        missing("needs axe-core: npm install --prefix .venv/axe axe-core")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        f"rules => axe.run({within}, {{ runOnly: {{ type: 'tag', values: rules }}, resultTypes: ['violations'] }})",
        RULES,
    )
    assert [(item["id"], [node["html"][:200] for node in item["nodes"]][:3]) for item in found["violations"]] == []
    assert len(found["passes"]) > 5


# --- every kind -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"viewport": PHONE, "color_scheme": "dark"}], ids=["light", "dark phone"])
@pytest.mark.parametrize("kind", KINDS)
def test_pages_are_accessible(open_page: Open, pages: Pages, kind: str, options: dict[str, Any]) -> None:
    with open_page(pages(kind), bypass_csp=True, **options) as page:
        page.evaluate(UNFOLD)
        check_axe(page)
        levels = page.locator("h1, h2, h3, h4, h5, h6").evaluate_all("all => all.map((one) => Number(one.tagName[1]))")
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("kind", KINDS)
def test_no_window_is_too_narrow(open_page: Open, pages: Pages, kind: str) -> None:
    with open_page(pages(kind)) as page:
        page.evaluate(UNFOLD)
        for width in (320, 390, 768, 1120):
            page.set_viewport_size({"width": width, "height": 844})
            assert overflow(page) == [], width
            outside = page.evaluate("""() => [...document.querySelectorAll("svg text")].filter((one) => {
                const [text, chart] = [one.getBoundingClientRect(), one.closest("svg").getBoundingClientRect()];
                return text.left < chart.left - 1 || text.right > chart.right + 1 || text.bottom > chart.bottom + 1;
            }).map((one) => one.textContent)""")
            assert outside == [], width


@pytest.mark.parametrize("kind", KINDS)
def test_without_script_everything_is_there(open_page: Open, pages: Pages, kind: str) -> None:
    shown = document(KINDS[kind]())
    with open_page(pages(kind), java_script_enabled=False) as page:
        text = page.locator("body").inner_text()
        for words in (shown.question, shown.answer.label, shown.answer.headline, *shown.answer.sentences):
            assert " ".join(words.split()) in text
        assert page.locator("svg.chart[role=img] > title").count() == page.locator("svg.chart").count()
        assert page.locator("svg .point > title").count() == page.locator("svg .point").count()
        assert page.locator("table button, .filter, .tip").count() == 0
        assert page.locator("h1").inner_text() == shown.answer.headline


@pytest.mark.parametrize("kind", KINDS)
def test_links_headings_and_values_work(open_page: Open, pages: Pages, kind: str) -> None:
    with open_page(pages(kind)) as page:
        links = page.locator("nav a")
        assert links.count() >= 3
        for at in range(links.count()):
            target = links.nth(at).get_attribute("href")
            links.nth(at).focus()
            page.keyboard.press("Enter")
            assert page.locator(target).count() == 1
            assert -1 <= page.locator(target).bounding_box()["y"] < DESK["height"]
        page.evaluate(UNFOLD)
        for at in range(page.locator("svg.chart").count()):
            chart = page.locator("svg.chart").nth(at)
            assert chart.locator('[tabindex="0"]').count() <= 1
            point = chart.locator(".point:not(.curve)").last
            if point.count():
                point.focus()
                page.keyboard.press("ArrowRight")
                assert page.evaluate("document.activeElement.getAttribute('aria-label')") == point.get_attribute(
                    "aria-label"
                )


@pytest.mark.parametrize("kind", KINDS)
def test_on_paper_everything_is_open_and_nothing_is_cut(open_page: Open, pages: Pages, kind: str) -> None:
    with open_page(pages(kind), viewport=PAPER, color_scheme="dark") as page:
        printed = page.pdf(prefer_css_page_size=True)
        sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)
        assert {(round(float(wide)), round(float(high))) for wide, high in sizes} <= {(595, 842), (596, 842)}
        assert page.locator("details[open]").count() == 0
        page.emulate_media(media="print")
        hidden = page.evaluate("""() => [...document.querySelectorAll("main *:not(.unseen, .tip, nav *)")]
            .filter((one) => one.children.length === 0 && one.textContent.trim() && !one.closest("svg, script, .filter, .unseen, .tip"))
            .filter((one) => !one.checkVisibility()).map((one) => one.tagName + " " + one.textContent.slice(0, 40))""")
        assert hidden == []
        cut = page.evaluate("""() => [...document.querySelectorAll("main *")]
            .filter((one) => !one.closest("svg, .unseen") && one.getBoundingClientRect().right > innerWidth + 1)
            .map((one) => one.tagName + "." + one.className + " " + one.textContent.slice(0, 40))""")
        assert cut == []
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("word", [*HOSTILE[:2], HOSTILE[-1]], ids=["script", "attribute", "long"])
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_run_nothing_and_break_nothing(open_page: Open, pages: Pages, kind: str, word: str) -> None:
    file = pages(kind, word)
    assert file.stat().st_size < 3_000_000
    with open_page(file) as page:
        page.evaluate(UNFOLD)
        assert page.locator("main img, main script, main iframe, [onload], [onerror], [onfocus]").count() == 0
        for window in (DESK, PHONE):
            page.set_viewport_size(window)
            assert overflow(page) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_shows_every_kind(open_page: Open, tmp_path: Path, kind: str) -> None:
    start = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>notebook</title><main><h1>Cell</h1><h2>Out</h2><p id="other">text</p>'
    cells = "".join(KINDS[kind](word)._repr_html_() for word in ("", HOSTILE[0], HOSTILE[-1]))
    file, bare = tmp_path / "notebook.html", tmp_path / "bare.html"
    file.write_text(f"{start}{cells}</main></html>", encoding="utf-8")
    bare.write_text(f"{start}</main></html>", encoding="utf-8")
    style = "JSON.stringify([...Object.values(getComputedStyle(document.querySelector('#other')))])"
    with open_page(bare) as page:
        expected = page.evaluate(style)
    with open_page(file) as page:
        assert page.evaluate(style) == expected
        assert page.locator("img, script, [onload], [onerror], [onfocus]").count() == 0
        check_axe(page, "'.leakscope-result'")
    with open_page(file, viewport=PHONE, color_scheme="dark") as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        check_axe(page, "'.leakscope-result'")


# --- charts and tables, on one page -----------------------------------------------------------------------------------


def test_hover_tap_and_keys_show_values(open_page: Open, pages: Pages) -> None:
    with open_page(pages("audit")) as page:
        tip = page.locator(".tip")
        assert tip.is_hidden()
        chart = page.locator("figure", has_text="AUC within each group").locator("svg")
        points = chart.locator(".point")
        points.nth(1).hover()
        assert tip.inner_text() == points.nth(1).get_attribute("aria-label")
        page.keyboard.press("Escape")
        assert tip.is_hidden()
        points.first.focus()
        page.keyboard.press("End")
        assert tip.inner_text() == points.last.get_attribute("aria-label")
        assert page.locator("main > [role=status]").inner_text() == tip.inner_text()
        page.keyboard.press("Home")
        assert tip.inner_text() == points.first.get_attribute("aria-label")
        page.mouse.move(2, 2)
    with open_page(pages("audit"), viewport=PHONE, has_touch=True, is_mobile=True) as page:
        page.locator("figure", has_text="AUC within each group").locator(".point").first.tap()
        box = page.locator(".tip").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        page.locator("h2").first.tap()
        assert page.locator(".tip").is_hidden()


def test_tables_sort_both_ways_and_back_and_long_ones_are_filtered(open_page: Open, pages: Pages) -> None:
    values = "rows => rows.map((row) => Number(row.cells[2].dataset.value))"
    with open_page(pages("audit")) as page:
        page.evaluate(UNFOLD)
        table = page.locator("section:has(h2:has-text('All attacks')) table")
        rows, head = table.locator("tbody tr"), table.locator("thead th").nth(2)
        before = rows.evaluate_all(values)
        for turn, expected in (
            ("descending", sorted(before, reverse=True)),
            ("ascending", sorted(before)),
            (None, before),
        ):
            head.locator("button").press("Enter")
            assert head.get_attribute("aria-sort") == turn
            assert rows.evaluate_all(values) == expected
        table.locator("thead th").first.locator("button").click()
        names = rows.evaluate_all("rows => rows.map((row) => row.cells[0].textContent)")
        assert [name.casefold() for name in names] == sorted(name.casefold() for name in names)
        box = page.locator("section:has(h2:has-text('All attacks')) .filter")
        box.get_by_label("Filter rows").fill("no such row")
        assert rows.locator("th:visible").count() == 0
        assert box.locator("[role=status]").inner_text() == f"0 of {len(before)} rows"
        box.get_by_label("Filter rows").fill("")
        assert rows.locator("th:visible").count() == len(before)


def test_the_skip_link_is_the_first_stop_and_is_seen_then(open_page: Open, pages: Pages) -> None:
    with open_page(pages("audit")) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.locator(".skip").bounding_box()["y"] >= 0
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "answer"


def test_forced_colours_leave_curves_and_points_to_be_seen(open_page: Open, pages: Pages) -> None:
    with open_page(pages("audit"), forced_colors="active") as page:
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        for what in ("svg .strong .curve", "svg .mark circle", "svg .mark .whisker", "svg .rule"):
            assert page.locator(what).first.evaluate("one => getComputedStyle(one).stroke") not in (back, "none"), what


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_labels_of_40_points_do_not_touch(open_page: Open, tmp_path: Path, viewport: dict[str, int]) -> None:
    marks = tuple(
        Mark(Estimate(x, x - 0.01, x + 0.01), (7 * at % 40) / 40, f"Defense {at} wide WW")
        for at in range(40)
        for x in [at / 40]
    )
    chart = Chart(
        "t", "d", Axis("Utility"), Axis("AUC"), (Series("s", marks, "points"),), highlighted=(marks[7].label,)
    )
    shown = Document("x", "t", "q", Answer("a", "plain", "h"), blocks=(chart,))
    file = tmp_path / "page.html"
    file.write_text(html.render_document(shown), encoding="utf-8")
    with open_page(file, viewport=viewport) as page:
        boxes = page.locator("svg .name").evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")
        assert len(boxes) >= 20
        for at, one in enumerate(boxes):
            for other in boxes[:at]:
                apart = one["right"] <= other["left"] or other["right"] <= one["left"]
                assert apart or one["bottom"] <= other["top"] + 2 or other["bottom"] <= one["top"] + 2
