# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/totals.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class Totals(NamedTuple):
    """Sums over everything that passed the filter."""

    events: int
    allocations: int
    releases: int
    reallocs: int
    failed: int
    null_frees: int
    requested_bytes: int
    usable_bytes: int
    unknown_releases: int
    releases_from_before: int
    releases_in_pauses: int
    inherited_releases: int
    reused_live_addresses: int
    mapped_bytes: int
    unmapped_bytes: int
    zero_size: int
    allocator_ns: int
    span_ns: int
    size_mismatches: int
    sizes_left_out: int
    latencies_left_out: int


class Peak(NamedTuple):
    """The moment when live requested bytes were highest (exact), and what was live."""

    time_ns: int
    live_bytes: int
    live_usable_bytes: int
    live_blocks: int


class RecorderCost(NamedTuple):
    """The recording's own cost."""

    calls_ns: int
    waited_ns: int
    peak_bytes: int
    file_bytes: int
