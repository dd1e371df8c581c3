# SPDX-License-Identifier: MIT
"""Source locations of frames: the functions, files and lines of program counters."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from heapwright.model.values import clean

SOURCES = ("none", "dynamic_symbols", "symbol_table", "debug_info")


RUNTIMES_CODE = "[jit]"  # the library of code made at run time that its runtime has named


class Location(NamedTuple):
    """One source-level frame; file is empty and line 0 where unknown."""

    function: str
    file: str
    line: int
    is_inlined: bool
    library: str

    @property
    def place(self) -> str:
        """file:line, as far as known."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file


class SymbolObject(NamedTuple):
    """Symbols found for one loaded object; `problem` says what is missing."""

    path: str
    build_id: str
    used_file: str
    source: str
    problem: str
    frames: int
    unnamed: int  # 0 until its debug info is read


class Symbols:
    """Locations of every frame, innermost inlined call first."""

    def __init__(
        self,
        columns: Mapping[str, Any],
        modules: Sequence[str],
        module_of_frame: Sequence[int],
        read_object: Callable[[int, Sequence[int]], Mapping[str, Any]],
    ) -> None:
        """modules: their names. read_object: the columns of an object that `columns` leaves out."""
        self.objects = tuple(
            SymbolObject(clean(path), clean(build_id), clean(used), SOURCES[source], clean(problem), *counts)
            for path, build_id, used, source, problem, *counts in columns["objects"]
        )
        self._modules = modules
        self._module_of_frame = module_of_frame
        self._columns = _Columns(columns)
        self._object_of_module = memoryview(columns["object_of_module"]).cast("I")
        self._read_object = read_object
        self._late: dict[int, _Columns] = {}
        self._whole: frozenset[int] = frozenset()

    def take_as_whole(self, frames: frozenset[int]) -> None:
        """Leaves out what is inlined into these frames' functions: they stand for calls, not for places."""
        self._whole = frames

    def __len__(self) -> int:
        return len(self._columns.first) - 1

    @property
    def libraries(self) -> Sequence[str]:
        """The file names of all objects, and RUNTIMES_CODE if there is any."""
        known = len(self._modules)
        has_code = any(
            module >= known and not self._columns.is_address(frame)
            for frame, module in enumerate(self._module_of_frame)
        )
        return [*self._modules, RUNTIMES_CODE] if has_code else self._modules

    def library(self, frame: int) -> str:
        """The file name of the frame's object; empty when it is in none that is known."""
        module = self._module_of_frame[frame]
        if module < len(self._modules):
            return self._modules[module]
        return "" if self._columns.is_address(frame) else RUNTIMES_CODE

    def locations(self, frame: int) -> list[Location]:
        """The frame's source-level frames, innermost first; never empty."""
        found = self._columns_of(frame).locations(frame, self.library(frame))
        return found[-1:] if frame in self._whole else found

    def at_hand(self, frame: int) -> list[Location]:
        """The same without reading anything more; empty where that would be needed."""
        return self._columns.locations(frame, self.library(frame))

    def is_unnamed(self, frame: int) -> bool:
        """True if only the frame's address in a file is known."""
        if frame >= len(self):
            return False
        return self._columns_of(frame).is_unnamed(frame, self.library(frame))

    def problems(self) -> list[str]:
        """One line for each object whose frames lack names, most frames first."""
        lacking = [found for found in self.objects if found.problem and found.frames > 0]
        return [found.problem for found in sorted(lacking, key=lambda found: -found.frames)]

    def _columns_of(self, frame: int) -> "_Columns":
        """The columns that hold the frame; reads its object now if it was left out."""
        if self._columns.has(frame):
            return self._columns
        number = self._object_of_module[self._module_of_frame[frame]]
        if number not in self._late:
            self._late[number] = _Columns(self._read_object(number, self._object_of_module))
        return self._late[number]


def _numbers(packed: bytes) -> list[int]:
    return memoryview(packed).cast("I").tolist()  # a list's numbers are made once


class _Columns:
    """One reading's locations; a frame of an object that was left out has none."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._strings = [clean(text) for text in columns["strings"]]
        self.first = _numbers(columns["first_location"])
        self._function = _numbers(columns["function"])
        self._file = _numbers(columns["file"])
        self._line = _numbers(columns["line"])
        self._is_inlined = _numbers(columns["is_inlined"])

    def has(self, frame: int) -> bool:
        return self.first[frame] != self.first[frame + 1]

    def is_address(self, frame: int) -> bool:
        return self._strings[self._function[self.first[frame]]].startswith("0x")

    def is_unnamed(self, frame: int, library: str) -> bool:
        first = self.first[frame]
        if self.first[frame + 1] - first != 1:
            return False
        return self._strings[self._function[first]].startswith(f"{library}+0x")

    def locations(self, frame: int, library: str) -> list[Location]:
        return [
            Location(
                self._strings[self._function[i]],
                self._strings[self._file[i]],
                self._line[i],
                bool(self._is_inlined[i]),
                library,
            )
            for i in range(self.first[frame], self.first[frame + 1])
        ]
