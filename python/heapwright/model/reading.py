# SPDX-License-Identifier: MIT
"""A trace file opened natively, before anything else of the model is imported.

Importing the model takes about as long as reading the symbols of a program;
whoever opens a Reading first does both at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fsencode, fspath
from typing import Any

from heapwright.model import libraries, native

# src/symbolize/symbolize.hpp: Depth
_FULL, _BRIEF, _NONE = 0, 1, 2


class Reading:
    """An open trace file whose symbols may be being read in the background.

    Debug info of plumbing libraries is left out at first: it is large, and
    rarely needed.
    """

    def __init__(self, path: str | PathLike[str], debug_root: str | PathLike[str] = "") -> None:
        self.path = fspath(path)
        self.debug_root = fspath(debug_root)
        self.reader = native.open_reader(fsencode(self.path))
        self._symbols: native.SymbolReading | None = None

    def begin_symbols(self) -> None:
        """Reads the symbols in the background from now on."""
        if self._symbols is None:
            names = [path.rsplit("/", 1)[-1] for path in self.reader.modules()["path"]]
            self._symbols = self._read(_BRIEF if libraries.is_plumbing(name) else _FULL for name in names)

    def take_symbols(self, progress: native.Progress) -> dict[str, Any]:
        """Waits for the symbols' columns; only once."""
        self.begin_symbols()
        assert self._symbols is not None
        return self._symbols.take(progress)

    def read_all_symbols(self, progress: native.Progress) -> dict[str, Any]:
        """The columns with everything known about every frame."""
        return self._read(_FULL for _ in self.reader.modules()["path"]).take(progress)

    def symbols_of(self, wanted: int, objects: Iterable[int]) -> dict[str, Any]:
        """The columns with everything known about one object's frames; objects: of each module."""
        return self._read(_FULL if number == wanted else _NONE for number in objects).take(None)

    def _read(self, depths: Iterable[int]) -> native.SymbolReading:
        return native.SymbolReading(self.reader, fsencode(self.debug_root), bytes(depths))
