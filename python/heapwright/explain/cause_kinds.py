# SPDX-License-Identifier: MIT
"""Classifies the memory resident at one scan by what keeps it: every byte is in one kind.

Free memory inside a heap has several causes with different remedies. The kind follows from where the
free pages are: in which arena, below or beside whose blocks, whether large blocks were there before,
whether huge pages hold them.
"""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

import sys
from typing import NamedTuple

from heapwright.explain.allocators import Allocator
from heapwright.explain.arenas import arenas_at_most
from heapwright.explain.report import Report
from heapwright.explain.settings import FIRST_MMAP_THRESHOLD, MMAP_THRESHOLD, most_end_bytes
from heapwright.model.facts import HeapPart, PartHolder, PinSite, Residency, ThresholdRaise

# At most this many sites are "a few" that hold a heap's end.
_FEW_SITES = 3
# They hold it if without them this much of its free memory would be at its end,
_HELD_SHARE = 0.5
# they are at most this share of it, and this many pages are free for each of their blocks.
_OWN_SHARE = 0.25
_PAGES_A_BLOCK = 4

_WORTH_ARENA_BYTES = 64 << 10

LIVE, EARLIER, OTHERS = "live", "earlier", "others"
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
    EARLIER: "blocks from before, or free among them",
    OTHERS: "not the heap",
}
# Memory kept free by an allocator; the rest is in use.
FREE = ("top", "scattered", "untrimmed", "kept", "arenas", "threshold", "huge_pages")
# Only in the C library's heap.
OF_GLIBC = frozenset({"top", "untrimmed", "arenas", "threshold"})


class Holding(NamedTuple):
    """The sites whose blocks hold the end of the heap with the most free memory."""

    holders: tuple[PartHolder, ...]
    free_bytes: int  # that would be at its end without them
    own_bytes: int  # usable bytes of their blocks anywhere


class Kinds(NamedTuple):
    """One scan, sorted."""

    moment: Residency
    parts: tuple[HeapPart, ...]  # most free bytes first
    bytes_of: dict[str, int]
    holding: Holding | None
    allocator: Allocator
    most_arenas: int  # besides the main heap, estimated from threads
    # The most that the C library keeps at a heap's end: a free would have returned more. Free memory above
    # the last block beyond that is held by blocks in thread caches or fast bins.
    most_end_bytes: int = sys.maxsize
    # Whether a thread beside the last one still runs. One that ends gives its cache back: small blocks to the
    # fast bins, which malloc_trim first merges with the arena's end, and that it does not return.
    has_thread_caches: bool = True

    @property
    def free_bytes(self) -> int:
        """Heap memory besides live blocks and their rounding."""
        return sum(self.bytes_of[kind] for kind in FREE)

    def idle_bytes(self, taken_again_bytes: int) -> int:
        """Free memory beside blocks and in whole pages that is not needed again soon."""
        return max(0, self.moment.partly_free_bytes + self.moment.free_page_bytes - taken_again_bytes)

    @property
    def largest(self) -> str:
        """The kind of free memory with most bytes."""
        return max(FREE, key=lambda kind: self.bytes_of[kind])

    @property
    def trimmable_bytes(self) -> int:
        """The most that malloc_trim(0) returns: whole free pages, but not the ends of further arenas."""
        return sum(part.free_page_bytes - _end_bytes(self, part) for part in self.parts)

    @property
    def doubtful_end_bytes(self) -> int:
        """Of the free ends of further arenas, where small blocks lay. One of them in a thread cache above all
        live blocks makes it no end, and malloc_trim returns it."""
        return sum(
            _end_bytes(self, part)
            for part in self.parts
            if part.free_page_bytes - part.large_free_bytes >= _WORTH_ARENA_BYTES
        )

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
        """Whole free pages of the C library's heaps besides the main one."""
        return sum(part.free_page_bytes for part in self.parts if is_arena(self.allocator, part))

    @property
    def heaps(self) -> int:
        """Heaps of the C library besides the main one, with blocks or significant free memory."""
        return sum(
            is_arena(self.allocator, part)
            and (part.blocks != 0 or part.free_page_bytes >= _WORTH_ARENA_BYTES)
            for part in self.parts
        )

    @property
    def arenas(self) -> int:
        """Upper bound of the arenas that own these heaps: an arena has as many heaps as it needs."""
        return min(self.heaps, self.most_arenas)

    def shared_bytes(self, peak_bytes: int) -> int:
        """What one heap for all threads would not keep, if long-lived blocks held all the rest of it.

        peak_bytes: peak of live usable bytes, the size of that one heap.
        """
        capped = self._replace(has_thread_caches=True)  # whatever holds an arena's end may hold that heap's
        above = sum(_end_bytes(capped, part) for part in self.parts)
        return above + max(0, self.resident_bytes - above - peak_bytes)

    @property
    def resident_bytes(self) -> int:
        """Bytes of the heap, with its live blocks."""
        return sum(part.resident_bytes for part in self.parts)


def _end_bytes(kinds: Kinds, part: HeapPart) -> int:
    end = min(part.above_last_bytes, part.free_page_bytes)
    end = min(end, kinds.most_end_bytes) if kinds.has_thread_caches else end
    return end if is_arena(kinds.allocator, part) else 0


def is_arena(allocator: Allocator, part: HeapPart) -> bool:
    """True of a heap of the C library other than the main one."""
    return allocator.family == "glibc" and part.address % (64 << 20) == 0


def kinds_at(report: Report, scan: int) -> Kinds:
    """Resident memory at this joined scan, by kind."""
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
    no_block_seen = moment.allocator_bytes - moment.huge_unused_bytes
    bytes_of[EARLIER if report.has_unseen_blocks else OTHERS] = no_block_seen
    bytes_of[OTHERS] += moment.other_bytes
    if allocator.family != "glibc":
        # Free pages of a slab with live blocks stay resident, and short runs may be such pages.
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
    # The largest arena has at least an equal share, whichever heaps belong to it.
    largest = -(-sum(in_arenas) // max(1, most_arenas))
    bytes_of["arenas"] = sum(rests) - max(main, largest)
    # Which of an arena's several heaps is its last is not known.
    is_one = largest <= main
    holding = _holding(report, scan, parts[rests.index(main)]) if rests and is_one else None
    if holding is not None:
        bytes_of["top"] = min(main, holding.free_bytes)
    bytes_of["untrimmed"] = moment.free_page_bytes - sum(
        bytes_of[of] for of in ("threshold", "arenas", "top")
    )
    raised = max((one.bytes for one in raises_in_force(report)), default=0)
    most_end = most_end_bytes(allocator.settings, raised)
    has_caches = _running(report, moment.time_ns) > 1
    return Kinds(moment, parts, bytes_of, holding, allocator, most_arenas, most_end, has_caches)


def _running(report: Report, time_ns: int) -> int:
    """How many threads had begun and not ended."""
    return sum(one.first_ns <= time_ns and not 0 < one.exit_ns <= time_ns for one in report.trace.threads)


def has_high_mmap_threshold(allocator: Allocator) -> bool:
    """True if a setting prevents separate mappings for large blocks."""
    return (MMAP_THRESHOLD.number_in(allocator.settings) or 0) > FIRST_MMAP_THRESHOLD


def _without_large(part: HeapPart, threshold_bytes: int) -> int:
    return part.free_page_bytes - (part.large_free_bytes if threshold_bytes else 0)


def raises_in_force(report: Report) -> tuple[ThresholdRaise, ...]:
    """The frees that raised the mmap threshold; none if a setting fixes it."""
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
