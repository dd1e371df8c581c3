# SPDX-License-Identifier: MIT
"""What a block is in C++: by its virtual table, or by the names between the allocator and its own code.

Only names that state a type count: a container, an allocator, make_unique. Other blocks are what the code
makes of them that called the allocator, by debug information (symbolize/allocated_types.hpp), or not known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os import fsencode
from typing import TYPE_CHECKING, NamedTuple

from heapwright.model import libraries, native
from heapwright.model.names import qualified_parts, short_type
from heapwright.model.plumbing import is_allocator, is_plumbing
from heapwright.model.symbols import Location
from heapwright.model.values import clean

if TYPE_CHECKING:
    from heapwright.model.trace import Trace

_LIBRARY = ("std", "__gnu_cxx")
# By class of the standard library: which of its arguments is the type, and what a block of it is.
_CONTAINERS = {
    **dict.fromkeys(("vector", "_Vector_base", "__split_buffer"), (0, "elements of std::vector<{}>")),
    **dict.fromkeys(("deque", "_Deque_base"), (0, "elements of std::deque<{}>")),
    **dict.fromkeys(("list", "_List_base", "_List_node"), (0, "node of std::list<{}>")),
    **dict.fromkeys(
        ("forward_list", "_Fwd_list_base", "_Fwd_list_node"), (0, "node of std::forward_list<{}>")
    ),
    "basic_string": (0, "text of std::basic_string<{}>"),
    **dict.fromkeys(("_Sp_counted_ptr_inplace", "make_shared", "allocate_shared"), (0, "shared {}")),
    **dict.fromkeys(("_Sp_counted_ptr", "_Sp_counted_deleter"), (0, "owner of a shared {}")),
    **dict.fromkeys(("make_unique", "make_unique_for_overwrite"), (0, "{}")),
    "_Base_manager": (0, "state of a std::function: {}"),
}
# And of those with keys: its elements, and what the container is called in front of "map" or "set".
_WITH_KEYS = {
    **dict.fromkeys(("_Rb_tree_node", "__tree"), (0, "")),
    "_Rb_tree": (1, ""),
    **dict.fromkeys(("_Hash_node", "__hash_table"), (0, "unordered_")),
    **dict.fromkeys(("_Hashtable", "_Map_base"), (1, "unordered_")),
}
_ALLOCATORS = ("__new_allocator", "new_allocator", "allocator", "polymorphic_allocator")
_BUCKET = "std::__detail::_Hash_node_base*"
_BUCKETS = "buckets of an unordered container"


# Of the libraries that are nobody's call site, those whose names say a type.
_SAYING = ("libstdc++", "libc++")


class BlockTypes:
    """Of the blocks of a snapshot."""

    def __init__(self, trace: Trace, virtual_tables: Sequence[str]) -> None:
        """virtual_tables: the classes that the snapshot has, by number - 1."""
        self._classes = [of_virtual_table(name) for name in virtual_tables]
        self._by_stack: dict[int, str] = {}
        self._tree, self._symbols = trace.stack_columns, trace.symbols()
        self._made = trace.allocated_types()

    def of(self, stack: int, virtual_table: int) -> str:
        """virtual_table: 0 = none. "" = not known."""
        if virtual_table:
            return self._classes[virtual_table - 1]
        if stack not in self._by_stack:
            parents, frames = self._tree["parent"], self._tree["frame"]
            said = of_stack(stack, parents, frames, self._symbols.locations)
            self._by_stack[stack] = said or self._made.get(frames[stack], "")
        return self._by_stack[stack]


class MostType(NamedTuple):
    """The type of most of a site's blocks, of those that are known.

    share: of the site's weight. others: further types, all that is not known as one of them.
    is_most: what is not known is not more.
    """

    name: str
    weight: int
    share: float
    others: int
    is_most: bool


def most_of(weights: Mapping[str, int]) -> MostType | None:
    """The weights by type, "" = not known; None if no type is known.

    >>> most_of({"Widget": 6, "Node": 3, "": 1}), most_of({"": 4})
    (MostType(name='Widget', weight=6, share=0.6, others=2, is_most=True), None)
    """
    name = max((name for name in weights if name), key=lambda name: (weights[name], name), default="")
    weight = weights.get(name, 0)
    if not name or not weight:
        return None
    others = sum(other > 0 for other in weights.values()) - 1
    return MostType(name, weight, weight / sum(weights.values()), others, weight >= weights.get("", 0))


def by_site(
    site_of_stack: Sequence[int], types: Mapping[int, str], weights: Sequence[int]
) -> dict[int, MostType]:
    """The types of sites, of those stacks whose types are given; weights: by stack."""
    sums: dict[int, dict[str, int]] = {}
    for stack, name in types.items():
        of = sums.setdefault(site_of_stack[stack], {})
        of[name] = of.get(name, 0) + weights[stack]
    return {site: most for site, of in sums.items() if (most := most_of(of)) is not None}


def of_stacks(trace: Trace, stacks: Collection[int]) -> dict[int, str]:
    """As BlockTypes.of(), of some stacks: no more debug information is read than for these."""
    parents, frames = (trace.stack_columns[name].tolist() for name in ("parent", "frame"))
    symbols, marked = trace.symbols(), range(len(trace.frame_columns["module"]), 1 << 32)
    known: dict[int, tuple[str, str, bool]] = {}

    def said(frame: int) -> tuple[str, str, bool]:
        library = "" if frame in marked else symbols.library(frame)
        is_silent = libraries.is_plumbing(library) and not library.startswith(_SAYING)
        return ("", "", False) if frame in marked or is_silent else _said(symbols.locations(frame))

    found: dict[int, str] = {}
    for stack in stacks:
        at, allocated, container = stack, "", ""
        while at:
            frame = frames[at]
            if frame not in known:
                known[frame] = said(frame)
            container, own, is_end = known[frame]
            allocated = allocated or own
            if container or is_end:
                break
            at = parents[at]
        found[stack] = container or allocated
    unsaid = {frames[stack] for stack, text in found.items() if not text and stack}
    made = trace.allocated_types(unsaid)
    return {stack: text or made.get(frames[stack], "") for stack, text in found.items()}


def of_all_stacks(
    parents: Sequence[int],
    frames: Sequence[int],
    locations: Callable[[int], Iterable[Location]],
    made: Mapping[int, str],
) -> list[str]:
    """of_stack() of each stack, or what its frame makes. Callers have lower numbers than their callees."""
    said = {frame: _said(locations(frame)) for frame in set(frames[1:])}
    found = [("", "")]
    for parent, frame in zip(parents[1:], frames[1:], strict=True):
        container, allocated, is_end = said[frame]
        if not container and not is_end:
            outer = found[parent]
            container, allocated = outer[0], allocated or outer[1]
        found.append((container, allocated))
    return [
        container or allocated or made.get(frame, "")
        for (container, allocated), frame in zip(found, frames, strict=True)
    ]


def calling_frames(trace: Trace) -> set[int]:
    """The frames that called an allocator."""
    parents, frames = trace.stack_columns["parent"].tolist(), trace.stack_columns["frame"].tolist()
    callers = set(parents)
    return {frame for stack, frame in enumerate(frames) if stack and stack not in callers}


def of_calls(trace: Trace, called: Collection[int]) -> dict[int, str]:
    """What these frames, which called an allocator, make of its block; of those that are known."""
    module_of, pc = trace.frame_columns["module"], trace.frame_columns["pc"]
    by_object: dict[tuple[str, str], list[int]] = {}
    for frame in sorted(called):
        if frame < len(module_of) and module_of[frame] < len(trace.modules):
            module = trace.modules[module_of[frame]]
            by_object.setdefault((module.path, module.build_id), []).append(frame)
    found: dict[int, str] = {}
    for (path, build_id), its in by_object.items():
        places = [pc[frame] - trace.modules[module_of[frame]].bias for frame in its]
        root = fsencode(trace.debug_root)
        names = native.allocated_types(path.encode(), build_id, root, places)
        known = [(frame, name) for frame, name in zip(its, names, strict=True) if name]
        found |= {frame: of_virtual_table(clean(name)) for frame, name in known}
    return found


def of_virtual_table(name: str) -> str:
    """A class with virtual functions, as people write it."""
    return _container(qualified_parts(name)) or short_type(name)


def of_stack(
    stack: int, parents: Sequence[int], frames: Sequence[int], locations: Callable[[int], Iterable[Location]]
) -> str:
    """What the names of a stack say; "" = nothing. locations: of a frame, innermost first."""
    allocated = ""
    while stack:
        container, said, is_end = _said(locations(frames[stack]))
        allocated = allocated or said
        if container or is_end:
            return container or allocated
        stack = parents[stack]
    return allocated


def _said(locations: Iterable[Location]) -> tuple[str, str, bool]:
    """What a frame says: a part of a container, what was allocated, whether outer frames say nothing more."""
    allocated = ""
    for location in locations:
        if not is_plumbing(location):
            return "", allocated, True
        if is_allocator(location):
            continue
        parts = qualified_parts(location.function)
        if parts[0][0] not in _LIBRARY:
            continue
        container = _container(parts)
        if container:
            return container, allocated, True
        allocated = allocated or _allocated(parts)
    return "", allocated, False


def _container(parts: list[tuple[str, list[str]]]) -> str:
    for name, arguments in parts:
        place, text = _CONTAINERS.get(name, (len(arguments), ""))
        if place < len(arguments):
            said = text.format(short_type(arguments[place]))
            return said.replace("std::basic_string<char>", "std::string")
        place, container = _WITH_KEYS.get(name, (len(arguments), ""))
        if place < len(arguments):
            is_array = "rehash" in parts[-1][0] or "bucket" in parts[-1][0]
            return _BUCKETS if is_array else _node(container, arguments[place])
    return ""


def _node(container: str, element: str) -> str:
    """Maps have pairs, sets their keys."""
    kind, arguments = qualified_parts(element)[-1]
    if kind not in ("pair", "__value_type") or len(arguments) < 2:
        return f"node of std::{container}set<{short_type(element)}>"
    key, value = (short_type(argument) for argument in arguments[:2])
    return f"node of std::{container}map<{key.removesuffix(' const')}, {value}>"


def _allocated(parts: list[tuple[str, list[str]]]) -> str:
    for name, arguments in parts:
        if name not in _ALLOCATORS or not arguments:
            continue
        if arguments[0] == _BUCKET:
            return _BUCKETS
        return _container(qualified_parts(arguments[0])) or short_type(arguments[0])
    return ""
