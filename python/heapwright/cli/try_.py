# SPDX-License-Identifier: MIT
"""heapwright try: remedies that need no source, applied to the real program and measured there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from heapwright import explain as explaining
from heapwright.cli import endings, judge, options, output, repeated_runs, tried_remedies
from heapwright.cli.arguments import one_of, open_trace
from heapwright.cli.counted_calls import CountedCalls
from heapwright.cli.errors import InputError
from heapwright.cli.explanation import ReportOptions, make_report
from heapwright.cli.result_forms import Forms
from heapwright.cli.runs_progress import progress
from heapwright.cli.shelf import shelf_of_here
from heapwright.cli.streams import say
from heapwright.explain import replayed as replays
from heapwright.measure import own_folder, program_file
from heapwright.measure.errors import MeasureError
from heapwright.model import Filter, SiteOptions
from heapwright.replay import remedy as remedies
from heapwright.trial import document as documents
from heapwright.trial import session, show
from heapwright.trial.run import Plan, Way

_BETTER = {"more": True, "less": False}

Recording = Annotated[
    Path | None, typer.Argument(metavar="[FILE]", help="A trace of the program.", show_default=False)
]
Remedies = Annotated[
    list[str] | None,
    typer.Option(
        "--remedy",
        metavar="REMEDY",
        help="set:glibc.arena_max=1, on:jemalloc, segregate@SITE, reuse@SITE, defer@SITE, trim:MS, "
        "skip-frees-at-exit, or several joined by +. Repeatable. Default: what explain ranks for FILE and "
        "needs no source.",
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(metavar="N", help="Runs of each; 1 or 2 tell nothing.  [default: 3 to 7, by their time]"),
]
While = Annotated[
    str,
    typer.Option(
        "--while", metavar="COMMAND", help="The program is a server: start it, run this load, stop it."
    ),
]
Ready = Annotated[
    str,
    typer.Option(metavar="COMMAND", help="With --while: repeat this until it succeeds before the load."),
]
Metric = Annotated[
    str,
    typer.Option(
        metavar="COMMAND",
        help="Read the output of the load, or of the program, and print your own figure: one number, with "
        "its unit if it has one, on the last line.",
    ),
]
Better = Annotated[
    str,
    typer.Option(metavar="more|less", help="Which --metric is better, if its unit does not tell."),
]
SameOutput = Annotated[
    bool,
    typer.Option("--same-output", help="Compare what the program writes, and its exit code, in all runs."),
]
Check = Annotated[
    bool,
    typer.Option(
        "--check",
        help="First run each remedy once while our heap checks its blocks for misuse; with --same-output.",
    ),
]
Idle = Annotated[
    float,
    typer.Option(
        metavar="TIME",
        click_type=options.SECONDS,
        help="With --while: time after the load for memory to be returned.",
    ),
]
Unchecked = Annotated[bool, typer.Option("--unchecked", help="Do not ask a replay what it says of these.")]


def try_(
    context: typer.Context,
    file: Recording = None,
    remedy: Remedies = None,
    runs: Runs = None,
    while_: While = "",
    ready: Ready = "",
    metric: Metric = "",
    better: Better = "",
    same_output: SameOutput = False,
    check: Check = False,
    idle: Idle = 1.0,
    limit: options.Limit = 600.0,
    unchecked: Unchecked = False,
    json: options.Json = False,
    md: options.Markdown = False,
    wide: options.Wide = False,
) -> int:
    """Apply remedies that need no source to the real program, and measure what they do."""
    program: list[str] = context.obj or []
    forms = Forms(json, md, wide)
    forms.check()
    _check(file, program, remedy or [], while_, {"--ready": ready})
    repeated_runs.check(1 if runs is None else runs, limit)
    more_is_better = _BETTER[one_of("value of --better", better, _BETTER)] if better else None
    environment = dict(os.environ)
    plan = Plan(program, environment, while_, ready, metric, idle, limit, same_output or check)
    try:
        program_file.found(program[0])
        wanted, said = _wanted(file, remedy or [], program, unchecked)
        _check_preloaded(program[0], wanted)
        own_folder.remove_left()
        with endings.taken_back(), progress() as report:
            tried = session.try_all(
                plan,
                wanted,
                runs or 0,
                more_is_better,
                report,
                counter=_counter(program[0]),
                is_checked=check,
            )
    except MeasureError as error:
        raise InputError(str(error)) from None
    if not any(arm.runs for arm in tried.arms):
        raise KeyboardInterrupt
    document = documents.make(tried, said)
    forms.show(
        document, lambda console: show.on_console(document, console), lambda: show.as_markdown(document)
    )
    if not tried.is_whole:
        raise KeyboardInterrupt
    output.hint(show.next_command(document))
    failures = [row for row in document["remedies"] if row["failure"]]
    for row in failures:
        say(f"heapwright: {program[0]} with {row['remedy']} {row['failure']}")
    return 2 if failures else 0


def _check(
    file: Path | None, program: Sequence[str], named: Sequence[str], load: str, of_load: dict[str, str]
) -> None:
    if not program:
        raise InputError("try needs a program: heapwright try FILE -- PROGRAM [ARGUMENTS]")
    if file is None and not named:
        raise InputError(
            "try needs a recording that says what to try, or a remedy: --remedy set:glibc.arena_max=1"
        )
    for option, value in of_load.items():
        if value and not load:
            raise InputError(f"{option} needs --while, the load of a server")


def _check_preloaded(program: str, ways: Sequence[Way]) -> None:
    """Settings reach any program that is not privileged, preloaded libraries only one with a loader."""
    why = program_file.why_not_preloaded(program_file.found(program))
    if why and (any("LD_PRELOAD" in way.variables for way in ways) or "statically" not in why):
        raise MeasureError(why)


def _counter(program: str) -> CountedCalls | None:
    return None if program_file.why_not_preloaded(program_file.found(program)) else CountedCalls()


def _wanted(
    file: Path | None, named: Sequence[str], program: Sequence[str], unchecked: bool
) -> tuple[list[Way], documents.Said]:
    """The ways to run it, and what is known of them."""
    asked = [judge.Wanted(one.text, one) for one in map(remedies.parse, dict.fromkeys(named))]
    shelf = shelf_of_here()
    if file is None:
        return [tried_remedies.way_of(one.remedy, shelf) for one in asked], documents.Said()
    trace = open_trace(file)
    report = _report(trace)
    notes = _about_other_program(trace.metadata.program, program[0])
    if not named:
        asked, found = tried_remedies.of_recording(report)
        notes += found
    ways: dict[remedies.Remedy, Way] = {}
    for one in asked:
        try:
            ways[one.remedy] = tried_remedies.way_of(one.remedy, shelf, trace)
        except MeasureError as error:
            if named:
                raise
            notes.append(f"not tried: {error}")
    replayed: dict[str, Any] = {}
    if not unchecked:
        said, why = tried_remedies.replayed(report, asked, is_ranked=not named)
        replayed = {text: replays.records(figures) for text, figures in said.items()}
        notes += [f"no replay says anything of these: {why}"] if why else []
    return list(ways.values()), documents.Said(str(trace.path), replayed, notes)


def _report(trace: Any) -> explaining.Report:
    chosen, sites = Filter(), SiteOptions()
    trace.symbols()
    return make_report(trace, trace.begin_facts(chosen, sites), chosen, sites, ReportOptions())


def _about_other_program(recorded: str, program: str) -> list[str]:
    tried = Path(program_file.found(program)).resolve()
    if not recorded or Path(recorded).resolve() == tried or Path(recorded).name == tried.name:
        return []
    return [f"the recording is of {recorded}, and {program} is tried"]
