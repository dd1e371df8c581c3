# SPDX-License-Identifier: MIT
"""Perfetto's native heap profile: interned stacks, dumps of what each allocated and freed, symbols.

protos/perfetto/trace/profiling/profile_packet.proto and profile_common.proto. Figures of a dump are sums
since the recording began; its reader takes the differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heapwright.export.protobuf import Strings, message, number, text
from heapwright.export.stacks import Source
from heapwright.model import Location
from heapwright.model.sites import MARKS, NO_STACK

DUMPS = 16
# What the viewer calls the native heap.
_HEAP_NAME = "libc.malloc"
# Field numbers of TracePacket, and of its InternedData.
_TIME, _INTERNED, _PROFILE, _SYMBOLS = 8, 12, 37, 61
_FUNCTIONS, _FRAMES, _STACKS, _BUILD_IDS, _PATHS, _MAPPINGS = 5, 6, 7, 16, 17, 19
_WORD = 2**64 - 1


def heap_packets(source: Source) -> Iterator[bytes]:
    """What is interned comes before its dumps, the lines behind them: they are for frames that are known."""
    tables = _Tables(source)
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
    """Bytes, or blocks, of one callstack: what it allocated so far and holds, and what was told of it."""

    def __init__(self) -> None:
        self.allocated = self.live = 0
        self._told_allocated = self._told_freed = 0

    def tell(self, live: int) -> tuple[int, int]:
        """Allocated and freed so far: their difference is live, and neither is less than it was.

        At the peak, within a bin, it is the least that can have been allocated. Estimates of samples are
        rounded one by one; there the difference may be a few off.
        """
        least = max(self.allocated, self._told_freed + live)
        self._told_allocated = max(self._told_allocated, least)
        self._told_freed = max(self._told_freed, self._told_allocated - live)
        return self._told_allocated, self._told_freed


class _Course:
    """What the blocks of one callstack did so far."""

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
    """A dump: after the rows of the bins up to last_bin."""

    last_bin: int
    is_peak: bool
    time_ns: int


def _moments(source: Source) -> list[_Moment]:
    """Equal steps, and the peak. Bins count from 1; bin 0 is the moment at which the time looked at begins."""
    ends, peak = source.facts.bin_end_ns, source.facts.peak
    borders = {len(ends) * step // DUMPS for step in range(1, DUMPS + 1)} - {0}
    before_peak = sum(end <= peak.time_ns for end in ends)
    if not peak.live_bytes or before_peak == len(ends):
        return [_Moment(border, False, ends[border - 1]) for border in sorted(borders)]
    borders |= {before_peak} - {0}
    moments = [_Moment(border, False, ends[border - 1]) for border in borders]
    return sorted([*moments, _Moment(before_peak, True, peak.time_ns)])


class _Courses:
    """All callstacks' courses."""

    def __init__(self, source: Source, tables: _Tables) -> None:
        self._source = source
        self._tables = tables
        self._courses: dict[int, _Course] = {}
        self._held: dict[int, tuple[int, int]] = {}  # by stack

    def dumps(self) -> Iterator[tuple[int, bytes]]:
        """The time of each, and the samples of the callstacks that changed since the one before."""
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
            # What lived at the beginning counts as allocated then.
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
        """What lived then is known of each stack."""
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
            if (size, blocks) != (course.sizes.live, course.blocks.live):
                samples += message(2, course.sample(callstack, size, blocks))
        return bytes(samples)


class _Mapping(NamedTuple):
    """Where frames lie: a module, or nowhere that is known."""

    number: int
    path: str
    build_id: bytes
    bias: int


class _Frame(NamedTuple):
    """What tells frames apart for the reader."""

    mapping: int
    address: int
    function: str


class _Tables:
    """The tables that the dumps' numbers are places of; they count from 1."""

    def __init__(self, source: Source) -> None:
        self._trace = source.trace
        self._tree = source.trace.stack_columns
        self._symbols = source.trace.symbols()
        self._mappings = [
            _Mapping(place, _path(module.path), _raw(module.build_id), module.bias)
            for place, module in enumerate(source.trace.modules, 1)
        ]
        self._nowhere = _Mapping(len(self._mappings) + 1, "", b"", 0)
        self._frames: dict[_Frame, int] = {}
        self._frame_of: dict[int, int] = {}
        # By mapping and address, innermost first.
        self._lines: dict[int, dict[int, list[Location]]] = {}
        self._callstacks: dict[tuple[int, int], int] = {}
        self._callstack_of: dict[int, int] = {}

    def callstack(self, stack: int) -> int:
        """The number of the callstack; stacks that read the same have the same."""
        missing = []
        while stack != 0 and stack not in self._callstack_of:
            missing.append(stack)
            stack = self._tree["parent"][stack]
        found = self._callstack_of.get(stack, 0)
        for inner in reversed(missing):
            found = self._under(found, self._frame(self._tree["frame"][inner]))
            self._callstack_of[inner] = found
        return found or self._under(0, self._known(_Frame(self._nowhere.number, 0, NO_STACK.function)))

    def interned(self) -> bytes:
        """InternedData with what was asked for so far. A parent has a smaller number than its callstacks."""
        functions, paths, builds = Strings(), Strings(), _Bytes()
        mappings = [
            number(1, mapping.number)
            + (number(2, builds.of(mapping.build_id)) if mapping.build_id else b"")
            + number(4, module.start)
            + number(5, module.end)
            + number(6, (module.start - module.bias) & _WORD)
            + (number(7, paths.of(mapping.path)) if mapping.path else b"")
            for mapping, module in zip(self._mappings, self._trace.modules, strict=True)
        ]
        frames = [
            number(1, place) + number(2, functions.of(frame.function)) + number(3, frame.mapping)
            + number(4, frame.address)
            for frame, place in self._frames.items()
        ]  # fmt: skip
        callstacks = [b""]
        for parent, frame in self._callstacks:
            callstacks.append(callstacks[parent] + number(2, frame))
        tables = {
            _FUNCTIONS: _strings(functions.texts),
            _PATHS: _strings(paths.texts),
            _BUILD_IDS: [number(1, place) + message(2, raw) for raw, place in builds.places.items()],
            _MAPPINGS: [*mappings, number(1, self._nowhere.number)],
            _FRAMES: frames,
            _STACKS: [number(1, place) + frames for place, frames in enumerate(callstacks) if place],
        }
        return b"".join(message(field, entry) for field, entries in tables.items() for entry in entries)

    def symbols(self) -> Iterator[bytes]:
        """A ModuleSymbols for each module with lines: the innermost function of an address first."""
        for mapping in self._mappings:
            addresses = self._lines.get(mapping.number, {})
            if not addresses:
                continue
            module = text(1, mapping.path) + message(2, mapping.build_id)
            for address, locations in addresses.items():
                lines = b"".join(message(2, _line(location)) for location in locations)
                module += message(3, number(1, address) + lines)
            yield module

    def _under(self, parent: int, frame: int) -> int:
        return self._callstacks.setdefault((parent, frame), len(self._callstacks) + 1)

    def _known(self, frame: _Frame) -> int:
        return self._frames.setdefault(frame, len(self._frames) + 1)

    def _frame(self, frame: int) -> int:
        if frame not in self._frame_of:
            self._frame_of[frame] = self._known(self._described(frame))
        return self._frame_of[frame]

    def _described(self, frame: int) -> _Frame:
        if frame in MARKS:
            return _Frame(self._nowhere.number, frame, MARKS[frame].function)
        columns, locations = self._trace.frame_columns, self._symbols.locations(frame)
        module = columns["module"][frame]
        mapping = self._mappings[module] if module < len(self._mappings) else self._nowhere
        address = (columns["pc"][frame] - mapping.bias) & _WORD
        if mapping is not self._nowhere:
            self._lines.setdefault(mapping.number, {}).setdefault(address, locations)
        return _Frame(mapping.number, address, locations[-1].function)


class _Bytes:
    """Numbers byte strings from 1 on."""

    def __init__(self) -> None:
        self.places: dict[bytes, int] = {}

    def of(self, raw: bytes) -> int:
        return self.places.setdefault(raw, len(self.places) + 1)


def _path(path: str) -> str:
    """As the reader makes it: it begins with a slash."""
    return path if not path or path.startswith("/") else f"/{path}"


def _raw(build_id: str) -> bytes:
    """Its bytes; those of its text where it is not one (anonymized)."""
    try:
        return bytes.fromhex(build_id)
    except ValueError:
        return build_id.encode()


def _strings(texts: Sequence[str]) -> list[bytes]:
    """InternedString of each but the first, which is the empty one."""
    return [number(1, place) + text(2, one) for place, one in enumerate(texts) if place]


def _line(location: Location) -> bytes:
    named = text(1, location.function)
    return named + text(2, location.file) + number(3, location.line) if location.file else named
