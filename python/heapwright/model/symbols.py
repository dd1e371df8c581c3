# SPDX-License-Identifier: MIT
"""Frames as source: the functions, files and lines behind program counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

SOURCES = ("none", "dynamic_symbols", "symbol_table", "debug_info")


class Location(NamedTuple):
    """One source-level frame; file is empty and line 0 where unknown."""

    function: str
    file: str
    line: int
    is_inlined: bool
    library: str


@dataclass(frozen=True, slots=True)
class SymbolObject:
    """What was found for one loaded object; `problem` says what is missing."""

    path: str
    build_id: str
    used_file: str
    source: str
    problem: str
    frames: int
    unnamed: int


class Symbols:
    """Locations of every frame, innermost inlined call first."""

    def __init__(
        self, columns: Mapping[str, Any], library_of_frame: Sequence[str], objects: Sequence[SymbolObject]
    ) -> None:
        self.objects = tuple(objects)
        self._library_of_frame = library_of_frame
        self._strings: list[str] = columns["strings"]
        self._first = memoryview(columns["first_location"]).cast("I")
        self._function = memoryview(columns["function"]).cast("I")
        self._file = memoryview(columns["file"]).cast("I")
        self._line = memoryview(columns["line"]).cast("I")
        self._is_inlined = memoryview(columns["is_inlined"]).cast("I")

    def __len__(self) -> int:
        return len(self._first) - 1

    def locations(self, frame: int) -> list[Location]:
        """The frame's source-level frames, innermost first; never empty."""
        library = self._library_of_frame[frame]
        return [
            Location(
                self._strings[self._function[i]],
                self._strings[self._file[i]],
                self._line[i],
                bool(self._is_inlined[i]),
                library,
            )
            for i in range(self._first[frame], self._first[frame + 1])
        ]

    def is_unnamed(self, frame: int) -> bool:
        """True when all that is known of the frame is its place in a file."""
        if frame >= len(self):
            return False
        first = self._first[frame]
        if self._first[frame + 1] - first != 1:
            return False
        return self._strings[self._function[first]].startswith(f"{self._library_of_frame[frame]}+0x")

    def problems(self) -> list[str]:
        """One line for each object whose frames lack names, most frames first."""
        lacking = [found for found in self.objects if found.problem and found.frames > 0]
        return [found.problem for found in sorted(lacking, key=lambda found: -found.frames)]
