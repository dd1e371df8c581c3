# SPDX-License-Identifier: MIT
"""A recording's hottest lines: by calls, bytes, time, and memory held, pinned or growing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from heapwright.explain.growing_sites import Growth
from heapwright.explain.report import Report, share
from heapwright.lint import lines
from heapwright.lint.lines import Groups, Place
from heapwright.lint.parsed import Input, Progress
from heapwright.model import Facts, Filter

# A line is checked from this share of any measure on.
LEAST_SHARE = 0.001
MOST_LINES = 300


class Reading(NamedTuple):
    """The recording by lines. pinned_bytes: by group, in the scan where it pins most."""

    groups: Groups
    report: Report
    growth: Growth
    pinned_bytes: Sequence[int]

    @property
    def facts(self) -> Facts:
        return self.report.facts

    def most_resident_bytes(self) -> int:
        """What pinned bytes are a share of: the peak of resident memory."""
        return max((scan.resident_bytes for scan in self.facts.residency), default=0)


def read(given: Input, transparent: Collection[Place], progress: Progress) -> Reading:
    """transparent: lines to skip."""
    groups = lines.group(given.trace, given.sources, transparent)
    reading = given.trace.begin_facts(groups=groups.of_stack)
    facts = reading.take(lambda done, whole: progress("reading calls", done, whole))
    report = Report(given.trace, facts, groups.as_sites(given.trace.sites()), Filter(), 0)
    return Reading(groups, report, Growth(report), _pinned(facts))


def hot(given: Input, reading: Reading) -> dict[Place, float]:
    """The hottest lines, by the largest of their shares."""
    sites = reading.facts.sites
    measures: tuple[tuple[Sequence[int], int], ...] = (
        _of_all([site.allocations for site in sites]),
        _of_all([site.bytes for site in sites]),
        _of_all([site.allocator_ns + site.release_ns for site in sites]),
        _of_all([site.live_at_peak_bytes for site in sites]),
        (reading.pinned_bytes, reading.most_resident_bytes()),
        ([reading.growth.grown_bytes(site) for site in range(len(sites))], reading.facts.peak.live_bytes),
    )
    found: dict[Place, float] = {}
    for values, whole in measures:
        sums: Counter[Place] = Counter()
        for group, value in zip(reading.groups.groups, values, strict=True):
            if group.place is not None and is_asked(given, group.place[0]):
                sums[group.place] += value
        for place, value in sums.items():
            found[place] = max(found.get(place, 0.0), share(value, whole))
    kept = sorted((place for place in found if found[place] >= LEAST_SHARE), key=lambda one: -found[one])
    return {place: found[place] for place in kept[:MOST_LINES]}


def is_asked(given: Input, file: str) -> bool:
    """Whether the file is among the given paths, if any."""
    return not given.paths or any(Path(file).is_relative_to(path) for path in given.paths)


def _of_all(values: Sequence[int]) -> tuple[Sequence[int], int]:
    return values, sum(values)


def _pinned(facts: Facts) -> list[int]:
    found = [0] * len(facts.sites)
    for pin in facts.pins:
        found[pin.site] = max(found[pin.site], pin.pinned_bytes)
    return found
