# SPDX-License-Identifier: MIT
"""Starts a program so that its own peak is known, and leaves none of its processes behind.

The kernel counts the memory of whoever starts a program into its peak: here a small shell that setsid leaves.
So the program's parent has ended and it becomes ours, as does all that it leaves behind.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from heapwright.measure.errors import MeasureError

# The variables are the program's alone: a preloaded allocator must not serve the shell.
_SCRIPT = (
    'out=$1; shift; echo $$; while [ "$1" != -- ]; do export "$1"; shift; done; shift; exec "$@" >"$out"'
)
_ADOPTS = 36  # PR_SET_CHILD_SUBREAPER


@contextmanager
def adopted() -> Iterator[None]:
    """What is started in the block becomes our child when its parent ends; at the end all are killed."""
    before = _children(os.getpid())
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_ADOPTS, 1, 0, 0, 0)
    try:
        yield
    finally:
        _end(before)
        library.prctl(_ADOPTS, 0, 0, 0, 0)


def start(
    command: Sequence[str],
    environment: Mapping[str, str],
    variables: Mapping[str, str],
    output: Path,
    errors: IO[bytes],
) -> int:
    """The process, which is our child inside adopted(). variables: on top of the environment."""
    words = ["setsid", "-f", "/bin/sh", "-c", _SCRIPT, "sh", str(output)]
    words += [*(f"{name}={value}" for name, value in variables.items()), "--", *command]
    try:
        with Path(_own_input()).open("rb") as given:
            starter = subprocess.Popen(
                words, env=environment, stdin=given, stdout=subprocess.PIPE, stderr=errors
            )
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise MeasureError(f"cannot start {command[0]} by setsid (of util-linux): {reason}") from None
    with starter:
        assert starter.stdout is not None
        line = starter.stdout.readline()
    if not line.strip().isdigit():
        raise MeasureError(f"cannot start {command[0]}: setsid did not start a shell")
    return int(line)


def _own_input() -> str:
    """A file is read from its begin by each run; of a pipe there is one copy, which none gets."""
    own = "/proc/self/fd/0"
    return own if Path(own).is_file() and os.access(own, os.R_OK) else os.devnull


def _children(process: int) -> set[int]:
    found: set[int] = set()
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                found |= {int(word) for word in (task / "children").read_text().split()}
    return found


def below(process: int) -> set[int]:
    """The processes that it and its children started, as far as their parents live."""
    found: set[int] = set()
    left = [process]
    while left:
        new = _children(left.pop()) - found
        found |= new
        left += new
    return found


def _end(kept: set[int]) -> None:
    """Kills our children but those: what they started becomes our child then, and comes next."""
    while more := _children(os.getpid()) - kept:
        for child in more:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in more:
            with suppress(ChildProcessError):
                os.waitpid(child, 0)
