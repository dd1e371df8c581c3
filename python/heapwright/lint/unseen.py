# SPDX-License-Identifier: MIT
"""Notes on sources that lint did not see or that are outdated, so that they do not look clean."""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.lint import recorded, static
from heapwright.lint.compile import Database
from heapwright.lint.sources import Sources
from heapwright.model import Trace
from heapwright.report import units


def refusal(own: static.Looked, database: Database, folder: Sources) -> str:
    """Why there was nothing to check, or nothing that libclang could read; "" = there was."""
    if not own.files and database.units:
        return (
            f"none of the files in {database.path} is under {folder.folder}; give the folder that it "
            f"was made for with --sources, or regenerate it"
        )
    if not own.files:
        return f"no C++ sources in {folder.folder}; give --sources DIR or PATHS"
    if own.parsed and own.unread == own.parsed:
        return (
            f"no file could be read, the first is {own.problems[0]}; give its flags in "
            f"{database.path or 'a compile_commands.json'}"
        )
    return ""


def left(headers: Sequence[str]) -> list[str]:
    if not headers:
        return []
    return [
        f"{units.counted(len(headers), 'header')} not checked: no source includes them; given as PATHS "
        f"they are parsed alone ({', '.join(headers[:3])})"
    ]


def newer(looked: recorded.Looked, trace: Trace, folder: Sources) -> list[str]:
    """A note on sources that may have changed since they were compiled."""
    begin = trace.metadata.start_unix_ns
    files = sorted({one.file for one in looked.findings})
    changed = [file for file in files if begin and (folder.folder / file).stat().st_mtime_ns > begin]
    if not changed:
        return []
    names = ", ".join(changed[:3]) + (" …" if len(changed) > 3 else "")
    return [
        f"newer than the recording: {names}; where the text changed, lines are wrong: rebuild and "
        f"record again"
    ]


def nothing(looked: recorded.Looked, folder: Sources) -> str:
    if not looked.reasons:
        return "the recording has no allocation"
    first = looked.reasons[0]
    where = ", ".join(first.where)
    if first.reason == recorded.ELSEWHERE:
        return f"the recorded lines are in {where}, not in {folder.folder}; give --sources DIR"
    if first.reason == recorded.NO_LINES:
        return f"most allocations have no line ({where}); compile with -g"
    return f"most allocations: {first.reason} ({where})"
