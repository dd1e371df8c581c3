# SPDX-License-Identifier: MIT
"""One run of a program: its output, or how it failed. Ends all processes that it started."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from heapwright.measure.errors import MeasureError

# The JSON object that a measuring program writes.
Output = dict[str, Any]


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
    return _output_of(_started(command, environment, folder), limit_s)


def _output_of(process: subprocess.Popen[str], limit_s: float) -> str:
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


def _started(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None
) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
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
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        advice = "; raise the limit (ulimit -n)" if error.errno in (errno.EMFILE, errno.ENFILE) else ""
        raise MeasureError(f"cannot start {command[0]}: {reason}{advice}") from None


def run_for_document(command: Sequence[str], environment: Mapping[str, str], limit_s: float) -> Output:
    """The JSON object that is all the program writes; RunFailedError.

    A library that is loaded with the program can end it early, or write among its words.
    """
    return _document_of(run_program(command, environment, limit_s))


def run_both_for_documents(
    starts: Sequence[tuple[Sequence[str], Mapping[str, str]]], limit_s: float
) -> list[Output | RunFailedError]:
    """The same for a few commands with their environments that run at the same time."""
    processes: list[subprocess.Popen[str]] = []
    end_s = time.monotonic() + limit_s
    found: list[Output | RunFailedError] = []
    try:
        for command, environment in starts:
            processes.append(_started(command, environment, None))
        for process in processes:
            try:
                found.append(_document_of(_output_of(process, max(0.0, end_s - time.monotonic()))))
            except RunFailedError as failure:
                found.append(failure)
    except BaseException:
        for process in processes:
            _end(process)
        raise
    return found


def _document_of(text: str) -> Output:
    if not text.strip():
        raise RunFailedError("ended early: exit code 0 without a result", 0)
    try:
        document: Output = json.loads(text)
    except ValueError:
        raise RunFailedError(f"its output is not a result: {_printable(text)}", 0) from None
    return document


def _printable(text: str) -> str:
    """Its first words, as they may stand in a terminal."""
    return "".join(one if one.isprintable() else " " for one in text.strip()[:60])


def _end(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):  # it may just have ended
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
