# SPDX-License-Identifier: MIT
"""speedscope's JSON: one profile per measure, with shared frames."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from heapwright.export.stacks import MEASURES, Frames, Source
from heapwright.model import Location

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_DEFAULT = ("peak", "leaked", "bytes", "calls")


def write(source: Source, file: BinaryIO, measure: str) -> None:
    """All common measures, or the requested one."""
    table = _FrameTable(source)
    measures = (measure,) if measure else _DEFAULT
    document = {
        "$schema": _SCHEMA,
        "exporter": "heapwright",
        "name": "  ".join(filter(None, (source.trace.metadata.program, source.warning))),
        "activeProfileIndex": 0,
        "profiles": [_profile(source, table, name) for name in measures],
        "shared": {"frames": table.frames},
    }
    file.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


def _profile(source: Source, table: _FrameTable, measure: str) -> dict[str, Any]:
    _, unit, title = MEASURES[measure]
    weighted = list(source.weights(measure))
    weights = [value for _, value in weighted]
    return {
        "type": "sampled",
        "name": title,
        "unit": unit,
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [table.stack(stack) for stack, _ in weighted],
        "weights": weights,
    }


class _FrameTable:
    """Numbers the distinct locations, and returns stacks as those numbers."""

    def __init__(self, source: Source) -> None:
        self.frames: list[dict[str, Any]] = []
        self._tree = source.trace.stack_columns
        self._frames = Frames(source.trace)
        self._numbers: dict[Location, int] = {}
        self._of_frame: dict[int, list[int]] = {}

    def stack(self, stack: int) -> list[int]:
        """Outermost first."""
        parts: list[list[int]] = []
        while stack != 0:
            parts.append(self._frame(self._tree["frame"][stack]))
            stack = self._tree["parent"][stack]
        return [number for part in reversed(parts) for number in part]

    def _frame(self, frame: int) -> list[int]:
        known = self._of_frame.get(frame)
        if known is None:
            known = [self._number(location) for location in self._frames.locations(frame)]
            self._of_frame[frame] = known
        return known

    def _number(self, location: Location) -> int:
        number = self._numbers.setdefault(location, len(self.frames))
        if number == len(self.frames):
            entry: dict[str, Any] = {"name": location.function}
            if location.file:
                entry |= {"file": location.file, "line": location.line}
            self.frames.append(entry)
        return number
