# SPDX-License-Identifier: MIT
"""heapwright replay: what a recorded program would take on other allocators and settings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from heapwright.cli import native_programs, options, output
from heapwright.cli.arguments import open_trace
from heapwright.cli.errors import InputError
from heapwright.cli.runs_progress import progress
from heapwright.cli.streams import say
from heapwright.measure.allocators import Shelf
from heapwright.measure.errors import MeasureError
from heapwright.model import Trace
from heapwright.replay import candidates, show
from heapwright.replay.session import Session, Settings, why_not

PROGRAM = "heapwright-replay"
On = Annotated[
    str,
    typer.Option(
        metavar="A,B,…", help="Allocators by name, or paths of .so files; all that are here if not given."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="One more candidate with these settings: glibc.arena_max=1."
    ),
]
Search = Annotated[bool, typer.Option("--search", help="Try a grid of settings for each allocator as well.")]
Runs = Annotated[int, typer.Option(metavar="N", help="Runs of each candidate in each order.")]
Limit = Annotated[float, typer.Option(metavar="SECONDS", help="A run that takes longer counts as hung.")]
Idle = Annotated[
    float,
    typer.Option(metavar="SECONDS", help="How long to wait behind the last call for memory to go back."),
]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Replay a recording that is not whole, and say what that means.")
]
Quick = Annotated[bool, typer.Option("--quick", help="One run of each, without waiting: ranks nothing.")]
Pace = Annotated[
    bool | None,
    typer.Option(
        "--pace/--no-pace", help="Replay memory as slowly as the program ran; by default up to 10 seconds."
    ),
]
Markdown = Annotated[bool, typer.Option("--md", help="Print Markdown instead.")]


def replay(
    file: options.File,
    on: On = "",
    set_: Set = None,
    search: Search = False,
    runs: Runs = 3,
    quick: Quick = False,
    idle: Idle = 1.0,
    pace: Pace = None,
    limit: Limit = 600.0,
    anyway: Anyway = False,
    json: options.Json = False,
    md: Markdown = False,
    wide: options.Wide = False,
) -> int:
    """Replay a recording's heap calls on every allocator that is here."""
    settings = _settings(runs, quick, idle, limit, pace)
    if json and md:
        raise InputError("--json and --md both mean standard output; choose one")
    trace = open_trace(file)
    caveats = _check(trace, anyway)
    program = native_programs.find(PROGRAM)
    try:
        shelf = _shelf()
        wanted = [part for part in on.split(",") if part]
        chosen = candidates.choose(shelf, trace.metadata, wanted, set_ or [], search)
        chosen.notes.extend(caveats)
        with progress() as report:
            document = Session(program, trace, chosen, settings).run(report)
    except MeasureError as error:
        raise InputError(str(error)) from None
    if json:
        output.print_json(document)
    elif md:
        sys.stdout.write(show.as_markdown(document))
    else:
        show.on_console(document, output.make_console(wide))
    output.hint(show.next_command(document))
    lines = [*shelf.unusable, *show.failures(document)]
    for line in lines:
        say(f"heapwright: {line}")
    return 2 if lines else 0


def _settings(runs: int, quick: bool, idle: float, limit: float, pace: bool | None) -> Settings:
    if not 1 <= runs <= 100:
        raise InputError("--runs takes 1 to 100")
    if not 0 <= idle <= 600:
        raise InputError("--idle takes seconds, up to 600")
    if not 0 < limit <= 86400:
        raise InputError("--limit takes seconds, above 0 and up to 86400")
    return Settings(1, limit, 0, pace or False) if quick else Settings(runs, limit, int(idle * 1000), pace)


def _check(trace: Trace, anyway: bool) -> list[str]:
    reasons = why_not(trace)
    if reasons and not anyway:
        raise InputError(
            f"{trace.path} cannot be replayed truly: {reasons[0]} (--anyway replays what there is)"
        )
    return [f"not a whole recording, figures may be far off: {reason}" for reason in reasons]


def _shelf() -> Shelf:
    lab = native_programs.find("heapwright-lab")
    build = lab.parent.parent
    built = Path.cwd() / "build"
    return Shelf(lab, [build, build.parent, built / "release", built])
