# SPDX-License-Identifier: MIT
"""A trace's content as Python values; the only package that uses the native module."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heapwright.model.facts import Facts, Latency, SiteFacts
    from heapwright.model.sites import Site, SiteOptions, Sites
    from heapwright.model.symbols import Location, Symbols
    from heapwright.model.trace import KIND_NAMES, NO_LIMIT, Filter, Trace, TraceError

_MODULES = {
    "facts": ("Facts", "Latency", "SiteFacts"),
    "sites": ("Site", "SiteOptions", "Sites"),
    "symbols": ("Location", "Symbols"),
    "trace": ("KIND_NAMES", "NO_LIMIT", "Filter", "Trace", "TraceError"),
}


def __getattr__(name: str) -> Any:
    """Imports on first use, so that heapwright.model.reading can come before the rest."""
    for module, names in _MODULES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"heapwright.model.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
