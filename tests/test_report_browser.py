"""The page in a real browser: with the network cut, by mouse, by keyboard, for a screen reader, on a phone and on paper."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from leakscope.report.summary import summarize
from samples import around, sample_audit, sample_studies, with_names

from leakscope.report import html
from leakscope.results import Audit, Extra

AXE = Path(__file__).parents[1] / ".venv/axe/node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
PAPER = {"width": 695, "height": 983}  # what the margins leave of A4, in CSS pixels
HOSTILE = (
    "<script>window.pwned = 1</script>",
    "\"'><img src=x onerror=window.pwned=1> ' onfocus='window.pwned=1' autofocus='",
    "</script></title></style></svg><svg onload=window.pwned=1>",
    "\u202e\u2066evil\u2069 \u200fשלום\u0007\u2028",
    "x<b>" * 2500,
    "W" * 10_000,
)
Open = Callable[..., AbstractContextManager[Any]]


def missing(what: str) -> NoReturn:
    """Under CI a browser that is not there is a failure; on a user's machine the tests say what they need."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        from playwright import sync_api
    except ImportError:
        missing("needs playwright: pip install 'leakscope[dev]'")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        missing("needs a browser: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def open_page(browser: Any) -> Open:
    """Opens a file in a fresh window without network; on leaving, nothing may have gone wrong or been asked for."""

    @contextmanager
    def opened(file: Path, **options: Any) -> Iterator[Any]:
        trouble: list[str] = []

        def on_request(route: Any) -> None:
            if route.request.url.split("#")[0] == file.as_uri():
                route.continue_()
            else:
                trouble.append(f"asked for {route.request.url}")
                route.abort()

        context = browser.new_context(**{"viewport": DESK, **options})
        context.set_offline(True)
        context.route("**/*", on_request)
        context.set_default_timeout(5000)
        page = context.new_page()
        page.on(
            "console", lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: (trouble.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.goto(file.as_uri())
        try:
            yield page
            if options.get("java_script_enabled", True):
                assert page.evaluate("window.pwned") is None
            assert trouble == []
        finally:
            context.close()

    return opened


def full_audit() -> Audit:
    """Groups, explanations and studies; warnings and things not run are in every sample."""
    audit = sample_audit()
    extras = tuple(
        Extra(name, "labels", around(gain, 0.02), around(gain, 0.03), around(0.6, 0.01), around(0.6 + gain, 0.01),
              around(0.0, 0.02), around(gain, 0.03))
        for name, gain in (("gradient", 0.1), ("smoothgrad", 0.0))
    )  # fmt: skip
    return replace(audit, extras=extras, studies=sample_studies())


@pytest.fixture(scope="module")
def audit() -> Audit:
    return full_audit()


@pytest.fixture(scope="module")
def summary(audit: Audit) -> dict[str, Any]:
    return summarize(audit)


@pytest.fixture(scope="module")
def file(audit: Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("page") / "report.html"
    written.write_bytes(html.render(audit).encode())
    return written


def overflow(page: Any) -> list[str]:
    """Elements that stick out of the window, but for those inside of a box that scrolls by itself."""
    found: list[str] = page.evaluate("""() => [...document.querySelectorAll("body *")]
        .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
        .filter((one) => !one.closest(".scroll, nav, .unseen, svg > *"))
        .map((one) => one.tagName + "." + one.className + " " + one.textContent.slice(0, 40))""")
    return [*found, *(["page"] if page.evaluate("document.documentElement.scrollWidth > innerWidth") else [])]


# --- values ---------------------------------------------------------------------------------------------------------


def test_hovering_a_point_shows_its_value(open_page: Open, file: Path, summary: dict[str, Any]) -> None:
    marks = [item for item in summary["roc"]["readings"] if item["mark"]]
    with open_page(file) as page:
        tip = page.locator(".tip")
        assert tip.is_hidden()
        for item in marks:
            page.locator(f'svg .mark:not(.quiet)[aria-label="{item["label"]}"]').hover()
            assert tip.inner_text() == item["label"]
        row = summary["groups"]["rows"][1]
        page.locator(f'svg .group[aria-label="{row["label"]}"]').hover()
        assert tip.inner_text() == row["label"]
        assert row["auc"]["text"] in tip.inner_text()
        page.keyboard.press("Escape")
        assert tip.is_hidden()
        page.mouse.move(2, 2)
        bin_ = summary["histogram"]["bins"][3]
        page.locator("figure", has_text=summary["histogram"]["title"]).locator("svg .hover").nth(3).hover()
        assert tip.inner_text() == bin_["label"]
        page.mouse.move(2, 2)
        assert tip.is_hidden()


def test_every_figure_of_a_study_shows_its_values(open_page: Open, file: Path, summary: dict[str, Any]) -> None:
    with open_page(file) as page:
        for study in summary["studies"]:
            for figure in study["figures"]:
                said = [point["said"] for series in figure["series"] for point in series["points"]]
                points = page.locator(f"article:has(#{study['anchor']}) svg .point")
                assert sorted(points.evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")) == sorted(
                    said
                )
                points.last.locator("circle, .diamond").hover(force=True)
                assert page.locator(".tip").inner_text() == points.last.get_attribute("aria-label")


def test_a_pointer_near_a_point_is_enough_and_far_from_all_there_is_nothing(open_page: Open, file: Path) -> None:
    with open_page(file) as page:
        mark = page.locator("svg .point.mark:not(.quiet)", has=page.locator("circle")).first
        mark.scroll_into_view_if_needed()
        box = mark.locator("circle").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2 + 12, box["y"] + box["height"] / 2 + 10)
        assert page.locator(".tip").inner_text() == mark.get_attribute("aria-label")
        chart = page.locator("svg.chart").first.bounding_box()
        page.mouse.move(chart["x"] + chart["width"] - 4, chart["y"] + chart["height"] - 4)
        assert page.locator(".tip").is_hidden()


def test_by_keyboard_a_chart_is_one_stop_and_arrows_go_from_point_to_point(
    open_page: Open, file: Path, summary: dict[str, Any]
) -> None:
    bins = [item["label"] for item in summary["histogram"]["bins"]]
    with open_page(file) as page:
        chart = page.locator("figure", has_text=summary["histogram"]["title"]).locator("svg")
        assert chart.locator('[tabindex="0"]').count() == 1
        page.locator("summary", has_text="The curve of the strongest").focus()
        page.keyboard.press("Tab")
        for label in bins[:3]:
            assert page.locator(".tip").inner_text() == label
            assert page.locator("main > [role=status]").inner_text() == label
            page.keyboard.press("ArrowRight")
        page.keyboard.press("End")
        assert page.locator(".tip").inner_text() == bins[-1]
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowLeft")
        assert page.locator(".tip").inner_text() == bins[-2]
        page.keyboard.press("Home")
        assert page.locator(".tip").inner_text() == bins[0]
        page.keyboard.press("Tab")
        assert page.locator(".tip").is_hidden()
        page.keyboard.press("Shift+Tab")
        assert page.locator(".tip").inner_text() == bins[0]


def test_a_tap_shows_a_value_until_the_next(open_page: Open, file: Path, summary: dict[str, Any]) -> None:
    with open_page(file, viewport=PHONE, has_touch=True, is_mobile=True) as page:
        row = summary["groups"]["rows"][0]
        page.locator(f'svg .group[aria-label="{row["label"]}"]').tap()
        assert page.locator(".tip").inner_text() == row["label"]
        box = page.locator(".tip").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        page.locator("h2#exposed").tap()
        assert page.locator(".tip").is_hidden()


# --- tables ---------------------------------------------------------------------------------------------------------


def test_a_table_sorts_both_ways_and_back(open_page: Open, file: Path, summary: dict[str, Any]) -> None:
    values = [row["auc"]["value"] for row in summary["risks"]]
    shown = "rows => rows.map((row) => Number(row.cells[1].dataset.value))"
    with open_page(file) as page:
        table = page.locator("table.risks")
        rows, head = table.locator("tbody tr"), table.locator("thead th").nth(1)
        assert rows.evaluate_all(shown) == values != sorted(values)
        for turn, expected in (
            ("descending", sorted(values, reverse=True)), ("ascending", sorted(values)), (None, values),
        ):  # fmt: skip
            head.locator("button").press("Enter")
            assert head.get_attribute("aria-sort") == turn
            assert rows.evaluate_all(shown) == expected
        first = table.locator("thead th").first
        first.locator("button").click()
        names = rows.evaluate_all("rows => rows.map((row) => row.cells[0].textContent)")
        assert first.get_attribute("aria-sort") == "ascending"
        assert names == sorted(names)


def test_sorting_keeps_the_order_of_equals_and_what_has_no_value_last(open_page: Open, file: Path) -> None:
    names = "rows => rows.map((row) => row.cells[0].textContent)"
    with open_page(file) as page:
        table = page.locator("table.releases")
        rows = table.locator("tbody tr")
        before = rows.evaluate_all(names)
        skipped = rows.evaluate_all("rows => rows.filter((row) => row.cells.length < 7).length")
        assert skipped > 1
        for turn in (reversed, list):  # the sample's releases stand in rising order
            table.locator("thead button", has_text="AUC").click()
            after = rows.evaluate_all(names)
            assert after[-skipped:] == before[-skipped:]
            assert after[:-skipped] == list(turn(before[:-skipped]))


def test_a_long_table_is_filtered(open_page: Open, file: Path) -> None:
    with open_page(file) as page:
        box = page.locator("section:has(#exposed) .filter").last
        rows = page.locator("section:has(#exposed) table").last.locator("tbody tr")
        assert rows.count() == 10
        first = rows.first.locator("th").inner_text()
        box.get_by_label("Filter rows").fill(first)
        kept = rows.locator("th:visible").all_inner_texts()
        assert first in kept
        assert len(kept) < 10
        assert box.locator("[role=status]").inner_text() == f"{len(kept)} of 10 rows"
        box.get_by_label("Filter rows").fill("no such row")
        assert rows.locator("th:visible").count() == 0
        box.get_by_label("Filter rows").fill("")
        assert rows.locator("th:visible").count() == 10
        assert page.locator("table.risks").locator("tbody tr").count() <= 8
        assert page.locator("section:has(#attacks) .filter").count() == 0


# --- ways through the page ------------------------------------------------------------------------------------------


def test_every_link_leads_to_its_place(open_page: Open, file: Path) -> None:
    with open_page(file) as page:
        links = page.locator("a")
        assert links.count() > 12
        for number in range(links.count()):
            link = links.nth(number)
            target = link.get_attribute("href")
            assert target.startswith("#")
            link.focus()
            page.keyboard.press("Enter")
            place = page.locator(target)
            assert place.count() == 1
            assert page.url.endswith(target)
            box = place.bounding_box()
            assert -1 <= box["y"] < DESK["height"]
            end = page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
            assert end or box["y"] < 60


def test_the_skip_link_is_the_first_stop_and_is_seen_then(open_page: Open, file: Path) -> None:
    with open_page(file) as page:
        page.keyboard.press("Tab")
        skip = page.locator(".skip")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert skip.bounding_box()["y"] >= 0
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "answer"


def test_without_script_everything_is_there(open_page: Open, file: Path, summary: dict[str, Any]) -> None:
    with open_page(file, java_script_enabled=False) as page:
        text = page.locator("body").inner_text()
        for words in (*summary["answer"]["sentences"], summary["verdict"]["headline"], summary["reproduce"]["text"]):
            assert words in text
        assert page.locator("svg.chart[role=img] > title").count() == page.locator("svg.chart").count() > 4
        assert page.locator("svg .point > title").count() == page.locator("svg .point").count()
        assert page.locator("table button, .filter, .tip").count() == 0
        page.locator("summary").first.click()
        assert page.locator("details").first.locator("table").is_visible()
        assert overflow(page) == []


@pytest.mark.parametrize("kind", ["leaks", "not_detected", "inconclusive"])
def test_the_first_screen_has_the_answer(open_page: Open, tmp_path: Path, kind: Any) -> None:
    audit = sample_audit(kind)
    file = tmp_path / "report.html"
    file.write_bytes(html.render(audit).encode())
    with open_page(file) as page:
        assert page.locator("h1").inner_text() == summarize(audit)["answer"]["sentences"][0]
        for window in (DESK, PHONE):
            page.set_viewport_size(window)
            second = page.locator(".second").bounding_box()
            assert second["y"] + second["height"] < window["height"]


# --- for everybody --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"color_scheme": "dark"}, {"viewport": PHONE}, {"viewport": PHONE, "color_scheme": "dark"}],
    ids=["light", "dark", "phone", "dark phone"],
)
def test_nothing_stands_in_anybodys_way(open_page: Open, file: Path, options: dict[str, Any]) -> None:
    if not AXE.is_file():
        missing("needs axe-core: npm install --prefix .venv/axe axe-core")
    with open_page(file, bypass_csp=True, **options) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.locator("svg .point.mark:not(.quiet)").first.hover()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate(
            "rules => axe.run(document, { runOnly: { type: 'tag', values: rules }, resultTypes: ['violations'] })",
            RULES,
        )
        assert [(item["id"], [node["html"][:200] for node in item["nodes"]][:3]) for item in found["violations"]] == []
        assert len(found["passes"]) > 20


def test_a_fragment_in_a_notebook_stands_in_nobodys_way(open_page: Open, tmp_path: Path, audit: Audit) -> None:
    if not AXE.is_file():
        missing("needs axe-core: npm install --prefix .venv/axe axe-core")
    around_it = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>notebook</title><main><h1>Cell</h1><p id="other">text</p>'
    file = tmp_path / "notebook.html"
    file.write_text(f"{around_it}{html.render_fragment(audit)}</main></html>", encoding="utf-8")
    bare = tmp_path / "bare.html"
    bare.write_text(f"{around_it}</main></html>", encoding="utf-8")
    style = "JSON.stringify([...Object.values(getComputedStyle(document.querySelector('#other')))])"
    with open_page(bare) as page:
        expected = page.evaluate(style)
    for scheme in ("light", "dark"):
        with open_page(file, color_scheme=scheme, viewport=PHONE) as page:
            assert scheme == "dark" or page.evaluate("getComputedStyle(other).color") == "rgb(0, 0, 0)"
            page.evaluate(AXE.read_text(encoding="utf-8"))
            found = page.evaluate(
                "rules => axe.run('.leakscope-audit', { runOnly: { type: 'tag', values: rules } })", RULES
            )
            assert [(item["id"], item["nodes"][0]["html"][:200]) for item in found["violations"]] == []
    with open_page(file) as page:
        assert page.evaluate(style) == expected


def test_forced_colours_leave_curves_and_points_to_be_seen(open_page: Open, file: Path) -> None:
    with open_page(file, forced_colors="active") as page:
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        for what in ("svg .curve.strongest", "svg .mark circle", "svg .group .whisker", "svg .chance"):
            assert page.locator(what).first.evaluate("one => getComputedStyle(one).stroke") not in (back, "none"), what


def test_no_window_is_too_narrow(open_page: Open, file: Path) -> None:
    with open_page(file) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        for width in (320, 390, 768, 1280):
            page.set_viewport_size({"width": width, "height": 844})
            assert overflow(page) == [], width


def test_on_paper_everything_is_open_and_nothing_is_cut(open_page: Open, file: Path) -> None:
    with open_page(file, viewport=PAPER, color_scheme="dark") as page:
        page.locator(".filter input:visible").first.fill("no such row")
        printed = page.pdf(prefer_css_page_size=True)
        assert printed.startswith(b"%PDF")
        assert len(printed) > 50_000
        pages = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)
        assert len(re.findall(rb"/Type /Page\b", printed)) > 3
        assert {(round(float(wide)), round(float(high))) for wide, high in pages} <= {(595, 842), (596, 842)}
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


# --- hostile and large ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_run_nothing_and_break_nothing(open_page: Open, tmp_path: Path, audit: Audit, name: str) -> None:
    named = with_names(audit, name)
    page_text = html.render(named).encode()
    assert len(page_text) < 3_000_000
    file = tmp_path / "report.html"
    file.write_bytes(page_text)
    with open_page(file) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.locator("svg .group").first.hover()
        page.locator("table.risks thead button").first.click()
        assert page.locator("main img, main script, main iframe, [onload], [onerror], [onfocus]").count() == 0
        for window in (DESK, PHONE):
            page.set_viewport_size(window)
            assert overflow(page) == []


def test_hostile_names_run_nothing_in_a_notebook(open_page: Open, tmp_path: Path, audit: Audit) -> None:
    file = tmp_path / "notebook.html"
    cells = "".join(html.render_fragment(with_names(audit, name)) for name in HOSTILE)
    file.write_text(f'<!DOCTYPE html><meta charset="utf-8">{cells}', encoding="utf-8")
    with open_page(file, viewport=PHONE) as page:
        assert page.locator(".leakscope-audit").count() == len(HOSTILE)
        assert page.locator("img, script, [onload], [onerror], [onfocus]").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_big_audit_stays_small_and_quick_to_use(open_page: Open, tmp_path: Path, audit: Audit) -> None:
    first = audit.strongest.by_group[0]
    groups = tuple(replace(first, level=f"level {at}", gap=around(at / 1000, 0.2)) for at in range(200))
    extras = tuple(replace(audit.extras[0], release=f"gradient:top={at}") for at in range(10))
    studies = tuple(study for _ in range(3) for study in audit.studies)[:5]
    big = replace(audit, strongest=replace(audit.strongest, by_group=groups), extras=extras, studies=studies)
    file = tmp_path / "report.html"
    file.write_bytes(html.render(big).encode())
    assert file.stat().st_size < 3_000_000
    with open_page(file) as page:
        tables = page.locator("section:has(#groups) table")
        rows = tables.first.locator("tbody tr")
        assert rows.count() + tables.nth(1).locator("tbody tr").count() == 200
        page.locator("section:has(#groups)").get_by_label("Filter rows").first.fill("level 19")
        assert rows.locator("th:visible").count() == 10  # 190 to 199, which have the largest gaps
