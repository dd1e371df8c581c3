# SPDX-License-Identifier: MIT
"""The process that a user means: by its id, or by its name when one process has it."""

from __future__ import annotations

from heapwright.live.page import Page, PageError
from heapwright.live.pages import find_pages
from heapwright.live.processes import find_process

_HOW = "start it with heapwright count -- PROGRAM"


def name_of(page: Page) -> str:
    """As the page has it, or as the kernel does."""
    process = find_process(page.process)
    if page.calls and page.calls.program:
        return page.calls.program
    return process.name if process else ""


def choose(wanted: str) -> Page:
    """One living process's page, the one of calls first. PageError: there is none, or several."""
    found = find_pages()
    same = [page for page in found.pages if wanted in (str(page.process), name_of(page))]
    ids = sorted({page.process for page in same})
    if len(ids) > 1:
        raise PageError(f"{len(ids)} processes are called {wanted}; name one by its id: {ids[0]}, {ids[1]} …")
    if same:
        return max(same, key=lambda page: page.calls is not None)
    of_it = [problem for problem in found.problems if f"-{wanted}." in problem or f"-{wanted} " in problem]
    if of_it:
        raise PageError(of_it[0])
    if wanted.isdigit() and find_process(int(wanted)) is None:
        raise PageError(f"there is no process {wanted}")
    raise PageError(f"{wanted} has no counters; {_HOW}")
