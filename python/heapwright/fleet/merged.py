# SPDX-License-Identifier: MIT
"""A folder's files joined into few, in the user's cache folder: most of an answer's time is opening files.

The files of a table, in order of their last change, are cut into runs by a hash of their names, so that a
new, changed or removed file changes one run and leaves the others as they are. The copy of a run is named by
its files' names, numbers, sizes and times of change, which are looked at for every answer: no copy is ever
out of date.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

# Of a change in how copies are made: others are not used.
_FORM = "1"
_FILES_EACH = 512  # on average
# As few are opened in less time than it takes to join them.
_LEAST_FILES = 64
_LOCK = "lock"
_UNUSED_S = 30 * 86_400


class Table(NamedTuple):
    """What holds a table's rows: copies of many files, which have service, version and date as columns, and
    files of the folder, which have these in their paths."""

    copies: list[Path]
    files: list[Path]


class _File(NamedTuple):
    changed_ns: int
    name: str
    state: str

    @property
    def ends_run(self) -> bool:
        return zlib.crc32(self.name.encode("utf-8", "surrogateescape")) % _FILES_EACH == 0


class Copies:
    """The copies of one folder; used in a with statement, within which none of them is removed.

    Several processes may use, make and remove copies at once: each holds a shared lock while it uses them,
    and removes what is out of date only if it gets the lock for itself. Without a cache folder to write to,
    or on a full disk, there are no copies.
    """

    def __init__(self, folder: Path, make: Callable[[str, Sequence[Path], Path], None]) -> None:
        """make: writes the rows of files of a table into a new file; OSError if it cannot."""
        self._folder = folder.resolve()
        self._make = make
        self._home = _home(self._folder)
        self._lock: int | None = None
        self._listed: dict[str, set[str]] = {}

    def __enter__(self) -> Copies:
        with suppress(OSError):
            self._home.mkdir(parents=True, mode=0o700, exist_ok=True)
            about = self._home.stat()
            if about.st_uid == os.getuid() and not about.st_mode & 0o022:
                self._lock = os.open(
                    self._home / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
                )
                fcntl.flock(self._lock, fcntl.LOCK_SH)
                os.utime(self._lock)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is None:
            return
        with suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._remove_others()
            _remove_unused(self._home)
        os.close(self._lock)
        self._lock = None

    def of(self, table: str) -> Table:
        """What to read of a table; makes the copies that are missing. One look at each of its files."""
        found = Table([], [])
        names = self._listed.setdefault(table, set())
        for run, is_whole in _runs(_list(self._folder, table)):
            if not is_whole and len(run) < _LEAST_FILES:
                found.files.extend(self._paths(table, run))
                continue
            copy = self._home / f"{table}-{_digest(run)}.parquet"
            names.add(copy.name)
            if self._lock is not None and (copy.exists() or self._made(table, run, copy)):
                found.copies.append(copy)
            else:
                found.files.extend(self._paths(table, run))
        return found

    def _paths(self, table: str, run: Sequence[_File]) -> list[Path]:
        return [self._folder / table / file.name for file in run]

    def _made(self, table: str, run: Sequence[_File], copy: Path) -> bool:
        part = copy.with_name(f".{copy.name}.{os.getpid()}.part")
        before = os.umask(0o077)
        try:
            self._make(table, self._paths(table, run), part)
            part.replace(copy)
        except OSError:
            return False
        finally:
            os.umask(before)
            part.unlink(missing_ok=True)
        return True

    def _remove_others(self) -> None:
        """While nobody else uses or makes any: copies out of date, and parts that a killed process left."""
        for path in self._home.iterdir():
            names = self._listed.get(path.name.partition("-")[0])
            if path.suffix == ".part" or (names is not None and path.name not in names):
                path.unlink()


def remove_copies(folder: Path) -> bool:
    """Removes all copies of a folder, as when one is damaged, and whether there were any."""
    found = list(_home(folder.resolve()).glob("*.parquet"))
    for path in found:
        path.unlink(missing_ok=True)
    return bool(found)


def _home(folder: Path) -> Path:
    above = Path(os.environ.get("XDG_CACHE_HOME", ""))
    above = above if above.is_absolute() else Path("~/.cache").expanduser()
    of = hashlib.sha256(os.fsencode(folder)).hexdigest()[:24]
    return above / "heapwright" / "fleet" / f"{_FORM}-{of}"


def _remove_unused(home: Path) -> None:
    """Copies of other folders that nobody asked of for long."""
    oldest = time.time() - _UNUSED_S
    for other in home.parent.iterdir():
        if other == home or (other / _LOCK).stat().st_mtime > oldest:
            continue
        lock = os.open(other / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(other)
        finally:
            os.close(lock)


def _list(folder: Path, table: str) -> list[_File]:
    above = folder / table
    # Thousands of files: a path is made of a folder, not of each file.
    folders = [(where, str(where.relative_to(above))) for where in above.glob("service=*/version=*/date=*")]
    found = [
        _seen(f"{name}/{entry.name}", entry.stat())
        for where, name in folders
        for entry in os.scandir(where)
        if entry.name.endswith(".parquet") and not entry.name.startswith(".")
    ]
    found.sort()
    return found


def _seen(name: str, about: os.stat_result) -> _File:
    state = f"{about.st_ino} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"
    return _File(about.st_mtime_ns, name, state)


def _runs(files: Sequence[_File]) -> Iterator[tuple[list[_File], bool]]:
    """The files in runs, and whether a later file leaves the run as it is."""
    run: list[_File] = []
    for file in files:
        run.append(file)
        if file.ends_run:
            yield run, True
            run = []
    if run:
        yield run, False


def _digest(run: Sequence[_File]) -> str:
    of = hashlib.sha256()
    for file in run:
        of.update(os.fsencode(f"{file.name}\0{file.state}\n"))
    return of.hexdigest()[:32]
