# SPDX-License-Identifier: MIT
"""What a page of counters looks like: the places of its fields, which the native module has from C++."""

from __future__ import annotations

import struct

from heapwright.model.native import counters_constants, counters_layout

CONSTANTS = counters_constants()
FIELDS = counters_layout()

FUNCTIONS = ("malloc", "calloc", "realloc", "aligned", "new", "free", "delete")
MAKING = FUNCTIONS[:5]
RELEASING = FUNCTIONS[5:]
BIN_COUNT = CONSTANTS["bin_count"]
PAGE_OF_CALLS_BYTES = CONSTANTS["table_bytes"] * (1 + CONSTANTS["max_call_tables"])


def number(data: bytes, part: str, field: str, start: int = 0) -> int:
    """One field of 4 or 8 bytes; `start`: where its part begins."""
    offset, size = FIELDS[part][field]
    return int.from_bytes(data[start + offset : start + offset + size], "little")


def text(data: bytes, part: str, field: str, start: int = 0) -> str:
    """A field of characters up to the first 0; what cannot be shown is escaped."""
    offset, size = FIELDS[part][field]
    return printable(data[start + offset : start + offset + size].partition(b"\0")[0])


def printable(raw: bytes) -> str:
    """A name that somebody else chose, fit for a terminal.

    >>> printable(b"a\\x1b[2J")
    'a�[2J'
    """
    return "".join(letter if letter.isprintable() else "�" for letter in raw.decode(errors="replace"))


def numbers(data: bytes, part: str, field: str, start: int = 0) -> tuple[int, ...]:
    """A field of several 64-bit numbers."""
    offset, size = FIELDS[part][field]
    return struct.unpack_from(f"<{size // 8}Q", data, start + offset)


def bin_edges(index: int) -> tuple[int, int]:
    """The first value of a bin, and the first one behind it.

    >>> bin_edges(3), bin_edges(4), bin_edges(8), bin_edges(9)
    ((3, 4), (4, 5), (8, 10), (10, 12))
    """
    return _first_of(index), _first_of(index + 1)


def _first_of(index: int) -> int:
    return index if index < 4 else (4 + index % 4) << (index // 4 - 1)
