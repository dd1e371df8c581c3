# SPDX-License-Identifier: MIT
"""The JSON of count and top: the schema of count holds for pages made by hand."""

from __future__ import annotations

import json

import jsonschema
import pytest
from counter_page_bytes import make_page, parse, put, table_at
from heapwright.cli import schemas
from heapwright.cli.output import make_console
from heapwright.live import show
from heapwright.live.counted_run import Counted
from heapwright.live.document import describe, make_document
from heapwright.live.layout import CONSTANTS
from heapwright.live.memory import Memory
from heapwright.live.outside import NOTHING

SCHEMA = schemas.of("count")


@pytest.mark.parametrize("flags", [0, CONSTANTS["has_unknown_usable"], CONSTANTS["is_attached"]])
def test_the_schema_holds(flags: int) -> None:
    page = make_page(1)
    put(page, "calls", "flags", flags, CONSTANTS["head_bytes"])
    put(page, "table", "calls", 3, table_at(0), index=0)
    put(page, "table", "calls", 5, table_at(0), index=5)
    put(page, "table", "sizes", 3, table_at(0), index=9)
    put(page, "table", "released_bytes", 70, table_at(0))
    counted = Counted(parse(bytes(page)), False)
    record = describe(counted)
    assert (record["live_blocks"], record["calls"]["malloc"]) == (-2, 3)
    assert record["live_bytes"] == (None if flags == CONSTANTS["has_unknown_usable"] else -70)
    interval = {
        "time_ns": 1,
        "calls_per_s": 0.5,
        "requested_bytes_per_s": 2,
        "live_bytes": -1,
        "calls_while_reading": 0,
        "processes": 1,
        "anonymous_bytes": 4096,
    }
    document = json.loads(
        json.dumps(make_document([counted], [interval], ["a note"], exit_code=3, wall_ns=9))
    )
    jsonschema.validate(document, SCHEMA)
    document["processes"][0]["colour"] = "blue"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def image(process: int, program: str, mallocs: int, is_running: bool = False) -> Counted:
    page = make_page(1, process)
    put(page, "table", "calls", mallocs, table_at(0), index=0)
    put(page, "table", "requested_bytes", 1024 * mallocs, table_at(0))
    found = parse(bytes(page))
    assert found.calls is not None
    return Counted(found._replace(calls=found.calls._replace(program=program)), is_running)


def test_programs_are_sums_of_images() -> None:
    counted = [image(1, "/bin/sh", 5), image(2, "/bin/cc1", 40, is_running=True), image(3, "/bin/cc1", 60)]
    cc1, shell = make_document(counted)["programs"]
    assert (cc1["program"], cc1["images"], cc1["running"], cc1["calls"]["malloc"]) == ("/bin/cc1", 2, 1, 100)
    assert (shell["program"], shell["images"], shell["running"]) == ("/bin/sh", 1, 0)


def test_many_processes_are_shown_by_program(capsys: pytest.CaptureFixture[str]) -> None:
    counted = [image(number, "/bin/cc1", 1000) for number in range(20)]
    show.show_all(make_document(counted), make_console(wide=True))
    assert "images" not in capsys.readouterr().out
    counted += [image(100 + number, f"/bin/tool{number}", 1) for number in range(21)]
    show.show_all(make_document(counted), make_console(wide=True))
    said = capsys.readouterr().out
    assert "20  20,000   19.5 MiB" in said
    assert "2 more programs: --json lists all" in said
    assert "--json lists each of the 41 images" in said
    assert "/bin/cc1   20 images together" in said
    assert "live" not in said


def test_a_peak_is_that_of_the_last_look(capsys: pytest.CaptureFixture[str]) -> None:
    memory = Memory(5 << 20, 3 << 20, 2 << 20, 0, 0, 6 << 20)
    for is_running, words in (
        (True, "6.00 MiB at most; at the last look 3.00 MiB anonymous"),
        (False, "6.00 MiB at most until the last look; then 3.00 MiB anonymous"),
    ):
        counted = image(1, "/bin/sh", 5, is_running)._replace(memory=NOTHING | memory._asdict())
        show.show_process(describe(counted), make_console(wide=True))
        assert words in capsys.readouterr().out
