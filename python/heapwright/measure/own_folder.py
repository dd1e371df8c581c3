# SPDX-License-Identifier: MIT
"""Temporary folders of commands that run for long, and those left by killed ones.

A process that uses such a folder holds a lock on a file in it until it exits.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_KINDS = ("replay", "try")
_OWNER = "owner"


@contextmanager
def own_folder(kind: str) -> Iterator[Path]:
    """An empty folder, removed after the block. kind: replay or try."""
    with ExitStack() as stack:
        folder = tempfile.TemporaryDirectory(prefix=_prefix(kind))
        lock = os.open(Path(folder.name) / "new", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        stack.callback(os.close, lock)
        stack.callback(folder.cleanup)
        with suppress(OSError):  # without locks, left folders cannot be recognized
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (Path(folder.name) / "new").rename(Path(folder.name) / _OWNER)
        yield Path(folder.name)


def remove_left() -> None:
    """Removes this user's folders whose process is gone."""
    there = Path(tempfile.gettempdir())
    for folder in (found for kind in _KINDS for found in there.glob(f"{_prefix(kind)}*")):
        with suppress(OSError), ExitStack() as stack:
            lock = os.open(folder / _OWNER, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            stack.callback(os.close, lock)
            if os.fstat(lock).st_uid == os.getuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)


def _prefix(kind: str) -> str:
    return f"heapwright-{kind}-"
