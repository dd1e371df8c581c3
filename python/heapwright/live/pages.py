# SPDX-License-Identifier: MIT
"""All pages of counters on this machine: which processes have one, and what dead ones left behind."""

from __future__ import annotations

import math
import os
import random
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from heapwright.live import collecting
from heapwright.live.page import (
    GonePageError,
    HeapFigures,
    Page,
    PageError,
    UnfinishedPageError,
    disown,
    read_keeper,
    read_page,
)
from heapwright.live.processes import has_mapped, is_alive, listed_processes

FOLDER = Path("/dev/shm")
# Beyond the numbers that an image gives the pages of those before it.
FIRST_TAKEN = 10_000
_NAME = re.compile(r"heapwright-(\d{1,10})(?:\.calls|\.apply)?(?:\.\d{1,9})?")
# A process opens its file before it maps it.
_YOUNG_S = 2.0
# How long one look removes what dead processes left: they may be many, and others may wait for them.
_MOST_REMOVING_S = 0.2
_MOST_TAKING_S = 2.0


class Found(NamedTuple):
    """The pages of living processes, and what is wrong with other files."""

    pages: list[Page]
    problems: list[str]
    unread: int  # files of living processes that are not among the pages


def find_pages(most_seconds: float = math.inf, takes: Callable[[Page], object] | None = None) -> Found:
    """Removes what dead processes left behind, where it is ours. Ends when it takes longer than that.

    takes: gets each page of a dead process before it is removed, those that somebody else waits for again and
    again. Without it, nothing is removed that a server is to take.
    """
    ends_s = time.monotonic() + most_seconds
    living = listed_processes()
    files = list(_files())
    ended = [file for file in files if file[1] not in living]
    stays = takes is None and bool(ended) and collecting.is_collected()
    found = _living_pages([file for file in files if file[1] in living], ends_s, takes)
    random.shuffle(ended)  # those that somebody waits for stay: the next look begins with others
    if not stays:
        _remove_ended(
            ended, min(ends_s, time.monotonic() + (_MOST_TAKING_S if takes else _MOST_REMOVING_S)), takes
        )
    return found


def ended_pages() -> list[Page]:
    """Those of dead processes that are still there; removes none."""
    living, found = listed_processes(), []
    for path, process in _files():
        with suppress(PageError):
            if process not in living:
                page = read_page(str(path))
                _check_name(page, process)
                found.append(page)
    return found


def take_ended(takes: Callable[[Page], object]) -> None:
    """The same of dead processes alone."""
    living = listed_processes()
    ended = [file for file in _files() if file[1] not in living]
    random.shuffle(ended)
    _remove_ended(ended, time.monotonic() + _MOST_TAKING_S, takes)


def _living_pages(
    files: list[tuple[Path, int]], ends_s: float, takes: Callable[[Page], object] | None
) -> Found:
    pages: list[Page] = []
    problems: list[str] = []
    for number, (path, process) in enumerate(files):
        if time.monotonic() > ends_s:
            left = len(files) - number
            problems.append(f"{path} and further pages, {left} in all, are not read: there are too many")
            return Found(pages, problems, len(problems) + left - 1)
        try:
            page = read_page(str(path))
            _check_name(page, process)
        except (UnfinishedPageError, GonePageError):
            remove_dead(path, process, None)
        except PageError as error:
            if not remove_dead(path, process, None):
                problems.append(str(error))
        else:
            if is_living(page):
                pages.append(page)
                continue
            if takes:
                takes(page)
            if takes or not collecting.is_collected():
                remove_dead(path, process, page, is_server=takes is not None)
    return Found(pages, problems, len(problems))


def _remove_ended(
    files: list[tuple[Path, int]], ends_s: float, takes: Callable[[Page], object] | None
) -> None:
    for path, process in files:
        if time.monotonic() > ends_s:
            return
        if takes:
            with suppress(PageError):
                page = read_page(str(path))
                _check_name(page, process)
                takes(page)
        keeper = None
        with suppress(PageError):
            keeper = read_keeper(str(path))
        if not (keeper and keeper[0] and is_alive(*keeper)):
            remove_dead(path, process, None, is_server=takes is not None)


def ended_pages_kept_for(keeper: tuple[int, int], number: int) -> list[Page]:
    """Takes the pages of this keeper's processes that are gone; the first is taken as `number`."""
    living = listed_processes()
    taken: list[Page] = []
    for path, process in _files():
        with suppress(PageError, OSError):
            if process in living or read_keeper(str(path)) != keeper:
                continue
            aside = FOLDER / f"heapwright-{process}.calls.{FIRST_TAKEN + number + len(taken)}"
            path.rename(aside)
            page = read_page(str(aside))
            if is_living(page):  # a later process with this id: found again under the new name
                continue
            _let_go(aside)
            _check_name(page, process)
            if page.calls:
                taken.append(page)
    return taken


def pages_kept_for(keeper: int, start_ticks: int) -> list[Page]:
    """Those whose process was told to leave them to this one, living or not."""
    found = []
    for path, process in _files():
        with suppress(PageError):
            page = read_page(str(path), (keeper, start_ticks))
            _check_name(page, process)
            if page.calls:
                found.append(page)
    return found


def heap_of(process: int) -> HeapFigures | None:
    """What our own heap says of itself in a living process; None: it has another one."""
    with suppress(PageError):
        page = read_page(str(FOLDER / f"heapwright-{process}"))
        _check_name(page, process)
        return page.heap
    return None


def take(page: Page, number: int) -> Page | None:
    """Reads the page of an image that has ended anew, and removes it. None: another image's has its name now.

    Renamed first, to a number that no writer uses: under its own name an image
    that is executed meanwhile could put its page. Such a one is found later under the new name.
    """
    taken = FOLDER / f"heapwright-{page.process}.calls.{FIRST_TAKEN + number}"
    try:
        Path(page.path).rename(taken)
        now = read_page(str(taken))
        if (now.calls is None) != (page.calls is None) or (
            now.calls and page.calls and now.calls.started_ns != page.calls.started_ns
        ):
            return None
        _let_go(taken)
    except (PageError, OSError):
        return None
    return now


def _let_go(taken: Path) -> None:
    """A server that sums up ended processes has the page now; without one it is removed."""
    if collecting.is_collected():
        disown(str(taken))
    else:
        taken.unlink()


def _check_name(page: Page, process: int) -> None:
    if page.process != process:
        raise PageError(f"{page.path} is not read: it says that it is of process {page.process}")


def is_living(page: Page) -> bool:
    """Whether its process lives and still counts in it."""
    return is_alive(page.process, page.process_start_ticks) and has_mapped(page.process, page.path)


def remove_dead(path: Path, process: int, page: Page | None, is_server: bool = False) -> bool:
    """Removes our file of a process that is gone, unless somebody waits for it. page: None, it has none.

    is_server: root's, for which all users' processes leave theirs.
    """
    try:
        before = path.lstat()
        is_ours = before.st_uid == os.geteuid() or (is_server and os.geteuid() == 0)
        if not is_ours or not stat.S_ISREG(before.st_mode) or time.time() - before.st_mtime < _YOUNG_S:
            return False
        if is_living(page) if page else is_alive(process, 0):
            return False
        if page and _is_waited_for(page):
            return False
        if path.lstat().st_ino != before.st_ino:  # a later process with the same id
            return False
        path.unlink()
    except OSError:
        return False
    return True


def _is_waited_for(page: Page) -> bool:
    calls = page.calls
    return bool(calls and calls.keeper and is_alive(calls.keeper, calls.keeper_start_ticks))


def _files() -> Iterator[tuple[Path, int]]:
    """The files that have a page's name, with the process that it names."""
    try:
        paths = sorted(FOLDER.iterdir())
    except OSError:
        return
    for path in paths:
        if found := _NAME.fullmatch(path.name):
            yield path, int(found[1])
