# SPDX-License-Identifier: MIT
"""heapwright dump: writes the samples of a process under count --sample so far as a trace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from heapwright.cli.errors import InputError
from heapwright.cli.options import Force
from heapwright.cli.output import check_output, hint, is_stdout, write_file
from heapwright.cli.record import process_of
from heapwright.cli.streams import say
from heapwright.live.profiles import NoProfileError, copy_profile
from heapwright.report import units

Wanted = Annotated[str, typer.Argument(metavar="PID|NAME", help="A process under count --sample.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: PID.heapwright."),
]


def dump(process: Wanted, output: Output = None, force: Force = False) -> None:
    """Write what a process under count --sample has allocated so far."""
    number = process_of(process)
    target = output or Path(f"{number}.heapwright")
    check_output(target, force)
    try:
        text = copy_profile(number)
    except NoProfileError as error:
        raise InputError(str(error)) from None

    def write(out: BinaryIO) -> None:
        out.write(text)

    size = write_file(target, force, write)
    if is_stdout(target):
        say(f"standard output  {units.size(size)}")
        return
    sys.stdout.write(f"{target}  {units.size(size)}\n")
    hint(f"heapwright explain {target}")
