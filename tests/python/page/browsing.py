# SPDX-License-Identifier: MIT
"""Pages that are opened in a browser, and what every test of them asks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from written_traces import BUILD, run_command

CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="apt-get install chromium")

Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a recording with scans: survivors of one site keep others' pages."""
    folder = tmp_path_factory.mktemp("pins")
    to_the_build = [("HEAPWRIGHT_BIN", str(BUILD / "bin"))]
    file = folder / "pins.heapwright"
    record = run_command(
        "record", "--output", file, "--", BUILD / "programs/pins", cwd=folder, environment=to_the_build
    )
    assert record.code == 0, record.err
    return explained(file)


def explained(trace: Path, *options: object) -> Path:
    said = run_command("explain", trace, "--html", trace.with_suffix(".html"), *options, cwd=trace.parent)
    assert said.code == 0, said.err
    return trace.with_suffix(".html")


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Opens a page; at the end it may have asked for nothing and complained of nothing."""
    contexts, complaints, requests = [], [], []

    def open_page(path: Path, address: str = "", **options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri() + address)
        page.wait_for_selector("html[data-ready]", timeout=20_000)
        drawn(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:,"))] == []
    assert len([url for url in requests if url.startswith("file:")]) == len(contexts)


def drawn(page: Page) -> None:
    """Waits until what was chosen is shown."""
    page.wait_for_selector("html[data-settled=yes]", timeout=20_000)


def overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
