# SPDX-License-Identifier: MIT
"""Whether a site's blocks would pin less in a private heap.

They would if most of the site's blocks are long-lived. If the site makes both long-lived and temporary
blocks, its own heap keeps its peak size, with the survivors spread over it.
"""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from typing import NamedTuple

from heapwright.explain.cause_kinds import Kinds, pins_at, raises_in_force
from heapwright.explain.report import Report
from heapwright.explain.settings import kept_at_end_bytes
from heapwright.model.facts import PinSite
from heapwright.model.sites import Site

_PAGE_BYTES = 4096
_MOSTLY, _HARDLY = 0.75, 0.25
SEPARATES = ("yes", "partly", "no")


class Separation(NamedTuple):
    """One site's blocks at a scan, and what a private heap would release there.

    saves_most_bytes: with the survivors packed on separate pages. saves_least_bytes: with the site's
    peak size kept resident, and with kept_bytes at the end of the C library's heap.
    """

    blocks: int
    usable_bytes: int
    aligned_bytes: int
    pages: int
    pinned_bytes: int
    held_bytes: int
    own_peak_bytes: int
    never_freed: float  # share of all blocks that the site made in the selected time; -1: not known
    mean_age_ns: int
    mean_life_ns: int  # of freed blocks
    saves_least_bytes: int
    saves_most_bytes: int
    separates: str
    kept_bytes: int = (
        0  # of the memory that would become free, by the current trim threshold; of saves_least_bytes
    )


def separations(report: Report, kinds: Kinds, scan: int) -> list[tuple[Site, Separation]]:
    """The sites that pin or hold pages, most bytes first."""
    keeps = 0
    if kinds.allocator.family == "glibc":
        raised = max((one.bytes for one in raises_in_force(report)), default=0)
        keeps = kept_at_end_bytes(kinds.allocator.settings, raised) * (1 + kinds.arenas)
    found = [
        (report.sites[pin.site], kept(_of(report, pin, kinds.allocator.header_bytes), keeps))
        for pin in pins_at(report, scan)
        if max(pin.pinned_bytes, pin.held_bytes) >= _PAGE_BYTES
    ]
    return found[: report.top]


def kept(of: Separation, kept_bytes: int) -> Separation:
    """The part of the freed memory that stays at the heap's end.

    Memory below other blocks takes malloc_trim, which ignores thresholds.
    """
    if of.held_bytes < of.pinned_bytes:
        return of
    stays = min(of.saves_least_bytes, kept_bytes)
    return of._replace(saves_least_bytes=of.saves_least_bytes - stays, kept_bytes=stays)


def _pages(size: float) -> int:
    return -(-int(size) // _PAGE_BYTES) * _PAGE_BYTES


def _own_bytes(pin: PinSite, header_bytes: int) -> int:
    """The size of its blocks when packed; aligned ones are apart in any heap."""
    return max(pin.usable_bytes + header_bytes * pin.blocks, pin.aligned_bytes)


def most_saved(pin: PinSite, header_bytes: int) -> int:
    """What a private heap would release, with the blocks packed."""
    lost = _pages(_own_bytes(pin, header_bytes)) - pin.usable_bytes
    return max(0, max(pin.pinned_bytes, pin.held_bytes) - lost)


def _of(report: Report, pin: PinSite, header_bytes: int) -> Separation:
    site = report.facts.sites[pin.site]
    own = _own_bytes(pin, header_bytes)
    packed = _pages(own)
    room = max(packed, _pages(site.own_peak_bytes * own / max(1, pin.live_bytes)))
    most = most_saved(pin, header_bytes)
    least = max(0, most - (room - packed))
    separates = "yes" if least >= _MOSTLY * most else "no" if least < _HARDLY * most else "partly"
    ended = site.freed + site.live_at_end_blocks
    return Separation(
        pin.blocks,
        pin.usable_bytes,
        pin.aligned_bytes,
        pin.pages,
        pin.pinned_bytes,
        pin.held_bytes,
        site.own_peak_bytes,
        min(1.0, pin.blocks / ended) if ended else -1.0,
        pin.age_sum_ns // max(1, pin.blocks),
        site.lifetime_sum_ns // max(1, site.freed),
        least,
        most,
        separates if most else "no",
    )
