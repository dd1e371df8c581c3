# SPDX-License-Identifier: MIT
"""Perfetto's native heap profile: interned stacks, dumps of what each allocated and freed, symbols.

protos/perfetto/trace/profiling/profile_packet.proto and profile_common.proto. Figures of a dump are sums
since the start of the recording; its reader takes the differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from heapwright.export.perfetto_tables import Tables
from heapwright.export.protobuf import message, number, text
from heapwright.export.stacks import Source

DUMPS = 16
# What the viewer calls the native heap.
_HEAP_NAME = "libc.malloc"
# Field numbers of TracePacket.
_TIME, _INTERNED, _PROFILE, _SYMBOLS = 8, 12, 37, 61


def heap_packets(source: Source) -> Iterator[bytes]:
    """Interned data precedes the dumps that use it; lines follow them, as they refer to known frames."""
    tables = Tables(source)
    dumps = list(_Courses(source, tables).dumps())
    yield number(_TIME, source.from_ns) + message(_INTERNED, tables.interned())
    previous_ns = source.from_ns
    for index, (time_ns, samples) in enumerate(dumps):
        process = number(1, source.trace.metadata.process_id) + samples
        process += number(9, time_ns) + number(15, previous_ns) + text(11, _HEAP_NAME)
        process += number(12, max(1, source.trace.metadata.sample_mean_bytes))
        profile = number(7, index) + message(5, process)
        yield number(_TIME, time_ns) + message(_PROFILE, profile)
        previous_ns = time_ns
    for module in tables.symbols():
        yield number(_TIME, previous_ns) + message(_SYMBOLS, module)


class _Sums:
    """Bytes or blocks of one callstack: allocated so far, live, and already reported."""

    def __init__(self) -> None:
        self.allocated = self.live = 0
        self._told_allocated = self._told_freed = 0

    def tell(self, live: int) -> tuple[int, int]:
        """Allocated and freed so far: their difference is live, and neither ever decreases.

        At the peak, within a bin, it is the lower bound of what was allocated. Estimates from samples are
        rounded individually; there the difference may be off by a few.
        """
        least = max(self.allocated, self._told_freed + live)
        self._told_allocated = max(self._told_allocated, least)
        self._told_freed = max(self._told_freed, self._told_allocated - live)
        return self._told_allocated, self._told_freed


class _Course:
    """The activity of one callstack's blocks so far."""

    def __init__(self) -> None:
        self.has_changed = False
        self.sizes, self.blocks = _Sums(), _Sums()

    def sample(self, callstack: int, live_bytes: int, live_blocks: int) -> bytes:
        """A HeapSample."""
        allocated, freed = self.sizes.tell(live_bytes)
        allocations, frees = self.blocks.tell(live_blocks)
        fields = number(1, callstack) + number(2, allocated) + number(3, freed)
        return fields + number(5, allocations) + number(6, frees)


class _Moment(NamedTuple):
    """A dump after the rows of the bins up to last_bin."""

    last_bin: int
    is_peak: bool
    time_ns: int


def _moments(source: Source) -> list[_Moment]:
    """Equal steps, and the peak. Bins count from 1; bin 0 is the begin of the selected time."""
    ends, peak = source.facts.bin_end_ns, source.facts.peak
    borders = {len(ends) * step // DUMPS for step in range(1, DUMPS + 1)} - {0}
    before_peak = sum(end <= peak.time_ns for end in ends)
    if not peak.live_bytes or before_peak == len(ends):
        return [_Moment(border, False, ends[border - 1]) for border in sorted(borders)]
    borders |= {before_peak} - {0}
    moments = [_Moment(border, False, ends[border - 1]) for border in borders]
    return sorted([*moments, _Moment(before_peak, True, peak.time_ns)])


class _Courses:
    """The series of all callstacks."""

    def __init__(self, source: Source, tables: Tables) -> None:
        self._source = source
        self._tables = tables
        self._courses: dict[int, _Course] = {}
        self._held: dict[int, tuple[int, int]] = {}  # by stack

    def dumps(self) -> Iterator[tuple[int, bytes]]:
        """The time of each dump, and the samples of callstacks that changed since the previous one."""
        moments = _moments(self._source)
        rows = self._source.facts.path_bins
        names = ("stack", "bin", "allocations", "bytes", "live_bytes", "live_blocks")
        at = 0
        for stack, bin_, blocks, size, live_bytes, live_blocks in zip(
            *(rows[name] for name in names), strict=True
        ):
            while bin_ > moments[at].last_bin:
                yield self._dump(moments[at])
                at += 1
            # Blocks live at the begin count as allocated then.
            made = (size, blocks) if bin_ else (live_bytes, live_blocks)
            self._add(stack, made, (live_bytes, live_blocks))
        for moment in moments[at:]:
            yield self._dump(moment)

    def _add(self, stack: int, made: tuple[int, int], live: tuple[int, int]) -> None:
        before = self._held.get(stack, (0, 0))
        self._held[stack] = live
        course = self._of(stack)
        course.sizes.allocated += made[0]
        course.blocks.allocated += made[1]
        course.sizes.live += live[0] - before[0]
        course.blocks.live += live[1] - before[1]
        course.has_changed = True

    def _of(self, stack: int) -> _Course:
        return self._courses.setdefault(self._tables.callstack(stack), _Course())

    def _dump(self, moment: _Moment) -> tuple[int, bytes]:
        return moment.time_ns, self._at_peak() if moment.is_peak else self._now()

    def _now(self) -> bytes:
        samples = bytearray()
        for callstack, course in self._courses.items():
            if course.has_changed:
                samples += message(2, course.sample(callstack, course.sizes.live, course.blocks.live))
                course.has_changed = False
        return bytes(samples)

    def _at_peak(self) -> bytes:
        """Whether live memory at that time is known for each stack."""
        held: dict[int, tuple[int, int]] = {}
        stacks = self._source.facts.stacks
        columns = (stacks["live_at_peak_bytes"], stacks["live_at_peak_blocks"])
        for stack, (size, blocks) in enumerate(zip(*columns, strict=True)):
            if size or blocks:
                self._of(stack)
                callstack = self._tables.callstack(stack)
                before = held.get(callstack, (0, 0))
                held[callstack] = before[0] + size, before[1] + blocks
        samples = bytearray()
        for callstack, course in self._courses.items():
            size, blocks = held.get(callstack, (0, 0))
            if course.has_changed or (size, blocks) != (course.sizes.live, course.blocks.live):
                samples += message(2, course.sample(callstack, size, blocks))
        return bytes(samples)
