# SPDX-License-Identifier: MIT
"""heapwright count: counts in a program it starts, or in a running process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from heapwright.cli import native_programs
from heapwright.cli.attached_count import attached_only, count_attached
from heapwright.cli.counted import Intervals
from heapwright.cli.dump_triggers import ends_among, make_triggers
from heapwright.cli.errors import InputError
from heapwright.cli.options import SIZE, TIME, Wide
from heapwright.cli.output import hint, make_console, print_json
from heapwright.cli.record import DespiteSeccomp
from heapwright.cli.streams import say
from heapwright.live import counted_run, show
from heapwright.live.choice import page_or_process
from heapwright.live.counted_run import Counted, CountedRun
from heapwright.live.document import describe, make_document
from heapwright.live.page import Page, PageError
from heapwright.live.sampling import Dumper, Sampling

_LEAST_INTERVAL_NS = 10**8
_ROOM_BYTES = 64 << 20
_LEAST_ROOM_BYTES = 1 << 20
_MOST_BYTES = 1 << 40

Interval = Annotated[
    int | None, typer.Option(metavar="TIME", click_type=TIME, help="Report on stderr at this interval.")
]
Pid = Annotated[
    str,
    typer.Option(
        "--pid",
        metavar="PID|NAME",
        help="Count in a running process; if it already counts, read its counters.",
    ),
]
Duration = Annotated[
    int | None,
    typer.Option(
        metavar="TIME", click_type=TIME, help="With --pid: how long to count. Default: until Ctrl-C."
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(
        metavar="SIZE",
        click_type=SIZE,
        help="Keep the stack of one block per SIZE allocated: for dump, serve.",
    ),
]
DumpAbove = Annotated[
    int | None,
    typer.Option(
        metavar="SIZE",
        click_type=SIZE,
        help="With --sample: write the samples to PROGRAM.PID.heapwright when more than this is resident.",
    ),
]
DumpWhen = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHAT",
        help="With --sample: write the samples once to PROGRAM.PID.WHAT.heapwright at cgroup=90%, "
        "pressure=20%, growth=100M/1min (of live bytes), anonymous=2G, anonymous-growth=100M/1min, oom, "
        "failed (heap call), exit, abort, sigterm and others. Repeatable.",
    ),
]
Room = Annotated[
    int | None,
    typer.Option(
        metavar="SIZE",
        click_type=SIZE,
        help="With --sample: limit of the samples in /dev/shm, 64M by default; the oldest freed blocks "
        "go first.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; the program's output goes to stderr.")]


def count(
    context: typer.Context,
    interval: Interval = None,
    pid: Pid = "",
    duration: Duration = None,
    despite_seccomp: DespiteSeccomp = False,
    sample: Sample = None,
    dump_above: DumpAbove = None,
    dump_when: DumpWhen = None,
    room: Room = None,
    json: AsJson = False,
    wide: Wide = False,
) -> None:
    """Count a program's heap calls on any allocator."""
    if interval is not None and interval < _LEAST_INTERVAL_NS:
        raise InputError("--interval takes at least 0.1s")
    if duration == 0:
        raise InputError("--duration takes a time above 0")
    if not pid:
        if duration or despite_seccomp:
            raise InputError(
                "--duration and --despite-seccomp need --pid; a started program is counted until it exits"
            )
        if not context.args:
            raise InputError(
                "name a program: heapwright count -- PROGRAM [ARGUMENTS], or a process with --pid"
            )
        sampling = _sampling(sample, dump_above, dump_when or [], room)
        raise typer.Exit(_run(list(context.args), sampling, (interval or 0) / 1e9, json, wide))
    if any(given is not None for given in (sample, dump_above, dump_when, room)):
        raise InputError(
            "--sample, --dump-above, --dump-when and --room need a program to start; "
            "heapwright record --pid PID --sample 512k samples a running process"
        )
    if context.args:
        raise InputError("--pid counts in a running process: omit the program")
    try:
        found = page_or_process(pid)
    except PageError as error:
        raise InputError(str(error)) from None
    if isinstance(found, int):
        seconds = duration / 1e9 if duration else None
        count_attached(found, seconds, (interval or 0) / 1e9, despite_seccomp, json, wide)
        return
    attached_only({"--duration": duration, "--interval": interval, "--despite-seccomp": despite_seccomp})
    _show_running(found, json, wide)


def _sampling(
    mean_bytes: int | None, dump_above: int | None, dump_when: Sequence[str], room: int | None
) -> Sampling | None:
    if mean_bytes is None:
        if dump_above is not None or dump_when:
            option = "--dump-above" if dump_above is not None else "--dump-when"
            raise InputError(f"{option} needs --sample SIZE: it writes the samples")
        if room is not None:
            raise InputError("--room needs --sample SIZE: it limits the samples")
        return None
    if mean_bytes == 0:
        raise InputError("--sample takes a number of bytes above 0")
    room_bytes = _ROOM_BYTES if room is None else room
    if room_bytes < _LEAST_ROOM_BYTES:
        raise InputError("--room takes 1M or more")
    if max(mean_bytes, room_bytes) > _MOST_BYTES:
        raise InputError("--sample and --room take 1T or less")
    triggers, ends = make_triggers(dump_above, dump_when), ends_among(dump_when)
    dumper = Dumper(triggers, say, ends) if triggers or ends else None
    return Sampling(native_programs.find(), mean_bytes, room_bytes, dumper)


def _run(command: list[str], sampling: Sampling | None, interval_s: float, as_json: bool, wide: bool) -> int:
    intervals = Intervals()
    try:
        run = CountedRun(native_programs.find_library(), command, as_json, sampling, native_programs.find())
    except OSError as error:
        raise InputError(f"cannot start {command[0]}: {(error.strerror or str(error)).lower()}") from None
    code = run.wait(interval_s, intervals)
    counted = [one for one in run.pages() if one.page.calls]
    notes = run.notes()
    if not (counted or notes):
        notes.append(counted_run.why_nothing_was_counted())
    document = make_document(
        counted,
        intervals.records,
        notes,
        exit_code=code,
        wall_ns=run.wall_ns,
    )
    if as_json:
        print_json(document)
    else:
        _print(document, run.kept_of, wide)
    return code


def _print(document: dict[str, Any], kept_of: int, wide: bool) -> None:
    # On stderr: the program's own stdout stays as it is.
    console = make_console(wide, to_stderr=True)
    for note in document["notes"]:
        say(note)
    if not document["processes"]:
        return
    show.show_all(document, console)
    if kept_of:
        say(f"next: heapwright dump {kept_of} writes the samples, which are kept until then")
    else:
        say("next: heapwright record shows which call sites make these calls")


def _show_running(page: Page, as_json: bool, wide: bool) -> None:
    counted = Counted(page, True, seen_ns=time.monotonic_ns())
    if as_json:
        print_json(make_document([counted]))
        return
    show.show_process(describe(counted), make_console(wide))
    hint(f"heapwright top {page.process}")
