# SPDX-License-Identifier: MIT
"""How much room --accept leaves, and how many runs it makes for that."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from heapwright.cli import run_command
from heapwright.gate.accept import rewritten
from heapwright.gate.budget import parse
from heapwright.gate.measured import Measured
from shop import budget, shop, written
from written_traces import BUILD


def accepted(limit: int, peaks: list[int], is_single_thread: bool) -> int:
    text = f"[program]\npeak_live_bytes = {limit}\n"
    runs = [Measured([{"peak_live_bytes": peak}], [[]], []) for peak in peaks]
    new, _ = rewritten(text, parse(text), "", "x", runs, is_single_thread)
    found: int = tomllib.loads(new)["program"]["peak_live_bytes"]
    return found


@pytest.mark.parametrize(
    ("limit", "peaks", "expected"),
    [
        (0, [1000], 1050),
        (0, [1000, 900, 950], 1100),  # as far above the highest as the lowest is below
        (0, [1000, 990, 995], 1050),  # not less than 5 %
        (1099, [1000, 900, 950], 1100),  # within the limit, but without that room
        (1100, [1000, 900, 950], 1100),
        (1375, [1000, 900, 950], 1375),  # 80 % of it are used with that room
        (1376, [1000, 900, 950], 1100),
    ],
)
def test_what_threads_hold_gets_the_room_that_runs_show(limit: int, peaks: list[int], expected: int) -> None:
    assert accepted(limit, peaks, is_single_thread=False) == expected
    assert accepted(limit, peaks, is_single_thread=True) == 1000


@pytest.mark.parametrize(
    ("threads", "limit", "words", "runs"),
    [
        (4, "peak_live_bytes", [], 5),
        (1, "peak_live_bytes", [], 1),
        (4, "calls", [], 1),
        (4, "peak_live_bytes", ["--runs", "1"], 1),
    ],
)
def test_accept_runs_a_program_with_threads_several_times(
    threads: int, limit: str, words: list[str], runs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = [str(BUILD / "programs/pairs"), "100", "7", str(threads)]
    text = budget(tmp_path, f"[program]\n{limit} = 1\n")
    kept = ["--keep", str(tmp_path / "kept")]
    assert run_command(["gate", text, *kept, *words, "--accept", "--reason", "x", "--", *program]) == 0
    assert len(list((tmp_path / "kept").iterdir())) == runs
    said = capsys.readouterr().err
    assert ("several threads: recording 5 runs to see how much the peak varies" in said) == (runs == 5)


def test_one_recording_of_threads_says_that_it_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["gate", budget(tmp_path, "[program]\npeak_live_bytes = 1\n"), "--accept", "--reason", "x"]
    for threads in (1, 2):
        assert run_command([*words, written(tmp_path, shop(threads=threads))]) == 0
        assert ("one run does not show" in capsys.readouterr().err) == (threads == 2)


def test_what_was_accepted_is_shown_beside_the_new_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, junit = budget(tmp_path, "[program]\ncalls = 1\n"), tmp_path / "gate.xml"
    words = ["gate", text, written(tmp_path), "--accept", "--reason", "x", "--junit", str(junit)]
    for toolchain in ([], ["--toolchain", "gcc"]):
        Path(text).write_text("[program]\ncalls = 1\n", encoding="utf-8")
        assert run_command([*words, *toolchain, "--json", "--force"]) == 0
        said = capsys.readouterr()
        document = json.loads(said.out)
        assert [(check["value"], check["limit"]) for check in document["checks"]] == [(12, 12)]
        assert (document["is_within"], said.err) == (True, "heapwright: program: calls 1 → 12\n")
        assert 'failures="0"' in junit.read_text()
