# SPDX-License-Identifier: MIT
"""The tables of Perfetto's stacks: interned names, mappings, frames and callstacks, and their lines.

protos/perfetto/trace/interned_data/interned_data.proto and profiling/profile_common.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heapwright.export.protobuf import Strings, message, number, text
from heapwright.export.stacks import Source
from heapwright.model import Location
from heapwright.model.sites import MARKS, NO_STACK

# Field numbers of InternedData.
_FUNCTIONS, _FRAMES, _STACKS, _BUILD_IDS, _PATHS, _MAPPINGS = 5, 6, 7, 16, 17, 19
_WORD = 2**64 - 1


class _Mapping(NamedTuple):
    """The mapping of frames: a module, or an unknown one."""

    number: int
    path: str
    build_id: bytes
    bias: int


class _Frame(NamedTuple):
    """The identity of a frame for the reader."""

    mapping: int
    address: int
    function: str


class Tables:
    """The tables that the dumps' numbers refer to, counted from 1."""

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
        """The number of the callstack; equal callstacks share it."""
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
        """InternedData with all entries used so far. A parent has a smaller number than its callstacks."""
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
    """Numbers byte strings from 1."""

    def __init__(self) -> None:
        self.places: dict[bytes, int] = {}

    def of(self, raw: bytes) -> int:
        return self.places.setdefault(raw, len(self.places) + 1)


def _path(path: str) -> str:
    """The path as the reader builds it: it begins with a slash."""
    return path if not path or path.startswith("/") else f"/{path}"


def _raw(build_id: str) -> bytes:
    """The build id's bytes; those of its text if it is not hexadecimal (anonymized)."""
    try:
        return bytes.fromhex(build_id)
    except ValueError:
        return build_id.encode()


def _strings(texts: Sequence[str]) -> list[bytes]:
    """InternedString of each except the first, which is empty."""
    return [number(1, place) + text(2, one) for place, one in enumerate(texts) if place]


def _line(location: Location) -> bytes:
    named = text(1, location.function)
    return named + text(2, location.file) + number(3, location.line) if location.file else named
