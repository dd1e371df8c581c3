# SPDX-License-Identifier: MIT
"""Limits of growth: of the program, sites, threads, and of what phases and scopes make."""

from __future__ import annotations

from pathlib import Path

import pytest
from shop import shop
from test_gate_verdict import gated, values
from test_phases import BEGIN, END, say
from written_traces import FREE, MALLOC, MadeTrace


def test_growth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = MadeTrace(end="end 1 0 30000000000")
    made.meta("program", "/opt/shop/server").line("thread", 0, 100, "main", 0, 0)
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/shop/server", "aa")
    made.line("frame", 0x401000, 0).line("stack", 0, 0)
    for number in range(3000):
        made.event(MALLOC, 0x10000 + 4096 * number, 1000, at=10_000_000 * number, stack=1)
    found = gated(tmp_path, capsys, "[program]\ngrowth_bytes_per_s = 0\n", made)
    assert found["checks"][0]["verdict"] == "over"
    assert found["checks"][0]["value"] == pytest.approx(100_000, rel=0.02)
    assert [site["name"] for site in found["checks"][0]["sites"]] == ["server+0x1000"]
    found = gated(tmp_path, capsys, '[[site]]\nname = "server+0x1000"\ngrowth_bytes_per_s = 110000\n', made)
    assert found["checks"][0]["value"] == pytest.approx(100_000, rel=0.02)
    assert found["is_within"]


def test_growth_at_the_end_of_a_short_run_is_no_growth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In 10 ms, work that is not done yet looks the same; in 30 s it does not."""
    for scale, is_within in ((1, True), (3000, False)):
        made = shop(0, 0, 1)
        made.end = f"end 1 0 {10_000_000 * scale}"
        made.event(MALLOC, 0x800000, 8, at=1600, stack=2)
        for number in range(3000):
            made.event(
                MALLOC, 0x900000 + 4096 * number, 1000, at=(6_000_000 + 1280 * number) * scale, stack=3
            )
        found = gated(tmp_path, capsys, "[program]\ngrowth_bytes_per_s = 0\n", made)
        assert found["is_within"] == is_within


def test_growth_of_a_thread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Thread worker keeps a block of 10 kB each 100 ms, for 30 s; thread server frees what it takes."""
    made = shop(rows=0, cached=0)
    for number in range(300):
        at = 1_000_000 + number * 100_000_000
        made.event(MALLOC, 0x20000000 + 16384 * number, 10_000, thread=1, at=at, stack=2)
        made.event(MALLOC, 0x10000000, 10_000, thread=0, at=at + 1000, stack=3)
        made.event(FREE, 0x10000000, thread=0, at=at + 2000)
    text = '[[thread]]\nname = "{}"\ngrowth_bytes_per_s = 50_000\n'
    worker = gated(tmp_path, capsys, text.format("worker"), made)
    (rate,) = values(worker, "worker").values()
    assert rate == pytest.approx(100_000, rel=0.05)
    assert [check["verdict"] for check in worker["checks"]] == ["over"]
    server = gated(tmp_path, capsys, text.format("server"), made)
    assert list(values(server, "server").values()) == [0]


def requests(is_short: bool = False, each_keeps: float = 1.0) -> MadeTrace:
    """300 runs of the phase "request", as a scope each, in 30 s or 3 ms: each keeps 10 kB, of stack 2; "query" within
    it frees what it takes. In between the thread keeps far more. each_keeps: beside what the run before it did."""
    made = shop(rows=0, cached=0, threads=1)
    pause_ns = 10_000 if is_short else 100_000_000
    for number in range(300):
        made.event(MALLOC, 0x60000000 + 131072 * number, 90_000, at=1_000_000 + number * pause_ns, stack=3)
        for name in ("heap_budget", "request"):
            say(made, BEGIN, name)
        made.event(MALLOC, 0x20000000 + 16384 * number, round(10_000 * each_keeps**number), stack=2)
        say(made, BEGIN, "query")
        made.event(MALLOC, 0x10000000, 20_000)
        say(made, END, "query")
        made.event(FREE, 0x10000000)
        for name in ("request", "heap_budget"):
            say(made, END, name)
    return made


@pytest.mark.parametrize("kind", ["phase", "scope"])
def test_growth_of_what_runs_make(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    rule = f'[[{kind}]]\nname = "request"\ngrowth_bytes_per_s = 50_000\n'
    found = gated(tmp_path, capsys, rule, requests())
    (rate,) = values(found, "request").values()
    assert rate == pytest.approx(100_000, rel=0.02)
    assert [check["verdict"] for check in found["checks"]] == ["over"]
    may_stay = gated(tmp_path, capsys, f'suppressions = ["server"]\n{rule}', requests())
    assert list(values(may_stay, "request").values()) == [0]
    ignored = gated(tmp_path, capsys, f'ignore = ["server"]\n{rule}', requests())
    assert list(values(ignored, "request").values()) == [0]


def test_runs_that_free_what_they_make_do_not_grow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = '[[phase]]\nname = "query"\ngrowth_bytes_per_s = 0\n'
    found = gated(tmp_path, capsys, rule, requests())
    assert list(values(found, "query").values()) == [0]


def test_runs_of_a_phase_have_ended_and_grow_in_a_short_time_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = '[[phase]]\nname = "request"\ngrowth_bytes_per_s = 0\n'
    found = gated(tmp_path, capsys, rule, requests(is_short=True))
    assert values(found, "request")["growth_bytes_per_s"] == pytest.approx(1e9, rel=0.02)


def test_what_grows_ever_less_is_a_warm_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = '[[phase]]\nname = "request"\ngrowth_bytes_per_s = 0\n'
    found = gated(tmp_path, capsys, rule, requests(each_keeps=0.99))
    assert list(values(found, "request").values()) == [0]
