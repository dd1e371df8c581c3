# SPDX-License-Identifier: MIT
"""The JSON of count and top: their schemas are kept; that of count holds for pages made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from counter_page_bytes import make_page, parse, put, table_at
from heapwright.live import schema
from heapwright.live.counted_run import Counted
from heapwright.live.document import describe, make_document
from heapwright.live.layout import CONSTANTS

SCHEMAS = Path(schema.__file__).parent.parent / "schemas"
KEPT = SCHEMAS / "count-1.json"


@pytest.mark.parametrize("command", schema.SCHEMAS)
def test_the_schema_is_kept(command: str) -> None:
    assert (SCHEMAS / f"{command}-1.json").read_text(encoding="utf-8") == schema.as_text(command)


@pytest.mark.parametrize("flags", [0, CONSTANTS["has_unknown_usable"], CONSTANTS["is_attached"]])
def test_the_schema_holds(flags: int) -> None:
    page = make_page(1)
    put(page, "calls", "flags", flags, CONSTANTS["head_bytes"])
    put(page, "table", "calls", 3, table_at(0), index=0)
    put(page, "table", "calls", 5, table_at(0), index=5)
    put(page, "table", "sizes", 3, table_at(0), index=9)
    put(page, "table", "released_bytes", 70, table_at(0))
    record = describe(Counted(parse(bytes(page)), False))
    assert (record["live_blocks"], record["calls"]["malloc"]) == (-2, 3)
    assert record["live_bytes"] == (None if flags == CONSTANTS["has_unknown_usable"] else -70)
    interval = {
        "time_ns": 1,
        "calls_per_s": 0.5,
        "requested_bytes_per_s": 2,
        "live_bytes": -1,
        "calls_while_reading": 0,
        "processes": 1,
    }
    document = json.loads(json.dumps(make_document([record], [interval], ["a note"], exit_code=3, wall_ns=9)))
    jsonschema.validate(document, json.loads(KEPT.read_text(encoding="utf-8")))
    document["processes"][0]["colour"] = "blue"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json.loads(KEPT.read_text(encoding="utf-8")))
