# SPDX-License-Identifier: MIT
"""Stacks beside the counters: the recorder's sampling, and when its samples are written to a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from heapwright.live.processes import find_process
from heapwright.live.profiles import MOST_BYTES, PATTERN, NoProfileError, copy_profile


class Dumper:
    """Writes each process's samples once, when more than above_bytes of it are resident."""

    def __init__(self, above_bytes: int, say: Callable[[str], None]) -> None:
        self._above_bytes = above_bytes
        self._say = say
        self._done: set[int] = set()

    def look(self, processes: Iterable[int]) -> None:
        """At those that were not written yet."""
        for number in set(processes) - self._done:
            process = find_process(number)
            if process is None or process.resident_bytes <= self._above_bytes:
                continue
            self._done.add(number)
            self._write(number, Path(f"{process.name.replace('/', '_')}.{number}.heapwright"))

    def _write(self, number: int, target: Path) -> None:
        try:
            samples = copy_profile(number)
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(samples)
        except NoProfileError:
            return  # a child: it is counted, not sampled
        except OSError as error:
            self._say(f"heapwright: {target} is not written: {(error.strerror or str(error)).lower()}")
            return
        self._say(f"heapwright: process {number} passed --dump-above: heapwright explain {target}")


class Sampling(NamedTuple):
    """How a program is sampled."""

    collector: Path
    mean_bytes: int
    dumper: Dumper | None

    def command(self, counter: Path, program: Sequence[str]) -> list[str]:
        """Starts the program with the recorder and, behind it, what counts."""
        return [
            str(self.collector), "--quiet", "--no-residency", "--no-kernel-events",
            "--sample", str(self.mean_bytes), "--max-size", str(MOST_BYTES),
            "--output", PATTERN, "--behind", str(counter), "--", *program,
        ]  # fmt: skip
