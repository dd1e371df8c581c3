# SPDX-License-Identifier: MIT
"""Through which nested allocators the blocks of a site come."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heapwright.model import native, nested

_RELEASES = re.compile(r"free|release|delete|destroy|reset|dealloc|~", re.IGNORECASE)


class Through(NamedTuple):
    """functions: that the site calls, those of most allocations first; none: it asks malloc itself.

    is_all: for all of its allocations. allocator: whose functions they are, as in nested.TABLE; "": found
    by its callers, or given with --skip. is_shared: later callers get other pieces of the same blocks.
    switch: the setting, NAME=VALUE, with which each object is a block of malloc; "": none.
    """

    functions: tuple[str, ...] = ()
    is_all: bool = False
    allocator: str = ""
    is_shared: bool = False
    switch: str = ""


DIRECT = Through()


class Passed(NamedTuple):
    """of_stack: the function that its site calls; 0: none. functions: by number - 1."""

    of_stack: array[int]
    functions: Sequence[str]

    def by_site(self, site_of_stack: array[int], allocations: Sequence[int]) -> dict[int, Through]:
        """Of sites that have any; allocations: of each stack. Mappings, which are none, come last."""
        ways: dict[int, list[tuple[int, int, int]]] = {}
        for site, function, weight, stacks in native.passages(site_of_stack, self.of_stack, allocations):
            if weight or (function and self._maps(function)):
                ways.setdefault(site, []).append((-weight, -stacks, function))
        return {
            site: self._sum(sorted(way)) for site, way in ways.items() if any(number for *_, number in way)
        }

    def _maps(self, number: int) -> bool:
        """Whether stacks without allocations may be of mappings that the function asks for, not of frees."""
        function = self.functions[number - 1]
        return nested.allocator_of(function) is not None and not _RELEASES.search(function)

    def _sum(self, ways: Sequence[tuple[int, int, int]]) -> Through:
        functions = [self.functions[number - 1] for *_, number in ways if number]
        names = tuple(dict.fromkeys(map(nested.spoken, functions)))
        entry = next(filter(None, map(nested.allocator_of, functions)), None)
        is_all = len(functions) == len(ways)
        if entry is None:
            return Through(names, is_all)
        return Through(names, is_all, entry.name, entry.is_shared and not entry.maps, entry.switch)


def passed_by(
    parents: Sequence[int],
    frames: Sequence[int],
    passed: Mapping[int, str],
    library_of: Mapping[int, str],
    paths: Mapping[int, Sequence[object]],
) -> tuple[Passed, list[int], list[int]]:
    """What stacks pass between their site and malloc: of several functions the outermost.

    passed: the frames of nested allocators, with the function. library_of: of all frames but marks. paths: of
    all frames, their locations that are not plumbing. Besides: the frames that are an allocator's own,
    which is all that a function in the table calls in its library, and the stacks whose innermost frame is so
    only there. O(stacks).
    """
    owning = {
        library_of[frame]
        for frame, function in passed.items()
        if (entry := nested.allocator_of(function)) and not entry.maps
    }
    groups = {library: number for number, library in enumerate(owning, 1)}
    functions = list(dict.fromkeys(passed.values()))
    numbers = {function: number for number, function in enumerate(functions, 1)}
    kinds = {}
    for frame, library in library_of.items():
        function, is_site = passed.get(frame, ""), bool(paths[frame])
        if not function and not is_site:
            continue
        entry = nested.allocator_of(function) if function else None
        is_of_group = (is_site and not function) or (entry is not None and not entry.maps)
        kinds[frame] = (numbers.get(function, 0), groups.get(library, 0) if is_of_group else 0, is_site)
    of_stack, own_frames, own_stacks = native.nested_stacks(parents, frames, kinds)
    return Passed(of_stack, functions), own_frames, own_stacks
