# SPDX-License-Identifier: MIT
"""Which sites held the memory when the heap was largest?"""

from __future__ import annotations

from heapwright.explain import nested_words
from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Finding, Report, share, weight_of
from heapwright.explain.tables import sites
from heapwright.model import Site, SiteFacts
from heapwright.model.suppressions import stacks_suppressed
from heapwright.report import units
from heapwright.report.columns import OPEN, Column, added_later


class _Peak:
    """The peak, with what the C++ library allocates at its start apart: it is no site to change."""

    def __init__(self, report: Report) -> None:
        self.facts = report.facts
        self.start_up = start_up_bytes(report)
        self.start_up_bytes = sum(self.start_up.values())
        self._report = report

    def sites(self) -> list[tuple[Site, SiteFacts]]:
        """Most bytes first, without sites that hold nothing else."""
        report, facts = self._report, self._report.facts.sites
        held = {number: site.live_at_peak_bytes for number, site in enumerate(facts)}
        order = [number for number, size in held.items() if size > self.start_up.get(number, 0)]
        order.sort(key=lambda number: -held[number])
        return [(report.sites[number], facts[number]) for number in order[: report.top]]


def start_up_bytes(report: Report) -> dict[int, int]:
    """By site, what was live at the peak of the memory that run time libraries allocate at their start."""
    is_known, of_site = stacks_suppressed(report.trace, ()), report.sites.site_of_stack
    found: dict[int, int] = {}
    for stack, size in enumerate(report.facts.stacks["live_at_peak_bytes"].tolist()):
        if size and is_known[stack]:
            found[of_site[stack]] = found.get(of_site[stack], 0) + size
    return found


def _notes(answer: Answer) -> list[str]:
    if not answer["start_up_bytes"]:
        return []
    return [f"not listed: {units.size(answer['start_up_bytes'])} that the C++ library allocates at its start"]


def _findings(answer: Answer) -> list[Finding]:
    """A site that holds a large part of the peak."""
    for site in answer["sites"][:1]:
        if site["share"] >= 0.1:
            text = f"{units.percent(site['share'])} of the peak is held by {site['name']}"
            text += nested_words.beside(site)
            text += f"; {nested_words.skip_hint(site)}" if site.get("skip") else ""
            return [Finding(weight_of(site["share"], site["share"] * answer["live_bytes"]), text)]
    return []


def _gist(answer: Answer) -> str:
    for site in answer["sites"][:1]:
        return f"{units.size(answer['live_bytes'])}, {units.percent(site['share'])} of it in {site['name']}"
    return ""


QUESTION = Question(
    "peak",
    "Live at the peak",
    (
        Column("time_ns", "ns", value="facts.peak.time_ns"),
        Column("live_bytes", "bytes", value="facts.peak.live_bytes", sampled="peak_bytes"),
        Column("live_usable_bytes", "bytes", value="facts.peak.live_usable_bytes", sampled=OPEN),
        Column("live_blocks", value="facts.peak.live_blocks", sampled="peak_blocks"),
        Column(
            "start_up_bytes",
            "bytes",
            about="Of live_bytes, what the C++ library allocates at its start; in no row of the sites.",
            sampled=OPEN,
        ),
        Column("intervals_are", "text", value=added_later),
    ),
    (
        sites(
            Column("live_bytes", "bytes", "bytes", "live_at_peak_bytes", sampled="peak_bytes"),
            Column(
                "share", "share", "share", lambda site, of: share(site.live_at_peak_bytes, of["live_bytes"])
            ),
            Column("live_blocks", "count", "blocks", "live_at_peak_blocks", sampled="peak_blocks"),
            rows=_Peak.sites,
        ),
    ),
    prepare=_Peak,
    findings=_findings,
    notes=_notes,
    paths=("live_at_peak_bytes",),
    gist=_gist,
)
