# SPDX-License-Identifier: MIT
"""The times of heap calls in a run of try, by the library of count."""

from __future__ import annotations

import os
from collections.abc import Mapping

from heapwright.cli import native_programs
from heapwright.live.figures import percentile, total
from heapwright.live.pages import ended_pages_kept_for
from heapwright.live.processes import find_process
from heapwright.trial.run import Way

_TAIL = 0.999


class CountedCalls:
    """A trial.session.Counter: its pages are left to this process, as to count."""

    def __init__(self) -> None:
        own = find_process(os.getpid())
        self._keeper = (os.getpid(), own.start_ticks if own else 0)
        self._taken = 0
        self._library = native_programs.find_library()

    def variables(self, way: Way, environment: Mapping[str, str]) -> Mapping[str, str] | None:
        """None where call sites are told by their return addresses: the library's would stand there."""
        if "HEAPWRIGHT_APPLY" in way.variables:
            return None
        others = way.variables.get("LD_PRELOAD", environment.get("LD_PRELOAD", ""))
        preloaded = f"{self._library}:{others}" if others else str(self._library)
        return {"LD_PRELOAD": preloaded, "HEAPWRIGHT_COUNT_KEEPER": "{}:{}".format(*self._keeper)}

    def figures(self) -> dict[str, float]:
        """Over all processes of the run."""
        pages = ended_pages_kept_for(self._keeper, self._taken + 1)
        self._taken += len(pages)
        calls = [page.calls for page in pages if page.calls]
        if not calls:
            return {}
        whole = total(calls)
        bins = [made + freed for made, freed in zip(whole.making.bins, whole.releasing.bins, strict=True)]
        tail_ns = percentile(bins, _TAIL)
        return {} if tail_ns is None else {"call_tail_ns": tail_ns}
