# SPDX-License-Identifier: MIT
"""Pools and regions that a program named: what they handed out, held at most and hold at the end."""

from __future__ import annotations

from pathlib import Path

import heapwright
from heapwright.explain import pools
from heapwright.explain.annotations import Mark, marks_of
from heapwright.explain.pools import pools_of, regions_of
from test_explain import check, explained, printed
from test_phases import say
from written_traces import MALLOC, MadeTrace

CREATE, DESTROY, ALLOCATE, FREE, REGION = 90, 91, 92, 93, 94


def made_trace(path: Path) -> heapwright.Trace:
    made = MadeTrace()

    def take(pool: int, block: int, size: int, thread: int = 0) -> None:
        made.event(ALLOCATE, block, size, usable=pool, took=0, thread=thread)

    def give(pool: int, block: int, thread: int = 0) -> None:
        made.event(FREE, block, 0, usable=pool, took=0, thread=thread)

    take(0x9000, 0x9100, 7)  # its creation was not recorded
    say(made, CREATE, "orders", address=0x1000)
    take(0x1000, 0x1010, 100)
    take(0x1000, 0x1020, 50, thread=1)
    give(0x1000, 0x1010, thread=1)
    take(0x1000, 0x1010, 30)
    made.event(DESTROY, 0x1000, took=0, usable=0)
    say(made, CREATE, "orders", address=0x1000)  # another one at the same address
    take(0x1000, 0x1010, 200)
    take(0x1000, 0x1010, 240)  # resized
    take(0x1000, 0x1030, 5)
    give(0x1000, 0x1030)
    give(0x1000, 0x1040)  # never taken: changes nothing
    say(made, CREATE, "idle", address=0x5000)
    say(made, REGION, "old name", address=0x7000, size=10)
    say(made, REGION, "buffers", address=0x7000, size=4096)
    say(made, REGION, "buffers", address=0x8000, size=4096)
    return heapwright.open(made.write(path / "made.heapwright"))


def test_what_pools_and_regions_hold(tmp_path: Path) -> None:
    document = explained(made_trace(tmp_path))
    check(document)
    answer = document["questions"]["pools"]
    orders, unnamed, idle = answer["pools"]
    assert orders == {
        "name": "orders",
        "pools": 2,
        "allocations": 6,
        "requested_bytes": 625,
        "peak_bytes": 245,
        "live_blocks": 1,
        "live_bytes": 240,
    }
    assert (unnamed["name"], unnamed["peak_bytes"], unnamed["live_blocks"]) == ("", 7, 1)
    assert (idle["name"], idle["pools"], idle["allocations"]) == ("idle", 1, 0)
    assert answer["regions"] == [{"name": "buffers", "regions": 2, "bytes": 8192}]
    text = printed(document)
    assert "Pools and regions that the program named" in text
    assert "(no name)" in text
    assert "buffers" in text


def test_a_program_that_names_none_has_none(tmp_path: Path) -> None:
    made = MadeTrace().event(MALLOC, 0x1000, 100)
    document = explained(heapwright.open(made.write(tmp_path / "made.heapwright")))
    nothing = {"pools": [], "regions": []}
    assert document["questions"]["pools"] == nothing
    assert pools.QUESTION.shown(nothing, False) is None


def test_a_destroyed_pool_is_closed_and_its_address_free_for_another() -> None:
    first, second = pools_of(
        [Mark(0, 1, "pool_create", 64), Mark(1, 2, "pool_destroy", 64), Mark(0, 3, "pool_create", 64)]
    )
    assert (first.is_open, second.is_open) == (False, True)
    assert pools_of([Mark(0, 1, "pool_destroy", 64)]) == []


def test_a_name_in_pieces_belongs_to_its_mark() -> None:
    letters = int.from_bytes(b"abcdefgh", "little")
    (mark,) = marks_of([(0, 1, "region_named", 64, 8, 0), (0, 2, "annotation_text", 0, letters, letters)])
    assert mark.name == "abcdefghabcdefgh"
    assert [vars(region) for region in regions_of([mark])] == [
        {"name": "abcdefghabcdefgh", "regions": 1, "bytes": 8}
    ]
    assert marks_of([(0, 2, "annotation_text", 0, letters, 0)]) == []
