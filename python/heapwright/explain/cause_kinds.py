# SPDX-License-Identifier: MIT
"""Sorts what is resident at one scan by what keeps it there: every byte is in one kind.

What is free inside a heap has several causes with cures of their own. The kinds follow from where the
free pages lie: in which arena, below or beside whose blocks, whether large blocks lay there before,
whether huge pages hold them.
"""

# Annotations are values here: from text, every field of a NamedTuple is compiled, half of the import's time.

import sys
from typing import NamedTuple

from heapwright.explain.allocators import Allocator
from heapwright.explain.arenas import arenas_at_most
from heapwright.explain.report import Report
from heapwright.explain.settings import FIRST_MMAP_THRESHOLD, MMAP_THRESHOLD, most_end_bytes
from heapwright.model.facts import HeapPart, PartHolder, PinSite, Residency, ThresholdRaise

# So many sites at most are "a few" that hold a heap's end.
_FEW_SITES = 3
# They hold it if without them so much of what is free in it would lie at its end,
_HELD_SHARE = 0.5
# they themselves are at most so much of that, and so many pages are free for each of their blocks.
_OWN_SHARE = 0.25
_PAGES_A_BLOCK = 4

_WORTH_ARENA_BYTES = 64 << 10

LIVE, OTHERS = "live", "others"
NAMES = {
    LIVE: "live",
    "top": "held below blocks of few sites",
    "scattered": "beside live blocks",
    "untrimmed": "whole pages, not given back",
    "kept": "whole pages, kept by the allocator",
    "arenas": "in further arenas",
    "threshold": "left by large blocks",
    "huge_pages": "unused parts of huge pages",
    "rounding": "rounding and headers",
    OTHERS: "not the heap",
}
# What an allocator keeps free; the rest is used by somebody.
FREE = ("top", "scattered", "untrimmed", "kept", "arenas", "threshold", "huge_pages")
# Of the C library's heap alone.
OF_GLIBC = frozenset({"top", "untrimmed", "arenas", "threshold"})


class Holding(NamedTuple):
    """The sites whose blocks hold the end of the heap with most free memory."""

    holders: tuple[PartHolder, ...]
    free_bytes: int  # that would lie at its end without them
    own_bytes: int  # usable, of their blocks wherever they are


class Kinds(NamedTuple):
    """One scan, sorted."""

    moment: Residency
    parts: tuple[HeapPart, ...]  # most free bytes first
    bytes_of: dict[str, int]
    holding: Holding | None
    allocator: Allocator
    most_arenas: int  # beside the main heap, as far as threads tell
    # What the C library keeps at a heap's end at most: with more, a free would have given it back. What lies
    # above the last block beyond that is held there: by blocks in threads' caches, or in fast bins.
    most_end_bytes: int = sys.maxsize

    @property
    def free_bytes(self) -> int:
        """What the heap keeps beside live blocks and their rounding."""
        return sum(self.bytes_of[kind] for kind in FREE)

    @property
    def largest(self) -> str:
        """The kind of free memory with most bytes."""
        return max(FREE, key=lambda kind: self.bytes_of[kind])

    @property
    def trimmable_bytes(self) -> int:
        """What malloc_trim(0) gives back at most: whole free pages, but not the ends of further arenas."""
        return sum(part.free_page_bytes - _end_bytes(self, part) for part in self.parts)

    @property
    def end_bytes(self) -> int:
        """Free pages at the end of the main heap."""
        return min(self.above_bytes, self.most_end_bytes)

    @property
    def above_bytes(self) -> int:
        """Free pages above the last block of the main heap."""
        return sum(
            min(part.above_last_bytes, part.free_page_bytes)
            for part in self.parts
            if not is_arena(self.allocator, part)
        )

    @property
    def arena_free_bytes(self) -> int:
        """Whole free pages of the C library's heaps beside the main one."""
        return sum(part.free_page_bytes for part in self.parts if is_arena(self.allocator, part))

    @property
    def heaps(self) -> int:
        """Heaps of the C library beside the main one, with blocks or free memory worth a word."""
        return sum(
            is_arena(self.allocator, part)
            and (part.blocks != 0 or part.free_page_bytes >= _WORTH_ARENA_BYTES)
            for part in self.parts
        )

    @property
    def arenas(self) -> int:
        """Arenas of which these heaps are, at most: one has as many heaps as it needs."""
        return min(self.heaps, self.most_arenas)

    def shared_bytes(self, peak_bytes: int) -> int:
        """What one heap for all threads would not keep, if blocks that stay held all the rest of it.

        peak_bytes: usable, that were live at once: so large the one heap has been.
        """
        above = sum(_end_bytes(self, part) for part in self.parts)
        return above + max(0, self.resident_bytes - above - peak_bytes)

    @property
    def resident_bytes(self) -> int:
        """Of the heap, with what lives in it."""
        return sum(part.resident_bytes for part in self.parts)


def _end_bytes(kinds: Kinds, part: HeapPart) -> int:
    end = min(part.above_last_bytes, part.free_page_bytes, kinds.most_end_bytes)
    return end if is_arena(kinds.allocator, part) else 0


def is_arena(allocator: Allocator, part: HeapPart) -> bool:
    """True of a heap of the C library other than the main one."""
    return allocator.family == "glibc" and part.address % (64 << 20) == 0


def kinds_at(report: Report, scan: int) -> Kinds:
    """What is resident at this one of the joined scans, by kind."""
    facts = report.facts
    moment = facts.residency[scan]
    allocator = report.allocator
    parts = tuple(part for part in facts.heap_parts if part.scan == scan)
    headers = min(moment.partly_free_bytes, sum(part.blocks for part in parts) * allocator.header_bytes)
    bytes_of = dict.fromkeys(NAMES, 0)
    bytes_of[LIVE] = moment.live_bytes - moment.untouched_bytes
    bytes_of["rounding"] = moment.rounding_bytes + headers
    bytes_of["scattered"] = moment.partly_free_bytes - headers
    bytes_of["huge_pages"] = moment.huge_unused_bytes
    bytes_of[OTHERS] = moment.other_bytes + moment.allocator_bytes - moment.huge_unused_bytes
    if allocator.family != "glibc":
        # Free pages of a slab with live blocks stay, and short runs may be such pages.
        short = sum(part.short_free_bytes for part in parts)
        bytes_of["scattered"] += short
        bytes_of["kept"] = moment.free_page_bytes - short
        return Kinds(moment, parts, bytes_of, None, allocator, 0)
    if raises_in_force(report) or has_high_mmap_threshold(allocator):
        bytes_of["threshold"] = sum(part.large_free_bytes for part in parts)
    most_arenas = arenas_at_most(report, moment.time_ns, allocator.settings)
    rests = [_without_large(part, bytes_of["threshold"]) for part in parts]
    main = max(rests, default=0)
    in_arenas = [rest for rest, part in zip(rests, parts, strict=True) if is_arena(allocator, part)]
    # The largest of so many arenas has at least its share, whichever heaps are its own.
    largest = -(-sum(in_arenas) // max(1, most_arenas))
    bytes_of["arenas"] = sum(rests) - max(main, largest)
    # Which heap is the end of an arena with several is not known.
    is_one = largest <= main
    holding = _holding(report, scan, parts[rests.index(main)]) if rests and is_one else None
    if holding is not None:
        bytes_of["top"] = min(main, holding.free_bytes)
    bytes_of["untrimmed"] = moment.free_page_bytes - sum(
        bytes_of[of] for of in ("threshold", "arenas", "top")
    )
    raised = max((one.bytes for one in raises_in_force(report)), default=0)
    return Kinds(
        moment, parts, bytes_of, holding, allocator, most_arenas, most_end_bytes(allocator.settings, raised)
    )


def has_high_mmap_threshold(allocator: Allocator) -> bool:
    """True where a setting keeps large blocks from being mapped apart."""
    return (MMAP_THRESHOLD.number_in(allocator.settings) or 0) > FIRST_MMAP_THRESHOLD


def _without_large(part: HeapPart, threshold_bytes: int) -> int:
    return part.free_page_bytes - (part.large_free_bytes if threshold_bytes else 0)


def raises_in_force(report: Report) -> tuple[ThresholdRaise, ...]:
    """The frees that raised the size from which blocks are mapped apart; none where a setting fixes it."""
    allocator = report.allocator
    return () if allocator.fixes_threshold else report.facts.threshold_raises


def _holding(report: Report, scan: int, part: HeapPart) -> Holding | None:
    facts = report.facts
    number = facts.heap_parts.index(part)
    holders = [holder for holder in facts.part_holders if holder.part == number]
    free = part.partly_free_bytes + part.free_page_bytes + part.allocator_bytes
    for index, holder in enumerate(holders[:_FEW_SITES]):
        held = holder.free_bytes - part.above_last_bytes
        if held < _HELD_SHARE * free:
            continue
        few = tuple(holders[: index + 1])
        own = sum(pin.usable_bytes for pin in pins_at(report, scan) if pin.site in {of.site for of in few})
        is_long = part.free_page_bytes >= _PAGES_A_BLOCK * 4096 * sum(of.blocks for of in few)
        return Holding(few, held, own) if own <= _OWN_SHARE * held and is_long else None
    return None


def pins_at(report: Report, scan: int) -> list[PinSite]:
    """The sites that pin or hold pages at this scan, most bytes first."""
    return [pin for pin in report.facts.pins if pin.scan == scan]
