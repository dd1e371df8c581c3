# SPDX-License-Identifier: MIT
"""One thing that could be done about free memory that stays resident, and what it is judged by."""

# Annotations are values here: from text, every field of a NamedTuple is compiled, half of the import's time.

from collections.abc import Sequence
from typing import NamedTuple

from heapwright.explain.cause_kinds import Kinds
from heapwright.explain.replayed import ReplayedFigure
from heapwright.explain.separation import Separation
from heapwright.model.facts import ThresholdRaise
from heapwright.model.sites import Site
from heapwright.report import units

HELPS = ("yes", "partly", "no", "set already", "unknown")
# Of what is free, for "yes" and "partly".
YES, PARTLY = 0.5, 0.1


# Between the two halves of a remedy of which neither helps alone.
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


class Remedy(NamedTuple):
    """bytes: given back at most, at the scan; None: not known. least_bytes: about what is sure of it.

    replay_set: --set of a replay that tries it; "": none does.
    """

    kind: str
    what: str
    bytes: int | None
    helps: str
    why: str
    least_bytes: int = 0
    replay_set: str = ""
    replayed: Sequence[ReplayedFigure] = ()


class Case(NamedTuple):
    """What remedies are judged by.

    peak_bytes: usable, that were live at once.
    large_blocks: made in the heap since a free raised the threshold.
    """

    kinds: Kinds
    raises: Sequence[ThresholdRaise]
    sites: Sequence[tuple[Site, Separation]]
    peak_bytes: int
    large_blocks: int = 0


def judged(case: Case, kind: str, what: str, gain: int, why: str, why_not: str) -> Remedy:
    """By its share of what is free."""
    part = gain / max(1, case.kinds.free_bytes)
    helps = "yes" if part >= YES else "partly" if part >= PARTLY else "no"
    return Remedy(kind, what, gain, helps, why_not if helps == "no" else why)


def set_already(kind: str, what: str, gain: int, value: str) -> Remedy:
    """value: NAME=VALUE, which is the remedy."""
    return Remedy(kind, what, gain, "set already", f"{value}; {units.size(gain)} are free all the same")
