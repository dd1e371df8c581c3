# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/threads.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class ByThread(NamedTuple):
    """Facts of one thread."""

    allocations: int
    releases: int
    bytes: int
    allocator_ns: int
    temporaries: int
    peak_live_bytes: int


class CrossThread(NamedTuple):
    """Non-zero cells, including allocating == freeing thread. Beyond a million different pairs the
    rest is summed in the cell of other_threads.
    """

    allocating_thread: int
    freeing_thread: int
    blocks: int
    bytes: int
