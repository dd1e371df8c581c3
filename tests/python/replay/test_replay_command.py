# SPDX-License-Identifier: MIT
# length: one command, from every side
"""heapwright replay as users type it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.measure.program import RunFailedError, run_for_document
from heapwright.replay import settings
from lab_runs import faulty
from written_traces import CALLOC, DELETE, FREE, MALLOC, NEW, REALLOC, MadeTrace


def made_trace() -> MadeTrace:
    """A process of two threads whose trace names glibc."""
    made = MadeTrace()
    made.meta("program", "/opt/shop/server").meta("command", "/opt/shop/server")
    made.meta("allocator", "glibc 2.36 (/lib/x86_64-linux-gnu/libc.so.6)").meta("process_id", 100)
    made.line("thread", 0, 100, "main", 0, 0).line("thread", 1, 101, "worker", 500, 9000000)
    for number in range(200):
        made.event(MALLOC, 0x10000 + 4096 * number, 3000)
    made.event(CALLOC, 0x3000, 50)
    made.event(REALLOC, 0x4000, 500, old=0x3000)
    made.event(NEW, 0x5000, 64)
    made.event(DELETE, 0x5000, thread=1)
    made.event(FREE, 0x4000)
    for time_ns, bytes_ in ((1000, 100_000), (30_000, 700_000)):
        made.line("memory", time_ns, bytes_)
    return made


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(made_trace().write(tmp_path / "server.heapwright"))


QUICK = ["--runs", "2", "--idle", "0"]


def test_json_is_the_document(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["replay", file, "--on", "glibc", "--set", "glibc.arena_max=1", *QUICK, "--json"]
    assert run_command(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "heapwright.replay/1"
    assert document["is_recorded"]
    assert [c["name"] for c in document["candidates"]] == ["glibc", "glibc arena_max=1"]
    assert document["candidates"][1]["variables"] == {"MALLOC_ARENA_MAX": "1"}
    assert document["candidates"][1]["command"] == "MALLOC_ARENA_MAX=1 /opt/shop/server"
    assert document["plan"]["before_recording"] == 0
    assert document["fidelity"]["recorded"]["peak_bytes"] == 700_000
    assert document["candidates"][0]["figures"]["peak_bytes"]["value"] == 700_000
    assert document["candidates"][0]["runs"]["time"][0]["calls"] == 205


def test_the_answer_comes_first_and_what_to_type_last(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["replay", file, "--on", "glibc", *QUICK]) == 0
    said = capsys.readouterr()
    said_in_one = " ".join(said.out.split())
    assert said_in_one.startswith("Only glibc was run; use --on to add allocators to compare.")
    assert "; errors: " in said_in_one
    assert "Best trade-offs of CPU time, peak, mean and p99.9: glibc." in said_in_one
    assert "next: " in said.err


def test_search_tries_the_grid(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["replay", file, "--on", "glibc", "--search", "--runs", "1", "--idle", "0", "--json"]
    assert run_command(words) == 0
    document = json.loads(capsys.readouterr().out)
    names = [candidate["name"] for candidate in document["candidates"]]
    assert names == ["glibc", *(f"glibc {words}" for words in settings.GRID["glibc"])]
    assert set(document["front"]) <= set(names)
    assert document["front"]


def test_a_single_run_ranks_nothing(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["replay", file, "--on", "glibc", "--set", "glibc.arena_max=1", "--quick"]
    assert run_command(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Best trade-offs" not in said
    assert "; errors: " in said


def test_quick_replays_a_window_of_a_long_recording(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heapwright.cli.replay.QUICK_CALLS", 100)
    words = ["replay", file, "--on", "glibc", "--set", "glibc.arena_max=1", "--quick", "--json"]
    assert run_command(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert 0 < document["plan"]["begin_ns"] < document["plan"]["end_ns"]
    assert document["plan"]["earlier_blocks"] > 0
    assert 90 <= document["candidates"][0]["runs"]["time"][0]["calls"] <= 110
    assert document["runs"] == 3
    assert document["candidates"][1]["figures"]["time_ns"]["verdict"] != "unknown"
    (note,) = [note for note in document["notes"] if note.startswith("a window of ")]
    assert note.startswith("a window of 100 of 205 calls, ")
    assert "live at its begin are allocated first, without the gaps" in note


def test_markdown(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["replay", file, "--on", "glibc", *QUICK, "--md"]) == 0
    assert "| allocator | CPU time | peak |" in capsys.readouterr().out


def test_crashing_and_hanging_allocators_are_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = made_trace()
    for _ in range(3000):
        made.event(MALLOC, 0x1000, 100).event(FREE, 0x1000)
    file = str(made.write(tmp_path / "busy.heapwright"))
    on = f"glibc,{faulty}/crashing.so,{faulty}/hanging.so"
    assert run_command(["replay", file, "--on", on, *QUICK, "--limit", "5", "--json"]) == 2
    said = capsys.readouterr()
    document = json.loads(said.out)
    found = {c["name"]: c["failure"] for c in document["candidates"]}
    assert found["glibc"] == ""
    assert [bool(c["figures"]) for c in document["candidates"]] == [True, False, False]
    assert document["front"] == ["glibc"]
    assert "crashed" in found["crashing"]
    assert "hung" in found["hanging"]
    assert "heapwright: crashing crashed" in said.err


def test_a_crash_in_the_runs_for_call_sites_is_a_failure(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: Sequence[str], environment: Mapping[str, str], limit_s: float) -> dict[str, Any]:
        if "timed" in command and "MALLOC_ARENA_MAX" in environment:
            raise RunFailedError("crashed: SIGSEGV", -11)
        return run_for_document(command, environment, limit_s)

    monkeypatch.setattr("heapwright.replay.session.run_for_document", run)
    words = ["replay", file, "--on", "glibc", "--set", "glibc.arena_max=1", *QUICK, "--json"]
    assert run_command(words) == 2
    found = json.loads(capsys.readouterr().out)["candidates"]
    assert [c["failure"] for c in found] == ["", "crashed: SIGSEGV"]
    assert found[1]["figures"] == {}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--on", "jemaloc"], "no allocator jemaloc; did you mean jemalloc?"),
        (["--on", "/no/such.so"], "no such file: /no/such.so"),
        (["--set", "glibc.arena_mx=1"], "did you mean arena_max?"),
        (["--set", "glibc.arena_max=0"], "glibc.arena_max takes 1 to "),
        (["--set", "glibc.tcache_count=-1"], "glibc.tcache_count takes 0 to "),
        (["--on", "glibc,zzz"], "no allocator zzz; known: "),
        (["--runs", "0"], "--runs takes 1 to 100"),
        (["--idle", "-1"], "--idle takes a time such as 2.5s"),
        (["--limit", "0"], "--limit takes seconds"),
        (["--pace", "--no-pace"], "--pace and --no-pace are mutually exclusive"),
        (["--json", "--md"], "--json and --md both write to standard output"),
    ],
)
def test_bad_input_is_one_line(
    file: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["replay", file, *words]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert message in lines[0]


def test_a_recording_that_is_not_whole_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = made_trace().meta("sample_mean_bytes", 4096)
    file = str(made.write(tmp_path / "sampled.heapwright"))
    assert run_command(["replay", file]) == 2
    assert "cannot be replayed faithfully: it is a sample" in capsys.readouterr().err
    assert run_command(["replay", file, "--on", "glibc", *QUICK, "--anyway"]) == 0
    assert "note: incomplete recording" in " ".join(capsys.readouterr().out.split())


def test_a_recording_of_a_machine_with_other_pages_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(made_trace().meta("page_bytes", 16384).write(tmp_path / "other.heapwright"))
    assert run_command(["replay", file]) == 2
    assert "it was recorded with pages of 16384 bytes, and replays use 4096" in capsys.readouterr().err
    assert run_command(["replay", file, "--on", "glibc", *QUICK, "--anyway"]) == 0
    assert "note: memory may be far off" in " ".join(capsys.readouterr().out.split())


def test_what_another_machine_has_otherwise_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = made_trace().meta("condition", "cpus\t4096").meta("condition", "architecture\tother")
    file = str(made.write(tmp_path / "other.heapwright"))
    assert run_command(["replay", file, "--on", "glibc", *QUICK, "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any(note.startswith("number of CPUs of the recording: 4096,") for note in notes)
    assert any(note.startswith("architecture of the recording: other,") for note in notes)
    assert not any(note.startswith(("kernel", "mode of")) for note in notes)


def test_a_recording_of_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(MadeTrace().meta("program", "/opt/x").write(tmp_path / "empty.heapwright"))
    assert run_command(["replay", file, "--on", "glibc"]) == 2
    assert "has no block: there is nothing to replay" in capsys.readouterr().err


def test_a_recording_of_readings_alone_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = MadeTrace().meta("program", "/opt/x").meta("process_id", 100)
    made.line("thread", 0, 100, "main", 0, 0)
    made.line("memory", 1000, 100_000).line("memory", 2000, 100_000)
    file = str(made.write(tmp_path / "readings.heapwright"))
    assert run_command(["replay", file, "--on", "glibc"]) == 2
    assert "has no block: there is nothing to replay" in capsys.readouterr().err


def test_no_room_for_the_plan_is_said_before(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    assert run_command(["replay", file, "--on", "glibc"]) == 2
    assert "set TMPDIR to a folder with more space" in capsys.readouterr().err


def test_more_memory_than_the_machine_has_is_said_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = MadeTrace().meta("program", "/opt/shop").meta("allocator", "glibc 2.36 (/lib/libc.so.6)")
    made.event(MALLOC, 0x10_0000_0000, 1 << 43)  # no reading says that it was not touched
    file = str(made.write(tmp_path / "large.heapwright"))
    assert run_command(["replay", file, "--on", "glibc"]) == 2
    assert "the recorded blocks take 8388608 MiB" in capsys.readouterr().err


def test_a_library_that_only_the_recording_names_is_not_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = tmp_path / "theirs.so"
    shutil.copyfile(Path(faulty) / "crashing.so", library)
    made = made_trace().meta("allocator", f"theirs 1.0 ({library})")
    file = str(made.write(tmp_path / "theirs.heapwright"))
    assert run_command(["replay", file, "--on", "glibc", *QUICK, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [candidate["name"] for candidate in document["candidates"]] == ["glibc"]
    assert not document["is_recorded"]
    assert any(
        f"is not loaded just because a recording names it; --on {library} loads it" in note
        for note in document["notes"]
    )
    run_command(["replay", file, "--on", f"glibc,{library}", *QUICK, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["is_recorded"]


def test_settings_of_a_recording_reach_no_file_and_no_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = (
        made_trace()
        .meta("condition", "MALLOC_CONF\tprof_prefix:/tmp/x")
        .meta("condition", "MALLOC_ARENA_MAX\t1;id")
    )
    file = str(made.write(tmp_path / "theirs.heapwright"))
    assert run_command(["replay", file, "--on", "glibc", *QUICK, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "MALLOC_CONF=prof_prefix:/tmp/x names a file and is not set here" in document["notes"]
    assert document["candidates"][0]["variables"] == {"MALLOC_ARENA_MAX": "1;id"}
    assert document["candidates"][0]["command"] == "MALLOC_ARENA_MAX='1;id' /opt/shop/server"


@pytest.mark.parametrize(
    ("words", "share"), [([], 1), (["--speed", "10"], 0.1), (["--speed", "0.5"], 2), (["--no-pace"], 0)]
)
def test_memory_is_replayed_as_fast_as_asked(
    file: str, capsys: pytest.CaptureFixture[str], words: list[str], share: float
) -> None:
    assert run_command(["replay", file, "--on", "glibc", "--runs", "1", "--idle", "0", "--json", *words]) == 0
    assert json.loads(capsys.readouterr().out)["pace"] == pytest.approx(share)


@pytest.mark.parametrize("words", [["--speed", "0"], ["--speed", "nan"], ["--speed", "2", "--no-pace"]])
def test_a_speed_that_cannot_be_is_one_line(
    file: str, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run_command(["replay", file, *words]) == 2
    assert "--speed" in capsys.readouterr().err
