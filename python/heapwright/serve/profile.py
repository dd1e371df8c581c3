# SPDX-License-Identifier: MIT
"""What a process's samples are in the formats of export: what lives at the end is what lives now."""

from __future__ import annotations

import io

from heapwright.export import FORMATS, Source
from heapwright.live.profiles import opened

_SHOWN_FIRST = "leaked"


def written(trace: bytes, form: str) -> bytes:
    """The samples in a format of export that knows them (pprof, otlp). TraceError: there are none yet."""
    format_ = FORMATS[form]
    assert format_.write is not None
    with opened(trace) as profile:
        facts = profile.facts(timeline_points=format_.timeline_points, slowest_calls=format_.slowest_calls)
        out = io.BytesIO()
        format_.write(Source(profile, facts), out, _SHOWN_FIRST)
    return out.getvalue()
