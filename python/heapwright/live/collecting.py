# SPDX-License-Identifier: MIT
"""A server that takes the pages of ended processes: a pipe in /dev/shm that it reads, and nobody writes.

Programs, and what else removes pages, see by opening it whether somebody reads (src/counters/collected.hpp).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_FOLDER = Path("/dev/shm")
_ROOT = 0


def pipe_of(user: int) -> Path:
    """Where the server of a user has it."""
    return _FOLDER / f"heapwright-{'root' if user == _ROOT else user}.serve"


def is_collected() -> bool:
    """Whether a server of this user, or of root, takes pages."""
    user = os.geteuid()
    return any(_has_reader(pipe_of(owner), owner) for owner in {user, _ROOT})


def _has_reader(pipe: Path, owner: int) -> bool:
    try:
        file = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    status = os.fstat(file)
    os.close(file)
    return stat.S_ISFIFO(status.st_mode) and status.st_uid == owner


class Collecting:
    """Programs leave their pages while this lives; root takes those of all users."""

    def __init__(self) -> None:
        """OSError: it cannot be made. FileExistsError: another server takes them."""
        user = os.geteuid()
        self._pipe = pipe_of(user)
        if _has_reader(self._pipe, user):
            raise FileExistsError
        self._pipe.unlink(missing_ok=True)  # of one that was killed
        os.mkfifo(self._pipe, 0o600)
        if user == _ROOT:
            self._pipe.chmod(0o622)
        self._file = os.open(self._pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)

    def end(self) -> None:
        """Pages are removed by programs again."""
        self._pipe.unlink(missing_ok=True)
        os.close(self._file)
