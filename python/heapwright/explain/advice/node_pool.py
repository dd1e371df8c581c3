# SPDX-License-Identifier: MIT
"""Nodes of maps, lists and hash tables: a node pool."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.containers import NODES
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, MEDIUM, Advice, Rule
from heapwright.report import units

_LARGEST_NODE = 512  # node_pool's; above it a request goes upstream
_LEAST_NODES = 1000
_MOST = 0.9


def _find(of: Evidence) -> Iterator[Advice]:
    for site in of.candidates(_LEAST_NODES):
        container, how_many = of.container(site)
        sizes = of.sizes(site)
        if container not in NODES or how_many <= 1 - _MOST or not of.is_cpp(site):
            continue
        if of.is_sampled or sizes.p90_bytes <= _LARGEST_NODE:
            facts = of.site(site)
            is_all = how_many >= _MOST
            mean = facts.bytes / facts.allocations
            yield Advice(
                (site,),
                f"makes {units.count(facts.allocations)} nodes of a {container}, {units.size(mean)} each",
                (
                    f"{units.size(facts.live_at_peak_bytes)} in "
                    f"{units.count(facts.live_at_peak_blocks)} blocks "
                    f"at the peak, plus {units.size(of.lost_bytes(site))} of rounding and headers",
                ),
                "all calls of this site and the frees of its blocks; rounding and headers",
                HIGH if is_all else MEDIUM,
                "the std:: functions between allocator and site show it for "
                f"{units.percent(how_many)} of its calls",
                of.time_of(site) if is_all else int(of.time_of(site) * how_many),
                of.lost_bytes(site),
                of.lost_bytes_each(site),
            )


RULE = Rule(
    "node_pool",
    "node_pool",
    "give the container a node pool: no block headers, and all nodes freed at once",
    _find,
    (
        "order or stable addresses are not needed: a sorted std::vector or an open-addressing hash "
        "table is smaller still",
        "there are few nodes: each size takes at least a page",
        "several threads change the container: a pool belongs to one thread",
    ),
    prelude="""\
#include <heapwright/node_pool.hpp>
#include <map>""",
    before="""\
std::map<int, int> prices;
prices[1] = 100;
prices.clear();  // one free per node""",
    after="""\
using Prices = std::map<int, int, std::less<>, heapwright::node_allocator<std::pair<const int, int>>>;
heapwright::pooled<Prices> prices;
(*prices)[1] = 100;
prices.clear();  // all nodes at once""",
    change="node_pool",
)
