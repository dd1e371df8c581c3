# SPDX-License-Identifier: MIT
"""One program under one allocator: its output and what it used."""

import json
import os
from pathlib import Path

from heapwright.measure.program import run_program

limit_s = 180
Figures = dict[str, float]


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
