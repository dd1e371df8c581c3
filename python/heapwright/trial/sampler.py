# SPDX-License-Identifier: MIT
"""Resident memory of a process and those below it, read from outside while it runs."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from heapwright.trial.processes import below

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Between two readings: short at first, and then a share of the time so far.
_LEAST_S, _MOST_S, _SHARE = 0.002, 0.05, 0.005
# Between two looks for child processes.
_LOOK_S = 0.05
# Fewer readings say little about a run.
_LEAST_READINGS = 5


class Reading(NamedTuple):
    """bytes: resident, with the anonymous memory of child processes."""

    time_s: float
    bytes: int


class Sampler:
    """Costs 20 µs of this process's time for each reading; none of the program's."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._file = os.open(f"/proc/{process}/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._begin_s = self._look_s = time.monotonic()
        self._below: dict[int, int] = {}
        self.readings: list[Reading] = []
        self.children: set[int] = set()

    def close(self) -> None:
        """Closes its file."""
        os.close(self._file)

    def look(self) -> float:
        """Reads once; the time until the next reading."""
        now_s = time.monotonic()
        if now_s >= self._look_s:
            self._look_s = now_s + _LOOK_S
            self._below = {child: _anonymous_bytes(child) for child in below(self._process)}
            self.children |= self._below.keys()
        with suppress(OSError, IndexError):  # it may just have ended
            words = os.pread(self._file, 128, 0).split()
            if resident := int(words[1]):
                own = resident * _PAGE_BYTES
                self.readings.append(Reading(now_s, own + sum(self._below.values())))
        return min(_MOST_S, max(_LEAST_S, _SHARE * (now_s - self._begin_s)))


def _anonymous_bytes(process: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        words = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
        return (int(words[1]) - int(words[2])) * _PAGE_BYTES
    return 0


def median_over_time(readings: Sequence[Reading]) -> int | None:
    """What was exceeded half of the time; None of too few readings.

    >>> median_over_time([Reading(0, 1), Reading(1, 5), Reading(2, 1), Reading(3, 7), Reading(9, 1)])
    7
    """
    if len(readings) < _LEAST_READINGS:
        return None
    spans = sorted((one.bytes, after.time_s - one.time_s) for one, after in pairwise(readings))
    left_s = sum(span for _, span in spans) / 2
    for size, span in spans:
        left_s -= span
        if left_s <= 0:
            return size
    return spans[-1][0]
