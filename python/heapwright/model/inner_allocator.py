# SPDX-License-Identifier: MIT
"""An allocator inside a program or a library, beside the process's, where the calls of both were recorded.

Its blocks' stacks begin with the function that was called (src/attach/recorder/recorded.hpp), at its first
instruction; other blocks' stacks begin with the caller.
"""

from __future__ import annotations

from collections.abc import Iterable

from heapwright.model.records import Metadata
from heapwright.model.symbols import Symbols

# The condition with the allocator that metadata does not name first (src/trace/records.hpp).
_BESIDE = "beside"
_FAMILY = frozenset("malloc calloc realloc memalign posix_memalign aligned_alloc valloc pvalloc".split())


def allocators_of(metadata: Metadata) -> tuple[str, ...]:
    """All whose calls were recorded, by name.

    >>> from types import SimpleNamespace as Of
    >>> allocators_of(Of(allocator="glibc 2.36", condition_values={}))
    ('glibc 2.36',)
    """
    other = metadata.condition_values.get(_BESIDE, "")
    return (metadata.allocator, other) if other else (metadata.allocator,)


def inner_of(metadata: Metadata) -> str:
    """The one inside, if there are two; otherwise "".

    >>> from types import SimpleNamespace as Of
    >>> inner_of(Of(allocator="glibc 2.36", condition_values={"beside": "mimalloc inside (mi_malloc)"}))
    'mimalloc inside (mi_malloc)'
    """
    names = allocators_of(metadata)
    if len(names) == 1:
        return ""
    own = next((name for name in names if name == "the program's own malloc"), "")
    return next((name for name in names if " inside" in name), own)


def frames_inside(metadata: Metadata, frames: Iterable[int], symbols: Symbols) -> frozenset[int]:
    """Of the frames, no marks, those of the allocator inside. Reads the program's symbols if there is one."""
    allocator = inner_of(metadata)
    if not allocator:
        return frozenset()
    name, _, function = allocator.partition(" (")
    prefix = function.removesuffix(")").removesuffix("malloc")
    file = name.partition(" inside ")[2] or metadata.program.rsplit("/", 1)[-1]
    return frozenset(
        frame
        for frame in frames
        if symbols.library(frame) == file and _is_of(symbols.locations(frame)[-1].function, prefix)
    )


def _is_of(function: str, prefix: str) -> bool:
    """
    >>> _is_of("_rjem_mallocx", "_rjem_"), _is_of("palloc", ""), _is_of("valloc", "")
    (True, False, True)
    """
    return function.startswith(prefix) if prefix else function in _FAMILY
