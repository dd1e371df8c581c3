# SPDX-License-Identifier: MIT
"""One remedy for free memory that stays resident, and what it is judged by."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

import sys
from collections.abc import Sequence
from typing import NamedTuple

from heapwright.explain.cause_kinds import Kinds
from heapwright.explain.joint_pins import JointPins
from heapwright.explain.replayed import BOUND, ReplayedFigure
from heapwright.explain.separation import Separation
from heapwright.model.facts import ThresholdRaise
from heapwright.model.sites import Site
from heapwright.report import units

HELPS = ("yes", "partly", "no", "set already", "unknown")
# Shares of the free memory for "yes" and "partly".
YES, PARTLY = 0.5, 0.1


# Joins the two halves of a remedy that help only together.
TOGETHER = "together with"

KINDS = (
    "unset",
    "trim",
    "arenas",
    "threshold",
    "end",
    "decay",
    "huge_pages",
    "move",
    "allocator",
    "setting",
    "foreign",
)
# Those that need no change of the program.
SETTINGS = frozenset({"unset", "arenas", "threshold", "end", "decay", "huge_pages"})
# Those that give memory back: what is used again then costs page faults.
GIVING_BACK = frozenset({"unset", "trim", "threshold", "end", "decay"})
_PAGE_BYTES = 4096


class Remedy(NamedTuple):
    """bytes: upper bound of the returned memory at the scan; None: not known. least_bytes: the certain part.

    replay_set, replay_change: the argument of replay --set or --change that tries it; "": none. judged: what
    a replay says of the bound.
    again_ns: CPU time of the page faults if all that it returns is used once again; 0: it costs none, or not
    known. run_ns: what it would have cost in this run, at most; 0: not known. rank, returns_bytes: by
    ranking.py.
    """

    kind: str
    what: str
    bytes: int | None
    helps: str
    why: str
    least_bytes: int = 0
    replay_set: str = ""
    replay_change: str = ""
    replayed: Sequence[ReplayedFigure] = ()
    judged: str = BOUND
    again_ns: int = 0
    run_ns: int = 0
    rank: int = 0
    returns_bytes: int = 0


class Case(NamedTuple):
    """What remedies are judged by.

    peak_bytes: peak of live usable bytes. fault_ns: what a page fault costs; 0: not known.
    large_blocks: made in the heap since a free raised the threshold. large_ns: what their pages would cost if
    they were mapped separately; 0: not known.
    trim_every_ms: how often a replay calls malloc_trim; 0: the memory at the scan was not read.
    move_change: the argument of replay --change that moves the blocks of the group or of the first site.
    idle_bytes: free memory that is not needed again soon.
    """

    kinds: Kinds
    raises: Sequence[ThresholdRaise]
    sites: Sequence[tuple[Site, Separation]]
    peak_bytes: int
    large_blocks: int = 0
    large_ns: int = 0
    fault_ns: float = 0.0
    joint: JointPins | None = None
    trim_every_ms: int = 0
    move_change: str = ""
    idle_bytes: int = sys.maxsize


def judged(case: Case, kind: str, what: str, gain: int, why: str, why_not: str) -> Remedy:
    """Judges a remedy by its share of the free memory."""
    part = gain / max(1, case.kinds.free_bytes)
    helps = "yes" if part >= YES else "partly" if part >= PARTLY else "no"
    return Remedy(kind, what, gain, helps, why_not if helps == "no" else why)


def priced(case: Case, remedy: Remedy) -> Remedy:
    """With what it costs to use again what it returns."""
    if remedy.kind not in GIVING_BACK:
        return remedy
    return remedy._replace(again_ns=int((remedy.bytes or 0) / _PAGE_BYTES * case.fault_ns))


def set_already(kind: str, what: str, gain: int, value: str) -> Remedy:
    """value: the remedy as NAME=VALUE."""
    return Remedy(kind, what, gain, "set already", f"{value}; {units.size(gain)} are free nevertheless")
