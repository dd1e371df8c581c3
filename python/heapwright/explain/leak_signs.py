# SPDX-License-Identifier: MIT
"""Which sites leak, as far as a trace can tell, and which blocks are suppressed.

A trace knows what was never freed, not what is still reachable. So a site is
named only if none of its many blocks was ever freed and they were allocated
throughout the run. That is likely a leak if the program frees everything else
before it ends; otherwise growth alone may be a cache, and a run of some seconds
may only be its start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from heapwright.explain import coverage
from heapwright.explain.report import Report
from heapwright.model.suppressions import stacks_suppressed

LIKELY, POSSIBLE = "likely", "possible"
_LEAST_BLOCKS = 50
_LEAST_PARTS = 16  # of 64 equal parts of the run
_LAST_PART = 48  # some are allocated in it or later: a cache that fills once is full before
TIDY = 0.95  # share of other sites' allocations that was freed
# A leaking function leaks everything it allocates for a purpose. If many functions keep
# everything, the program does not intend to free.
FEW_FUNCTIONS = 3
# Many functions may leak if they keep this share of all blocks at most: who builds something keeps more.
_MOST_KEPT = 0.25
LONG_RUN_NS = 10_000_000_000
_PARTS_OF_GROWTH = 48


class Stayed(NamedTuple):
    """Blocks of a site that were never freed, except suppressed ones."""

    bytes: int
    blocks: int
    parts: int  # as SiteFacts.live_at_end_parts


class Staying(NamedTuple):
    """Blocks by site, and how much was suppressed."""

    sites: list[Stayed]
    suppressed: Stayed


def staying(report: Report) -> Staying:
    """What is live at the end."""
    columns = report.facts.stacks
    bytes_of, parts_of = columns["live_at_end_bytes"], columns["live_at_end_parts"]
    is_known = stacks_suppressed(report.trace, report.suppressions)
    kept = [[0, 0, 0] for _ in report.facts.sites]
    known = [0, 0, 0]
    site_of_stack = report.sites.site_of_stack
    for stack, blocks in enumerate(columns["live_at_end_blocks"].tolist()):
        if blocks:
            sums = known if is_known[stack] else kept[site_of_stack[stack]]
            sums[:] = sums[0] + bytes_of[stack], sums[1] + blocks, sums[2] | parts_of[stack]
    return Staying([Stayed(*sums) for sums in kept], Stayed(*known))


def confidence(report: Report, found: Staying) -> dict[int, str]:
    """The sites that show signs of a leak, and the confidence."""
    if not _can_tell(report):
        return {}
    facts_of = report.facts.sites
    suspects = [
        site
        for site, (stayed, facts) in enumerate(zip(found.sites, facts_of, strict=True))
        if not facts.freed
        and stayed.blocks >= _LEAST_BLOCKS
        and stayed.parts.bit_count() >= _LEAST_PARTS
        and stayed.parts.bit_length() > _LAST_PART
    ]
    functions = {report.sites[site].location.function or str(site) for site in suspects}
    is_few = len(functions) <= FEW_FUNCTIONS
    apart = suspects if is_few else []
    signs = {}
    for site in suspects:
        sure = _how_sure(report, found.sites[site], freed_share(report, found, {site, *apart}))
        if sure:
            signs[site] = sure
    return signs if signs or is_few else _of_many(report, found, suspects)


def _of_many(report: Report, found: Staying, suspects: Sequence[int]) -> dict[int, str]:
    """Sites of many functions that keep a small part of what the program makes, and never pause in it, while
    the rest is freed: a service that leaks in several places, or that fills several caches."""
    allocations = sum(facts.allocations for facts in report.facts.sites)
    kept = sum(found.sites[site].blocks for site in suspects)
    if kept > _MOST_KEPT * allocations or freed_share(report, found, set(suspects)) < TIDY:
        return {}
    steady = (site for site in suspects if found.sites[site].parts.bit_count() >= _PARTS_OF_GROWTH)
    return dict.fromkeys(steady, POSSIBLE)


def freed_share(report: Report, found: Staying, apart: set[int]) -> float:
    """Share freed of what all other sites allocated."""
    rest = [site for site in range(len(found.sites)) if site not in apart]
    allocations = sum(report.facts.sites[site].allocations for site in rest)
    return 1 - sum(found.sites[site].blocks for site in rest) / allocations if allocations else 1.0


def _how_sure(report: Report, stayed: Stayed, others_freed: float) -> str:
    if others_freed >= TIDY:
        return LIKELY
    is_long = report.facts.totals.span_ns >= LONG_RUN_NS
    return POSSIBLE if is_long and stayed.parts.bit_count() >= _PARTS_OF_GROWTH else ""


def _can_tell(report: Report) -> bool:
    """Only for a complete recording of every call until the program's own exit."""
    return (
        report.facts.completeness.is_complete
        and report.facts.coverage.is_whole_run
        and coverage.live_at(report) == coverage.AT_END
        and report.chosen.from_ns == 0
        and report.trace.end.reason == "exited"
        and report.trace.metadata.sample_mean_bytes == 0
    )


def likely(report: Report) -> set[int]:
    """The sites that likely leak: what their blocks pin comes back with them."""
    found = confidence(report, staying(report))
    return {site for site, sure in found.items() if sure == LIKELY}
