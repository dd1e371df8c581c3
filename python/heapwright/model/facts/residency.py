# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/residency.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class Residency(NamedTuple):
    """The memory that the kernel counts as resident, at one scan. Each page is in exactly one sum,
    so they add up to resident_bytes; blocks are those that were live when their pages were scanned.
    """

    time_ns: int
    duration_ns: int
    is_largest: int
    is_at_live_peak: int
    is_most_free: int
    is_most_free_before_last: int
    is_last: int
    is_before_asked: int
    is_after_asked: int
    is_whole: int
    resident_bytes: int
    kernel_before_bytes: int
    kernel_after_bytes: int
    swapped_bytes: int
    huge_bytes: int
    live_blocks: int
    live_bytes: int
    untouched_bytes: int
    rounding_bytes: int
    partly_free_bytes: int
    free_page_bytes: int
    allocator_bytes: int
    other_bytes: int
    huge_unused_bytes: int
    ambiguous_bytes: int


class ResidentOwner(NamedTuple):
    """The owners of the pages without blocks, at one of the scans."""

    scan: int
    kind: int
    name: int
    site: int
    anonymous_bytes: int
    file_bytes: int


class PinSite(NamedTuple):
    """Blocks of one site that pin resident pages."""

    scan: int
    site: int
    blocks: int
    live_bytes: int
    pages: int
    pinned_bytes: int
    held_bytes: int
    usable_bytes: int
    aligned_bytes: int
    age_sum_ns: int
    shared_bytes: int


class PinSet(NamedTuple):
    """Resident pages with blocks of exactly these sites, two to eight."""

    scan: int
    first: int
    sites: int
    pages: int
    pinned_bytes: int


class PinAge(NamedTuple):
    """For one site that pins pages: what has an age from `at_least_ns` to less than ten times that."""

    scan: int
    site: int
    at_least_ns: int
    blocks: int
    pages: int
    pinned_bytes: int


class UntouchedSite(NamedTuple):
    """Large blocks of one site (64 KiB and more) and how much of them is not resident."""

    scan: int
    site: int
    blocks: int
    live_bytes: int
    untouched_bytes: int
