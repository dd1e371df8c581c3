# SPDX-License-Identifier: MIT
"""The chunks of a trace file with everything in them unpacked, read by docs/trace-format.md alone."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

EVENTS, METADATA, INDEX, NAMES = 2, 1, 9, 13
_HEADER_BYTES = 56
_ZSTD = ctypes.CDLL("libzstd.so.1")
_ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
_ZSTD.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


class Chunk(NamedTuple):
    """One chunk; content: all its blocks, unpacked."""

    kind: int
    offset: int
    bytes: int
    content: bytes


def chunks(path: Path) -> Iterator[Chunk]:
    """All chunks of a file that nobody cut."""
    data = path.read_bytes()
    offset = 32
    while data[offset : offset + 4] == b"HWCK":
        kind = int.from_bytes(data[offset + 4 : offset + 6], "little")
        size = int.from_bytes(data[offset + 8 : offset + 12], "little")
        payload = data[offset + _HEADER_BYTES : offset + _HEADER_BYTES + size]
        yield Chunk(kind, offset, _HEADER_BYTES + size, _unpacked(payload, kind == EVENTS))
        offset += _HEADER_BYTES + size


def everything_in(path: Path) -> bytes:
    """The file's bytes, and those of all its blocks unpacked."""
    return path.read_bytes() + b"".join(chunk.content for chunk in chunks(path))


def _unpacked(payload: bytes, is_events: bool) -> bytes:
    found, at = b"", 0
    if not is_events:
        return _block(payload, 0)[0]
    columns = payload[0]
    at = 1
    for _ in range(columns):
        block, at = _block(payload, at + 1)
        found += block
    return found


def _block(payload: bytes, at: int) -> tuple[bytes, int]:
    encoding = payload[at]
    size, at = _varint(payload, at + 1)
    if encoding == 0:
        return payload[at : at + size], at + size
    if encoding == 1:
        return payload[at : at + 1] * size, at + 1
    stored, at = _varint(payload, at)
    out = ctypes.create_string_buffer(max(size, 1))
    assert _ZSTD.ZSTD_decompress(out, size, payload[at : at + stored], stored) == size
    return out.raw[:size], at + stored


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (payload[at] & 127) << shift
        shift += 7
        at += 1
        if payload[at - 1] < 128:
            return value, at
