# SPDX-License-Identifier: MIT
"""heapwright run: records a program, then explains the recording."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from heapwright.cli import explain as explaining
from heapwright.cli import record as recording
from heapwright.cli.errors import InputError
from heapwright.cli.explain import explain_file, wanted_of
from heapwright.cli.explanation import ReportOptions
from heapwright.cli.output import hint, is_written_through
from heapwright.cli.record import collector_command, process_of, program_of
from heapwright.cli.recorded_files import files_of, main_file
from heapwright.cli.streams import give_up_output, say

Keep = Annotated[
    str, typer.Option("--output", "-o", metavar="PATTERN", help="Keep the trace: %p process id, %e program.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the explanation as JSON; the program's output goes to stderr.")
]

_NOT_HERE = ("context", "file", "quiet")  # the program is recorded, and quietly


def run(context: typer.Context, **given: Any) -> None:
    """Record a program, or a running process, then explain it."""
    wanted = wanted_of(given)
    if given["pid"] and context.args:
        raise InputError("--pid records a running process: omit the program")
    program = [] if given["pid"] else program_of(context, "run")
    output = given["output"]
    if output and is_written_through(Path(output)):
        raise InputError(
            f"run reads the trace back, which is not possible from {output}; use heapwright record"
        )
    options = {name: given[name] for name in signature(recording.record).parameters if name in given}
    if given["pid"]:
        options["pid"] = str(process_of(given["pid"]))
    with tempfile.TemporaryDirectory(prefix="heapwright-") as folder:
        pattern = output or str(Path(folder) / "%e.%p.heapwright")
        summary = Path(folder) / "summary.json"
        options |= {"output": pattern, "summary": str(summary), "quiet": True, "json": False}
        code = _wait_for(collector_command(options, program), wanted.as_json)
        files = files_of(summary)
        if not files:
            raise typer.Exit(code)
        try:
            _explain(files, wanted, given)
            sys.stdout.flush()
            if not (wanted.as_json or output):
                # Not as a command: it would need all options and arguments of this one.
                hint("add --output trace.heapwright to keep the trace")
        except BrokenPipeError:
            give_up_output()  # the reader (`| head`) is gone; the program's exit code still counts
    raise typer.Exit(code)


def _options() -> Signature:
    """The options of record and of explain."""
    both = dict(signature(recording.record, eval_str=True).parameters)
    both |= signature(explaining.explain, eval_str=True).parameters
    both["output"] = both["output"].replace(annotation=Keep)
    both["json"] = both["json"].replace(annotation=AsJson)
    both["wide"] = both.pop("wide")  # last, as everywhere
    kept = [parameter for name, parameter in both.items() if name not in _NOT_HERE]
    first = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    return Signature([first, *(one.replace(kind=Parameter.KEYWORD_ONLY) for one in kept)])


cast(Any, run).__signature__ = _options()  # what typer declares


def _explain(files: Sequence[dict[str, Any]], wanted: ReportOptions, given: Mapping[str, Any]) -> None:
    """Explains the main process, or --process, without hints: the trace may not be kept."""
    main = main_file(files)
    if given["process"]:
        named = [one for one in files if given["process"] in (str(one["process_id"]), _name_of(one))]
        if not named:
            names = ", ".join(sorted({_name_of(one) for one in files})[:5])
            raise InputError(f"--process {given['process']} was not recorded; known: {names}")
        main = main_file(named)
    explain_file(Path(main["path"]), wanted._replace(hints=False), {**given, "process": ""})
    if len(files) > 1 and not wanted.as_json:
        say(f"{len(files)} processes were recorded; this was {main['program']}")
    if given["output"] and not wanted.as_json:
        hint(f"heapwright explain {main['path']} --question slow_calls")


def _name_of(file: Mapping[str, Any]) -> str:
    return Path(file["program"]).name


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
