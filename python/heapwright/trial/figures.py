# SPDX-License-Identifier: MIT
"""The figures of a run, declared once."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """is_goal: worth having for its own sake; others explain. has_more: more of it is better.

    least_share: of the figure; a smaller difference is no reason to act, or no more than its own grain.
    """

    key: str
    label: str
    unit: str
    about: str
    is_goal: bool = True
    has_more: bool = False
    least_share: float = 0.01


FIGURES = (
    Figure("metric", "metric", "", "The last number that --metric prints."),
    Figure("peak_bytes", "peak", "bytes", "Peak resident memory."),
    Figure(
        "steady_bytes",
        "steady",
        "bytes",
        "Resident memory that was exceeded half of the time, in the second half of the run or the load.",
    ),
    Figure("idle_bytes", "idle", "bytes", "Resident memory of a server after its load, and the wait."),
    Figure("cpu_ns", "CPU time", "ns", "Of the program and the child processes that it waited for."),
    Figure("wall_ns", "wall", "ns", "From its start to its end; of a server, of the load."),
    Figure("minor_faults", "page faults", "count", "Without reading from a disk.", is_goal=False),
    Figure("major_faults", "major faults", "count", "With reading from a disk.", is_goal=False),
    Figure(
        "call_tail_ns",
        "call p99.9",
        "ns",
        "Of a heap call's time on the processor, in runs that give no other figure; the upper edge "
        "of a bin 19 to 25 % wide.",
        is_goal=False,
        least_share=0.26,
    ),
)
BY_KEY = {figure.key: figure for figure in FIGURES}

# More of what has these units is better, less of the others.
_RATES = ("/s", "/sec", "/second", "ps", "per second")
_NOT_RATES = frozenset("s ms us µs ns sec seconds b kb mb gb kib mib gib bytes".split())


def has_more(unit: str) -> bool | None:
    """Whether more of a metric in this unit is better; None: the unit does not tell.

    >>> has_more("req/s"), has_more("rps"), has_more("ms"), has_more("")
    (True, True, False, None)
    """
    unit = unit.lower().strip()
    if unit in _NOT_RATES:
        return False
    return True if unit.endswith(_RATES) else None
