# SPDX-License-Identifier: MIT
"""Short-lived buffers of varying size: a cache with a size cutoff."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import LOW, MEDIUM, Advice, Rule
from heapwright.report import units

_LEAST_BUFFERS = 1000
_LEAST_MEAN = 1024  # below it the heap's thread cache does the same
_LEAST_TIMES_OVER = 20
_LEAST_SPREAD = 2
_MOST_FREED = 0.9


def _find(of: Evidence) -> Iterator[Advice]:
    for site in of.candidates(_LEAST_BUFFERS):
        facts, sizes = of.site(site), of.sizes(site)
        if facts.bytes < _LEAST_MEAN * facts.allocations or sizes.p90_bytes < _LEAST_SPREAD * sizes.min_bytes:
            continue
        if of.exact_growth(site) is not None:
            continue
        grows = of.growths[site].steps if site in of.growths else 0
        if 2 * (facts.reallocs + grows) > facts.allocations or facts.freed < _MOST_FREED * facts.allocations:
            continue
        if of.times_over(site) < _LEAST_TIMES_OVER or not of.has_percentiles(site):
            continue
        by_others = facts.freed_by_other_thread > facts.freed // 10
        name = of.report.sites[site].location.function
        yield Advice(
            (site,),
            f"{units.count(facts.allocations)} buffers of {units.size(sizes.min_bytes)} to "
            f"{units.size(sizes.max_bytes)} came and went, {units.size(facts.own_peak_bytes)} at once "
            "at most",
            (
                f"a cutoff at {units.size(sizes.p99_bytes)} admits 99 % of the requests; "
                f"requested sizes: {of.sizes_in_words(site)}",
                "hits and waste of each policy: heapwright lab buffer-cache --trace FILE "
                f"--site {shlex.quote(name)}",
            ),
            "all calls of this site and the frees of its buffers, as if every request were a hit",
            LOW if by_others else MEDIUM,
            "freed by other threads than allocated them"
            if by_others
            else "varied sizes, turned over many times",
            of.time_of(site),
        )


RULE = Rule(
    "buffer_cache",
    "buffer_cache",
    "keep freed buffers up to the cutoff, with a limit on their total bytes",
    _find,
    (
        "one buffer at a time is enough: keep it, and shrink it from time to time",
        "sizes vary so much that few requests would hit: try the lab first",
        "memory is short: cached buffers are not free",
    ),
    "keep a few freed buffers up to the cutoff, never the largest one seen",
    prelude="""\
#include <heapwright/buffer_cache.hpp>
#include <cstddef>
#include <memory>
std::size_t next_size();
void fill(std::byte*, std::size_t);""",
    before="""\
for (int i = 0; i < 1000; ++i) {
  const std::size_t size = next_size();
  auto buffer = std::make_unique<std::byte[]>(size);
  fill(buffer.get(), size);
}""",
    after="""\
heapwright::buffer_cache<> cache({.total_bytes = 1 << 20, .buffers = 64});
for (int i = 0; i < 1000; ++i) {
  const std::size_t size = next_size();
  auto buffer = cache.acquire(size);  // not zeroed; returned automatically
  fill(buffer.data(), size);
}""",
    change="buffer_cache",
    unsampled="knowing how many buffers live at once takes every call",
)
