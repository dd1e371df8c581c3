# SPDX-License-Identifier: MIT
"""Finds the native programs: in the installed package, or in a build folder of the source tree."""

from __future__ import annotations

import os
from pathlib import Path

from heapwright.cli.errors import InputError

COLLECTOR = "heapwright-collect"


def find(program: str = COLLECTOR) -> Path:
    """The program's path. HEAPWRIGHT_BIN names a folder to look in first."""
    package = Path(__file__).resolve().parent.parent
    folders = [package / "bin", package.parent.parent / "build" / "release" / "bin"]
    chosen = os.environ.get("HEAPWRIGHT_BIN")
    if chosen:
        folders.insert(0, Path(chosen))
    for folder in folders:
        path = folder / program
        if path.is_file():
            if not os.access(path, os.X_OK):  # an archive unpacked without modes
                raise InputError(f"{path} is not executable; run chmod +x {path}")
            return path
    raise InputError(f"{program} is not installed with this package; build it with `make build`")
