# SPDX-License-Identifier: MIT
"""The native module: no other of the package imports it. Numbers go in and come out as arrays."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from heapwright import _native
from heapwright._native import (
    ALLOCATING_CALLERS,
    FRAME_ALLOCATING,
    FRAME_NAMED,
    FRAME_SKIPPED,
    FRAME_UNNAMED,
    FUNNEL_CALLERS,
    BlockTable,
    EventTable,
    Facts,
    FactsReading,
    PlainTable,
    Reader,
    SymbolReading,
    TraceError,
    allocated_types,
    counters_bin_of,
    counters_constants,
    counters_layout,
    coverage_of,
    end_running,
    heap_graph_of,
    held_of,
    held_tree_of,
    kind_names,
    mapped_memory_of,
    variable_types,
    write_named_copy,
    write_unnamed_copy,
)
from heapwright._native import open as open_reader

if TYPE_CHECKING:
    from heapwright._native import Progress


def find_funnels(parents: Sequence[int], frames: Sequence[int], kinds: bytes) -> list[int]:
    """The frames that are funnels; kinds: of each frame, any beyond are skipped."""
    return _native.find_funnels(_packed(parents), _packed(frames), kinds)


def innermost_paths(
    parents: Sequence[int], frames: Sequence[int], path_of_frame: Mapping[int, int]
) -> array[int]:
    """Of each stack, the path of its innermost frame that has one other than 0."""
    known = {frame: path for frame, path in path_of_frame.items() if path != 0}  # marks have none
    paths = array("I", [0]) * (max(known, default=0) + 1)
    for frame, path in known.items():
        paths[frame] = path
    return _unpacked(_native.innermost_paths(_packed(parents), _packed(frames), paths.tobytes()))


def nested_stacks(
    parents: Sequence[int], frames: Sequence[int], kinds: Mapping[int, tuple[int, int, bool]]
) -> tuple[array[int], list[int], list[int]]:
    """As src/analyze/nested.hpp; kinds: function, group and is_site of frames that have any."""
    table = array("I", bytes(12 * (max(kinds, default=0) + 1)))
    for frame, kind in kinds.items():
        table[3 * frame : 3 * frame + 3] = array("I", kind)
    functions, own_frames, own_stacks = _native.nested_stacks(
        _packed(parents), _packed(frames), table.tobytes()
    )
    return _unpacked(functions), own_frames, own_stacks


def passages(
    sites: array[int], functions: array[int], allocations: Sequence[int]
) -> list[tuple[int, int, int, int]]:
    """As src/analyze/nested.hpp: site, function, allocations and stacks."""
    weights = allocations if isinstance(allocations, memoryview) else array("Q", allocations)
    return _native.passages(sites.tobytes(), functions.tobytes(), bytes(weights))


def number_sites(groups: array[int]) -> tuple[array[int], array[int]]:
    """The site of each stack, and the first stack of each site."""
    site_of_stack, first_stacks = _native.number_sites(groups.tobytes())
    return _unpacked(site_of_stack), _unpacked(first_stacks)


def snapshot_times(reader: Reader) -> tuple[int, ...]:
    """When the snapshots of who holds which block were taken."""
    times = array("Q")
    times.frombytes(_native.snapshot_times(reader))
    return tuple(times)


def _packed(numbers: Sequence[int]) -> bytes:
    return bytes(numbers) if isinstance(numbers, memoryview) else array("I", numbers).tobytes()


def _unpacked(numbers: bytes) -> array[int]:
    unpacked = array("I")
    unpacked.frombytes(numbers)
    return unpacked


__all__ = [
    "ALLOCATING_CALLERS",
    "FRAME_ALLOCATING",
    "FRAME_NAMED",
    "FRAME_SKIPPED",
    "FRAME_UNNAMED",
    "FUNNEL_CALLERS",
    "BlockTable",
    "EventTable",
    "Facts",
    "FactsReading",
    "PlainTable",
    "Progress",
    "Reader",
    "SymbolReading",
    "TraceError",
    "allocated_types",
    "counters_bin_of",
    "counters_constants",
    "counters_layout",
    "coverage_of",
    "end_running",
    "find_funnels",
    "heap_graph_of",
    "held_of",
    "held_tree_of",
    "innermost_paths",
    "kind_names",
    "mapped_memory_of",
    "nested_stacks",
    "number_sites",
    "open_reader",
    "passages",
    "snapshot_times",
    "variable_types",
    "write_named_copy",
    "write_unnamed_copy",
]
