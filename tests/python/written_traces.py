# SPDX-License-Identifier: MIT
"""Traces made from text, and the command line run in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import heapwright
import pytest

PROJECT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HEAPWRIGHT_BUILD", PROJECT / "build/release"))
MALLOC, CALLOC, REALLOC, FREE, NEW, DELETE = 1, 2, 3, 32, 10, 35


@dataclass
class MadeTrace:
    """A trace in the making; see tests/python/write_trace.cpp for the lines."""

    lines: list[str] = field(default_factory=list)
    has_end: bool = True
    end: str = "end 1 0 10000000"
    _now_ns: int = 1600  # the format keeps times in steps of 16 ns

    def line(self, *parts: object) -> MadeTrace:
        self.lines.append(" ".join(f'"{part}"' if isinstance(part, str) and i else str(part)
                                   for i, part in enumerate(parts)))  # fmt: skip
        return self

    def meta(self, key: str, value: object) -> MadeTrace:
        self.lines.append(f"meta {key} " + (f'"{value}"' if isinstance(value, str) else str(value)))
        return self

    def event(
        self,
        kind: int,
        address: int,
        size: int = 0,
        *,
        thread: int = 0,
        at: int | None = None,
        took: int = 16,
        usable: int | None = None,
        old: int = 0,
        stack: int = 0,
    ) -> MadeTrace:
        """Without `at` the call follows the one before."""
        begin = at if at is not None else self._now_ns
        self._now_ns = max(self._now_ns, begin + took + 80 + 15 & ~15)
        usable = (size + 7 & ~7 if address else 0) if usable is None else usable
        return self.line("event", thread, kind, begin, took, size, usable, address, old, stack, 0)

    def used(self, cpu_ns: int, system_ns: int = 0, faults: int = 0) -> MadeTrace:
        """The process's CPU time until the end, and its page faults, all of them seen by the kernel's records."""
        self.meta("condition", "kernel_events\trecorded").line("processor", *[0] * 9)
        end_ns = int(self.end.split()[3])
        return self.line("processor", end_ns, cpu_ns, system_ns, faults, 0, faults, 500 * faults, 0, 0)

    def write(self, path: Path) -> Path:
        lines = [*self.lines, self.end] if self.has_end else self.lines
        subprocess.run([write_trace(), path], input="\n".join(lines) + "\n", text=True, check=True)
        return path


def write_trace() -> Path:
    """The program that makes traces."""
    program = BUILD / "bin/write_trace"
    assert program.exists(), f"{program} is missing; `make build TESTS=ON` builds it"
    return program


def small_trace() -> MadeTrace:
    """Two threads, three sites, one leak, one temporary, one cross-thread free, one realloc chain."""
    made = MadeTrace()
    made.meta("program", "/opt/shop/server").meta("command", "/opt/shop/server")
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/shop/server", "aabbcc")
    made.line("module", 0x700000, 0x800000, 0x700000, "/lib/x86_64-linux-gnu/libc.so.6", "ddeeff")
    made.line("thread", 0, 100, "main", 0, 0).line("thread", 1, 101, "worker", 500, 9000000)
    for pc, module in ((0x401000, 0), (0x402000, 0), (0x403000, 0), (0x701000, 1)):
        made.line("frame", pc, module)
    # 1: main; 2: main > parse; 3: main > serve; 4: main > parse > libc
    for parent, frame in ((0, 0), (1, 1), (1, 2), (2, 3)):
        made.line("stack", parent, frame)
    made.event(MALLOC, 0x1000, 100, stack=2)
    made.event(MALLOC, 0x2000, 4000, stack=3)
    made.event(FREE, 0x2000)
    made.event(CALLOC, 0x3000, 50, stack=4)
    made.event(REALLOC, 0x4000, 500, old=0x3000, stack=4, took=5_000_000)
    made.event(NEW, 0x5000, 64, stack=1)
    made.event(DELETE, 0x5000, thread=1)
    made.event(FREE, 0x4000)
    made.line("memory", 2000, 8_000_000)
    return made


@dataclass(frozen=True)
class Said:
    """What a command printed."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    return small_trace().write(tmp_path / "server.heapwright")


@pytest.fixture
def trace(trace_file: Path) -> heapwright.Trace:
    return heapwright.open(trace_file)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs `heapwright ARGUMENTS` in a folder of its own."""

    def run(*arguments: object, environment: Iterable[tuple[str, str]] = ()) -> Said:
        return run_command(*arguments, cwd=tmp_path, environment=environment)

    return run


def run_command(*arguments: object, cwd: Path, environment: Iterable[tuple[str, str]] = ()) -> Said:
    """Runs `heapwright ARGUMENTS` in this folder."""
    done = subprocess.run(
        [sys.executable, "-c", "from heapwright.__main__ import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **dict(environment)},
        timeout=120,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)
