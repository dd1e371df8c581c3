# SPDX-License-Identifier: MIT
"""The figures by which candidates are compared: names, units, words."""

from __future__ import annotations

from typing import NamedTuple

SCHEMA = "heapwright.replay/1"


class Figure(NamedTuple):
    """A column of the decision table."""

    key: str
    label: str
    unit: str
    is_memory: bool
    # Text for a candidate that has less of it.
    less: str
    is_shown: bool = True  # in the table of all candidates
    has_gaps: bool = False  # of the runs with the program's gaps


_AT_LOAD = "at the program's load"
FIGURES = (
    Figure("time_ns", "CPU time", "ns", False, "less time in the heap at full speed"),
    Figure("peak_bytes", "peak", "bytes", True, "less memory at the peak"),
    Figure("mean_bytes", "mean", "bytes", True, "less memory on average"),
    Figure("end_bytes", "end", "bytes", True, "less memory at the end"),
    Figure("idle_bytes", "after idle", "bytes", True, "less memory when idle", is_shown=False),
    Figure("p999_ns", "p99.9", "ns", False, "a shorter tail at full speed"),
    Figure("gaps_time_ns", "time with gaps", "ns", False, f"less time in the heap {_AT_LOAD}", False, True),
    Figure("gaps_p999_ns", "p99.9 with gaps", "ns", False, f"a shorter tail {_AT_LOAD}", False, True),
)
TAILS = ("p999_ns", "gaps_p999_ns")
# The recording has the memory at its end, but not some time later.
AT_THE_END = {"idle_bytes": "end_bytes"}
# Of a curve of memory over time.
KEYS = tuple(figure.key for figure in FIGURES if figure.is_memory and figure.key not in AT_THE_END)
