# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts/spreads.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple


class Spread(NamedTuple):
    """For an estimate from samples: an unbiased estimate of its variance, and the root of the
    largest term of that.
    """

    variance: float
    largest: float


class CallSpread(NamedTuple):
    """For allocations."""

    allocations: Spread
    bytes: Spread
    overhead: Spread


class LiveSpread(NamedTuple):
    """For what was live at the peak and at the end."""

    peak_blocks: Spread
    peak_bytes: Spread
    end_blocks: Spread
    end_bytes: Spread


class StepSpread(NamedTuple):
    """Variances of one step of the timeline."""

    live_bytes: float
    allocations: float


class Spreads(NamedTuple):
    """For each table of facts, in its order."""

    total_calls: CallSpread
    total_live: LiveSpread
    site_calls: tuple[CallSpread, ...]
    site_live: tuple[LiveSpread, ...]
    class_calls: tuple[CallSpread, ...]
    class_live: tuple[LiveSpread, ...]
    thread_calls: tuple[CallSpread, ...]
    steps: tuple[StepSpread, ...]
