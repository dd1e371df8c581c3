# SPDX-License-Identifier: MIT
"""The page: whole, offline, drawn by a browser without a complaint."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from heapwright.lab import catalogue, page
from heapwright.measure.runner import Settings
from heapwright.report import chart, units
from lab_runs import faulty, run

EXPERIMENTS = catalogue.EXPERIMENTS


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    on = ["glibc", str(faulty / "crashing.so")]
    return run(EXPERIMENTS, on, Settings(runs=1, scale=0.0005))


@pytest.fixture(scope="module")
def html(document: dict[str, Any]) -> str:
    return page.render(EXPERIMENTS, document)


def test_every_experiment_is_explained(html: str) -> None:
    shown = unescape(html)
    for experiment in EXPERIMENTS:
        assert f'id="{experiment.name}"' in shown
        for sentence in (*experiment.explained, experiment.reported, experiment.meaning):
            assert sentence in shown


def test_nothing_is_fetched_and_nothing_runs(html: str) -> None:
    assert re.findall(r'(?:src|href)="(?!#|data:,)[^"]*"', html) == []
    assert "<script" not in html
    assert "default-src &#x27;none&#x27;" in html


def test_names_stay_text(document: dict[str, Any]) -> None:
    name = "</style><b>x"
    renamed = json.loads(json.dumps(document).replace('"glibc"', json.dumps(name)))
    assert name not in page.render(EXPERIMENTS, renamed)


def test_every_picture_of_an_allocator_that_ran_is_drawn(document: dict[str, Any], html: str) -> None:
    by_name = {experiment.name: experiment for experiment in EXPERIMENTS}
    for record in document["experiments"]:
        section = html.partition(f' id="{record["name"]}">')[2].partition("</section>")[0]
        plots = [plot for part in by_name[record["name"]].parts for plot in part.plots]
        drawn = section.count('class="chart"') + section.count('class="bars"')
        assert (record["name"], drawn) == (record["name"], len(plots))


def test_a_bar_is_as_long_as_its_value_and_a_curve_goes_through_its_points() -> None:
    bars = chart.bars(
        [("", [chart.Bar("a", 100, 10, "100 ns"), chart.Bar("b", 25, 0, "25 ns", True)])], False
    )
    found = re.findall(r'<rect x="([\d.]+)%" width="([\d.]+)%" y="\d+" height="\d+" class="(\w+)"', bars)
    assert found == [
        ("0.00", "100.00", "other"),
        ("90.00", "10.00", "spread"),
        ("0.00", "25.00", "ours"),
        ("25.00", "0.00", "spread"),
    ]
    assert '"23.86%"' in chart.bars([("", [chart.Bar("b", 3, 0, ""), chart.Bar("a", 100, 0, "")])], True)
    curve = chart.Curve("c", [(1, 1), (10, 10), (1000, 1000)], 3)
    drawn = chart.curves(
        [curve], chart.Axis(units.count, "n", True), chart.Axis(units.count, is_log=True), "label"
    )
    (points,) = re.findall(r'points="([^"]*)"', drawn)
    (x0, y0), (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in points.split())
    assert (x1 - x0) / (x2 - x0) == pytest.approx(1 / 3, abs=0.001)
    assert (y0 - y1) / (y0 - y2) == pytest.approx(1 / 3, abs=0.001)
    assert chart.curves([], chart.Axis(str), chart.Axis(str), "") == ""


@pytest.mark.parametrize("values", [[0.0, 0.0], [5.0], [-1.0, 0.0]])
def test_values_that_span_nothing_or_have_no_logarithm_are_drawn(values: list[float]) -> None:
    curve = chart.Curve("c", list(enumerate(values)), 1)
    for is_log in (False, True):
        axis = chart.Axis(units.count, is_log=is_log)
        assert "nan" not in chart.curves([curve], axis, axis, "label")
        assert "nan" not in chart.bars([("", [chart.Bar("a", value, 0, "") for value in values])], is_log)


def test_a_browser_draws_it_offline_without_a_complaint(html: str, tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    assert chromium, "apt-get install chromium"
    path = tmp_path / "lab.html"
    path.write_text(html, encoding="utf-8")
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--proxy-server=http://127.0.0.1:9", f"--user-data-dir={tmp_path}/profile",
        "--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert complaints == []
    assert "</section></body>" in done.stdout
