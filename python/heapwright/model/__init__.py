# SPDX-License-Identifier: MIT
"""What a trace says, as Python values; the only package that uses the native module."""

from heapwright.model.facts import Facts, Latency, SiteFacts
from heapwright.model.sites import Site, SiteOptions, Sites
from heapwright.model.symbols import Location, Symbols
from heapwright.model.trace import KIND_NAMES, NO_LIMIT, Filter, Trace, TraceError

__all__ = [
    "KIND_NAMES",
    "NO_LIMIT",
    "Facts",
    "Filter",
    "Latency",
    "Location",
    "Site",
    "SiteFacts",
    "SiteOptions",
    "Sites",
    "Symbols",
    "Trace",
    "TraceError",
]
