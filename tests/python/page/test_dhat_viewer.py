# SPDX-License-Identifier: MIT
"""What export --to dhat writes, opened in the viewer that comes with valgrind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browsing import needs_browser
from playwright.sync_api import Browser
from written_traces import run_command, small_trace

VIEWERS = [folder / "dh_view.html" for folder in map(Path, ("/usr/libexec/valgrind", "/usr/lib/valgrind"))]
pytestmark = [pytest.mark.full, needs_browser]


@pytest.mark.skipif(not any(map(Path.exists, VIEWERS)), reason="apt-get install valgrind")
def test_the_viewer_shows_it(browser: Browser, tmp_path: Path) -> None:
    trace = small_trace().write(tmp_path / "server.heapwright")
    said = run_command("export", trace, "--to", "dhat", cwd=tmp_path)
    assert said.code == 0, said.err
    page = browser.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(next(path for path in VIEWERS if path.exists()).as_uri())
    page.set_input_files("input[type=file]", tmp_path / "server.dhat.json")
    page.wait_for_function("document.body.innerText.includes('PP 1/')", timeout=20_000)
    text = page.inner_text("body")
    page.close()
    assert complaints == []
    assert "4,714 bytes (100%" in text
    assert "At t-gmax: 4,100 bytes (100%) in 2 blocks" in text
    assert re.search(r"At t-end: +100 bytes \(100%\) in 1 blocks", text)
    assert re.search(r"Max: +500 bytes in 1 blocks", text)
    assert "server+0x3000" in text
