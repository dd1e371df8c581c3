# SPDX-License-Identifier: MIT
"""How long threads can have waited for locks at most, by the kernel's counts of their switches and sleep.

It bounds what heap calls lost where the timed ones are too few to do so: a thread that never gave up its
processor by itself waited for nothing, however long others kept it from running.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from heapwright.live import contention
from heapwright.live.page import Calls
from heapwright.live.processes import PROC

# Each takes some 40 µs; with more threads it is not asked.
_MOST_THREADS = 64
# Threads that wait for processors longer run one after the other: what would collide alone hardly does then.
_MOST_QUEUED = 0.25
# But one that loses its processor within the lock makes the next one wait: a third to a half of a contended
# program's turns end so. Where less than this share does, less than 1 ms per second is lost alone.
_MOST_HELD = 1e-3
_LINE = b"\nvoluntary_ctxt_switches:"


class Thread(NamedTuple):
    """Since it began. queued_ns: ready to run, but others had the processors."""

    switches: int  # that it asked for
    running_ns: int
    queued_ns: int
    turns: int


def threads_of(process: int) -> dict[int, Thread] | None:
    """By id. None: it has ended, is not ours to read, has too many, or the kernel does not count."""
    folder = PROC / str(process) / "task"
    found = {}
    try:
        threads = list(folder.iterdir())
        if len(threads) > _MOST_THREADS:
            return None
        for thread in threads:
            status = (thread / "status").read_bytes()
            numbers = (thread / "schedstat").read_bytes().split()
            at = status.find(_LINE)
            if at < 0 or len(numbers) != 3:
                return None
            switches = int(status[at + len(_LINE) :].split(None, 1)[0])
            found[int(thread.name)] = Thread(switches, *map(int, numbers))
    except OSError:  # one has just ended: the next look tells
        return None
    return found


class _Turns(NamedTuple):
    """Of all looks, the latest count most: how often a thread got a processor, and gave it up by itself."""

    turns: int
    switches: int

    def tell(self) -> bool:
        """Whether locks are held so seldom that nobody would wait for them alone either."""
        return self.turns > 0 and contention.poisson_interval(self.switches)[1] <= _MOST_HELD * self.turns


_NO_TURNS = _Turns(0, 0)
# Of more, half is forgotten.
_MOST_TURNS = 20_000


class _Seen(NamedTuple):
    """The looks at one image: the last one, and the sums of the steps between looks that tell."""

    threads: dict[int, Thread] | None = None
    at_ns: int = 0
    lost_ns: float = 0
    took_ns: int = 0
    longest_ns: float = 0
    running_ns: int = 0
    queued_ns: int = 0
    turns: _Turns = _NO_TURNS


class SwitchLooks:
    """Of all processes that are looked at. keeps: those that are gone as well, and all steps, not the last
    one."""

    def __init__(self, keeps: bool = False) -> None:
        self._keeps = keeps
        self._seen: dict[tuple[int, int], _Seen] = {}

    def look(self, time_ns: int, images: Mapping[tuple[int, int], Calls | None]) -> None:
        """Reads two files of each thread, where only these tell whether heap calls may wait. images: as
        Courses.look() takes them."""
        if not self._keeps:
            self._seen = {image: seen for image, seen in self._seen.items() if image in images}
        for image, calls in images.items():
            if calls and contention.is_undecided(calls, (time_ns - calls.started_ns) / 1e9):
                before = self._seen.get(image, _Seen())
                now = _step(before, threads_of(image[0]), time_ns)
                self._seen[image] = _joined(before, now) if self._keeps else now
            elif not self._keeps:
                self._seen.pop(image, None)

    def of(self, process: int, image: int) -> contention.Waits:
        """Between the last two looks, or all of them."""
        seen = self._seen.get((process, image), _Seen())
        if not seen.took_ns:
            return contention.NO_WAITS
        if seen.queued_ns > _MOST_QUEUED * seen.running_ns and not seen.turns.tell():
            return contention.Waits(None, seen.longest_ns)
        return contention.Waits(seen.lost_ns / (seen.took_ns / 1e9), seen.longest_ns)


def _joined(before: _Seen, now: _Seen) -> _Seen:
    return now._replace(
        lost_ns=before.lost_ns + now.lost_ns,
        took_ns=before.took_ns + now.took_ns,
        longest_ns=max(before.longest_ns, now.longest_ns),
        running_ns=before.running_ns + now.running_ns,
        queued_ns=before.queued_ns + now.queued_ns,
    )


def _step(before: _Seen, now: dict[int, Thread] | None, time_ns: int) -> _Seen:
    """What a thread did between the last look at it and its end is not known: such a step tells nothing."""
    took_ns = time_ns - before.at_ns
    turns = _forgotten(before.turns)
    if now is None or before.threads is None or took_ns <= 0 or not before.threads.keys() <= now.keys():
        return _Seen(now, time_ns, turns=turns)
    none = Thread(0, 0, 0, 0)
    done = [_less(one, before.threads.get(thread, none)) for thread, one in now.items()]
    return _Seen(
        now,
        time_ns,
        sum(_most_lost_ns(one, took_ns) for one in done),
        took_ns,
        max(map(_longest_ns, done), default=0.0),
        sum(one.running_ns for one in done),
        sum(one.queued_ns for one in done),
        _Turns(
            turns.turns + sum(one.turns for one in done), turns.switches + sum(one.switches for one in done)
        ),
    )


def _forgotten(turns: _Turns) -> _Turns:
    return turns if turns.turns <= _MOST_TURNS else _Turns(turns.turns // 2, (turns.switches + 1) // 2)


def _less(now: Thread, before: Thread) -> Thread:
    return Thread(*(new - old for new, old in zip(now, before, strict=True)))


def _most_lost_ns(done: Thread, took_ns: int) -> float:
    """Asleep, and then ready to run, as long as it was on average."""
    if not done.switches:
        return 0.0
    asleep_ns = max(0, took_ns - done.running_ns - done.queued_ns)
    return asleep_ns + done.switches * _longest_ns(done)


def _longest_ns(done: Thread) -> float:
    return done.queued_ns / max(1, done.turns)
