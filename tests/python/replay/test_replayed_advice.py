# SPDX-License-Identifier: MIT
"""replay --advice tries what explain advises; explain --replayed says what that gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.cli.replayed_advice import read_replayed
from heapwright.model import Trace
from written_traces import DELETE, NEW, MadeTrace


def made(path: Path, program: str = "/opt/shop/server") -> str:
    """Buffers of 2 to 16 KB of one site, ten at once."""
    trace = MadeTrace(end="end 1 0 20000000")
    trace.meta("program", program).meta("command", program)
    trace.meta("allocator", "glibc 2.36 (/lib/x86_64-linux-gnu/libc.so.6)").meta("process_id", 100)
    trace.line("thread", 0, 100, "main", 0, 0)
    trace.line("module", 0x400000, 0x500000, 0x400000, program, "aabbcc")
    trace.line("frame", 0x401000, 0)
    trace.line("location", "make_buffer", "buffer.cpp", 7)
    trace.line("stack", 0, 0x401000)
    for number in range(5000):
        address = 0x100000 + number % 10 * 0x10000
        if number >= 10:
            trace.event(DELETE, address, took=480)
        trace.event(NEW, address, 2000 + 2000 * (number % 8), took=480)
    return str(trace.write(path))


@pytest.fixture
def file(tmp_path: Path) -> str:
    return made(tmp_path / "server.heapwright")


def replayed(file: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run_command(["replay", file, "--advice", "--runs", "3", "--idle", "0", "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def advice_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run_command(["explain", *words, "--question", "advice", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    row: dict[str, Any] = document["questions"]["advice"]["advice"][0]
    return row


def test_what_is_advised_is_replayed_and_told_with_the_advice(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = advice_of([file], capsys)
    assert before["replay_change"]
    assert before["replayed"] == []
    document = replayed(file, capsys)
    plain, changed = document["candidates"]
    assert (plain["change"], changed["change"]) == ("", before["replay_change"])
    written = tmp_path / "replay.json"
    written.write_text(json.dumps(document), encoding="utf-8")
    found = {one["figure"]: one for one in advice_of([file, "--replayed", str(written)], capsys)["replayed"]}
    figures = changed["figures"]
    assert set(found) == {"CPU time", "peak", "mean", "end", "p99.9"}
    for label, key in (("CPU time", "time_ns"), ("peak", "peak_bytes")):
        assert found[label]["difference"] == figures[key]["difference"]
        assert found[label]["verdict"] == figures[key]["verdict"]
        assert found[label]["on"] == "glibc"


def test_settings_that_were_recorded_are_not_tried(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = replayed(file, capsys)
    document["candidates"][0]["variables"] = {"MALLOC_TOP_PAD_": "0"}
    other = {**document["candidates"][0], "name": "glibc arena_max=1", "variables": {"MALLOC_ARENA_MAX": "1"}}
    document["candidates"].append(other)
    written = tmp_path / "replay.json"
    written.write_text(json.dumps(document), encoding="utf-8")
    found = read_replayed(written, Trace(file))
    assert set(found) == {document["candidates"][1]["change"], "MALLOC_ARENA_MAX=1"}


def test_each_verdict_has_its_words(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = replayed(file, capsys)
    figures = document["candidates"][1]["figures"]
    told = {"difference": -936_000.0, "relative_difference": -0.31}
    figures["time_ns"] |= {**told, "verdict": "better"}
    figures["peak_bytes"] |= {"difference": 1024.0, "relative_difference": 0.02, "verdict": "same"}
    figures["mean_bytes"] |= {"difference": 2048.0, "relative_difference": 0.04, "verdict": "unknown"}
    for key in ("end_bytes", "p999_ns"):
        del figures[key]
    written = tmp_path / "replay.json"
    written.write_text(json.dumps(document), encoding="utf-8")
    assert run_command(["explain", file, "--question", "advice", "--replayed", str(written)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    measured = (
        "measured by replay on glibc: time in the heap −31 % (−936 µs), peak as before, "
        "mean +4.0 % (+2.00 KiB), in too few runs to be certain"
    )
    assert said.count(measured) == 1, "with the advice"
    assert "; measured by replay: memory as before, time in the heap −31 % (−936 µs)" in said, (
        "on the first screen"
    )
    assert "measure it" not in said


def one_line_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run_command(words) == 2
    said = capsys.readouterr()
    (line,) = said.err.strip().splitlines()
    return line


def test_what_cannot_be_is_one_line(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = replayed(file, capsys)
    written = tmp_path / "replay.json"
    written.write_text(json.dumps(document), encoding="utf-8")
    other = made(tmp_path / "other.heapwright", "/opt/shop/other")
    assert "is of /opt/shop/server" in one_line_of(["explain", other, "--replayed", str(written)], capsys)
    for wrong in ("great", None):
        document["candidates"][1]["figures"]["time_ns"]["verdict"] = wrong
        written.write_text(json.dumps(document), encoding="utf-8")
        assert "lacks fields" in one_line_of(["explain", file, "--replayed", str(written)], capsys)
    figure = document["candidates"][1]["figures"]["time_ns"]
    figure |= {"verdict": "better", "difference": 61_440.0, "relative_difference": -0.99}
    written.write_text(json.dumps(document), encoding="utf-8")
    assert "are inconsistent" in one_line_of(["explain", file, "--replayed", str(written)], capsys)
    document = replayed(file, capsys)
    document["recording_start_unix_ns"] += 1
    written.write_text(json.dumps(document), encoding="utf-8")
    assert "is of another recording" in one_line_of(["explain", file, "--replayed", str(written)], capsys)
    missing = str(tmp_path / "no.json")
    assert "no such file" in one_line_of(["explain", file, "--replayed", missing], capsys)
    quiet = MadeTrace()
    quiet.meta("program", "/opt/shop/server").meta("allocator", "glibc 2.36")
    quiet.event(NEW, 0x1000, 10)
    path = str(quiet.write(tmp_path / "quiet.heapwright"))
    assert "has no advice" in one_line_of(["replay", path, "--advice"], capsys)
