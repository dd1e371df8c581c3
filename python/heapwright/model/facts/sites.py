# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/sites.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class SiteFacts(NamedTuple):
    """Facts of one site, or of one stack."""

    allocations: int
    by_operator_new: int
    bytes: int
    overhead_bytes: int
    reallocs: int
    temporaries: int
    freed_by_other_thread: int
    allocator_ns: int
    release_ns: int
    live_at_peak_blocks: int
    live_at_peak_bytes: int
    live_at_end_blocks: int
    live_at_end_bytes: int
    live_at_end_parts: int
    live_at_pause_blocks: int
    live_at_pause_bytes: int
    own_peak_bytes: int
    lifetime_sum_ns: int
    freed: int


class SiteSizes(NamedTuple):
    """The sizes requested at one site. Percentiles are accurate to 6.25 %, and exact if all sizes
    are equal.
    """

    min_bytes: int
    p50_bytes: int
    p90_bytes: int
    p99_bytes: int
    max_bytes: int
    counted: int
