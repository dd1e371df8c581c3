# SPDX-License-Identifier: MIT
"""The processes of one recording: their traces, and facts on those without one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from heapwright.model.facts import Facts
from heapwright.model.trace import Trace, TraceError
from heapwright.model.values import clean

SUFFIX = ".session.json"


class SessionError(Exception):
    """An error about the path, in one line."""


class Unrecorded(NamedTuple):
    """A process without a trace; made_no_call = there was nothing to record. process_id 0 = not known."""

    process_id: int
    parent_process_id: int
    program: str
    reason: str
    made_no_call: bool


class Session:
    """Traces of one recording, in order of their start. Made by open_session()."""

    def __init__(self, path: Path, traces: list[Trace]) -> None:
        self.path = path
        self.traces = sorted(traces, key=_start_of)
        self.unrecorded: list[Unrecorded] = []
        self.children_left_alone = sum(trace.metadata.children_left_alone for trace in traces)
        self.starts_lost = 0
        self.unreadable: list[str] = []  # files that should belong to it, and why they do not
        self.left_out = 0  # traces of other recordings in the folder

    def find(self, wanted: str) -> Trace | None:
        """The trace with the most calls of the process with this id or program name."""
        named = [
            trace
            for trace in self.traces
            if wanted in (str(trace.metadata.process_id), trace.metadata.program, name_of(trace))
        ]
        return max(named, key=lambda trace: trace.event_count, default=None)


def name_of(trace: Trace) -> str:
    """The program's name without its folder."""
    return trace.metadata.program.rsplit("/", 1)[-1]


def is_session(path: Path) -> bool:
    """Whether the path is a folder or a session file, not a trace."""
    return path.is_dir() or path.name.endswith(SUFFIX)


def open_session(path: Path, debug_root: Path | str = "") -> Session:
    """The recording that a session file is about, or the latest one in a folder."""
    if path.is_dir():
        return _open_folder(path, debug_root)
    document = _read(path)
    # The files may have been moved together with the session's.
    found = [_beside(path, Path(str(file["path"]))) for file in document["files"]]
    traces, unreadable = _open_all(found, debug_root)
    if not traces:
        raise SessionError(f"{path} names no trace that can be read")
    return _with_document(Session(path, traces), document, unreadable)


def facts_of(trace: Trace) -> Facts:
    """The trace's facts without its call sites."""
    return trace.begin_plain_facts().take()


def _open_folder(folder: Path, debug_root: Path | str) -> Session:
    traces, unreadable = _open_all(sorted(folder.glob("*.heapwright")), debug_root)
    if not traces:
        raise SessionError(
            f"there is no trace (*.heapwright) in the folder {folder}; name a trace or a session file"
        )
    latest = max(_recording_of(trace) for trace in traces)
    session = Session(folder, [trace for trace in traces if _recording_of(trace) == latest])
    session.left_out = len(traces) - len(session.traces)
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        document = _read(path)
        if document.get("start_unix_ns") == latest[0]:
            return _with_document(session, document, unreadable)
    session.unreadable = unreadable
    for trace in session.traces:
        for process in trace.metadata.unrecorded:
            parent = trace.metadata.process_id
            session.unrecorded.append(
                Unrecorded(process.process_id, parent, process.program, process.reason, False)
            )
    return session


def _with_document(session: Session, document: dict[str, Any], unreadable: list[str]) -> Session:
    session.unreadable = unreadable
    session.unrecorded = [
        Unrecorded(
            int(one["process_id"] or 0),
            int(one["parent_process_id"]),
            clean(str(one["program"])),
            clean(str(one["reason"])),
            bool(one["made_no_call"]),
        )
        for one in document["unrecorded"]
    ]
    session.children_left_alone = int(document["children_left_alone"])
    session.starts_lost = int(document["starts_lost"]) + int(document["more_unrecorded"])
    return session


def _read(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != "heapwright.recording/1":
            raise KeyError
        for name in ("files", "unrecorded", "children_left_alone", "starts_lost", "more_unrecorded"):
            document[name]
    except OSError as error:
        raise SessionError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, KeyError, TypeError):
        raise SessionError(f"{path} is no session that heapwright record --children wrote") from None
    return document


def _beside(session: Path, file: Path) -> Path:
    near = session.parent / file.name
    return near if near.exists() else file


def _open_all(paths: Iterable[Path], debug_root: Path | str) -> tuple[list[Trace], list[str]]:
    traces, unreadable = [], []
    for path in paths:
        try:
            traces.append(Trace(path, debug_root))
        except TraceError as error:
            unreadable.append(str(error))
    return traces, unreadable


def _recording_of(trace: Trace) -> tuple[int, str]:
    # The clocks of one recording's traces begin together.
    return trace.metadata.start_unix_ns, trace.metadata.host


def _start_of(trace: Trace) -> tuple[int, int]:
    return min(
        (thread.first_ns for thread in trace.threads), default=trace.end.time_ns
    ), trace.metadata.process_id
