# SPDX-License-Identifier: MIT
"""What a block is in C++: by its virtual table, or by the names between the allocator and its own code.

Only names that state a type count: a container, an allocator, make_unique. Other blocks are what the code
makes of them that called the allocator, by debug information (symbolize/allocated_types.hpp), or not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import fsencode
from typing import TYPE_CHECKING

from heapwright.model import native
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


def of_calls(trace: Trace) -> dict[int, str]:
    """What the frames that called an allocator make of its block; of those that are known."""
    parents, frames = trace.stack_columns["parent"].tolist(), trace.stack_columns["frame"].tolist()
    callers = set(parents)
    called = sorted({frame for stack, frame in enumerate(frames) if stack and stack not in callers})
    module_of, pc = trace.frame_columns["module"], trace.frame_columns["pc"]
    by_object: dict[tuple[str, str], list[int]] = {}
    for frame in called:
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
