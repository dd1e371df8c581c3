# SPDX-License-Identifier: MIT
"""The page of a recording with a snapshot: who holds what, by pointer and by keyboard."""

from __future__ import annotations

import subprocess
from pathlib import Path

import heapwright
import pytest
from browsing import Opened, drawn, explained, needs_browser, overflow
from heapwright.cli.explanation import ReportOptions, make_report
from heapwright.explain.report import Report
from heapwright.model import Filter, SiteOptions
from heapwright.page import held
from playwright.sync_api import Page
from written_traces import BUILD

SCALE = 500
LOST = "lost: nothing points to them"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording whose end has lists, trees and rings, some of them lost."""
    file = tmp_path_factory.mktemp("graph") / "graph.heapwright"
    line = [BUILD / "bin/heapwright-collect", "--snapshot", "end", "--quiet", "--output", file]
    subprocess.run(
        [*map(str, line), "--", str(BUILD / "programs/plants_graph"), str(SCALE)],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return file


def report_of(trace_file: Path) -> Report:
    trace = heapwright.open(trace_file)
    sites = SiteOptions()
    return make_report(trace, trace.begin_facts(Filter(), sites), Filter(), sites, ReportOptions())


def test_small_ends_are_counted_with_what_holds_them(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = report_of(graph)
    whole = held.data_of(report)
    assert whole is not None and whole["left"] == 0
    total = report.trace.held_at(report.trace.snapshot_times[-1])
    assert whole["rows"][0][4:] == [total.bytes, total.blocks]
    monkeypatch.setattr(held, "_MOST_NODES", 4)
    cut = held.data_of(report)
    assert cut is not None
    assert len(cut["rows"]) == 4 and cut["left"] == len(whole["rows"]) - 4
    assert cut["rows"][0][4:] == whole["rows"][0][4:]
    sizes = sorted((row[4] for row in whole["rows"]), reverse=True)
    assert sorted((row[4] for row in cut["rows"]), reverse=True) == sizes[:4], "the largest stay"
    for at, row in enumerate(cut["rows"]):
        assert row[0] < at or at == row[0] == 0, "each is behind its parent"


def test_a_recording_without_a_snapshot_has_no_panel() -> None:
    assert str(held.panel(None)) == ""


def box(page: Page, name: str) -> str:
    """The selector of a holder's box."""
    found = page.locator(f'#holders .box[aria-label^="{name}"]').first.get_attribute("data-at")
    return f'#holders .box[data-at="{found}"]'


@pytest.mark.full
@needs_browser
@pytest.mark.parametrize("width", [390, 1024, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_holders_open_and_the_path_leads_back(opened: Opened, graph: Path, width: int, scheme: str) -> None:
    page = opened(explained(graph, "--force"), viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.locator("#held").scroll_into_view_if_needed()
    drawn(page)
    assert overflow(page) <= 0
    holders = page.locator("#held-table tbody tr").filter(has=page.locator("button"))  # without "… more"
    rows = {row.locator("button").inner_text(): row.locator("td").last.inner_text() for row in holders.all()}
    assert rows["g_sessions of plants_graph"] == f"{1 + 3 * SCALE:,}"
    page.click(box(page, LOST))
    drawn(page)
    assert page.inner_text("#held-path").startswith(f"All › {LOST}: ")
    inner = page.locator("#held-table tbody tr button").all_inner_texts()
    assert inner[0] == "lose_one()" and all(name.startswith("lose_") for name in inner)
    page.locator("#held-path button").first.click()
    drawn(page)
    assert page.inner_text("#held-path").strip() == ""
    page.click("#held-measure [data-value=blocks]")
    drawn(page)
    assert page.locator("#held-table tbody tr button").first.inner_text() == LOST
    assert overflow(page) <= 0


@pytest.mark.full
@needs_browser
def test_holders_by_keyboard_and_by_search(opened: Opened, graph: Path) -> None:
    page = opened(explained(graph, "--force"))
    page.locator("#holders .box").first.focus()
    page.keyboard.press("ArrowDown")
    focused = "document.activeElement.getAttribute('aria-label')"
    while not page.evaluate(focused).startswith(LOST):
        before = page.evaluate(focused)
        page.keyboard.press("ArrowRight")
        assert page.evaluate(focused) != before, "the row has no lost blocks"
    page.keyboard.press("Enter")
    drawn(page)
    assert page.inner_text("#held-path").startswith(f"All › {LOST}")
    assert page.evaluate(focused).startswith(LOST)
    page.keyboard.press("Backspace")
    drawn(page)
    assert page.inner_text("#held-path").strip() == ""
    page.fill("#query", "lose_ring")
    drawn(page)
    assert page.locator("#holders .box.hit").count() == 2
