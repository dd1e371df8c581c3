# SPDX-License-Identifier: MIT
"""Writing results: JSON to stdout, files with mode 0600 that replace nothing unasked."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from heapwright.cli.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

_FILE_COLUMNS = 160


def print_json(document: Any) -> None:
    """One JSON document on stdout; on one line unless a person looks (indenting takes 20 times as long)."""
    indent = 2 if sys.stdout.isatty() else None
    sys.stdout.write(json.dumps(document, indent=indent, ensure_ascii=False, default=str) + "\n")


def make_console() -> Console:
    """Stdout as tables want it: colours on a terminal only; a file has room for long names."""
    from rich.console import Console  # JSON does without, and its import takes time

    class Stdout(Console):
        def on_broken_pipe(self) -> None:
            """The caller of the command decides; rich would end with exit code 1."""
            raise BrokenPipeError

    console = Stdout(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _FILE_COLUMNS
    return console


def hint(text: str) -> None:
    """What to type next; on stderr, so that stdout is only the result."""
    sys.stderr.write(f"next: {text}\n")


def check_output(path: Path, force: bool) -> None:
    """Refuses to replace a file, or to write where there is no folder."""
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} for {path.name}; make it first")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file with --output")
    if path.exists() and not force:
        raise InputError(f"{path} exists; use --force to replace it or choose another with --output")


def write_file(path: Path, force: bool, write: Callable[[BinaryIO], None]) -> int:
    """Writes beside the path and moves into place, so that a failure leaves nothing half done."""
    check_output(path, force)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            size = file.tell()
        part.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None
    finally:
        part.unlink(missing_ok=True)
    return size
