# SPDX-License-Identifier: MIT
"""How near a process is to the end of its memory: its cgroups, what the system has left, pressure, kills.

All of it is read from files of the kernel; a file that is missing or says something else tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from heapwright.live.processes import PROC

CGROUPS = Path("/sys/fs/cgroup")
# Version 1 spells "no limit" as a number near 2^63.
_NO_LIMIT = 1 << 62


class Room(NamedTuple):
    """What is used of a limit, without pages of files, which the kernel drops first."""

    used_bytes: int
    limit_bytes: int

    @property
    def share(self) -> float:
        """Of the limit."""
        return self.used_bytes / self.limit_bytes


class _Names(NamedTuple):
    """The files of a version of cgroups."""

    used: str
    kills: str  # where going over it ends processes
    slows: str  # where going over it slows them down; "": no such thing
    file_pages: tuple[str, str]  # in memory.stat


_VERSION_1 = _Names("memory.usage_in_bytes", "memory.limit_in_bytes", "",
                    ("total_inactive_file", "total_active_file"))  # fmt: skip
_VERSION_2 = _Names("memory.current", "memory.max", "memory.high", ("inactive_file", "active_file"))


def cgroup_room(process: int, is_of_kills: bool = False) -> Room | None:
    """Of the process's cgroups and all above them the one that is used most. None: no limit is set.

    is_of_kills: only limits beyond which processes are killed, not those from which on they are slowed down.
    """
    rooms = [
        room
        for folder, names in _memory_cgroups(process)
        if (room := _room(folder, names, is_of_kills)) is not None
    ]
    return max(rooms, key=lambda room: room.share, default=None)


def system_room() -> Room | None:
    """Of the machine."""
    fields = _fields(PROC / "meminfo")
    total, available = fields.get("MemTotal:", 0), fields.get("MemAvailable:")
    return Room(1024 * (total - available), 1024 * total) if total and available is not None else None


def pressure_percent(process: int) -> float | None:
    """The share of the last 10 s in which some task waited for memory: of the process's cgroup (version 2)
    where the kernel tells, else of the machine. None: it tells nothing."""
    cgroups = [folder for folder, names in _memory_cgroups(process) if names is _VERSION_2]
    for path in (*(folder / "memory.pressure" for folder in cgroups[:1]), PROC / "pressure/memory"):
        for line in _text(path).splitlines():
            kind, _, rest = line.partition(" avg10=")
            if kind == "some":
                return float(rest.split()[0])
    return None


def oom_kills() -> int:
    """How many processes of the machine the kernel has killed for want of memory."""
    return _fields(PROC / "vmstat").get("oom_kill", 0)


def _memory_cgroups(process: int) -> Iterator[tuple[Path, _Names]]:
    """From the process's own upwards."""
    for line in _text(PROC / str(process) / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, names = (CGROUPS / "memory", _VERSION_1) if controllers else (CGROUPS, _VERSION_2)
        folder = root / path.lstrip("/")
        # In a container the hierarchy is mounted from the container's cgroup on,
        # while the path may be the one outside.
        folder = folder if (folder / names.used).exists() else root
        yield folder, names
        while folder != root:
            folder = folder.parent
            yield folder, names


def _room(folder: Path, names: _Names, is_of_kills: bool) -> Room | None:
    limits = [_number(folder / names.kills)]
    if names.slows and not is_of_kills:
        limits.append(_number(folder / names.slows))
    known = [limit for limit in limits if limit is not None and 0 < limit < _NO_LIMIT]
    used = _number(folder / names.used)
    if not known or used is None:
        return None
    fields = _fields(folder / "memory.stat")
    return Room(max(0, used - sum(fields.get(name, 0) for name in names.file_pages)), min(known))


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdecimal() else None


def _fields(path: Path) -> dict[str, int]:
    lines = (line.split() for line in _text(path).splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdecimal()}


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
