# SPDX-License-Identifier: MIT
"""The report on one screen: how long it is, what comes first, and what is typed next."""

from __future__ import annotations

import copy
import io
from pathlib import Path
from typing import Any

import heapwright
import pytest
from heapwright import explain
from heapwright.cli.explanation import ReportOptions, make_report_options, next_command
from heapwright.explain import lifetimes, screen
from heapwright.explain.question import Question
from rich.console import Console
from test_explain import explained
from written_traces import Command, MadeTrace, small_trace

ENDS = "x.heapwright"


@pytest.fixture
def document(trace: heapwright.Trace) -> dict[str, Any]:
    return explained(trace)


def shown(document: dict[str, Any], width: int = 100, rows: int | None = None) -> str:
    out = io.StringIO()
    explain.render_screen(document, Console(file=out, width=width, highlight=False), rows)
    return out.getvalue()


def finding(question: str, text: str = "it") -> dict[str, Any]:
    return {"text": text, "question": question, "parts": [], "is_nothing": False, "naming": ""}


@pytest.mark.parametrize("width", [60, 80, 100])
def test_it_fits_a_screen_however_much_there_is_to_say(document: dict[str, Any], width: int) -> None:
    full = copy.deepcopy(document)
    full["summary"]["findings"] = [finding("slow_calls", "a word " * 60)] * 7
    for answer in full["questions"].values():
        for table in ("sites", "threads", "by_function"):
            answer[table] = answer[table] * 10 if table in answer else []
    said = shown(full, width)
    assert said.count("\n") <= screen.MOST_LINES < 60
    assert "more questions: --all" in said
    for part in ("Why it is resident", "What stands out", "[peak]", "[time]", "in short"):
        assert part in said
    assert shown(full, width, rows=9).count("server+0x3000") > said.count("server+0x3000")


def test_why_memory_is_resident_comes_first_and_each_question_has_its_line(document: dict[str, Any]) -> None:
    said = shown(document)
    assert said.index("Why it is resident") < said.index("What stands out") < said.index("[peak]")
    lines = [line.split()[0] for line in said.split("in short")[1].splitlines()[2:]]
    told = {row["question"] for row in document["summary"]["findings"]}
    answered = {
        question.name
        for question in explain.QUESTIONS
        if question.in_short(document["questions"][question.name])
    }
    assert set(lines) == answered - told - {"cause", "peak", "leaks", "time"}
    assert len(lines) == len(set(lines)) >= 8


@pytest.mark.parametrize("question", explain.QUESTIONS, ids=lambda question: question.name)
def test_every_question_has_an_answer_in_one_line(question: Question, document: dict[str, Any]) -> None:
    assert question.gist is not Question._field_defaults["gist"]
    line = question.in_short(document["questions"][question.name])
    assert "\n" not in line and "None" not in line
    assert question.in_short({"not_answered": "why"}) == ""


def test_the_caller_of_most_stands_beside_each_site(document: dict[str, Any]) -> None:
    said = shown(document)
    assert "server+0x3000, from server+0x1000" in said
    paths = document["questions"]["peak"]["sites"][0]["paths"]
    other = {**paths[0], "callers": [{**paths[0]["callers"][0], "name": "elsewhere"}]}
    document["questions"]["peak"]["sites"][0]["paths"] = [*paths, other]
    assert "server+0x3000, mostly from server+0x1000" in shown(document)


def test_what_returns_something_comes_before_what_describes() -> None:
    names = ("cause", "peak", "slow_calls", "leaks", "calls", "growth")
    findings = [finding(name) for name in names]
    order = [row["question"] for row in screen.in_order(findings)]
    assert order == ["leaks", "growth", "slow_calls", "peak", "calls"]
    none = {**finding("advice"), "is_nothing": True}
    some = [finding("peak"), none, finding("slow_calls"), finding("advice")]
    assert screen.in_order(some) == [some[3], some[2], none, some[0]]
    assert screen.first_question(findings) == "cause"
    assert screen.first_question(findings[1:]) == "leaks"
    assert screen.first_question([]) == ""


def test_live_data_is_said_to_be_the_reason() -> None:
    answer = {
        "verdict": "nothing", "kinds": [], "recorder_bytes": 0, "huge_bytes": 0, "resident_bytes": 400 << 20,
    }  # fmt: skip
    moments = [
        {"time_ns": 10**9, "live_bytes": 1 << 20, "live_resident_bytes": 1 << 20, "resident_bytes": 9 << 20},
        {
            "time_ns": 2 * 10**9,
            "live_bytes": 500 << 20,
            "live_resident_bytes": 372 << 20,
            "resident_bytes": 400 << 20,
        },
    ]
    site = {"name": "load", "live_bytes": 300 << 20, "live_blocks": 300}
    said = screen.why_resident(answer, {"residency": {"moments": moments}, "peak": {"sites": [site]}})
    assert said == (
        "it is live data, 372 MiB of 400 MiB at 2.00 s; at the peak 300 MiB in 300 blocks of load"
    )
    told = screen.why_resident(
        answer | {"recorder_bytes": 3 << 20},
        {"residency": {"moments": moments}, "peak": {"sites": [site]}},
    )
    assert "372 MiB of 400 MiB (3.00 MiB the recorder's) at 2.00 s" in told
    huge = answer | {"huge_bytes": 396 << 20}
    told = screen.why_resident(huge, {"residency": {"moments": moments}, "peak": {"sites": [site]}})
    assert "396 MiB are on huge pages" in told and "PR_SET_THP_DISABLE" in told
    untouched = [one | {"live_resident_bytes": 4096} for one in moments]
    told = screen.why_resident(
        answer | {"unknown_because": "nothing is known"},
        {"residency": {"moments": untouched}, "peak": {"sites": [site]}},
    )
    assert "live data" not in told
    assert "unknown: samples" in screen.why_resident({"not_answered": "samples"}, {})
    before = [{"live_bytes": 0, "live_resident_bytes": 0, "resident_bytes": 0, "time_ns": 0}]
    told = screen.why_resident(answer, {"residency": {"moments": before}, "peak": {"sites": [site]}})
    assert told.startswith("unknown: its pages were not looked at while it held blocks")


def test_the_next_command_follows_from_the_first_finding(document: dict[str, Any]) -> None:
    document["file"] = "a b"
    document["summary"]["findings"] = [finding("slow_calls"), finding("peak")]
    on_screen = ReportOptions(is_screen=True)
    assert next_command(document, on_screen) == "heapwright explain 'a b' --question slow_calls"
    document["summary"]["findings"] = []
    assert next_command(document, on_screen) == "heapwright explain 'a b' --all"
    one = make_report_options(None, ["slow_calls"], False)
    assert next_command(document, one) == "heapwright explain 'a b' --all", "not what was just typed"
    whole = make_report_options(None, [], False, is_whole=True)
    assert next_command(document, whole).startswith("heapwright sql 'a b' ")
    row = {"replayed": [], "replay_change": "arena@f", "replay_set": ""}
    document["questions"]["advice"]["advice"] = [row]
    assert next_command(document, whole) == "heapwright replay 'a b' --change arena@f"
    setting = {"replayed": [], "helps": "yes", "replay_set": "glibc.arena_max=1"}
    document["questions"]["cause"]["remedies"] = [{**setting, "helps": "no"}, setting]
    assert next_command(document, one) == "heapwright replay 'a b' --set glibc.arena_max=1"


def test_a_remedy_without_source_that_a_replay_has_measured_is_tried_next(document: dict[str, Any]) -> None:
    document["file"] = "a b"
    document["summary"]["findings"] = [finding("cause")]
    on_screen = ReportOptions(is_screen=True)
    row = {"rank": 1, "replay_set": "glibc.arena_max=1", "replay_change": "", "judged": "measured"}
    for remedies, command in (
        ([row], "heapwright try 'a b' -- PROGRAM [ARGUMENTS]"),
        ([{**row, "replay_set": "", "replay_change": "segregate@f"}], "heapwright try 'a b' -- PROGRAM"),
        ([{**row, "judged": "bound"}], "heapwright explain 'a b' --question cause"),
        ([{**row, "replay_set": "", "replay_change": "arena@f"}, {**row, "rank": 2}], "heapwright explain"),
        ([], "heapwright explain 'a b' --question cause"),
    ):
        document["questions"]["cause"]["remedies"] = remedies
        assert next_command(document, on_screen).startswith(command), remedies
    document["questions"]["cause"]["remedies"] = [
        {**row, "replay_set": "", "replay_change": "buffer_cache@f"}
    ]
    for largest, command in ((1 << 20, "heapwright try"), (1000, "heapwright explain")):
        assert next_command(document, on_screen, {"f": largest}.__getitem__).startswith(command)


def test_a_program_without_a_call_is_told_so(command: Command, tmp_path: Path) -> None:
    made = MadeTrace()
    made.line("thread", 0, 100, "main", 0, 0)
    path = made.write(tmp_path / ENDS)
    said = command("explain", path)
    assert "no heap call: nothing was allocated" in said.out
    assert "What stands out" not in said.out and "peak" not in said.out
    assert said.err == f"next: heapwright info {path}\n"


def test_all_is_everything_and_excludes_what_chooses(command: Command, tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / ENDS)
    whole = command("explain", path, "--all").out
    assert "in short" not in whole
    assert all(f"[{name}]" in whole for name in ("timeline", "sizes", "latency", "recorder"))
    for options in (["--question", "peak"], ["--tree", "callers"], ["--json"]):
        refused = command("explain", path, "--all", *options)
        assert refused.code == 2 and "--all is the whole report" in refused.err


def test_no_figure_of_an_answer_in_one_line_is_cut(document: dict[str, Any]) -> None:
    said = [" ".join(shown(document, width).split("in short")[1].split()) for width in (60, 100)]
    told = [
        " ".join(question.in_short(document["questions"][question.name]).split())
        for question in explain.QUESTIONS
    ]
    long = [gist for gist in told if len(gist) > 48 and gist in said[1]]
    assert len(long) >= 2 and "…" not in said[0]
    assert long[0] in said[0]
    assert all(len(line) <= 60 for line in shown(document, 60).splitlines())


def test_what_is_live_but_was_not_written_to_is_said() -> None:
    answer = {"verdict": "nothing", "kinds": [], "recorder_bytes": 0, "huge_bytes": 0, "resident_bytes": 143}
    moments = [
        {"time_ns": 10**9, "live_bytes": 1054, "live_resident_bytes": 138, "resident_bytes": 143},
    ]
    site = {"name": "dictionary", "live_bytes": 512, "live_blocks": 1}
    told = screen.why_resident(answer, {"residency": {"moments": moments}, "peak": {"sites": [site]}})
    assert told.endswith("512 B in 1 block of dictionary, of which only what was written to is resident")
    moments[0]["live_bytes"] = 300  # looked at when some of the blocks were gone, or not yet made
    told = screen.why_resident(answer, {"residency": {"moments": moments}, "peak": {"sites": [site]}})
    assert told.endswith("512 B in 1 block of dictionary")
    moments[0]["live_bytes"] = 1054
    site["live_bytes"] = 138
    told = screen.why_resident(answer, {"residency": {"moments": moments}, "peak": {"sites": [site]}})
    assert told.endswith("138 B in 1 block of dictionary")


def test_no_block_is_said_to_live_longer_than_the_run() -> None:
    answer = {
        "lifetime_from_ns": [0, 10**9, 3 * 10**9, 10**10],
        "longest_ns": 5 * 10**9,
        "rows": [{"blocks": [1, 1, 6, 0, 0]}],
    }
    lives = lifetimes.QUESTION.gist
    assert lives(answer) == "half of the blocks live 3.00 s or longer"
    assert lives(answer | {"longest_ns": 11 * 10**9}) == "half of the blocks live less than 10.0 s"
