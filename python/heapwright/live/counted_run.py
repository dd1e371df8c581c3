# SPDX-License-Identifier: MIT
"""Runs a program with counting: starts and watches it, and collects its and its children's pages."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from heapwright.live import kept_samples, profiles
from heapwright.live.contention import NO_WAITS, Waits
from heapwright.live.layout import PAGE_OF_CALLS_BYTES
from heapwright.live.outside import Courses
from heapwright.live.page import Calls, HeapFigures, Page
from heapwright.live.pages import FOLDER, ended_pages_kept_for, heap_of, is_living, pages_kept_for, take
from heapwright.live.processes import find_process
from heapwright.live.sampling import Sampling
from heapwright.live.switches import SwitchLooks
from heapwright.live.uncounted import LOOK_S, Uncounted

# How often pages of ended processes are collected: a long build must not fill /dev/shm.
_COLLECT_S = 1.0
# How often processes are checked when dumps have triggers.
_LOOK_S = 0.1
# The first look at processes' memory; further ones come with the collecting.
_FIRST_LOOK_S = 0.25
_LEAST_FREE_BYTES = 64 << 10


class Counted(NamedTuple):
    """One image of one process."""

    page: Page
    is_running: bool
    memory: dict[str, Any] | None = None  # as Courses.of has it; None: nobody looked
    waits: Waits = NO_WAITS
    seen_ns: int = 0  # when it was last seen to run; 0: never
    heap: HeapFigures | None = None  # of our own heap, at that time


class CountedRun:
    """The run of one program."""

    def __init__(
        self,
        library: Path,
        command: Sequence[str],
        program_to_stderr: bool,
        sampling: Sampling | None = None,
        collector: Path | None = None,
    ) -> None:
        """collector: counts the allocator inside the program as well, if it has one."""
        own = find_process(os.getpid())
        self._keeper = (os.getpid(), own.start_ticks if own else 0)
        self._ended: list[Page] = []
        self._takes = 0
        self._courses = Courses(is_whole=True)
        self._switches = SwitchLooks(keeps=True)
        self._seen_ns: dict[tuple[int, int], int] = {}
        self._heaps: dict[tuple[int, int], HeapFigures] = {}
        self._sampling = sampling
        self._killed_by = 0
        self._terminating: list[int] = []
        self.kept_of = 0  # the process whose samples are kept, once it has ended
        # Our own heap, if the program uses it, then counts its locks' collisions as well.
        environment = (
            {"HEAPWRIGHT_HEAP_COUNTERS": "1"}
            | os.environ
            | {"HEAPWRIGHT_COUNT_KEEPER": "{}:{}".format(*self._keeper)}
        )
        inside = [str(collector), "--library", str(library)] if collector else []
        is_inside = bool(inside) and sampling is None and _has_inside(inside, command)
        if sampling:
            command = sampling.command(library, command)
        elif is_inside:
            command = [*inside, "--count-for", str(self._keeper[0]), "--", *command]
        else:
            others = os.environ.get("LD_PRELOAD", "")
            environment["LD_PRELOAD"] = f"{library}:{others}" if others else str(library)
        self._begin_ns = time.monotonic_ns()
        self._program = subprocess.Popen(
            command, env=environment, stdout=sys.stderr if program_to_stderr else None
        )

        self._uncounted = Uncounted(self._program.pid, is_collector=sampling is not None or is_inside)

    def wait(self, interval_s: float, at_interval: Callable[[CountedRun], None]) -> int:
        """Runs until the program ends; returns its exit code as in a shell. interval_s 0: prints nothing."""
        descriptor = os.pidfd_open(self._program.pid)
        try:
            with self._passing_signals_on():
                self._watch(descriptor, interval_s, at_interval)
                code = self._program.wait()
            if self._sampling:
                self._keep_samples(self._sampling, code)
        finally:
            os.close(descriptor)
            profiles.remove_ended()
        # The collector passes a program's end on as a code; a signal ended the collector itself.
        self._killed_by = -code if self._sampling and code < 0 else 0
        self.wall_ns = time.monotonic_ns() - self._begin_ns
        return code if code >= 0 else 128 - code

    def _keep_samples(self, sampling: Sampling, code: int) -> None:
        """What conditions want written; else they are kept for dump."""
        self._collect()
        if sampling.dumper and sampling.dumper.look_at_end(code, self._ended):
            return
        kept = [page.process for page in self._ended if kept_samples.keep(page)]
        kept_samples.remove_old()
        if kept:
            self.kept_of = kept[0]

    def _watch(self, descriptor: int, interval_s: float, at_interval: Callable[[CountedRun], None]) -> None:
        dumper = self._sampling.dumper if self._sampling else None
        step_s = min(interval_s or LOOK_S, _LOOK_S if dumper else LOOK_S)
        due_s = time.monotonic() + interval_s
        collect_s = time.monotonic() + _FIRST_LOOK_S
        while not select.select([descriptor], [], [], step_s)[0]:
            self._uncounted.look()
            is_due = time.monotonic() >= collect_s
            if dumper or is_due:
                living = self._collect()
            if dumper and self._terminating:
                dumper.look_at_signal(living)
                self._pass_on(self._terminating.pop())
            if dumper:
                dumper.look(living)
            if is_due:
                collect_s = time.monotonic() + _COLLECT_S
                self._look(images_of(living))
            if interval_s and time.monotonic() >= due_s:
                due_s += interval_s
                at_interval(self)

    def _look(self, living: Mapping[tuple[int, int], Calls | None]) -> None:
        now_ns = time.monotonic_ns()
        self._courses.look(now_ns, living)
        self._switches.look(now_ns, living)
        self._seen_ns |= dict.fromkeys(living, now_ns)
        self._heaps |= {image: heap for image in living if (heap := heap_of(image[0]))}

    @contextmanager
    def _passing_signals_on(self) -> Iterator[None]:
        """Ctrl-C reaches the program directly; signals sent only to this process are passed on."""

        dumper = self._sampling.dumper if self._sampling else None

        def pass_on(number: int, _frame: FrameType | None) -> None:
            if number == signal.SIGTERM and dumper and "sigterm" in dumper.ends:
                self._terminating = [number]  # at the next look
            else:
                self._pass_on(number)

        before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
        before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _pass_on(self, number: int) -> None:
        with suppress(OSError):
            self._program.send_signal(number)

    def notes(self) -> list[str]:
        """What was not counted, if known, and why; what happened to the samples."""
        killed = (
            f"heapwright-collect was killed (signal {self._killed_by}): sampling has ended; the program "
            "continues with counting, and heapwright top shows it"
        )
        return [*([killed] if self._killed_by else []), *self._uncounted.notes()]

    def elapsed_ns(self) -> int:
        """Time since the program was started."""
        return time.monotonic_ns() - self._begin_ns

    def _collect(self) -> list[Page]:
        """Takes the pages of images that have ended; returns the others'."""
        living = []
        ended = ended_pages_kept_for(self._keeper, self._takes + 1)
        self._takes += len(ended)
        self._ended += ended
        for page in pages_kept_for(*self._keeper):
            if is_living(page) and page.calls and not page.calls.ended_ns:
                living.append(page)
                continue
            self._takes += 1
            if taken := take(page, self._takes):
                self._ended.append(taken)
        return living

    def pages(self) -> list[Counted]:
        """Every image that had a page so far, in time order."""
        found = [self._counted(page, True) for page in self._collect()]
        found += [self._counted(page, False) for page in self._ended]
        return sorted(found, key=lambda counted: counted.page.calls.started_ns if counted.page.calls else 0)

    def _counted(self, page: Page, is_running: bool) -> Counted:
        image = (page.process, page.calls.started_ns if page.calls else 0)
        seen_ns = time.monotonic_ns() if is_running else self._seen_ns.get(image, 0)
        memory, waits = self._courses.of(*image), self._switches.of(*image)
        return Counted(page, is_running, memory, waits, seen_ns, self._heaps.get(image))


def _has_inside(collector: Sequence[str], command: Sequence[str]) -> bool:
    """Whether the program is static, or has an allocator that no preloaded library can count. Some 5 ms."""
    asked = [*collector, "--has-inside", "--", *command]
    return subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def images_of(pages: Iterable[Page]) -> dict[tuple[int, int], Calls | None]:
    """For Courses.look()."""
    return {(page.process, page.calls.started_ns): page.calls for page in pages if page.calls}


def why_nothing_was_counted() -> str:
    """Why nothing was counted, a guess if not known."""
    try:
        room = os.statvfs(FOLDER)
    except OSError:
        return f"nothing was counted: {FOLDER} is missing; mount a tmpfs there"
    if room.f_bavail * room.f_frsize < _LEAST_FREE_BYTES:
        return f"nothing was counted: {FOLDER} is full; free some space there"
    if not os.access(FOLDER, os.W_OK):
        return f"nothing was counted: {FOLDER} is not writable"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit not in (resource.RLIM_INFINITY, -1) and limit < PAGE_OF_CALLS_BYTES:
        return (
            f"nothing was counted: file sizes are limited to {limit} bytes, a page of counters has "
            f"{PAGE_OF_CALLS_BYTES}; raise the limit with ulimit -f"
        )
    return (
        "nothing was counted: the program may be static, setuid, of another architecture, clear its "
        "environment, or run in another PID namespace, chroot or container; heapwright record may tell which"
    )
