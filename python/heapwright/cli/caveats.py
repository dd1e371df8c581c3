# SPDX-License-Identifier: MIT
"""Incomplete recordings, or of failed programs: refused, or accepted with a note."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from heapwright.cli.errors import InputError
from heapwright.model import Trace
from heapwright.model.wholeness import how_it_failed, why_not_whole
from heapwright.report import units


def reasons_taken(trace: Trace, anyway: bool, is_refused: str, is_taken: str, command: str = "") -> list[str]:
    """Why it is incomplete; InputError without --anyway. is_refused, is_taken: the error's words.

    command: what was recorded for this run; named in place of a trace that may be temporary."""
    reasons = why_not_whole(trace)
    _refuse(reasons, anyway, f"{command or trace.path} {is_refused}", is_taken)
    return reasons


def reasons_found(
    trace: Trace, lost: Sequence[str], anyway: bool, is_refused: str, is_taken: str, command: str = ""
) -> list[str]:
    """The same of what only the calls show. lost: Trace.lost_calls()."""
    known = why_not_whole(trace)
    found = [] if known else list(lost)
    _refuse(found, anyway, f"{command or trace.path} {is_refused}", is_taken)
    return found


def _refuse(reasons: Sequence[str], anyway: bool, what: str, is_taken: str) -> None:
    if reasons and not anyway:
        raise InputError(f"{what}: {reasons[0]} (--anyway {is_taken})")


def notes_on(trace: Trace, reasons: list[str], consequence: str) -> list[str]:
    """Notes for the reader. reasons: why it is incomplete; consequence: what that means."""
    name = Path(trace.path).name
    found = incomplete(trace, reasons, consequence)
    if failure := how_it_failed(trace):
        found.append(f"{name}: {failure}; figures cover the time until then")
    return found + [f"{name}: {line}" for line in _others(trace)]


def incomplete(trace: Trace, reasons: Sequence[str], consequence: str) -> list[str]:
    """A note for each reason."""
    return [f"{Path(trace.path).name} is incomplete, {consequence}: {reason}" for reason in reasons]


def _others(trace: Trace) -> Iterator[str]:
    """Child processes that were not recorded."""
    unrecorded, alone = trace.metadata.unrecorded, trace.metadata.children_left_alone
    if unrecorded:
        count, first = units.counted(len(unrecorded), "process", "processes"), unrecorded[0]
        yield f"it started {count} that could not be recorded, such as {first.program}: {first.reason}"
    if alone:
        count = units.counted(alone, "child process", "child processes")
        yield f"it started {count} that were not recorded (record --children)"
