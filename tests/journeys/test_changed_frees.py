# SPDX-License-Identifier: MIT
"""Frees that a change puts off or leaves out, and arenas of a phase: the replay beside the changed program."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Record
from test_changed_replay import _use_the_build, replayed

pytestmark = pytest.mark.full

__all__ = ["_use_the_build"]
ROWS = 20_000


def highest(document: dict[str, Any]) -> float:
    """Of a recorded program that is replayed: memory is read every 10 ms, and may be higher between."""
    runs = document["candidates"][0]["runs"]["memory"]
    read = float(document["fidelity"]["recorded"]["peak_bytes"])
    return max(read, *(run["highest_bytes"] + document["fidelity"]["beside_heap_bytes"] for run in runs))


@pytest.mark.parametrize(
    ("load", "changed", "change", "counts"),
    [
        # the last table goes when nothing is made any more
        ("tables", "deferred_free", "deferred_free@make_row", (40 * ROWS, 40)),
        ("requests", "arena", "arena:phase=request@make_row", (40 * ROWS, 40)),
        ("leftovers", "exit_policy", "exit_policy@make_row", (4 * ROWS, 0)),
    ],
)
def test_blocks_and_peak_are_those_of_the_changed_program(
    record: Record,
    capsys: pytest.CaptureFixture[str],
    load: str,
    changed: str,
    change: str,
    counts: tuple[int, int],
) -> None:
    document = replayed(record, capsys, load, "heap", "--change", change)
    real = replayed(record, capsys, load, changed, "--on", "glibc")
    (found,) = document["changes"]
    assert found["changed_blocks"] == counts[0]
    # On a busy machine a table takes longer to free than it waits: then it is two rows.
    assert counts[1] <= found["change_events"] <= counts[1] * (1.5 if load == "tables" else 1)
    assert found["never_freed"] == found["outlived"] == found["freed_by_caller"] == 0
    plain, own = (candidate["figures"]["peak_bytes"]["value"] for candidate in document["candidates"])
    assert 0.9 * real["fidelity"]["recorded"]["peak_bytes"] < own < 1.1 * highest(real)
    if load != "leftovers":
        assert own > 1.5 * plain, "what waits, or lies in the arena, is there at the peak"
    if load == "tables":
        assert 100 * ROWS < found["most_waiting_bytes"] <= 200 * ROWS
    if load == "leftovers":  # moments at which memory is read are operations as well
        left = document["plan"]["operations"] - found["changed_blocks"]
        assert abs(left - real["plan"]["operations"]) < 300


def test_arenas_are_emptied_more_often_without_the_phase(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    document = replayed(record, capsys, "requests", "heap", "--change", "arena@make_row")
    assert document["changes"][0]["change_events"] == 40 * ROWS
