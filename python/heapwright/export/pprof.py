# SPDX-License-Identifier: MIT
"""pprof's profile.proto, gzipped: the values of Go's heap profiles, those at the peak, and time.

https://github.com/google/pprof/blob/main/proto/profile.proto. The message is
small and flat, so it is written field by field.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import BinaryIO

from heapwright.export.protobuf import Strings, message, number, varint
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
_TIME, _DURATION, _PERIOD_TYPE, _PERIOD, _COMMENT, _DEFAULT_TYPE = range(9, 15)


def write(source: Source, file: BinaryIO, measure: str) -> None:
    """measure: the value that pprof shows first; default: the peak's. inuse is live memory at the end."""
    strings = Strings()
    body = bytearray()
    values = values_of(source)
    for name, unit, _ in values:
        body += message(_SAMPLE_TYPE, number(1, strings.of(name)) + number(2, strings.of(unit)))
    _add_samples(source, [names for _, _, names in values], body)
    _add_mappings(source, strings, body)
    _add_locations(source, strings, body)
    metadata = source.trace.metadata
    known_from_ns = metadata.forgotten_before_ns
    body += number(_TIME, metadata.start_unix_ns + known_from_ns)
    body += number(_DURATION, max(0, source.trace.end.time_ns - known_from_ns))
    body += message(_PERIOD_TYPE, number(1, strings.of("space")) + number(2, strings.of("bytes")))
    body += number(_PERIOD, max(1, metadata.sample_mean_bytes))
    body += number(_DEFAULT_TYPE, strings.of(_SHOWN_FIRST[measure]))
    if warning := source.warning:
        body += number(_COMMENT, strings.of(warning))
    for text in strings.texts:
        body += message(_STRING, text.encode())
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
        packed.write(bytes(body))


def values_of(source: Source) -> list[tuple[str, str, tuple[str, ...]]]:
    """Name, unit and columns of Facts.stacks; time only if recorded."""
    is_timed = source.trace.metadata.durations_recorded
    return [value for value in _VALUES if is_timed or value[0] != "time"]


def _add_samples(source: Source, values: Sequence[tuple[str, ...]], body: bytearray) -> None:
    tree = source.trace.stack_columns
    parents, frames = tree["parent"], tree["frame"]
    columns = [source.sums(names) for names in values]
    places = [b""] * len(parents)
    own = {frame: varint(_location_id(source, frame)) for frame in set(frames)}
    for stack in range(1, len(parents)):
        places[stack] = own[frames[stack]] + places[parents[stack]]
    for stack, row in enumerate(zip(*columns, strict=True)):
        if any(row):
            packed = b"".join(varint(value) for value in row)
            body += message(_SAMPLE, message(1, places[stack]) + message(2, packed))


def _location_id(source: Source, frame: int) -> int:
    """Frames count from 1; the marks follow them."""
    if frame in MARKS:
        return len(source.trace.frame_columns["pc"]) + 1 + list(MARKS).index(frame)
    return frame + 1


def _add_mappings(source: Source, strings: Strings, body: bytearray) -> None:
    for place, module in main_first(source):
        fields = number(1, place + 1) + number(2, module.start) + number(3, module.end)
        fields += number(5, strings.of(module.path)) + number(6, strings.of(module.build_id))
        # Names are included: pprof must not look for them on its machine.
        fields += b"".join(number(flag, 1) for flag in (7, 8, 9, 10))
        body += message(_MAPPING, fields)


def main_first(source: Source) -> list[tuple[int, Module]]:
    """The modules with their numbers; pprof treats the first one as the main program."""
    program = source.trace.metadata.program
    modules = list(enumerate(source.trace.modules))
    names = (program, program.rpartition("/")[2])
    modules.sort(
        key=lambda entry: (entry[1].path != names[0], entry[1].path.rpartition("/")[2] != names[1], entry[0])
    )
    return modules


def _add_locations(source: Source, strings: Strings, body: bytearray) -> None:
    frames = Frames(source.trace)
    columns = source.trace.frame_columns
    functions: dict[tuple[str, str], int] = {}
    for frame in (*range(len(columns["pc"])), *MARKS):
        fields = number(1, _location_id(source, frame))
        if frame not in MARKS:
            module = columns["module"][frame]
            fields += number(2, module + 1) if module < len(source.trace.modules) else b""
            fields += number(3, columns["pc"][frame])
        for location in reversed(frames.locations(frame)):
            function = functions.setdefault((location.function, location.file), len(functions) + 1)
            fields += message(4, number(1, function) + number(2, location.line))
        body += message(_LOCATION, fields)
    for (name, file), place in functions.items():
        fields = number(1, place) + number(2, strings.of(name)) + number(3, strings.of(name))
        body += message(_FUNCTION, fields + number(4, strings.of(file)))
