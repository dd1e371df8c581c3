# SPDX-License-Identifier: MIT
"""Vectors that stay small: a vector with inline storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, MEDIUM, Advice, Rule
from heapwright.report import units

_MOST_ROOM = 256  # bytes inside the object
_LEAST_VECTORS = 1000
_MOST = 0.9
_FEW_BYTES = 0.01  # of the peak: inline room that costs less is free
_FULL_SHARES = (0.9, 0.75, 0.5)
_EMPTY = 1  # empty vectors beside each that lives, which no call shows: assumed


class _Room(NamedTuple):
    """One choice of N. fitting: share of the vectors that never needed more. added_bytes: at the peak, inline
    room of the live vectors, and of as many empty ones, minus the blocks of those that fit."""

    bytes: int
    fitting: float
    added_bytes: float


class _Vectors(NamedTuple):
    """The vectors of a site. alike: live at the peak, with those of other sites with elements as large: an
    owner that is copied has them at several sites."""

    site: int
    vectors: int
    least_bytes: int
    alike: int


def _find(of: Evidence) -> Iterator[Advice]:
    sites = [site for site in of.candidates(_LEAST_VECTORS) if _is_vector(of, site)]
    alike: dict[int, int] = {}
    for site in sites:
        least = of.sizes(site).min_bytes
        alike[least] = alike.get(least, 0) + of.site(site).live_at_peak_blocks
    for site in sites:
        growth, least = of.growths.get(site), of.sizes(site).min_bytes
        count = growth.chains if growth else of.site(site).allocations
        vectors = _Vectors(site, count, max(1, least), alike[least])
        rooms = _rooms(of, vectors)
        cheap = [room for room in rooms if room.added_bytes <= _FEW_BYTES * of.peak_bytes]
        if count >= _LEAST_VECTORS and cheap:
            yield _advice(of, vectors, cheap[0], rooms)


def _is_vector(of: Evidence, site: int) -> bool:
    container, how_many = of.container(site)
    return container == "vector" and how_many >= _MOST and of.has_percentiles(site)


def _rooms(of: Evidence, vectors: _Vectors) -> list[_Room]:
    """The choices, largest first: what 90, 75 or 50 % of the vectors needed."""
    growth, sizes, facts = of.growths.get(vectors.site), of.sizes(vectors.site), of.site(vectors.site)
    p75_bytes = 0 if growth is None else growth.final_p75_bytes
    finals = (
        (growth.final_p90_bytes, p75_bytes, growth.final_p50_bytes)
        if growth
        else (sizes.p90_bytes, 0, sizes.p50_bytes)
    )
    block = facts.live_at_peak_bytes / max(1, facts.live_at_peak_blocks) + of.lost_bytes_each(vectors.site)
    found: dict[int, _Room] = {}
    for fitting, final in zip(_FULL_SHARES, finals, strict=True):
        size = min(final, sizes.max_bytes)  # percentiles have an error of up to 6.25 %
        size = max(vectors.least_bytes, size - size % vectors.least_bytes) if final else 0
        if 0 < size <= _MOST_ROOM and size not in found:
            added = vectors.alike * ((1 + _EMPTY) * size - fitting * block)
            found[size] = _Room(size, fitting, added)
    return list(found.values())


def _advice(of: Evidence, vectors: _Vectors, room: _Room, rooms: Sequence[_Room]) -> Advice:
    site, least = vectors.site, vectors.least_bytes
    facts = of.site(site)
    is_known = facts.allocations > vectors.vectors  # it grew from one element on
    elements = (
        f"N = {room.bytes // least}, if the smallest request ({units.size(least)}) is one element"
        if is_known
        else f"N = {units.size(room.bytes)} / sizeof of an element"
    )
    are_members = room.bytes * vectors.alike > _FEW_BYTES * of.peak_bytes
    # A vector that does not fit still needs one block.
    saved = 1 - vectors.vectors * (1 - room.fitting) / max(1, facts.allocations)
    return Advice(
        (site,),
        f"{units.count(vectors.vectors)} vectors made {units.count(facts.allocations)} blocks, and "
        f"{units.percent(room.fitting)} "
        f"of them never needed more than {units.size(room.bytes)}",
        (elements, _table(rooms, least if is_known else 0), f"requested sizes: {of.sizes_in_words(site)}"),
        "the calls of this site and the frees that inline storage avoids; their copies at 1 ns per byte",
        HIGH if room.fitting >= _MOST and not are_members else MEDIUM,
        "the blocks are std::vector's, by the functions above the allocator"
        + (
            "; many live at once, in objects whose size and empty vectors are not known"
            if are_members
            else ""
        ),
        int((of.time_of(site) + of.copies_ns(site)) * saved),
        change_bytes=room.bytes,
        not_if="most of these vectors are empty: each takes the inline room, and a move or copy of its owner "
        "copies it"
        if are_members
        else "",
    )


def _table(rooms: Sequence[_Room], least_bytes: int) -> str:
    """The cost of each N at the peak.

    >>> _table([_Room(256, 0.9, 30 << 20), _Room(32, 0.75, -1 << 20)], 32)
    'at the peak, with as many empty ones: N = 8 fits 90.0 %, +30.0 MiB; N = 1 fits 75.0 %, −1.00 MiB'
    """
    rows = (
        f"{f'N = {room.bytes // least_bytes}' if least_bytes else units.size(room.bytes)} fits "
        f"{units.percent(room.fitting)}, {units.signed(room.added_bytes, 'bytes')}"
        for room in rooms
    )
    return f"at the peak, with as many empty ones: {'; '.join(rows)}"


RULE = Rule(
    "small_vector",
    "small_vector",
    "use a vector with that much inline storage",
    _find,
    (
        "references to elements must survive a move of the vector",
        "the vectors are in large arrays: unused inline storage costs memory there",
        "most are much larger in production than in this run",
    ),
    prelude="""\
#include <heapwright/small_vector.hpp>
#include <vector>
int next_value();
void use(int);""",
    before="""\
for (int i = 0; i < 1000; ++i) {
  std::vector<int> found;
  while (int value = next_value()) found.push_back(value);
  for (int value : found) use(value);
}""",
    after="""\
for (int i = 0; i < 1000; ++i) {
  heapwright::small_vector<int, 8> found;  // no heap up to 8
  while (int value = next_value()) found.push_back(value);
  for (int value : found) use(value);
}""",
    change="small_vector",
    unsampled="knowing which block a vector replaced by a larger one takes every call",
)
