# SPDX-License-Identifier: MIT
# length: one pass over the stacks, in steps that share its tables
"""Groups stacks into call sites, before anything is counted.

A stack's site is its innermost location that is not plumbing. Stacks are a
tree (a stack is a frame and the stack that called it), so a site is found in
one step from the caller's.

Functions of nested allocators (nested.py) are plumbing, and so is what they call in their own library; a site
says through which of them its blocks come.

Below a Python function, or code that a runtime has made and named, the code of
the interpreter is plumbing, and so is native code without source lines, such as
that of installed extensions: the site is that function, and says through which of
theirs its blocks come. An extension with debug information is a site of its own.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from heapwright.model import block_types, libraries, native, nested
from heapwright.model.funnels import funnels
from heapwright.model.plumbing import is_allocator, is_plumbing
from heapwright.model.symbols import RUNTIMES_CODE, Location, Symbols
from heapwright.model.through import DIRECT, Passed, Through, passed_by

FRAME_TRUNCATED = 0xFFFFFFF0
FRAME_TABLE_FULL = 0xFFFFFFF1
FRAME_TOO_DEEP = 0xFFFFFFF2
FRAME_NO_TABLES = 0xFFFFFFF3
FRAME_NO_OBJECT = 0xFFFFFFF4
FRAME_BY_FRAME_POINTER = 0xFFFFFFF5

OF_TYPE = "(type)"  # the library of what stands for a type
NO_STACK = Location("(no stack was captured)", "", 0, False, "")
NO_CONTEXT = Location("(no context)", "", 0, False, libraries.CONTEXT)
OTHER_CONTEXTS = Location("(other)", "", 0, False, libraries.CONTEXT)  # src/trace/records.hpp
NOT_OF_CODE = frozenset((OF_TYPE, libraries.CONTEXT))  # libraries of what is named without a place
_TRUNCATED = Location("(the stack could not be unwound)", "", 0, False, "")
_TABLE_FULL = Location("(the recorder's stack table was full)", "", 0, False, "")
_TOO_DEEP = Location("(the stack is deeper than --max-frames)", "", 0, False, "")
_NO_TABLES = Location("(cut: no unwind information)", "", 0, False, "")
_NO_OBJECT = Location("(cut: code in no loaded file)", "", 0, False, "")
_BY_FRAME_POINTER = Location("(by frame pointer)", "", 0, False, "")
MARKS = {
    FRAME_TRUNCATED: _TRUNCATED,
    FRAME_TABLE_FULL: _TABLE_FULL,
    FRAME_TOO_DEEP: _TOO_DEEP,
    FRAME_NO_TABLES: _NO_TABLES,
    FRAME_NO_OBJECT: _NO_OBJECT,
    FRAME_BY_FRAME_POINTER: _BY_FRAME_POINTER,
}

_OF_RUNTIMES = frozenset((libraries.PYTHON, RUNTIMES_CODE))
_INTERPRETERS = ("libjvm.so", "libnode.so", "libcoreclr.so")
# Code of a runtime itself among what it has made.
_STUB = re.compile(
    r"^(?:Builtin|BytecodeHandler|Stub|Handler|RegExp|WasmWrapper):|\b(?:[Ss]tub|adapters|Blob)\b|Stub\b"
    r"|^(?:Interpreter|StubRoutines|resolve_\w+_call|native nmethod)\b|Blob$"
)

Path = tuple[Location, ...]
NOTHING_MADE: Mapping[int, str] = MappingProxyType({})


class SiteOptions(NamedTuple):
    """How stacks become sites.

    depth: number of non-plumbing locations that identify a site.
    full_stacks: every stack is its own site.
    skip: further plumbing, matched against functions and libraries.
    by_type: blocks of which the C++ type is known are grouped by it, wherever they are allocated.
    by_context: blocks are grouped by the context that allocated them (heapwright/annotate.h).
    """

    depth: int = 1
    full_stacks: bool = False
    skip: tuple[str, ...] = ()
    by_type: bool = False
    by_context: bool = False


class Site(NamedTuple):
    """A group of stacks shown as one line; path is innermost first."""

    number: int
    path: Path
    stack: int  # one of its stacks
    through: Through = DIRECT  # set by Sites.weighed

    @property
    def location(self) -> Location:
        """The innermost location."""
        return self.path[0]

    @property
    def is_no_code(self) -> bool:
        """Whether it stands for a C++ type or a context, wherever that is allocated."""
        return self.location.library in NOT_OF_CODE

    @property
    def where(self) -> str:
        """file:line, or the library if lines are not known."""
        return self.location.place or self.location.library

    def __str__(self) -> str:
        return " < ".join(describe(location) for location in self.path)


def describe(location: Location) -> str:
    """The location in one line."""
    if location.library in NOT_OF_CODE:
        return location.function
    if location.file:
        return f"{location.function} {location.place}"
    if location.library and not location.function.startswith(f"{location.library}+"):
        return f"{location.function} [{location.library}]"
    return location.function


class Sites:
    """All sites of a trace, and which site each stack belongs to."""

    __slots__ = ("frames", "is_no_code", "is_whole", "locations", "passed", "site_of_stack", "sites")

    def __init__(
        self,
        site_of_stack: array[int],
        sites: tuple[Site, ...],
        locations: Callable[[int], Path],
        is_whole: bool = False,
        passed: Passed | None = None,
        is_no_code: bool = False,
        frames: Sequence[int] = (),
    ) -> None:
        """locations: of a frame, without plumbing, innermost first. is_whole: a site is a whole stack.

        passed: the nested allocators between the sites and malloc. is_no_code: a site may stand for a type or
        a context.
        frames: of each stack the innermost, as `locations` takes it to tell what leads to the site.
        """
        self.frames = frames
        self.is_no_code = is_no_code
        self.site_of_stack = site_of_stack
        self.sites = sites
        self.locations = locations
        self.is_whole = is_whole
        self.passed = passed

    def __len__(self) -> int:
        return len(self.sites)

    def __getitem__(self, number: int) -> Site:
        return self.sites[number]

    def __iter__(self) -> Iterator[Site]:
        return iter(self.sites)

    def weighed(self, allocations: Sequence[int]) -> Sites:
        """The same, each with the nested allocators through which its allocations, by stack, come."""
        if self.passed is None:
            return self
        found = self.passed.by_site(self.site_of_stack, allocations)
        sites = list(self.sites)
        for number, way in found.items():
            sites[number] = sites[number]._replace(through=way)
        return Sites(
            self.site_of_stack,
            tuple(sites),
            self.locations,
            self.is_whole,
            self.passed,
            self.is_no_code,
            frames=self.frames,
        )

    def matching(self, pattern: re.Pattern[str] | None, library: re.Pattern[str] | None) -> bytes:
        """One byte per site: 1 if the site matches both patterns."""

        def passes(site: Site) -> bool:
            by_name = pattern is None or pattern.search(str(site)) is not None
            return by_name and (library is None or library.search(site.location.library) is not None)

        return bytes(passes(site) for site in self.sites)


def group(
    parents: Sequence[int],
    frames: Sequence[int],
    symbols: Symbols,
    options: SiteOptions,
    made: Mapping[int, str] = NOTHING_MADE,
) -> Sites:
    """Groups all stacks; parents and frames are the stack tree's columns. made: types, by frame."""
    used = set(frames[1:])
    frame_paths = _FramePaths(symbols, _Plumbing(options.skip), _interpreters(parents, frames, symbols))
    if not options.full_stacks:
        frame_paths.skip(funnels(parents, frames, used, frame_paths.of, symbols.is_unnamed))
    marked, passed = frames, None
    if frame_paths.interpreters:
        marked = _in_runtimes(parents, frames, symbols, frame_paths)
    if not options.full_stacks:
        met = used if marked is frames else set(marked[1:])
        marked, passed = _without_own(parents, marked, met, frame_paths)
    table = _PathTable(max(1, options.depth))
    own_paths = {frame: table.number_of(frame_paths.of(frame)[: table.depth]) for frame in set(marked[1:])}
    paths = _stack_paths(parents, marked, own_paths, table)
    for stack in _places_of_zeros(paths):
        paths[stack] = table.number_of(_fallback(stack, parents, marked, frame_paths))
    if options.by_context:
        paths, passed = _context_paths(parents, frames, symbols, table), None
    elif options.by_type:
        types = block_types.of_all_stacks(parents, frames, frame_paths.all_of, made)
        paths = _type_paths(paths, types, table)
        passed = None
    groups = _whole_stacks(parents, frames, used, symbols) if options.full_stacks else paths
    site_of_stack, first_stacks = native.number_sites(groups)
    sites = tuple(Site(number, table.paths[paths[stack]], stack) for number, stack in enumerate(first_stacks))
    return Sites(
        site_of_stack,
        sites,
        frame_paths.of,
        options.full_stacks,
        passed,
        options.by_type or options.by_context,
        frames=marked,
    )


def contexts_of(frames: Sequence[int], symbols: Symbols) -> dict[int, Location]:
    """The contexts that the program named, by their frames; frames: the stack tree's column."""
    if libraries.CONTEXT not in symbols.libraries:
        return {}
    is_context = {frame for frame in set(frames[1:]) - MARKS.keys() if _is_context(symbols.library(frame))}
    return {frame: symbols.locations(frame)[0] for frame in sorted(is_context)}


def stacks_in(
    parents: Sequence[int], frames: Sequence[int], symbols: Symbols, names: Collection[str]
) -> bytes:
    """One byte per stack: 1 if its context has one of these names; NO_CONTEXT's: if it is in none."""
    contexts = contexts_of(frames, symbols)
    found = stacks_below(
        parents, frames, [frame for frame, context in contexts.items() if context.function in names]
    )
    if NO_CONTEXT.function not in names:
        return found
    named = stacks_below(parents, frames, list(contexts))
    return bytes(is_found | (1 - is_named) for is_found, is_named in zip(found, named, strict=True))


def _is_context(library: str) -> bool:
    return library == libraries.CONTEXT


def _context_paths(
    parents: Sequence[int], frames: Sequence[int], symbols: Symbols, table: _PathTable
) -> array[int]:
    """For each stack the path that consists of its context, or of NO_CONTEXT."""
    numbers = {frame: table.number_of((name,)) for frame, name in contexts_of(frames, symbols).items()}
    none = table.number_of((NO_CONTEXT,))
    return array("I", [number or none for number in native.innermost_paths(parents, frames, numbers)])


def _type_paths(paths: array[int], types: Sequence[str], table: _PathTable) -> array[int]:
    """The paths, of which those of stacks with a type consist of it."""
    numbers = {text: table.number_of((Location(text, "", 0, False, OF_TYPE),)) for text in set(types) if text}
    return array("I", [numbers.get(text, path) for text, path in zip(types, paths, strict=True)])


class _PathTable:
    """Paths by number, so that half a million stacks compare integers; 0 is the empty path."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.paths: list[Path] = [()]
        self._numbers: dict[Path, int] = {(): 0}
        self._joined: dict[tuple[int, int], int] = {}

    def number_of(self, path: Path) -> int:
        number = self._numbers.setdefault(path, len(self.paths))
        if number == len(self.paths):
            self.paths.append(path)
        return number

    def joined(self, own: int, above: int) -> int:
        """The path of `own` continued by `above`, cut at the depth."""
        number = self._joined.get((own, above))
        if number is None:
            path = (self.paths[own] + self.paths[above])[: self.depth]
            number = self._joined[own, above] = self.number_of(path)
        return number


def _stack_paths(
    parents: Sequence[int], frames: Sequence[int], own_paths: dict[int, int], table: _PathTable
) -> array[int]:
    if table.depth == 1:
        return native.innermost_paths(parents, frames, own_paths)
    parents, frames = list(parents), list(frames)  # converts numbers once
    is_short = [len(path) < table.depth for path in table.paths]
    paths = array("I", [0, *map(own_paths.__getitem__, frames[1:])])
    # Callers have lower numbers than their callees.
    for stack in [stack for stack, own in enumerate(paths) if is_short[own]][1:]:
        own, above = paths[stack], paths[parents[stack]]
        paths[stack] = table.joined(own, above) if own else above
    return paths


def _whole_stacks(
    parents: Sequence[int], frames: Sequence[int], used: Iterable[int], symbols: Symbols
) -> array[int]:
    """The same number for stacks with the same names, though their addresses may differ."""
    numbers: dict[object, int] = {}
    own = {frame: numbers.setdefault(_reading(frame, symbols), len(numbers)) for frame in used}
    known: dict[tuple[int, int], int] = {}
    stacks = array("I", [0])
    for stack in range(1, len(frames)):
        key = (stacks[parents[stack]], own[frames[stack]])
        stacks.append(known.setdefault(key, len(known) + 1))
    return stacks


def _reading(frame: int, symbols: Symbols) -> object:
    if frame in MARKS or libraries.is_plumbing(symbols.library(frame)):
        return frame  # getting its locations may mean reading debug info
    return tuple(symbols.locations(frame))


def stacks_below(parents: Sequence[int], frames: Sequence[int], wanted: Iterable[int]) -> bytes:
    """One byte per stack: 1 if it contains a wanted frame."""
    return bytes(native.innermost_paths(parents, frames, dict.fromkeys(wanted, 1)).tolist())


def _places_of_zeros(numbers: array[int]) -> list[int]:
    places: list[int] = []
    for _ in range(numbers.count(0)):
        places.append(numbers.index(0, places[-1] + 1 if places else 0))
    return places


def _interpreters(parents: Sequence[int], frames: Sequence[int], symbols: Symbols) -> frozenset[str]:
    """The file names of what runs Python functions and the like: of the frames that call one."""
    known = symbols.libraries
    if _OF_RUNTIMES.isdisjoint(known):
        return frozenset()
    library_of = _libraries_of(frames, symbols)
    callers = set()
    for parent, frame in zip(parents[1:], frames[1:], strict=True):
        if library_of[frame] in _OF_RUNTIMES:
            caller = parents[parent] if frames[parent] == FRAME_BY_FRAME_POINTER else parent
            callers.update([library_of[frames[caller]]] if caller else [])
    if RUNTIMES_CODE in known:
        callers.add("")  # other code that it has made
        callers.update(library for library in known if library.startswith(_INTERPRETERS))
        return frozenset(callers - _OF_RUNTIMES - {libraries.CONTEXT})
    return frozenset(callers - _OF_RUNTIMES - {"", libraries.CONTEXT})


def _in_runtimes(
    parents: Sequence[int], frames: Sequence[int], symbols: Symbols, frame_paths: _FramePaths
) -> array[int]:
    """The frames, numbered behind all others where they count otherwise than elsewhere.

    An interpreter runs without a Python function: at its start, and where it asks for arenas. Native code
    without source lines runs below such a function: what it calls is passed.
    """
    kind = {}
    for frame, library in _libraries_of(frames, symbols).items():
        is_native = frame not in MARKS and library not in _OF_RUNTIMES
        is_of_interpreter = is_native and library in frame_paths.interpreters
        passed = frame_paths.without_lines(frame) if is_native and not is_of_interpreter else ""
        kind[frame] = (library in _OF_RUNTIMES, is_of_interpreter, passed)
    is_below = bytearray(len(frames))  # a Python function, or is one
    marked = array("I", frames)
    for stack in range(1, len(frames)):
        is_python, is_of_interpreter, passed = kind[frames[stack]]
        is_below[stack] = is_python or is_below[parents[stack]]
        if is_of_interpreter and not is_below[stack]:
            marked[stack] += frame_paths.behind
        elif passed and is_below[stack]:
            marked[stack] += 2 * frame_paths.behind
            frame_paths.passed[marked[stack]] = passed
    return marked


def _without_own(
    parents: Sequence[int], frames: Sequence[int], used: Iterable[int], frame_paths: _FramePaths
) -> tuple[Sequence[int], Passed | None]:
    """The frames, those of a nested allocator's own code numbered behind all others; what stacks pass.

    used: the distinct ones.
    """
    paths = {frame: frame_paths.of(frame) for frame in used}
    if not frame_paths.passed:
        return frames, None
    library_of = {frame: frame_paths.library(frame) for frame in used if frame not in MARKS}
    passed = {frame: name for frame, name in frame_paths.passed.items() if frame in library_of}
    if not passed:
        return frames, None
    found, own_frames, own_stacks = passed_by(parents, frames, passed, library_of, paths)
    frame_paths.leave_out(own_frames)
    if not own_stacks:
        return frames, found
    marked = array("I", frames)
    for stack in own_stacks:
        marked[stack] += 2 * frame_paths.behind
    return marked, found


def _libraries_of(frames: Sequence[int], symbols: Symbols) -> dict[int, str]:
    return {frame: "" if frame in MARKS else symbols.library(frame) for frame in set(frames[1:])}


def _fallback(stack: int, parents: Sequence[int], frames: Sequence[int], frame_paths: _FramePaths) -> Path:
    while stack != 0:
        fallback = frame_paths.fallback_of(frames[stack])
        if fallback:
            return fallback
        stack = parents[stack]
    return (NO_STACK,)


class _FramePaths:
    """For each frame: its non-plumbing locations, and the fallback if a stack has none."""

    def __init__(self, symbols: Symbols, plumbing: _Plumbing, interpreters: frozenset[str]) -> None:
        self._symbols = symbols
        self._plumbing = plumbing
        self.interpreters = interpreters
        self.behind = len(symbols)  # of a frame without a Python function
        self._known: dict[int, Path] = {}
        self.passed: dict[int, str] = {}  # of frames that were asked for: nested allocators' functions

    def skip(self, frames: Sequence[int]) -> None:
        """Treats frames as plumbing that are not plumbing by name."""
        for frame in frames:
            if not self._symbols.is_unnamed(frame):
                self.passed[frame] = self._known[frame][-1].function
        self.leave_out(frames)

    def leave_out(self, frames: Iterable[int]) -> None:
        """The same without naming them."""
        self._known.update(dict.fromkeys(frames, ()))

    def library(self, frame: int) -> str:
        """Of its object; frame: no mark."""
        return self._symbols.library(frame % self.behind)

    def of(self, frame: int) -> Path:
        """Its non-plumbing locations."""
        known = self._known.get(frame)
        if known is None:
            known = self._known[frame] = self._find(frame)
        return known

    def without_lines(self, frame: int) -> str:
        """Its function, if there are no source lines; of a stripped one the library. "" = it is no site."""
        path = self.of(frame)
        if not path or any(location.file for location in path):
            return ""
        return path[-1].library.partition(".")[0] if self._symbols.is_unnamed(frame) else path[-1].function

    def all_of(self, frame: int) -> Iterable[Location]:
        """Its locations, those of a mark none."""
        return () if frame in MARKS else self._symbols.locations(frame)

    def fallback_of(self, frame: int) -> Path:
        """The fallback if there is only plumbing; empty for the allocator."""
        if frame in MARKS:
            return (MARKS[frame],)
        if _is_context(self.library(frame)):
            return ()
        locations = self._symbols.locations(frame % self.behind)
        rest = [location for location in locations if not is_allocator(location)]
        return (_as_site(rest[-1]),) if rest else ()

    def _find(self, frame: int) -> Path:
        # By its library if that is enough: getting locations may mean reading debug info.
        if frame in MARKS or frame >= 2 * self.behind:
            return ()
        if frame >= self.behind:
            return self._without_plumbing(frame, self._symbols.locations(frame - self.behind))
        library = self._symbols.library(frame)
        if libraries.is_plumbing(library):
            if library.startswith(nested.LIBRARIES):
                self._without_plumbing(frame, self._symbols.at_hand(frame))
            return ()
        if library in self.interpreters or _is_context(library):
            return ()
        path = self._without_plumbing(frame, self._symbols.locations(frame))
        return () if library == RUNTIMES_CODE and path and _is_of_runtime(path[0]) else path

    def _without_plumbing(self, frame: int, locations: Iterable[Location]) -> Path:
        path: list[Location] = []
        for location in locations:
            if not self._plumbing.has(location):
                path.append(_as_site(location))
            elif not path and self._plumbing.is_nested(location):
                self.passed[frame] = location.function
        return tuple(path)


def _is_of_runtime(location: Location) -> bool:
    """Not of the program: node's own functions in JavaScript, and stubs."""
    return location.file.startswith("node:") or (not location.file and bool(_STUB.search(location.function)))


def _as_site(location: Location) -> Location:
    """Inlined or not, a source line is one site."""
    if not location.is_inlined:
        return location
    return Location(location.function, location.file, location.line, False, location.library)


class _Plumbing:
    """What is plumbing by its name, and what of that a nested allocator; skip: as in SiteOptions."""

    def __init__(self, skip: Sequence[str]) -> None:
        self._further = re.compile("|".join(f"(?:{pattern})" for pattern in skip)) if skip else None

    def has(self, location: Location) -> bool:
        return is_plumbing(location) or self._is_skipped(location)

    def is_nested(self, location: Location) -> bool:
        return nested.allocator_of(location.function) is not None or self._is_skipped(location)

    def _is_skipped(self, location: Location) -> bool:
        return self._further is not None and (
            self._further.search(location.function) is not None
            or self._further.search(location.library) is not None
        )
