# SPDX-License-Identifier: MIT
"""The installed allocators, their files and versions."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path

from heapwright.measure.errors import MeasureError

OURS = "heapwright"
REFERENCE = "glibc"
_IDENTIFY_LIMIT_S = 20


@dataclass(frozen=True, slots=True)
class Known:
    """An allocator by name: its files, best first, and the package that provides them."""

    name: str
    files: tuple[str, ...]
    brought_by: str


KNOWN = (
    Known("jemalloc", ("libjemalloc.so.2",), "libjemalloc2"),
    Known("tcmalloc", ("libtcmalloc_minimal.so.4",), "libtcmalloc-minimal4"),
    Known("mimalloc", ("libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.2.0"), "libmimalloc2.0"),
    Known("tbb", ("libtbbmalloc_proxy.so.2",), "libtbbmalloc2"),
)
PEERS = ("jemalloc-new", "mimalloc-new", "rpmalloc-new", "snmalloc-new")
_LIBRARY_FOLDERS = (
    "/usr/local/lib",
    f"/usr/lib/{os.uname().machine}-linux-gnu",
    f"/lib/{os.uname().machine}-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
)


@dataclass(frozen=True, slots=True)
class Allocator:
    """An installed allocator; path is empty for the C library's."""

    name: str
    version: str
    path: str

    @property
    def title(self) -> str:
        """Name, version, and whose it is."""
        ours = " (ours)" if self.name == OURS else ""
        return f"{self.name} {self.version}".rstrip() + ours

    def environment(self) -> dict[str, str]:
        """The environment of a process that it serves."""
        own = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        return {**own, "LD_PRELOAD": self.path} if self.path else own

    def as_record(self) -> dict[str, str]:
        """The figures as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Missing:
    """An allocator that is known but not installed."""

    name: str
    brought_by: str


class Shelf:
    """The allocators of this machine."""

    def __init__(
        self,
        program: Path,
        build_folders: Sequence[Path] = (),
        library_folders: Sequence[str] = _LIBRARY_FOLDERS,
    ) -> None:
        self._program = program
        self._build_folders = build_folders
        self._library_folders = library_folders
        # Why an installed allocator was left out of choose([]).
        self.unusable: list[str] = []

    def files(self) -> dict[str, str]:
        """Paths of installed allocators by name."""
        found = {REFERENCE: ""}
        for known in KNOWN:
            path = self._first_file([Path(f) / name for name in known.files for f in self._library_folders])
            if path:
                found[known.name] = path
        for folder in self._build_folders:
            for peer in PEERS:
                path = self._first_file([folder / "peers" / f"lib{peer}.so"])
                if path:
                    found.setdefault(peer, path)
        ours = self._first_file([f / "lib/libheapwright.so" for f in self._build_folders])
        if ours:
            found[OURS] = ours
        return found

    def missing(self) -> list[Missing]:
        """Known allocators that are not installed."""
        found = self.files()
        lacking = [Missing(k.name, f"apt-get install {k.brought_by}") for k in KNOWN if k.name not in found]
        lacking += [Missing(peer, "make bench-peers") for peer in PEERS if peer not in found]
        if OURS not in found:
            lacking.append(Missing(OURS, "make build"))
        return lacking

    def choose(self, wanted: Sequence[str]) -> list[Allocator]:
        """The named ones (a name or a path of a .so), or all installed."""
        files = self.files()
        if wanted:
            return [self._open(*self._find(name, files)) for name in dict.fromkeys(wanted)]
        found = []
        for name, path in files.items():
            try:
                found.append(self._open(name, path))
            except MeasureError as error:
                self.unusable.append(str(error))
        return found

    def _find(self, name: str, files: Mapping[str, str]) -> tuple[str, str]:
        if name in files:
            return name, files[name]
        if "/" in name or name.endswith(".so"):
            path = Path(name)
            if not path.is_file():
                raise MeasureError(f"no such file: {name}; --on takes names and paths of shared libraries")
            return path.name.removeprefix("lib").split(".so")[0], str(path.resolve())
        for lacking in self.missing():
            if lacking.name == name:
                raise MeasureError(f"{name} is not installed; run: {lacking.brought_by}")
        close = get_close_matches(name, [*files, *(m.name for m in self.missing())], 1, 0.5)
        hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(files)}"
        raise MeasureError(f"no allocator {name}; {hint}")

    def _open(self, name: str, path: str) -> Allocator:
        allocator = Allocator(name, "", path)
        said = self._identify(allocator)
        if path and Path(said["malloc_from"]).resolve() != Path(path).resolve():
            raise MeasureError(
                f"{path} cannot be preloaded, or has no malloc; malloc comes from {said['malloc_from']}"
            )
        version = said["version"].removeprefix("gperftools ").split("-")[0]
        if not path:
            version = said["libc"]
        return Allocator(name, version or version_of(path), path)

    def _identify(self, allocator: Allocator) -> dict[str, str]:
        try:
            said: dict[str, str] = json.loads(self._run_idle(allocator).stdout)
            return {name: str(said[name]) for name in ("malloc_from", "version", "libc")}
        except subprocess.TimeoutExpired:
            raise MeasureError(f"{allocator.name}: an empty program hangs with {allocator.path}") from None
        except (json.JSONDecodeError, KeyError, TypeError):
            raise MeasureError(f"{allocator.name}: an empty program fails with {allocator.path}") from None

    def said(self, allocator: Allocator) -> str:
        """What the allocator writes to standard error in a program that does nothing."""
        return self._run_idle(allocator).stderr

    def _run_idle(self, allocator: Allocator) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self._program), "identify"],
            env=allocator.environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_IDENTIFY_LIMIT_S,
            check=False,
        )

    @staticmethod
    def _first_file(candidates: Sequence[Path]) -> str:
        return next((str(path.resolve()) for path in candidates if path.is_file()), "")


def mapped(maps: bytes) -> set[str]:
    """Those among the files of /proc/PID/maps.

    >>> mapped(b"7f00-7f01 r--p 00000000 08:01 1 /usr/lib/libjemalloc.so.2\\n")
    {'jemalloc'}
    """
    stems = {file.partition(".so")[0]: known.name for known in KNOWN for file in known.files}
    stems[f"lib{OURS}"] = OURS
    return {name for stem, name in stems.items() if f"/{stem}.so".encode() in maps}


def version_of(path: str) -> str:
    """What the note beside the file or its package says; empty where neither does."""
    note = Path(path).with_suffix(".version")
    if note.is_file():
        return note.read_text(encoding="utf-8").strip()
    for candidate in (path, path.replace("/usr/lib/", "/lib/", 1)):
        command = ["dpkg-query", "-S", candidate]
        try:
            owner = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split(": ")[0]
        except OSError:
            return ""
        if owner:
            command = ["dpkg-query", "-W", "-f", "${Version}", owner]
            version = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            return version.split("-")[0]
    return ""
