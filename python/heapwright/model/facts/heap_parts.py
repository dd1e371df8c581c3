# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/heap_parts.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class HeapPart(NamedTuple):
    """A part of the heap, at one of the scans. For the C library: [heap] is the main heap; each
    aligned 64 MiB range is a heap of an arena; blocks with their own mapping are "mapped blocks".
    Other allocators have one part, "heap". Sums of resident memory: used + partly_free + free_page
    + allocator = resident.
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
    """The sites that keep the end of a part from being trimmed. The sites of one part are listed
    from its end downwards: without the blocks of this site and those before it, free_bytes would be
    above the last remaining block.
    """

    scan: int
    part: int
    site: int
    blocks: int
    free_bytes: int


class ThresholdRaise(NamedTuple):
    """A free of a block that had its own mapping and was larger than any such block before: from
    then on the C library takes blocks up to this size from its arenas, unless a setting prevents
    it.
    """

    time_ns: int
    bytes: int
    site: int


class AllocatorOption(NamedTuple):
    """An allocator setting that the program made by mallopt: the last call for each parameter, from
    anywhere. Both numbers are ints in two's complement, as recorded.
    """

    parameter: int
    value: int
    time_ns: int
