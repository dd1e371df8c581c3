# SPDX-License-Identifier: MIT
"""Sites whose blocks pin memory together: on pages that hold blocks of several of them."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from heapwright.explain.cause_kinds import Kinds, pins_at
from heapwright.explain.report import Report
from heapwright.model.facts import PinSite

_MOST_FUNCTIONS = 4  # more of them are no group with one purpose
_CANDIDATES = 10
_MUCH_MORE = 1.25  # than the first site alone
_NEARLY_ALL = 0.9  # of what that many functions pin at most: fewer that reach it are named
_WORTH_SHARE = 0.25  # of the memory beside live blocks
_PAGE_BYTES = 4096


class JointPins(NamedTuple):
    """Sites by number, most bytes first, all of at most a few functions.

    pinned_bytes: free on pages with blocks of these sites only. saves_most_bytes, saves_least_bytes: what one
    private heap for all of them would return, with the blocks packed and with their peaks kept.
    """

    sites: tuple[int, ...]
    functions: int
    blocks: int
    live_bytes: int
    pinned_bytes: int
    saves_least_bytes: int
    saves_most_bytes: int


def joint_pins(report: Report, kinds: Kinds, scan: int) -> JointPins | None:
    """The group that pins far more than one site alone; None: there is none."""
    pins = {pin.site: pin for pin in pins_at(report, scan)}
    sets = _sets(report, scan, pins)
    functions: dict[str, list[int]] = {}
    for site in pins:
        functions.setdefault(report.sites[site].location.function or str(site), []).append(site)
    order = sorted(functions.values(), key=lambda sites: -sum(map(_reach, (pins[site] for site in sites))))
    best = _best([frozenset(sites) for sites in order[:_CANDIDATES]], sets)
    if best is None:
        return None
    most = max((pin.pinned_bytes for pin in pins.values()), default=0)
    pinned = _pinned_by(best, sets)
    is_worth = pinned >= _WORTH_SHARE * kinds.bytes_of["scattered"] and pinned >= _MUCH_MORE * most
    return _group(report, [pins[site] for site in best], pinned, kinds) if is_worth else None


def _reach(pin: PinSite) -> int:
    return pin.pinned_bytes + pin.shared_bytes


def _sets(report: Report, scan: int, pins: dict[int, PinSite]) -> list[tuple[frozenset[int], int]]:
    """The sites of pages, and the free bytes on these."""
    facts = report.facts
    found = [(frozenset([site]), pin.pinned_bytes) for site, pin in pins.items()]
    for each in facts.pin_sets:
        if each.scan == scan:
            sites = facts.pin_set_sites[each.first : each.first + each.sites]
            found.append((frozenset(sites), each.pinned_bytes))
    return found


def _pinned_by(sites: frozenset[int], sets: Iterable[tuple[frozenset[int], int]]) -> int:
    return sum(pinned for of, pinned in sets if of <= sites)


def _best(functions: list[frozenset[int]], sets: list[tuple[frozenset[int], int]]) -> frozenset[int] | None:
    """The sites of as few functions as pin nearly all of what a few of them pin at most."""
    found = []
    for number in range(1, _MOST_FUNCTIONS + 1):
        groups = [frozenset().union(*chosen) for chosen in combinations(functions, number)]
        if groups:
            best = max(groups, key=lambda sites: _pinned_by(sites, sets))
            found.append((best, _pinned_by(best, sets)))
    most = max((pinned for _, pinned in found), default=0)
    best = next((sites for sites, pinned in found if pinned >= _NEARLY_ALL * most), frozenset())
    # Sites without a share in it are no part of the group.
    used = [of for of, pinned in sets if pinned >= _PAGE_BYTES and of <= best]
    best = frozenset().union(*used)
    return best if len(best) > 1 else None


def _group(report: Report, pins: list[PinSite], pinned: int, kinds: Kinds) -> JointPins:
    pins = sorted(pins, key=lambda pin: (-_reach(pin), pin.site))
    header = kinds.allocator.header_bytes
    usable = sum(pin.usable_bytes for pin in pins)
    packed = _in_pages(sum(max(pin.usable_bytes + header * pin.blocks, pin.aligned_bytes) for pin in pins))
    live = sum(pin.live_bytes for pin in pins)
    peaks = sum(report.facts.sites[pin.site].own_peak_bytes for pin in pins)
    room = max(packed, _in_pages(peaks * packed // max(1, live)))
    most = max(0, pinned - (packed - usable))
    return JointPins(
        tuple(pin.site for pin in pins),
        len({report.sites[pin.site].location.function or str(pin.site) for pin in pins}),
        sum(pin.blocks for pin in pins),
        live,
        pinned,
        max(0, most - (room - packed)),
        most,
    )


def _in_pages(size: int) -> int:
    return -(-size // _PAGE_BYTES) * _PAGE_BYTES
