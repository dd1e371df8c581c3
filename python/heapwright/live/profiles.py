# SPDX-License-Identifier: MIT
"""Sampled stacks of processes that run under count --sample: the trace that their collector writes meanwhile.

The collector keeps no event longer than a second or two, so a copy of what it wrote is the process's
profile at that moment; an end mark behind it says so.
"""

from __future__ import annotations

import io
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from heapwright.live.pages import FOLDER
from heapwright.live.processes import is_alive
from heapwright.model import Trace, native

# For heapwright-collect --output.
PATTERN = str(FOLDER / "heapwright-%p-%s.profile")
# What a collector that was killed left unfinished beside it.
_UNFINISHED = ".new"
_PIECE_BYTES = 1 << 20
# Process id; start, which tells it from a later process with this id; number of an image after an exec.
_NAME = re.compile(r"heapwright-(\d{1,10})-(\d{1,20})(?:\.(\d{1,6}))?\.profile")


class NoProfileError(Exception):
    """An error in one line that says what to do."""


class NoSamplesYetError(NoProfileError):
    """A moment later it has some."""


class _File(NamedTuple):
    process: int
    start_ticks: int  # 0: not known
    image: int
    path: Path

    def is_of_living(self) -> bool:
        return is_alive(self.process, self.start_ticks)


def sampled_processes() -> list[int]:
    """Those that live and have samples."""
    return sorted({file.process for file in _files() if file.is_of_living()})


class Profile(NamedTuple):
    """A trace of sampled blocks, in pieces: near the end of memory a whole one may have no room."""

    file: BinaryIO
    whole_bytes: int
    end_chunk: bytes

    def copy_to(self, out: BinaryIO) -> None:
        """OSError: it cannot be written."""
        left = self.whole_bytes
        while left and (piece := self.file.read(min(left, _PIECE_BYTES))):
            out.write(piece)
            left -= len(piece)
        out.write(self.end_chunk)


@contextmanager
def profile_of(process: int) -> Iterator[Profile]:
    """The process's sampled blocks up to now, with an end mark; NoProfileError: it has none."""
    images = [(file.image, file.path) for file in _files() if file.process == process and file.is_of_living()]
    if not images:
        raise NoProfileError(
            f"process {process} has no samples; start it with heapwright count --sample 512k -- PROGRAM"
        )
    with _opened_file(max(images)[1]) as file:
        try:
            whole_bytes, end_chunk = native.end_running(b"/proc/self/fd/%d" % file.fileno())
        except native.TraceError:
            raise NoSamplesYetError(f"process {process} has no samples yet; try again in a second") from None
        yield Profile(file, whole_bytes, end_chunk)


@contextmanager
def ended_profile(process: int, start_ticks: int) -> Iterator[Profile]:
    """Of one that has ended, before remove_ended(): its collector has put the end mark."""
    with opened_whole(ended_file(process, start_ticks)) as profile:
        yield profile


@contextmanager
def opened_whole(path: Path) -> Iterator[Profile]:
    """A file with an end mark. NoProfileError: it is gone, or another user's."""
    with _opened_file(path) as file:
        yield Profile(file, os.fstat(file.fileno()).st_size, b"")


def ended_file(process: int, start_ticks: int) -> Path:
    """Of a process that has ended, before remove_ended(). NoProfileError: it left none."""
    images = [
        (file.image, file.path)
        for file in _files()
        if file.process == process and file.start_ticks in (0, start_ticks) and not file.is_of_living()
    ]
    if not images:
        raise NoProfileError(f"process {process} left no samples")
    return max(images)[1]


def copy_profile(process: int) -> bytes:
    """The same as profile_of(), whole."""
    text = io.BytesIO()
    with profile_of(process) as profile:
        profile.copy_to(text)
    return text.getvalue()


@contextmanager
def _opened_file(path: Path) -> Iterator[BinaryIO]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise NoProfileError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    with os.fdopen(descriptor, "rb") as file:
        if not _is_ours(os.fstat(descriptor)):
            raise NoProfileError(f"{path} is not read: it is another user's, or no file")
        yield file


@contextmanager
def opened(profile: bytes) -> Iterator[Trace]:
    """What copy_profile() gave. TraceError: it is none."""
    with tempfile.NamedTemporaryFile(suffix=".heapwright") as file:
        file.write(profile)
        file.flush()
        yield Trace(file.name)


def remove_ended() -> None:
    """What processes that are gone left behind, where it is ours."""
    for file in (*_files(), *_files(_UNFINISHED)):
        with suppress(OSError):
            if not file.is_of_living() and _is_ours(file.path.lstat()):
                file.path.unlink()


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and stat.S_ISREG(status.st_mode)


def _files(suffix: str = "") -> list[_File]:
    try:
        paths = list(FOLDER.iterdir())
    except OSError:
        return []
    named = ((path.name.removesuffix(suffix), path) for path in paths if path.name.endswith(suffix))
    found = ((_NAME.fullmatch(name), path) for name, path in named)
    return [_File(int(name[1]), int(name[2]), int(name[3] or 1), path) for name, path in found if name]
