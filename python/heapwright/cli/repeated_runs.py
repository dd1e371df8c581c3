# SPDX-License-Identifier: MIT
"""Records commands repeatedly, alternating between them."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from heapwright.cli.errors import InputError
from heapwright.cli.record import collector_command
from heapwright.cli.recorded_files import files_of, main_file
from heapwright.cli.runs_progress import Report
from heapwright.measure.program import RunFailedError, run_program
from heapwright.measure.turns import turns
from heapwright.model.session import SUFFIX


def check(runs: int, limit_s: float) -> None:
    """Checks --runs and --limit."""
    if not 1 <= runs <= 100:
        raise InputError("--runs takes 1 to 100")
    if not 0 < limit_s <= 86400:
        raise InputError("--limit takes seconds above 0, up to 86400")


def record_in_turns(
    commands: Sequence[str], runs: int, folder: Path, limit_s: float, anyway: bool, progress: Report
) -> list[list[Path]]:
    """The recordings of each command, in the folder. anyway: accepts failing programs."""
    words = [_words(command) for command in commands]
    found: list[list[Path]] = [[] for _ in commands]
    for done, (number, _, side) in enumerate(turns(runs, [None], range(len(commands)))):
        progress(commands[side], done, runs * len(commands))
        name = f"{chr(ord('a') + side)}-{number + 1}"
        found[side].append(record_once(words[side], folder, name, limit_s, anyway))
    return found


def folder_for(keep: Path | None, stack: ExitStack) -> Path:
    """The folder for recordings: the one to keep, or a temporary one."""
    if keep is None:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="heapwright-")))
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise InputError(f"--keep {keep} exists and is not an empty folder; name another")
    keep.mkdir(mode=0o700, parents=True, exist_ok=True)
    return keep


def record_once(
    program: Sequence[str], folder: Path, name: str, limit_s: float, anyway: bool, snapshot: str = ""
) -> Path:
    """The recording of one run; of several processes (children), that with the most calls.

    snapshot: as record's option."""
    summary = folder / f".{name}.json"
    pattern = str(folder / f"{name}.%e.%p.heapwright")
    places = {"output": pattern, "summary": str(summary)}
    command = collector_command(
        {**places, "quiet": True, "children": True, "snapshot": snapshot}, list(program)
    )
    try:
        run_program(command, os.environ, limit_s)
    except RunFailedError as failure:
        if failure.has_hung:  # the collector was killed with it, so its summary may be cut
            raise InputError(f"{shlex.join(program)} {failure} (--limit)") from None
        if not anyway or not files_of(summary):
            why = f"{failure}; --anyway accepts what was recorded" if files_of(summary) else str(failure)
            raise InputError(f"{shlex.join(program)} {' '.join(why.split())}") from None
    files = files_of(summary)
    summary.unlink(missing_ok=True)
    if not files:
        raise InputError(f"{shlex.join(program)} made no heap call that could be recorded")
    if len(files) == 1:
        for session in folder.glob(f"{name}.*{SUFFIX}"):
            session.unlink()
    return Path(main_file(files)["path"])


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"--run '{command}': {str(error).lower()}") from None
    if not words:
        raise InputError("--run takes a command in quotes: --run './server --old'")
    return words
