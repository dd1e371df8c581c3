# SPDX-License-Identifier: MIT
"""Stacks beside the counters: the recorder's sampling, and when its samples are written to a file."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from heapwright.live.figures import live_bytes
from heapwright.live.memory import memory_of
from heapwright.live.memory_limits import oom_kills
from heapwright.live.page import Calls, Page
from heapwright.live.profiles import (
    PATTERN,
    NoProfileError,
    NoSamplesYetError,
    Profile,
    ended_profile,
    profile_of,
)
from heapwright.live.triggers import ENDS, Failed, Sight, Trigger

# The exit code of a collector whose program was killed by SIGKILL.
_KILLED = 128 + signal.SIGKILL


class Dumper:
    """Writes each process's samples, once for each trigger that says so."""

    def __init__(
        self, triggers: Sequence[Trigger], say: Callable[[str], None], ends: Collection[str] = ()
    ) -> None:
        """ends: of ENDS."""
        self.ends = ends
        self._triggers = triggers
        self._say = say
        self._done: set[tuple[int, str]] = set()
        self._seen: dict[int, Page] = {}
        self._kills = oom_kills()

    def look(self, pages: Iterable[Page]) -> None:
        """At processes that live, a few times a second."""
        for page in pages:
            if page.calls is None:
                continue
            self._seen[page.process] = page
            sight = _sight(page, page.calls)
            for trigger in self._triggers:
                is_done = (page.process, trigger.name) in self._done
                if not is_done and (why := trigger.why(sight)):
                    self._dump(page, trigger.name, why)

    def look_at_signal(self, pages: Iterable[Page]) -> None:
        """Before SIGTERM is passed on: samples up to a second ago."""
        if "sigterm" in self.ends:
            for page in pages:
                self._dump(page, "sigterm", "gets SIGTERM")

    def look_at_end(self, code: int, ended: Iterable[Page]) -> bool:
        """Asked when the program has ended, before its samples are removed. True: they were written, whole.

        Where the kernel killed for want of memory, all samples up to the end are kept as well.
        """
        whys = [(kind, why) for kind in self.ends if (why := ENDS[kind](code))]
        is_out_of_memory = code == _KILLED and oom_kills() != self._kills
        if is_out_of_memory and any(trigger.keeps_killed for trigger in self._triggers):
            whys.append(("killed", "was killed when memory ran out"))
        pages = self._seen | {page.process: page for page in ended}
        found = [
            self._write_ended(page, *why) for page in pages.values() for why in self._whys_of(page, whys)
        ]
        return any(found)

    def _whys_of(self, page: Page, whys: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Those of all, and a failed call of its last moment."""
        yield from (why for why in whys if (page.process, why[0]) not in self._done)
        for trigger in self._triggers:
            is_done = (page.process, trigger.name) in self._done
            if isinstance(trigger, Failed) and not is_done and page.calls and page.calls.failed:
                yield trigger.name, trigger.why(_sight(page, page.calls))

    def _write_ended(self, page: Page, kind: str, why: str) -> bool:
        with suppress(NoProfileError), ended_profile(page.process, page.process_start_ticks) as profile:
            return self._write(page, kind, why, profile)
        return False

    def _dump(self, page: Page, kind: str, why: str) -> None:
        try:
            with profile_of(page.process) as profile:
                self._write(page, kind, why, profile)
        except NoSamplesYetError:
            return  # at the next look
        except NoProfileError:
            pass  # a child: it is counted, not sampled
        self._done.add((page.process, kind))

    def _write(self, page: Page, kind: str, why: str, profile: Profile) -> bool:
        name = page.calls.program.replace("/", "_") if page.calls else ""
        target = Path(".".join(filter(None, (name, str(page.process), kind, "heapwright"))))
        is_made = False
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            is_made = True
            with os.fdopen(descriptor, "wb") as file:
                profile.copy_to(file)
        except OSError as error:
            if is_made:
                target.unlink(missing_ok=True)
            self._say(f"heapwright: {target} is not written: {(error.strerror or str(error)).lower()}")
            return False
        self._say(f"heapwright: process {page.process} {why}: heapwright explain {target}")
        return True


def _sight(page: Page, calls: Calls) -> Sight:
    return Sight(page.process, time.monotonic(), live_bytes(calls), memory_of(page.process), calls.failed)


class Sampling(NamedTuple):
    """How a program is sampled."""

    collector: Path
    mean_bytes: int
    room_bytes: int
    dumper: Dumper | None

    def command(self, counter: Path, program: Sequence[str]) -> list[str]:
        """Starts the program with the recorder and, behind it, what counts."""
        return [
            str(self.collector), "--quiet", "--no-residency", "--no-kernel-events",
            "--sample", str(self.mean_bytes), "--room", str(self.room_bytes),
            "--output", PATTERN, "--behind", str(counter), "--", *program,
        ]  # fmt: skip
