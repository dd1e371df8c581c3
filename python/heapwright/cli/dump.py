# SPDX-License-Identifier: MIT
"""heapwright dump: writes the samples of a process under count --sample so far, or to its end, as a trace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from heapwright.cli.errors import InputError
from heapwright.cli.options import Force
from heapwright.cli.output import check_output, hint, is_stdout, write_file
from heapwright.cli.streams import say
from heapwright.live.kept_samples import Samples, samples_of
from heapwright.live.page import PageError
from heapwright.live.profiles import NoProfileError, copy_profile, opened_whole
from heapwright.report import units

Wanted = Annotated[
    str, typer.Argument(metavar="PID|NAME", help="A process under count --sample, also one that ended.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: PID.heapwright."),
]


def dump(process: Wanted, output: Output = None, force: Force = False) -> None:
    """Write what a process under count --sample has allocated so far, or did up to its end."""
    try:
        samples = samples_of(process)
        target = output or Path(f"{samples.process}.heapwright")
        check_output(target, force)
        size = _write(samples, target, force)
    except (NoProfileError, PageError) as error:
        raise InputError(str(error)) from None
    if samples.kept:
        samples.kept.unlink(missing_ok=True)  # it is memory
        say(f"process {samples.process} has ended: its kept samples are removed from {samples.kept.parent}")
    if is_stdout(target):
        say(f"standard output  {units.size(size)}")
        return
    sys.stdout.write(f"{target}  {units.size(size)}\n")
    hint(f"heapwright explain {target}")


def _write(samples: Samples, target: Path, force: bool) -> int:
    if samples.kept:
        with opened_whole(samples.kept) as profile:
            return write_file(target, force, profile.copy_to)
    text = copy_profile(samples.process)

    def write(out: BinaryIO) -> None:
        out.write(text)

    return write_file(target, force, write)
