# SPDX-License-Identifier: MIT
"""Objects of one size that are made and freed again and again: an object pool."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import LOW, MEDIUM, Advice, Rule
from heapwright.report import units

_LEAST_TIMES_OVER = 20
_LEAST_OBJECTS = 1000
_MOST_FREED = 0.9
_MOST_TEMPORARY = 0.5  # above it, a local or one kept object does
_LEAST_BYTES = 64  # what owns buffers is no smaller
_LARGE = 512


def _find(of: Evidence) -> Iterator[Advice]:
    for site in of.candidates(_LEAST_OBJECTS):
        facts, sizes = of.site(site), of.sizes(site)
        is_one_size = sizes.min_bytes == sizes.max_bytes >= _LEAST_BYTES
        if not is_one_size or of.container(site)[0] or of.times_over(site) < _LEAST_TIMES_OVER:
            continue
        if (
            facts.freed < _MOST_FREED * facts.allocations
            or facts.temporaries > _MOST_TEMPORARY * facts.allocations
        ):
            continue
        at_once = of.most_bytes_at_once(site) // sizes.max_bytes
        is_large = sizes.max_bytes > _LARGE
        yield Advice(
            (site,),
            f"makes {units.count(facts.allocations)} blocks of {units.size(sizes.max_bytes)}, "
            f"never more than {units.count(at_once)} at once",
            (
                f"{units.percent(facts.freed / facts.allocations)} of them were freed, after "
                f"{units.duration(facts.lifetime_sum_ns / max(1, facts.freed))} on average",
            ),
            "all calls of this site and the frees of its blocks, less the first of each object that "
            "lives at once",
            MEDIUM if is_large else LOW,
            "one size, made and freed again and again"
            + ("" if is_large else "; a small block is what the heap itself is fastest at"),
            int(of.time_of(site) * (1 - at_once / facts.allocations)),
        )


RULE = Rule(
    "object_pool",
    "object_pool",
    "keep the objects in a pool and take them again, with the buffers that they own",
    _find,
    (
        "the object owns no buffers and is cheap to make: then the calls' time is all there is to gain",
        "the program holds many of them for a moment only: max_idle of them stay",
        "it must begin empty in ways that clearing its named containers does not reach",
    ),
    "keep freed ones in a list, a bounded one, and take them from there",
    prelude="""\
#include <heapwright/object_pool.hpp>
#include <memory>
#include <string>
#include <vector>
struct Request {
  std::string path;
  std::vector<int> fields;
  static constexpr auto pool_members = heapwright::members(&Request::path, &Request::fields);
};
void serve(Request&);""",
    before="""\
for (int i = 0; i < 1000; ++i) {
  auto request = std::make_unique<Request>();
  serve(*request);
}""",
    after="""\
heapwright::object_pool<Request> pool({.max_idle = 100});
for (int i = 0; i < 1000; ++i) {
  auto request = pool.acquire();  // comes back by itself, cleared, with its capacity
  serve(*request);
}""",
    unsampled="how many lived at once, and how long, takes every call",
)
