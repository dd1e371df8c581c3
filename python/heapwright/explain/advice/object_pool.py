# SPDX-License-Identifier: MIT
"""Objects of one size that are repeatedly made and freed: an object pool."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import LOW, MEDIUM, Advice, Rule
from heapwright.report import units

_LEAST_TIMES_OVER = 20
_LEAST_OBJECTS = 1000
_MOST_FREED = 0.9
_MOST_TEMPORARY = 0.5  # above it, a local or one kept object is enough
_LEAST_BYTES = 64  # objects that own buffers are at least this large
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
            "all calls of this site and the frees of its blocks, except the first call for each object "
            "alive at once",
            MEDIUM if is_large else LOW,
            "one size, repeatedly made and freed"
            + ("" if is_large else "; but the heap is fastest at small blocks"),
            int(of.time_of(site) * (1 - at_once / facts.allocations)),
        )


RULE = Rule(
    "object_pool",
    "object_pool",
    "keep the objects in a pool and reuse them with the buffers they own",
    _find,
    (
        "the object owns no buffers and is cheap to make: then only the calls' time is gained",
        "the program briefly holds many of them: max_idle of them stay",
        "it must start empty in ways that clearing its named containers does not cover",
    ),
    "keep freed ones in a bounded list, and reuse them",
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
  auto request = pool.acquire();  // returned automatically, cleared, with its capacity
  serve(*request);
}""",
    unsampled="knowing how many lived at once, and how long, takes every call",
)
