# SPDX-License-Identifier: MIT
"""Which sites spend the most time in the allocator?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report, share, site_record
from heapwright.report import units

NAME = "time"
TITLE = "Most time in the allocator"


def answer(report: Report) -> Answer:
    """Time of the site's allocating calls and of the frees of its blocks."""
    total = report.facts.totals.allocator_ns
    thread_time = report.thread_time_ns
    return {
        "durations_recorded": report.trace.metadata.durations_recorded,
        "allocator_ns": total,
        "thread_time_ns": thread_time,
        "share": share(total, thread_time),
        "sites": [
            {
                **site_record(site),
                "time_ns": facts.allocator_ns + facts.release_ns,
                "share": share(facts.allocator_ns + facts.release_ns, total),
                "mean_allocation_ns": facts.allocator_ns // max(1, facts.allocations),
                "mean_release_ns": facts.release_ns // max(1, facts.freed),
            }
            for site, facts in report.top_sites(lambda facts: facts.allocator_ns + facts.release_ns)
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Longest first."""
    return tables.by_site(
        answer,
        [
            ("time", lambda site: units.duration(site["time_ns"])),
            ("share", lambda site: units.percent(site["share"], 1)),
            ("allocate", lambda site: units.duration(site["mean_allocation_ns"])),
            ("free", lambda site: units.duration(site["mean_release_ns"])),
        ],
        units.duration,
    )


def findings(answer: Answer) -> list[Finding]:
    """A program that spends much of its time allocating."""
    if not answer["durations_recorded"] or answer["share"] < 0.03:
        return []
    text = (
        f"{units.percent(answer['share'], 1)} of the threads' time is spent in the allocator "
        f"({units.duration(answer['allocator_ns'])})"
    )
    return [Finding(min(1.0, answer["share"] * 3), text, NAME)]
