# SPDX-License-Identifier: MIT
"""OpenTelemetry profiles (v1development): a ProfilesData message, one profile per value.

https://github.com/open-telemetry/opentelemetry-proto, opentelemetry/proto/profiles/v1development. The
format is still in development: tests read the output with the package opentelemetry-proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from heapwright.export.pprof import values_of
from heapwright.export.protobuf import Strings, fixed, message, number, packed
from heapwright.export.stacks import Frames, Source
from heapwright.model.sites import MARKS

# Field numbers of ProfilesDictionary. Entry 0 of each table is empty and means "none".
_MAPPINGS, _LOCATIONS, _FUNCTIONS, _LINKS, _STRINGS, _ATTRIBUTES, _STACKS = range(1, 8)
# Names from OpenTelemetry's conventions.
_BUILD_ID = "process.executable.build_id.gnu"
_FRAME_TYPE = ("profile.frame.type", "native")


def write(source: Source, file: BinaryIO, measure: str) -> None:
    """Values as in pprof, each in a separate profile: the peak's bytes first, which viewers show."""
    del measure  # all are in it
    tables = _Tables(source)
    profiles = [message(2, profile) for profile in _profiles(source, tables)]
    scope = message(1, message(1, b"heapwright"))
    described = message(1, _attribute("service.name", _program(source)))
    described += message(
        1, message(1, b"process.pid") + message(2, number(3, source.trace.metadata.process_id))
    )
    if warning := source.warning:
        described += message(1, _attribute("heapwright.incomplete", warning))
    resource = message(1, described)
    file.write(message(1, resource + message(2, scope + b"".join(profiles))))
    file.write(message(2, tables.dictionary()))


def _program(source: Source) -> str:
    return source.trace.metadata.program.rpartition("/")[2]


def _attribute(key: str, value: str) -> bytes:
    """A KeyValue with a text."""
    return message(1, key.encode()) + message(2, message(1, value.encode()))


def _profiles(source: Source, tables: _Tables) -> Iterator[bytes]:
    metadata = source.trace.metadata
    known_from_ns = metadata.forgotten_before_ns
    shared = fixed(3, metadata.start_unix_ns + known_from_ns)
    shared += number(4, max(0, source.trace.end.time_ns - known_from_ns))
    shared += message(5, tables.value_type("space", "bytes")) + number(6, max(1, metadata.sample_mean_bytes))
    values = values_of(source)
    values.sort(key=lambda value: value[0] != "peak_space")
    for name, unit, columns in values:
        body = [message(1, tables.value_type(name, unit)), shared]
        for stack, value in enumerate(source.sums(columns)):
            if value:
                body.append(message(2, number(1, tables.stack(stack)) + packed(4, [value])))
        yield b"".join(body)


class _Tables:
    """The tables that the profiles' indices refer to."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._strings = Strings()
        self._frames = Frames(source.trace)
        self._functions: dict[tuple[str, str], int] = {("", ""): 0}
        self._attributes = [b"", self._attribute(*_FRAME_TYPE)]
        self._mappings = [b"", *map(self._mapping, range(len(source.trace.modules)))]
        self._locations: dict[int, tuple[int, bytes]] = {}
        self._stacks: dict[int, tuple[int, bytes]] = {}

    def value_type(self, name: str, unit: str) -> bytes:
        """A ValueType."""
        return number(1, self._strings.of(name)) + number(2, self._strings.of(unit))

    def stack(self, stack: int) -> int:
        """The index of a stack. One without frames has index 0."""
        if stack == 0:
            return 0
        if stack not in self._stacks:
            tree, places, at = self._source.trace.stack_columns, [], stack
            while at != 0:
                places.append(self._location(tree["frame"][at]))
                at = tree["parent"][at]
            self._stacks[stack] = (len(self._stacks) + 1, packed(1, places))
        return self._stacks[stack][0]

    def dictionary(self) -> bytes:
        """A ProfilesDictionary with all entries used so far."""
        functions = [
            number(1, self._strings.of(name)) + number(3, self._strings.of(file)) if name else b""
            for name, file in self._functions
        ]
        tables = {
            _MAPPINGS: self._mappings,
            _LOCATIONS: [b"", *(entry for _, entry in self._locations.values())],
            _FUNCTIONS: functions,
            _LINKS: [b""],
            _STRINGS: [text.encode() for text in self._strings.texts],
            _ATTRIBUTES: self._attributes,
            _STACKS: [b"", *(entry for _, entry in self._stacks.values())],
        }
        return b"".join(message(field, entry) for field, entries in tables.items() for entry in entries)

    def _attribute(self, key: str, value: str) -> bytes:
        return number(1, self._strings.of(key)) + message(2, message(1, value.encode()))

    def _mapping(self, place: int) -> bytes:
        module = self._source.trace.modules[place]
        fields = number(1, module.start) + number(2, module.end) + number(4, self._strings.of(module.path))
        if not module.build_id:
            return fields
        self._attributes.append(self._attribute(_BUILD_ID, module.build_id))
        return fields + packed(5, [len(self._attributes) - 1])

    def _location(self, frame: int) -> int:
        if frame not in self._locations:
            self._locations[frame] = (len(self._locations) + 1, self._location_entry(frame))
        return self._locations[frame][0]

    def _location_entry(self, frame: int) -> bytes:
        fields = packed(4, [1])
        if frame not in MARKS:
            columns = self._source.trace.frame_columns
            module = columns["module"][frame]
            fields += number(1, module + 1 if module < len(self._source.trace.modules) else 0)
            fields += number(2, columns["pc"][frame])
        for location in reversed(self._frames.locations(frame)):
            key = (location.function, location.file)
            function = self._functions.setdefault(key, len(self._functions))
            fields += message(3, number(1, function) + number(2, location.line))
        return fields
