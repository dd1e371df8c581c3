# SPDX-License-Identifier: MIT
# length: one document, and every way in which two of them differ
"""Two documents of replay --json beside each other: what differs on which candidate, worked out by hand."""

from __future__ import annotations

import copy
import json
import re
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from heapwright.cli import run_command, schemas
from test_compare_document import made

MIB = 1 << 20


def figure(value: float, half: float = 0.0, runs: int = 3) -> dict[str, Any]:
    return {
        "value": value,
        "low": value - half,
        "high": value + half,
        "spread": half,
        "at_once": None,
        "never": None,
        "noise": 0.0,
        "runs": runs,
        "difference": 0.0,
        "relative_difference": 0.0,
        "resolution": None,
        "verdict": "same",
    }


def candidate(name: str, peak: float, time: float, runs: int = 3, half: float = 1000.0) -> dict[str, Any]:
    memory = {
        key: figure(peak, half, runs) for key in ("peak_bytes", "mean_bytes", "end_bytes", "idle_bytes")
    }
    return {
        "name": name,
        "version": "1.0",
        "path": "",
        "variables": {},
        "change": "",
        "command": "shop",
        "failure": "",
        "runs": {"memory": [], "time": [], "gaps": []},
        "resident_bytes": [],
        "figures": {"time_ns": figure(time, 50_000, runs), **memory, "p999_ns": figure(900, 10, runs)},
        "call_sites": None,
        "memory_sites": None,
        "longest_frees_ns": None,
        "functions": None,
        "whole_functions": None,
        "kernel": None,
        "measured": {},
    }


def document(*candidates: dict[str, Any], error: float = 4096.0, runs: int = 3) -> dict[str, Any]:
    """As its schema wants it. error: of the memory."""
    curve = {"peak_bytes": 8e6, "mean_bytes": 8e6, "end_bytes": 8e6}
    counts = (
        "threads operations lanes turns slots peak_live_bytes before_recording failed unseen_releases "
        "damaged_chunks begin_ns end_ns earlier_blocks earlier_bytes large_blocks seen_blocks "
        "guessed_touched_bytes guessed_untouched_bytes small_bytes"
    )
    found = {
        "schema": "heapwright.replay/1",
        "trace": "shop.heapwright",
        "program": "/opt/shop",
        "recording_start_unix_ns": 1_700_000_000_000_000_000,
        "recorded_on": "glibc 2.36",
        "machine": {"cpu": "Xeon", "cpus": 2, "memory_bytes": 1},
        "notes": [],
        "plan": dict.fromkeys(counts.split(), 1000),
        "changes": [],
        "pace": 1.0,
        "time_fidelity": None,
        "gaps": None,
        "fidelity": {
            "recorded": curve,
            "replayed": curve,
            "errors": dict.fromkeys(curve, error),
            "beside_heap_bytes": 0.0,
            "relative_peak": 0.0,
        },
        "dry_cpu_ns": 1000.0,
        "dry_range_ns": 20_000.0,
        "reference": "glibc",
        "is_recorded": True,
        "runs": runs,
        "moments": {"time_ns": [], "recorded_bytes": None, "needed_bytes": []},
        "candidates": list(candidates),
        "front": [],
    }
    jsonschema.Draft202012Validator(schemas.of("replay")).validate(found)
    return found


def written(folder: Path, name: str, found: dict[str, Any]) -> str:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    return str(path)


def compared(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run_command(["compare", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schemas.of("compare-replays")).validate(found)
    return found


def verdicts(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {
        one["name"]: {key: row["verdict"] for key, row in one["figures"].items()}
        for one in found["candidates"]
    }


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    """On glibc B has less memory, on jemalloc less time."""
    a = document(candidate("glibc", 80 * MIB, 9e6), candidate("jemalloc", 70 * MIB, 9e6))
    b = document(candidate("glibc", 60 * MIB, 9e6), candidate("jemalloc", 70 * MIB, 6e6))
    return [written(tmp_path, "a", a), written(tmp_path, "b", b)]


def test_figures_by_hand(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, *pair)
    assert found["candidates"][0]["figures"]["peak_bytes"] == {
        "a": 80 * MIB, "b": 60 * MIB, "difference": -20 * MIB, "relative_difference": -0.25,
        "band": 2000, "error": 8192, "verdict": "less",
    }  # fmt: skip
    assert found["candidates"][1]["figures"]["time_ns"] == {
        "a": 9e6, "b": 6e6, "difference": -3e6, "relative_difference": -1 / 3,
        "band": 100_000, "error": 40_000, "verdict": "less",
    }  # fmt: skip
    assert verdicts(found)["glibc"]["time_ns"] == verdicts(found)["jemalloc"]["peak_bytes"] == "same"
    assert found["false_alarms_at_most"] == 0.1


def test_the_answer_in_words(
    pair: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert run_command(["compare", *pair]) == 0
    said, hint = capsys.readouterr()
    assert " ".join(said.splitlines()[:2]).replace("  ", " ") == (
        "On glibc B has 20.0 MiB less peak (−25 %), 20.0 MiB less mean (−25 %), 20.0 MiB less end (−25 %), "
        "20.0 MiB less after idle (−25 %)."
    )
    assert said.splitlines()[2] == "On jemalloc B has 3.00 ms less CPU time (−33 %)."
    assert re.search(r"^glibc +=( +−20\.0 MiB −25 %){3} +=$", said, re.MULTILINE)
    assert hint == "next: heapwright replay shop.heapwright --runs 5 narrows the bands\n"
    assert run_command(["compare", pair[0], pair[0]]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "No difference on glibc, jemalloc."


@pytest.mark.parametrize(
    ("peak", "half", "error", "verdict"),
    [
        (81.5, 1000, 4096, "more"),
        (80.5, 1000, 4096, "same"),  # less than 1 %
        (81.5, 1000, MIB, "same"),  # less than both errors
        (81.5, 1.6 * MIB, 4096, "same"),  # the runs overlap
        (81.5, 0.9 * MIB / 2, MIB / 4, "more"),
    ],
)
def test_a_difference_is_outside_all_bands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], peak: float, half: float, error: float, verdict: str
) -> None:
    sides = [document(candidate("glibc", value * MIB, 9e6, half=half), error=error) for value in (80.0, peak)]
    files = [written(tmp_path, name, side) for name, side in zip("ab", sides, strict=True)]
    assert verdicts(compared(capsys, *files))["glibc"]["peak_bytes"] == verdict


def test_of_two_runs_nothing_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = document(candidate("glibc", 80 * MIB, 9e6, 2), runs=2)
    b = document(candidate("glibc", 60 * MIB, 9e6, 2), runs=2)
    files = [written(tmp_path, "a", a), written(tmp_path, "b", b)]
    found = verdicts(compared(capsys, *files))["glibc"]
    assert (found["peak_bytes"], found["p999_ns"]) == ("unknown", "same")
    assert run_command(["compare", *files]) == 0
    assert "−20.0 MiB ?" in capsys.readouterr().out


def test_what_only_one_side_has_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = document(candidate("glibc", 80 * MIB, 9e6), candidate("tbb", 80 * MIB, 9e6))
    b = copy.deepcopy(document(candidate("glibc", 80 * MIB, 9e6), candidate("mimalloc", 80 * MIB, 9e6)))
    b["candidates"][0] |= {"failure": "crashed: signal 11", "version": "2.0"}
    b["fidelity"], b["trace"], b["pace"] = None, "other.heapwright", 0.0
    b["machine"]["cpus"] = 4
    b["notes"] = ["2 damaged chunks are left out"]
    files = [written(tmp_path, "a", a), written(tmp_path, "b", b)]
    found = compared(capsys, *files)
    assert (found["only_a"], found["only_b"]) == (["tbb"], ["mimalloc"])
    assert found["candidates"][0]["figures"] == {}
    assert found["notes"] == [
        "B: 2 damaged chunks are left out",
        "A and B were replayed on different machines: differences in time may be theirs",
        "only A was replayed as slowly as the program: memory returned after a delay differs",
        "the accuracy of memory is known only for A: memory is not compared",
        "each side replays one recording: the bands do not include variation between runs of the program; "
        "compare repeated recordings for that",
        "glibc: 1.0 in A, 2.0 in B",
    ]
    assert run_command(["compare", *files]) == 0
    said, hint = capsys.readouterr()
    assert said.startswith("No candidate was measured on both sides.\n")
    assert "failed in B" in said
    assert hint.startswith("next: heapwright compare shop.heapwright other.heapwright ")


def test_memory_of_a_heap_alone_is_not_that_of_a_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [document(candidate("glibc", peak * MIB, 9e6)) for peak in (80, 60)]
    sides[1]["fidelity"] = None
    files = [written(tmp_path, name, side) for name, side in zip("ab", sides, strict=True)]
    assert verdicts(compared(capsys, *files))["glibc"]["peak_bytes"] == "unknown"


def test_markdown_and_a_page(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "page.html"
    assert run_command(["compare", *pair, "--md", "--html", str(file)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "### Heap, replayed: B compared to A\n\n- On glibc B has 20.0 MiB less peak (−25 %), "
    )
    assert "| jemalloc | −3.00 ms −33 % | = | = | = | = |\n" in said
    text = file.read_text(encoding="utf-8")
    assert "<h1>On glibc B has 20.0 MiB less peak" in text
    assert '<td class="num less">−20.0 MiB −25 %</td>' in text
    assert "<script" not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", "is not a complete output of heapwright replay --json; create it again"),
        (
            '{"schema": "heapwright.explain/1"}',
            "is a document of heapwright.explain/1; heapwright replay FILE",
        ),
        (
            '{"schema": "heapwright.replay/2"}',
            "is of version 2, which is unknown; heapwright replay FILE",
        ),
        ('{"schema": "heapwright.replay/1"}', "lacks fields of heapwright.replay/1, or they are"),
    ],
)
def test_what_is_no_such_document(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: str
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(text, encoding="utf-8")
    assert run_command(["compare", pair[0], str(bad)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"heapwright: {bad} {line}")
    assert said.count("\n") == 1


@pytest.mark.parametrize("amount", ["1e999", "-1", "NaN", '"x"', "[" * 100_000])
def test_figures_that_cannot_be_are_refused(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], amount: str
) -> None:
    bad = tmp_path / "bad.json"
    text, count = re.subn(
        r'"value": [0-9.]+', f'"value": {amount}', Path(pair[0]).read_text(encoding="utf-8")
    )
    assert count
    bad.write_text(text, encoding="utf-8")
    assert run_command(["compare", pair[0], str(bad)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_names_of_a_document_move_no_cursor(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = tmp_path / "hostile.json"
    text = Path(pair[0]).read_text(encoding="utf-8").replace("jemalloc", "je\\u001b[2Jmalloc")
    hostile.write_text(text, encoding="utf-8-sig")
    assert run_command(["compare", str(hostile), str(hostile)]) == 0
    said = capsys.readouterr()
    assert "\x1b[2J" not in said.out + said.err
    assert "malloc" in said.out


def test_what_does_not_go_with_replays(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = str(made(20).write(tmp_path / "a.heapwright"))
    assert run_command(["compare", pair[0], recording]) == 2
    assert f"{recording} is not a file of replay --json, but the other one is" in capsys.readouterr().err
    assert run_command(["compare", pair[0], str(tmp_path / "absent.json")]) == 2
    assert capsys.readouterr().err == f"heapwright: no such file: {tmp_path / 'absent.json'}\n"
    assert run_command(["compare", *pair, "--per", "2"]) == 2
    assert "--per applies to recordings, not to replays; omit it" in capsys.readouterr().err
    assert run_command(["compare", "--a", pair[0], "--a", pair[1], "--b", pair[1]]) == 2
    assert "replays are compared two at a time: one file per side" in capsys.readouterr().err


def test_what_replay_prints_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = made(2000).write(tmp_path / "a.heapwright")
    for name in "ab":
        assert run_command(["replay", str(file), "--on", "glibc", "--idle", "0", "--json"]) == 0
        (tmp_path / f"{name}.json").write_text(capsys.readouterr().out, encoding="utf-8")
    found = compared(capsys, str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    assert found["candidates"][0]["figures"].keys() == {
        *("time_ns", "peak_bytes", "mean_bytes", "end_bytes", "idle_bytes", "p999_ns")
    }
