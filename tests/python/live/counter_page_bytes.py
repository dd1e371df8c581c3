# SPDX-License-Identifier: MIT
"""Pages of counters made by hand, field by field."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
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
    data = _with_section("calls", TABLES_OFFSET + tables * CONSTANTS["table_bytes"], process)
    for field, value in (
        ("functions", CONSTANTS["function_count"]),
        ("bins", CONSTANTS["bin_count"]),
        ("table_bytes", CONSTANTS["table_bytes"]),
        ("tables_offset", TABLES_OFFSET),
        ("tables_used", tables),
        ("mean_stride", 64),
        ("slow_from_ns", 20_000),
    ):
        put(data, "calls", field, value, CONSTANTS["head_bytes"])
    return data


def make_heap_page(process: int = 1234) -> bytearray:
    """A page of our heap, all 0."""
    return _with_section("heap", CONSTANTS["head_bytes"] + CONSTANTS["heap_bytes"], process)


def make_apply_page(rows: int = 2, process: int = 1234) -> bytearray:
    """Remedies segregate@site0 and so on; the counters of each are 100, 101 and so on, plus its number."""
    head, row_bytes = CONSTANTS["head_bytes"], CONSTANTS["remedy_bytes"]
    begin = head + CONSTANTS["remedies_bytes"]
    data = _with_section("remedies", begin + rows * row_bytes, process)
    for field, value in (("row_count", rows), ("row_bytes", row_bytes), ("rows_offset", begin)):
        put(data, "remedies", field, value, head)
    for row in range(rows):
        at = begin + row * row_bytes
        for field, name in (("change", b"segregate"), ("site", b"site%d" % row)):
            offset = at + FIELDS["remedy"][field][0]
            data[offset : offset + len(name)] = name
        for number, field in enumerate(RemedyFigures._fields[1:]):
            put(data, "remedy", field, 100 + number + row, at)
    return data


def with_contexts(page: bytearray, sums: Mapping[bytes, Sequence[int]], rows: int = 8) -> bytearray:
    """The page of calls with a second section, of contexts: by name what ContextSums has."""
    row_bytes, section_at = CONSTANTS["context_bytes"], len(page)
    begin = section_at + CONSTANTS["contexts_bytes"]
    data = page + bytes(CONSTANTS["contexts_bytes"] + rows * row_bytes)
    put(data, "head", "page_bytes", len(data))
    section = FIELDS["head"]["sections"][0] + CONSTANTS["section_bytes"]
    for field, value in (
        ("kind", CONSTANTS["contexts_kind"]),
        ("version", CONSTANTS["contexts_version"]),
        ("offset", section_at),
        ("bytes", len(data) - section_at),
    ):
        put(data, "section", field, value, section)
    for field, value in (("row_count", rows), ("row_bytes", row_bytes), ("rows_offset", begin)):
        put(data, "contexts", field, value, section_at)
    for row, (name, values) in enumerate(sums.items(), 1):
        at = begin + row * row_bytes
        put(data, "context", "state", CONSTANTS["context_named"], at)
        offset = at + FIELDS["context"]["name"][0]
        data[offset : offset + len(name)] = name
        for index, value in enumerate(values):
            put(data, "context", "sums", value, at, index)
    return data


def _with_section(kind: str, size: int, process: int) -> bytearray:
    """A head and one section behind it, up to the page's end, all 0."""
    data = bytearray(size)
    begin = CONSTANTS["head_bytes"]
    for field, value in (
        ("magic", CONSTANTS["magic"]),
        ("version", CONSTANTS["head_version"]),
        ("page_bytes", size),
        ("process", process),
    ):
        put(data, "head", field, value)
    section = FIELDS["head"]["sections"][0]
    for field, value in (
        ("kind", CONSTANTS[f"{kind}_kind"]),
        ("version", CONSTANTS[f"{kind}_version"]),
        ("offset", begin),
        ("bytes", size - begin),
    ):
        put(data, "section", field, value, section)
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
