# SPDX-License-Identifier: MIT
"""Vectors that stay small: a vector with inline storage."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, MEDIUM, Advice, Rule
from heapwright.report import units

_MOST_ROOM = 256  # bytes inside the object
_LEAST_VECTORS = 1000
_MOST = 0.9


def _find(of: Evidence) -> Iterator[Advice]:
    for site in of.candidates(_LEAST_VECTORS):
        container, how_many = of.container(site)
        if container != "vector" or how_many < _MOST or not of.has_percentiles(site):
            continue
        growth, sizes = of.growths.get(site), of.sizes(site)
        vectors = growth.chains if growth else of.site(site).allocations
        finals = (
            ((0.9, growth.final_p90_bytes), (0.75, growth.final_p75_bytes))
            if growth
            else ((0.9, sizes.p90_bytes), (0.5, sizes.p50_bytes))
        )
        for fitting, room in finals:
            if 0 < room <= _MOST_ROOM and vectors >= _LEAST_VECTORS:
                yield _advice(of, site, vectors, fitting, room)
                break


def _advice(of: Evidence, site: int, vectors: int, fitting: float, room: int) -> Advice:
    facts, least = of.site(site), max(1, of.sizes(site).min_bytes)
    room = min(room, of.sizes(site).max_bytes)  # percentiles have an error of up to 6.25 %
    room = max(least, room - room % least)
    grew = facts.allocations > vectors
    if grew:
        elements = f"N = {room // least}, if the smallest request ({units.size(least)}) is one element"
    else:
        elements = f"N = {units.size(room)} / sizeof of an element"
    # A vector that does not fit still needs one block.
    saved = 1 - vectors * (1 - fitting) / max(1, facts.allocations)
    return Advice(
        (site,),
        f"{units.count(vectors)} vectors made {units.count(facts.allocations)} blocks, and "
        f"{units.percent(fitting)} "
        f"of them never needed more than {units.size(room)}",
        (elements, f"requested sizes: {of.sizes_in_words(site)}"),
        "the calls of this site and the frees that inline storage avoids; their copies at 1 ns per byte",
        HIGH if fitting >= _MOST else MEDIUM,
        "the blocks are std::vector's, by the functions above the allocator",
        int((of.time_of(site) + of.copies_ns(site)) * saved),
        change_bytes=room,
    )


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
