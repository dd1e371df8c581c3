# SPDX-License-Identifier: MIT
"""One program under one allocator: its output and what it used."""

import json
import os
import subprocess
from pathlib import Path

limit_s = 180
Figures = dict[str, float]


class RunFailedError(Exception):
    """The program failed, hung or could not be started."""


class Runner:
    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder

    def run(
        self, library: Path, command: list[str], extra: dict[str, str] | None = None
    ) -> tuple[str, Figures]:
        figures = self.folder / "figures.json"
        try:
            done = subprocess.run(
                [str(self.program), str(library), str(figures), *command],
                env={**os.environ, **(extra or {})},
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RunFailedError(f"{command[0]}: not done after {limit_s} s") from None
        if done.returncode != 0:
            raise RunFailedError(f"{command[0]}: exit code {done.returncode}: {done.stderr.strip()[-200:]}")
        return done.stdout, json.loads(figures.read_text(encoding="utf-8"))
