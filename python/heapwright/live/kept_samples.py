# SPDX-License-Identifier: MIT
"""Samples of processes that ended under count --sample: kept until somebody reads them."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from heapwright.live.choice import choose, name_of, pages_called, several
from heapwright.live.page import Page, PageError
from heapwright.live.pages import FOLDER
from heapwright.live.processes import find_by_name, find_process
from heapwright.live.profiles import NoProfileError, ended_file, sampled_processes

# Process id, start, and the program's name.
_NAME = re.compile(r"heapwright-(\d{1,10})-\d{1,20}\.(.*)\.kept", re.DOTALL)
# They are memory: the newest is kept, further ones within these bounds.
MOST_FILES = 4
MOST_BYTES = 64 << 20
MOST_AGE_S = 86_400
_MOST_LETTERS = 40


class Samples(NamedTuple):
    """Whose samples are meant. kept: their file, if it has ended."""

    process: int
    kept: Path | None = None


def keep(page: Page) -> bool:
    """Keeps those of a process that has just ended, beyond remove_ended(). False: it has none."""
    name = name_of(page).replace("/", "_")[:_MOST_LETTERS]
    kept = FOLDER / f"heapwright-{page.process}-{page.process_start_ticks}.{name}.kept"
    with suppress(NoProfileError, OSError):
        ended_file(page.process, page.process_start_ticks).rename(kept)
        return True
    return False


def remove_old() -> None:
    """Those beyond the bounds, where they are ours."""
    left_bytes, now_s = MOST_BYTES, time.time()
    for number, (path, status) in enumerate(_kept()):
        left_bytes -= status.st_size
        is_much = number and (number >= MOST_FILES or left_bytes < 0)
        if is_much or status.st_mtime < now_s - MOST_AGE_S:
            with suppress(OSError):
                path.unlink()


def samples_of(wanted: str) -> Samples:
    """Of a process by id or name, as top takes it; of several with the name those that have samples.

    One that has ended is meant where none lives. NoProfileError, PageError: there is none, or several.
    """
    sampled = sampled_processes()
    if wanted.isdecimal():
        living = [int(wanted)] if int(wanted) in sampled else []
    else:
        living = sorted({page.process for page in pages_called(wanted) if page.process in sampled})
        living = living or [process for process in find_by_name(wanted) if process in sampled]
    if len(living) > 1:
        raise several(wanted, living)
    if living:
        return Samples(living[0])
    for path, _ in _kept():
        found = _NAME.fullmatch(path.name)
        if found and wanted in found.groups():
            return Samples(int(found[1]), path)
    if wanted.isdecimal():
        if find_process(int(wanted)) is None:
            raise PageError(f"there is no process {wanted}")
        return Samples(int(wanted))
    return Samples(choose(wanted).process)


def _kept() -> list[tuple[Path, os.stat_result]]:
    """Those of this user, the newest first."""
    found = []
    for path in FOLDER.glob("heapwright-*.kept"):
        with suppress(OSError):
            found.append((path, path.lstat()))
    own = [one for one in found if one[1].st_uid == os.geteuid() and stat.S_ISREG(one[1].st_mode)]
    return sorted(own, key=lambda one: -one[1].st_mtime_ns)
