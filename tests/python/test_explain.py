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
from heapwright.explain.schema import as_text
from heapwright.explain.timeline import sparkline
from heapwright.model import Filter, SiteOptions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from written_traces import CALLOC, DELETE, FREE, MALLOC, NEW, REALLOC, MadeTrace, small_trace

SCHEMA = json.loads((Path(heapwright.__file__).parent / "schemas/explain-1.json").read_text())


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


def test_the_kept_schema_is_what_the_columns_make() -> None:
    """Renewed by python -m heapwright.explain.schema; fields of version 1 are never dropped or renamed."""
    kept = Path(heapwright.__file__).parent / "schemas/explain-1.json"
    assert kept.read_text(encoding="utf-8") == as_text()


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
    assert "complete: every sampled call except what is named below is in the trace" in text
    assert "jemalloc is linked statically" in text
    bare = small_trace().meta("durations_recorded", 0)
    text = printed(explained(made(tmp_path, bare)))
    assert "times were not recorded" in text
    assert "How long the calls take" not in text


def test_a_filter_is_said(trace: heapwright.Trace) -> None:
    assert "filtered: the figures are about the chosen part" in printed(
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
    assert sparkline([], 4) == ""
    assert sparkline([0, 0], 0) == ""
    assert sparkline([1] * 1000, 1, cells=10) == "█" * 10
    assert len(sparkline([5], 5)) == 64


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
