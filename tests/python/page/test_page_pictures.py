# SPDX-License-Identifier: MIT
"""Pictures that say why: causes of slow calls, growth, stacks; and all of them on paper."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from browsing import Opened, drawn, explained, needs_browser, overflow
from playwright.sync_api import Page
from written_traces import FREE, MALLOC, MadeTrace, run_command

pytestmark = [pytest.mark.full, needs_browser]


def answer_of(trace: Path, question: str) -> dict[str, Any]:
    said = run_command("explain", trace, "--json", "--question", question, cwd=trace.parent)
    return json.loads(said.out)["questions"][question]  # type: ignore[no-any-return]


def figures(page: Page, cells: str) -> list[int]:
    return [int(text.replace(",", "")) for text in page.locator(cells).all_inner_texts()]


def test_causes_of_the_whole_run_are_those_of_the_slow_calls(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    page.locator("#cause-table").scroll_into_view_if_needed()
    drawn(page)
    answer = answer_of(pins.with_suffix(".heapwright"), "slow_calls")
    by_cause: dict[str, int] = {}
    for row in answer["causes"]:
        by_cause[row["cause"]] = by_cause.get(row["cause"], 0) + row["calls"]
    names = page.locator("#cause-table tbody td:first-child").all_inner_texts()
    assert dict(zip(names, figures(page, "#cause-table tbody td:nth-child(3)"), strict=True)) == by_cause
    [whole] = figures(page, "#cause-table tfoot td:nth-child(3)")
    assert whole == answer["calls_over"]
    page.keyboard.press("ArrowLeft")  # the last eighth of the run
    drawn(page)
    assert sum(figures(page, "#cause-table tbody td:nth-child(3)")) < whole
    page.keyboard.press("0")
    drawn(page)
    page.locator("#cause-plot").scroll_into_view_if_needed()
    box = page.locator("#cause-plot .u-over").bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 40)
    assert re.match(r"Of [\d,]+ of .* or longer: ", page.inner_text("#cause-said"))


def leaking_trace(path: Path) -> Path:
    """For 100 s, a block of 1,000 bytes every 100 ms that stays."""
    made = MadeTrace(end="end 1 0 100000000000")
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/app", "aabb")
    made.line("thread", 0, 100, "main", 0, 0).line("frame", 0x401000, 0).line("stack", 0, 0)
    for number in range(1000):
        made.event(MALLOC, 0x10000 + 4096 * number, 1000, at=number * 100_000_000, stack=1)
    return made.write(path)


# How many dots of a canvas have this colour, of the style sheet.
COUNT_DOTS = """([canvas, name]) => {
  const probe = document.getElementById("probe");
  probe.style.color = `var(--${name})`;
  const wanted = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  const node = document.querySelector(canvas);
  const { data } = node.getContext("2d").getImageData(0, 0, node.width, node.height);
  let found = 0;
  for (let at = 0; at < data.length; at += 4) if (wanted.every((value, of) => Math.abs(data[at + of] - value) < 3)) found++;
  return found;
}"""


def test_growth_is_a_line_over_what_the_site_holds(opened: Opened, tmp_path: Path) -> None:
    trace = leaking_trace(tmp_path / "leaking.heapwright")
    [row] = answer_of(trace, "growth")["sites"]
    page = opened(explained(trace))
    page.locator("#growth-plot").scroll_into_view_if_needed()
    drawn(page)
    said = page.inner_text("#growth-said").replace("\u00a0", " ")
    assert row["kind"] == "leak"
    assert "leak, +9.77 KiB/s" in said, "10 blocks of 1,000 bytes a second"
    assert page.locator("#growth-table tbody tr").count() == 1
    assert page.evaluate(COUNT_DOTS, ["#growth-plot canvas", "partly_free"]) > 200
    page.locator("#growth-table tbody tr").click()
    drawn(page)
    assert page.locator("#sites tr.chosen").count() == 1
    assert "leak +9.77" in page.locator("#sites .tag").inner_text()


def test_a_slow_free_shows_who_freed_and_who_allocated(opened: Opened, tmp_path: Path) -> None:
    made = MadeTrace()
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/app", "aabb")
    made.line("thread", 0, 100, "main", 0, 0)
    for number, pc in enumerate((0x401000, 0x402000, 0x403000)):
        made.line("frame", pc, 0).line("stack", 0 if number != 2 else 1, number)
    made.event(MALLOC, 0x1000, 100, stack=2).event(FREE, 0x1000, took=50_000, stack=3)
    page = opened(explained(made.write(tmp_path / "slow.heapwright")))
    line = page.locator("#slow-calls tbody tr").first
    assert line.locator("td").nth(1).inner_text() == "free"
    line.locator("summary").click()
    assert page.inner_text("#span-text").startswith("Whole run"), "opening the stacks is not choosing"
    lists = line.locator(".stacks > div").all_inner_texts()
    assert lists[0].split("\n") == ["Freed from", "app+0x3000", "app+0x1000"]
    assert lists[1].split("\n") == ["Its block was allocated from", "app+0x2000"]
    line.locator("td").first.click()
    drawn(page)
    assert not page.inner_text("#span-text").startswith("Whole run")


PICTURES = (
    "#memory-plot canvas",
    "#cells",
    "#latency-plot canvas",
    "#cause-plot canvas",
    "#growth-plot canvas",
)


def test_on_paper_all_is_light_open_and_within_the_sheet(opened: Opened, pins: Path) -> None:
    page = opened(pins, color_scheme="dark")
    assert page.evaluate(COUNT_DOTS, ["#memory-plot canvas", "live"]) > 0
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 within its margins
    page.wait_for_timeout(300)  # until the pictures have followed the width
    drawn(page)
    # A browser takes the sheets as they are when the event has been handled, and what was put off to then.
    handled = "dispatchEvent(new Event('beforeprint')); await null;"
    at_once = f"async (of) => {{ {handled} return ({COUNT_DOTS})(of); }}"
    assert page.evaluate(at_once, ["#memory-plot canvas", "live"]) > 100, "drawn anew in paper's colours"
    page.emulate_media(media="print", color_scheme="dark")
    page.wait_for_selector("html.paper")
    drawn(page)
    assert overflow(page) <= 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    sticking_out = page.evaluate(
        "[...document.querySelectorAll('main *')].filter((one) => one.checkVisibility() && !one.closest('svg, .spoken')"
        " && one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 80))"
    )
    assert sticking_out == []
    assert page.locator("#bar").is_hidden()
    assert all(one.is_visible() for one in page.locator("#answers table").all())
    for canvas in PICTURES:
        assert page.locator(canvas).is_visible()
    assert page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('color-scheme')"
    ) == "light"  # fmt: skip
    page.emulate_media(media="screen", color_scheme="dark")
    page.wait_for_selector("html:not(.paper)")
    assert not any(page.locator("#answers details").evaluate_all("(all) => all.map((one) => one.open)"))


def test_a_sheet_holds_everything(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    sheets = page.pdf(format="A4")
    assert sheets.startswith(b"%PDF")
    assert sheets.count(b"/Type /Page\n") + sheets.count(b"/Type /Page ") >= 3
    drawn(page)
    assert page.locator("html.paper").count() == 0
