# SPDX-License-Identifier: MIT
"""Where the calls' time goes: sums by site, what is noise, and percentiles that the counts allow."""

from __future__ import annotations

import io
import json
from array import array
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.model.sites import Site, Sites
from heapwright.model.symbols import Location
from heapwright.replay import latency_words
from heapwright.replay.call_times import CallTimes, differences, read
from heapwright.replay.show import Shown
from heapwright.replay.site_differences import Sum
from heapwright.replay.site_words import about_times
from replay_documents import document_of
from rich.console import Console
from written_traces import FREE, MALLOC, small_trace


def sites(count: int) -> Sites:
    place = (Location("work", "work.c", 7, False, "shop"),)
    return Sites(array("I", range(count)), tuple(Site(n, place, n) for n in range(count)), lambda _: place)


def compared(own: CallTimes, reference: CallTimes, control: CallTimes, known: Sites) -> dict[str, Any]:
    return asdict(differences(own, reference, control, known))


def times(*ns: float) -> CallTimes:
    return CallTimes({number: Sum(10, value) for number, value in enumerate(ns)})


def test_stacks_of_one_site_are_added_in_nanoseconds() -> None:
    sums = {"stacks": [1, 2, 3], "stack_calls": [4, 5, 6], "stack_ticks": [100, 200, 400], "groups": []}
    sums |= {"functions": [], "site_groups": [], "longest_row_ticks": 30}
    found = read(sums, [{"ns_per_tick": 0.5}], [0, 7, 7, 8])
    assert found.sites == {7: (9, 150.0), 8: (6, 200.0)}
    assert found.ns == 350
    assert found.longest_frees_ns == 15


def test_a_percentile_needs_ten_slower_calls() -> None:
    one = {"function": "malloc", "largest_bytes": 64, "ticks": 9, "most_ticks": 8}
    one |= {"p50_ticks": 2, "p99_ticks": 4, "p999_ticks": 6}
    sums = {"stacks": [], "stack_calls": [], "stack_ticks": []}
    sums |= {"longest_row_ticks": 0, "groups": [one | {"calls": calls} for calls in (19, 20, 1001, 10_000)]}
    sums |= {"functions": [], "site_groups": []}
    found = read(sums, [{"ns_per_tick": 0.5}], [0]).functions
    known = [[one.p50_ns, one.p99_ns, one.p999_ns] for one in found]
    assert known == [[None, None, None], [1, None, None], [1, 2, None], [1, 2, 3]]
    assert found[0].sum_ns == 4.5


def group(site: int, function: str, calls: int, ticks: int) -> dict[str, Any]:
    known = {f"{name}_ticks": ticks * by for name, by in (("p50", 1), ("p99", 10), ("p999", 100))}
    return {"site": site, "function": function, "largest_bytes": 64, "calls": calls, **known}


def test_a_site_has_its_percentiles_beside_the_references() -> None:
    """Most calls first; what only one of both made says nothing; a percentile needs ten slower calls."""

    def said(ticks: int, *others: dict[str, Any]) -> CallTimes:
        stacks = {"stacks": [0, 1], "stack_calls": [10, 10], "stack_ticks": [900, 100 * ticks]}
        groups = [group(1, "free", 20, ticks), group(1, "malloc", 9_999, ticks + 1), *others]
        sums = {**stacks, "longest_row_ticks": 0, "groups": [], "functions": [], "site_groups": groups}
        return read(sums, [{"ns_per_tick": 0.5}], [0, 1])

    reference, own = said(6), said(2, group(1, "realloc", 500, 3))
    (site,) = compared(own, reference, reference, sites(2))["sites"]
    malloc, free = site["latency"]
    assert malloc == {
        "function": "malloc",
        "largest_bytes": 64,
        "calls": 9_999,
        "p50_ns": 1.5,
        "p99_ns": 15.0,
        "p999_ns": None,
        "reference_calls": 9_999,
        "reference_p50_ns": 3.5,
        "reference_p99_ns": 35.0,
        "reference_p999_ns": None,
    }
    assert (free["p50_ns"], free["reference_p50_ns"], free["p99_ns"]) == (1.0, 3.0, None)
    candidate = {"name": "jemalloc", "figures": {}, "failure": "", "call_sites": {"ns": 1.0, "sites": [site]}}
    document = {"reference": "glibc", "candidates": [candidate]}
    rows = latency_words.site_rows(document_of(document), 5)
    assert [(row["function"], row["candidate"], row["p50_ns"]) for row in rows] == [
        ("malloc", "glibc", 3.5),
        ("malloc", "jemalloc", 1.5),
        ("free", "glibc", 3.0),
        ("free", "jemalloc", 1.0),
    ]
    assert latency_words.site_rows(document_of(document), 0) == []
    out = io.StringIO()
    latency_words.site_detail(document_of(document), 5).on_console(
        Console(file=out, width=60, highlight=False)
    )
    lines = out.getvalue().splitlines()
    at = lines.index("work work.c:7: malloc to 64 B")
    assert lines[at + 1].split() == ["glibc", "9,999", "<", "4", "ns", "35", "ns", "–"]


def test_sites_beyond_noise_largest_first() -> None:
    reference, control = times(1000, 5000, 3000, 1000), times(1000, 5000, 3300, 1000)
    found = compared(times(900, 2000, 3400, 1005), reference, control, sites(4))
    assert found["difference_ns"] == -2695
    # 300 of 10000 ns apart: 6 % of a site's time are noise; of site 2 its own 300 and more are.
    assert [(s["site"], s["difference_ns"]) for s in found["sites"]] == [(1, -3000), (2, 400), (0, -100)]
    assert found["sites"][1]["noise_ns"] == 300
    assert found["sites"][0]["share"] == pytest.approx(3000 / 2695)
    assert found["sites"][0]["function"] == "work"


def test_a_site_within_its_own_noise_is_left_out() -> None:
    found = compared(times(1400, 90_000), times(1000, 90_000), times(1500, 90_000), sites(2))
    assert found["sites"] == []


def test_where_nothing_differs_that_is_said() -> None:
    same = times(1000, 2000)
    candidate = {
        "name": "jemalloc",
        "figures": {},
        "failure": "",
        "call_sites": compared(same, same, same, sites(2)),
    }
    document = {
        "reference": "glibc",
        "candidates": [{"name": "glibc", "figures": {}, "failure": "", "call_sites": None}, candidate],
    }
    assert about_times(document_of(document), 5) == [
        "No call site's time differs between jemalloc and glibc by more than noise."
    ]
    assert about_times(document_of(document), 0) == []
    candidate["call_sites"] = compared(times(500, 2000), same, same, sites(2))
    lines = about_times(document_of(document), 5)
    said = "Timed call by call, the difference between jemalloc and glibc is −500 ns"
    assert lines[0] == f"{said}; most at this call site (100 % of it):"
    candidate["figures"] = {"time_ns": {"difference": -900.0, "verdict": "same"}}
    assert about_times(document_of(document), 5)[0].startswith(f"{said} (CPU time: −900 ns); most")
    assert lines[1:] == ["  −500 ns ± 10 ns  10 calls  work work.c:7"]
    assert Shown().sites == 5


def test_sites_that_differ_both_ways_have_no_part_of_the_whole() -> None:
    same = times(1000, 2000, 3000)
    candidate = {"name": "jemalloc", "figures": {}, "failure": ""}
    document = {"reference": "glibc", "candidates": [candidate]}
    candidate["call_sites"] = compared(times(100, 2000, 3400), same, same, sites(3))
    said = "Timed call by call, the difference between jemalloc and glibc is −500 ns; most at this call site:"
    assert about_times(document_of(document), 1)[0] == said
    candidate["call_sites"] = compared(times(600, 2000, 3400), same, same, sites(3))
    said = "Timed call by call, jemalloc and glibc take the same time in total; they differ most at these 2 call sites:"
    assert about_times(document_of(document), 5)[0] == said


@pytest.fixture
def file(tmp_path: Path) -> str:
    made = small_trace().meta("allocator", "glibc 2.36 (/lib/x86_64-linux-gnu/libc.so.6)")
    for _ in range(3000):
        made.event(MALLOC, 0x9000, 100, stack=2).event(FREE, 0x9000)
    return str(made.write(tmp_path / "sites.heapwright"))


WORDS = ["--on", "glibc", "--set", "glibc.tcache_count=0", "--runs", "2", "--idle", "0", "--anyway"]


def test_json_has_sites_and_functions(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["replay", file, *WORDS, "--json"]) == 0
    plain, other = json.loads(capsys.readouterr().out)["candidates"]
    assert plain["call_sites"] is None
    calls = {(f["function"], f["largest_bytes"]): f["calls"] for f in plain["functions"]}
    assert calls["malloc", 128] == 3001
    assert other["call_sites"]["ns"] > 0
    assert other["call_sites"]["reference_ns"] > 0
    groups = [group for site in other["call_sites"]["sites"] for group in site["latency"]]
    assert all(group["calls"] == group["reference_calls"] >= 20 for group in groups)


def test_latency_is_a_table(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["replay", file, *WORDS, "--latency", "--md"]) == 0
    said = capsys.readouterr().out
    assert "| allocator | function | size to | calls | p50 | p99 | p99.9 | max |" in said
    assert "| glibc | malloc | 128 B | 3,001 |" in said


def test_no_sites_are_measured_when_not_asked_for(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--sites", "0"], ["--quick"]):
        assert run_command(["replay", file, *WORDS, *words, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert [(c["call_sites"], c["functions"]) for c in document["candidates"]] == [(None, None)] * 2
        said = "times by call site: a single run does not measure them; use --runs 2 without --quick"
        assert (said in document["notes"]) == (words == ["--quick"])


def test_too_many_calls_are_measured_only_when_asked_for(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heapwright.replay.session.MOST_TIMED", 100)
    assert run_command(["replay", file, *WORDS, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["candidates"][1]["call_sites"] is None
    assert any("times by call site: not measured by default" in note for note in document["notes"])
    assert run_command(["replay", file, *WORDS, "--sites", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"][1]["call_sites"]
