# SPDX-License-Identifier: MIT
"""Resident memory over time beside live bytes: how fast it grows, and whether outside malloc."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from heapwright.live import figures
from heapwright.live.memory import Memory, memory_of
from heapwright.live.page import Calls
from heapwright.live.processes import memory_folder
from heapwright.model import runtimes
from heapwright.report import units

# A process's last looks: as many, and as old, at most.
MOST_LOOKS = 120
_WINDOW_NS = 60 * 10**9
# Of each half of a window the least counts, and of so many looks the second least: one may be of the exit.
_MANY = 4
# Less is not told of.
_LEAST_BYTES = 1 << 20
_LEAST_SHARE = 0.02  # of anonymous memory
_LEAST_PART = 0.5  # of the growth: an allocator takes more memory than its blocks have


class Look(NamedTuple):
    """One moment. own_bytes: anonymous memory, swapped or not; live_bytes: None, not known."""

    time_ns: int
    own_bytes: int
    live_bytes: int | None


class Growth(NamedTuple):
    """window_ns: from first to last look. outside_bytes_per_s: 0, none worth telling; None: not known."""

    window_ns: int
    own_bytes_per_s: float
    live_bytes_per_s: float | None
    outside_bytes_per_s: float | None


def growth_of(looks: Sequence[Look]) -> Growth | None:
    """From the least of the window's earlier half to that of its later one: what comes and goes is none.

    None: there are fewer than two looks. Of even growth it is exact.
    """
    if len(looks) < 2 or looks[-1].time_ns <= looks[0].time_ns:
        return None
    middle = len(looks) // 2
    halves = looks[:middle], looks[middle:]
    step_s = (halves[1][0].time_ns - halves[0][0].time_ns) / 1e9
    own = _rise([[look.own_bytes for look in half] for half in halves])
    told = [[look.live_bytes for look in half if look.live_bytes is not None] for half in halves]
    live = _rise(told) if all(told) else None
    outside = None if live is None else own - max(0, live) - _untouched(looks[0])
    window_ns = looks[-1].time_ns - looks[0].time_ns
    if outside is not None:
        least = max(_LEAST_BYTES, _LEAST_SHARE * looks[-1].own_bytes)
        is_much = outside / step_s * window_ns / 1e9 >= least and outside >= _LEAST_PART * own
        outside = outside if is_much else 0
    return Growth(
        window_ns, own / step_s, *(None if one is None else one / step_s for one in (live, outside))
    )


def _rise(halves: Sequence[Sequence[int]]) -> int:
    which = 1 if min(map(len, halves)) >= _MANY else 0
    earlier, later = (sorted(half)[which] for half in halves)
    return later - earlier


def _untouched(first: Look) -> int:
    """Of the blocks that lived, what cannot have been resident: its first use is no growth outside malloc."""
    return max(0, (first.live_bytes or 0) - first.own_bytes)


class Course:
    """The looks at one image of a process: of the last minute, or of its whole life, ever further apart."""

    def __init__(self, is_whole: bool) -> None:
        self.last: Memory | None = None
        self.hint: str | None = None  # None: nobody asked yet
        self._is_whole = is_whole
        self._looks: deque[Look] = deque(maxlen=MOST_LOOKS)
        self._step_ns = 0

    def add(self, time_ns: int, memory: Memory, calls: Calls | None) -> None:
        """One look."""
        self.last = memory
        if self._looks and time_ns < self._looks[-1].time_ns + self._step_ns:
            return
        live = figures.live_bytes(calls) if calls and not calls.has_own_malloc else None
        if self._is_whole and len(self._looks) == MOST_LOOKS:
            self._step_ns = 2 * (self._looks[-1].time_ns - self._looks[0].time_ns) // MOST_LOOKS
            self._looks = deque(list(self._looks)[::2], maxlen=MOST_LOOKS)
        self._looks.append(Look(time_ns, memory.own_bytes, live))
        while not self._is_whole and self._looks[0].time_ns < time_ns - _WINDOW_NS:
            self._looks.popleft()

    def growth(self) -> Growth | None:
        """None: too few looks. Of a whole life without its first quarter, in which programs start."""
        looks = list(self._looks)
        return growth_of(looks[len(looks) // 4 :] if self._is_whole and len(looks) >= _MANY else looks)


class Courses:
    """Of all processes that are looked at; those that are gone are forgotten unless is_whole."""

    def __init__(self, is_whole: bool = False) -> None:
        self._is_whole = is_whole
        self._found: dict[tuple[int, int], Course] = {}

    def look(self, time_ns: int, images: Mapping[tuple[int, int], Calls | None]) -> None:
        """Reads a file of each process. images: by process and a number of the image in it."""
        if not self._is_whole:
            self._found = {key: self._found[key] for key in images if key in self._found}
        for key, calls in images.items():
            memory = memory_of(key[0])
            if memory is None:
                continue
            course = self._found.setdefault(key, Course(self._is_whole))
            course.add(time_ns, memory, calls)
            if self._is_whole:  # at the end nobody can be asked any more
                self.of(*key)

    def of(self, process: int, image: int) -> dict[str, Any] | None:
        """The fields of NOTHING; None: it was not seen."""
        course = self._found.get((process, image))
        if course is None or course.last is None:
            return None
        growth = course.growth()
        found: dict[str, Any] = course.last._asdict() | dict.fromkeys(_OF_GROWTH) | {"outside_hint": ""}
        if growth is None:
            return found
        rates = [None if rate is None else round(rate) for rate in growth[1:]]
        found |= dict(zip(_OF_GROWTH, (growth.window_ns, *rates), strict=True))
        if growth.outside_bytes_per_s:
            if course.hint is None:
                course.hint = hint_for(process)
            found["outside_hint"] = course.hint
        return found


_OF_GROWTH = ("growth_window_ns", "growth_bytes_per_s", "live_growth_bytes_per_s", "outside_bytes_per_s")
NOTHING: dict[str, Any] = dict.fromkeys((*Memory._fields, *_OF_GROWTH)) | {"outside_hint": ""}
_NO_RUNTIME = (
    "freed memory that the allocator keeps, or mappings of its own: heapwright record --pid {} tells which"
)


def hint_for(process: int) -> str:
    """What to do about memory outside malloc that grows, by the process's runtime."""
    folder = memory_folder(process)
    files, head = set(), b""
    environment: dict[str, str] = {}
    with suppress(OSError):
        lines = (folder / "maps").read_text(errors="replace").splitlines()
        files = {line.partition("/")[2] for line in lines if " r-xp " in line and "/" in line}
        with (folder / "exe").open("rb") as program:
            head = program.read(runtimes.HEAD_BYTES)
        variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
        environment = {name: value for name, _, value in (one.partition("=") for one in variables)}
    found = runtimes.advice(runtimes.runtime_of(files, head), environment)
    return found or _NO_RUNTIME.format(process)


def outside_lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """A sentence for each process whose memory grows outside malloc, the fastest first."""
    growing = [row for row in rows if row["outside_bytes_per_s"]]
    growing.sort(key=lambda row: -row["outside_bytes_per_s"])
    return [
        f"{row['program']} {row['process']}: memory outside malloc grows by "
        f"{units.rate(row['outside_bytes_per_s'])}, live bytes by "
        f"{units.rate(row['live_growth_bytes_per_s'])} (over {units.duration(row['growth_window_ns'])}): "
        f"{row['outside_hint']}"
        for row in growing
    ]
