# SPDX-License-Identifier: MIT
"""The evidence for each kind of resident memory."""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.explain.cause_kinds import EARLIER, LIVE, OTHERS, Kinds
from heapwright.model.facts import ThresholdRaise
from heapwright.report import units

# Why the C library has not returned free memory at a heap's end.
HELD_BY_CACHES = "held by small blocks in thread caches or fast bins"


def evidence_of(kinds: Kinds, raises: Sequence[ThresholdRaise], owner: str) -> dict[str, str]:
    """The evidence by kind. owner: who holds most outside the heap."""
    moment = kinds.moment
    largest = max((one.bytes for one in raises), default=0)
    holding = kinds.holding
    return {
        LIVE: f"{units.counted(moment.live_blocks, 'block')}; "
        f"{units.size(moment.untouched_bytes)} more were never touched",
        "top": f"{units.counted(sum(of.blocks for of in holding.holders), 'block')} of "
        f"{units.counted(len(holding.holders), 'site')} ({units.size(holding.own_bytes)}) lie above"
        if holding is not None
        else "no few blocks hold free memory below the end of the heap",
        "scattered": "on pages with at least one live block, which trimming cannot return"
        if kinds.allocator.family == "glibc"
        else "on pages with a live block, or less than 64 KiB between blocks, perhaps in a used slab",
        "untrimmed": f"{units.size(kinds.above_bytes)} of it above the last block of the main heap"
        + (f", {HELD_BY_CACHES}" if kinds.above_bytes > kinds.end_bytes else ""),
        "kept": f"by {kinds.allocator.name}" if kinds.bytes_of["kept"] else "of other allocators",
        "arenas": f"{units.counted(kinds.arenas, 'arena')} besides the main heap"
        + (f": {kinds.heaps} heaps of theirs" if kinds.heaps > kinds.arenas else ""),
        "threshold": f"{units.counted(len(raises), 'free')} raised the mmap threshold "
        f"to {units.size(largest)}"
        + ("" if kinds.bytes_of["threshold"] else "; no free memory is left by such blocks")
        if raises
        else "a setting prevents separate mappings for blocks of 128 KiB or more"
        if kinds.bytes_of["threshold"]
        else "no free raised the mmap threshold",
        "huge_pages": f"{units.size(moment.huge_bytes)} are on huge pages"
        + ("; no block has used these since the kernel filled them" if moment.huge_unused_bytes else ""),
        "rounding": "usable minus requested bytes, and the allocator's headers",
        EARLIER: "no block was seen there: the recording began later",
        OTHERS: _of_others(kinds, owner),
    }


def _of_others(kinds: Kinds, owner: str) -> str:
    moment = kinds.moment
    beside = kinds.bytes_of[OTHERS] - moment.other_bytes
    if beside > moment.other_bytes:
        return "most: the allocator's own memory, where no block was seen"
    return f"most: {owner}" if owner else ""
