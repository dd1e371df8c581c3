# SPDX-License-Identifier: MIT
"""Where does the allocator round sizes up?"""

from __future__ import annotations

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Finding, Report, share, weight_of
from heapwright.explain.tables import sites
from heapwright.report import units
from heapwright.report.columns import OPEN, Column


def _over_all(report: Report, _: Answer) -> int:
    totals = report.facts.totals
    return max(0, totals.usable_bytes - totals.requested_bytes)


def _at_peak(report: Report, _: Answer) -> int:
    peak = report.facts.peak
    return max(0, peak.live_usable_bytes - peak.live_bytes)


def _share_at_peak(report: Report, _: Answer) -> float:
    peak = report.facts.peak
    return share(peak.live_usable_bytes - peak.live_bytes, peak.live_usable_bytes)


def _findings(answer: Answer) -> list[Finding]:
    """Rounding that costs a significant part of the peak."""
    if answer["share_at_peak"] < 0.1:
        return []
    text = (
        f"{units.size(answer['at_peak_bytes'])} of the peak ({units.percent(answer['share_at_peak'])}) "
        "is the allocator's rounding"
    )
    return [Finding(weight_of(answer["share_at_peak"] * 0.8, answer["at_peak_bytes"]), text)]


def _gist(answer: Answer) -> str:
    if not answer["at_peak_bytes"]:
        return ""
    part = units.percent(answer["share_at_peak"])
    return f"{units.size(answer['at_peak_bytes'])} of the peak ({part}) is the allocator's rounding"


QUESTION = Question(
    "overhead",
    "Overhead: usable minus requested bytes",
    (
        Column("overhead_bytes", "bytes", value=_over_all, sampled="overhead"),
        Column("requested_bytes", "bytes", value="facts.totals.requested_bytes", sampled="bytes"),
        Column("at_peak_bytes", "bytes", value=_at_peak, sampled=OPEN),
        Column("share_at_peak", "share", value=_share_at_peak, sampled=OPEN),
    ),
    (
        sites(
            Column("overhead_bytes", "bytes", "overhead", sampled="overhead"),
            Column(
                "share_of_site",
                "share",
                "of the site",
                lambda site, _: share(site.overhead_bytes, site.bytes + site.overhead_bytes),
                sampled=OPEN,
            ),
            Column(
                "mean_bytes",
                "number",
                "per block",
                lambda site, _: site.overhead_bytes / max(1, site.allocations),
                lambda site, _: f"{site['mean_bytes']:.1f} B",
                sampled=OPEN,
            ),
            most=lambda site: site.overhead_bytes,
        ),
    ),
    findings=_findings,
    gist=_gist,
)
