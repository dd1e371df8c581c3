# SPDX-License-Identifier: MIT
"""heapwright keep: writes remedies for call sites, which libheapwright-apply.so applies."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from heapwright.apply.remedy_file import RemedyError, RemedyFile
from heapwright.cli import native_programs, options
from heapwright.cli.arguments import open_trace
from heapwright.cli.errors import InputError
from heapwright.cli.output import check_is_no_input, check_output, hint, is_stdout, write_text
from heapwright.measure.errors import MeasureError
from heapwright.replay.remedy import parse
from heapwright.report import units

Wanted = Annotated[
    list[str],
    typer.Option(
        "--remedy",
        metavar="CHANGE@SITE,…",
        help="What to do, and at which call site: segregate@session, reuse@load, defer@table; trim:MS, "
        "skip-frees-at-exit.",
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write.")]


def keep(
    file: options.File,
    remedy: Wanted,
    output: Output = Path("remedy.toml"),
    debug_root: options.DebugRoot = None,
    force: options.Force = False,
) -> None:
    """Write remedies for a preloaded library to apply."""
    check_output(output, force)
    check_is_no_input(output, [file])
    library = native_programs.find_library(native_programs.APPLIER)
    trace = open_trace(file, debug_root)
    kept = RemedyFile(trace)
    try:
        for text in remedy:
            for change, value in _applied(text):
                kept.add(change, value)
    except (RemedyError, MeasureError) as error:
        raise InputError(str(error)) from None
    write_text(output, force, kept.text())
    if is_stdout(output):
        return
    for one in kept.remedies:
        ways = f"  {units.counted(len(one.stacks), 'way')} to call in {', '.join(kept.modules_of(one))}"
        sites = len(one.places)
        ways = f"  {units.counted(sites, 'call site')},{ways[1:]}" if sites > 1 else ways
        sys.stdout.write(f"{output}  {one}{ways if one.stacks else ''}\n")
        sys.stdout.write(f"  or in code: {one.in_code}\n")
    program = shlex.quote(trace.metadata.started_as)
    hint(f"HEAPWRIGHT_APPLY={shlex.quote(str(output.resolve()))} LD_PRELOAD={library} {program}")


def _applied(text: str) -> list[tuple[str, str]]:
    remedy = parse(text)
    if remedy.on or remedy.settings:
        raise InputError(f"{text}: set: and on: need no file; heapwright try --remedy says how to keep them")
    return remedy.applied
