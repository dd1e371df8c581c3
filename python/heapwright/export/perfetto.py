# SPDX-License-Identifier: MIT
"""A trace for ui.perfetto.dev (Chrome's JSON format): counters over time, slow calls as slices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from heapwright.export.stacks import Source
from heapwright.model import KIND_NAMES

TIMELINE_POINTS = 4096
SLOWEST_CALLS = 2000


def write(source: Source, file: BinaryIO, measure: str) -> None:
    """Times are microseconds, as the format wants them."""
    del measure  # one picture holds them all
    metadata = source.trace.metadata
    file.write(b'{"displayTimeUnit":"ns","otherData":')
    file.write(json.dumps({"exporter": "heapwright", "program": metadata.program}).encode())
    file.write(b',"traceEvents":[')
    for number, event in enumerate(_events(source)):
        file.write(b",\n" if number else b"\n")
        file.write(json.dumps(event, ensure_ascii=False).encode())
    file.write(b"\n]}\n")


def _events(source: Source) -> Iterator[dict[str, Any]]:
    process = source.trace.metadata.process_id
    name = source.trace.metadata.program.rsplit("/", 1)[-1]
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name}}
    for thread in source.trace.threads:
        yield {
            "ph": "M",
            "name": "thread_name",
            "pid": process,
            "tid": thread.thread_id,
            "args": {"name": thread.name},
        }
    yield from _counters(source, process)
    yield from _slow_calls(source, process)


def _counters(source: Source, process: int) -> Iterator[dict[str, Any]]:
    previous_ns = 0
    for point in source.facts.timeline:
        common = {"ph": "C", "pid": process, "tid": 0, "ts": point.time_ns / 1000}
        heap = {"requested": point.live_bytes, "rounding": max(0, point.live_usable_bytes - point.live_bytes)}
        yield {**common, "name": "heap bytes", "args": heap}
        yield {**common, "name": "live blocks", "args": {"blocks": point.live_blocks}}
        if point.resident_bytes:
            yield {**common, "name": "resident bytes", "args": {"resident": point.resident_bytes}}
        start = {**common, "ts": previous_ns / 1000}
        yield {**start, "name": "allocations per step", "args": {"allocations": point.allocations}}
        previous_ns = point.time_ns


def _slow_calls(source: Source, process: int) -> Iterator[dict[str, Any]]:
    ids = {thread.index: thread.thread_id for thread in source.trace.threads}
    sites = source.trace.sites()
    for call in source.facts.slowest:
        yield {
            "ph": "X",
            "name": KIND_NAMES[call.kind],
            "cat": "allocator",
            "pid": process,
            "tid": ids.get(call.thread, 0),
            "ts": call.begin_ns / 1000,
            "dur": call.duration_ns / 1000,
            "args": {
                "bytes": call.size_bytes,
                "site": str(sites[sites.site_of_stack[call.stack]]),
                "stack": [location.function for location in source.trace.stack(call.stack)][:16],
            },
        }
