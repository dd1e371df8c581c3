# SPDX-License-Identifier: MIT
"""The part of the protocol buffers wire format that profiles need, to avoid a package for a few fields.

https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence


class Strings:
    """A string table; the first entry is empty, as pprof and OTLP require."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def of(self, text: str) -> int:
        """The text's index."""
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def texts(self) -> Sequence[str]:
        """All texts, by index."""
        return list(self._numbers)


def varint(value: int) -> bytes:
    """An unsigned number.

    >>> varint(300)
    b'\\xac\\x02'
    """
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A field with an unsigned number."""
    return varint(field << 3) + varint(value)


def fixed(field: int, value: int) -> bytes:
    """A fixed64 field."""
    return varint(field << 3 | 1) + struct.pack("<Q", value)


def message(field: int, payload: bytes | Iterable[int]) -> bytes:
    """A field with bytes: a message, or a text."""
    whole = bytes(payload)
    return varint(field << 3 | 2) + varint(len(whole)) + whole


def text(field: int, value: str) -> bytes:
    """A field with a text; invalid Unicode is replaced."""
    return message(field, value.encode(errors="replace"))


def packed(field: int, values: Iterable[int]) -> bytes:
    """A repeated field of unsigned numbers."""
    return message(field, b"".join(map(varint, values)))
