# SPDX-License-Identifier: MIT
"""A trace file opened natively, before anything else of the model is imported.

Importing the model takes about as long as reading the symbols of a program;
whoever opens a Reading first does both at once.
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from heapwright import _native


class Reading:
    """An open trace file whose symbols may be being read in the background."""

    def __init__(self, path: str | PathLike[str], debug_root: str | PathLike[str] = "") -> None:
        self.path = fspath(path)
        self.debug_root = fspath(debug_root)
        self.reader = _native.open(self.path)
        self._symbols: _native.SymbolReading | None = None

    def begin_symbols(self) -> None:
        """Reads the symbols in the background from now on."""
        if self._symbols is None:
            self._symbols = _native.SymbolReading(self.reader, self.debug_root)

    def take_symbols(self, progress: _native.Progress) -> dict[str, Any]:
        """The symbols' columns, waited for; once only."""
        self.begin_symbols()
        assert self._symbols is not None
        return self._symbols.take(progress)
