# SPDX-License-Identifier: MIT
"""Finds allocation wrappers that are none by name alone.

A funnel is a frame through which many different callers get their memory, and
that has no name or one that speaks of allocating; src/analyze/funnels.hpp
finds them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from heapwright.model import native
from heapwright.model.names import bare_name
from heapwright.model.symbols import Location

MIN_CALLERS = native.FUNNEL_CALLERS
MIN_CALLERS_BY_NAME = native.ALLOCATING_CALLERS

# ngx_alloc, AllocateHeap, apr_palloc, Arena::grow, sdsnewlen, strbuf_grow, Pool::get_memory
_SPEAKS_OF_ALLOCATING = re.compile(
    r"alloc|new_?(?:len|size|node|block|object)|grow|reserve|enlarge|(?:get|obtain)_?mem", re.IGNORECASE
)


def speaks_of_allocating(locations: Sequence[Location]) -> bool:
    """True when all these functions do by their names."""
    return all(
        _SPEAKS_OF_ALLOCATING.search(bare_name(found.function).rsplit("::", 1)[-1]) for found in locations
    )


def funnels(
    parents: Sequence[int],
    frames: Sequence[int],
    used: Iterable[int],
    locations: Callable[[int], Sequence[Location]],
    is_unnamed: Callable[[int], bool],
) -> list[int]:
    """The frames to look through, beside those that are skipped anyway.

    used: the distinct ones; locations: those of a frame that are not plumbing.
    """
    seen = {frame: _kind(locations(frame), is_unnamed(frame)) for frame in used if locations(frame)}
    if all(kind == native.FRAME_NAMED for kind in seen.values()):
        return []
    kinds = bytearray([native.FRAME_SKIPPED]) * (max(seen) + 1)  # any beyond are skipped, too
    for frame, kind in seen.items():
        kinds[frame] = kind
    return native.find_funnels(parents, frames, bytes(kinds))


def _kind(locations: Sequence[Location], is_unnamed: bool) -> int:
    if is_unnamed:
        return native.FRAME_UNNAMED
    return native.FRAME_ALLOCATING if speaks_of_allocating(locations) else native.FRAME_NAMED
