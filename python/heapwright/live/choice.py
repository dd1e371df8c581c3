# SPDX-License-Identifier: MIT
"""The process that a user means, by id or by unique name."""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.live.page import Page, PageError
from heapwright.live.pages import Found, find_pages
from heapwright.live.processes import find_by_name, find_process, may_be_process

# So many ids are listed where several processes have a name.
_MOST_LISTED = 12
_HOW = "start it with heapwright count -- PROGRAM, or see heapwright count --pid"


def name_of(page: Page) -> str:
    """As the page has it, or as the kernel does."""
    process = find_process(page.process)
    if page.calls and page.calls.program:
        return page.calls.program
    return process.name if process else ""


def pages_called(wanted: str) -> list[Page]:
    """The pages of the processes with this id or name."""
    return called_so(wanted, find_pages())


def called_so(wanted: str, found: Found) -> list[Page]:
    """Of these the pages of processes with this id or name: by their own name, else by the kernel's, which
    programs change and which has 15 letters at most."""
    same = [page for page in found.pages if wanted in (str(page.process), name_of(page))]
    return same or [page for page in found.pages if _kernels_name(page.process) == wanted[:15]]


def _kernels_name(number: int) -> str:
    process = find_process(number)
    return process.name if process else ""


def choose(wanted: str) -> Page:
    """The page of one living process, preferably that of calls. PageError: there is none, or several."""
    found = find_pages()
    same = called_so(wanted, found)
    ids = sorted({page.process for page in same})
    if len(ids) > 1:
        raise several(wanted, ids)
    if same:
        return max(same, key=lambda page: page.calls is not None)
    of_it = [problem for problem in found.problems if f"-{wanted}." in problem or f"-{wanted} " in problem]
    if of_it:
        raise PageError(of_it[0])
    if wanted.isdecimal() and find_process(int(wanted)) is None:
        raise PageError(f"there is no process {wanted}")
    running = [] if wanted.isdecimal() else find_by_name(wanted)
    if not (running or wanted.isdecimal()):
        raise PageError(f"no process is called {wanted}; give its id")
    if len(running) > 1:
        raise PageError(f"{len(running)} processes are called {wanted}, but none has counters; {_HOW}")
    raise PageError(f"{wanted} has no counters; {_HOW}")


def several(wanted: str, processes: Sequence[int]) -> PageError:
    """What is said where a name is not enough; processes: in order."""
    listed = ", ".join(map(str, processes[:_MOST_LISTED])) + (" …" if len(processes) > _MOST_LISTED else "")
    return PageError(f"{len(processes)} processes are called {wanted}; give an id: {listed}")


def page_or_process(wanted: str) -> Page | int:
    """The page of a counting process, or the id of one that does not count. PageError: there is none."""
    if wanted.isdecimal() and not may_be_process(int(wanted)):
        raise PageError(f"process {wanted} is not counted: there is no such process")
    processes = [int(wanted)] if wanted.isdecimal() else []
    try:
        page = choose(wanted)
    except PageError:
        processes = processes or find_by_name(wanted)
        if len(processes) == 1:
            return processes[0]
        if len(processes) > 1:
            raise several(wanted, processes) from None
        raise
    # The attacher may have been killed: attaching again ends that, or is refused.
    return page.process if page.calls is None or page.calls.is_attached else page
