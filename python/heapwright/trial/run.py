# SPDX-License-Identifier: MIT
"""One run of the program, alone or as a server under its load: its figures, or how it failed."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, NamedTuple

from heapwright.measure import allocators
from heapwright.measure.own_folder import own_folder
from heapwright.trial.processes import adopted, start
from heapwright.trial.sampler import Sampler, median_over_time

_READY_S = 0.05  # between two calls of --ready
_READY_SHARE = 0.1  # of --limit: a server that is never ready is told soon
_STOP_S = 10.0  # from SIGTERM on
# The loader maps what is preloaded before the C library: one without the other is a library left out.
_C_LIBRARY = re.compile(rb"/libc(\.so\.6|-[\d.]+\.so)$", re.MULTILINE)
_SHOWN = 160  # of a line that a program wrote
_ENDED_ON_REQUEST = (0, -signal.SIGTERM, 128 + signal.SIGTERM)


# Of a part of a remedy whose deed this was: the program runs as it is.
DID_NOTHING = "did nothing: "


class Way(NamedTuple):
    """A way to run it. name: the remedy's; "": as it is. library: a file that has to be in its memory.

    allocator: of whose settings the variables are; "": none. in_code: what does the same in the program's
    code. refusal: a pattern of what is written to standard error where the program runs without it; "": none.
    deeds_to: a variable with the path of a file that each process adds to when it ends; "": none. deeds:
    patterns of its lines, with what a part of the remedy is called and how often it did something; and what
    it means that it never did. parts: of the remedy, if each of them says DID_NOTHING where it does nothing;
    0: it changes the program in any case.
    """

    name: str = ""
    variables: Mapping[str, str] = {}
    library: str = ""
    allocator: str = ""
    in_code: Sequence[str] = ()
    refusal: str = ""
    deeds_to: str = ""
    deeds: Sequence[tuple[str, str]] = ()
    parts: int = 0


class Plan(NamedTuple):
    """environment: without what ways add. load, ready, metric: commands for a shell; "": none.

    idle_s: from the load's end to the last reading. keeps_output: what it writes is compared.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    load: str = ""
    ready: str = ""
    metric: str = ""
    idle_s: float = 1.0
    limit_s: float = 600.0
    keeps_output: bool = False


class Run(NamedTuple):
    """figures: by key. output: a digest of what it wrote, and its exit code; "": not kept.

    unit: of the metric. children: how many processes were seen below it. allocators: libraries in its memory.
    deeds: how often parts of the remedy did something, by what it means if they never did; only those that
    all processes told.
    """

    figures: Mapping[str, float]
    output: str = ""
    unit: str = ""
    children: int = 0
    allocators: tuple[str, ...] = ()
    deeds: Mapping[str, int] = {}


class FailedError(Exception):
    """How a run failed, in one line that follows the program's name. of_load: by a command beside it."""

    def __init__(self, text: str, of_load: bool = False) -> None:
        super().__init__(text)
        self.of_load = of_load


def run_once(plan: Plan, way: Way) -> Run:
    """FailedError, MeasureError. None of its processes is left, however it ends."""
    with own_folder("try") as folder, adopted():
        return _Running(plan, way, folder).run()


class _Running:
    def __init__(self, plan: Plan, way: Way, folder: Path) -> None:
        self._plan, self._way, self._folder = plan, way, folder
        self._has_output = plan.keeps_output or bool(plan.metric and not plan.load)
        self._output = folder / "output" if self._has_output else Path(os.devnull)
        self._is_mapped = not way.library
        self._is_left_out = False
        self._looks = 0
        self._deeds = folder / "deeds"
        self._allocators: set[str] = set()

    def run(self) -> Run:
        plan = self._plan
        with (self._folder / "errors").open("w+b") as self._errors:
            variables = dict(self._way.variables)
            if self._way.deeds_to:
                self._deeds.touch()
                variables[self._way.deeds_to] = str(self._deeds)
            self._process = start(plan.command, plan.environment, variables, self._output, self._errors)
            begin_s = time.monotonic()
            self._end_s = begin_s + plan.limit_s
            self._descriptor = os.pidfd_open(self._process)
            try:
                with closing(Sampler(self._process)) as self._sampler:
                    figures = self._serve() if plan.load else self._wait_for_it()
                    code, used = self._reap()
                    figures.setdefault("wall_ns", (time.monotonic() - begin_s) * 1e9)
                    self._check(code)
            finally:
                os.close(self._descriptor)
        sampled = max((one.bytes for one in self._sampler.readings), default=0)
        figures |= {
            "peak_bytes": max(sampled, used.ru_maxrss * 1024),
            "cpu_ns": (used.ru_utime + used.ru_stime) * 1e9,
            "minor_faults": used.ru_minflt,
            "major_faults": used.ru_majflt,
        }
        unit = ""
        if plan.metric and not plan.load:
            figures["metric"], unit = self._metric(self._output.read_bytes())
        elif plan.metric:
            unit = self._unit
        found = tuple(sorted(self._allocators))
        children = len(self._sampler.children)
        return Run(figures, self._digest(code), unit, children, found, self._done(1 + children))

    # A program that ends by itself.

    def _wait_for_it(self) -> dict[str, float]:
        begin_s = time.monotonic()
        if not self._watch([self._descriptor], self._end_s):
            raise FailedError(f"hung: no end after {self._plan.limit_s:g} s (--limit)")
        return self._steady(begin_s, time.monotonic())

    def _steady(self, begin_s: float, end_s: float) -> dict[str, float]:
        """Of the second half: a remedy that saves time leaves the start as long as it was."""
        middle_s = (begin_s + end_s) / 2
        found = median_over_time([one for one in self._sampler.readings if one.time_s >= middle_s])
        return {} if found is None else {"steady_bytes": found}

    # A server.

    def _serve(self) -> dict[str, float]:
        self._wait_until_ready()
        begin_s = time.monotonic()
        said = self._under_load()
        end_s = time.monotonic()
        figures = {"wall_ns": (end_s - begin_s) * 1e9, **self._steady(begin_s, end_s)}
        if self._plan.metric:
            figures["metric"], self._unit = self._metric(said)
        if self._watch([self._descriptor], time.monotonic() + self._plan.idle_s):
            return figures  # its load ended it
        self._sampler.look()
        figures["idle_bytes"] = self._sampler.readings[-1].bytes
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGTERM)
        if not self._watch([self._descriptor], time.monotonic() + _STOP_S):
            raise FailedError(f"does not end by SIGTERM within {_STOP_S:g} s")
        return figures

    def _wait_until_ready(self) -> None:
        within_s = _READY_SHARE * self._plan.limit_s
        end_s = time.monotonic() + within_s
        said = ""
        while self._plan.ready:
            with (self._folder / "ready").open("w+b") as output:
                with self._shell(self._plan.ready, output) as command:
                    is_over = self._watch_both(command, end_s)
                output.seek(0)
                said = _last_line(output.read()) or said
            if is_over and command.returncode == 0:
                return
            if self._watch([self._descriptor], time.monotonic() + _READY_S):
                raise FailedError(f"ended before it was ready{self._last_line()}")
            if time.monotonic() >= end_s:
                why = f": {said}" if said else ""
                raise FailedError(
                    f"--ready '{self._plan.ready}' did not succeed within {within_s:g} s{why}", True
                )

    def _under_load(self) -> bytes:
        with (self._folder / "load").open("w+b") as output:
            with self._shell(self._plan.load, output) as load:
                is_over = self._watch_both(load, self._end_s)
            if not is_over:
                raise FailedError(
                    f"--while '{self._plan.load}' did not end within {self._plan.limit_s:g} s", True
                )
            output.seek(0)
            said = output.read()
        if load.returncode:
            if self._watch([self._descriptor], time.monotonic()):
                raise FailedError(f"ended under its load{self._last_line()}")
            raise FailedError(self._about_load(load.returncode, said), True)
        return said

    def _about_load(self, code: int, said: bytes) -> str:
        line = _last_line(said)
        ready = "" if self._plan.ready else "; --ready 'COMMAND' waits until the server is ready"
        return f"--while '{self._plan.load}' failed: {line or f'exit code {code}'}{ready}"

    def _shell(self, text: str, output: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["/bin/sh", "-c", text],
            env=self._plan.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _watch_both(self, beside: subprocess.Popen[bytes], end_s: float) -> bool:
        """Until the command has ended; False where this time came first, and the command is killed."""
        descriptor = os.pidfd_open(beside.pid)
        try:
            is_over = self._watch([descriptor], end_s)
        finally:
            os.close(descriptor)
            if beside.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(beside.pid, signal.SIGKILL)
        return is_over

    def _metric(self, said: bytes) -> tuple[float, str]:
        """What the metric's command makes of what was said: a number, and its unit."""
        done = subprocess.run(
            ["/bin/sh", "-c", self._plan.metric],
            env=self._plan.environment,
            input=said,
            capture_output=True,
            timeout=self._plan.limit_s,
            start_new_session=True,
            check=False,
        )
        line = _last_line(done.stdout)
        found = re.fullmatch(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\d\s].*)?", line)
        if done.returncode or not found:
            wrong = f"its last line is '{line}'" if line else _last_line(done.stderr) or "it prints nothing"
            raise FailedError(f"--metric '{self._plan.metric}' gives no number: {wrong}", True)
        return float(found[1]), (found[2] or "").strip()

    # Both.

    def _watch(self, descriptors: Sequence[int], end_s: float) -> bool:
        """Reads memory until one of these processes has ended; False where the time came first."""
        while True:
            step_s = self._sampler.look()
            left_s = end_s - time.monotonic()
            if select.select(descriptors, [], [], max(0.0, min(step_s, left_s)))[0]:
                return True
            self._look_for_library()
            if left_s <= 0:
                return False

    def _look_for_library(self) -> None:
        """At each look until it is there; then seldom, for allocators that are not asked for."""
        self._looks += 1
        if self._is_mapped and self._looks & (self._looks - 1):
            return
        library = os.fsencode(self._way.library)
        for process in (self._process, *self._sampler.children):
            with suppress(OSError):
                # First: what starts the program is not told to preload it, and has a C library as well.
                is_told = library in Path(f"/proc/{process}/environ").read_bytes()
                maps = Path(f"/proc/{process}/maps").read_bytes()
                is_here = library in maps
                self._is_mapped |= is_here
                self._is_left_out |= is_told and not is_here and bool(_C_LIBRARY.search(maps))
                self._allocators |= allocators.mapped(maps)

    def _reap(self) -> tuple[int, resource.struct_rusage]:
        _, status, used = os.wait4(self._process, 0)
        return os.waitstatus_to_exitcode(status), used

    def _check(self, code: int) -> None:
        if code not in (_ENDED_ON_REQUEST if self._plan.load else (0,)):
            name = signal.Signals(-code).name if code < 0 else ""
            raise FailedError(f"crashed: {name}{self._last_line()}" if name else f"failed{self._why(code)}")
        if self._way.refusal and (found := re.search(self._way.refusal, self._said(), re.MULTILINE)):
            raise FailedError(f"runs without it: {found[1]}")
        if self._is_left_out and not self._is_mapped:
            raise FailedError(f"is not served by {self._way.library}: the loader did not preload it")

    def _why(self, code: int) -> str:
        return self._last_line() or f": exit code {code}"

    def _done(self, processes: int) -> dict[str, int]:
        """A process that was killed, or became another program, tells nothing: it may have done something."""
        lines = self._deeds.read_text(errors="replace").splitlines() if self._way.deeds_to else []
        found: dict[str, list[int]] = {}
        for pattern, meaning in self._way.deeds:
            for one in filter(None, (re.match(pattern, line) for line in lines)):
                found.setdefault(f"{one[1]} {meaning}", []).append(int(one[2]))
        return {what: sum(counts) for what, counts in found.items() if len(counts) >= processes}

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def _last_line(self) -> str:
        line = _last_line(self._said().encode())
        return f": {line}" if line else ""

    def _digest(self, code: int) -> str:
        if not self._plan.keeps_output:
            return ""
        with self._output.open("rb") as file:
            return f"{code} {hashlib.file_digest(file, 'sha256').hexdigest()}"


def _last_line(said: bytes) -> str:
    """As it may stand in a terminal."""
    lines = said.decode(errors="replace").strip().splitlines()
    return "".join(one if one.isprintable() else " " for one in lines[-1][:_SHOWN]) if lines else ""
