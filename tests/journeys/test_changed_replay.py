# SPDX-License-Identifier: MIT
"""A change measured by replay beside a recording of the program that was changed so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Record, collector
from heapwright.cli import run_command

pytestmark = pytest.mark.full


@pytest.fixture(autouse=True)
def _use_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAPWRIGHT_BIN", str(collector.parent))


TIMES = {"sessions": "200"}
# The recorded process has more than its heap: libraries' data and the stack, 20 to 22 pages here.
BESIDE_HEAP_BYTES = 128 * 1024


def replayed(
    record: Record, capsys: pytest.CaptureFixture[str], load: str, way: str, *words: str
) -> dict[str, Any]:
    recording = record("changed_loads", load, way, TIMES.get(load, "40"))
    file = max(recording.paths(), key=lambda path: path.stat().st_mtime_ns)
    capsys.readouterr()
    assert run_command(["replay", str(file), *words, "--runs", "2", "--idle", "0", "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def highest_bytes(candidate: dict[str, Any]) -> int:
    """The kernel's own highest figure, which no reading can miss."""
    return max(run["highest_bytes"] for run in candidate["runs"]["memory"])


@pytest.mark.parametrize("change", ["arena", "node_pool"])
def test_the_peak_is_that_of_the_changed_program(
    record: Record, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    document = replayed(record, capsys, "trees", "heap", "--change", f"{change}@make_node,make_text")
    predicted = document["candidates"][1]["figures"]["peak_bytes"]
    real = replayed(record, capsys, "trees", change, "--on", "glibc")["fidelity"]["recorded"]["peak_bytes"]
    assert abs(predicted["value"] - real) < 0.1 * real
    plain = document["fidelity"]["recorded"]["peak_bytes"]
    assert predicted["verdict"] == ("better" if real < plain else "worse")
    counts = document["changes"][0]
    assert counts["changed_blocks"] > 40 * 60_000
    assert counts["change_events"] == (40 if change == "arena" else 0)
    assert counts["never_freed"] == 0


@pytest.mark.parametrize(
    ("load", "plain", "changed", "change", "events"),
    [
        # 21 blocks of numbers, 17 of letters (the first 15 are in the string itself), 13 of names
        ("vectors", "grown", "reserve", "reserve@append", 40 * (20 + 16 + 12)),
        ("small", "vector", "small_vector", "small_vector:64@append_to", None),
        ("queue", "heap", "buffer_cache", "buffer_cache@make_buffer", 0),
        ("sessions", "heap", "segregate", "segregate@make_session", 0),
    ],
)
def test_its_calls_and_peak_are_those_of_the_changed_program(
    record: Record,
    capsys: pytest.CaptureFixture[str],
    load: str,
    plain: str,
    changed: str,
    change: str,
    events: int | None,
) -> None:
    document = replayed(record, capsys, load, plain, "--change", change)
    real = replayed(record, capsys, load, changed, "--on", "glibc")
    predicted = highest_bytes(document["candidates"][1])
    highest = highest_bytes(real["candidates"][0])
    assert 0.9 * highest < predicted < 1.1 * highest
    # A recording reads memory every 10 ms, on a busy machine more rarely: it may have been higher between two readings.
    recorded = real["fidelity"]["recorded"]["peak_bytes"]
    assert recorded < 1.1 * highest + BESIDE_HEAP_BYTES
    (counts,) = document["changes"]
    assert counts["never_freed"] == counts["foreign_moves"] == 0
    if events is not None:
        assert counts["change_events"] == events
    if load == "small":  # moments at which memory is read are operations as well
        left = document["plan"]["operations"] - counts["change_events"]
        assert abs(left - real["plan"]["operations"]) < 300


def test_a_reserved_buffer_is_not_reallocated(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    document = replayed(record, capsys, "buffers", "realloc", "--change", "reserve@grow")
    counts = document["changes"][0]
    assert (counts["changed_blocks"], counts["change_events"]) == (40, 480)
    plain, changed = document["candidates"]
    assert changed["runs"]["time"][0]["calls"] == plain["runs"]["time"][0]["calls"]


@pytest.mark.parametrize(
    ("rule", "program", "begin"),
    [
        ("arena", ("advice_arena", "as_is"), "arena@"),
        ("node_pool", ("advice_node_pool", "as_is"), "node_pool@"),
        ("reserve", ("changed_loads", "buffers", "realloc", "4000"), "reserve@"),
        ("reserve", ("advice_reserve", "as_is"), "reserve@"),
        ("small_vector", ("advice_small_vector", "as_is"), "small_vector:32@"),
        ("private_heap", ("advice_private_heap", "as_is"), "segregate@"),
        ("buffer_cache", ("advice_buffer_cache", "as_is"), "buffer_cache@"),
    ],
)
def test_what_advice_says_to_type_is_replayed(
    record: Record, capsys: pytest.CaptureFixture[str], rule: str, program: tuple[str, ...], begin: str
) -> None:
    file = record(*program).paths()[0]
    capsys.readouterr()
    assert run_command(["explain", str(file), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["questions"]["advice"]["advice"]
    changes = [row["replay_change"] for row in rows if row["rule"] == rule and row["replay_change"]]
    assert changes, [(row["rule"], row["replay_change"]) for row in rows]
    assert changes[0].startswith(begin)
    assert run_command(["replay", str(file), "--change", changes[0], "--quick", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["changes"][0]["changed_blocks"] > 0
