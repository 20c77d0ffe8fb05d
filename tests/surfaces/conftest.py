"""A browser, and pages of every kind of result."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from leakscope.report.renderers import html
from surfaces.samples import KINDS

DESK = {"width": 1280, "height": 900}
Open = Callable[..., AbstractContextManager[Any]]


def missing(what: str) -> NoReturn:
    """Under CI a browser that is not there is a failure; on a user's machine the tests say what they need."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Gives the file of the page of a kind of result, whose names hold a word."""
    folder = tmp_path_factory.mktemp("pages")
    made: dict[tuple[str, str], Path] = {}

    def page(kind: str, word: str = "") -> Path:
        if (kind, word) not in made:
            made[kind, word] = folder / f"{kind}-{len(made)}.html"
            made[kind, word].write_bytes(html.render(KINDS[kind](word)).encode())
        return made[kind, word]

    return page


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
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
