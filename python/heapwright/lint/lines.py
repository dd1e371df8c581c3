# SPDX-License-Identifier: MIT
"""Groups stacks by the nearest line in the user's sources, and by the function called there.

A line often allocates in a library's header, inlined or not: what counts is the innermost place in one of
the user's files, and the function that it called.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from typing import NamedTuple

from heapwright.explain.advice import containers
from heapwright.lint.sources import Sources
from heapwright.model import Location, Site, Sites, Trace
from heapwright.model.names import bare_name
from heapwright.model.plumbing import is_allocator
from heapwright.model.sites import MARKS

Place = tuple[str, int]  # the user's file, and the line

# Kinds by the functions between allocator and line, besides explain's containers.
_BY_HEADER = {
    "std_function.h": "function",
    "sstream": "stream",
    "sstream.tcc": "stream",
    "fstream.tcc": "stream",
    "shared_ptr_base.h": "shared_ptr",
    "shared_ptr.h": "shared_ptr",
    "unique_ptr.h": "unique_ptr",
}
_BY_NAME = (
    ("function", ("std::_Function_", "std::function")),
    ("exception", ("__cxa_allocate_exception",)),
    ("shared_ptr", ("std::__shared_", "std::make_shared", "std::allocate_shared", "std::shared_ptr")),
    ("unique_ptr", ("std::make_unique",)),
    (
        "stream",
        ("std::basic_stringbuf", "std::basic_filebuf", "std::basic_ostringstream", "std::basic_stringstream",
         "std::basic_istringstream"),
    ),
)  # fmt: skip


class Group(NamedTuple):
    """Stacks with the same line and the same function called there.

    place: None if no frame is the user's. callee: the function called by the line towards the allocator; ""
    = the allocator itself. kind: the kind of blocks by the functions between; "" = unknown.
    stack: one of the stacks.
    """

    place: Place | None
    location: Location
    callee: str
    callee_file: str
    kind: str
    stack: int


class Groups(NamedTuple):
    """of_stack: the number of each stack's group."""

    of_stack: array[int]
    groups: list[Group]

    def as_sites(self, like: Sites) -> Sites:
        """The sites as used by explain's rules."""
        sites = tuple(
            Site(number, (group.location,), group.stack) for number, group in enumerate(self.groups)
        )
        return Sites(self.of_stack, sites, like.locations, frames=like.frames)


class _Frame(NamedTuple):
    """Facts of a frame: its innermost place in the user's sources, the function called there, the outermost
    function if it has no place, and the kind of block."""

    location: Location | None
    place: Place | None
    callee: Location | None
    kind: str


def group(trace: Trace, sources: Sources, transparent: Collection[Place] = ()) -> Groups:
    """transparent: lines to skip, attributing their blocks to callers."""
    sites = trace.sites()
    frames = _Frames(trace, sites, sources, transparent)
    parents, frame_of = trace.stack_columns["parent"].tolist(), trace.stack_columns["frame"].tolist()
    # For each stack: its place and the location there, the function called there, the kind of block.
    state: list[tuple[Location | None, Place | None, Location | None, str]] = [(None, None, None, "")]
    groups: list[Group] = []
    numbers: dict[object, int] = {}
    of_stack = array("I", [0]) * len(frame_of)
    for stack in range(1, len(frame_of)):
        own = frames.of(frame_of[stack])
        if own.place is not None:
            state.append((own.location, own.place, own.callee, own.kind))
        else:
            location, place, callee, kind = state[parents[stack]]
            state.append((location, place, callee or own.callee, own.kind or kind))
    for stack in range(len(frame_of)):
        location, place, callee, kind = state[stack]
        site = sites[sites.site_of_stack[stack]]
        key: object = site.number
        if place is not None and location is not None:
            name = bare_name(callee.function) if callee else ""
            key = (place, name, kind)
        number = numbers.setdefault(key, len(groups))
        if number == len(groups):
            called = callee if place is not None else None
            groups.append(
                Group(
                    place,
                    location if place is not None and location else site.location,
                    called.function if called else "",
                    called.file if called else "",
                    kind,
                    stack,
                )
            )
        of_stack[stack] = number
    return Groups(of_stack, groups)


def callers(trace: Trace, sources: Sources, stack: int, own: Place) -> Iterator[tuple[Place, Location]]:
    """The user's places in a stack beyond its own, innermost first."""
    is_past = False
    for location in trace.stack(stack):
        file = sources.find(location.file)
        if not file:
            continue
        place = (file, location.line)
        if is_past and place != own:
            yield place, location
        is_past = is_past or place == own


class _Frames:
    def __init__(self, trace: Trace, sites: Sites, sources: Sources, transparent: Collection[Place]) -> None:
        self._symbols = trace.symbols()
        self._sites = sites
        self._sources = sources
        self._transparent = transparent
        self._known: dict[int, _Frame] = {}

    def of(self, frame: int) -> _Frame:
        known = self._known.get(frame)
        if known is None:
            known = self._known[frame] = self._find(frame)
        return known

    def _find(self, frame: int) -> _Frame:
        if frame in MARKS:
            return _Frame(None, None, None, "")
        inner: Location | None = None
        kind = ""
        own = {location[:3] for location in self._sites.locations(frame)}  # without plumbing
        for location in self._symbols.locations(frame):
            file = self._sources.find(location.file)
            place = (file, location.line)
            if file and location.line and location[:3] in own and place not in self._transparent:
                return _Frame(location, place, inner, kind)
            if not is_allocator(location):
                inner = location
            kind = kind or kind_of(location)
        return _Frame(None, None, inner, kind)


def kind_of(location: Location) -> str:
    """The kind of a block, by one function on the way to the allocator."""
    found = containers.kind_of(location)
    if found and found != "heapwright":
        return found
    name = bare_name(location.function)
    for kind, beginnings in _BY_NAME:
        if name.startswith(beginnings):
            return kind
    return _BY_HEADER.get(location.file.rsplit("/", 1)[-1], "")
