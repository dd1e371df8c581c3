# SPDX-License-Identifier: MIT
"""Recordings that are no further runs, that are cut, or of which little is known."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from heapwright.cli import run_command
from heapwright.compare import show
from test_compare_document import document, made
from written_traces import BUILD


@pytest.fixture
def recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[Path]:
    """Two recordings of two runs."""
    command = f"{BUILD / 'programs/pairs'} 100"
    kept = tmp_path / "kept"
    words = ["compare", "--run", command, "--run", command, "--runs", "1", "--keep", str(kept)]
    assert run_command(words) == 0
    capsys.readouterr()
    return sorted(kept.iterdir())


def test_copies_are_no_further_runs(
    tmp_path: Path, recorded: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    for number in range(3):
        shutil.copy(recorded[0], copies / f"{number}.heapwright")
    assert run_command(["compare", str(copies), str(recorded[1])]) == 2
    assert capsys.readouterr().err == (
        f"heapwright: A's {copies}/0.heapwright and {copies}/1.heapwright are of the same process; "
        "give each run once\n"
    )
    words = ["--b", str(recorded[0]), "--b", str(recorded[0])]
    assert run_command(["compare", "--a", str(recorded[1]), *words]) == 2
    assert "B's " in capsys.readouterr().err
    same = "A and B share a recording, which cannot differ from itself"
    assert same in document(capsys, recorded[0], copies / "0.heapwright")["notes"]
    assert same not in document(capsys, *recorded)["notes"]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (
            "4 0",
            "it is cut by its size limit (--max-size, --room): later calls are not in it; record the whole run",
        ),
        ("5 0", "it is cut by its time limit (--duration): later calls are not in it; record the whole run"),
        ("", "it is cut or damaged: calls are missing; record it again"),
    ],
)
def test_of_a_cut_recording_nothing_is_exact(
    tmp_path: Path, end: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = made(24)
    cut.has_end, cut.end = bool(end), f"end {end} 10000000"
    files = [made(20).write(tmp_path / "a.heapwright"), cut.write(tmp_path / "b.heapwright")]
    assert run_command(["compare", *map(str, files)]) == 2
    assert f"cannot be compared: {reason} (" in capsys.readouterr().err
    found = document(capsys, *files, "--anyway")
    assert not any(row["is_exact"] for row in found["totals"])
    assert [note for note in found["notes"] if "is incomplete" in note] == [
        f"b.heapwright is incomplete, which may explain differences: {reason}"
    ]


def test_nothing_that_can_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unknown = [{"verdict": "unknown", "difference": 0, "label": "allocations"}]
    assert show.verdict({"per": "", "totals": unknown, "sites": []}) == ["No known difference."]


def test_a_program_that_was_killed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    killed = made(20)
    killed.end = "end 2 9 10000000"
    files = [made(20).write(tmp_path / "a.heapwright"), killed.write(tmp_path / "b.heapwright")]
    assert (
        "b.heapwright: its program was killed by signal 9; figures cover the time until then"
        in document(capsys, *files)["notes"]
    )


def test_the_next_command_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = made(20, extra=2).write(tmp_path / "a.heapwright")
    b = made(20, build="bb").write(tmp_path / "b.heapwright")
    assert run_command(["compare", str(a), str(b)]) == 0
    words = shlex.split(capsys.readouterr().err.partition("next: ")[2])
    assert "--site" not in words
    assert run_command([*words[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_a_page_replaces_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(made(20).write(tmp_path / f"{name}.heapwright")) for name in "ab"]
    assert run_command(["compare", *files, "--html", files[1], "--force"]) == 2
    assert capsys.readouterr().err == (
        f"heapwright: {files[1]} is the input of this command; name another file to write\n"
    )
