# SPDX-License-Identifier: MIT
"""Scopes of heap_budget, worked out by hand: what counts in which, and their figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from heapwright.cli import run_command
from heapwright.explain.phases import Phase, Span
from heapwright.gate.scopes import scopes_of
from heapwright.model.records import Thread
from shop import budget, shop, written
from test_gate_verdict import gated, values
from test_phases import BEGIN, END, say
from written_traces import FREE, MALLOC, MadeTrace

OWN, ALL, ALLOWED = "heap_budget", "heap_budget of all threads", "heap_allowance"
THREADS = [
    Thread(number, 100 + number, "", first_ns, 0, 1, 0, 0) for number, first_ns in enumerate((0, 0, 95))
]


def spans(*phases: Phase) -> dict[str, list[Span]]:
    return {scope.name: list(scope.spans()) for scope in scopes_of(phases, THREADS)}


def test_a_scope_is_the_phase_within_one_of_the_part() -> None:
    found = spans(
        Phase("request", 0, 0, 90), Phase(OWN, 0, 10, 50), Phase("parse", 0, 11, 49), Phase("rest", 0, 12, 20)
    )
    assert found == {"parse": [Span(0, 11, 49)]}


def test_what_is_allowed_is_left_out_of_scopes_around_it() -> None:
    found = spans(
        Phase(OWN, 0, 10, 80),
        Phase("outer", 0, 11, 79),
        Phase(ALLOWED, 0, 11, 15),
        Phase(ALLOWED, 0, 20, 60),
        Phase(OWN, 0, 25, 50),
        Phase("inner", 0, 26, 49),
        Phase(ALLOWED, 0, 30, 40),
        Phase(ALLOWED, 1, 12, 90),
    )
    assert found == {
        "outer": [Span(0, 15, 20), Span(0, 60, 79)],
        "inner": [Span(0, 26, 30), Span(0, 40, 49)],
    }


def test_a_scope_of_the_process_is_of_all_threads_that_began() -> None:
    found = spans(
        Phase(ALL, 0, 10, 80),
        Phase("all", 0, 11, 79),
        Phase(ALLOWED, 1, 5, 20),  # from before the scope: this thread is allowed nevertheless
        Phase(ALLOWED, 1, 70, 90),
    )
    assert found == {"all": [Span(0, 11, 79), Span(1, 20, 70)]}


def opened(made: MadeTrace, count: int, kind: str = OWN) -> None:
    """Allocates `count` blocks of 10 bytes, one of 3 that goes while one of 7 is allowed, and keeps one of 5."""
    say(made, BEGIN, kind)
    say(made, BEGIN, "parse")
    for _ in range(count):
        made.event(MALLOC, 0x2000000, 10)
        made.event(FREE, 0x2000000)
    made.event(MALLOC, 0x2000020, 3)
    say(made, BEGIN, ALLOWED)
    made.event(MALLOC, 0x2000040, 7)
    made.event(FREE, 0x2000020)
    say(made, END, ALLOWED)
    made.event(MALLOC, 0x2000080 + 64 * count, 5, thread=1)
    made.event(MALLOC, 0x2001080 + 64 * count, 5)
    say(made, END, "parse")
    say(made, END, kind)
    made.event(FREE, 0x2000040)


FIGURES = "calls = 6\nbytes = 50\npeak_live_bytes = 9\nlive_at_end_bytes = 99\nlive_at_end_blocks = 99\n"


@pytest.mark.parametrize(
    ("kind", "expected"), [(OWN, [6, 48, 10, 5, 1]), (ALL, [7, 53, 10, 10, 2])], ids=["thread", "process"]
)
def test_figures_are_of_the_opening_with_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, expected: list[int]
) -> None:
    made = shop()
    for count in (2, 4, 1):
        opened(made, count, kind)
    found = gated(tmp_path, capsys, f'[[scope]]\nname = "par*"\n{FIGURES}', made)
    assert list(values(found, "par*").values()) == expected
    over = [check["figure"] for check in found["checks"] if check["verdict"] == "over"]
    assert over == (["peak_live_bytes"] if kind == OWN else ["calls", "bytes", "peak_live_bytes"])


def test_a_phase_is_no_scope(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = shop()
    say(made, BEGIN, "parse")
    say(made, END, "parse")
    rule = '[[scope]]\nname = "parse"\ncalls = 1\n'
    assert run_command(["gate", budget(tmp_path, rule), written(tmp_path, made)]) == 2
    assert "no scope is called parse; the program names none (heap_budget: .name)" in capsys.readouterr().err
    optional = gated(tmp_path, capsys, f"{rule}optional = true\n", made)
    assert list(values(optional, "parse").values()) == [0]
