# SPDX-License-Identifier: MIT
"""heapwright replay: what a recorded program would cost on other allocators and settings."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

import typer

from heapwright.cli import caveats, endings, native_programs, options, output, repeated_runs
from heapwright.cli.arguments import open_trace
from heapwright.cli.errors import InputError
from heapwright.cli.replayed_advice import advised_changes
from heapwright.cli.result_forms import Forms
from heapwright.cli.runs_progress import progress
from heapwright.cli.shelf import shelf_of_here
from heapwright.cli.streams import say
from heapwright.measure import own_folder
from heapwright.measure.allocators import REFERENCE, Shelf
from heapwright.measure.errors import MeasureError
from heapwright.model import Trace
from heapwright.replay import candidates, changes, page, plans, show
from heapwright.replay.figures import SCHEMA
from heapwright.replay.session import Session, Settings

PROGRAM = "heapwright-replay"
# Calls that --quick replays of a longer recording: a minute for five allocators if threads alternate often.
QUICK_CALLS = 2_000_000
On = Annotated[
    str,
    typer.Option(metavar="A,B,…", help="Allocators: names or paths of .so files. Default: all installed."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Add a candidate with these settings: glibc.arena_max=1."
    ),
]
Change = Annotated[
    list[str] | None,
    typer.Option(
        "--change",
        metavar="CHANGE@SITE,…",
        help="Change how these call sites allocate: arena@parse_line+reserve@append.",
    ),
]
Advice = Annotated[bool, typer.Option("--advice", help="Try each change that explain's advice proposes.")]
Search = Annotated[bool, typer.Option("--search", help="Also try a grid of settings for each allocator.")]
Runs = Annotated[int, typer.Option(metavar="N", help="Runs of each candidate in each order.")]
Idle = Annotated[
    float,
    typer.Option(
        metavar="TIME",
        click_type=options.SECONDS,
        help="Time after the last call for memory to be returned.",
    ),
]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Replay an incomplete recording, and note what that means.")
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick", help="One run of each, without waiting; only a window around the peak of a long recording."
    ),
]
Pace = Annotated[
    bool,
    typer.Option("--pace", help="Measure memory at the program's own speed. Default: in at most 10 seconds."),
]
NoPace = Annotated[bool, typer.Option("--no-pace", help="Measure memory as fast as possible.")]
Speed = Annotated[
    float | None,
    typer.Option(
        metavar="TIMES", help="Speed of the memory replay and --gaps relative to the program: 10, 0.5."
    ),
]
Gaps = Annotated[
    bool,
    typer.Option("--gaps", help="Also measure times with the program's gaps between calls."),
]
Sites = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Call sites to show that explain the difference in time (5); 0: do not measure.",
    ),
]
Latency = Annotated[
    bool,
    typer.Option("--latency", help="Show call latency by function and size, and at the call sites shown."),
]
Kernel = Annotated[
    bool,
    typer.Option("--kernel", help="Show page faults, context switches and system calls of each candidate."),
]
Spread = Annotated[bool, typer.Option("--spread", help="Show median, minimum and maximum of each figure.")]


def replay(
    file: options.File,
    on: On = "",
    set_: Set = None,
    change: Change = None,
    advice: Advice = False,
    search: Search = False,
    runs: Runs = 3,
    quick: Quick = False,
    idle: Idle = 1.0,
    pace: Pace = False,
    no_pace: NoPace = False,
    speed: Speed = None,
    gaps: Gaps = False,
    limit: options.Limit = 600.0,
    sites: Sites = None,
    latency: Latency = False,
    kernel: Kernel = False,
    spread: Spread = False,
    anyway: Anyway = False,
    json: options.Json = False,
    md: options.Markdown = False,
    html: options.Page = None,
    force: options.Force = False,
    wide: options.Wide = False,
) -> int:
    """Replay a recording's heap calls on every installed allocator."""
    settings = replace(_settings(runs, quick, idle, limit), is_timed=_is_timed(sites, latency))
    settings = _paced(settings, _is_paced(pace, no_pace), speed, gaps)
    shown = show.Shown(5 if sites is None else sites, latency, kernel, spread)
    forms = Forms(json, md, wide, html, force)
    forms.check()
    trace = open_trace(file)
    notes = _check(trace, anyway)
    program = native_programs.find(PROGRAM)
    texts = [*(change or []), *(advised_changes(trace) if advice else [])]
    try:
        shelf = shelf_of_here()
        wanted = [part for part in on.split(",") if part]
        asked = [changes.parse(text, trace) for text in dict.fromkeys(texts)]
        chosen = _chosen(shelf, trace, wanted, set_ or [], search, asked)
        chosen.notes.extend(notes)
        own_folder.remove_left()
        with endings.taken_back(), progress() as report:
            document = Session(program, trace, chosen, settings, asked).run(report)
    except MeasureError as error:
        raise InputError(str(error)) from None
    forms.show(
        {"schema": SCHEMA, **asdict(document)},
        lambda console: show.on_console(document, shown, console),
        lambda: show.as_markdown(document, shown),
        lambda: page.render(document, shown),
    )
    output.hint(show.next_command(document))
    lines = [*shelf.unusable, *show.failures(document)]
    for line in lines:
        say(f"heapwright: {line}")
    return 2 if lines else 0


def _chosen(
    shelf: Shelf, trace: Trace, on: list[str], sets: list[str], search: bool, asked: list[changes.Change]
) -> candidates.Chosen:
    """The candidates; with a change and no --on, only the recorded allocator."""
    is_alone = bool(asked) and not (on or sets or search)
    chosen = candidates.choose(shelf, trace.metadata, [REFERENCE] if is_alone else on, sets, search)
    if is_alone:
        chosen = replace(chosen, candidates=chosen.candidates[:1])
    return candidates.with_changes(chosen, [change.text for change in asked])


def _is_paced(pace: bool, no_pace: bool) -> bool | None:
    if pace and no_pace:
        raise InputError("--pace and --no-pace are mutually exclusive")
    return pace if pace or no_pace else None


def _paced(settings: Settings, pace: bool | None, speed: float | None, gaps: bool) -> Settings:
    settings = replace(settings, has_gaps=gaps)
    if speed is None:
        return settings if pace is None else replace(settings, is_paced=pace)
    if pace is False and not gaps:
        raise InputError("--speed and --no-pace are mutually exclusive")
    if not 0.001 <= speed <= 1000:
        raise InputError("--speed takes 0.001 to 1000")
    return replace(settings, is_paced=pace is not False, speed=speed)


def _settings(runs: int, quick: bool, idle: float, limit: float) -> Settings:
    repeated_runs.check(runs, limit)
    if not 0 <= idle <= 600:
        raise InputError("--idle takes seconds, up to 600")
    if quick:
        return Settings(1, limit, 0, is_paced=False, calls=QUICK_CALLS)
    return Settings(runs, limit, int(idle * 1000))


def _is_timed(sites: int | None, latency: bool) -> bool | None:
    if sites is not None and not 0 <= sites <= 1000:
        raise InputError("--sites takes 0 to 1000")
    if latency:
        return True
    return None if sites is None else sites > 0


def _check(trace: Trace, anyway: bool) -> list[str]:
    reasons = caveats.reasons_taken(trace, anyway, "cannot be replayed faithfully", "replays what there is")
    notes = [f"incomplete recording, figures may be far off: {reason}" for reason in reasons]
    page_bytes = trace.metadata.page_bytes
    if page_bytes == plans.PAGE_BYTES:
        return notes
    other = f"it was recorded with pages of {page_bytes} bytes, and replays use {plans.PAGE_BYTES}"
    if not anyway:
        raise InputError(f"{trace.path} cannot be replayed faithfully: {other} (--anyway replays it)")
    return [*notes, f"memory may be far off: {other}"]
