# SPDX-License-Identifier: MIT
"""Remedies that a quick replay confirms, refutes or cannot tell of, and what is kept of that."""

from __future__ import annotations

import platform
import stat
from pathlib import Path
from typing import Any

import pytest
from heapwright import explain
from heapwright.cli import judge
from heapwright.cli.explanation import make_report
from heapwright.cli.judge import Wanted
from heapwright.explain.replayed import ReplayedFigure
from heapwright.model import Filter, SiteOptions, Trace
from heapwright.replay import quick
from heapwright.replay.quick import Told, Tried
from heapwright.replay.remedy import Remedy
from test_advice import turned_over
from test_explain import printed
from written_traces import DELETE, NEW, MadeTrace

FASTER = ReplayedFigure("CPU time", "ns", -3e6, -0.6, "better", "glibc", 1e5)
SLOWER = FASTER._replace(difference=3e6, relative_difference=0.6, verdict="worse")
SAME = FASTER._replace(difference=0.0, relative_difference=0.0, verdict="same")
POOL = Wanted("pool", Remedy(change="object_pool@f"))
PAIR = "MALLOC_MMAP_THRESHOLD_=67108864 MALLOC_TRIM_THRESHOLD_=67108864"


def made(size: int, host: str = platform.node()) -> MadeTrace:
    """2000 short-lived objects of this size, each 2000 ns in the heap."""
    found = MadeTrace().meta("program", "/opt/app").meta("host", host).meta("page_bytes", 4096)
    found.meta("allocator", "glibc 2.36 (/lib/x86_64-linux-gnu/libc.so.6)")
    for _ in range(2000):
        found.event(NEW, 0x9000, size).event(DELETE, 0x9000)
    return found.used(10_000_000)


def report_of(trace: Trace) -> explain.Report:
    chosen, sites = Filter(), SiteOptions()
    from heapwright.cli.explanation import ReportOptions

    return make_report(trace, trace.begin_facts(chosen, sites), chosen, sites, ReportOptions())


def findings(report: explain.Report) -> list[str]:
    found = explain.explain(report)["summary"]["findings"]
    return [row["text"] for row in found if row["question"] == "advice"]


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        (FASTER, f"{PAIR}: measured by replay: time in the heap −60 % (−3.00 ms)"),
        (SLOWER, f"no part or setting is worth trying (a replay shows no gain by {PAIR})"),
        (SAME, f"no part or setting is worth trying (a replay shows no gain by {PAIR})"),
        (SAME._replace(resolution=1e12), "no rule found anything (explain --check or heapwright replay FILE"),
        (None, "no rule found anything (explain --check or heapwright replay FILE"),
    ],
)
def test_nothing_is_worth_trying_only_where_settings_were_tried(
    tmp_path: Path, figure: ReplayedFigure | None, said: str
) -> None:
    report = report_of(Trace(made(8).write(tmp_path / "app.heapwright")))
    (text,) = findings(report._replace(searched={PAIR: [figure]} if figure else {}))
    assert text.startswith(said)


def test_a_refuted_remedy_is_withdrawn_from_the_first_screen_and_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heapwright.explain.advice import answer

    row: dict[str, Any] = {
        "rule": "arena", "name": "f", "pattern": "p", "confidence": "high", "judged": "refuted", "replayed": [], "part": "",
        "page": "", "action": "do", "time_share": 0.5, "bytes_share": 0.0, "gain_ns": 9, "gain_bytes": 0, "owner": "",
        "gain_is_least": False, "gain_is_resident": False, "is_leak": False,
    }  # fmt: skip
    below = {"changes": 0, "gain_ns": 0, "gain_bytes": 0, "gain_resident_bytes": 0}
    whole = {
        "advice": [row], "is_whole": True, "searched": [], "unknown": "", "cpu_ns": 1, "below": below,
        "allocator_share": 0.36, "durations_recorded": True, "keeps_free_memory": False,
        "least_time_share": 0.02, "least_bytes_share": 0.05,
    }  # fmt: skip
    (none,) = answer._findings(whole)
    assert none.is_nothing and "a replay shows no gain by arena" in none.text and "no rule knows" in none.text
    assert "to try" not in answer._gist(whole)
    (none,) = answer._findings(
        {**whole, "allocator_share": 0.01, "advice": [row | {"judged": "bound", "confidence": "low"}]}
    )
    assert none.is_nothing and "with little confidence: arena" in none.text
    assert "1 change to try" in answer._gist({**whole, "advice": [row | {"judged": "bound"}]})
    (kept,) = answer._findings({**whole, "advice": [row | {"judged": "bound"}]})
    assert "to gain: at most" in kept.text


def test_a_recording_of_another_machine_is_not_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "_replayed", lambda *_: pytest.fail("it was"))
    trace = Trace(made(8, "elsewhere").write(tmp_path / "app.heapwright"))
    report = judge.checked(trace, report_of(trace))
    assert (report.searched, report.not_checked) == ({}, ""), "no remedy, so no bound of one"
    monkeypatch.setattr(judge, "remedies_of", lambda _: [POOL])
    advised = turned_over(NEW, DELETE, 2000, 480).meta("host", "elsewhere").meta("page_bytes", 4096)
    trace = Trace(advised.write(tmp_path / "advised.heapwright"))
    said = printed(explain.explain(judge.checked(trace, report_of(trace))), 200)
    assert "gains are bounds, not checked by a replay: it was recorded on another machine" in said
    assert capsys.readouterr().err == ""


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    monkeypatch.setattr(judge, "why_not_checked", lambda _: "")
    return Trace(made(8).write(tmp_path / "app.heapwright"))


def test_what_was_measured_is_kept_beside_the_trace_for_its_owner(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(judge, "_replayed", lambda *_: calls.append(1) or {PAIR: [FASTER]})
    report = report_of(trace)
    assert judge.checked(trace, report).searched == judge.checked(trace, report).searched == {PAIR: [FASTER]}
    assert len(calls) == 1
    file = Path(f"{trace.path}.checked.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o622)  # others could have written it
    judge.checked(trace, report)
    assert len(calls) == 2
    monkeypatch.setattr("heapwright.__version__", "0.0.0")
    judge.checked(trace, report)
    assert len(calls) == 3, "another version measures again"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "heapwright.check/1", "of": 1, "replayed": 2}'])
def test_a_damaged_cache_is_measured_again(trace: Trace, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    file = Path(f"{trace.path}.checked.json")
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setattr(judge, "_replayed", lambda *_: {PAIR: [FASTER]})
    assert judge.checked(trace, report_of(trace)).searched == {PAIR: [FASTER]}


def test_a_folder_that_keeps_nothing_is_no_error(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "no")

    monkeypatch.setattr(judge, "_replayed", lambda *_: {PAIR: [FASTER]})
    monkeypatch.setattr(judge.os, "open", refuse)
    assert judge.checked(trace, report_of(trace)).searched == {PAIR: [FASTER]}


def test_an_interrupted_check_leaves_the_report_unchecked(
    trace: Trace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> judge.Checked:
        raise KeyboardInterrupt

    monkeypatch.setattr(judge, "_replayed", interrupt)
    assert judge.checked(trace, report_of(trace)).searched == {}
    monkeypatch.setattr(judge, "remedies_of", lambda _: [POOL])
    assert judge.checked(trace, report_of(trace)).not_checked == "it was stopped"
    assert capsys.readouterr().err == ""
    assert not Path(f"{trace.path}.checked.json").exists()


def test_other_allocators_are_tried_besides_as_a_program_runs_on_them() -> None:
    jemalloc = "LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=dirty_decay_ms:0"
    row = {"replay_change": "", "helps": "unknown", "kind": "allocator", "what": jemalloc}
    others = [row | {"replay_set": "jemalloc.dirty_decay_ms=0"}]
    ours = [
        row | {"kind": "arenas", "what": f"A={n}", "replay_set": f"glibc.arena_max={n}"} for n in range(1, 6)
    ]
    wanted = judge.remedies_of({"cause": {"remedies": [*others, *ours]}, "advice": {}})
    assert [one.key for one in wanted] == ["A=1", "A=2", "A=3", jemalloc]


def test_a_busy_machine_has_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    for load, seconds in ((0.0, 10), (4.0, 20), (40.0, 30)):
        monkeypatch.setattr(quick.os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        monkeypatch.setattr(quick.os, "cpu_count", lambda: 2)
        assert quick.limit_s() == seconds


def test_no_more_time_is_spared_than_the_recording_had() -> None:
    """A setting for ghostscript: 7.8 ms of 4.6 in the allocator and 2 of page faults, and really nothing."""
    better = Told(-8.0, -0.8, 1.0, "better")
    for unchanged_ns, most_ns, spared in ((10.0, 5.0, (-4.0, 0.5)), (10.0, 20.0, (-8.0, 1.0))):
        tried = Tried({"time_ns": better._replace(unchanged_ns=unchanged_ns)}, 1.0)
        (figure,) = judge._figures(tried, "MALLOC_ARENA_MAX=1", "glibc", 5, most_ns)
        assert (figure.difference, figure.resolution) == spared
        assert figure.relative_difference == -0.8, "of the time in the heap"
    same = Tried({"time_ns": better._replace(verdict="same", unchanged_ns=10.0)}, 1.0)
    assert judge._figures(same, "MALLOC_ARENA_MAX=1", "glibc", 5, 5.0)[0].resolution == 1.0


def test_code_is_not_refuted_by_a_replay_that_lacks_the_time() -> None:
    same = Told(0.0, 0.0, 10.0, "same")
    for name, unchanged_ns, verdict in (
        ("small_vector:32@f", 49.0, "unknown"),
        ("small_vector:32@f", 51.0, "same"),
        ("MALLOC_ARENA_MAX=1", 49.0, "same"),
    ):
        tried = Tried({"time_ns": same._replace(unchanged_ns=unchanged_ns)}, 1.0)
        (figure,) = judge._figures(tried, name, "glibc", 100)
        assert figure.verdict == verdict, (name, unchanged_ns)
    slower = Tried({"time_ns": same._replace(verdict="worse", unchanged_ns=24.0)}, 1.0)
    assert judge._figures(slower, "arena@f", "glibc", 100)[0].verdict == "worse"
