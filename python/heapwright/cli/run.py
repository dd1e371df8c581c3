# SPDX-License-Identifier: MIT
"""heapwright run: records a program, then explains the recording."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from heapwright.cli import record as recording
from heapwright.cli.arguments import open_trace
from heapwright.cli.errors import InputError
from heapwright.cli.explain import All, Check, Questions, Top
from heapwright.cli.explanation import explain_trace, make_report_options
from heapwright.cli.options import Wide
from heapwright.cli.output import hint, is_written_through
from heapwright.cli.record import collector_command, program_of
from heapwright.cli.recorded_files import files_of, main_file
from heapwright.cli.streams import give_up_output, say
from heapwright.model import Filter, SiteOptions

Keep = Annotated[
    str, typer.Option("--output", "-o", metavar="PATTERN", help="Keep the trace: %p process id, %e program.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the explanation as JSON; the program's output goes to stderr.")
]

_NOT_RECORDING = ("context", "output", "all_", "check", "json", "wide")


def run(
    context: typer.Context,
    output: Keep = "",
    force: recording.Force = False,
    children: recording.Children = False,
    free_stacks: recording.FreeStacks = False,
    no_durations: recording.NoDurations = False,
    max_frames: recording.MaxFrames = "",
    sample: recording.Sample = "",
    max_size: recording.MaxSize = "",
    duration: recording.Duration = "",
    keep_arguments: recording.KeepArguments = False,
    no_residency: recording.NoResidency = False,
    no_kernel_events: recording.NoKernelEvents = False,
    no_settings: recording.NoSettings = False,
    top: Top = None,
    question: Questions = None,
    all_: All = False,
    check: Check = None,
    json: AsJson = False,
    wide: Wide = False,
) -> None:
    """Record a program, then explain it."""
    options: dict[str, str | bool] = {
        name: value
        for name, value in locals().items()
        if name not in ("context", "output", "all_", "check", "json", "wide")
        and isinstance(value, str | bool)
    }
    wanted = make_report_options(top, question or [], json, wide, is_whole=all_)
    wanted = wanted._replace(is_checked=check, hints=False)
    program = program_of(context, "run")
    if output and is_written_through(Path(output)):
        raise InputError(
            f"run reads the trace back, which is not possible from {output}; use heapwright record"
        )
    with tempfile.TemporaryDirectory(prefix="heapwright-") as folder:
        pattern = output or str(Path(folder) / "%e.%p.heapwright")
        summary = Path(folder) / "summary.json"
        extra: dict[str, str | bool] = {"output": pattern, "summary": str(summary), "quiet": True}
        code = _wait_for(collector_command({**options, **extra}, program), json)
        files = files_of(summary)
        if not files:
            raise typer.Exit(code)
        main = main_file(files)
        try:
            explain_trace(open_trace(Path(main["path"])), Filter(), SiteOptions(), wanted)
            sys.stdout.flush()
            _say_next(files, main, output, program, json)
        except BrokenPipeError:
            give_up_output()  # the reader (`| head`) is gone; the program's exit code still counts
    raise typer.Exit(code)


def _wait_for(command: Sequence[str], program_to_stderr: bool) -> int:
    # Ctrl-C is for the program; the collector passes its exit status on. A
    # handler, because an ignored signal would stay ignored in the program.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(
            command, check=False, stdout=sys.stderr if program_to_stderr else None
        ).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def _say_next(
    files: Sequence[dict[str, Any]], main: dict[str, Any], output: str, program: Sequence[str], as_json: bool
) -> None:
    if as_json:
        return
    if len(files) > 1:
        say(f"{len(files)} processes were recorded; this was {main['program']}")
    if output:
        hint(f"heapwright explain {main['path']} --question slow_calls")
    else:
        hint(f"heapwright run --output trace.heapwright -- {program[0]}   (keeps the trace)")
