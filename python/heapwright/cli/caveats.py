# SPDX-License-Identifier: MIT
"""Recordings that are not whole, or whose program failed: refused, or taken with a note."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from heapwright.cli.errors import InputError
from heapwright.model import Trace
from heapwright.model.wholeness import how_it_failed, why_not_whole
from heapwright.report import units


def reasons_taken(trace: Trace, anyway: bool, is_refused: str, is_taken: str, command: str = "") -> list[str]:
    """Why it is not whole, where --anyway takes it so. is_refused: without; is_taken: what --anyway does.

    command: that was recorded for this, into a file that may be gone when people read of it."""
    reasons = why_not_whole(trace)
    if reasons and not anyway:
        raise InputError(f"{command or trace.path} {is_refused}: {reasons[0]} (--anyway {is_taken})")
    return reasons


def notes_on(trace: Trace, reasons: list[str], consequence: str) -> list[str]:
    """For the reader of the result. reasons: why it is not whole; consequence: of that."""
    name = Path(trace.path).name
    found = [f"{name} is not whole, {consequence}: {reason}" for reason in reasons]
    if failure := how_it_failed(trace):
        found.append(f"{name}: {failure}; figures are of what it did until then")
    return found + [f"{name}: {line}" for line in _others(trace)]


def _others(trace: Trace) -> Iterator[str]:
    """The processes that it started and of which nothing is known."""
    unrecorded, alone = trace.metadata.unrecorded, trace.metadata.children_left_alone
    if unrecorded:
        count, first = units.counted(len(unrecorded), "process", "processes"), unrecorded[0]
        yield f"it started {count} that could not be recorded, such as {first.program}: {first.reason}"
    if alone:
        count = units.counted(alone, "child process", "child processes")
        yield f"it started {count} without the recorder (record --children)"
