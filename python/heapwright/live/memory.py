# SPDX-License-Identifier: MIT
"""What of a process is in memory, by the kernel's counts: anonymous pages, those of files, shared ones."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from heapwright.live.processes import PROC, memory_folder


class Memory(NamedTuple):
    """Of one process at one moment. The kernel may be late by up to 64 pages for each of its threads."""

    resident_bytes: int
    anonymous_bytes: int
    file_bytes: int
    shared_bytes: int  # shared anonymous memory, tmpfs, memfd
    swapped_bytes: int
    peak_resident_bytes: int

    @property
    def own_bytes(self) -> int:
        """What it would return at its end: anonymous pages, wherever they are."""
        return self.anonymous_bytes + self.swapped_bytes


_LINES = (b"VmRSS", b"RssAnon", b"RssFile", b"RssShmem", b"VmSwap", b"VmHWM")


def memory_of(process: int) -> Memory | None:
    """None: it has ended, or is none of a program. Takes some 20 µs; walks no page table."""
    found = _memory_in(PROC / str(process))
    if found is None and (folder := memory_folder(process)).parent != PROC:
        found = _memory_in(folder)
    return found


def _memory_in(folder: Path) -> Memory | None:
    try:
        text = (folder / "status").read_bytes()
    except OSError:
        return None
    values = [_kilobytes(text, line) for line in _LINES]
    return Memory(*(1024 * value for value in values)) if values[0] or values[1] else None


def _kilobytes(text: bytes, name: bytes) -> int:
    at = text.find(b"\n" + name + b":")
    if at < 0:
        return 0
    words = text[at + len(name) + 2 : at + len(name) + 40].split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else 0
