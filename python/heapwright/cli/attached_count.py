# SPDX-License-Identifier: MIT
"""heapwright count --pid: counts in a running process for a while."""

from __future__ import annotations

from typing import Any

from heapwright.cli import native_programs
from heapwright.cli.counted import Intervals
from heapwright.cli.errors import InputError
from heapwright.cli.output import hint, make_console, print_json
from heapwright.cli.streams import say
from heapwright.live import show
from heapwright.live.attached_run import AttachedRun, AttachError
from heapwright.live.document import describe, make_document
from heapwright.report import units


def count_attached(
    process: int, seconds: float | None, interval_s: float, is_forced: bool, as_json: bool, wide: bool
) -> None:
    """Counts, then prints the totals. seconds: None = until Ctrl-C."""
    intervals = Intervals()
    try:
        run = AttachedRun(native_programs.find(native_programs.ATTACHER), process, is_forced)
        _say_begin(process, run, seconds)
        run.wait(seconds, interval_s, intervals)
        counted = run.take()
    except AttachError as error:
        raise InputError(str(error)) from None
    record = describe(counted)
    notes = _notes(process, run)
    if as_json:
        attach = {
            "stopped_ns": run.attached["stopped_ns"],
            "detach_stopped_ns": run.detached["stopped_ns"],
            "threads": run.attached["threads"],
            "patched": run.attached["patched"],
            "has_healed": run.attached["healed"],
        }
        print_json(make_document([counted], intervals.records, notes, attach=attach))
        return
    for note in notes:
        say(note)
    show.show_process(record, make_console(wide))
    if record["is_running"]:
        hint(f"heapwright record --pid {process} --duration 10s shows which call sites make these calls")


def _say_begin(process: int, run: AttachedRun, seconds: float | None) -> None:
    threads = units.counted(run.attached["threads"], "thread")
    until = f"for {units.duration(round(seconds * 1e9))}" if seconds is not None else "until Ctrl-C"
    say(
        f"counting process {process} {until}; its {threads} stopped for "
        f"{units.duration(run.attached['stopped_ns'])}"
    )


def _notes(process: int, run: AttachedRun) -> list[str]:
    notes: list[str] = list(run.attached["notes"])
    if run.attached["healed"]:
        notes.append("an earlier attach was killed and left its patches; they were reverted first")
    ends = {"ended": "ended", "replaced": "executed another program"}
    if end := ends.get(run.detached["reason"]):
        notes.append(f"process {process} {end}, so counting ended")
    return notes


def attached_only(given: dict[str, Any]) -> None:
    """Refuses options about attaching when the process counts already."""
    for option, value in given.items():
        if value:
            raise InputError(f"{option} is for a process that does not count yet; omit it")
