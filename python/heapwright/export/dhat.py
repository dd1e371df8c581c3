# SPDX-License-Identifier: MIT
"""DHAT's JSON, version 2, for valgrind's viewer: what each stack allocated and held, and for how long.

https://valgrind.org/docs/manual/dh-manual.html. Accesses are not known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from heapwright.export.stacks import Source
from heapwright.model import Location
from heapwright.model.sites import MARKS, NO_STACK

_NS_PER_UNIT = 1000
# The mean lifetime that DHAT's viewer calls short.
_SHORT_UNITS = 10


def write(source: Source, file: BinaryIO, measure: str) -> None:
    """Times are microseconds; the end is the time of the last call."""
    del measure  # one file holds them all
    timeline = source.facts.timeline
    head: dict[str, Any] = {
        "dhatFileVersion": 2,
        "mode": "heap",
        "verb": "Allocated",
        "bklt": True,
        "bkacc": False,
        "tu": "µs",
        "Mtu": "s",
        "tuth": _SHORT_UNITS,
        "cmd": "  ".join(filter(None, (source.trace.metadata.command, source.warning))),
        "pid": source.trace.metadata.process_id,
        "tg": source.facts.peak.time_ns // _NS_PER_UNIT,
        "te": (timeline[-1].time_ns if timeline else 0) // _NS_PER_UNIT,
    }
    frames = _FrameTable(source)
    file.write(json.dumps(head).encode()[:-1] + b',\n"pps":[')
    for number, point in enumerate(_points(source, frames)):
        file.write(b",\n" if number else b"\n")
        file.write(json.dumps(point, separators=(",", ":")).encode())
    file.write(b'],\n"ftbl":' + json.dumps(frames.texts, indent=0).encode() + b"}\n")


# Its fields: the columns of Facts.stacks.
_SUMS = {
    "tb": "bytes",
    "tbk": "allocations",
    "mb": "own_peak_bytes",
    "gb": "live_at_peak_bytes",
    "gbk": "live_at_peak_blocks",
    "eb": "live_at_end_bytes",
    "ebk": "live_at_end_blocks",
}


def _points(source: Source, frames: _FrameTable) -> Iterator[dict[str, Any]]:
    stacks, lives = source.facts.stacks, source.facts.stack_lives
    columns = [stacks[column] for column in _SUMS.values()]
    for stack, values in enumerate(zip(*columns, strict=True)):
        if not any(values):
            continue
        lived_ns = stacks["lifetime_sum_ns"][stack] + lives["live_at_end_ns"][stack]
        yield {
            **dict(zip(_SUMS, values, strict=True)),
            "mbk": lives["own_peak_blocks"][stack],
            "tl": lived_ns // _NS_PER_UNIT,
            "fs": frames.stack(stack),
        }


class _FrameTable:
    """The texts of frames: one for each, even if equal, as the viewer does not accept duplicate stacks."""

    def __init__(self, source: Source) -> None:
        self.texts = ["[root]"]
        self._trace = source.trace
        self._tree = source.trace.stack_columns
        self._symbols = source.trace.symbols()
        self._numbers: dict[int, list[int]] = {}

    def stack(self, stack: int) -> list[int]:
        """Innermost first."""
        found: list[int] = []
        while stack != 0:
            found += self._frame(self._tree["frame"][stack])
            stack = self._tree["parent"][stack]
        return found or self._known(-1, [NO_STACK.function])

    def _frame(self, frame: int) -> list[int]:
        if frame in self._numbers:
            return self._numbers[frame]
        if frame in MARKS:
            return self._known(frame, [MARKS[frame].function])
        pc = self._trace.frame_columns["pc"][frame]
        return self._known(frame, [_text(pc, location) for location in self._symbols.locations(frame)])

    def _known(self, frame: int, texts: list[str]) -> list[int]:
        if frame not in self._numbers:
            self._numbers[frame] = list(range(len(self.texts), len(self.texts) + len(texts)))
            self.texts += texts
        return self._numbers[frame]


def _text(pc: int, location: Location) -> str:
    where = f"{location.file}:{location.line}" if location.file else f"in {location.library or '???'}"
    return f"0x{pc:X}: {location.function} ({where})"
