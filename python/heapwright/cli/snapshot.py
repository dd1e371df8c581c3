# SPDX-License-Identifier: MIT
"""heapwright snapshot: has the collector of a recorded process look at who holds which block, now."""

from __future__ import annotations

import json as json_format
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from heapwright.cli import native_programs, options
from heapwright.cli.errors import InputError
from heapwright.cli.output import hint, print_json
from heapwright.cli.record import process_of
from heapwright.live import pages
from heapwright.report import units

Wanted = Annotated[
    str, typer.Argument(metavar="PID|NAME", help="A process that is being recorded, or counted with samples.")
]
_OWN_NAME = "heapwright: "


def snapshot(process: Wanted, json: options.Json = False) -> None:
    """Look at who holds which block of a process that is being recorded; it stands still for a moment."""
    number = process_of(process)
    asked = [str(native_programs.find()), "--snapshot-of", str(number)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InputError(done.stderr.strip().removeprefix(_OWN_NAME))
    taken: dict[str, Any] = json_format.loads(done.stdout)
    if json:
        print_json({"schema": "heapwright.snapshot/1", **taken})
        return
    sys.stdout.write(
        f"{process}: {units.size(taken['bytes'])} in {units.counted(taken['blocks'], 'block')}; "
        f"it stood still for {units.duration(taken['stopped_ns'])}\n"
    )
    if Path(taken["trace"]).parent == pages.FOLDER:  # gone when the process has ended
        hint(f"heapwright dump {number}; heapwright explain {number}.heapwright --question held")
    elif taken["trace"]:
        hint(f"heapwright explain {taken['trace']} --question held")
