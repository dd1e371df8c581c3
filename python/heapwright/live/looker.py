# SPDX-License-Identifier: MIT
"""The processes with counters, looked at again and again."""

from __future__ import annotations

from typing import Any

from heapwright.live import figures, rates
from heapwright.live.choice import choose
from heapwright.live.document import describe_calls
from heapwright.live.growing import GrowingSites
from heapwright.live.outside import Courses
from heapwright.live.page import PageError
from heapwright.live.pages import Found, find_pages
from heapwright.live.top_document import SCHEMA


class Looker:
    """Each look tells what happened since the one before. wanted: one process, by its id or name."""

    def __init__(self, wanted: str, sort: str) -> None:
        """PageError: there is no such process, or several."""
        self.sort = sort
        self.process = choose(wanted).process if wanted else 0
        self._last = rates.take(self._find().pages)
        self._growing = GrowingSites()
        self._courses = Courses()
        self._courses.look(self._last.time_ns, rates.images(self._last))

    def _find(self) -> Found:
        found = find_pages()
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
        self._courses.look(now.time_ns, rates.images(now))
        backwards = rates.running_backwards(self._last, now)
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "interval_ns": now.time_ns - self._last.time_ns,
            "processes": rates.rows(self._last, now, self.sort, self._courses),
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
            document["process"] = describe_calls(calls)
            document["lately"] = {"calls": lately.by_function, "sizes": figures.size_rows(lately.sizes)}
            if growing := self._growing.of(process):
                document["growing"] = growing
        if remedies := now.remedies.get(process):
            document["remedies"] = [one._asdict() for one in remedies]
        self._last = now
        return document
