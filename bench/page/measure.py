#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `explain --html` costs, and how fast its page is in a browser.

Records sqlite3, cc1plus and a made-up service (service.cpp) of 10^8 events, writes each one's page, and
opens it LOADS times in headless Chromium at 1440 x 900. First paint is the browser's own figure;
interactive is when all controls answer; a step is the drawing of what is in sight after a key has moved
the span by one step, with memory over time or the call paths in sight. Writes OUTPUT/page.json;
render.py makes the table in docs/html.md of it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

project = Path(__file__).resolve().parents[2]
sys.path += [str(project / "bench"), str(project / "bench/recorder")]
import sources  # noqa: E402
import workloads  # noqa: E402
from heapwright.measure import machine  # noqa: E402

command = os.environ.get("HEAPWRIGHT_COMMAND", str(project / ".venv/bin/heapwright"))
build = Path(os.environ.get("HEAPWRIGHT_BUILD", project / "build/release"))
SERVICE_EVENTS = 100_000_000
EVENTS_A_REQUEST = 20
STEPS = 40
PANELS = ("memory", "where")


def lines_to_record(folder: Path, scale: float) -> dict[str, list[str]]:
    """What is recorded, by name."""
    known = {one.name: one.line for one in workloads.prepare(folder, build, scale)}
    service = folder / "service"
    source = project / "bench/page/service.cpp"
    include = f"-I{project / 'include'}"
    subprocess.run(["c++", "-std=c++20", "-O2", "-g", include, source, "-o", service, "-pthread"], check=True)
    requests = int(SERVICE_EVENTS * scale) // EVENTS_A_REQUEST
    return {
        "sqlite3": known["sqlite3"],
        "cc1plus": known["cc1plus"],
        "service": [str(service), str(requests)],
    }


def write_page(trace: Path, page: Path) -> dict[str, Any]:
    """The time and memory of the command that writes it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    line = [command, "explain", str(trace), "--html", str(page)]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(line)}: exit code {child.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "page_bytes": page.stat().st_size,
        "seconds": round(time.monotonic() - begin, 2),
        "cpu_seconds": round(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2
        ),
        "peak_bytes": usage.ru_maxrss * 1024,
    }  # fmt: skip


def drawn(page: Page) -> None:
    page.wait_for_selector("html[data-settled=yes]", timeout=60_000)


def steps_of(page: Page, panel: str) -> list[float]:
    """Milliseconds of each step, with this panel in sight."""
    page.evaluate(f"document.getElementById('{panel}').scrollIntoView()")
    drawn(page)
    found = []
    page.keyboard.press("ArrowRight")
    for _ in range(STEPS):
        drawn(page)
        page.keyboard.press("ArrowRight")
        drawn(page)
        found.append(float(page.evaluate("document.documentElement.dataset.step")))
    page.keyboard.press("0")
    return found


def open_page(browser: Browser, path: Path, is_last: bool) -> dict[str, Any]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    found = {
        "first_paint_ms": round(page.evaluate(paint), 1),
        "interactive_ms": float(page.evaluate("document.documentElement.dataset.ready")),
        "load_average": round(os.getloadavg()[0], 2),
    }
    if is_last:
        found["steps_ms"] = {panel: steps_of(page, panel) for panel in PANELS}
    context.close()
    return found


def measure(browser: Browser, name: str, line: list[str], folder: Path, loads: int) -> dict[str, Any]:
    trace, html = folder / f"{name}.heapwright", folder / f"{name}.html"
    subprocess.run([build / "bin/heapwright-collect", "--quiet", "--output", trace, "--", *line], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    info = subprocess.run([command, "info", trace, "--json"], check=True, capture_output=True)
    row = {
        "name": name,
        "events": json.loads(info.stdout)["end"]["events"],
        "trace_bytes": trace.stat().st_size,
        "load_average": round(os.getloadavg()[0], 2),
        **write_page(trace, html),
    }
    row["loads"] = [open_page(browser, html, load == loads - 1) for load in range(loads)]
    trace.unlink()
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--scale", type=float, default=1.0, help="smaller recordings, for a look")
    parser.add_argument("--loads", type=int, default=5)
    options = parser.parse_args()
    result: dict[str, Any] = {
        "sources": sources.stamp("page"),
        "machine": machine.describe(),
        "scale": options.scale,
        "pages": [],
    }
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        result["browser"] = browser.version
        for program, line in lines_to_record(Path(name), options.scale).items():
            result["pages"].append(measure(browser, program, line, Path(name), options.loads))
            print(json.dumps(result["pages"][-1]), flush=True)
        browser.close()
    (options.output / "page.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
