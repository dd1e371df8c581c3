# SPDX-License-Identifier: MIT
"""Triggers that write samples automatically, checked from outside ten times a second."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from heapwright.live import memory_limits
from heapwright.live.memory import Memory
from heapwright.live.memory_limits import Room
from heapwright.report import units

# What oom takes for the end: used of a limit beyond which processes are killed, or of the machine.
_NEAR_KILL = 0.95


class Sight(NamedTuple):
    """A process at one moment."""

    process: int
    time_s: float  # of any clock that does not run backwards
    live_bytes: int | None  # None: its allocator does not tell
    memory: Memory | None = None  # None: it ends just now
    failed: int = 0  # heap calls that failed so far

    def level(self, kind: str) -> int | None:
        """Bytes of one of KINDS."""
        if kind == LIVE:
            return self.live_bytes
        found: int | None = getattr(self.memory, f"{kind}_bytes", None)
        return found


LIVE = "live"
# Whose memory is looked at: what malloc gave, and what the kernel counts.
KINDS = (LIVE, "resident", "anonymous", "file", "shared", "swapped")


class Trigger(Protocol):
    """Checked repeatedly until it fires, once for each process."""

    name: str  # of the files that it causes; "": none but the process's
    keeps_killed: bool  # whether samples of a process that the kernel killed are kept as well

    def why(self, sight: Sight) -> str:
        """What has happened to the process, in words; "": nothing yet."""


class Resident:
    """More than so many bytes of it are in memory."""

    name = ""
    keeps_killed = False

    def __init__(self, above_bytes: int) -> None:
        self._above_bytes = above_bytes

    def why(self, sight: Sight) -> str:
        """Its name is the option's, which is older than the others."""
        return "passed --dump-above" if (sight.level("resident") or 0) > self._above_bytes else ""


class Failed:
    """A heap call failed: malloc returned null, or new threw std::bad_alloc."""

    name = "failed"
    keeps_killed = False

    def why(self, sight: Sight) -> str:
        """The first of them, a tenth of a second later."""
        return f"had {units.counted(sight.failed, 'failed heap call')}" if sight.failed else ""


# What is asked when the program has ended, with the code of its end as in a shell; all samples are there.
ENDS: Mapping[str, Callable[[int], str]] = {
    "exit": lambda code: f"ended with code {code}",
    "abort": lambda code: "aborted" if code == 128 + signal.SIGABRT else "",
    "sigterm": lambda code: "ended by SIGTERM" if code == 128 + signal.SIGTERM else "",
}


class Level:
    """More than so many bytes of one kind."""

    keeps_killed = False

    def __init__(self, kind: str, above_bytes: int) -> None:
        self.name = kind
        self._above_bytes = above_bytes

    def why(self, sight: Sight) -> str:
        """With the figure."""
        level = sight.level(self.name)
        if level is None or level <= self._above_bytes:
            return ""
        return f"has {units.size(level)} {_IN_WORDS.get(self.name, self.name)}"


_IN_WORDS = {"file": "of files resident"}


class Cgroup:
    """A share of the tightest limit of its cgroups is used, memory.high included."""

    name = "cgroup"
    keeps_killed = False

    def __init__(self, percent: float) -> None:
        self._percent = percent

    def why(self, sight: Sight) -> str:
        """Pages of files do not count."""
        room = memory_limits.cgroup_room(sight.process)
        return f"has a cgroup with {_used(room)}" if room and 100 * room.share >= self._percent else ""


class Pressure:
    """Some task waited for memory in such a share of the last 10 s."""

    name = "pressure"
    keeps_killed = False

    def __init__(self, percent: float) -> None:
        self._percent = percent

    def why(self, sight: Sight) -> str:
        """Of its cgroup where the kernel tells, else of the machine."""
        percent = memory_limits.pressure_percent(sight.process)
        if percent is None or percent < self._percent:
            return ""
        return f"saw tasks wait for memory in {percent:g} % of the last 10 s"


class Oom:
    """Little is left before the kernel kills: of a cgroup's limit, or of the machine's memory."""

    name = "oom"
    keeps_killed = True

    def why(self, sight: Sight) -> str:
        """The next look may come too late: so samples of a process that was killed are kept as well."""
        room = memory_limits.cgroup_room(sight.process, is_of_kills=True)
        if room and room.share >= _NEAR_KILL:
            return f"is near the limit: its cgroup has {_used(room)}"
        room = memory_limits.system_room()
        return (
            f"is near the limit: the machine has {_used(room)}" if room and room.share >= _NEAR_KILL else ""
        )


class _Window(NamedTuple):
    number: int
    begin_s: float
    least_bytes: int
    least_before: int | None  # of the window before


class Growth:
    """Bytes of one kind grow by so much in such a time.

    Time is cut into windows. The least of a window are compared with the least of the one
    before, so that what comes and goes within a window is no growth. The first window is the start, and is
    compared with nothing.
    """

    keeps_killed = False

    def __init__(self, by_bytes: int, within_s: float, kind: str = LIVE) -> None:
        self.name = "growth" if kind == LIVE else f"{kind}-growth"
        self._kind = kind
        self._by_bytes = by_bytes
        self._within_s = within_s
        self._windows: dict[int, _Window] = {}

    def why(self, sight: Sight) -> str:
        """Never of an allocator that does not tell live bytes."""
        level = sight.level(self._kind)
        if level is None:
            return ""
        window = self._windows.get(sight.process)
        if window is None:
            self._windows[sight.process] = _Window(0, sight.time_s, level, None)
            return ""
        if sight.time_s < window.begin_s + self._within_s:
            self._windows[sight.process] = window._replace(least_bytes=min(window.least_bytes, level))
            return ""
        least = window.least_bytes if window.number else None
        self._windows[sight.process] = _Window(window.number + 1, sight.time_s, level, least)
        if window.least_before is None or window.least_bytes - window.least_before < self._by_bytes:
            return ""
        grown = units.size(window.least_bytes - window.least_before)
        what = "" if self._kind == LIVE else f" of {_IN_WORDS.get(self._kind, self._kind + ' memory')}"
        return f"grew by {grown}{what} in {units.duration(round(1e9 * self._within_s))}"


def _used(room: Room) -> str:
    return f"{100 * room.share:.0f} % of {units.size(room.limit_bytes)} used"
