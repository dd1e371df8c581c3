# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/heap_parts.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class HeapPart(NamedTuple):
    """A part of the heap, at one of the scans. Of the C library: [heap] is the main heap, 64 MiB
    that are aligned to as much are one of an arena's, blocks with a mapping of their own are
    "mapped blocks". Of other allocators all is one part, "heap". Sums of resident memory: used +
    partly_free + free_page + allocator = resident.
    """

    scan: int
    kind: int
    address: int
    blocks: int
    resident_bytes: int
    used_bytes: int
    partly_free_bytes: int
    free_page_bytes: int
    allocator_bytes: int
    above_last_bytes: int
    short_free_bytes: int
    large_free_bytes: int


class PartHolder(NamedTuple):
    """Who keeps the end of a part from being given back. The sites of one part come from its end
    downwards: without the blocks of this one and those before it, free_bytes would lie above the
    last block that is left.
    """

    scan: int
    part: int
    site: int
    blocks: int
    free_bytes: int


class ThresholdRaise(NamedTuple):
    """A free of a block that had a mapping of its own and was larger than any such before: from
    then on the C library takes blocks up to this size from its arenas, unless a setting forbids it.
    """

    time_ns: int
    bytes: int
    site: int


class AllocatorOption(NamedTuple):
    """A setting that the program gave its allocator by mallopt: of each parameter the last call,
    wherever it was. Both numbers are ints in two's complement, as they are recorded.
    """

    parameter: int
    value: int
    time_ns: int
