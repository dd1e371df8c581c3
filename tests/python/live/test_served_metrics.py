# SPDX-License-Identifier: MIT
"""What serve tells of pages: figures worked out by hand, names, the document and the dashboard."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from counter_page_bytes import parse, put, with_contexts
from heapwright.live.layout import CONSTANTS, FIELDS
from heapwright.live.memory import Memory
from heapwright.live.page import HeapFigures
from heapwright.serve import metrics
from heapwright.serve.programs import Program
from heapwright.serve.watch import Look, Seen, Watch
from prometheus_client.openmetrics import exposition
from served_samples import Found, busy_page, samples_of, seen_of

PROJECT = Path(__file__).resolve().parents[3]
SECTION = CONSTANTS["head_bytes"]


def test_figures_by_hand() -> None:
    samples = samples_of(Look([seen_of(busy_page())], ["one"], 1))
    assert samples[("heap_calls_total", "malloc")] == 10
    assert samples[("heap_calls_total", "free")] == 4
    assert samples[("heap_requested_bytes_total",)] == 2100
    assert samples[("heap_live_bytes",)] == 1400
    assert samples[("heap_live_blocks",)] == 7
    assert samples[("heap_failed_calls_total",)] == 3
    assert samples[("heap_threads_ended_total",)] == 1
    assert samples[("process_resident_memory_bytes",)] == 9_000_000
    assert samples[("heapwright_unread_pages",)] == 1
    assert ("heap_live_change_bytes",) not in samples
    assert ("heap_committed_bytes",) not in samples


def test_a_bucket_holds_what_is_at_most_its_edge() -> None:
    samples = samples_of(Look([seen_of(busy_page())], [], 0))
    sizes = {key[1]: value for key, value in samples.items() if key[0] == "heap_request_size_bytes_bucket"}
    assert [sizes[edge] for edge in ("15.0", "31.0", "63.0", "127.0", "+Inf")] == [2, 5, 6, 11, 11]
    assert samples[("heap_request_size_bytes_count",)] == 11
    assert samples[("heap_request_size_bytes_sum",)] == 2100
    name = "heap_timed_call_duration_seconds"
    timed = {frozenset(key[1:]): value for key, value in samples.items() if key[0] == f"{name}_bucket"}
    edges = ("1.6e-08", "3.2e-08", "2.56e-07", "5.12e-07", "+Inf")
    assert [timed[frozenset(("make", edge))] for edge in edges] == [1, 2, 2, 4, 4]
    assert samples[(f"{name}_sum", "make")] == pytest.approx(631e-9)
    assert samples[(f"{name}_count", "release")] == 0


@pytest.mark.parametrize("generation", [0, 1])
def test_where_blocks_are_older_than_the_counting_live_is_a_change(generation: int) -> None:
    page = busy_page()
    if not generation:
        put(page, "calls", "flags", CONSTANTS["is_attached"], SECTION)
    samples = samples_of(Look([seen_of(page, generation)], [], 0))
    assert samples[("heap_live_change_bytes",)] == 1400
    assert ("heap_live_bytes",) not in samples
    assert (("heap_threads_ended_total",) in samples) == bool(generation)


def test_what_is_unknown_is_left_out() -> None:
    page = busy_page()
    put(page, "calls", "flags", CONSTANTS["has_unknown_usable"], SECTION)
    samples = samples_of(Look([seen_of(page)], [], 0))
    for name in ("heap_usable_bytes_total", "heap_released_bytes_total", "heap_live_bytes"):
        assert (name,) not in samples
    assert samples[("heap_live_blocks",)] == 7


def test_nothing_is_said_to_live_where_calls_are_not_seen() -> None:
    page = busy_page()
    put(page, "calls", "flags", CONSTANTS["has_own_malloc"], SECTION)
    samples = samples_of(Look([seen_of(page)], [], 0))
    assert not [key for key in samples if key[0].startswith("heap_live")]
    (info,) = [key for key in samples if key[0] == "heap_process_info"]
    assert sorted(info[1:]) == ["0", "false", "true", "unknown"]


def test_our_heaps_own_figures() -> None:
    heap = HeapFigures(5, 2_000_000, 4096, 512, 3, 1024, 77)
    samples = samples_of(Look([Seen(1, "x", 0, 1, None, heap)], [], 0))
    assert samples[("heap_lock_contentions_total",)] == 5
    assert samples[("heap_lock_wait_seconds_total",)] == 0.002
    assert samples[("heap_dirty_bytes",)] == 1024
    assert samples[("heap_remote_frees_total",)] == 77
    assert ("heap_calls_total", "malloc") not in samples


def test_hostile_names_break_no_line() -> None:
    page = busy_page()
    for field, text in (("program", b'a"b\\n\n}{ 1\x1b[2J\xff'), ("allocator", b'/x/"\ny\\.so')):
        offset = SECTION + FIELDS["calls"][field][0]
        page[offset : offset + len(text)] = text
    calls = parse(bytes(page)).calls
    assert calls is not None
    look = Look([Seen(7, calls.program, 0, 1, calls, None)], [], 0)
    assert samples_of(look)[("heap_live_blocks",)] == 7
    assert "\x1b" not in exposition.generate_latest(Found(look)).decode()  # type: ignore[arg-type]


def test_names_alone_are_told_without_a_look() -> None:
    class Unread(Watch):
        def look(self) -> Look:
            raise AssertionError

    assert {family.name for family in metrics.ProcessCollector(Unread()).describe()} == {
        metric.name for metric in metrics.METRICS
    } | {metrics.UNREAD}


def test_the_document_names_the_metrics() -> None:
    text = (PROJECT / "docs/serve.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| `(heap\w+|process_\w+)` \| (\w+)", text, re.MULTILINE))
    suffixes = {metrics.COUNTER: "_total", metrics.INFO: "_info"}
    assert documented == {
        metric.name + suffixes.get(metric.kind, ""): metric.kind
        for metric in (*metrics.METRICS, *metrics.PROGRAM_METRICS, *metrics.CONTEXT_METRICS)
    } | {metrics.UNREAD: "gauge", f"{metrics.PROCESSES}_total": "counter"}


def program_of(page: bytearray, processes: int = 3) -> Program:
    calls = parse(bytes(page)).calls
    assert calls is not None
    return Program("shop", processes, calls)


def test_contexts_of_a_program_have_a_label() -> None:
    page = with_contexts(
        busy_page(), {b"GET /cart": (5, 3, 90, 96, 1, 40, 32), b"job": (1, 1, 7, 8, 0, 0, 0)}
    )
    samples = samples_of(Look([], [], 0, [program_of(page)]))
    assert samples[("heap_context_calls_total", "GET /cart")] == 5
    assert samples[("heap_context_requested_bytes_total", "GET /cart")] == 90
    assert samples[("heap_context_requested_bytes_total", "job")] == 7
    assert samples[("heap_context_usable_bytes_total", "GET /cart")] == 96
    assert samples[("heap_context_released_bytes_total", "GET /cart")] == 32
    assert samples[("heap_context_timed_calls_total", "GET /cart")] == 1
    assert samples[("heap_context_timed_call_duration_seconds_total", "GET /cart")] == 40e-9


def test_sums_of_programs_and_kinds_of_memory_by_hand() -> None:
    seen = seen_of(busy_page())._replace(memory=Memory(60, 30, 20, 10, 5, 70))
    samples = samples_of(Look([seen], [], 0, [program_of(busy_page())]))
    assert samples[("heap_program_calls_total", "malloc")] == 10
    assert samples[("heap_program_requested_bytes_total",)] == 2100
    assert samples[("heap_program_failed_calls_total",)] == 3
    assert samples[("heap_program_processes_total",)] == 3
    assert samples[("heap_program_timed_call_duration_seconds_count", "make")] == 4
    assert [samples[("process_memory_bytes", kind)] for kind in ("anonymous", "file", "shared", "swapped")] == [
        30, 20, 10, 5,
    ]  # fmt: skip


def test_a_single_look_has_no_sums_of_programs() -> None:
    names = {key[0] for key in samples_of(Look([seen_of(busy_page())], [], 0))}
    assert not [name for name in names if name.startswith("heap_program")]


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    text = (PROJECT / "python/heapwright/serve/dashboard.json").read_text(encoding="utf-8")
    queries = [target["expr"] for panel in json.loads(text)["panels"] for target in panel["targets"]]
    told = {key[0] for key in samples_of(Look([seen_of(busy_page())], [], 0))}
    whole = seen_of(busy_page())._replace(memory=Memory(60, 30, 20, 10, 5, 70))
    told |= {key[0] for key in samples_of(Look([whole], [], 0, [program_of(busy_page())]))}
    told |= {key[0] for key in samples_of(Look([seen_of(busy_page(), 1, HeapFigures(*range(7)))], [], 0))}
    told |= {key[0] for key in samples_of(Look([whole._replace(is_contended=False)], [], 0))}
    in_context = with_contexts(busy_page(), {b"job": (1, 1, 7, 8, 0, 0, 0)})
    told |= {key[0] for key in samples_of(Look([], [], 0, [program_of(in_context)]))}
    asked = {name for query in queries for name in re.findall(r"\b(?:heap|process|heapwright)_\w+", query)}
    assert asked <= told
    assert len(asked) > 10
