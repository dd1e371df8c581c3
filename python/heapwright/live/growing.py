# SPDX-License-Identifier: MIT
"""Growing sites of a sampled process, from explain on the samples so far."""

from __future__ import annotations

import time
from contextlib import suppress

from heapwright.live.profiles import NoProfileError, copy_profile, opened
from heapwright.model.trace import Filter, TraceError
from heapwright.report.columns import Column, Many, Record

_SHOWN = 10
# The maximum share of time spent reading samples during top.
_LEAST_PAUSES = 10
SITE = (
    Column("growth_bytes_per_s", "number", about="Recently, certainly above 0; an estimate."),
    Column("begin_bytes", about="Held when tracking began."),
    Column("live_bytes", about="At until_ns."),
    Column("kind", "text", about="As in explain's question growth: leak, creep, warm-up …"),
    Column("function", "text"),
    Column("file", "text"),
    Column("line"),
    Column("library", "text"),
    Column("name", "text"),
)
GROWING = (
    Column("until_ns", about="Of the process's samples: the latest are a second or two old."),
    Column("sites", Many(SITE), about="Sites with certain growth, fastest first."),
)


class GrowingSites:
    """Of the process that was asked for last; what takes long is read seldom."""

    def __init__(self) -> None:
        self._process = 0
        self._found: Record | None = None
        self._due_s = 0.0

    def of(self, process: int) -> Record | None:
        """None: it has no samples."""
        began_s = time.monotonic()
        if process != self._process or began_s >= self._due_s:
            self._process, self._found = process, growing_sites(process)
            ended_s = time.monotonic()
            self._due_s = ended_s + _LEAST_PAUSES * (ended_s - began_s)
        return self._found


def growing_sites(process: int) -> Record | None:
    """None: it has no samples."""
    with suppress(NoProfileError, TraceError):
        return _read(copy_profile(process))
    return None


def _read(profile: bytes) -> Record:
    from heapwright.explain import Report, site_names  # most processes have no samples
    from heapwright.explain.growing_sites import Growth

    with opened(profile) as trace:
        report = Report(trace, trace.facts(Filter()), trace.sites(), Filter(), _SHOWN)
        rows = [
            {
                "growth_bytes_per_s": row.slope_bytes_per_s,
                "begin_bytes": row.begin.bytes,
                "live_bytes": row.end.bytes,
                "kind": row.kind,
                "function": site.location.function,
                "file": site.location.file,
                "line": site.location.line,
                "library": site.location.library,
                "name": site_names.site_name(site),
            }
            for site, row in Growth(report).rows()
            if row.is_sure and row.slope_bytes_per_s > 0
        ]
        return {"until_ns": trace.end.time_ns, "sites": rows}
