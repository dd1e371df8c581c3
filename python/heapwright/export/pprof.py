# SPDX-License-Identifier: MIT
"""pprof's profile.proto, gzipped: the values of Go's heap profiles, those at the peak, and the time.

https://github.com/google/pprof/blob/main/proto/profile.proto. The message is
small and flat, so it is written field by field here.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from heapwright.export.stacks import Frames, Source
from heapwright.model.records import Module
from heapwright.model.sites import MARKS

# Name, unit, columns of Facts.stacks.
_VALUES = (
    ("peak_objects", "count", ("live_at_peak_blocks",)),
    ("peak_space", "bytes", ("live_at_peak_bytes",)),
    ("inuse_objects", "count", ("live_at_end_blocks",)),
    ("inuse_space", "bytes", ("live_at_end_bytes",)),
    ("alloc_objects", "count", ("allocations",)),
    ("alloc_space", "bytes", ("bytes",)),
    ("time", "nanoseconds", ("allocator_ns", "release_ns")),
)
_SHOWN_FIRST = {
    "": "peak_space",
    "peak": "peak_space",
    "bytes": "alloc_space",
    "calls": "alloc_objects",
    "leaked": "inuse_space",
    "time": "time",
}
MEASURES = tuple(measure for measure in _SHOWN_FIRST if measure)
# Field numbers of Profile.
_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING = range(1, 7)
_TIME, _DURATION, _PERIOD_TYPE, _PERIOD, _DEFAULT_TYPE = 9, 10, 11, 12, 14


def write(source: Source, file: BinaryIO, measure: str) -> None:
    """measure chooses the value pprof shows first: the peak's without one. inuse is what lives at the end."""
    strings = _Strings()
    body = bytearray()
    values = _values_of(source)
    for name, unit, _ in values:
        body += _message(_SAMPLE_TYPE, _number(1, strings.of(name)) + _number(2, strings.of(unit)))
    _add_samples(source, [names for _, _, names in values], body)
    _add_mappings(source, strings, body)
    _add_locations(source, strings, body)
    metadata = source.trace.metadata
    body += _number(_TIME, metadata.start_unix_ns)
    body += _number(_DURATION, source.trace.end.time_ns)
    body += _message(_PERIOD_TYPE, _number(1, strings.of("space")) + _number(2, strings.of("bytes")))
    body += _number(_PERIOD, max(1, metadata.sample_mean_bytes))
    body += _number(_DEFAULT_TYPE, strings.of(_SHOWN_FIRST[measure]))
    for text in strings.texts:
        body += _message(_STRING, text.encode())
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
        packed.write(bytes(body))


def _values_of(source: Source) -> list[tuple[str, str, tuple[str, ...]]]:
    """The time only where it was recorded."""
    is_timed = source.trace.metadata.durations_recorded
    return [value for value in _VALUES if is_timed or value[0] != "time"]


def _add_samples(source: Source, values: Sequence[tuple[str, ...]], body: bytearray) -> None:
    tree = source.trace.stack_columns
    parents, frames = tree["parent"], tree["frame"]
    columns = [source.sums(names) for names in values]
    places = [b""] * len(parents)
    own = {frame: _varint(_location_id(source, frame)) for frame in set(frames)}
    for stack in range(1, len(parents)):
        places[stack] = own[frames[stack]] + places[parents[stack]]
    for stack, row in enumerate(zip(*columns, strict=True)):
        if any(row):
            packed = b"".join(_varint(value) for value in row)
            body += _message(_SAMPLE, _message(1, places[stack]) + _message(2, packed))


def _location_id(source: Source, frame: int) -> int:
    """Frames count from 1; the marks follow them."""
    if frame in MARKS:
        return len(source.trace.frame_columns["pc"]) + 1 + list(MARKS).index(frame)
    return frame + 1


def _add_mappings(source: Source, strings: _Strings, body: bytearray) -> None:
    for number, module in _main_first(source):
        fields = _number(1, number + 1) + _number(2, module.start) + _number(3, module.end)
        fields += _number(5, strings.of(module.path)) + _number(6, strings.of(module.build_id))
        # Names are already here: pprof must not look for them on its machine.
        fields += b"".join(_number(flag, 1) for flag in (7, 8, 9, 10))
        body += _message(_MAPPING, fields)


def _main_first(source: Source) -> list[tuple[int, Module]]:
    """The modules with their numbers; pprof takes the first one for the main program."""
    program = source.trace.metadata.program
    modules = list(enumerate(source.trace.modules))
    names = (program, program.rpartition("/")[2])
    modules.sort(
        key=lambda entry: (entry[1].path != names[0], entry[1].path.rpartition("/")[2] != names[1], entry[0])
    )
    return modules


def _add_locations(source: Source, strings: _Strings, body: bytearray) -> None:
    frames = Frames(source.trace)
    columns = source.trace.frame_columns
    functions: dict[tuple[str, str], int] = {}
    for frame in (*range(len(columns["pc"])), *MARKS):
        fields = _number(1, _location_id(source, frame))
        if frame not in MARKS:
            module = columns["module"][frame]
            fields += _number(2, module + 1) if module < len(source.trace.modules) else b""
            fields += _number(3, columns["pc"][frame])
        for location in reversed(frames.locations(frame)):
            function = functions.setdefault((location.function, location.file), len(functions) + 1)
            fields += _message(4, _number(1, function) + _number(2, location.line))
        body += _message(_LOCATION, fields)
    for (name, file), number in functions.items():
        fields = _number(1, number) + _number(2, strings.of(name)) + _number(3, strings.of(name))
        body += _message(_FUNCTION, fields + _number(4, strings.of(file)))


class _Strings:
    """The string table; the first is empty, as pprof asks."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def of(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def texts(self) -> Sequence[str]:
        return list(self._numbers)


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, payload: bytes | Iterable[int]) -> bytes:
    packed = bytes(payload)
    return _varint(field << 3 | 2) + _varint(len(packed)) + packed
