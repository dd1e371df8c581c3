# SPDX-License-Identifier: MIT
"""heapwright explain DIR, or a session file: all processes of a recording."""

from __future__ import annotations

from pathlib import Path

from heapwright.cli.errors import InputError
from heapwright.cli.explanation import ReportOptions
from heapwright.cli.output import hint, make_console, print_json
from heapwright.explain import processes
from heapwright.model.session import Session, SessionError, name_of, open_session
from heapwright.model.trace import Trace


def open_processes(path: Path, debug_root: Path | None) -> Session:
    """The recording; InputError if the path is wrong."""
    try:
        return open_session(path, debug_root or "")
    except SessionError as error:
        raise InputError(str(error)) from None


def find_process(session: Session, wanted: str) -> Trace:
    """The trace of the process with this id or program name; the busiest if there are several."""
    trace = session.find(wanted)
    if trace is None:
        names = sorted({name_of(trace) for trace in session.traces})
        raise InputError(
            f"--process {wanted} matches none of the {len(session.traces)} recorded process images; "
            f"use an id from heapwright explain {session.path}, or a name ({', '.join(names[:5])})"
        )
    return trace


def explain_processes(session: Session, wanted: ReportOptions) -> None:
    """Prints the processes, and what to type for one of them."""
    document = processes.answer(session)
    if wanted.as_json:
        print_json(document)
        return
    make_console(wanted.wide).print(processes.show(document, wanted.top))
    program = document["programs"][0]["name"]
    hint(f"heapwright explain {session.path} --process {program}")
