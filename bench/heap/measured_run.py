# SPDX-License-Identifier: MIT
"""One program under one allocator: its output and what it used."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from heapwright.measure.program import RunFailedError, run_program

limit_s = 180
Figures = dict[str, float]


@dataclass(frozen=True)
class Program:
    """A command; meanwhile: what is done while it runs, which also ends it.

    spins: its threads burn CPU time while they wait, so the wall time of its load stands for that.
    """

    command: list[str]
    variables: dict[str, str] = field(default_factory=dict)
    meanwhile: Callable[[], None] | None = None
    spins: bool = False


def installed(programs: dict[str, Program]) -> dict[str, Program]:
    """Those whose command this machine has."""
    return {name: program for name, program in programs.items() if shutil.which(program.command[0])}


class Runner:
    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder

    def run(
        self, library: Path, command: list[str], extra: dict[str, str] | None = None
    ) -> tuple[str, Figures]:
        """RunFailedError where the program hangs, crashes or fails."""
        figures = self.folder / "figures.json"
        measured = [str(self.program), str(library), str(figures), *command]
        output = run_program(measured, {**os.environ, **(extra or {})}, limit_s, self.folder)
        return output, json.loads(figures.read_text(encoding="utf-8"))

    def measure(self, library: Path, program: Program) -> Figures:
        """RunFailedError where the program or its load fails."""
        if program.meanwhile is None:
            return self.run(library, program.command, program.variables)[1]
        with ThreadPoolExecutor(1) as pool:
            run = pool.submit(self.run, library, program.command, program.variables)
            begun = time.monotonic()
            try:
                program.meanwhile()
            except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
                raise RunFailedError(f"{program.command[0]}: {error}") from None
            load_s = time.monotonic() - begun
            figures = run.result()[1]
        if program.spins:
            del figures["cpu_s"]
            figures["load_s"] = round(load_s, 4)
        return figures
