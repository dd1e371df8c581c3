# SPDX-License-Identifier: MIT
"""The page in a browser: drawn without a complaint or a request, and every control does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browsing import Opened, drawn, explained, needs_browser, overflow
from playwright.sync_api import Browser, Page, expect
from written_traces import MALLOC, MadeTrace, small_trace

pytestmark = [pytest.mark.full, needs_browser]


def first_site(page: Page) -> str:
    return page.locator("#sites tbody tr b").first.inner_text()


def test_survivors_and_their_pages_are_shown(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    page.click("#measures [data-value=pinned]")
    drawn(page)
    assert first_site(page) == "session"
    assert page.locator("#survivors tbody tr").first.inner_text().startswith("session")
    assert page.locator("#layers tbody tr").count() == 8
    resident = page.locator("#layers tfoot td").nth(1).inner_text()
    parts = page.locator("#layers tbody tr td:nth-child(2)").all_inner_texts()
    whole = sum(float(part.replace("<", "").replace(",", "")) for part in parts)
    assert abs(whole - float(resident.replace(",", ""))) < 0.1 * len(parts)


def test_memory_over_time_is_shown_by_call_site(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    page.click("#measures [data-value=live]")
    page.click("#memory-layers [data-value=sites]")
    drawn(page)
    assert page.locator("#memory-layers [aria-checked=true]").inner_text() == "By call site"
    names = page.locator("#layers tbody tr td:first-child").all_inner_texts()
    most = {row.locator("b").inner_text(): row for row in page.locator("#sites tbody tr").all()}
    assert 1 < len(names) <= 8 and set(most) <= set(names)
    assert page.locator("#layers tfoot tr").count() == 0  # what sites hold is not what is resident
    for name, row in most.items():
        held = page.locator("#layers tbody tr", has_text=name).locator("td").nth(1).inner_text()
        assert held in row.inner_text()
    page.click("#memory-layers [data-value=causes]")
    drawn(page)
    assert page.locator("#layers tbody tr").count() == 8


def test_it_opens_with_what_the_headline_is_about(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    told = page.locator("#first > .go a.show").get_attribute("data-measure")
    assert told == "pinned"
    assert page.locator("#measures [aria-checked=true]").get_attribute("data-value") == told
    assert "m=" not in page.url  # it is the usual one


def test_a_narrow_charts_times_are_labelled_or_left_out(opened: Opened, pins: Path) -> None:
    """Of an axis that is too short for all labels some are left out, and not called 0."""
    page = opened(pins, viewport={"width": 1440, "height": 900})
    page.evaluate(
        """() => {
          window.written = [];
          const write = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            window.written.push(String(text));
            return write.call(this, text, ...rest);
          };
        }"""
    )
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_timeout(400)  # a change of size is waited for, then drawn
    page.locator("#latency").scroll_into_view_if_needed()
    drawn(page)
    times = [text for text in page.evaluate("window.written") if re.search(r"\d\s(ns|µs|ms)$", text)]
    assert len(times) >= 2
    assert not [text for text in times if re.fullmatch(r"0\s\w+", text)]


def test_a_page_is_not_settled_while_a_drawing_is_due(opened: Opened, pins: Path) -> None:
    """What is drawn late of one choice ends between the next one and its frame, which is made to come late."""
    page = opened(pins)
    settled = page.evaluate(
        """async () => {
          const frame = requestAnimationFrame;
          const pause = (ms) => new Promise((done) => setTimeout(done, ms));
          document.querySelector("#measures [data-value=calls]").click();
          await new Promise((done) => frame(done));
          window.requestAnimationFrame = (draw) => setTimeout(draw, 2000);
          document.querySelector("#measures [data-value=pinned]").click();
          await pause(1000);
          return document.documentElement.dataset.settled;
        }"""
    )
    assert settled == "no"
    drawn(page)
    assert first_site(page) == "session"


def test_every_measure_changes_what_is_shown(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    titles = set()
    for button in page.locator("#measures button").all():
        button.click()
        drawn(page)
        assert button.get_attribute("aria-checked") == "true"
        titles.add(page.inner_text("#where-title"))
    assert len(titles) == 7


def test_a_drag_chooses_a_span_and_panels_follow(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    page.click("#measures [data-value=calls]")
    drawn(page)
    whole = page.locator("#icicle .box").first.inner_text()
    page.locator("#memory-plot").scroll_into_view_if_needed()
    box = page.locator("#memory-plot .u-over").bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.999 * box["width"], box["y"] + 60, steps=4)
    page.mouse.up()
    drawn(page)
    assert re.search(r" to ", page.inner_text("#span-text"))
    crumbs = page.locator("#icicle").inner_text()
    assert whole not in crumbs
    assert "t=" in page.url
    page.click("#span-all")
    drawn(page)
    assert page.inner_text("#span-text").startswith("Whole run")
    assert page.locator("#icicle .box").first.inner_text() == whole


def test_search_zoom_direction_and_grouping(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    page.click("#measures [data-value=calls]")
    page.fill("#query", "session")
    drawn(page)
    assert page.locator(".box.hit").count() >= 1
    assert first_site(page) == "session"
    assert page.locator("#sites tbody tr").count() == 1
    found = page.inner_text("#hits").partition(",")[0]
    assert page.inner_text("#crumb").startswith(found.strip())
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    expect(page.locator("#where-title")).not_to_be_in_viewport()
    page.press("#query", "Enter")
    expect(page.locator("#where-title")).to_be_in_viewport()
    page.fill("#query", "nobody")
    drawn(page)
    assert page.inner_text("#hits") == "no call path has it"
    page.fill("#query", "")
    page.click("#direction [data-value=site]")
    drawn(page)
    assert page.locator("#icicle .box").nth(1).inner_text().startswith(("work", "session"))
    page.locator("#icicle .box").nth(1).click()
    drawn(page)
    page.keyboard.press("Escape")
    page.click("#grouping [data-value=line]")
    drawn(page)
    assert "pins.cpp:" in page.locator("#sites tbody tr").first.inner_text()


def test_a_findings_link_shows_its_evidence(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    page.click("#measures [data-value=time]")
    link = page.locator("a.show[href='#pages']").first
    link.click()
    drawn(page)
    assert page.locator("#measures [aria-checked=true]").get_attribute("data-value") == "pinned"
    page.evaluate("location.hash = '#answer-residency'")
    page.wait_for_selector("#answer-residency[open]")
    assert page.locator("#answer-residency").get_attribute("open") is not None


def test_the_keyboard_reaches_everything(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    page.keyboard.press("6")
    drawn(page)
    assert page.locator("#measures [aria-checked=true]").get_attribute("data-value") == "calls"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    drawn(page)
    assert not page.inner_text("#span-text").startswith("Whole run")
    page.keyboard.press("0")
    drawn(page)
    assert page.inner_text("#span-text").startswith("Whole run")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("dialog#keys").get_attribute("open") is not None
    page.keyboard.press("Escape")
    page.locator("#icicle .box").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.at") == "1"
    page.locator("#cells").focus()
    page.keyboard.press("ArrowRight")
    assert re.match(r"0x[0-9a-f]+, 16", page.inner_text("#cell"))
    page.keyboard.press("d")
    drawn(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_what_is_chosen_is_in_the_address(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    page.keyboard.press("6")
    page.locator("#sites tbody tr").first.click()
    page.keyboard.press("ArrowRight")
    drawn(page)
    again = opened(pins, "#" + page.url.partition("#")[2])
    drawn(again)
    assert again.inner_text("#span-text") == page.inner_text("#span-text")
    assert again.locator("#measures [aria-checked=true]").get_attribute("data-value") == "calls"
    for one in (page, again):  # what is out of sight is drawn afterwards
        one.locator("#sites").scroll_into_view_if_needed()
        drawn(one)
    # A site without a call in the span has no row: which ones have is the recording's.
    rows = [one.locator("#sites tr.chosen").all_inner_texts() for one in (page, again)]
    assert rows[0] == rows[1]
    assert "&s=" in again.url


def test_scans_are_gone_through(opened: Opened, pins: Path) -> None:
    page = opened(pins)
    scans = int(page.get_attribute("#scan", "max") or 0)
    assert scans >= 1
    page.evaluate(
        "() => { const s = document.getElementById('scan'); s.value = 0; s.dispatchEvent(new Event('input')); }"
    )
    first = page.inner_text("#survivors")
    page.evaluate(
        f"() => {{ const s = document.getElementById('scan'); s.value = {scans}; s.dispatchEvent(new Event('input')); }}"
    )
    assert page.inner_text("#survivors") != first


@pytest.mark.parametrize("width", [390, 760, 900, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_width_needs_scrolling_sideways(opened: Opened, pins: Path, width: int, scheme: str) -> None:
    page = opened(pins, viewport={"width": width, "height": 844}, color_scheme=scheme)
    assert overflow(page) <= 0
    for details in page.locator("details").all():
        details.locator("summary").click()
    assert overflow(page) <= 0
    page.select_option("#measure", "growth") if width < 1060 else page.keyboard.press("3")
    drawn(page)
    assert overflow(page) <= 0


def test_tables_are_whole_on_a_phone(opened: Opened, pins: Path) -> None:
    """What is too wide for a phone is a list of labelled figures; on a wide screen it is a table again."""
    page = opened(pins, viewport={"width": 390, "height": 844})
    for details in page.locator("#answers > details").all():
        details.locator("summary").first.click()
    wide = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    page.wait_for_function(f"{wide} === 0")
    cells = page.locator("#answer-lifetimes .folded tbody tr").first.locator("td")
    labels = [cell.get_attribute("data-label") for cell in cells.all()]
    headings = page.locator("#answer-lifetimes .folded thead th").all_text_contents()
    assert labels == headings and len(labels) > 3
    assert page.locator("#answer-lifetimes .folded thead").is_hidden()
    page.set_viewport_size({"width": 1440, "height": 844})
    drawn(page)
    assert page.locator("#answer-lifetimes .folded thead").is_visible()


def test_colours_follow_the_system_and_can_be_switched(opened: Opened, pins: Path) -> None:
    page = opened(pins, color_scheme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    drawn(page)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_headline_and_findings_show_without_a_script(browser: Browser, pins: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pins.as_uri())
    assert "session" in page.inner_text("#first")
    assert page.locator("#memory").is_hidden()
    assert page.locator("#answers details").count() > 10
    context.close()


def test_hostile_names_and_a_long_one(opened: Opened, tmp_path: Path) -> None:
    made = MadeTrace().meta("program", "/opt/x").meta("command", "<img src=x onerror=alert(1)>")
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/<b>'<script>" + "y" * 10_000 + ".so", "aabbcc")
    made.line("thread", 0, 100, "<i>&'</script>", 0, 0).line("frame", 0x401000, 0).line("stack", 0, 0)
    for number in range(5):
        made.event(MALLOC, 0x1000 + 4096 * number, 100, stack=1)
    page = opened(
        explained(made.write(tmp_path / "hostile.heapwright")), viewport={"width": 390, "height": 844}
    )
    assert page.locator("img").count() == 0
    assert "<b>'<script>yyy" in first_site(page)
    assert page.locator("#thread-table td").first.inner_text() == "<i>&'</script> #0"
    assert overflow(page) <= 0


def test_what_a_recording_lacks_is_said(opened: Opened, tmp_path: Path) -> None:
    made = small_trace()
    made.has_end = False
    page = opened(explained(made.write(tmp_path / "cut.heapwright")))
    assert "INCOMPLETE RECORDING" in page.inner_text("#first")
    assert "no scan of resident pages" in page.inner_text("#pages")
    assert page.locator("#measures [data-value=pinned]").count() == 0


def test_a_sampled_recording_and_a_window(opened: Opened, tmp_path: Path) -> None:
    sampled = small_trace().meta("sample_mean_bytes", 512)
    page = opened(explained(sampled.write(tmp_path / "sampled.heapwright")))
    assert "sampled" in page.inner_text("#first")
    assert "Not available from samples" in page.inner_text("#latency")
    assert "Not available from samples" in page.inner_text("#pages")
    window = opened(
        explained(small_trace().write(tmp_path / "window.heapwright"), "--from", "2us", "--min-block", "60")
    )
    assert "filtered" in window.inner_text("#first")
