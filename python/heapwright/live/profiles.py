# SPDX-License-Identifier: MIT
"""Sampled stacks of processes that run under count --sample: the trace that their collector writes meanwhile.

What was written of a trace opens, and the collector keeps no event longer than a second or two, so a copy
of the file is the process's profile at that moment.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from heapwright.live.pages import FOLDER
from heapwright.live.processes import is_alive

# For heapwright-collect --output.
PATTERN = str(FOLDER / "heapwright-%p.profile")
# Of one process: sampling ends there, and explain says so.
MOST_BYTES = 64 << 20
# An image that an exec began has the next number.
_NAME = re.compile(r"heapwright-(\d{1,10})(?:\.(\d{1,6}))?\.profile")


class NoProfileError(Exception):
    """One line that says what to do."""


def sampled_processes() -> list[int]:
    """Those that live and have samples."""
    return sorted({process for process, _, _ in _files() if is_alive(process, 0)})


def copy_profile(process: int) -> bytes:
    """A trace of the process's sampled blocks up to now, without an end mark."""
    images = [(number, path) for found, number, path in _files() if found == process]
    if not images or not is_alive(process, 0):
        raise NoProfileError(
            f"process {process} has no samples; heapwright count --sample 512k -- PROGRAM starts one that has"
        )
    path = max(images)[1]
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise NoProfileError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    with os.fdopen(descriptor, "rb") as file:
        if not _is_ours(os.fstat(descriptor)):
            raise NoProfileError(f"{path} is not read: it is another user's, or no file")
        return file.read(2 * MOST_BYTES)


def remove_ended() -> None:
    """What processes that are gone left behind, where it is ours."""
    for process, _, path in _files():
        with suppress(OSError):
            if not is_alive(process, 0) and _is_ours(path.lstat()):
                path.unlink()


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and stat.S_ISREG(status.st_mode)


def _files() -> list[tuple[int, int, Path]]:
    """Process, number of its image, file."""
    try:
        paths = list(FOLDER.iterdir())
    except OSError:
        return []
    found = ((_NAME.fullmatch(path.name), path) for path in paths)
    return [(int(name[1]), int(name[2] or 1), path) for name, path in found if name]
