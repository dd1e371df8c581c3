# SPDX-License-Identifier: MIT
"""The kinds of finding: what allocates, what to do about it, when not. docs/lint.md has a section of each."""

from __future__ import annotations

from typing import NamedTuple

PREFIX = "heapwright-"
_STOCK_GROUPS = ("performance-", "modernize-", "bugprone-")


def rule_id(name: str) -> str:
    """As NOLINT and SARIF name a kind; clang-tidy's own checks keep their names."""
    return name if name.startswith(_STOCK_GROUPS) else PREFIX + name


class Kind(NamedTuple):
    """what: it, in a few words; fix: what removes it or makes it cheaper, in general. rules: explain's
    rules whose advice fits it."""

    name: str
    what: str
    fix: str
    when_not: str
    rules: tuple[str, ...] = ()

    @property
    def rule_id(self) -> str:
        """As NOLINT and SARIF name it."""
        return rule_id(self.name)


_OBJECTS = ("object_pool", "arena", "buffer_cache")
_BUFFERS = ("reserve", "small_vector", "reused_buffer", "buffer_cache", "arena")

KEPT_CAPACITY = Kind(
    "kept-capacity",
    "a member of objects that are used again keeps the room of its largest use",
    "trim it where the object is put back, above what most uses need (clear() keeps the room): object_pool "
    "does so with the members it is given",
    "all of them need the largest room sooner or later, and it may stay",
)
RECORDED = (
    KEPT_CAPACITY,
    Kind(
        "new-object",
        "an object is made with new",
        "make it a local or a member by value where its owner is known; otherwise give its class a private "
        "heap (class_heap), or take it from an arena",
        "its type is chosen at run time, or it outlives everything that could hold it",
        rules=_OBJECTS,
    ),
    Kind(
        "new-array",
        "an array is made with new[]",
        "keep one buffer and use it again, or take it from an arena",
        "its size differs widely and the memory must be given back",
        rules=(*_BUFFERS, "object_pool"),
    ),
    Kind(
        "control-block",
        "shared_ptr(new T) makes a control block beside the object",
        "std::make_shared, or make_shared_private where the constructor is private",
        "weak_ptr outlive large objects, or a deleter is needed",
        rules=("make_shared",),
    ),
    Kind(
        "make-shared",
        "make_shared makes an object with its counts",
        "share one object, pass it by reference, or unique_ptr where one owner is enough; "
        "std::allocate_shared from a pool",
        "it has several owners and lives as long as the last of them",
        rules=_OBJECTS,
    ),
    Kind(
        "make-unique",
        "make_unique makes an object",
        "make it a local or a member by value, or take it from an object pool",
        "its type is chosen at run time",
        rules=_OBJECTS,
    ),
    Kind(
        "vector-growth",
        "a vector grows",
        "reserve before the loop; for short ones a small_vector; for one that is filled again and again, "
        "keep it and clear it",
        "the count is not known and it grows seldom",
        rules=_BUFFERS,
    ),
    Kind(
        "vector-copy",
        "a vector is copied",
        "pass it by reference (std::span), move it, or assign into one that is kept",
        "the copy is changed, or outlives the original",
        rules=_BUFFERS,
    ),
    Kind(
        "vector-made",
        "a vector is made with its elements",
        "std::array where the size is fixed, small_vector where it is small, or keep one and assign into it",
        "it is large, made once, and kept",
        rules=_BUFFERS,
    ),
    Kind(
        "string-growth",
        "a string grows",
        "reserve, or append to one that is kept and cleared",
        "its length is not known and it is built once",
        rules=_BUFFERS,
    ),
    Kind(
        "string-concatenation",
        "operator+ makes a string for each part",
        "append the parts to one string that has reserved their sum",
        "it is short enough to need no block",
        rules=_BUFFERS,
    ),
    Kind(
        "string-copy",
        "a string is copied",
        "pass std::string_view or a reference, or move it",
        "the copy is kept and the original changes or ends",
        rules=_BUFFERS,
    ),
    Kind(
        "string-made",
        "a string is made from characters",
        "std::string_view where the characters outlive it; otherwise assign into a string that is kept",
        "it is kept and the characters are not",
        rules=_BUFFERS,
    ),
    Kind(
        "node-insert",
        "a container makes a node for each element",
        "a node pool for the container, or a sorted vector or open hash table",
        "elements are few, or references to them must stay valid",
        rules=("node_pool", "arena"),
    ),
    Kind(
        "buckets",
        "a hash table makes its buckets",
        "reserve the number of elements",
        "the table is made once",
        rules=("reserve", "reused_buffer"),
    ),
    Kind(
        "deque-chunk",
        "a deque makes a block of elements, the first one even while it is empty",
        "an allocator from a pool, so that its blocks are used again; a vector or ring buffer where no "
        "references to its elements are kept",
        "elements are added at both ends and references must stay valid",
        rules=_BUFFERS,
    ),
    Kind(
        "container-copy",
        "a container is copied, element by element",
        "pass it by reference, or move it",
        "the copy is changed, or outlives the original",
        rules=("node_pool", "arena"),
    ),
    Kind(
        "function-object",
        "std::function keeps what it calls in a block",
        "a template parameter or a reference to the callable where it is called before this ends; capture "
        "less than 16 bytes otherwise",
        "it is kept for later, and captures more",
    ),
    Kind(
        "stream",
        "a stream makes its buffer",
        "std::to_chars or std::format_to into a buffer that is kept; or keep the stream and str() it anew",
        "it is opened once",
        rules=("buffer_cache", "reused_buffer"),
    ),
    Kind(
        "exception",
        "throw makes an exception",
        "return an error where it is not rare",
        "it is rare",
    ),
    Kind(
        "implicit-copy",
        "a copy that the compiler wrote copies the members",
        "move the object, or pass it by reference",
        "both copies are needed",
        rules=_BUFFERS,
    ),
    Kind(
        "members",
        "a constructor makes the members",
        "make fewer of these objects, or keep them and use them again",
        "the objects are made once",
        rules=(*_OBJECTS, "reused_buffer"),
    ),
    Kind(
        "c-allocation",
        "a call of malloc or its like",
        "keep the block and use it again, a local buffer where the size is small, or an arena",
        "the block is given to somebody else",
        rules=(*_BUFFERS, "object_pool"),
    ),
    Kind(
        "call",
        "a function allocates for its callers, or its source is not here",
        "call it less often, or its form that takes a buffer",
        "it is called once",
        rules=("reused_buffer", "object_pool", "node_pool"),
    ),
)
BY_NAME = {kind.name: kind for kind in RECORDED}
