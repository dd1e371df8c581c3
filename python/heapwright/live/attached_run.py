# SPDX-License-Identifier: MIT
"""Counts in a running process for a while, by heapwright-attach, which is told when to stop."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from heapwright.live.counted_run import Counted, images_of
from heapwright.live.outside import Courses
from heapwright.live.page import Page, PageError, read_page
from heapwright.live.processes import is_alive
from heapwright.live.switches import SwitchLooks

_MARK = "heapwright: "
# How often its memory is looked at.
_LOOK_S = 1.0


class AttachError(Exception):
    """Why a process is not counted, in one line."""


class AttachedRun:
    """Counting from the attachment on. Detaches on any end, including this process's death."""

    def __init__(self, attacher: Path, process: int, is_forced: bool) -> None:
        command = [str(attacher), *(["--despite-seccomp"] if is_forced else []), str(process)]
        # A separate process group: Ctrl-C is for this process, which then ends counting properly.
        self._attacher = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        self.attached = self._next_line()
        self._path = Path(self.attached["page"])
        self.detached: dict[str, Any] = {}
        self._courses = Courses(is_whole=True)
        self._switches = SwitchLooks(keeps=True)
        self._seen_ns = 0

    def _next_line(self) -> dict[str, Any]:
        assert self._attacher.stdout is not None
        assert self._attacher.stderr is not None
        if line := self._attacher.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            return answer
        errors = self._attacher.stderr.read().strip().removeprefix(_MARK)
        self._attacher.wait()
        raise AttachError(errors or "heapwright-attach was killed; run the same command again to clean up")

    def wait(
        self, seconds: float | None, interval_s: float, at_interval: Callable[[AttachedRun], None]
    ) -> None:
        """Waits this long (None: until Ctrl-C), or until the process ends. interval_s 0: prints nothing."""
        with self._ended_by_signals():
            self._watch(seconds, interval_s, at_interval)
            self._tell_to_end()
            self.detached = self._next_line()
        self._attacher.wait()

    @contextmanager
    def _ended_by_signals(self) -> Iterator[None]:
        """Each of them once or more: the attacher detaches, and says so, which ends the watching."""
        before = {
            number: signal.signal(number, lambda *_: self._tell_to_end())
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _tell_to_end(self) -> None:
        assert self._attacher.stdin is not None
        self._attacher.stdin.close()

    def _watch(
        self, seconds: float | None, interval_s: float, at_interval: Callable[[AttachedRun], None]
    ) -> None:
        output = self._attacher.stdout
        assert output is not None
        begin_s = time.monotonic()
        ends_s = begin_s + seconds if seconds is not None else None
        due_s = begin_s + interval_s if interval_s else None
        look_s = begin_s
        while True:
            now_s = time.monotonic()
            is_over = ends_s is not None and now_s >= ends_s
            if is_over or now_s >= look_s:
                look_s = now_s + _LOOK_S
                self._look_at_memory()
            if is_over:
                return
            wakes = [moment - now_s for moment in (ends_s, due_s, look_s) if moment is not None]
            if select.select([output], [], [], max(0.0, min(wakes)))[0]:
                return  # it has ended: the process exited or executed another program
            if due_s is not None and time.monotonic() >= due_s:
                due_s += interval_s
                at_interval(self)

    def _look_at_memory(self) -> None:
        with suppress(PageError):
            now_ns, images = time.monotonic_ns(), images_of([self._read()])
            self._courses.look(now_ns, images)
            self._switches.look(now_ns, images)
            self._seen_ns = now_ns

    def elapsed_ns(self) -> int:
        """Time since the attachment."""
        page = self._read()
        return time.monotonic_ns() - page.calls.started_ns if page.calls else 0

    def _read(self) -> Page:
        return read_page(str(self._path))

    def pages(self) -> list[Counted]:
        """The one page; whether the process still runs."""
        page = self._read()
        (image,) = images_of([page]) or ((page.process, 0),)
        is_running = is_alive(page.process, page.process_start_ticks)
        return [Counted(page, is_running, self._courses.of(*image), self._switches.of(*image), self._seen_ns)]

    def take(self) -> Counted:
        """The last values; removes the file."""
        try:
            found = self.pages()[0]
        except PageError as error:
            raise AttachError(str(error)) from None
        with suppress(OSError):
            self._path.unlink()
        return found
