# SPDX-License-Identifier: MIT
"""What a program says of itself is in its trace, in order, with its names."""

import json
import subprocess

from conftest import Record, command, differences

cut_name = (
    "a name of one hundred and fifty letters, of which a recorder keeps no more than the first one hundred "
    "and twenty-eight, as the documentation of it says."
)[:128]


def test_names_and_order_are_kept(record: Record) -> None:
    recording = record("annotates")
    assert recording.status == 0, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []
    said = trace.facts["annotations"]
    assert [row[0] for row in said] == [
        *["phase_begin", "phase_begin", "phase_end", "pool_create", "pool_allocate", "region_named"],
        *["pool_free", "pool_destroy", "phase_begin", "phase_begin", "phase_end", "phase_end", "phase_end"],
    ]
    assert [row[1] for row in said] == [
        *["all", "sixteen letters!", "sixteen letters!", "orders", "", "buffers of the orders"],
        *["", "", cut_name, "", "", cut_name, "all"],
    ]
    pool = said[3][2]
    assert said[4][2:] == [pool + 1000, 3003, pool], "block, bytes, pool"
    assert said[5][2:4] == [pool, 5000], "region, bytes"
    assert said[6][2] == pool + 1000
    assert said[6][4] == pool
    assert said[7][2] == pool


def test_a_program_that_says_nothing_has_none(record: Record) -> None:
    assert record("exits_with", 0).trace().facts["annotations"] == []


def test_what_arenas_and_pools_hold_inside_is_explained(record: Record) -> None:
    recording = record("annotated_parts")
    assert recording.status == 0, recording.errors
    assert differences(recording.said, [recording.trace()]) == []
    line = [command, "explain", recording.paths()[0], "--json", "--question", "pools"]
    said = subprocess.run([str(part) for part in line], check=True, capture_output=True, timeout=120)
    pools = {pool.pop("name"): pool for pool in json.loads(said.stdout)["questions"]["pools"]["pools"]}
    node_bytes = recording.note("node_bytes")

    def holds(allocations: int, requested: int, peak: int, blocks: int, size: int) -> dict[str, int]:
        return {
            "pools": 1,
            "allocations": allocations,
            "requested_bytes": requested,
            "peak_bytes": peak,
            "live_blocks": blocks,
            "live_bytes": size,
        }

    assert pools == {
        "requests": holds(1010, 1000 * 24 + 10 * 3001, 2400 + 3001, 100, 2400),
        "prices": holds(500, 500 * node_bytes, 500 * node_bytes, 300, 300 * node_bytes),
        "names": holds(500, 500 * node_bytes, 500 * node_bytes, 500, 500 * node_bytes),
        "gone": holds(1, 40, 40, 0, 0),
    }
