# SPDX-License-Identifier: MIT
"""A replay as a page: it says what the terminal says, draws what was read, and fetches nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.replay import page, show
from replay_documents import document_of
from test_replay_command import QUICK, made_trace

MIB = 1 << 20


def measured(name: str, verdict: str, resident: list[int]) -> dict[str, Any]:
    figure = {"value": 2 * MIB, "low": MIB, "high": 3 * MIB, "verdict": verdict}
    figure |= {"difference": -MIB, "relative_difference": -0.5}
    keys = ("time_ns", "peak_bytes", "mean_bytes", "end_bytes", "p999_ns")
    return {
        "name": name,
        "version": "1.0",
        "variables": {},
        "change": "",
        "command": f"LD_PRELOAD=lib{name}.so shop",
        "failure": "",
        "figures": dict.fromkeys(keys, figure),
        "resident_bytes": resident,
        "call_sites": None,
        "memory_sites": None,
        "longest_frees_ns": None,
        "functions": None,
        "kernel": None,
        "measured": {"wall_ns": {"median": 5e6, "low": 4e6, "high": 8e6, "runs": 3}},
    }


def document(*candidates: dict[str, Any]) -> dict[str, Any]:
    machine = {"memory_bytes": MIB, "cpu": "a processor", "cpus": 2}
    return {
        "trace": "shop.heapwright",
        "changes": [],
        "program": "/opt/shop",
        "recorded_on": "glibc 2.36",
        "reference": "glibc",
        "runs": 3,
        "machine": machine,
        "front": ["other"],
        "fidelity": None,
        "time_fidelity": None,
        "gaps": None,
        "notes": [],
        "plan": {"large_blocks": 0, "seen_blocks": 0, "small_bytes": None},
        "moments": {"time_ns": [0, 500, 1000], "recorded_bytes": [0, 4 * MIB, 2 * MIB]},
        "candidates": list(candidates),
    }


def two() -> dict[str, Any]:
    reference = measured("glibc", "same", [MIB, 4 * MIB, MIB])
    return document(reference, measured("other", "better", [0, MIB, MIB]))


def curves(html: str) -> list[tuple[str, str]]:
    """Class and points of each."""
    return re.findall(r'points="([^"]*)" class="curve ([^"]*)"', html)


def test_the_verdict_is_the_headline_and_marks_stand_in_the_table() -> None:
    html = page.render(document_of(two()), show.Shown())
    assert "<h1>other has less time in the heap at full speed" in html
    assert html.count('class="num better"') == len(show.COLUMNS) - 1
    assert "LD_PRELOAD=libother.so shop" in html


def test_the_spread_of_each_figure_is_a_table() -> None:
    html = page.render(document_of(two()), show.Shown())
    assert "<h2>Spread of the runs</h2>" in html
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", html)
    at = cells.index("wall time")
    assert cells[at : at + 5] == ["wall time", "glibc", "5.00 ms", "4.00 ms", "8.00 ms"]
    assert cells[at + 5 : at + 7] == ["wall time", "other"]


def test_percentiles_stand_by_call_site() -> None:
    shown = two()
    group = {"function": "malloc", "largest_bytes": 64}
    for whose, ns in (("", 2), ("reference_", 3)):
        group |= {f"{whose}{key}": ns for key in ("calls", "p50_ns", "p99_ns", "p999_ns")}
    site = {"name": "parse shop.c:7", "latency": [group], "calls": 9, "share": 1.0}
    site |= {"difference_ns": -5.0, "noise_ns": 1.0}
    sites = {"ns": 5.0, "difference_ns": -5.0, "noise_ns": 1.0, "sites": [site]}
    shown["candidates"][1]["call_sites"] = sites
    html = page.render(document_of(shown), show.Shown())
    assert "at these call sites" in html and "by function and size" not in html
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", html)
    at = cells.index("parse shop.c:7")
    row = ["parse shop.c:7", "glibc", "malloc", "64 B", "3", *3 * ["&lt; 4 ns"]]
    assert cells[at : at + 9] == [*row, "parse shop.c:7"]


def test_each_curve_goes_through_what_was_read() -> None:
    points = {name: text for text, name in curves(page.render(document_of(two()), show.Shown()))}
    assert list(points) == ["curve-0", "curve-1", "curve-2"]  # the recording, the reference, the other
    heights = {name: [float(pair.split(",")[1]) for pair in text.split()] for name, text in points.items()}
    low, high, middle = heights["curve-0"]
    assert middle == pytest.approx((low + high) / 2, abs=0.1)
    assert high < low  # towards the top of the picture
    assert heights["curve-2"][1] == pytest.approx(low - (low - high) / 4, abs=0.1)
    ways = [float(pair.split(",")[0]) for pair in points["curve-1"].split()]
    assert ways[1] == pytest.approx((ways[0] + ways[2]) / 2, abs=0.1)


def test_a_recording_without_readings_leaves_the_colours_as_they_are() -> None:
    shown = two()
    shown["moments"]["recorded_bytes"] = None
    assert [name for _, name in curves(page.render(document_of(shown), show.Shown()))] == [
        "curve-1",
        "curve-2",
    ]


def test_of_many_the_best_are_drawn_and_the_rest_is_counted() -> None:
    slow = [measured(f"slow{number}", "worse", [MIB] * 3) for number in range(9)]
    reference, best = two()["candidates"]
    html = page.render(document_of(document(*slow, best, reference)), show.Shown())
    assert len(curves(html)) == 1 + 6
    assert "other: at most 1.00 MiB" in html
    assert "5 more in the table above" in html


def test_names_stay_text_and_nothing_is_fetched() -> None:
    hostile = measured("</style><script>alert(1)</script>", "better", [0, MIB, MIB])
    html = page.render(document_of(document(*two()["candidates"], hostile)), show.Shown())
    assert "<script" not in html
    assert re.findall(r'(?:src|href)="(?!data:)', html) == []
    assert "default-src &#x27;none&#x27;" in html and "unsafe" not in html


def test_it_is_written_beside_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, html = str(made_trace().write(tmp_path / "server.heapwright")), tmp_path / "out.html"
    words = ["replay", file, "--on", "glibc", *QUICK, "--html", str(html)]
    assert run_command([*words, "--json"]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    assert len(candidate["resident_bytes"]) == len(curves(html.read_text())[0][0].split())
    assert run_command(words) == 2
    assert "out.html" in capsys.readouterr().err
    assert run_command([*words[:-1], "-", "--json"]) == 2
    assert "--html -" in capsys.readouterr().err
