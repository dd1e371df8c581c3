# SPDX-License-Identifier: MIT
"""What was never freed?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heapwright.explain import cause, coverage, growth, holders, leak_signs, pool_names
from heapwright.explain.cause_words import WORTH_BYTES
from heapwright.explain.growing_sites import Growth
from heapwright.explain.question import Question
from heapwright.explain.report import LEAST_BYTES, Answer, Finding, Report, share, weight_of
from heapwright.explain.tables import sites
from heapwright.explain.telling_scan import telling_scan
from heapwright.model import Site
from heapwright.report import units
from heapwright.report.columns import OPEN, Choice, Column

_TITLE = "Still live at the end"
_SIGNS = 3  # shown on the first screen
# Below this or LEAST_BYTES a sign is only in the table.
_LEAST_SHARE = 0.01  # of the peak


def _title(answer: Answer) -> str:
    """ "Live at the end" of the process only if that was recorded."""
    return _TITLE if answer["live_at"] == coverage.AT_END else f"Live {coverage.when(answer['live_at'])}"


class _Stayed(NamedTuple):
    """The blocks of a site that were never freed.

    may_be_freed_*: of these, blocks whose free may be outside the recording; not leaks.
    known_blocks: the site's blocks that were freed or stayed. With a time range these are more
    than it allocated: some were live before.
    """

    live_bytes: int
    live_blocks: int
    may_be_freed_bytes: int
    may_be_freed_blocks: int
    known_blocks: int
    confidence: str  # that it is a leak; "" = no sign of one
    slope_bytes_per_s: float  # at the end; 0 unless growth is certain
    verdict: str  # holders.Verdicts
    kept_free_bytes: int  # that its blocks pin or hold; 0 without a sign


class _Leaks:
    """What stayed, by site."""

    def __init__(self, report: Report) -> None:
        self.live_at = coverage.live_at(report)
        found = leak_signs.staying(report)
        sure = leak_signs.confidence(report, found)
        slopes = Growth(report) if sure else None
        verdicts = holders.Verdicts(report) if sure else None
        kept = _kept_free(report) if sure else {}
        self.kept_together_bytes = _kept_together(report, sure, kept)
        is_end = self.live_at == coverage.AT_END
        self._report = report
        self._stayed = [
            _Stayed(
                stayed.bytes,
                stayed.blocks,
                facts.live_at_pause_bytes if is_end else facts.live_at_end_bytes,
                facts.live_at_pause_blocks if is_end else facts.live_at_end_blocks,
                facts.live_at_end_blocks + facts.freed,
                sure.get(number, ""),
                slopes.slope_of(number) if slopes is not None and number in sure else 0.0,
                verdicts.of(number) if verdicts is not None and number in sure else "",
                kept.get(number, 0) if number in sure else 0,
            )
            for number, (stayed, facts) in enumerate(zip(found.sites, report.facts.sites, strict=True))
        ]
        self.may_be_freed_bytes = sum(site.may_be_freed_bytes for site in self._stayed)
        self.may_be_freed_blocks = sum(site.may_be_freed_blocks for site in self._stayed)
        self.live_bytes = sum(site.live_bytes for site in self._stayed)
        self.live_blocks = sum(site.live_blocks for site in self._stayed)
        self.suppressed_bytes = found.suppressed.bytes
        self.suppressed_blocks = found.suppressed.blocks
        self.share_of_peak = share(self.live_bytes, report.facts.peak.live_bytes)
        stayed = [number for number, site in enumerate(self._stayed) if site.live_blocks]
        self._order = sorted(stayed, key=lambda number: -self._stayed[number].live_bytes)

    def sites(self) -> list[tuple[Site, _Stayed]]:
        """Most bytes first."""
        return self._first(self._order)

    def signs(self) -> list[tuple[Site, _Stayed]]:
        """None if a free may be outside the recording."""
        sites = self._stayed
        return self._first(n for n in self._order if sites[n].confidence and not sites[n].may_be_freed_blocks)

    def _first(self, numbers: Iterable[int]) -> list[tuple[Site, _Stayed]]:
        return [(self._report.sites[n], self._stayed[n]) for n in [*numbers][: self._report.top]]


def _kept_free(report: Report) -> dict[int, int]:
    """By site, the free memory that its blocks keep, at the scan with the most."""
    scan = telling_scan(report)
    return {pin.site: max(pin.pinned_bytes, pin.held_bytes) for pin in report.facts.pins if pin.scan == scan}


def _kept_together(report: Report, sure: Iterable[int], kept: dict[int, int]) -> int:
    """What the blocks of all sites with a sign keep: of a page with blocks of two, neither alone does."""
    numbers = set(sure)
    alone = sum(kept.get(number, 0) for number in numbers)
    joint = cause.joint_of(report) if len(numbers) > 1 else None
    return max(alone, joint.pinned_bytes) if joint is not None and numbers.issuperset(joint.sites) else alone


def _notes(answer: Answer) -> list[str]:
    if not answer["suppressed_blocks"]:
        return []
    blocks = units.counted(answer["suppressed_blocks"], "block")
    return [f"suppressed: {units.size(answer['suppressed_bytes'])} in {blocks}"]


def _never_freed(answer: Answer) -> str:
    return "never freed" if answer["live_at"] == coverage.AT_END else "not yet freed"


def _when_paused(answer: Answer) -> str:
    is_told = answer["live_at"] == coverage.AT_END and answer["may_be_freed_blocks"]
    return "live when paused" if is_told else ""


def _findings(answer: Answer) -> list[Finding]:
    """Memory that stayed, when it is a large part of the peak."""
    signs = answer["signs"] if _is_told(answer["signs"], answer) else []
    likely = [sign for sign in signs if sign["confidence"] == leak_signs.LIKELY and _is_told([sign], answer)]
    together = answer["kept_together_bytes"]
    found = [_sign(sign) for sign in likely[:_SIGNS]]
    if not likely:
        found = [_sign(sign, len(signs) - 1, together) for sign in signs[:1]]
    if answer["share_of_peak"] < 0.1 or not answer["sites"]:
        return found
    site = answer["sites"][0]
    if any(sign["site"] == site["site"] for sign in signs):
        return found  # the sign tells it
    text = (
        f"{units.size(answer['live_bytes'])} were live {coverage.when(answer['live_at'])} "
        f"({units.percent(answer['share_of_peak'], 1)} of the peak), most from {site['name']}"
    )
    weight = 0.9 if answer["live_at"] == coverage.AT_END else 0.3  # live blocks need not stay
    return [*found, Finding(weight_of(answer["share_of_peak"] * weight, answer["live_bytes"]), text)]


def _is_told(signs: Sequence[Answer], answer: Answer) -> bool:
    """Whether they hold enough together."""
    held = sum(sign["live_bytes"] for sign in signs)
    of_peak = answer["share_of_peak"] * share(held, answer["live_bytes"])
    return bool(held >= LEAST_BYTES and of_peak >= _LEAST_SHARE)


def _without_snapshot(is_likely: bool) -> str:
    said = (
        "a leak, unless in use to the end"
        if is_likely
        else "cannot tell a leak from a cache that only grows, or from what is built and kept"
    )
    return f"{said}; --snapshot end tells who holds them"


def _sign(sign: Answer, others: int = 0, together_bytes: int = 0) -> Finding:
    """others: sites for which it stands; together_bytes: what all of them keep."""
    rising = sign["slope_bytes_per_s"]
    slope = f", growing by {units.rate(rising)} at the end" if rising > 0 else ""
    is_likely = sign["confidence"] == leak_signs.LIKELY
    kept = together_bytes if others else sign["kept_free_bytes"]
    pins = f"; they also keep {units.size(kept)} of free memory resident" if kept >= WORTH_BYTES else ""
    also = f", and blocks of {units.counted(others, 'other site')}," if others else ""
    text = (
        f"{units.counted(sign['live_blocks'], 'block')} ({units.size(sign['live_bytes'])}) of {sign['name']}"
        f"{also} allocated throughout the run, none ever freed{slope}: "
        + (sign["verdict"] or _without_snapshot(is_likely))
        + pins
        + pool_names.hint(sign["function"])
    )
    return Finding(growth.WEIGHT if rising > 0 else 1.0 if is_likely else 0.5, text)


def _gist(answer: Answer) -> str:
    when = coverage.when(answer["live_at"])
    suppressed = "".join(f"; {note}" for note in _notes(answer))
    if not answer["live_blocks"]:
        return f"nothing was live {when}{suppressed}"
    stayed = f"{units.size(answer['live_bytes'])} in {units.counted(answer['live_blocks'], 'block')}"
    signs = len(answer["signs"])
    sign = f"; a sign of a leak at {units.counted(signs, 'site')}" if signs else ""
    return f"{stayed} were live {when}{sign}{suppressed}"


QUESTION = Question(
    "leaks",
    _TITLE,
    (
        Column("live_at", "live_at"),
        Column("may_be_freed_bytes", "bytes", sampled=OPEN),
        Column("may_be_freed_blocks", sampled=OPEN),
        Column("live_bytes", "bytes", sampled="end_bytes"),
        Column("live_blocks", sampled="end_blocks"),
        Column("suppressed_bytes", "bytes", sampled=OPEN),
        Column("suppressed_blocks", sampled=OPEN),
        Column("share_of_peak", "share"),
        Column(
            "kept_together_bytes",
            "bytes",
            about="Free memory that the blocks of all signs keep, also on pages that several of them share.",
        ),
    ),
    (
        sites(
            Column("live_bytes", "bytes", "bytes", sampled="end_bytes"),
            Column("share", "share", "share", lambda site, of: share(site.live_bytes, of["live_bytes"])),
            Column("live_blocks", "count", "blocks", sampled="end_blocks"),
            # Distinguishes a leak from a cache.
            Column(
                "share_of_allocations",
                "share",
                _never_freed,
                lambda site, _: share(site.live_blocks, site.known_blocks),
                sampled=OPEN,
            ),
            Column("may_be_freed_bytes", "bytes", _when_paused, sampled=OPEN),
            Column("may_be_freed_blocks", sampled=OPEN),
            rows=_Leaks.sites,
        ),
        sites(
            Column("live_bytes", "bytes", sampled="end_bytes"),
            Column("live_blocks", sampled="end_blocks"),
            Column("confidence", Choice((leak_signs.LIKELY, leak_signs.POSSIBLE))),
            Column(
                "slope_bytes_per_s",
                "integer",
                value=lambda site, _: round(site.slope_bytes_per_s),
                about="From the question growth; 0: no certain growth at the end.",
            ),
            Column("verdict", "text", about='By a snapshot: lost, or held by whom; "" = not known.'),
            Column(
                "kept_free_bytes",
                "bytes",
                about="Free memory on pages of its blocks alone, or below them at the heap's end: it comes "
                "back with the blocks.",
            ),
            rows=_Leaks.signs,
            key="signs",
            about="Sites whose blocks were allocated throughout the run and never freed.",
        ),
    ),
    prepare=_Leaks,
    findings=_findings,
    title_of=_title,
    notes=_notes,
    paths=("live_at_end_bytes",),
    gist=_gist,
)
