# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/causes.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class SlowCalls(NamedTuple):
    """Slow calls of one entry point, site and class of sizes with one cause. All rows together are
    all slow calls, each in one row.
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
    """Calls of one site that made a heap of the C library larger, by brk or mprotect; blocks with a
    mapping of their own are not among them.
    """

    site: int
    calls: int
    duration_ns: int
    arena_calls: int


class KernelSums(NamedTuple):
    """What the kernel did within all calls, slow or not."""

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
    """Blocks that were mappings of their own at first, and are no more since the threshold rose."""

    calls: int
    bytes: int
