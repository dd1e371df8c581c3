# SPDX-License-Identifier: MIT
"""What each kind of resident memory is told by."""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.explain.cause_kinds import LIVE, OTHERS, Kinds
from heapwright.model.facts import ThresholdRaise
from heapwright.report import units


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
        else "no few sites hold the end of the heap",
        "scattered": "on pages with at least one live block: no allocator gives these back"
        if kinds.allocator.family == "glibc"
        else "on pages with a live block, and free runs below 64 KiB, which may lie in used slabs",
        "untrimmed": f"{units.size(kinds.end_bytes)} of it above the last block of the main heap",
        "kept": f"by {kinds.allocator.name}" if kinds.bytes_of["kept"] else "of other allocators",
        "arenas": f"{units.counted(kinds.arenas, 'arena')} beside the main heap",
        "threshold": f"{units.counted(len(raises), 'free')} raised the size from which blocks are mapped "
        f"apart, to {units.size(largest)}"
        if raises
        else "no free raised the size from which blocks are mapped apart",
        "huge_pages": f"{units.size(moment.huge_bytes)} are on huge pages",
        "rounding": "usable less requested, and the allocator's headers",
        OTHERS: f"most: {owner}" if owner else "",
    }
