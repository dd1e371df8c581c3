# SPDX-License-Identifier: MIT
"""What chap (github.com/vmware/chap) calls leaked in a core of a program at its exit.

It takes glibc's heap apart, and takes chunks in a thread's cache for blocks in use: since glibc 2.32 their
links are XORed with their place, so it finds nothing that points to them. These are counted apart.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

_LISTED = re.compile(r"^Used allocation at ([0-9a-f]+) of size ([0-9a-f]+)", re.MULTILINE)
_BINS, _CACHE_BYTES = 64, 0x288
_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
_LOADED = 1


class _Core:
    """The memory of a 64-bit core file."""

    def __init__(self, path: Path) -> None:
        self._bytes = path.read_bytes()
        (begin,) = struct.unpack_from("<Q", self._bytes, 32)
        (count,) = struct.unpack_from("<H", self._bytes, 56)
        headers = [_PROGRAM_HEADER.unpack_from(self._bytes, begin + 56 * number) for number in range(count)]
        self._parts = [(one[3], one[5], one[2]) for one in headers if one[0] == _LOADED]

    def words(self, address: int, count: int) -> tuple[int, ...]:
        """Nothing where the core does not have them."""
        for begin, size, place in self._parts:
            if begin <= address and address + 8 * count <= begin + size:
                return struct.unpack_from(f"<{count}Q", self._bytes, place + address - begin)
        return ()


def _cached(core: _Core, cache: int) -> Iterator[int]:
    """Chunks that the main thread's cache keeps, by its counts and mangled links."""
    counts = struct.unpack(f"<{_BINS}H", struct.pack("<16Q", *core.words(cache, 16)))
    for count, first in zip(counts, core.words(cache + 2 * _BINS, _BINS), strict=True):
        at = first
        for _ in range(count):
            yield at
            link = core.words(at, 1)
            at = link[0] ^ (at >> 12) if link else 0


def _core_of(line: list[str], path: Path, limit_s: float) -> bool:
    wishes = [
        "set startup-with-shell off",
        "handle all nostop noprint pass",
        "catch syscall exit_group",
        "run",
    ]
    asked = [part for wish in (*wishes, f"gcore {path}", "kill") for part in ("-ex", wish)]
    command = ["gdb", "-q", "-nx", "-batch", *asked, "--args", *line]
    try:
        subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return False
    return path.exists()


def leaked_by(chap: Path | None, line: list[str], work: Path, limit_s: float) -> dict[str, int]:
    """Blocks that it calls leaked, and how many of these glibc keeps as free; empty: not run."""
    path = work / "at_exit.core"
    path.unlink(missing_ok=True)
    if chap is None or shutil.which("gdb") is None or not _core_of(line, path, limit_s):
        return {}

    def listed(what: str) -> dict[int, int]:
        said = subprocess.run(
            [chap, path], input=f"list {what}\n", capture_output=True, text=True, timeout=limit_s, check=False
        ).stdout
        return {int(one[1], 16): int(one[2], 16) for one in _LISTED.finditer(said)}

    used, leaked = listed("used"), listed("leaked")
    # A thread's cache is the first block that it allocates.
    cache = min(used, default=0)
    is_cache = used.get(cache) == _CACHE_BYTES
    cached = set(_cached(_Core(path), cache)) if is_cache else set()
    return {"leaked_blocks": len(leaked), "cached_blocks": len(cached & leaked.keys())}
