# SPDX-License-Identifier: MIT
"""What was never freed?"""

from __future__ import annotations

from heapwright.explain import coverage, leak_signs, look, tables
from heapwright.explain.report import Answer, Finding, Report, share, site_record
from heapwright.model import SiteFacts
from heapwright.report import units

NAME = "leaks"
TITLE = "Still live at the end"
_SIGNS = 3  # so many are told on the first screen


def title(answer: Answer) -> str:
    """Live at the end of the process only when that was recorded."""
    return TITLE if answer["live_at"] == coverage.AT_END else f"Live {coverage.when(answer['live_at'])}"


def answer(report: Report) -> Answer:
    """The blocks without a free, by site.

    share_of_allocations: of the site's blocks that were freed or stayed. With a
    range of time these are more than it allocated: some were live before.
    may_be_freed_*: of those, blocks whose free may lie outside of what was recorded; no leaks.
    """
    moment = coverage.live_at(report)
    is_end = moment == coverage.AT_END

    def may_be_freed(facts: SiteFacts) -> Answer:
        return {
            "may_be_freed_bytes": facts.live_at_pause_bytes if is_end else facts.live_at_end_bytes,
            "may_be_freed_blocks": facts.live_at_pause_blocks if is_end else facts.live_at_end_blocks,
        }

    found = leak_signs.staying(report)
    sure = leak_signs.confidence(report, found)
    stayed = found.sites
    order = sorted((n for n in range(len(stayed)) if stayed[n].blocks), key=lambda n: -stayed[n].bytes)
    unsure = [may_be_freed(facts) for facts in report.facts.sites]
    # No sign of a leak where a free may lie outside of what was recorded.
    signs = [n for n in order if n in sure and unsure[n]["may_be_freed_blocks"] == 0][: report.top]
    total_bytes = sum(site.bytes for site in stayed)
    return {
        "live_at": moment,
        "may_be_freed_bytes": sum(site["may_be_freed_bytes"] for site in unsure),
        "may_be_freed_blocks": sum(site["may_be_freed_blocks"] for site in unsure),
        "live_bytes": total_bytes,
        "live_blocks": sum(site.blocks for site in stayed),
        "suppressed_bytes": found.suppressed.bytes,
        "suppressed_blocks": found.suppressed.blocks,
        "share_of_peak": share(total_bytes, report.facts.peak.live_bytes),
        "sites": [
            {
                **site_record(report.sites[n]),
                "live_bytes": stayed[n].bytes,
                "live_blocks": stayed[n].blocks,
                **may_be_freed(report.facts.sites[n]),
                "share": share(stayed[n].bytes, total_bytes),
                "share_of_allocations": share(stayed[n].blocks, _known_blocks(report.facts.sites[n])),
            }
            for n in order[: report.top]
        ],
        "signs": [
            {
                **site_record(report.sites[n]),
                "live_bytes": stayed[n].bytes,
                "live_blocks": stayed[n].blocks,
                "confidence": sure[n],
            }
            for n in signs
        ],
    }


def _known_blocks(facts: SiteFacts) -> int:
    return facts.live_at_end_blocks + facts.freed


def show(answer: Answer) -> look.RenderableType | None:
    """Largest first; the last number tells a leak from a cache."""
    is_end = answer["live_at"] == coverage.AT_END
    columns: list[tables.Column] = [
        ("bytes", lambda site: units.size(site["live_bytes"])),
        ("share", lambda site: units.percent(site["share"], 1)),
        ("blocks", lambda site: units.count(site["live_blocks"])),
        (
            "never freed" if is_end else "not yet freed",
            lambda site: units.percent(site["share_of_allocations"], 1),
        ),
    ]
    if is_end and answer["may_be_freed_blocks"]:
        columns.append(("live when paused", lambda site: units.size(site["may_be_freed_bytes"])))
    table = tables.by_site(answer, columns, units.size)
    if not answer["suppressed_blocks"]:
        return table
    known = (
        f"{units.size(answer['suppressed_bytes'])} in {units.counted(answer['suppressed_blocks'], 'block')}"
    )
    line = look.Text(f"suppressed, known to stay: {known}", style="dim")
    return look.Group(table, line) if table is not None else line


def findings(answer: Answer) -> list[Finding]:
    """Memory that stayed, when it is a large part of the peak."""
    likely = [sign for sign in answer["signs"] if sign["confidence"] == leak_signs.LIKELY]
    found = [_sign(sign) for sign in likely[:_SIGNS] or answer["signs"][:1]]
    if answer["share_of_peak"] < 0.1 or not answer["sites"]:
        return found
    site = answer["sites"][0]
    text = (
        f"{units.size(answer['live_bytes'])} were live {coverage.when(answer['live_at'])} "
        f"({units.percent(answer['share_of_peak'], 1)} of the peak), most from {site['name']}"
    )
    weight = 0.9 if answer["live_at"] == coverage.AT_END else 0.3  # what still lives need not stay
    return [*found, Finding(answer["share_of_peak"] * weight, text, NAME)]


def _sign(sign: Answer) -> Finding:
    is_likely = sign["confidence"] == leak_signs.LIKELY
    text = (
        f"{units.counted(sign['live_blocks'], 'block')} ({units.size(sign['live_bytes'])}) of {sign['name']} "
        "allocated throughout the run, none ever freed: "
        f"{'likely a leak' if is_likely else 'a leak, or a cache that only grows'}"
    )
    return Finding(1.0 if is_likely else 0.5, text, NAME)
