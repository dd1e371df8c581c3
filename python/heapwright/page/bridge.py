# SPDX-License-Identifier: MIT
"""The parts of resident memory, at each step of the timeline.

At a scan the parts are its own and add up to the kernel's figure. Between two scans the kernel's
figure and the live bytes are known; the other parts are interpolated.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from heapwright.explain.report import Report

# From the bottom up; the first two are there without scans as well.
LAYERS = ("live", "rounding", "partly_free", "free_pages", "allocator", "own_mappings", "files", "others")
_FREE = ("partly_free", "free_pages", "allocator")
_OWN = "own mapping"


class _Scan(NamedTuple):
    time_ns: int
    parts: dict[str, int]
    resident_bytes: int
    untouched_bytes: int


class Bridge:
    """parts: of each layer, its bytes at each step; resident: the kernel's figure, 0 where unknown.

    is_whole: there are scans, so that all layers are known; otherwise the first two are.
    """

    def __init__(self, report: Report) -> None:
        points = report.facts.timeline
        scans = _scans(report)
        times = [point.time_ns for point in points]
        self.is_whole = bool(scans)
        self.scan_times_ns = [scan.time_ns for scan in scans]
        self.resident = _resident(report, scans, times)
        live = [point.live_bytes for point in points]
        rounding = [max(0, point.live_usable_bytes - point.live_bytes) for point in points]
        self.parts: dict[str, list[int]] = {"live": live, "rounding": rounding}
        if report.facts.spreads is not None:
            self.parts = {"live": live}
        if scans:
            rows = [
                _divided(scans, at, *row)
                for at, *row in zip(times, self.resident, live, rounding, strict=True)
            ]
            self.parts = {name: [row[name] for row in rows] for name in LAYERS}


def _scans(report: Report) -> list[_Scan]:
    facts, found = report.facts, []
    for number, scan in enumerate(facts.scans):
        parts = {
            "live": scan.live_bytes - scan.untouched_bytes,
            "rounding": scan.rounding_bytes,
            "partly_free": scan.partly_free_bytes,
            "free_pages": scan.free_page_bytes,
            "allocator": scan.allocator_bytes,
            "own_mappings": 0,
            "files": 0,
            "others": 0,
        }
        for owner in facts.scan_owners:
            if owner.scan == number:
                is_own = facts.resident_names[owner.kind] == _OWN
                parts["own_mappings" if is_own else "others"] += owner.anonymous_bytes
                parts["own_mappings" if is_own else "files"] += owner.file_bytes
        found.append(_Scan(scan.time_ns, parts, scan.resident_bytes, scan.untouched_bytes))
    return found


def _between(times: Sequence[int], at: int) -> tuple[int, int, float]:
    """The two places around a time, and how far it is from the first towards the second."""
    after = bisect_right(times, at)
    if after == 0 or after == len(times):
        place = min(after, len(times) - 1)
        return place, place, 0.0
    before = after - 1
    return before, after, (at - times[before]) / max(1, times[after] - times[before])


def _resident(report: Report, scans: Sequence[_Scan], times: Sequence[int]) -> list[int]:
    """The kernel's figure, from its samples and the scans; the recorder's own pages are in it."""
    known = {
        sample.time_ns: sample.resident_anonymous_bytes
        + sample.resident_file_bytes
        + sample.resident_shared_bytes
        + sample.recorder_bytes
        for sample in report.trace.memory_samples
    } | {scan.time_ns: scan.resident_bytes for scan in scans}
    at_times = sorted(known)
    if not at_times:
        return [0] * len(times)
    found = []
    for time_ns in times:
        before, after, way = _between(at_times, time_ns)
        first, last = known[at_times[before]], known[at_times[after]]
        found.append(round(first + (last - first) * way))
    return found


def _divided(scans: Sequence[_Scan], at: int, resident: int, live: int, rounding: int) -> dict[str, int]:
    before, after, way = _between([scan.time_ns for scan in scans], at)
    of: Callable[[Callable[[_Scan], int]], float]
    of = lambda get: get(scans[before]) + (get(scans[after]) - get(scans[before])) * way  # noqa: E731
    left = resident
    row: dict[str, int] = {}

    def take(name: str, size: float) -> None:
        nonlocal left
        row[name] = max(0, min(left, round(size)))
        left -= row[name]

    take("live", live - min(live, of(lambda scan: scan.untouched_bytes)))
    take("rounding", min(rounding, of(lambda scan: scan.parts["rounding"]) or rounding))
    for name in ("files", "others", "own_mappings"):
        take(name, of(lambda scan, name=name: scan.parts[name]))  # type: ignore[misc]
    free = {name: of(lambda scan, name=name: scan.parts[name]) for name in _FREE}  # type: ignore[misc]
    whole, rest = sum(free.values()), left
    for name in _FREE[1:]:
        take(name, rest * free[name] / whole if whole else 0)
    row[_FREE[0]] = left
    return row
