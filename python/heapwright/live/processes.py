# SPDX-License-Identifier: MIT
"""What /proc says of a process: whether it is the one that a page is of, its name, its memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from heapwright.live.layout import printable

PROC = Path("/proc")
_LARGEST_ID = (1 << 31) - 1
_ENDED = (b"Z", b"X")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Process(NamedTuple):
    """A living process."""

    name: str
    start_ticks: int
    threads: int
    resident_bytes: int


def find_process(process_id: int) -> Process | None:
    """None: there is none with this id. A zombie has ended, unless threads of it go on."""
    stat = _read_stat(PROC / str(process_id))
    if stat is None:
        return None
    name, fields = stat
    threads, resident_pages = int(fields[17]), int(fields[21])
    if fields[0] in _ENDED:
        living = _living_thread(process_id) if threads > 1 else None
        if living is None:
            return None
        resident_pages = int(living[1][21])
    return Process(printable(name), int(fields[19]), threads, resident_pages * _PAGE_BYTES)


def memory_folder(process_id: int) -> Path:
    """Where /proc tells of a process's memory: where its main thread has ended, it does by another one."""
    folder = PROC / str(process_id)
    stat = _read_stat(folder)
    living = _living_thread(process_id) if stat and stat[1][0] in _ENDED else None
    return living[0] if living else folder


def _read_stat(folder: Path) -> tuple[bytes, list[bytes]] | None:
    """The name, and the fields from the state on."""
    try:
        line = (folder / "stat").read_bytes()
    except OSError:
        return None
    begin, end = line.find(b"("), line.rfind(b")")
    fields = line[end + 2 :].split()
    return (line[begin + 1 : end], fields) if begin >= 0 and len(fields) >= 22 else None


def _living_thread(process_id: int) -> tuple[Path, list[bytes]] | None:
    """One that goes on behind an ended main thread, with its fields."""
    try:
        folders = list((PROC / str(process_id) / "task").iterdir())
    except OSError:
        return None
    for folder in folders:
        stat = _read_stat(folder)
        if stat and stat[1][0] not in _ENDED:
            return folder, stat[1]
    return None


def listed_processes() -> set[int]:
    """The ids of all that live, and of zombies."""
    return {int(folder.name) for folder in PROC.iterdir() if folder.name.isdigit()}


def may_be_process(number: int) -> bool:
    """Whether it is a number as ids are; the kernel may give out fewer."""
    return 0 < number <= _LARGEST_ID


def find_by_name(name: str) -> list[int]:
    """The processes of this name that are not this one, as the kernel has it: 15 letters at most."""
    found = []
    for folder in PROC.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            process = find_process(int(folder.name))
            if process and process.name == name[:15]:
                found.append(int(folder.name))
    return sorted(found)


def is_alive(process_id: int, start_ticks: int) -> bool:
    """Whether this very process lives, and not a later one with its id. start_ticks 0: not known."""
    process = find_process(process_id)
    return process is not None and start_ticks in (0, process.start_ticks)


def has_mapped(process_id: int, path: str) -> bool:
    """Whether the process has the file in its memory: an image that was replaced by exec has not.

    By its number as well: within another root or mount namespace the file has another name.
    """
    try:
        lines = (memory_folder(process_id) / "maps").read_bytes().splitlines()
    except OSError:
        return True  # not for us to see: nothing speaks against it
    try:
        file = Path(path).stat()
    except OSError:
        return False
    number = b" %02x:%02x %d " % (os.major(file.st_dev), os.minor(file.st_dev), file.st_ino)
    name = b" " + os.fsencode(path)
    return any(number in line or line.endswith(name) for line in lines)
