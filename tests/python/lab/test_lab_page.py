# SPDX-License-Identifier: MIT
"""The page: whole, offline, drawn by a browser without a complaint."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from heapwright.lab import catalogue, page, plots
from heapwright.measure.runner import Settings
from lab_runs import faulty, run

EXPERIMENTS = catalogue.EXPERIMENTS


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    on = ["glibc", str(faulty / "crashing.so")]
    return run(EXPERIMENTS, on, Settings(runs=1, scale=0.0005))


@pytest.fixture(scope="module")
def html(document: dict[str, Any]) -> str:
    return page.render(EXPERIMENTS, document)


def text_of(html: str) -> str:
    return re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)


def test_every_experiment_is_explained(html: str) -> None:
    shown = text_of(html).replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'")
    for experiment in EXPERIMENTS:
        assert f'id="{experiment.name}"' in shown
        for sentence in (*experiment.explained, experiment.reported, experiment.meaning):
            assert sentence in shown


def test_nothing_is_fetched_and_the_library_is_inside_once(html: str) -> None:
    assert re.findall(r'(?:src|href)="(?!#|data:,)[^"]*"', text_of(html)) == []
    assert html.count("<script") - html.split("<script>")[1].count("<script") == 2
    assert len(re.findall(r"\* plotly\.js v\d", html)) == 1


def test_names_cannot_end_the_script_they_stand_in(document: dict[str, Any]) -> None:
    name = "</script><b>x"
    renamed = json.loads(json.dumps(document).replace('"glibc"', json.dumps(name)))
    rendered = page.render(EXPERIMENTS, renamed)
    assert name not in rendered


def test_plotly_accepts_every_figure(document: dict[str, Any]) -> None:
    names = [allocator["name"] for allocator in document["allocators"]]
    for experiment, record in zip(EXPERIMENTS, document["experiments"], strict=True):
        for part, part_record in zip(experiment.parts, record["parts"], strict=False):
            for plot in part.plots:
                go.Figure(plots.figure_of(plot, part, part_record, names))


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
    drawn = sum(len(part.plots) for experiment in EXPERIMENTS for part in experiment.parts)
    assert f'data-drawn="{drawn}"' in done.stdout
    plots_in_page = re.findall(r'<div [^>]*\bid="plot\d+"[^>]*>', done.stdout)
    assert sum("js-plotly-plot" in plot for plot in plots_in_page) == drawn
