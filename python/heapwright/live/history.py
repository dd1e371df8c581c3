# SPDX-License-Identifier: MIT
"""What the last looks said of each process."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from heapwright.terminal.sparkline import sparkline

LOOKS = 120
KEPT = ("calls_per_s", "live_bytes", "resident_bytes", "p99_ns", "contended_per_s", "remote_frees_per_s")


class History:
    """Of the processes in the last look, and of no others. Another program under an id is another one."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, str], deque[dict[str, Any]]] = {}

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """One look."""
        fresh: dict[tuple[int, str], deque[dict[str, Any]]] = {}
        for row in rows:
            key = (row["process"], row["program"])
            fresh[key] = self._rows.get(key, deque(maxlen=LOOKS))
            fresh[key].append({name: row[name] for name in KEPT})
        self._rows = fresh

    def values(self, row: dict[str, Any], name: str) -> list[float]:
        """The earliest first; looks that did not tell are left out."""
        looks = self._rows.get((row["process"], row["program"]), ())
        return [look[name] for look in looks if look[name] is not None]

    def line(self, row: dict[str, Any], name: str, cells: int) -> str:
        """The last looks, one a cell, on the scale of the largest; the newest stands at the right."""
        values = self.values(row, name)[-cells:]
        return sparkline(values, max(values, default=0), len(values)).rjust(cells)
