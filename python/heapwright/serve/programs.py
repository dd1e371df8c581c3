# SPDX-License-Identifier: MIT
"""What programs called in all their processes, those that have ended included: sums that only grow."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from heapwright.live import figures
from heapwright.live.page import Calls, ContextCalls, Page, added

# Further programs are summed up under one name, so that a machine that makes names cannot fill a database.
MOST_PROGRAMS = 500
OTHERS = "(others)"
MOST_CONTEXTS = 2_000  # of all programs; further ones are summed up in each
OTHER_CONTEXTS = "(other)"  # as a page has those that it had no room for
# Ended images that a page may still turn up of, with later figures than were seen; and further ones, of which
# only that they are in the sums is known.
_MOST_ENDED, _MOST_FORGOTTEN = 1000, 50_000

Image = tuple[int, int, int]


def image_of(page: Page) -> Image:
    """What tells it from all others."""
    return page.process, page.process_start_ticks, page.calls.started_ns if page.calls else 0


class Program(NamedTuple):
    """One program. processes: images that were ever seen, each exec and fork its own."""

    name: str
    processes: int
    calls: Calls


class _Known(NamedTuple):
    """An image: the name that it had first, under which it is summed up, and its last figures."""

    name: str
    calls: Calls


class Programs:
    """Remembers each image's last figures while it lives, and one sum per program of those that ended."""

    def __init__(self) -> None:
        self._living: dict[Image, _Known] = {}
        self._ended: OrderedDict[Image, _Known] = OrderedDict()
        self._forgotten: OrderedDict[Image, None] = OrderedDict()
        self._sums: dict[str, Calls] = {}
        self._processes: dict[str, int] = {}
        self._contexts: set[tuple[str, str]] = set()
        self._before: dict[Image, Calls] = {}

    def begin(self, living: Mapping[Image, Calls], ended: Iterable[Image]) -> None:
        """What there was before. The sums begin at 0: after a restart of the server Prometheus takes the
        first values as an increase, and nothing is to be counted twice."""
        self._before = dict(living)
        self._forgotten |= dict.fromkeys(ended)
        for calls in living.values():
            self._processes.setdefault(self._listed(calls.program), 0)

    def see(self, living: Mapping[Image, Calls], lost: Iterable[Image], ended: Iterable[Page]) -> None:
        """One look. living: what was read; lost: images of before that live no more; ended: their pages.

        A page may turn up after its image was lost: then only what is more is added.
        """
        for image, calls in living.items():
            if image not in self._ended and image not in self._forgotten:
                name = self._name_of(image, calls)
                self._living[image] = _Known(name, self._counted_here(image, name, calls))
        for page in ended:
            image = image_of(page)
            if page.calls and image not in self._forgotten:
                name = self._name_of(image, page.calls)
                calls = self._counted_here(image, name, page.calls)
                last = self._living.pop(image, None)
                self._end(image, _Known(name, _later(last.calls, calls) if last else calls))
        for image in lost:
            if (known := self._living.pop(image, None)) is not None:
                self._end(image, known)

    def known(self) -> list[Image]:
        """Those that lived at the last look."""
        return list(self._living)

    def all(self) -> list[Program]:
        """By name. Linear in the processes."""
        found = {name: [calls] for name, calls in self._sums.items()}
        for known in self._living.values():
            found.setdefault(known.name, []).append(known.calls)
        return [Program(name, self._processes[name], figures.total(found[name])) for name in sorted(found)]

    def _name_of(self, image: Image, calls: Calls) -> str:
        """A new image is counted."""
        if known := self._living.get(image) or self._ended.get(image):
            return known.name
        name = self._listed(calls.program)
        self._processes[name] = self._processes.get(name, 0) + (image not in self._before)
        return name

    def _listed(self, program: str) -> str:
        name = program or "unknown"
        is_full = name not in self._processes and len(self._processes) >= MOST_PROGRAMS
        return OTHERS if is_full else name

    def _counted_here(self, image: Image, program: str, calls: Calls) -> Calls:
        """Without what was counted before this server began."""
        before = self._before.get(image)
        return self._with_few_contexts(program, figures.difference(before, calls) if before else calls)

    def _with_few_contexts(self, program: str, calls: Calls) -> Calls:
        """Which have their own name is decided once, so that the sum of each only grows."""
        found: dict[str, ContextCalls] = {}
        for name, sums in calls.contexts.items():
            if (program, name) not in self._contexts:
                if len(self._contexts) >= MOST_CONTEXTS:
                    name = OTHER_CONTEXTS
                else:
                    self._contexts.add((program, name))
            known = found.get(name)
            found[name] = added(known, sums) if known else sums
        return calls._replace(contexts=found) if found else calls

    def _end(self, image: Image, known: _Known) -> None:
        before = self._ended.get(image)
        more = figures.difference(before.calls, known.calls) if before else known.calls
        if before and figures.runs_backwards(more):
            return
        sums = self._sums.get(known.name)
        self._sums[known.name] = figures.total([sums, more]) if sums else more
        self._ended[image] = known
        self._ended.move_to_end(image)
        if len(self._ended) > _MOST_ENDED:
            self._forgotten[self._ended.popitem(last=False)[0]] = None
        if len(self._forgotten) > _MOST_FORGOTTEN:
            self._forgotten.popitem(last=False)


def _later(earlier: Calls, later: Calls) -> Calls:
    """Unless what is called the later counted backwards."""
    return earlier if figures.runs_backwards(figures.difference(earlier, later)) else later
