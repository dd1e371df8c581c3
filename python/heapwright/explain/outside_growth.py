# SPDX-License-Identifier: MIT
"""Which of the program's own mappings grow in resident memory: what no heap call shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from heapwright.explain import growth_kinds
from heapwright.explain.growth_kinds import CREEP, LEAK
from heapwright.explain.leak_signs import LONG_RUN_NS
from heapwright.explain.report import Report
from heapwright.model import nested, runtimes
from heapwright.model.facts import OwnMoment
from heapwright.model.sites import Site

_BINS = 2 * growth_kinds.LEAST_BINS
_LEAST_LOOKS = 16
_LEAST_BYTES = 1 << 20
_LEAST_SHARE = 0.02  # of resident memory at its highest


class OutsideRow(NamedTuple):
    """A site whose own mappings certainly grow. again: the setting to run the program again with; "": none.

    skip: the function whose callers would be the sites, with --skip; "": it has no name.
    """

    slope_bytes_per_s: float
    half_width_bytes_per_s: float
    since_ns: int
    begin_bytes: int
    end_bytes: int
    again: str
    skip: str


def outside_rows(report: Report) -> list[tuple[Site, OutsideRow]]:
    """Fastest growth first. In a short run, unfinished work looks the same."""
    if report.facts.totals.span_ns < LONG_RUN_NS:
        return []
    highest = max((point.resident_bytes for point in report.facts.timeline), default=0)
    least = max(_LEAST_BYTES, _LEAST_SHARE * highest)
    found = []
    for number, moments in groupby(report.facts.own_moments, key=lambda moment: moment.site):
        site = report.sites[number]
        row = _row(report, site, list(moments), least)
        if row is not None:
            found.append((site, row))
    return sorted(found, key=lambda one: -one[1].slope_bytes_per_s)[: report.top]


def _row(report: Report, site: Site, moments: Sequence[OwnMoment], least: float) -> OutsideRow | None:
    if len(moments) < _LEAST_LOOKS:
        return None
    values = _at_equal_steps(moments)
    found = growth_kinds.verdict(growth_kinds.Course(values, [1] * len(values)), least)
    first_ns, last_ns = moments[0].time_ns, moments[-1].time_ns
    bin_ns = (last_ns - first_ns) / (_BINS - 1)
    # The last step may lie between a scan before the exit and one after it has freed everything.
    begin, end = values[found.begin], max(values[found.begin : found.end])
    is_growing = found.kind in (LEAK, CREEP) and found.slope.is_sure and found.slope.each > 0
    if not is_growing or end - begin < least:
        return None
    name = site.location.function
    return OutsideRow(
        found.slope.each / bin_ns * 1e9,
        found.slope.half_width / bin_ns * 1e9,
        first_ns + round(found.begin * bin_ns) if found.begin else 0,
        begin,
        end,
        again_with(report.trace.metadata.condition_values, site.location.library, name),
        name if not name.startswith(f"{site.location.library}+0x") else "",
    )


def _at_equal_steps(moments: Sequence[OwnMoment]) -> list[int]:
    """What was resident at equal steps, between two scans on a line."""
    first_ns, last_ns = moments[0].time_ns, moments[-1].time_ns
    values: list[int] = []
    for before, after in pairwise(moments):
        span_ns = max(1, after.time_ns - before.time_ns)
        while len(values) < _BINS:
            at_ns = first_ns + len(values) * (last_ns - first_ns) // (_BINS - 1)
            if at_ns > after.time_ns:
                break
            part = (at_ns - before.time_ns) / span_ns
            values.append(round(before.bytes + part * (after.bytes - before.bytes)))
    return values


def again_with(conditions: dict[str, str], library: str, function: str) -> str:
    """The setting with which the runtime makes each of its objects a call, if the mapping is of its arenas.

    >>> again_with({"runtime": "Python"}, "/usr/bin/python3.11", "_PyObject_ArenaMmap")
    'PYTHONMALLOC=malloc'
    >>> again_with({"runtime": "Python"}, "/usr/bin/python3.11", "new_mmap_object")
    ''
    >>> again_with({"runtime": "PHP"}, "/usr/bin/php8.2", "php8.2+0x1f")
    'USE_ZEND_ALLOC=0'
    """
    runtime = conditions.get("runtime", "")
    file = library.rsplit("/", 1)[-1].removeprefix("lib").lower()
    is_unnamed = "+0x" in function or not function
    entry = nested.mapper(
        function, runtime, is_unnamed and bool(runtime) and file.startswith(runtime.lower())
    )
    return runtimes.setting(runtime, conditions) if entry else ""
