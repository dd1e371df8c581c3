# SPDX-License-Identifier: MIT
"""The container that a block belongs to, by the functions between the allocator and the site."""

from __future__ import annotations

import re

from heapwright.model import Location
from heapwright.model.names import bare_name

# Decided by the first frame, from the allocator outwards, that shows it. An inlined function has only
# its header's name, without its class.
_HEADERS = {
    "stl_vector.h": "vector",
    "vector.tcc": "vector",
    "stl_bvector.h": "vector",
    "basic_string.h": "string",
    "basic_string.tcc": "string",
    "stl_tree.h": "map",
    "stl_map.h": "map",
    "stl_set.h": "map",
    "hashtable.h": "hash table",
    "hashtable_policy.h": "hash table",
    "unordered_map.h": "hash table",
    "unordered_set.h": "hash table",
    "stl_list.h": "list",
    "list.tcc": "list",
    "forward_list.h": "list",
    "forward_list.tcc": "list",
    "stl_deque.h": "deque",
    "deque.tcc": "deque",
}
_CONTAINERS = (
    ("heapwright", re.compile(r"^heapwright::")),
    ("control block", re.compile(r"^(?:std::__shared_count::)?__shared_count$")),
    ("buckets", re.compile(r"_M_allocate_buckets|_M_rehash")),
    ("vector", re.compile(r"^std::(?:vector|_Vector_base|_Bvector_base)::")),
    ("string", re.compile(r"^std::(?:basic_string|string|wstring)::")),
    ("map", re.compile(r"^std::(?:_Rb_tree|map|set|multimap|multiset)::")),
    ("hash table", re.compile(r"^std::(?:_Hashtable|unordered_\w+)::|^std::__detail::_Hashtable_alloc::")),
    ("list", re.compile(r"^std::(?:list|_List_base|forward_list|_Fwd_list_base)::")),
    ("deque", re.compile(r"^std::(?:deque|_Deque_base)::")),
)
NODES = ("map", "hash table", "list")
HOLDING = (*NODES, "vector", "deque", "buckets", "string")  # blocks or elements of their own
_ARGUMENTS = re.compile(r".*__shared_count<(.*)>(?:\(.*\))?$")


def kind_of(location: Location) -> str:
    """The container that the function belongs to; "" = no known one."""
    name = bare_name(location.function)
    for kind, pattern in _CONTAINERS:
        if pattern.search(name):
            return _control_block(location.function) if kind == "control block" else kind
    return _HEADERS.get(location.file.rsplit("/", 1)[-1], "")


_COPIED = re.compile(
    r"^(std::(?:__cxx11::)?(vector|deque|list|forward_list|map|set|multimap|multiset|unordered_\w+)<.*>)::\2"
    r"\((.*?) const&(?:, .*)?\)$"
)


def copied(location: Location) -> str:
    """The container whose copy constructor this is, as std::map; "" = it is none."""
    found = _COPIED.search(location.function)
    return f"std::{found[2]}" if found and found[1] == found[3] else ""


_MAKES_DEQUE = re.compile(r"_M_initialize_map|_M_create_nodes")
_MAKERS = (
    (
        "std::regex",
        re.compile(r"^std::(?:__cxx11::)?(?:basic_regex|__detail::_(?:Compiler|NFA|Scanner))\b"),
        "regex",
    ),
    (
        "a string stream",
        re.compile(r"^std::(?:__cxx11::)?basic_(?:[io]?stringstream|stringbuf)\b"),
        "sstream",
    ),
    (
        "an exception",
        re.compile(
            r"^__cxa_allocate_exception\b"
            r"|^std::(?:__cow_string|logic_error|runtime_error|(?:range|overflow|underflow|system)_error"
            r"|(?:domain|length)_error|invalid_argument|out_of_range)\b"
        ),
        "stdexcept",
    ),
)


def makes_deque(location: Location) -> bool:
    """Whether the function is where a deque makes its first block and its map."""
    return _MAKES_DEQUE.search(location.function) is not None


def maker_of(location: Location) -> str:
    """What builds more than its container's blocks; "" = no known one. By the header if it was inlined."""
    name, file = bare_name(location.function), location.file.rsplit("/", 1)[-1]
    return next((kind for kind, made, header in _MAKERS if made.search(name) or file.startswith(header)), "")


def _control_block(function: str) -> str:
    """The kind of shared_ptr it belongs to, by its template arguments: make_shared saves only the one
    created from a pointer."""
    arguments = _ARGUMENTS.search(function)
    if arguments is None:
        return ""
    depth, commas = 0, 0
    for letter in arguments[1]:
        depth += (letter in "<(") - (letter in ">)")
        commas += letter == "," and depth == 0
    if commas or not arguments[1].rstrip().endswith("*"):
        return "shared_ptr"
    return "control block"
