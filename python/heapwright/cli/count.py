# SPDX-License-Identifier: MIT
"""heapwright count: run a program with counting, or read the counters of one that counts already."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from heapwright.cli import native_programs
from heapwright.cli.arguments import parse_time
from heapwright.cli.errors import InputError
from heapwright.cli.options import Wide
from heapwright.cli.output import hint, make_console, print_json
from heapwright.cli.streams import say
from heapwright.live import counted_run, figures, show
from heapwright.live.choice import choose
from heapwright.live.counted_run import Counted, CountedRun
from heapwright.live.page import Calls, PageError
from heapwright.report import units

SCHEMA = "heapwright.count/1"
_LEAST_INTERVAL_NS = 10**8

Interval = Annotated[
    str, typer.Option(metavar="TIME", help="While the program runs, say on stderr so often what it does.")
]
Pid = Annotated[
    str, typer.Option("--pid", metavar="PID|NAME", help="Read the counters of a process that has some.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; the program's own output moves to stderr.")]


def count(
    context: typer.Context, interval: Interval = "", pid: Pid = "", json: AsJson = False, wide: Wide = False
) -> None:
    """Count a program's heap calls on any allocator."""
    if pid:
        if context.args or interval:
            raise InputError("--pid reads counters once: leave the program and --interval away")
        _show_running(pid, json, wide)
        return
    if not context.args:
        raise InputError("name a program: heapwright count -- PROGRAM [ARGUMENTS]; or a process by --pid")
    interval_ns = parse_time("--interval", interval) if interval else 0
    if interval and interval_ns < _LEAST_INTERVAL_NS:
        raise InputError("--interval takes a tenth of a second or more")
    raise typer.Exit(_run(list(context.args), interval_ns / 1e9, json, wide))


def _run(command: list[str], interval_s: float, as_json: bool, wide: bool) -> int:
    watch = _Watch()
    try:
        run = CountedRun(native_programs.find_library(), command, as_json)
    except OSError as error:
        raise InputError(f"cannot start {command[0]}: {(error.strerror or str(error)).lower()}") from None
    code = run.wait(interval_s, watch)
    counted = run.pages()
    document = {
        "schema": SCHEMA,
        "exit_code": code,
        "wall_ns": run.wall_ns,
        "processes": [_describe(one) for one in counted if one.page.calls],
        "intervals": watch.intervals,
        "notes": [] if counted else [counted_run.why_nothing_was_counted()],
    }
    if as_json:
        print_json(document)
    else:
        _print(document, wide)
    return code


class _Watch:
    """What went on in each interval, of all processes together."""

    def __init__(self) -> None:
        self.intervals: list[dict[str, Any]] = []
        self._last = {"time_ns": 0, "calls": 0, "requested_bytes": 0}

    def __call__(self, run: CountedRun) -> None:
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
        record = {
            "time_ns": now["time_ns"],
            "calls_per_s": round((now["calls"] - self._last["calls"]) / took_s, 1),
            "requested_bytes_per_s": round(more_bytes / took_s, 1),
            "live_bytes": sum(figures.live_bytes(calls) or 0 for calls in known),
            "processes": len(living),
        }
        self._last = now
        self.intervals.append(record)
        say(
            f"{units.duration(record['time_ns'])}: {units.count(round(record['calls_per_s']))} calls/s, "
            f"{units.rate(record['requested_bytes_per_s'])} requested, "
            f"{units.size(record['live_bytes'])} live in {units.counted(len(living), 'process', 'processes')}"
        )


def _describe(counted: Counted) -> dict[str, Any]:
    calls = counted.page.calls
    assert calls is not None
    return {
        "process": counted.page.process,
        "generation": counted.page.generation,
        "is_running": counted.is_running,
        "wall_ns": _wall_ns(calls, counted.is_running),
        **figures.describe(calls),
    }


def _wall_ns(calls: Calls, is_running: bool) -> int | None:
    """None: it ended in a way that noted no moment."""
    if is_running:
        return time.monotonic_ns() - calls.started_ns
    return calls.ended_ns - calls.started_ns if calls.ended_ns else None


def _print(document: dict[str, Any], wide: bool) -> None:
    # On stderr, beside the program's own output: that stays as it is.
    console = make_console(wide, to_stderr=True)
    for note in document["notes"]:
        say(note)
    processes = document["processes"]
    if not processes:
        return
    if len(processes) > 1:
        show.show_processes(processes, console)
        console.print()
    show.show_process(max(processes, key=lambda record: sum(record["calls"].values())), console)
    say("next: heapwright record tells which call sites these are of")


def _show_running(wanted: str, as_json: bool, wide: bool) -> None:
    try:
        page = choose(wanted)
    except PageError as error:
        raise InputError(str(error)) from None
    if page.calls is None:
        raise InputError(
            f"process {page.process} counts no calls, only its heap does; see heapwright top {page.process}"
        )
    record = _describe(Counted(page, True))
    if as_json:
        print_json({"schema": SCHEMA, "processes": [record]})
        return
    show.show_process(record, make_console(wide))
    hint(f"heapwright top {page.process}")
