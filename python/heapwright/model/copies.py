# SPDX-License-Identifier: MIT
"""Copies of a trace with the names of their frames, readable without any other file."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Mapping
from os import PathLike, fsencode
from typing import Any

from heapwright.model import native
from heapwright.model.symbols import Location
from heapwright.model.trace import Progress, Trace
from heapwright.model.unnamed import Unnamed
from heapwright.model.unnamed_metadata import unnamed_metadata

_ALL_ADDRESSES = 1 << 64


def write_copy(
    trace: Trace, path: str | PathLike[str], anonymize: bool, progress: Progress | None = None
) -> list[str]:
    """Writes a new file; returns a line for each object with missing names.

    anonymize: replaces all names by hashes. Raises TraceError if the trace cannot be anonymized.
    """
    reader = trace._reading.reader
    columns = trace._reading.read_all_symbols(progress)
    if anonymize:
        unnamed = Unnamed(reader.metadata()["program"])
        pcs = _renumbered(trace)
        names = _names(trace, columns, unnamed, pcs)
        texts = _replacements(trace, unnamed, pcs)
        error = native.write_unnamed_copy(reader, names, texts, fsencode(path), progress)
    else:
        error = native.write_named_copy(reader, _names(trace, columns), fsencode(path), progress)
    if error:
        raise OSError(error, os.strerror(error))
    return [problem for _, _, _, _, problem, frames, _ in columns["objects"] if problem and frames]


class _Table:
    """Names of frames as stored in the file: trace::EmbeddedNames."""

    def __init__(self) -> None:
        self._strings = {"": 0}
        self._first = array("I", [0])
        self._locations = {name: array("I") for name in ("function", "file", "line", "is_inlined")}

    def add(self, locations: Iterable[Location]) -> None:
        """Adds the next frame."""
        columns = self._locations
        for location in locations:
            columns["function"].append(self._number(location.function))
            columns["file"].append(self._number(location.file))
            columns["line"].append(location.line)
            columns["is_inlined"].append(location.is_inlined)
        self._first.append(len(columns["line"]))

    def _number(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def columns(self, objects: list[tuple[int, int, str]], types: list[tuple[int, str]]) -> dict[str, Any]:
        """Input of the native module. objects: module, source, problem; types: frame, name."""
        packed = {name: column.tobytes() for name, column in self._locations.items()}
        named = {"strings": list(self._strings), "first_location": self._first.tobytes(), "objects": objects}
        named["types"] = types
        return {**named, **packed}


def _names(
    trace: Trace, columns: Mapping[str, Any], unnamed: Unnamed | None = None, pcs: array[int] | None = None
) -> dict[str, Any]:
    """columns: of symbols. A frame with only a known address gets no name: readers know it anyway."""
    modules, module_of_frame = trace.modules, trace.frame_columns["module"]
    libraries = [module.name for module in modules]
    first, *rows = (
        memoryview(columns[name]).cast("I").tolist()
        for name in ("first_location", "function", "file", "line", "is_inlined")
    )
    strings = columns["strings"]
    table = _Table()
    for frame, module in enumerate(module_of_frame):
        library = libraries[module] if module < len(modules) else ""
        found = [
            Location(strings[function], strings[file], line, bool(is_inlined), library)
            for function, file, line, is_inlined in zip(
                *(row[first[frame] : first[frame + 1]] for row in rows), strict=True
            )
        ]
        if len(found) == 1 and _is_place(found[0]):
            found = []
        if unnamed and pcs:
            start = modules[module].start if library else 0
            place = f"{unnamed.library(library)}+0x{pcs[frame] - start:x}" if found else ""
            found = [unnamed.location(location, place) for location in found]
        table.add(found)
    types = [
        (frame, unnamed.hashed("type", name) if unnamed else name)
        for frame, name in sorted(trace.allocated_types().items())
    ]
    return table.columns(_objects(columns, with_problems=unnamed is None), types)


def _is_place(location: Location) -> bool:
    place = f"{location.library}+0x" if location.library else "0x"
    return not location.file and location.function.startswith(place)


def _objects(columns: Mapping[str, Any], with_problems: bool) -> list[tuple[int, int, str]]:
    module_of: dict[int, int] = {}
    for module, number in enumerate(memoryview(columns["object_of_module"]).cast("I")):
        module_of.setdefault(number, module)
    return [
        (module_of[number], source, problem if with_problems else "")
        for number, (_, _, _, source, problem, frames, _) in enumerate(columns["objects"])
        if frames
    ]


def _renumbered(trace: Trace) -> array[int]:
    """Code addresses relative to their module's start: one for each place in an object."""
    modules, frames = trace.modules, trace.frame_columns
    numbers: dict[tuple[str, str], dict[int, int]] = {}
    pcs = array("Q")
    for pc, number in zip(frames["pc"], frames["module"], strict=True):
        module = modules[number] if number < len(modules) else None
        of_object = numbers.setdefault((module.path, module.build_id) if module else ("", ""), {})
        place = (pc - (module.bias if module else 0)) % _ALL_ADDRESSES
        pcs.append((module.start if module else 0) + of_object.setdefault(place, len(of_object) + 1))
    return pcs


def _replacements(trace: Trace, unnamed: Unnamed, pcs: array[int]) -> dict[str, Any]:
    return {
        "metadata": unnamed_metadata(trace._reading.reader.metadata(), unnamed),
        "module_paths": [unnamed.path(module.path) for module in trace.modules],
        "build_ids": [unnamed.hashed("build", module.build_id) for module in trace.modules],
        "thread_names": [unnamed.hashed("thread", thread.name) for thread in trace.threads],
        "pcs": pcs.tobytes(),
        "named": unnamed.path,
        "said": lambda text: unnamed.hashed("name", text),
    }
