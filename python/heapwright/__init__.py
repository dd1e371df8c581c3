# SPDX-License-Identifier: MIT
"""heapwright: know what your heap costs, why, and what each fix would give.

>>> import heapwright
>>> trace = heapwright.open("program.heapwright")   # doctest: +SKIP
>>> trace.facts().peak.live_bytes                   # doctest: +SKIP
52428800
"""

from importlib.metadata import PackageNotFoundError, version
from os import PathLike

from heapwright.model import Facts, Filter, SiteOptions, Trace, TraceError

try:
    __version__ = version("heapwright")
except PackageNotFoundError:
    __version__ = "0"


def open(path: str | PathLike[str], debug_root: str | PathLike[str] = "") -> Trace:
    """Opens a trace made by `heapwright record`.

    debug_root: a folder with the recorded machine's programs and libraries,
    when they are not at their recorded places. Raises TraceError with one
    line that says what to do.
    """
    return Trace(path, debug_root)


__all__ = ["Facts", "Filter", "SiteOptions", "Trace", "TraceError", "__version__", "open"]
