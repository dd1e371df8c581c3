# SPDX-License-Identifier: MIT
"""Writes results: JSON to stdout, files with mode 0600, replaced only with --force."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from heapwright.cli.errors import InputError
from heapwright.cli.streams import say
from heapwright.terminal import spelling

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

STDOUT = "-"
_FILE_COLUMNS = 100
_UNLIMITED_COLUMNS = 100_000


def print_json(document: Any) -> None:
    """One JSON document on stdout; on one line except on terminals (indenting takes 20 times as long)."""
    indent = 2 if sys.stdout.isatty() else None
    is_ascii = not spelling.shows_unicode(sys.stdout)
    sys.stdout.write(json.dumps(document, indent=indent, ensure_ascii=is_ascii, default=str) + "\n")


def make_console(wide: bool = False, to_stderr: bool = False) -> Console:
    """A console on stdout or stderr: colours on a terminal, ASCII if LC_ALL is C; wide: nothing is cut."""
    from rich.console import Console  # not needed for JSON, and slow to import

    class Stdout(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            """Leaves lines longer than the terminal to the terminal's line breaks."""
            super().print(*objects, crop=False, **options)

        def on_broken_pipe(self) -> None:
            """Lets the command decide; rich would exit with code 1."""
            raise BrokenPipeError

    if os.environ.get("LC_ALL") in ("C", "POSIX"):
        spelling.use_ascii(sys.stdout)
    # Function names are not markup, and :x: in them is not an emoji.
    console = Stdout(highlight=False, markup=False, emoji=False, stderr=to_stderr)
    if wide:
        console.width = _UNLIMITED_COLUMNS
    elif not console.is_terminal and not os.environ.get("COLUMNS"):
        console.width = _FILE_COLUMNS
    return console


def hint(text: str) -> None:
    """Prints what to type next, on stderr so that stdout has only the result."""
    say(f"next: {text}")


def check_output(path: Path, force: bool, option: str = "--output") -> None:
    """Refuses to replace a file or to write to a missing folder. Devices and pipes are written to."""
    if str(path) == STDOUT:
        return
    if not path.parent.is_dir():
        raise InputError(f"no folder {path.parent} for {path.name}; create it first")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file with {option}")
    if path.exists() and not force and not is_written_through(path):
        raise InputError(f"{path} exists; use --force to replace it or choose another with {option}")


def check_is_no_input(path: Path, inputs: Iterable[Path]) -> None:
    """Refuses to replace the file being read, even with --force."""
    for one in inputs:
        is_same = path.exists() and one.exists() and path.samefile(one)
        if str(path) != STDOUT and (is_same or path.resolve() == one.resolve()):
            raise InputError(f"{path} is the input of this command; name another file to write")


def is_stdout(path: Path) -> bool:
    """Whether this is standard output under any name."""
    if str(path) == STDOUT:
        return True
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except OSError:
        return False


def is_written_through(path: Path) -> bool:
    """Whether it is a device, a pipe or a link to one, which is written to and not replaced."""
    try:
        return is_stdout(path) or not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def write_text(path: Path, force: bool, text: str) -> None:
    """write_file for a text."""

    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    write_file(path, force, write)


class _Counted:
    """Counts the bytes written to a file without a position."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.bytes = 0

    def write(self, piece: Any) -> int:
        self._file.write(piece)
        self.bytes += len(piece)
        return len(piece)

    def flush(self) -> None:
        self._file.flush()


def write_file(path: Path, force: bool, write: Callable[[BinaryIO], None]) -> int:
    """Writes to a temporary file and renames it, so that a failure leaves no partial file.

    Standard output, devices and pipes are written to directly. Returns the bytes written.
    """

    def make(part: Path) -> None:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            write(file)

    check_output(path, force)
    with _in_words(path):
        return _write_through(path, write) if is_written_through(path) else _replace(path, make)


def write_by_name(path: Path, force: bool, make: Callable[[Path], None]) -> int:
    """write_file for writers that take a file name instead of an open file."""

    import shutil
    import tempfile

    def copy(out: BinaryIO) -> None:
        with tempfile.TemporaryDirectory(prefix="heapwright-") as folder:
            whole = path.__class__(folder) / "whole"
            make(whole)
            with whole.open("rb") as file:
                shutil.copyfileobj(file, out)

    check_output(path, force)
    with _in_words(path):
        return _write_through(path, copy) if is_written_through(path) else _replace(path, make)


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if str(path) == STDOUT else path
        raise InputError(f"cannot write {name}: {(error.strerror or str(error)).lower()}") from None


def _write_through(path: Path, write: Callable[[BinaryIO], None]) -> int:
    if is_stdout(path):
        sys.stdout.flush()
        counted = _Counted(sys.stdout.buffer)
        write(counted)  # type: ignore[arg-type]
        sys.stdout.buffer.flush()
        return counted.bytes
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CLOEXEC), "wb") as file:
        counted = _Counted(file)
        write(counted)  # type: ignore[arg-type]
    return counted.bytes


def _replace(path: Path, make: Callable[[Path], None]) -> int:
    target = path.resolve()  # a symbolic link stays one
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    before = os.umask(0o077)
    try:
        make(part)
        size = part.stat().st_size
        part.replace(target)
    finally:
        os.umask(before)
        part.unlink(missing_ok=True)
    return size
