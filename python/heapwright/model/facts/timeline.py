# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/timeline.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class TimelinePoint(NamedTuple):
    """State at the end of one of the equal steps of the recording."""

    time_ns: int
    live_bytes: int
    live_usable_bytes: int
    live_blocks: int
    highest_live_bytes: int
    usable_at_highest_bytes: int
    resident_bytes: int
    resident_file_bytes: int
    resident_shared_bytes: int
    recorder_bytes: int
    swapped_bytes: int
    page_table_bytes: int
    cgroup_charge_bytes: int
    allocations: int
    releases: int
    allocator_ns: int
