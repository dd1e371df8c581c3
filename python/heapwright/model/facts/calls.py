# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/calls.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple

from heapwright.model.facts.latency import Latency


class ByKind(NamedTuple):
    """One entry point that was called: malloc, operator new[], ..."""

    kind: int
    calls: int
    bytes: int
    latency: Latency


class BySizeClass(NamedTuple):
    """One power-of-two class of requested sizes, both ends included."""

    from_bytes: int
    to_bytes: int
    allocations: int
    bytes: int
    overhead_bytes: int
    live_at_peak_blocks: int
    live_at_peak_bytes: int
    allocation_latency: Latency
    release_latency: Latency


class CommonSize(NamedTuple):
    """A frequently requested size."""

    size_bytes: int
    allocations: int


class SlowCall(NamedTuple):
    """One of the slowest calls."""

    begin_ns: int
    duration_ns: int
    kind: int
    thread: int
    stack: int
    size_bytes: int
    cause: int
    work: int
    faults: int
    fault_ns: int
    waited_ns: int
    preempted_ns: int
    mappings: int
    mapped_bytes: int
    small_frees: int
    small_frees_stack: int
    block_stack: int
