# SPDX-License-Identifier: MIT
"""Child programs of a counted one that do not count: static ones, and those started without our library."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from heapwright.live.pages import FOLDER
from heapwright.live.processes import PROC, find_process, memory_folder
from heapwright.measure.program_file import is_static

# Between two looks: a program is told of that was seen without our library in two of them.
LOOK_S = 0.25
# Of the time that passes, what looking may take: machines with many processes are looked at less often.
_MOST_SHARE = 0.05
_MOST_NOTES = 10
_MOST_THREADS = 100
_LIBRARY = b"/libheapwright-"
_ATTACHER = "heapwright-attach"


class _Image(NamedTuple):
    process: int
    start_ticks: int
    program: str


class Uncounted:
    """Looks at the processes below one, from outside."""

    def __init__(self, root: int, is_collector: bool) -> None:
        """is_collector: root is ours, and starts the program."""
        self._root = root
        self._left_out = {root} if is_collector else set()
        self._counting: set[_Image] = set()
        self._suspects: set[_Image] = set()
        self._reasons: dict[_Image, str] = {}
        self._due_s = 0.0

    def look(self) -> None:
        """Now, unless the last look was just before."""
        if time.monotonic() < self._due_s:
            return
        begin_s = time.thread_time()
        without = {image for image in self._images() if not self._counts(image)}
        for image in without & self._suspects:
            self._reasons.setdefault(image, _why(image.process))
        self._suspects = without
        self._due_s = time.monotonic() + (time.thread_time() - begin_s) / _MOST_SHARE

    def notes(self) -> list[str]:
        """A line for each program and reason."""
        processes: dict[tuple[str, str], list[int]] = {}
        for image, why in self._reasons.items():
            processes.setdefault((Path(image.program).name, why), []).append(image.process)
        lines = []
        for (name, why), found in processes.items():
            others = f" and {len(found) - 1} more" if len(found) > 1 else ""
            lines.append(f"{name} (process {found[0]}{others}) was not counted: {why}")
        if len(lines) > _MOST_NOTES:
            lines[_MOST_NOTES:] = [f"{len(lines) - _MOST_NOTES} more programs were not counted"]
        return lines

    def _images(self) -> Iterator[_Image]:
        for number in sorted(_below(self._root) - self._left_out):
            process = find_process(number)
            if process is None:
                continue
            try:
                program = str((memory_folder(number) / "exe").readlink())
            except OSError:
                program = process.name
            if Path(program).name == _ATTACHER:
                continue  # ours
            yield _Image(number, process.start_ticks, program)

    def _counts(self, image: _Image) -> bool:
        """Also of one that loads our library late."""
        if image in self._counting or not _has_library(image.process):
            return image in self._counting
        self._counting.add(image)
        self._reasons.pop(image, None)
        return True


def _below(root: int) -> set[int]:
    """The process and those that it and its children started."""
    found = _below_by_children(root)
    return _below_by_parents(root) if found is None else found


def _below_by_children(root: int) -> set[int] | None:
    """As the kernel lists them, thread by thread: only files of these processes are read. None: it does not
    (CONFIG_PROC_CHILDREN), or there are many threads. One that starts or ends meanwhile may be missing."""
    if not Path("/proc/thread-self/children").exists():
        return None
    found: set[int] = set()
    left, threads = [root], 0
    while left:
        process = left.pop()
        if process in found:
            continue
        found.add(process)
        paths = list((PROC / str(process) / "task").glob("*/children"))
        threads += len(paths)
        if threads > _MOST_THREADS:
            return None
        for path in paths:
            with suppress(OSError):
                left += map(int, path.read_bytes().split())
    return found


def _below_by_parents(root: int) -> set[int]:
    """The same, from a file of each process of the machine."""
    children: dict[int, list[int]] = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found, left = set(), [root]
    while left:
        process = left.pop()
        if process not in found:
            found.add(process)
            left += children.get(process, [])
    return found


def _has_library(process: int) -> bool:
    try:
        maps = (memory_folder(process) / "maps").read_bytes()
        return _LIBRARY in maps or b"/heapwright-%d.calls" % process in maps
    except FileNotFoundError:
        return True  # it has ended
    except OSError:
        return (FOLDER / f"heapwright-{process}.calls").exists()  # not ours to look at


def _why(process: int) -> str:
    folder = memory_folder(process)
    try:
        if is_static(folder / "exe"):
            return "it is static; once it runs, count --pid counts it"
        if _LIBRARY not in (folder / "environ").read_bytes():
            return "it was started without LD_PRELOAD in its environment"
    except OSError:
        pass
    return "the loader did not preload the library: setuid, file capabilities, or another architecture"
