# SPDX-License-Identifier: MIT
"""Which sites spend the most time in the allocator?"""

from __future__ import annotations

from heapwright.explain.question import A_SAMPLED_CALL_IS_SLOW, Question
from heapwright.explain.report import CPU_NS, Answer, Finding, base_in_words, share
from heapwright.explain.tables import sites
from heapwright.model import SiteFacts
from heapwright.report import units
from heapwright.report.columns import Column


def _time_of(site: SiteFacts) -> int:
    """Of the site's allocating calls and of the frees of its blocks."""
    return site.allocator_ns + site.release_ns


def _findings(answer: Answer) -> list[Finding]:
    """A program that spends much of its time in the allocator."""
    if not answer["durations_recorded"] or answer["share"] < 0.03:
        return []
    text = (
        f"{units.percent(answer['share'])} of {base_in_words(answer)} is spent in the allocator "
        f"({units.duration(answer['allocator_ns'])})"
    )
    return [Finding(min(1.0, answer["share"] * 3), text)]


def _gist(answer: Answer) -> str:
    if not answer["durations_recorded"]:
        return "not recorded (--no-durations)"
    return f"{units.percent(answer['share'])} of {base_in_words(answer)} in the allocator"


QUESTION = Question(
    "time",
    "Most time in the allocator",
    (
        Column("durations_recorded", "flag", value="trace.metadata.durations_recorded"),
        Column("allocator_ns", "ns", value="facts.totals.allocator_ns"),
        CPU_NS,
        Column("thread_time_ns", "ns", about="Wall time, with sleep and waiting."),
        Column("share", "share", value=lambda report, of: share(of["allocator_ns"], report.base_ns)),
    ),
    (
        sites(
            Column("time_ns", "ns", "time", lambda site, _: _time_of(site)),
            Column("share", "share", "share", lambda site, of: share(_time_of(site), of["allocator_ns"])),
            Column(
                "mean_allocation_ns",
                "ns",
                "allocate",
                lambda site, _: site.allocator_ns // max(1, site.allocations),
            ),
            Column("mean_release_ns", "ns", "free", lambda site, _: site.release_ns // max(1, site.freed)),
            most=_time_of,
        ),
    ),
    findings=_findings,
    paths=("allocator_ns", "release_ns"),
    unsampled=A_SAMPLED_CALL_IS_SLOW,
    gist=_gist,
)
