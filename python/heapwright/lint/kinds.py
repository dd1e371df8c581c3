# SPDX-License-Identifier: MIT
"""The kinds of finding: what allocates, what to do about it, when not. docs/lint.md explains each."""

from __future__ import annotations

from typing import NamedTuple

PREFIX = "heapwright-"
_STOCK_GROUPS = ("performance-", "modernize-", "bugprone-")


def rule_id(name: str) -> str:
    """A kind's name in NOLINT and SARIF; clang-tidy's checks keep their names."""
    return name if name.startswith(_STOCK_GROUPS) else PREFIX + name


class Kind(NamedTuple):
    """what: a short description; fix: what generally avoids it or makes it cheaper. rules: rules of explain
    whose advice fits."""

    name: str
    what: str
    fix: str
    when_not: str
    rules: tuple[str, ...] = ()

    @property
    def rule_id(self) -> str:
        """Its name in NOLINT and SARIF."""
        return rule_id(self.name)


_OBJECTS = ("object_pool", "arena", "buffer_cache")
_BUFFERS = ("reserve", "small_vector", "reused_buffer", "buffer_cache", "arena")

KEPT_CAPACITY = Kind(
    "kept-capacity",
    "a member of reused objects keeps the capacity of its largest use",
    "trim it when the object is returned, above what most uses need (clear() keeps the capacity): "
    "object_pool does so with its named members",
    "all of them eventually need the largest capacity, and it may stay",
)
RECORDED = (
    KEPT_CAPACITY,
    Kind(
        "new-object",
        "an object is made with new",
        "make it a local or a member by value if its owner is known; otherwise give its class a private "
        "heap (class_heap), or take it from an arena",
        "its type is chosen at run time, or it outlives everything that could hold it",
        rules=_OBJECTS,
    ),
    Kind(
        "new-array",
        "an array is made with new[]",
        "keep and reuse one buffer, or take it from an arena",
        "its size varies widely and the memory must be released",
        rules=(*_BUFFERS, "object_pool"),
    ),
    Kind(
        "control-block",
        "shared_ptr(new T) makes a separate control block",
        "std::make_shared, or make_shared_private if the constructor is private",
        "weak_ptr outlive large objects, or a deleter is needed",
        rules=("make_shared",),
    ),
    Kind(
        "make-shared",
        "make_shared makes an object with its counts",
        "share one object, pass it by reference, or use unique_ptr if one owner is enough; "
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
        "reserve before the loop; use a small_vector for short ones; keep and clear one that is filled "
        "repeatedly",
        "the count is not known and it rarely grows",
        rules=_BUFFERS,
    ),
    Kind(
        "vector-copy",
        "a vector is copied",
        "pass it by reference (std::span), move it, or assign to a kept one",
        "the copy is changed, or outlives the original",
        rules=_BUFFERS,
    ),
    Kind(
        "vector-made",
        "a vector is made with its elements",
        "std::array if the size is fixed, small_vector if it is small, or assign to a kept one",
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
        "append the parts to one string with enough capacity reserved",
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
        "std::string_view if the characters outlive it; otherwise assign to a kept string",
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
        "a deque makes a block of elements, the first one even while empty",
        "a pool allocator, so that its blocks are reused; a vector or ring buffer if no references to its "
        "elements are kept",
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
        "std::function keeps its callable in a block",
        "a template parameter or a reference to the callable if it is called before this returns; otherwise "
        "capture less than 16 bytes",
        "it is kept for later, and captures more",
    ),
    Kind(
        "stream",
        "a stream makes its buffer",
        "std::to_chars or std::format_to into a kept buffer; or keep the stream and reset it with str()",
        "it is opened once",
        rules=("buffer_cache", "reused_buffer"),
    ),
    Kind(
        "exception",
        "throw makes an exception",
        "return an error if it is not rare",
        "it is rare",
    ),
    Kind(
        "implicit-copy",
        "a compiler-generated copy copies the members",
        "move the object, or pass it by reference",
        "both copies are needed",
        rules=_BUFFERS,
    ),
    Kind(
        "members",
        "a constructor makes the members",
        "make fewer of these objects, or keep and reuse them",
        "the objects are made once",
        rules=(*_OBJECTS, "reused_buffer"),
    ),
    Kind(
        "c-allocation",
        "a call to malloc or a similar function",
        "keep and reuse the block, use a local buffer if the size is small, or an arena",
        "the block is passed to another owner",
        rules=(*_BUFFERS, "object_pool"),
    ),
    Kind(
        "call",
        "a function allocates for its callers, or its source is not available",
        "call it less often, or use a variant that takes a buffer",
        "it is called once",
        rules=("reused_buffer", "object_pool", "node_pool"),
    ),
)
BY_NAME = {kind.name: kind for kind in RECORDED}
