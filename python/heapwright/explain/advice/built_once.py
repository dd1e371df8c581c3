# SPDX-License-Identifier: MIT
"""Small blocks that are built once and kept: an arena, without a header and rounding for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from heapwright.explain import teardown
from heapwright.explain.advice.containers import NODES
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, MEDIUM, Advice, Rule
from heapwright.report import units

_LEAST_BLOCKS = 1000
_LARGEST_BYTES = 512  # on average: of larger blocks headers are little
_MOST_STAY = 0.9  # of all that the site makes, alive at the peak
_NEARLY_ALL = 0.99
_MOST_SITES = 5


def _find(of: Evidence) -> Iterator[Advice]:
    """The sites together: one arena serves all."""
    early = _freed_early(of)
    sites = [site for site in of.candidates(_LEAST_BLOCKS) if _stays(of, site, early[site])]
    sites.sort(key=lambda site: -of.lost_bytes(site))
    sites = sites[:_MOST_SITES]
    if not sites:
        return
    facts = [of.site(site) for site in sites]
    blocks, size = sum(one.live_at_peak_blocks for one in facts), sum(one.live_at_peak_bytes for one in facts)
    lost = sum(map(of.lost_bytes, sites))
    stay = min(_share_alive(of, site) for site in sites)
    yield Advice(
        tuple(sites),
        f"{units.count(blocks)} blocks of {units.size(size / max(1, blocks))} on average are built once and "
        "kept",
        (
            f"{units.size(size)} of them live at the peak, and {units.size(lost)} more are their rounding "
            "and headers",
            f"{units.percent(stay)} or more of what each site makes is alive then",
        ),
        "all calls of these sites and the frees of their blocks; rounding and headers",
        HIGH if stay >= _NEARLY_ALL else MEDIUM,
        "nearly all blocks of these sites were alive at the same time",
        sum(map(of.time_of, sites)),
        lost,
    )


def _share_alive(of: Evidence, site: int) -> float:
    facts = of.site(site)
    return facts.live_at_peak_blocks / max(1, facts.allocations)


def _freed_early(of: Evidence) -> Counter[int]:
    """Blocks freed in a row before the end: what is dropped all at once was not kept."""
    last = teardown.last_runs(of.report)
    found: Counter[int] = Counter()
    for run in of.facts.release_runs:
        if run not in last:
            found[run.site] += run.blocks
    return found


def _stays(of: Evidence, site: int, freed_early: int) -> bool:
    facts = of.site(site)
    if facts.live_at_peak_blocks < _LEAST_BLOCKS or _share_alive(of, site) < _MOST_STAY:
        return False
    if freed_early > (1 - _MOST_STAY) * facts.allocations:
        return False
    is_small = facts.bytes <= _LARGEST_BYTES * facts.allocations
    # Containers allocate for themselves; what a shared_ptr owns ends with its last owner.
    container = of.container(site)[0]
    is_own = site not in of.control_blocks and container not in (*NODES, "shared_ptr", "vector", "buckets")
    # What becomes more to the end is a cache or a leak: an arena would make a bound of it impossible.
    return is_small and is_own and facts.reallocs == 0 and site not in of.growing


RULE = Rule(
    "built_once",
    "arena",
    "allocate them in one arena that lives as long as they do",
    _find,
    (
        "single ones are freed early in other runs: their memory stays until the arena's end",
        "the objects own heap memory that would stay outside the arena (std::string, std::vector)",
        "several threads build them: an arena takes no lock",
    ),
    "allocate them in one region (an obstack, a pool of your library) that lives as long as they do",
    prelude="""\
#include <heapwright/arena.hpp>
struct Entry { Entry* next; int key; };
int next_key();""",
    before="""\
static Entry* table = nullptr;  // kept until the process ends
for (int i = 0; i < 100000; ++i) table = new Entry{table, next_key()};""",
    after="""\
static heapwright::arena memory;
static Entry* table = nullptr;
for (int i = 0; i < 100000; ++i) table = memory.create<Entry>(table, next_key());""",
    unsampled="knowing whether a site's blocks live at the same time takes every call",
    change="arena",
)
