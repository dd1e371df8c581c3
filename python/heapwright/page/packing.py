# SPDX-License-Identifier: MIT
"""Compact numbers: varints, deflated, in base64. parts/data.js reads them."""

from __future__ import annotations

import base64
import zlib


class Pack:
    """Unsigned numbers of 7 bits a byte, the low ones first; the eighth bit says that more follow."""

    def __init__(self) -> None:
        self.data = bytearray()

    def __len__(self) -> int:
        return len(self.data)

    def number(self, value: int) -> None:
        """Appends a number from 0 on."""
        while value > 127:
            self.data.append(value & 127 | 128)
            value >>= 7
        self.data.append(value)

    def signed(self, value: int) -> None:
        """Appends any number: 0, -1, 1, -2 are 0, 1, 2, 3."""
        self.number(-2 * value - 1 if value < 0 else 2 * value)


def spelt(data: bytes | bytearray) -> str:
    """As a text for the page."""
    deflate = zlib.compressobj(7, zlib.DEFLATED, -15)
    return base64.b64encode(deflate.compress(bytes(data)) + deflate.flush()).decode()
