# SPDX-License-Identifier: MIT
"""One column is all that JSON, its schema and the terminal know of a figure."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from heapwright.report import terminal
from heapwright.report.columns import ASIDE, OPEN, TEXT, Choice, Column, Many, added_later, record
from heapwright.report.schema import object_of
from rich.console import Console

ROW = SimpleNamespace(bytes=1536, calls=3, name="parse", hidden=7)
WHOLE = {"bytes": 6144}
COLUMNS = (
    Column("bytes", "bytes", "bytes"),
    Column("share", "share", "share", lambda row, whole: row.bytes / whole["bytes"]),
    Column("calls", "count", lambda whole: "calls" if whole["bytes"] else ""),
    Column("hidden"),
    Column("", "count", "doubled", text=lambda row, _: str(2 * row["calls"])),
    Column("name", TEXT, "call site"),
    Column("note", "text", value=added_later),
)


def printed(columns: tuple[Column, ...], records: list[dict[str, Any]], whole: dict[str, Any]) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=80, highlight=False).print(terminal.table(columns, records, whole))
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


def test_a_row_as_data_and_for_people() -> None:
    found = record(COLUMNS, ROW, WHOLE)
    assert found == {"bytes": 1536, "share": 0.25, "calls": 3, "hidden": 7, "name": "parse"}
    lines = printed(COLUMNS, [found], WHOLE)
    assert (lines[0], lines[2]) == ("bytes share calls doubled call site", "1.50 KiB 25.0 % 3 6 parse")


ASIDES = (Column("bytes", "bytes", "bytes"), Column("type", ASIDE, "type"), Column("name", TEXT, "call site"))
OF_TYPES = [
    {"bytes": 1536, "type": "Widget, 3 more", "name": "shop::make_widgets  shop/widgets.cpp:120"},
    {"bytes": 64, "type": "", "name": "parse"},
    {"bytes": 8, "type": "elements of std::vector<shop::Widget>", "name": "fill"},
]


def lines_at(width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(terminal.table(ASIDES, OF_TYPES))
    return out.getvalue().splitlines()


def test_an_aside_stands_beside_the_last_column_where_there_is_room() -> None:
    assert lines_at(100)[0].split() == ["bytes", "type", "call", "site"]
    assert lines_at(100)[2] == (
        "1.50 KiB  Widget, 3 more                         shop::make_widgets  shop/widgets.cpp:120"
    )
    assert lines_at(82)[4] == "     8 B  elements of std…<shop::Widget>  fill"


def test_an_aside_stands_below_the_last_column_where_there_is_none() -> None:
    assert lines_at(60) == [
        "   bytes  call site",
        "─" * 50,
        "1.50 KiB  shop::make_widgets  shop/widgets.cpp:120",
        "            type: Widget, 3 more",
        "    64 B  parse",
        "     8 B  fill",
        "            type: elements of std::vector<shop::Widget>",
    ]
    assert lines_at(30) == [
        "   bytes",
        "    call site",
        "─" * 30,
        "1.50 KiB",
        "    shop::make_wi…gets.cpp:120",
        "      type: Widget, 3 more",
        "    64 B",
        "    parse",
        "     8 B",
        "    fill",
        "      type: eleme…hop::Widget>",
    ]


def test_what_has_no_heading_is_in_json_alone() -> None:
    assert "7" not in "".join(printed(COLUMNS, [record(COLUMNS, ROW, WHOLE)], WHOLE))
    assert "calls" not in printed(COLUMNS, [record(COLUMNS, ROW, WHOLE)], {"bytes": 0})[0]


def test_what_has_no_key_is_shown_alone() -> None:
    assert "" not in record([*COLUMNS[:3], *COLUMNS[5:]], ROW, WHOLE)
    assert list(record([COLUMNS[4]], ROW, WHOLE)) == []


@pytest.mark.parametrize(
    ("change", "is_valid"),
    [
        ({}, True),
        ({"note": "put in later"}, True),
        ({"more": 1}, False),
        ({"bytes": -1}, False),
        ({"bytes": None}, False),
        ({"share": None}, True),
        ({"kind": "other"}, False),
        ({"parts": [{"from": 1}]}, True),
        ({"parts": [{"to": 1}]}, False),
        ({"intervals": {}}, True),
    ],
)
def test_the_schema_holds_rows_to_their_columns(change: dict[str, Any], is_valid: bool) -> None:
    columns = (
        Column("bytes", "count", sampled="bytes"),
        Column("share", "number", sampled=OPEN),
        Column("kind", Choice(("one", "two"))),
        Column("parts", Many((Column("from"),))),
        Column("", "count", "shown"),
        Column("note", "text", value=added_later),
    )
    names = {
        "count": {"type": "integer", "minimum": 0},
        "open": {"type": "null"},
        "intervals": {"type": "object"},
    }
    validator = jsonschema.Draft202012Validator({**object_of(columns), "$defs": names})
    assert validator.is_valid({"bytes": 1, "share": 0.5, "kind": "one", "parts": [], **change}) == is_valid
    assert not validator.is_valid({"share": 0.5, "kind": "one", "parts": []})
