# SPDX-License-Identifier: MIT
"""Pages of counters made by hand, field by field."""

from __future__ import annotations

import struct
from pathlib import Path

from heapwright.live.layout import CONSTANTS, FIELDS
from heapwright.live.page import Page, RemedyFigures, parse_page

TABLES_OFFSET = 4096


def put(data: bytearray, part: str, field: str, value: int, start: int = 0, index: int = 0) -> None:
    """One number into its place."""
    offset, size = FIELDS[part][field]
    width = 4 if size == 4 else 8
    struct.pack_into("<I" if width == 4 else "<Q", data, start + offset + index * width, value)


def make_page(tables: int = 2, process: int = 1234) -> bytearray:
    """A page of calls whose tables are all 0."""
    data = bytearray(TABLES_OFFSET + tables * CONSTANTS["table_bytes"])
    put(data, "head", "magic", CONSTANTS["magic"])
    put(data, "head", "version", CONSTANTS["head_version"])
    put(data, "head", "page_bytes", len(data))
    put(data, "head", "process", process)
    begin = CONSTANTS["head_bytes"]
    section = FIELDS["head"]["sections"][0]
    put(data, "section", "kind", CONSTANTS["calls_kind"], section)
    put(data, "section", "version", CONSTANTS["calls_version"], section)
    put(data, "section", "offset", begin, section)
    put(data, "section", "bytes", len(data) - begin, section)
    for field, value in (
        ("functions", CONSTANTS["function_count"]),
        ("bins", CONSTANTS["bin_count"]),
        ("table_bytes", CONSTANTS["table_bytes"]),
        ("tables_offset", TABLES_OFFSET),
        ("tables_used", tables),
        ("mean_stride", 64),
        ("slow_from_ns", 20_000),
    ):
        put(data, "calls", field, value, begin)
    return data


def make_heap_page(process: int = 1234) -> bytearray:
    """A page of our heap, all 0."""
    data = bytearray(CONSTANTS["head_bytes"] + CONSTANTS["heap_bytes"])
    put(data, "head", "magic", CONSTANTS["magic"])
    put(data, "head", "version", CONSTANTS["head_version"])
    put(data, "head", "page_bytes", len(data))
    put(data, "head", "process", process)
    section = FIELDS["head"]["sections"][0]
    put(data, "section", "kind", CONSTANTS["heap_kind"], section)
    put(data, "section", "version", CONSTANTS["heap_version"], section)
    put(data, "section", "offset", CONSTANTS["head_bytes"], section)
    put(data, "section", "bytes", CONSTANTS["heap_bytes"], section)
    return data


def make_apply_page(rows: int = 2, process: int = 1234) -> bytearray:
    """Remedies segregate@site0 and so on; the counters of each are 100, 101 and so on, plus its number."""
    head, section_bytes = CONSTANTS["head_bytes"], CONSTANTS["remedies_bytes"]
    data = bytearray(head + section_bytes + rows * CONSTANTS["remedy_bytes"])
    put(data, "head", "magic", CONSTANTS["magic"])
    put(data, "head", "version", CONSTANTS["head_version"])
    put(data, "head", "page_bytes", len(data))
    put(data, "head", "process", process)
    section = FIELDS["head"]["sections"][0]
    put(data, "section", "kind", CONSTANTS["remedies_kind"], section)
    put(data, "section", "version", CONSTANTS["remedies_version"], section)
    put(data, "section", "offset", head, section)
    put(data, "section", "bytes", len(data) - head, section)
    put(data, "remedies", "row_count", rows, head)
    put(data, "remedies", "row_bytes", CONSTANTS["remedy_bytes"], head)
    put(data, "remedies", "rows_offset", head + section_bytes, head)
    for row in range(rows):
        at = head + section_bytes + row * CONSTANTS["remedy_bytes"]
        for field, name in (("change", b"segregate"), ("site", b"site%d" % row)):
            offset = at + FIELDS["remedy"][field][0]
            data[offset : offset + len(name)] = name
        for number, field in enumerate(RemedyFigures._fields[1:]):
            put(data, "remedy", field, 100 + number + row, at)
    return data


def table_at(index: int) -> int:
    """Where a table begins."""
    return TABLES_OFFSET + index * CONSTANTS["table_bytes"]


def parse(data: bytes) -> Page:
    """As if it were a file's whole content."""
    return parse_page("page", len(data), lambda start, count: bytes(data[start : start + count]))


def write(path: Path, data: bytes) -> str:
    """Into a file."""
    path.write_bytes(data)
    return str(path)
