# SPDX-License-Identifier: MIT
"""A member grows at several lines and is one thing: its lines are joined, and its growth is that of all."""

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

# Of these, what is to be done is done to the member, not to one of its lines.
_OF_THE_MEMBER = ("vector-growth", "string-growth", "deque-chunk", "buckets", "node-insert")
_BUFFERS = ("new-array", "make-unique", "make-shared", "c-allocation")
_BOUND = "hand out no buffer that is much larger than what is asked for, and bound what is kept"
_LEAST_OBJECTS = 2  # one that only grows is data, not a pool


class Joined(NamedTuple):
    """Groups that are one finding. kind: of kinds.RECORDED; creep: of a member that keeps its capacity."""

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
    """Of the member that has the blocks; "" = none has."""
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
    """By member: those of several objects whose blocks grow while their number is steady."""
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
    """As findings tell it; None where it does not surely grow, in bytes or in the size of its blocks."""
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
    """What a member that keeps its capacity is told as."""
    return f"{name}, a member of objects that are used again, keeps the room of its largest use"


def remedy(row: Row, kind: str, peak_bytes: int) -> Remedy:
    """At most what the blocks have grown by is to gain. kind: of what makes the blocks."""
    grown = max(0.0, row.end.mean_usable_bytes - row.begin.mean_usable_bytes)
    gain = min(int(grown * row.end.blocks), row.end.bytes)
    is_buffer = kind in _BUFFERS
    return Remedy(
        _BOUND if is_buffer else KEPT_CAPACITY.fix,
        "buffer_cache" if is_buffer else "object_pool",
        bytes=gain,
        bytes_share=share(gain, peak_bytes),
        what=f"what {units.counted(row.end.blocks, 'block')} have grown by",
        when_not=KEPT_CAPACITY.when_not,
    )


def others(groups: Iterable[Group], first: Place) -> list[Place]:
    """The places of a finding but its first, in order."""
    places = dict.fromkeys(group.place for group in groups if group.place is not None)
    return [place for place in places if place != first]
