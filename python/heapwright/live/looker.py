# SPDX-License-Identifier: MIT
"""The processes with counters, looked at again and again."""

from __future__ import annotations

from typing import Any

from heapwright.live import figures, rates
from heapwright.live.choice import called_so, choose
from heapwright.live.document import describe_calls
from heapwright.live.growing import GrowingSites
from heapwright.live.outside import Courses
from heapwright.live.page import PageError
from heapwright.live.pages import Found, find_pages
from heapwright.live.switches import SwitchLooks
from heapwright.live.top_document import SCHEMA


class Looker:
    """Each look tells what happened since the one before. wanted: an id or a name."""

    def __init__(self, wanted: str, sort: str) -> None:
        """PageError: there is no such process. Of a name that several have, all that have it at each look."""
        self.sort = sort
        self._name = wanted if len({page.process for page in called_so(wanted, find_pages())}) > 1 else ""
        self.process = choose(wanted).process if wanted and not self._name else 0
        self._last = rates.take(self._find().pages)
        self._growing = GrowingSites()
        self._courses = Courses()
        self._switches = SwitchLooks()
        self._look(self._last)

    def _look(self, reading: rates.Reading) -> None:
        images = rates.images(reading)
        self._courses.look(reading.time_ns, images)
        self._switches.look(reading.time_ns, images)

    def _find(self) -> Found:
        found = find_pages()
        if self._name:
            called = called_so(self._name, found)
            if not called:
                raise PageError(f"all processes called {self._name} have ended")
            return Found(called, [], 0)
        if not self.process:
            return found
        pages = [page for page in found.pages if page.process == self.process]
        if not pages:
            raise PageError(f"process {self.process} has ended")
        return Found(pages, [], 0)

    def again(self, told_of: int = 0) -> dict[str, Any]:
        """What top --json prints; PageError: the one process has ended.

        told_of: that process's calls as well, as if it had been named.
        """
        found = self._find()
        now = rates.take(found.pages)
        self._look(now)
        backwards = rates.running_backwards(self._last, now)
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "interval_ns": now.time_ns - self._last.time_ns,
            "processes": rates.rows(self._last, now, self.sort, self._courses, self._switches),
            "problems": found.problems
            + [f"process {one}: its counters run backwards, so it has no rates" for one in backwards]
            + [
                f"process {one}: its heap's sums are incomplete, so not shown" for one in rates.unsettled(now)
            ],
        }
        process = told_of or self.process
        if calls := now.calls.get(process):
            difference = rates.lately(process, self._last, now)
            lately = calls if difference is None or process in backwards else difference
            verdicts = {row["process"]: row["is_contended"] for row in document["processes"]}
            document["process"] = describe_calls(calls, verdicts.get(process), now.heaps.get(process))
            document["lately"] = {
                "calls": lately.by_function,
                "sizes": figures.size_rows(lately.sizes),
                "contexts": figures.context_rows(lately),
            }
            if growing := self._growing.of(process):
                document["growing"] = growing
        if remedies := now.remedies.get(process):
            document["remedies"] = [one._asdict() for one in remedies]
        self._last = now
        return document
