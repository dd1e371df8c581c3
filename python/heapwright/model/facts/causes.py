# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/causes.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class SlowCalls(NamedTuple):
    """Slow calls of one entry point, site and size class with one cause. Each slow call is in
    exactly one row.
    """

    kind: int
    cause: int
    work: int
    size_class: int
    site: int
    calls: int
    duration_ns: int
    descheduled_ns: int
    longest_ns: int


class HeapGrowth(NamedTuple):
    """Calls of one site that extended a heap of the C library, by brk or mprotect; does not include
    blocks with their own mapping.
    """

    site: int
    calls: int
    duration_ns: int
    arena_calls: int


class KernelSums(NamedTuple):
    """The kernel's work within all calls, slow or not."""

    faults: int
    fault_ns: int
    waits: int
    waited_ns: int
    waited_in_scans_ns: int
    preemptions: int
    preempted_ns: int
    mapping_calls: int
    mapping_ns: int
    arena_growths: int
    incomplete_calls: int
    doubtful_ns: int


class LargeHeapBlocks(NamedTuple):
    """Blocks that had their own mapping at first, but no longer since the threshold rose."""

    calls: int
    bytes: int
