# SPDX-License-Identifier: MIT
"""A member that grows at several lines is one finding: joins its lines and their growth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from heapwright.explain.growing_sites import Growth, Row
from heapwright.explain.growth_kinds import CREEP
from heapwright.explain.report import share
from heapwright.lint.expression import MEMBER
from heapwright.lint.finding import Growing, Remedy
from heapwright.lint.join import Named
from heapwright.lint.kinds import KEPT_CAPACITY
from heapwright.lint.lines import Group, Place
from heapwright.report import units

# For these the remedy applies to the member, not to one of its lines.
_OF_THE_MEMBER = ("vector-growth", "string-growth", "deque-chunk", "buckets", "node-insert")
_BUFFERS = ("new-array", "make-unique", "make-shared", "c-allocation")
_BOUND = "do not hand out buffers much larger than requested, and limit what is kept"
_LEAST_OBJECTS = 2  # a single growing one is data, not a pool


class Joined(NamedTuple):
    """Groups that are one finding. kind: from kinds.RECORDED; creep: for a member that keeps its capacity."""

    kind: str
    numbers: tuple[int, ...]
    creep: Row | None = None


def join(named: Mapping[int, Named], groups: list[Group], growth: Growth) -> list[Joined]:
    """named: by group."""
    keeping = _keeping(named, growth)
    found: dict[object, list[int]] = {}
    for number, one in named.items():
        found.setdefault(_key(one, groups[number].place, keeping), []).append(number)
    rows: dict[object, Row] = {(KEPT_CAPACITY.name, usr): row for usr, row in keeping.items()}
    return [
        Joined(KEPT_CAPACITY.name if key in rows else named[own[0]].kind, tuple(own), rows.get(key))
        for key, own in found.items()
    ]


def _usr(one: Named) -> str:
    """The member that has the blocks; "" = none."""
    owner = one.expression.owner if one.expression else None
    return owner.usr if owner is not None and owner.kind == MEMBER else ""


def _key(one: Named, place: Place | None, keeping: Mapping[str, Row]) -> object:
    usr = _usr(one)
    if usr in keeping:
        return KEPT_CAPACITY.name, usr
    if usr and one.kind in _OF_THE_MEMBER:
        return one.kind, usr
    return place, one.kind, one.expression.text if one.expression else ""


def _keeping(named: Mapping[int, Named], growth: Growth) -> dict[str, Row]:
    """Members of several objects whose blocks grow while their number is steady."""
    numbers: dict[str, set[int]] = {}
    for number, one in named.items():
        if usr := _usr(one):
            numbers.setdefault(usr, set()).add(number)
    rows = ((usr, growth.together(own)) for usr, own in numbers.items())
    return {
        usr: row
        for usr, row in rows
        if row is not None and row.kind == CREEP and row.end.blocks >= _LEAST_OBJECTS
    }


def growing(row: Row | None) -> Growing | None:
    """The growth for findings; None without certain growth in bytes or in block size."""
    is_sure = row is not None and row.is_sure and row.slope_bytes_per_s > 0
    if row is None or not (is_sure or row.kind == CREEP):
        return None
    return Growing(
        row.kind,
        round(row.slope_bytes_per_s) if is_sure else 0,
        max(0, row.end.bytes - row.begin.bytes),
        row.end.blocks,
        round(row.begin.mean_usable_bytes),
        round(row.end.mean_usable_bytes),
    )


def message(name: str) -> str:
    """The message for a member that keeps its capacity."""
    return f"{name}, a member of reused objects, keeps the capacity of its largest use"


def remedy(row: Row, kind: str, peak_bytes: int) -> Remedy:
    """The gain is at most the growth of the blocks. kind: of what makes the blocks."""
    grown = max(0.0, row.end.mean_usable_bytes - row.begin.mean_usable_bytes)
    gain = min(int(grown * row.end.blocks), row.end.bytes)
    is_buffer = kind in _BUFFERS
    return Remedy(
        _BOUND if is_buffer else KEPT_CAPACITY.fix,
        "buffer_cache" if is_buffer else "object_pool",
        bytes=gain,
        bytes_share=share(gain, peak_bytes),
        what=f"the growth of {units.counted(row.end.blocks, 'block')}",
        when_not=KEPT_CAPACITY.when_not,
    )


def others(groups: Iterable[Group], first: Place) -> list[Place]:
    """The places of a finding except its first, in order."""
    places = dict.fromkeys(group.place for group in groups if group.place is not None)
    return [place for place in places if place != first]
