# SPDX-License-Identifier: MIT
"""The order of remedies for memory that stays resident: headline, page and JSON name its first."""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.explain import replayed
from heapwright.explain.remedy import HELPS, SETTINGS, Remedy

# What a byte counts for that takes one call in the program, and one that takes more code: a setting that
# returns about as much is tried at once.
_ONE_CALL, _CODE = 0.9, 0.6
# What a byte of a bound counts for that a replay could try beside others, but had no time for.
_OF_BOUND = 0.5
# Of remedies this near, the one for the cause itself comes first.
_NEAR = 0.9
# The remedy specific to a kind of free memory.
_CURES = {
    "threshold": "threshold",
    "arenas": "arenas",
    "kept": "decay",
    "scattered": "move",
    "top": "move",
    "untrimmed": "trim",
    "huge_pages": "huge_pages",
}


def ranked(found: Sequence[Remedy], cause: str, is_leak: bool = False) -> list[Remedy]:
    """Those that stand come first, best first, with their rank from 1 on: what returns most at an acceptable
    cost. cause: the kind with most bytes. is_leak: the blocks that pin it leak.

    Of about equal ones, those that a replay has measured come first; a setting that keeps the memory is
    itself the cause, and the cause's own remedy comes next. A leak is to be fixed.
    """
    known = [one._replace(returns_bytes=_returned(one), rank=0) for one in found]
    standing = list(filter(_stands, known))
    is_tried = any(one.judged == replayed.MEASURED for one in standing)
    standing.sort(key=lambda one: _weight(one, is_tried), reverse=True)
    near = [one for one in standing if _is_near(one, standing[0])]
    own = ("unset", _CURES.get(cause))
    near.sort(
        key=lambda one: (
            not (is_leak and one.kind == "move"),
            one.judged != replayed.MEASURED,
            own.index(one.kind) if one.kind in own else len(own),
        )
    )
    order = [*near, *(one for one in standing if one not in near)]
    rest = [one for one in known if not _stands(one)]
    rest.sort(key=lambda one: (HELPS.index(one.helps), -(one.bytes or 0)))
    return [*(one._replace(rank=rank) for rank, one in enumerate(order, 1)), *rest]


def _is_near(remedy: Remedy, best: Remedy) -> bool:
    """It returns about as much as the best one, and is a setting like it or takes code like it."""
    is_alike = (remedy.kind in SETTINGS) == (best.kind in SETTINGS)
    return is_alike and remedy.returns_bytes >= _NEAR * best.returns_bytes


def _stands(remedy: Remedy) -> bool:
    """It helps, or a replay has shown it; at a cost below what a replay refutes."""
    if remedy.judged == replayed.MEASURED:
        return remedy.returns_bytes > 0
    return remedy.helps in ("yes", "partly") and remedy.judged != replayed.REFUTED


def _weight(remedy: Remedy, is_tried: bool) -> float:
    """is_tried: a replay has measured others."""
    is_untried = is_tried and not remedy.replayed and bool(remedy.replay_set or remedy.replay_change)
    ease = 1.0 if remedy.kind in SETTINGS else _ONE_CALL if remedy.kind == "trim" else _CODE
    return ease * (_OF_BOUND if is_untried else 1.0) * remedy.returns_bytes


def _returned(remedy: Remedy) -> int:
    """As measured at the scan, or else the bound."""
    if remedy.judged != replayed.MEASURED:
        return remedy.bytes or 0
    measured = [one for one in remedy.replayed if one.unit == "bytes" and one.verdict == "better"]
    at_scan = [one for one in measured if one.label == replayed.AT_SCAN]
    return int(max((-one.difference for one in at_scan or measured), default=0))
