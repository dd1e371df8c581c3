# SPDX-License-Identifier: MIT
"""heapwright gate: checks a recording, or a program to record, against a budget file."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from heapwright.cli import budget_file, caveats, options, output, repeated_runs
from heapwright.cli.arguments import open_trace
from heapwright.cli.errors import InputError
from heapwright.cli.progress import progress
from heapwright.cli.result_forms import Forms
from heapwright.cli.streams import say
from heapwright.gate import budget as budgets
from heapwright.gate import document as documents
from heapwright.gate import reports, show
from heapwright.gate.accept import RUNS_OF_THREADS, wavers_with_threads
from heapwright.gate.measured import measure
from heapwright.model import Trace
from heapwright.model.session import name_of
from heapwright.model.wholeness import why_not_whole

OUTSIDE = 1
_ACCEPT_PROGRAM = "--accept … -- PROGRAM makes several"
Recording = Annotated[
    Path | None, typer.Argument(metavar="RECORDING", help="A trace written by heapwright record.")
]
Runs = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="With a program: number of runs; their median counts. Default: 1; with --accept and threads: 5.",
    ),
]
Keep = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="With a program: keep its recordings here.")
]
Toolchain = Annotated[str, typer.Option(metavar="NAME", help="Prefer the limits of [toolchain.NAME].")]
# Of incomplete recordings: why they are refused, what --anyway does, what it means.
_WORDS = ("proves nothing", "checks what there is")
_CONSEQUENCE = "its figures may be too low"

Accept = Annotated[bool, typer.Option("--accept", help="Write the measured figures into the budget file.")]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="With --accept: the reason, kept in the file.")]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Check an incomplete recording, and note what that means.")
]
Junit = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML.")]
Sarif = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write SARIF.")]


def gate(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="BUDGET", help="The budget file (docs/gate.md).")],
    recording: Recording = None,
    runs: Runs = None,
    limit: options.Limit = 600.0,
    keep: Keep = None,
    toolchain: Toolchain = "",
    accept: Accept = False,
    reason: Reason = "",
    anyway: Anyway = False,
    junit: Junit = None,
    sarif: Sarif = None,
    force: options.Force = False,
    debug_root: options.DebugRoot = None,
    json: options.Json = False,
    md: options.Markdown = False,
    wide: options.Wide = False,
) -> int:
    """Fail when a program's heap is outside its budget."""
    program: list[str] = context.obj or []
    forms = Forms(json, md, wide)
    forms.check()
    _check(recording, program, runs, limit, keep, accept, reason)
    _check_outputs(junit, sarif, force, [file] if recording is None else [file, recording])
    text = budget_file.read(file, accept)
    with ExitStack() as stack:
        try:
            budget = budget_file.parse(text, file, toolchain, accept)
            wavers = accept and wavers_with_threads(budget)
            snapshot = "end" if budgets.limits_lost_blocks(budget) else ""
            traces = _traces(
                recording, program, runs, wavers, limit, keep, anyway, snapshot, debug_root, stack
            )
            notes = _notes(traces, program, anyway, accept)
            with progress("reading calls") as report:
                measured = [measure(trace, budget, report) for trace in traces]
            for trace, one in zip(traces, measured, strict=True):
                reasons = caveats.reasons_found(trace, one.lost, anyway, *_WORDS, shlex.join(program))
                notes += caveats.incomplete(trace, reasons, _CONSEQUENCE)
            if accept:
                budget = budget_file.accept(file, text, budget, toolchain, reason, measured, traces)
        except budgets.BudgetError as error:
            raise InputError(f"{file}: {error}") from None
    recordings = tuple(trace.path for trace in traces)
    checked = documents.Checked(str(file), toolchain, name_of(traces[0]), recordings, tuple(notes))
    document = documents.make(checked, budget, measured)
    if junit is not None:
        output.write_text(junit, force, reports.junit(document))
    if sarif is not None:
        output.write_text(sarif, force, reports.sarif(document))
    forms.show(
        document, lambda console: show.on_console(document, console), lambda: show.as_markdown(document)
    )
    if accept:
        return 0
    output.hint(_next(document, program, keep, traces))
    return 0 if document["is_within"] else OUTSIDE


def _check(
    recording: Path | None,
    program: Sequence[str],
    runs: int | None,
    limit: float,
    keep: Path | None,
    accept: bool,
    reason: str,
) -> None:
    if (recording is None) == (not program):
        raise InputError(
            "gate takes a recording or a program: heapwright gate heap.toml -- PROGRAM [ARGUMENTS]"
        )
    repeated_runs.check(1 if runs is None else runs, limit)
    if recording is not None and (runs is not None or keep is not None):
        raise InputError("--runs and --keep need a program, not a recording")
    if accept != bool(reason.strip()):
        raise InputError("--accept and --reason need each other: --accept --reason 'a cache for the index'")


def _traces(
    recording: Path | None,
    program: Sequence[str],
    runs: int | None,
    wavers: bool,
    limit: float,
    keep: Path | None,
    anyway: bool,
    snapshot: str,
    debug_root: Path | None,
    stack: ExitStack,
) -> list[Trace]:
    """wavers: the accepted figures vary from run to run because of threads."""
    if recording is not None:
        found = [open_trace(recording, debug_root)]
        if wavers and len(found[0].threads) > 1:
            say(f"heapwright: one run does not show how much the peak varies; {_ACCEPT_PROGRAM}")
        return found
    folder = repeated_runs.folder_for(keep, stack)

    def run(number: int) -> Trace:
        file = repeated_runs.record_once(program, folder, f"run-{number + 1}", limit, anyway, snapshot)
        return open_trace(file, debug_root)

    found = [run(0)]
    if runs is None and wavers and len(found[0].threads) > 1:
        runs = RUNS_OF_THREADS
        say(f"heapwright: several threads: recording {runs} runs to see how much the peak varies (--runs)")
    return found + [run(number) for number in range(1, runs or 1)]


def _check_outputs(junit: Path | None, sarif: Path | None, force: bool, inputs: Sequence[Path]) -> None:
    for option, path in (("--junit", junit), ("--sarif", sarif)):
        if path is not None and str(path) == output.STDOUT:
            raise InputError(f"{option} - means standard output, where the result goes; name a file")
        if path is not None:
            output.check_is_no_input(path, inputs)
            output.check_output(path, force, option)
    if junit is not None and sarif is not None and junit.resolve() == sarif.resolve():
        raise InputError("--junit and --sarif name the same file; give each its own")


def _notes(traces: Sequence[Trace], program: Sequence[str], anyway: bool, accept: bool) -> list[str]:
    found = []
    command = shlex.join(program)
    for trace in traces:
        if accept and trace.metadata.sample_mean_bytes:
            raise InputError(f"{trace.path} is sampled and gives no limits; record without --sample")
        reasons = caveats.reasons_taken(trace, anyway, *_WORDS, command)
        found += caveats.notes_on(trace, reasons, _CONSEQUENCE)
    return found


def _next(
    document: dict[str, Any], program: Sequence[str], keep: Path | None, traces: Sequence[Trace]
) -> str:
    if program and keep is None:
        words = f"{document['budget']} --keep FOLDER -- {shlex.join(program)}"
        return f"heapwright gate {words}   (keeps the recording)"
    return show.next_command(document, is_whole=not any(map(why_not_whole, traces)))
