# SPDX-License-Identifier: MIT
"""What each kind of resident memory is told by."""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.explain.cause_kinds import LIVE, OTHERS, Kinds
from heapwright.model.facts import ThresholdRaise
from heapwright.report import units

# Free memory at a heap's end that the C library would have given back.
HELD_BY_CACHES = "where small blocks in threads' caches or fast bins hold it"


def evidence_of(kinds: Kinds, raises: Sequence[ThresholdRaise], owner: str) -> dict[str, str]:
    """By kind. owner: who holds most beside the heap."""
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
        "scattered": "on pages with at least one live block, which trimming cannot give back"
        if kinds.allocator.family == "glibc"
        else "on pages with a live block, or less than 64 KiB from block to block, perhaps in a used slab",
        "untrimmed": f"{units.size(kinds.above_bytes)} of it above the last block of the main heap"
        + (f", {HELD_BY_CACHES}" if kinds.above_bytes > kinds.end_bytes else ""),
        "kept": f"by {kinds.allocator.name}" if kinds.bytes_of["kept"] else "of other allocators",
        "arenas": f"{units.counted(kinds.arenas, 'arena')} beside the main heap"
        + (f": {kinds.heaps} heaps of theirs" if kinds.heaps > kinds.arenas else ""),
        "threshold": f"{units.counted(len(raises), 'free')} raised the size from which blocks are mapped "
        f"apart, to {units.size(largest)}"
        + ("" if kinds.bytes_of["threshold"] else "; nothing free lies where such blocks lay")
        if raises
        else "a setting keeps blocks of 128 KiB and more from being mapped apart"
        if kinds.bytes_of["threshold"]
        else "no free raised the size from which blocks are mapped apart",
        "huge_pages": f"{units.size(moment.huge_bytes)} are on huge pages"
        + ("; no block lay on these since the kernel filled them" if moment.huge_unused_bytes else ""),
        "rounding": "usable less requested, and the allocator's headers",
        OTHERS: _of_others(kinds, owner),
    }


def _of_others(kinds: Kinds, owner: str) -> str:
    moment = kinds.moment
    if moment.allocator_bytes - moment.huge_unused_bytes > moment.other_bytes:
        return "most: the allocator's own, beside blocks, where no block was seen"
    return f"most: {owner}" if owner else ""
