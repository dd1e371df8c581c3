# SPDX-License-Identifier: MIT
"""Nodes of maps, lists and hash tables: a node pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from heapwright.explain.advice.containers import NODES
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, LOW, MEDIUM, Advice, Rule
from heapwright.report import units

_LARGEST_NODE = 512  # node_pool's; above it a request goes upstream
_LEAST_NODES = 1000
_MOST = 0.9
_PAGE_BYTES = 16 << 10  # of a pool, for each size, unless told otherwise
_LEAST_PAGES = 2  # filled by one container: of less, the last page is too large a part
# Of the containers' own objects in libstdc++: other blocks of operator new have room for so many.
_OWN_BYTES = {"map": 48, "hash table": 56, "list": 24}


class _Containers(NamedTuple):
    """How many have nodes at the peak. is_counted: by their bucket arrays; else the most that there is room
    for."""

    number: int
    nodes_each: float
    is_counted: bool

    def are_large(self, node_bytes: float) -> bool:
        return self.nodes_each * node_bytes >= _LEAST_PAGES * _PAGE_BYTES


def _containers(of: Evidence, site: int, container: str) -> _Containers:
    facts, arrays = of.site(site), of.bucket_arrays(site) if container == "hash table" else 0
    if arrays:
        return _Containers(arrays, (facts.live_at_peak_blocks - arrays) / arrays, True)
    besides = sum(
        other.live_at_peak_bytes
        for number, other in enumerate(of.facts.sites)
        if number != site and of.is_cpp(number)
    )
    most = 1 + besides // _OWN_BYTES[container]
    return _Containers(most, facts.live_at_peak_blocks / most, False)


def _how_large(found: _Containers, container: str, node_bytes: float) -> tuple[str, str, str]:
    """The evidence's sentence, a confidence that it allows, and its reason; "" = it allows any."""
    room = int(_PAGE_BYTES // max(1, node_bytes))
    page = f"a pool takes at least {units.size(_PAGE_BYTES)}, room for {room} nodes"
    if found.is_counted:
        return f"{units.counted(found.number, container)}, {found.nodes_each:.0f} nodes each; {page}", "", ""
    if found.are_large(node_bytes):
        return f"one {container}, or at least {found.nodes_each:.0f} nodes each; {page}", "", ""
    return (
        f"in how many of them is not known; {page}",
        LOW,
        "; but many small ones, with a pool each, would take more memory and time than now",
    )


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
            found = _containers(of, site, container)
            node = sizes.min_bytes if found.is_counted else mean  # the site's mean is of arrays as well
            if found.is_counted and found.number > 1 and not found.are_large(node):
                continue
            how_large, confidence, doubt = _how_large(found, container, node)
            yield Advice(
                (site,),
                f"makes {units.count(facts.allocations)} nodes of a {container}, {units.size(mean)} each",
                (
                    f"{units.size(facts.live_at_peak_bytes)} in "
                    f"{units.count(facts.live_at_peak_blocks)} blocks "
                    f"at the peak, plus {units.size(of.lost_bytes(site))} of rounding and headers",
                    how_large,
                ),
                "all calls of this site and the frees of its blocks; rounding and headers",
                confidence or (HIGH if is_all else MEDIUM),
                "the std:: functions between allocator and site show it for "
                f"{units.percent(how_many)} of its calls{doubt}",
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
        "there are many containers of few nodes: each pool takes at least a page for each size",
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
