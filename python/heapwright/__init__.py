# SPDX-License-Identifier: MIT
"""heapwright: know what your heap costs, why, and what each fix would give.

>>> import heapwright
>>> trace = heapwright.open("program.heapwright")   # doctest: +SKIP
>>> trace.facts().peak.live_bytes                   # doctest: +SKIP
52428800
"""

from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heapwright.contexts import context
    from heapwright.model import Facts, Filter, SiteOptions, Trace, TraceError
    from heapwright.tasks import name_greenlets, name_tasks

    __version__: str

_OF_MODEL = ("Facts", "Filter", "SiteOptions", "Trace", "TraceError")


def __getattr__(name: str) -> Any:
    """Imports on first use: `heapwright record` needs nothing of this."""
    if name in _OF_MODEL:
        return getattr(import_module("heapwright.model"), name)
    if name == "context":
        return import_module("heapwright.contexts").context
    if name in ("name_greenlets", "name_tasks"):
        return getattr(import_module("heapwright.tasks"), name)
    if name == "notebook":
        return import_module("heapwright.notebook")
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("heapwright")
        except PackageNotFoundError:
            return "0"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What there is to use, for completion."""
    return [*__all__, "notebook"]


def open(path: str | PathLike[str], debug_root: str | PathLike[str] = "") -> "Trace":
    """Opens a trace made by `heapwright record`.

    debug_root: a folder with the recorded machine's programs and libraries,
    when they are not at their recorded places. Raises TraceError with one
    line that says what to do.
    """
    from heapwright.model import Trace

    return Trace(path, debug_root)


__all__ = [
    "Facts",
    "Filter",
    "SiteOptions",
    "Trace",
    "TraceError",
    "__version__",
    "context",
    "name_greenlets",
    "name_tasks",
    "open",
]
