# SPDX-License-Identifier: MIT
"""What a process's samples are in pprof's format: inuse is what lives now."""

from __future__ import annotations

import io

from heapwright.export import FORMATS, Source
from heapwright.live.profiles import opened

_PPROF = FORMATS["pprof"]


def as_pprof(trace: bytes) -> bytes:
    """TraceError: there is none in it yet."""
    assert _PPROF.write is not None
    with opened(trace) as profile:
        facts = profile.facts(timeline_points=_PPROF.timeline_points, slowest_calls=_PPROF.slowest_calls)
        out = io.BytesIO()
        _PPROF.write(Source(profile, facts), out, "leaked")
    return out.getvalue()
