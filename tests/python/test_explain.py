# SPDX-License-Identifier: MIT
"""The explanation: as JSON by its schema, and for people."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import heapwright
import jsonschema
import pytest
from heapwright import explain
from heapwright.cli import schemas
from heapwright.model import Filter, SiteOptions
from heapwright.terminal.sparkline import sparkline
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from written_traces import CALLOC, DELETE, FREE, MALLOC, NEW, REALLOC, MadeTrace, small_trace

SCHEMA = schemas.of("explain")


def explained(trace: heapwright.Trace, chosen: Filter | None = None) -> dict[str, Any]:
    chosen = chosen or Filter()
    facts = trace.facts(chosen)
    return explain.explain(explain.Report(trace, facts, trace.sites(), chosen, 10))


def printed(document: dict[str, Any], width: int = 140) -> str:
    out = io.StringIO()
    explain.render(document, Console(file=out, width=width, highlight=False))
    return out.getvalue()


def check(document: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(document)))


def made(tmp_path: Path, trace: MadeTrace) -> heapwright.Trace:
    return heapwright.open(trace.write(tmp_path / "made.heapwright"))


def test_the_schema_is_one_and_every_question_is_in_it(trace: heapwright.Trace) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]["questions"]["properties"]) == set(explain.NAMES)
    document = explained(trace)
    assert set(document["questions"]) == set(explain.NAMES)
    check(document)


def test_the_first_screen(trace: heapwright.Trace) -> None:
    text = printed(explained(trace))
    assert text.startswith(
        "/opt/shop/server   process 0, 10.0 ms, 2 threads, allocator unknown, exited with code 0\n"
    )
    assert "complete: every call is in the trace" in text
    assert "4.00 KiB in 2 blocks" in text
    assert "97.6 % of the peak is held by server+0x3000" in text
    assert "one realloc of 500 B took 5.00 ms in server+0x2000" in text
    assert "\x1b" not in text


def test_answers(trace: heapwright.Trace) -> None:
    questions = explained(trace)["questions"]
    assert [site["name"] for site in questions["peak"]["sites"]] == ["server+0x3000", "server+0x2000"]
    assert [(site["name"], site["live_bytes"]) for site in questions["leaks"]["sites"]] == [
        ("server+0x2000", 100)
    ]
    assert questions["temporaries"]["temporaries"] >= 1
    assert questions["realloc"]["sites"][0]["copied_bytes"] == 50
    assert [
        (pair["allocating_name"], pair["freeing_name"]) for pair in questions["cross_thread"]["pairs"]
    ] == [("main", "worker")]
    assert questions["slow_calls"]["calls"][0]["kind"] == "realloc"
    assert {row["function"] for row in questions["latency"]["by_function"]} >= {"malloc", "operator new"}
    assert sum(row["allocations"] for row in questions["sizes"]["classes"]) == 5
    assert [thread["name"] for thread in questions["threads"]["threads"]] == ["main", "worker"]


def test_slow_calls_sum_up_by_function_size_and_site(tmp_path: Path) -> None:
    trace = MadeTrace().meta("program", "/opt/shop/server").meta("allocator", "jemalloc 5.3.0")
    trace.line("module", 0x400000, 0x500000, 0x400000, "/opt/shop/server", "aabbcc")
    trace.line("thread", 0, 100, "main", 0, 0)
    for number in range(1, 15):
        trace.line("frame", 0x400000 + number * 0x1000, 0).line("stack", 0, number - 1)
    # Site 1 takes 100 µs, site 2 twice 110 µs, ...; each call has another size; every fourth block is freed.
    slow = []
    for number in range(1, 15):
        for call in range(1 + number % 2):
            size, address = 1 << (3 + call), 0x10000 * number + 0x1000 * call
            trace.event(MALLOC, address, size, stack=number, took=90_000 + 10_000 * number)
            slow.append(("malloc", size, number, 90_000 + 10_000 * number))
        if number % 4 == 0:
            trace.event(FREE, address, took=30_000)
            slow.append(("free", size, number, 30_000))
    trace.event(FREE, 0, took=19_000)
    answer = explained(made(tmp_path, trace))["questions"]["slow_calls"]
    by_function: dict[str, int] = {}
    by_size: dict[int, int] = {}
    for function, size, _, took in slow:
        by_function[function] = by_function.get(function, 0) + took
        by_size[size] = by_size.get(size, 0) + took
    assert {row["function"]: row["duration_ns"] for row in answer["causes"]} == by_function
    assert {row["from_bytes"]: row["duration_ns"] for row in answer["by_size"]} == by_size
    assert all(row["to_bytes"] == 2 * row["from_bytes"] - 1 for row in answer["by_size"])
    shown = [row["name"] for row in answer["by_site"]]
    assert shown[:2] == ["server+0xd000", "server+0xb000"], "two calls each"
    assert len(shown) == 10
    rest = answer["further_sites"]
    assert rest["sites"] == 4
    for row in (answer["by_site"], answer["by_size"], answer["causes"]):
        own = rest if row is answer["by_site"] else {"calls": 0, "duration_ns": 0}
        assert sum(one["calls"] for one in row) + own["calls"] == len(slow) == answer["calls_over"]
        total = sum(took for *_, took in slow)
        assert sum(one["duration_ns"] for one in row) + own["duration_ns"] == total == answer["duration_ns"]
    assert {part["cause"] for row in answer["by_site"] for part in row["causes"]} == {"unknown"}


def test_percentiles_of_a_part_of_the_calls_say_so(trace: heapwright.Trace) -> None:
    document = explained(trace)
    for question, what in (("latency", "latencies"), ("sizes", "sizes")):
        assert document["questions"][question]["left_out_calls"] == 0
        assert "cover part of the calls" not in printed(document, width=200)
        document["questions"][question]["left_out_calls"] = 12_000
        assert f"part of the calls: the {what} of 12,000 allocations" in printed(document, width=200)
        document["questions"][question]["left_out_calls"] = 0


def test_a_cut_recording_is_said_first(tmp_path: Path) -> None:
    trace = small_trace()
    trace.has_end = False
    text = printed(explained(made(tmp_path, trace)))
    assert text.splitlines()[1].startswith("INCOMPLETE RECORDING: ")
    assert "the file has no end mark" in text


@pytest.mark.parametrize(
    ("end", "text"),
    [
        ("end 2 9 10000000", "killed by SIGKILL"),
        ("end 4 0 10000000", "recording stopped at its size limit"),
        ("end 6 28 10000000", "writing the trace failed (errno 28)"),
        ("end 1 -1 10000000", ", exited\n"),
    ],
)
def test_how_it_ended(tmp_path: Path, end: str, text: str) -> None:
    trace = small_trace()
    trace.end = end
    assert text in printed(explained(made(tmp_path, trace)), width=200)


def test_sampling_notes_and_missing_durations_are_said(tmp_path: Path) -> None:
    trace = small_trace().meta("sample_mean_bytes", 65536).meta("durations_recorded", 0)
    trace.meta("note", "jemalloc is linked statically: not seen")
    document = explained(made(tmp_path, trace))
    text = printed(document)
    check(document)
    assert "sampled, one in 64.0 KiB allocated: counts and bytes are estimates" in text
    assert "complete: every sampled call except as noted below is in the trace" in text
    assert "jemalloc is linked statically" in text
    bare = small_trace().meta("durations_recorded", 0)
    text = printed(explained(made(tmp_path, bare)))
    assert "times were not recorded" in text
    assert "How long the calls take" not in text


def test_a_filter_is_said(trace: heapwright.Trace) -> None:
    assert "filtered: the figures cover only the selected part" in printed(
        explained(trace, Filter(min_size_bytes=100))
    )


def test_an_empty_recording(tmp_path: Path) -> None:
    document = explained(made(tmp_path, MadeTrace()))
    check(document)
    assert "0 allocations of 0 B" in printed(document)


def test_names_cannot_drive_the_terminal(tmp_path: Path) -> None:
    trace = small_trace().meta("command", "\x1b[31mred\x07[bold]")
    text = printed(explained(made(tmp_path, trace)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]" in text


def test_sparklines() -> None:
    assert sparkline([], 4, 9) == ""
    assert sparkline([0, 0], 0, 9) == ""
    assert sparkline([1] * 1000, 1, cells=10) == "█" * 10
    assert sparkline([-5, 5], 5, 2) == " █"


CALLS = st.lists(
    st.tuples(
        st.sampled_from([MALLOC, CALLOC, REALLOC, NEW, FREE, DELETE]),
        st.integers(0, 5),
        st.one_of(st.integers(0, 5000), st.sampled_from([2**63, 2**64 - 1])),
        st.integers(0, 2),
        st.integers(0, 4),
    ),
    max_size=40,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=CALLS, full_stacks=st.booleans())
def test_any_calls_can_be_explained(calls: list[tuple[int, ...]], full_stacks: bool, tmp_path: Path) -> None:
    trace = small_trace()
    for kind, block, size, thread, stack in calls:
        released = kind in (FREE, DELETE)
        trace.event(kind, 0x9000 + 0x100 * block, 0 if released else size, thread=thread, stack=stack,
                    usable=0 if released else min(size, 2**62), old=0x9000 if kind == REALLOC else 0)  # fmt: skip
    opened = made(tmp_path, trace)
    sites = SiteOptions(full_stacks=full_stacks)
    facts = opened.facts(sites=sites)
    document = explain.explain(explain.Report(opened, facts, opened.sites(sites), Filter(), 5))
    check(document)
    assert printed(document, width=80)
