# SPDX-License-Identifier: MIT
"""One run of a program: its output, or how it failed. Whatever it started ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class RunFailedError(Exception):
    """The program hung (code is None), crashed (below 0: the signal) or failed; line: the last it said."""

    def __init__(self, text: str, code: int | None = None, line: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.line = line

    @property
    def has_hung(self) -> bool:
        """It was ended at the limit."""
        return self.code is None


def run_program(
    command: Sequence[str], environment: Mapping[str, str], limit_s: float, folder: Path | None = None
) -> str:
    """What the program writes to standard output, started in the folder; RunFailedError."""
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        _end(process)
        raise RunFailedError(f"hung: no end after {limit_s:g} s") from None
    except BaseException:
        _end(process)
        raise
    code = process.returncode
    line = next(iter(reversed(errors.strip().splitlines())), "")
    if code < 0:
        why = " (too little memory?)" if code == -signal.SIGKILL else ""
        raise RunFailedError(f"crashed: {signal.Signals(-code).name}{why}", code, line)
    if code > 0:
        raise RunFailedError(f"failed: {line or f'exit code {code}'}", code, line)
    return output


def _end(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
