# SPDX-License-Identifier: MIT
"""Finds the native programs in the installed package or in a build folder of the source tree."""

from __future__ import annotations

import os
from pathlib import Path

from heapwright.cli.errors import InputError

COLLECTOR = "heapwright-collect"
COUNTER = "libheapwright-count.so"
APPLIER = "libheapwright-apply.so"
ATTACHER = "heapwright-attach"


def _folders(kind: str) -> list[Path]:
    """Folders for files of a kind ("bin", "lib"). HEAPWRIGHT_BIN names the first one for programs."""
    package = Path(__file__).resolve().parent.parent
    folders = [package / kind, package.parent.parent / "build" / "release" / kind]
    chosen = os.environ.get("HEAPWRIGHT_BIN")
    if chosen:
        folders.insert(0, Path(chosen).parent / kind if kind != "bin" else Path(chosen))
    return folders


def _missing(name: str) -> InputError:
    machine = os.uname().machine
    if name in (APPLIER, ATTACHER) and machine != "x86_64":
        return InputError(f"{name} knows the code of x86-64 only and is not built for {machine}")
    clone = Path(__file__).resolve().parents[3]
    if (clone / "Makefile").is_file() and (clone / "src").is_dir():
        return InputError(
            f"{name} is not built yet, as `make run` builds only what records and explains; "
            f"run `make build` in {clone}"
        )
    return InputError(f"{name} is missing from this installation; install heapwright again")


def find_library(library: str = COUNTER) -> Path:
    """Path of a library to preload."""
    for folder in _folders("lib"):
        path = folder / library
        if path.is_file():
            return path.resolve()
    raise _missing(library)


def find(program: str = COLLECTOR) -> Path:
    """The program's path."""
    for folder in _folders("bin"):
        path = folder / program
        if path.is_file():
            if not os.access(path, os.X_OK):  # an archive unpacked without file modes
                raise InputError(f"{path} is not executable; run chmod +x {path}")
            return path
    raise _missing(program)
