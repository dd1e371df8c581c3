# SPDX-License-Identifier: MIT
"""All processes with counters, read repeatedly: reported counters never run backwards."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from heapwright.live import rates
from heapwright.live.memory import Memory, memory_of
from heapwright.live.page import Calls, HeapFigures, Page
from heapwright.live.pages import ended_pages, find_pages, take_ended
from heapwright.live.processes import find_process, is_alive
from heapwright.live.switches import SwitchLooks
from heapwright.serve.programs import Image, Program, Programs, image_of

# Processes beyond these are left out: a scrape is answered within Prometheus's 10 s, by a bounded text.
MOST_PROCESSES = 1000
MOST_SECONDS = 5.0
_Figures = TypeVar("_Figures")


class Seen(NamedTuple):
    """One process that counts."""

    process: int
    program: str
    generation: int
    resident_bytes: int
    calls: Calls | None
    heap: HeapFigures | None
    memory: Memory | None = None
    is_contended: bool | None = None


class Look(NamedTuple):
    """The processes at one moment, by their ids; why others are not among them, and how many.

    programs: the sums of each, ended processes included; none for a single look.
    """

    processes: list[Seen]
    problems: list[str]
    unread: int
    programs: Sequence[Program] = ()


class Watch:
    """Remembers the last figures of each process that lives. Threads look one after the other."""

    def __init__(self, goes_on: bool = False) -> None:
        """goes_on: takes the pages of ended processes as well, and sums up by program."""
        self._programs = Programs() if goes_on else None
        self._lock = threading.Lock()
        self._switches = SwitchLooks()
        self._last = rates.Reading(0, {}, {}, {}, {})
        if self._programs:
            now = rates.take(find_pages(MOST_SECONDS).pages)
            self._programs.begin(_images(now), [image_of(page) for page in ended_pages()])

    def look(self) -> Look:
        """Reads every page; nothing of a process is stopped, locked or written."""
        with self._lock:
            ended: list[Page] = []
            takes = ended.append if self._programs else None
            pages, problems, unread = find_pages(MOST_SECONDS, takes)
            now = rates.take(pages)
            backwards = rates.running_backwards(self._last, now)
            self._switches.look(now.time_ns, rates.images(now))
            verdicts = {
                process: rates.verdict(process, self._last, now, self._switches) for process in now.names
            }
            self._remember(now, backwards)
            programs = self._sum_up(now, backwards, ended)
        found = [
            seen
            for process in sorted(now.names)
            if process not in backwards and (seen := _seen(process, now, verdicts[process])) is not None
        ]
        problems += [f"process {process}: its counters run backwards" for process in backwards]
        if len(found) > MOST_PROCESSES:
            problems.append(f"{len(found) - MOST_PROCESSES} processes beyond the first {MOST_PROCESSES}")
        unread += len(backwards) + max(0, len(found) - MOST_PROCESSES)
        return Look(found[:MOST_PROCESSES], problems, unread, programs)

    def take_ended(self) -> None:
        """Between two looks, so that few pages of ended processes take memory."""
        with self._lock:
            if self._programs is not None:
                ended: list[Page] = []
                take_ended(ended.append)
                self._programs.see({}, (), ended)

    def _sum_up(self, now: rates.Reading, backwards: list[int], ended: list[Page]) -> list[Program]:
        if self._programs is None:
            return []
        living = {image: calls for image, calls in _images(now).items() if image[0] not in backwards}
        lost = [image for image in self._programs.known() if image not in living and _is_over(image, now)]
        self._programs.see(living, lost, ended)
        return self._programs.all()

    def _remember(self, now: rates.Reading, backwards: list[int]) -> None:
        """Of a process whose figures are not to be read just now, or ran backwards, what it said before."""
        last = self._last
        living = {
            process
            for process, (start_ticks, _) in last.generations.items()
            if process in now.names or is_alive(process, start_ticks)
        }

        def merged(old: dict[int, _Figures], new: dict[int, _Figures]) -> dict[int, _Figures]:
            stays = {process for process in living if process in backwards or process not in new}
            return new | {process: old[process] for process in stays if process in old}

        self._last = rates.Reading(
            now.time_ns,
            merged(last.calls, now.calls),
            merged(last.heaps, now.heaps),
            merged(last.names, now.names),
            merged(last.generations, now.generations),
        )


def _images(now: rates.Reading) -> dict[Image, Calls]:
    return {
        (process, now.generations[process][0], calls.started_ns): calls
        for process, calls in now.calls.items()
    }


def _seen(process: int, now: rates.Reading, is_contended: bool | None) -> Seen | None:
    """None: it has ended meanwhile."""
    living = find_process(process)
    if living is None:
        return None
    return Seen(
        process,
        now.names[process],
        now.generations[process][1],
        living.resident_bytes,
        now.calls.get(process),
        now.heaps.get(process),
        memory_of(process),
        is_contended,
    )


def _is_over(image: Image, now: rates.Reading) -> bool:
    """Its process has ended, or executed another program: not one that is just not to be read."""
    process, start_ticks, started_ns = image
    calls = now.calls.get(process)
    return not is_alive(process, start_ticks) or (calls is not None and calls.started_ns > started_ns)
