# SPDX-License-Identifier: MIT
"""The wire format of protocol buffers, as far as profiles need it: no package for a few fields.

https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence


class Strings:
    """A string table; the first is empty, as pprof and OTLP ask."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def of(self, text: str) -> int:
        """The text's place."""
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def texts(self) -> Sequence[str]:
        """All of them, by place."""
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
    """A field with a number of 64 bits, as fixed64 is."""
    return varint(field << 3 | 1) + struct.pack("<Q", value)


def message(field: int, payload: bytes | Iterable[int]) -> bytes:
    """A field with bytes: a message, or a text."""
    whole = bytes(payload)
    return varint(field << 3 | 2) + varint(len(whole)) + whole


def text(field: int, value: str) -> bytes:
    """A field with a text; what is no character of Unicode's is replaced."""
    return message(field, value.encode(errors="replace"))


def packed(field: int, values: Iterable[int]) -> bytes:
    """A repeated field of unsigned numbers."""
    return message(field, b"".join(map(varint, values)))
