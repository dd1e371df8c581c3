# SPDX-License-Identifier: MIT
"""Which call sites of several recordings are the same.

In the same build (equal build ids), they have the same address, or function, file and line. In different
builds, or if one side has fewer symbols, they have the same function and library: lines move, files are
renamed, inlining is not visible. The file counts only if both sides have functions of that name in the
same files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from heapwright.model import Location
from heapwright.model.names import short_name, without_namespaces
from heapwright.model.symbols import SOURCES

_VERSION = re.compile(r"(?:-\d[\w.]*)?\.so(?:\.[\w.]+)?$")
# What a compiler adds to the name of a part or a copy of a function.
_CLONE = re.compile(r" \[clone [^\]]*\]|\.(?:isra|constprop|part|cold|lto_priv|llvm)(?:\.\d+)*\b")
_OF_ALL_FUNCTIONS = SOURCES.index("symbol_table")
PROGRAM = ""  # as Key.library
NO_NAME = ""  # as Key.function


class Key(NamedTuple):
    """The properties that sites are matched by. file is empty and line 0 if they do not count.

    library: without version; function: NO_NAME for all of a rebuilt library without symbols on a side.
    """

    library: str
    function: str
    file: str = ""
    line: int = 0


class Known(NamedTuple):
    """Input of matching from one recording: its sites, build ids by library file, and the program's file.

    symbols: by library file, the index in SOURCES of the source of its function names.
    """

    locations: Sequence[Location]
    builds: Mapping[str, frozenset[str]]
    program: str
    symbols: Mapping[str, int] = MappingProxyType({})


Side = Sequence[Known]
_Functions = dict[tuple[str, str], set[str]]  # the files of each function of a library


def keys_of(sides: Sequence[Side]) -> list[list[list[Key]]]:
    """The key of each location of each recording of each side."""
    keys = _Keys(sides)
    return [[[keys.of(known, location) for location in known.locations] for known in side] for side in sides]


def library_of(file: str, program: str) -> str:
    """The library without its version; PROGRAM for the program itself, under any name.

    >>> library_of("libsqlite3.so.0", "shop"), library_of("libtbb-2.1.so", "shop"), library_of("shop", "shop")
    ('libsqlite3', 'libtbb', '')
    """
    if not file:
        return "?"  # code outside any file
    return PROGRAM if file == program else _VERSION.sub("", file)


class _Keys:
    def __init__(self, sides: Sequence[Side]) -> None:
        everything = [known for side in sides for known in side]
        self._by_function = by_function(everything)
        self._nameless = _exporting(everything) & unlike(everything)
        self._nameless |= self._by_function & {library for side in sides for library in _nameless(side)}
        found = [_functions(side, self._by_function) for side in sides]
        self._spelling = _respelt(found)
        respelt = [self._with_spelling(functions) for functions in found]
        self._with_file = {
            name for name, files in respelt[0].items() if all(other.get(name) == files for other in respelt)
        }

    def of(self, known: Known, location: Location) -> Key:
        library = library_of(location.library, known.program)
        if library not in self._by_function:
            function = _without_library(location)
            return Key(library, function, location.file, location.line)
        if is_unnamed(location) or library in self._nameless:
            return Key(library, NO_NAME)
        function = _plain(location.function)
        name = (library, self._spelling.get((library, function), function))
        return Key(*name, _file_name(location) if name in self._with_file else "")

    def _with_spelling(self, functions: _Functions) -> _Functions:
        found: _Functions = {}
        for (library, function), files in functions.items():
            spelling = self._spelling.get((library, function), function)
            found.setdefault((library, spelling), set()).update(files)
        return found


def rebuilt(recordings: Iterable[Known]) -> set[str]:
    """Libraries with several builds, or one without a build id, in the recordings."""
    found: dict[str, set[frozenset[str]]] = {}
    for known in recordings:
        for file, builds in known.builds.items():
            found.setdefault(library_of(file, known.program), set()).add(builds)
    return {name for name, builds in found.items() if len(builds) > 1 or "" in next(iter(builds))}


def unlike(recordings: Iterable[Known]) -> set[str]:
    """Libraries with fewer symbols in some recordings: the same build, stripped in one."""
    found: dict[str, set[int]] = {}
    for known in recordings:
        for file, source in known.symbols.items():
            found.setdefault(library_of(file, known.program), set()).add(source)
    return {name for name, sources in found.items() if len(sources) > 1}


def _exporting(recordings: Iterable[Known]) -> set[str]:
    """Libraries of which a recording names only exported functions, or none."""
    return {
        library_of(file, known.program)
        for known in recordings
        for file, source in known.symbols.items()
        if source < _OF_ALL_FUNCTIONS
    }


def by_function(recordings: Sequence[Known]) -> set[str]:
    """Libraries whose sites are matched by function: their places or names differ."""
    return rebuilt(recordings) | unlike(recordings)


def is_unnamed(location: Location) -> bool:
    """True if only an address in a file is known."""
    return bool(location.library) and location.function.startswith(f"{location.library}+0x")


def _nameless(side: Side) -> set[str]:
    """Libraries of which it names no site, so that nothing can match the other side's names."""
    of_names: dict[str, bool] = {}
    for known, location in _all(side):
        library = library_of(location.library, known.program)
        of_names[library] = of_names.get(library, False) or not is_unnamed(location)
    return {library for library, has_names in of_names.items() if not has_names}


def _without_library(location: Location) -> str:
    """Compares programs; a copy may have another name."""
    return location.function.removeprefix(location.library) if is_unnamed(location) else location.function


def _plain(function: str) -> str:
    return _CLONE.sub("", function)


def _file_name(location: Location) -> str:
    return location.file.rpartition("/")[2]


def _functions(side: Side, libraries: set[str]) -> _Functions:
    found: _Functions = {}
    for known, location in _all(side):
        library = library_of(location.library, known.program)
        if library in libraries and not is_unnamed(location):
            found.setdefault((library, _plain(location.function)), set()).add(_file_name(location))
    return found


def _all(side: Side) -> Iterator[tuple[Known, Location]]:
    for known in side:
        for location in known.locations:
            yield known, location


def _respelt(sides: Sequence[_Functions]) -> dict[tuple[str, str], str]:
    """Functions as spelled by the other side, if only one there has that name.

    Parameters change, and debug information may omit the namespace of an inlined function.
    """
    first, *others = sides
    found: dict[tuple[str, str], str] = {}
    for other in others:
        gone = set(first.keys() - other.keys())
        added = set(other.keys() - first.keys())
        for pairs in (_pairs(gone, added, short_name), _pairs_without_namespace(gone, added)):
            for old, new in pairs:
                found[new] = old[1]
                gone.discard(old)
                added.discard(new)
    return found


_Function = tuple[str, str]  # library and name


def _pairs(
    gone: set[_Function], added: set[_Function], name_of: Callable[[str], str]
) -> list[tuple[_Function, _Function]]:
    """Functions whose name is unique on each side."""
    old, new = _by_name(gone, name_of), _by_name(added, name_of)
    names = old.keys() & new.keys()
    return [(old[name][0], new[name][0]) for name in names if len(old[name]) == len(new[name]) == 1]


def _pairs_without_namespace(
    gone: set[_Function], added: set[_Function]
) -> list[tuple[_Function, _Function]]:
    """Functions whose namespace is missing on one side; two namespaces mean two functions."""
    return [
        (old, new)
        for old, new in _pairs(gone, added, _without_namespace)
        if _without_namespace(old[1]) in (short_name(old[1]), short_name(new[1]))
    ]


def _without_namespace(function: str) -> str:
    return without_namespaces(short_name(function))


def _by_name(
    functions: Iterable[_Function], name_of: Callable[[str], str]
) -> dict[_Function, list[_Function]]:
    found: dict[_Function, list[_Function]] = {}
    for library, function in functions:
        found.setdefault((library, name_of(function)), []).append((library, function))
    return found
