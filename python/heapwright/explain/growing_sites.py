# SPDX-License-Identifier: MIT
"""The sites that hold enough to be reported, each with the kind of its growth."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from heapwright.explain import growth_kinds, leak_signs
from heapwright.explain.growth_kinds import CREEP, GROWING, LEAK, UNKNOWN, Verdict
from heapwright.explain.outside_growth import outside_rows
from heapwright.explain.report import Report
from heapwright.model import Facts, Site
from heapwright.model.site_series import SiteCourse, courses_of

_LEAST_SHARE = 0.002  # of the peak: sites that never held more, and smaller growth, are left out
_EARLY = 0.25  # of the growth by the middle of a short run: growth is not only its last step
_TOO_SHORT = "in such a short run, unfinished work looks the same"
_BUILT = "or what it builds, which looks the same in such a short run"
_STAYS = 0.05  # of what it held: less is live at the end of a program that frees everything
_FREED = "it is freed before the exit: data that grows while the program runs"
_FREED_EARLIER = "it is freed before the recording ends: data that grows while the program runs"
NO_SIGN = ""


def least_growth_bytes(facts: Facts) -> float:
    """What is worth reporting, relative to the peak."""
    return max(1, _LEAST_SHARE * facts.peak.live_bytes)


class Held(NamedTuple):
    """A site at one end of the run: the first bin that held something, or the last before all was freed."""

    bytes: int
    blocks: int
    mean_usable_bytes: float


class Row(NamedTuple):
    """A site's growth; half_way: midway between begin and end."""

    kind: str
    slope_bytes_per_s: float
    half_width_bytes_per_s: float
    is_sure: bool
    since_ns: int
    until_ns: int
    begin: Held
    end: Held
    half_way_bytes: int
    sign: str
    reason: str

    @property
    def rank(self) -> tuple[float, int]:
        """Growth at the end first."""
        return (-self.slope_bytes_per_s if self.is_sure else 0.0, -self.end.bytes)


class Growth:
    """The sites whose growth is worth reporting, fastest growth at the end first."""

    def __init__(self, report: Report) -> None:
        self._report = report
        end_ns = report.facts.series_end_ns
        self._least_bytes = least = least_growth_bytes(report.facts)
        signs = leak_signs.confidence(report, leak_signs.staying(report))
        self._courses = {course.site: course for course in courses_of(report.facts)}
        self._rows = {
            course.site: _row(
                end_ns, course, self._verdict(course, [course.site]), signs.get(course.site, NO_SIGN)
            )
            for course in self._courses.values()
            if course.site in signs or max(course.live_bytes) >= least
        }
        self._doubt()
        self._clear()
        self.peak_bytes = report.facts.peak.live_bytes
        self.limit_bytes = report.limit_bytes
        self.used_bytes, self.used_is_resident = _used(report)
        rising = [
            row.slope_bytes_per_s for row in self._rows.values() if row.is_sure and row.slope_bytes_per_s > 0
        ]
        self.outside = outside_rows(report)
        rising += [row.slope_bytes_per_s for _, row in self.outside]
        self.growth_bytes_per_s = math.fsum(rising)

    def _doubt(self) -> None:
        """In a short run, a leak only if other sites' blocks are freed, and not only in its last step."""
        if self._report.facts.totals.span_ns >= leak_signs.LONG_RUN_NS:
            return
        for site, row in self._rows.items():
            if row.kind == CREEP:
                self._rows[site] = row._replace(reason=_BUILT)
        leaks = [site for site, row in self._rows.items() if row.kind == LEAK and not row.sign]
        names = {self._report.sites[site].location.function or str(site) for site in leaks}
        rest = (
            leak_signs.freed_share(self._report, leak_signs.staying(self._report), set(leaks))
            if leaks
            else 1.0
        )
        is_tidy = len(names) <= leak_signs.FEW_FUNCTIONS and rest >= leak_signs.TIDY
        for site in leaks:
            row = self._rows[site]
            if is_tidy and row.half_way_bytes - row.begin.bytes >= _EARLY * (row.end.bytes - row.begin.bytes):
                continue
            self._rows[site] = self._rows[site]._replace(kind=UNKNOWN, reason=_TOO_SHORT)

    def _clear(self) -> None:
        """What the program frees before any end of it is no leak, and in a short run no growth."""
        report = self._report
        is_exit = report.trace.end.reason == "exited" and report.facts.coverage.has_end
        reason = _FREED if is_exit else _FREED_EARLIER
        is_short = report.facts.totals.span_ns < leak_signs.LONG_RUN_NS
        for site, row in self._rows.items():
            stays = report.facts.sites[site].live_at_end_bytes
            if row.kind not in (LEAK, UNKNOWN) or row.sign or stays > _STAYS * row.end.bytes:
                continue
            is_sure = row.is_sure and not is_short
            kind = GROWING if row.kind == LEAK and is_sure else UNKNOWN
            self._rows[site] = row._replace(kind=kind, reason=reason, is_sure=is_sure)

    def rows(self) -> list[tuple[Site, Row]]:
        """The first of them."""
        order = sorted(self._rows, key=lambda site: self._rows[site].rank)[: self._report.top]
        return [(self._report.sites[site], self._rows[site]) for site in order]

    def slope_of(self, site: int) -> float:
        """Bytes per second at the end; 0 if not certain, or if the site is not tracked."""
        row = self._rows.get(site)
        return row.slope_bytes_per_s if row is not None and row.is_sure else 0.0

    def grown_bytes(self, site: int) -> int:
        """Growth of a site that certainly grows, from begin to end; 0 for others."""
        row = self._rows.get(site)
        is_growing = row is not None and row.is_sure and row.slope_bytes_per_s > 0
        return max(0, row.end.bytes - row.begin.bytes) if row is not None and is_growing else 0

    def together(self, sites: Collection[int]) -> Row | None:
        """The joint growth of sites whose blocks may move from one site to another; None: not tracked."""
        courses = [self._courses[site] for site in sites if site in self._courses]
        if len(courses) < 2:
            return self._rows.get(courses[0].site) if courses else None
        held = ([sum(bins) for bins in zip(*columns, strict=True)] for columns in _held_of(courses))
        whole = SiteCourse(courses[0].site, max(course.first_bin for course in courses), *held)
        return _row(self._report.facts.series_end_ns, whole, self._verdict(whole, sites), NO_SIGN)

    def _verdict(self, course: SiteCourse, sites: Collection[int]) -> Verdict:
        """The known series of these sites, in bins of the whole run."""
        first = course.first_bin
        largest = max(self._report.facts.site_sizes[site].max_bytes for site in sites)
        known = growth_kinds.Course(
            list(course.live_bytes[first:]), list(course.live_blocks[first:]), largest
        )
        verdict = growth_kinds.verdict(known, self._least_bytes)
        steady_from = verdict.steady_from + first
        return verdict._replace(begin=verdict.begin + first, end=verdict.end + first, steady_from=steady_from)


def _held_of(courses: Sequence[SiteCourse]) -> Iterator[list[Sequence[int]]]:
    """The values of each site, by figure."""
    for figure in SiteCourse._fields[2:]:
        yield [getattr(course, figure) for course in courses]


def _row(end_ns: Sequence[int], course: SiteCourse, verdict: Verdict, sign: str) -> Row:
    bin_s = (end_ns[-1] - end_ns[0]) / max(1, len(end_ns) - 1) / 1e9 or 1e-9
    first = next((place for place, blocks in enumerate(course.live_blocks) if blocks), 0)
    if verdict.kind == CREEP:  # before, it had other blocks
        first = max(first, verdict.steady_from)
    last = max(first, verdict.end - 1)
    begin_ns = end_ns[verdict.begin] - round(bin_s * 1e9)
    return Row(
        # A leak sign outweighs the series: nothing of what other sites allocate stays.
        LEAK if sign else verdict.kind,
        verdict.slope.each / bin_s,
        verdict.slope.half_width / bin_s,
        verdict.slope.is_sure,
        max(0, begin_ns),
        end_ns[max(0, verdict.end - 1)],
        _held(course, first),
        _held(course, last),
        course.live_bytes[(first + last) // 2],
        sign,
        "" if sign else verdict.reason,
    )


def _held(course: SiteCourse, place: int) -> Held:
    blocks = course.live_blocks[place]
    return Held(course.live_bytes[place], blocks, course.live_usable_bytes[place] / blocks if blocks else 0.0)


def _used(report: Report) -> tuple[int, bool]:
    """What counts towards a limit at the end: resident memory, or live bytes if there is no sample."""
    points = report.facts.timeline
    resident = points[-1].resident_bytes + points[-1].resident_shared_bytes if points else 0
    return (resident, True) if resident else (points[-1].live_bytes if points else 0, False)
