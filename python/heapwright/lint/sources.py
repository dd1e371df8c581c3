# SPDX-License-Identifier: MIT
"""Maps recorded source files to the user's files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

_SYSTEM = ("/usr/include/", "/usr/lib/", "/usr/local/include/", "/lib/")


class Sources:
    """The files under a folder, found by their recorded paths."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        self._known: dict[str, str] = {}

    def find(self, recorded: str) -> str:
        """The path of the user's file; "" = none. If the folder has moved since the build, by the longest
        matching end of the path."""
        found = self._known.get(recorded)
        if found is None:
            found = self._known[recorded] = self._find(recorded)
        return found

    def shown(self, file: str) -> str:
        """The path relative to the folder."""
        path = Path(file)
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else file

    def _find(self, recorded: str) -> str:
        if not recorded:
            return ""
        path = PurePosixPath(os.path.normpath(recorded))
        if str(path).startswith(_SYSTEM):
            return ""
        real = Path(os.path.realpath(path))
        if path.is_absolute() and real.is_relative_to(self.folder):
            return str(real) if real.is_file() else ""
        # A copy may have been built, and still exist: then more than the name has to match.
        least = 2 if path.is_absolute() and real.exists() else 1
        parts = path.parts[path.is_absolute() :]
        for first in range(len(parts)):
            near = self.folder.joinpath(*parts[first:])
            if ".." not in parts[first:] and near.is_file():
                return str(near) if _agreement(parts, near.parts) >= least else ""
        return ""


def _agreement(a: Sequence[str], b: Sequence[str]) -> int:
    """How many trailing parts are equal."""
    pairs = zip(reversed(a), reversed(b), strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), min(len(a), len(b)))
