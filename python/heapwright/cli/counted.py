# SPDX-License-Identifier: MIT
"""What heapwright count prints of counted processes."""

from __future__ import annotations

from typing import Any, Protocol

from heapwright.cli.streams import say
from heapwright.live import figures, show
from heapwright.live.counted_run import Counted
from heapwright.report import units


class Run(Protocol):
    """The counted processes."""

    def pages(self) -> list[Counted]:
        """The program images counted so far."""

    def elapsed_ns(self) -> int:
        """Time since counting began."""


class Intervals:
    """The activity of all processes in each interval; printed on stderr, and kept."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self._last = {"time_ns": 0, "calls": 0, "requested_bytes": 0}

    def __call__(self, run: Run) -> None:
        pages = run.pages()
        all_calls = [one.page.calls for one in pages if one.page.calls]
        now = {
            "time_ns": run.elapsed_ns(),
            "calls": sum(sum(calls.by_function.values()) for calls in all_calls),
            "requested_bytes": sum(calls.requested_bytes for calls in all_calls),
        }
        took_s = (now["time_ns"] - self._last["time_ns"]) / 1e9
        more_bytes = now["requested_bytes"] - self._last["requested_bytes"]
        living = [one.page.calls for one in pages if one.is_running and one.page.calls]
        known = [calls for calls in living if not calls.has_unknown_usable]
        record: dict[str, Any] = {
            "time_ns": now["time_ns"],
            "calls_per_s": round((now["calls"] - self._last["calls"]) / took_s, 1),
            "requested_bytes_per_s": round(more_bytes / took_s, 1),
            "live_bytes": sum(figures.live_bytes(calls) or 0 for calls in known),
            "calls_while_reading": sum(calls.calls_while_reading for calls in known),
            "processes": len(living),
            "anonymous_bytes": sum(
                one.memory["anonymous_bytes"] for one in pages if one.is_running and one.memory
            ),
        }
        self._last = now
        self.records.append(record)
        live = _live(record["live_bytes"], any(calls.is_attached for calls in living))
        say(
            f"{units.duration(record['time_ns'])}: {units.count(round(record['calls_per_s']))} calls/s, "
            f"{units.rate(record['requested_bytes_per_s'])} requested, {live}, "
            f"{units.size(record['anonymous_bytes'])} anonymous "
            f"in {units.counted(len(living), 'process', 'processes')}"
        )


def _live(count: int, is_change: bool) -> str:
    return f"live {show.size(count, '+')}" if is_change else f"{show.size(count)} live"
