# SPDX-License-Identifier: MIT
"""A trace for ui.perfetto.dev and its SQL: memory over time, slow calls, the heap's profile, smaps.

https://github.com/google/perfetto, protos/perfetto/trace: TracePacket and its contents. Times are ns since
the start of the recording.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from heapwright.export.perfetto_heap import heap_packets
from heapwright.export.protobuf import message, number, packed, text
from heapwright.export.stacks import Source
from heapwright.model import KIND_NAMES
from heapwright.model.facts import SlowCall
from heapwright.model.facts.mapped_memory import MappedMemory

TIMELINE_POINTS = 4096
SLOWEST_CALLS = 2000
MOST_SCANS = 64
# Field numbers of TracePacket, and the flags of its field sequence_flags.
_CLOCKS, _TIME, _PROCESS_STATS, _SEQUENCE, _EVENT, _FLAGS, _TRACK, _SMAPS = 6, 8, 9, 10, 11, 13, 60, 68
_BEGINS, _GOES_ON = 1, 2
_REALTIME, _MONOTONIC, _MONOTONIC_COARSE, _BOOTTIME = 1, 3, 4, 6
# Of TrackEvent.type.
_SLICE_BEGIN, _SLICE_END, _COUNTER = 1, 2, 4
_COUNT, _BYTES = 2, 3
_PROCESS_TRACK, _FIRST_COUNTER, _FIRST_THREAD = 1, 2, 16
# A name and a unit of CounterDescriptor; _counter_values has their values in this order.
_COUNTERS = (
    ("heap: requested bytes", _BYTES),
    ("heap: usable bytes", _BYTES),
    ("heap: live blocks", _COUNT),
    ("heap: allocations per step", _COUNT),
)


def write(source: Source, file: BinaryIO, measure: str) -> None:
    """Packet by packet."""
    del measure  # one picture holds them all
    for place, packet in enumerate(_packets(source)):
        flags = _GOES_ON if place else _BEGINS
        file.write(message(1, packet + number(_SEQUENCE, 1) + number(_FLAGS, flags)))


def _packets(source: Source) -> Iterator[bytes]:
    yield number(_TIME, 0) + message(_CLOCKS, _clocks(source.trace.metadata.start_unix_ns))
    yield from _tracks(source)
    yield from _counters(source)
    yield from _slow_calls(source)
    yield from _smaps(source)
    yield from heap_packets(source)


def _clocks(start_unix_ns: int) -> bytes:
    """Clocks: all start with the recording; the profile's clock is the coarse one."""
    zero = b"".join(
        message(1, number(1, clock) + number(2, 0)) for clock in (_BOOTTIME, _MONOTONIC, _MONOTONIC_COARSE)
    )
    known = message(1, number(1, _REALTIME) + number(2, start_unix_ns)) if start_unix_ns else b""
    return zero + known + number(2, _BOOTTIME)


def _tracks(source: Source) -> Iterator[bytes]:
    metadata = source.trace.metadata
    process = metadata.process_id
    name = metadata.program.rsplit("/", 1)[-1]
    described = number(1, process) + text(2, metadata.command) + text(6, name)
    if warning := source.warning:
        described += text(8, warning)  # a label of the process
    yield message(_TRACK, number(1, _PROCESS_TRACK) + message(3, described))
    for place, (title, unit) in enumerate(_COUNTERS, _FIRST_COUNTER):
        counter = text(2, title) + message(8, number(3, unit))
        yield message(_TRACK, number(1, place) + number(5, _PROCESS_TRACK) + counter)
    for thread in source.trace.threads:
        described = number(1, process) + number(2, thread.thread_id) + text(5, thread.name)
        yield message(_TRACK, number(1, _FIRST_THREAD + thread.index) + message(4, described))


def _counters(source: Source) -> Iterator[bytes]:
    process = source.trace.metadata.process_id
    previous_ns = source.from_ns
    for point in source.facts.timeline:
        values = (point.live_bytes, point.live_usable_bytes, point.live_blocks, point.allocations)
        # A counter's value holds from its time on: a step's value is at the step's begin.
        times = (point.time_ns, point.time_ns, point.time_ns, previous_ns)
        for place, (value, time_ns) in enumerate(zip(values, times, strict=True), _FIRST_COUNTER):
            event = number(9, _COUNTER) + number(11, place) + number(30, value)
            yield number(_TIME, time_ns) + message(_EVENT, event)
        if point.resident_bytes:
            sizes = (point.resident_bytes, point.resident_file_bytes, point.resident_shared_bytes)
            memory = number(1, process) + number(3, sum(sizes) >> 10)
            for field, size in enumerate((*sizes, point.swapped_bytes), 4):
                memory += number(field, size >> 10)
            yield number(_TIME, point.time_ns) + message(_PROCESS_STATS, message(1, memory))
        previous_ns = point.time_ns


def _slow_calls(source: Source) -> Iterator[bytes]:
    sites = source.trace.sites()
    last_end_ns: dict[int, int] = {}
    for call in sorted(source.facts.slowest, key=lambda call: (call.begin_ns, -call.duration_ns)):
        begin_ns, end_ns = call.begin_ns, call.begin_ns + call.duration_ns
        before_ns = last_end_ns.get(call.thread, 0)
        # Times are rounded: of two consecutive calls the second may seem to begin within the first.
        if begin_ns < before_ns < end_ns:
            begin_ns = before_ns
        last_end_ns[call.thread] = max(before_ns, end_ns)
        track = number(11, _FIRST_THREAD + call.thread)
        begin = number(9, _SLICE_BEGIN) + text(23, KIND_NAMES[call.kind]) + text(22, "allocator")
        yield number(_TIME, begin_ns) + message(
            _EVENT, track + begin + _arguments(source, call, str(sites[sites.site_of_stack[call.stack]]))
        )
        yield number(_TIME, end_ns) + message(_EVENT, track + number(9, _SLICE_END))


def _arguments(source: Source, call: SlowCall, site: str) -> bytes:
    stack = [location.function for location in source.trace.stack(call.stack)][:16]
    lines = b"".join(message(12, text(6, function)) for function in stack)
    return (
        message(4, text(10, "bytes") + number(3, call.size_bytes))
        + message(4, text(10, "site") + text(6, site))
        + message(4, text(10, "stack") + lines)
    )


def _smaps(source: Source) -> Iterator[bytes]:
    """The scans of resident pages, by the mappings' names."""
    scans: dict[int, list[MappedMemory]] = {}
    for row in source.trace.mapped_memory(source.from_ns, source.to_ns, MOST_SCANS):
        scans.setdefault(row.time_ns, []).append(row)
    process = number(1, source.trace.metadata.process_id)
    for time_ns, rows in scans.items():
        yield number(_TIME, time_ns) + message(_SMAPS, process + message(3, _packed_smaps(rows)))


def _packed_smaps(rows: Sequence[MappedMemory]) -> bytes:
    """PackedSmaps by path: number of mappings, mapped, resident, anonymous, swapped."""
    kilobytes = {
        4: [row.mapped_bytes for row in rows],
        5: [row.anonymous_bytes + row.file_bytes for row in rows],
        6: [row.anonymous_bytes for row in rows],
        7: [row.swapped_bytes for row in rows],
    }
    names = b"".join(message(1, row.name.encode(errors="replace")) for row in rows)
    counts = packed(3, [row.mappings for row in rows])
    return names + counts + b"".join(packed(field, [n >> 10 for n in of]) for field, of in kilobytes.items())
