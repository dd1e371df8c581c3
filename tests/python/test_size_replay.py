# SPDX-License-Identifier: MIT
"""The sizes of a recorded site, replayed through the policies of a buffer cache."""

from __future__ import annotations

import json
import re
from pathlib import Path

import heapwright
import pytest
from heapwright.cli import run_command, size_replay
from heapwright.cli.errors import InputError
from written_traces import FREE, MALLOC, MadeTrace

BUFFERS, OTHERS = 1, 2  # stacks


def made_trace(path: Path, rounds: int) -> Path:
    made = MadeTrace().meta("program", "/opt/shop/server").meta("command", "/opt/shop/server")
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/shop/server", "aabbcc")
    made.line("thread", 0, 100, "main", 0, 0)
    for pc in (0x401000, 0x402000):
        made.line("frame", pc, 0)
    made.line("stack", 0, 0).line("stack", 0, 1)
    for number in range(rounds):
        made.event(MALLOC, 0x10000, 50000 if number % 50 == 0 else 100, stack=BUFFERS)
        made.event(MALLOC, 0x90000 + 16 * number, 16, stack=OTHERS)
        made.event(FREE, 0x10000)
    return made.write(path / "made.heapwright")


def site_of(trace: heapwright.Trace, stack: int) -> str:
    sites = trace.sites()
    return re.escape(str(sites[sites.site_of_stack[stack]]))


def test_the_events_are_the_sites_requests_and_releases_in_order(tmp_path: Path) -> None:
    trace = heapwright.open(made_trace(tmp_path, 3))
    assert list(size_replay.events_of(trace, site_of(trace, BUFFERS))) == [50000, -1, 100, -2, 100, -3]
    assert list(size_replay.events_of(trace, site_of(trace, OTHERS))) == [16, 16, 16]
    with pytest.raises(InputError, match="no call site matches 'nobody'"):
        size_replay.events_of(trace, "nobody")


def test_it_says_which_policy_to_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = made_trace(tmp_path, 1000)
    site = site_of(heapwright.open(file), BUFFERS)
    words = ["lab", "buffer-cache", "--trace", str(file), "--site", site]
    assert run_command([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    by_policy = {row["policy"]: row for row in found["policies"]}
    assert found["events"] == 2000
    # The first buffer is of 50,000 bytes: whoever keeps it gives it to those who need 100.
    assert by_policy["keep_the_larger"]["used_percent"] < 60
    assert by_policy["learnt_cutoff"]["used_percent"] > 95
    assert found["use"] == "learnt_cutoff"
    assert run_command(words) == 0
    assert "use: learnt_cutoff (" in capsys.readouterr().out


def test_few_events_give_no_verdict_and_no_reuse_no_cache(tmp_path: Path) -> None:
    assert size_replay.replay(made_trace(tmp_path, 10), "")["use"] == "unknown"
    (tmp_path / "more").mkdir()
    file = made_trace(tmp_path / "more", 1200)
    assert size_replay.replay(file, site_of(heapwright.open(file), OTHERS))["use"] == "none"


@pytest.mark.parametrize("words", [["arena", "--trace", "x"], ["buffer-cache", "--site", "x"]])
def test_trace_goes_with_buffer_cache(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["lab", *words]) == 2
    assert "apply only to buffer-cache" in capsys.readouterr().err


def test_a_site_that_is_no_pattern_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = made_trace(tmp_path, 10)
    assert run_command(["lab", "buffer-cache", "--trace", str(file), "--site", "("]) == 2
    assert capsys.readouterr().err.count("\n") == 1
