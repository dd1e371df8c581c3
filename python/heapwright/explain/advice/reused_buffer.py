# SPDX-License-Identifier: MIT
"""Allocate, use, free, with no allocation between: stack memory, or one reused buffer."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, MEDIUM, Advice, Rule
from heapwright.report import units

_LEAST_SHARE = 0.8
_LEAST_TEMPORARIES = 1000
_ON_THE_STACK = 1024
_OBJECT = "make it a local object or a member (std::optional if it may be missing), not a block of its own"
_STRING = (
    "pass a std::string_view where it is only read (a map's find takes one with std::less<>), or keep one "
    "std::string"
)


def _find(of: Evidence) -> Iterator[Advice]:
    for site in of.candidates(_LEAST_TEMPORARIES):
        facts, sizes = of.site(site), of.sizes(site)
        part = facts.temporaries / max(facts.allocations, facts.freed)
        if facts.temporaries < _LEAST_TEMPORARIES or part < _LEAST_SHARE:
            continue
        is_small = sizes.p99_bytes <= _ON_THE_STACK
        room = (
            f"99 % of them fit {units.size(sizes.p99_bytes)}: use stack memory"
            if is_small
            else f"99 % of them fit {units.size(sizes.p99_bytes)}: use one kept buffer that grows"
        )
        yield Advice(
            (site,),
            f"{units.count(facts.temporaries)} blocks were freed before their thread allocated again",
            (room, f"requested sizes: {of.sizes_in_words(site)}"),
            "the calls of this site and the frees of its blocks",
            HIGH if part >= 0.99 else MEDIUM,
            f"{units.percent(part)} of the site's blocks were",
            int(of.time_of(site) * part),
            action=(instead := _instead(of, site)),
            part="" if instead else None,
        )


def _instead(of: Evidence, site: int) -> str:
    """The remedy where the block is no array, as the rule's own is of buffers; "" = it is one."""
    container, sizes = of.container(site)[0], of.sizes(site)
    if not of.is_cpp(site):
        return ""
    if container == "string":
        return _STRING
    return _OBJECT if not container and sizes.min_bytes == sizes.max_bytes <= _ON_THE_STACK else ""


RULE = Rule(
    "reused_buffer",
    "small_vector",
    "use stack memory for small sizes, or clear and refill one buffer",
    _find,
    (
        "the block is passed on, or kept for longer in other runs",
        "the sizes are unbounded: a kept buffer stays as large as its largest use",
        "the function is recursive or called by several threads, with one buffer for all",
    ),
    "use an array on the stack for small sizes, or keep one buffer across calls",
    prelude="""\
#include <heapwright/small_vector.hpp>
#include <cstddef>
#include <vector>
std::size_t next_size();
void fill(char*, std::size_t);""",
    before="""\
for (int i = 0; i < 1000; ++i) {
  const std::size_t size = next_size();
  std::vector<char> line(size);
  fill(line.data(), size);
}""",
    after="""\
for (int i = 0; i < 1000; ++i) {
  const std::size_t size = next_size();
  heapwright::small_vector<char, 256> line(size);  // the heap only beyond 256
  fill(line.data(), size);
}""",
    unsampled="knowing what a thread does between an allocation and its free takes every call",
)
