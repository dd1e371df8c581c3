# SPDX-License-Identifier: MIT
"""heapwright export --to trace: a trace with embedded symbol names, or hashes of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from heapwright.cli.arguments import open_trace
from heapwright.cli.errors import InputError
from heapwright.cli.output import check_is_no_input, check_output, hint, is_stdout, print_json, write_by_name
from heapwright.cli.progress import progress
from heapwright.cli.streams import say
from heapwright.model.copies import write_copy
from heapwright.report import units

_MOST_PROBLEMS = 3


def write_trace_copy(
    file: Path,
    output: Path | None,
    debug_root: Path | None,
    anonymize: bool,
    force: bool,
    as_json: bool,
    of_others: Mapping[str, object],
) -> None:
    """of_others: options that it excludes, by name."""
    for option, value in of_others.items():
        if value:
            raise InputError(f"{option} cannot be used with --to trace, which copies the whole recording")
    trace = open_trace(file, debug_root)
    own_name = "anonymous" if anonymize else f"{file.with_suffix('').name}.named"
    target = output or Path(f"{own_name}.heapwright")
    check_output(target, force)
    check_is_no_input(target, [file])
    if as_json and is_stdout(target):
        raise InputError("--json and --output - both write to standard output; name a file with --output")
    problems: list[str] = []
    with progress("copying") as report:
        size = write_by_name(
            target, force, lambda path: problems.extend(write_copy(trace, path, anonymize, report))
        )
    for line in problems[:_MOST_PROBLEMS]:
        say(f"names are missing: {line}")
    if as_json:
        document = {"schema": "heapwright.export/1", "format": "trace", "file": str(target), "bytes": size}
        print_json(document)
        return
    if is_stdout(target):
        say(f"standard output  {units.size(size)}")
        return
    sys.stdout.write(f"{target}  {units.size(size)}\n")
    hint(f"heapwright explain {target}")
