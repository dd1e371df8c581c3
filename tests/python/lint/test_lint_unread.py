# SPDX-License-Identifier: MIT
"""What lint could not read, or read as it no longer is: it says so, and does not pass for nothing found."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.lint import unseen
from heapwright.lint.compile import open_database
from heapwright.lint.finding import Finding
from heapwright.lint.sources import Sources

pytest.importorskip("clang.cindex")
MADE = "#include <memory>\nauto p = std::shared_ptr<int>(new int(1));  // NOLINT\n"


def commands(folder: Path, *entries: tuple[str, str]) -> None:
    """compile_commands.json with these files and their command lines."""
    named = [{"directory": str(folder), "file": file, "command": line} for file, line in entries]
    (folder / "compile_commands.json").write_text(json.dumps(named))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run_command(["lint", *words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_flags_that_clang_does_not_take_are_no_clean_sources(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.cpp").write_text(MADE)
    commands(tmp_path, ("one.cpp", "g++ -bogus-flag -std=c++99 -c one.cpp"))
    assert "no file could be read" in refused(capsys, "--sources", str(tmp_path))


@pytest.mark.parametrize(("include", "status"), [('#include "none.hpp"\n', 1), ("", 0)])
def test_a_file_with_errors_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], include: str, status: int
) -> None:
    (tmp_path / "one.cpp").write_text(include + MADE)
    assert run_command(["lint", "--json", "--sources", str(tmp_path), "--fail"]) == status
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any("have errors" in note for note in notes) == bool(status)


def test_commands_for_another_folder_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.cpp").write_text(MADE)
    commands(tmp_path, ("/nowhere/one.cpp", "g++ -c one.cpp"))
    assert "is under" in refused(capsys, "--sources", str(tmp_path))


def test_headers_that_no_source_includes_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "alone.hpp").write_text(MADE)
    (tmp_path / "used.hpp").write_text(MADE)
    (tmp_path / "one.cpp").write_text('#include "used.hpp"\n')
    assert run_command(["lint", "--json", "--sources", str(tmp_path)]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert [note for note in notes if "no source includes" in note] == [
        "1 header not checked: no source includes them; given as PATHS they are parsed alone (alone.hpp)"
    ]


def test_since_outside_of_a_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.cpp").write_text(MADE)
    assert "not a git repository" in refused(capsys, "--sources", str(tmp_path), "--since", "HEAD")


def test_a_file_in_c_has_no_flags_of_c_plus_plus(tmp_path: Path) -> None:
    commands(tmp_path, ("one.cpp", "g++ -std=c++20 -DA -c one.cpp"), ("sub/two.c", "gcc -DB -c two.c"))
    database = open_database(None, tmp_path)
    assert database.unit_of(str(tmp_path / "new.c")).arguments == ("-DB",)
    commands(tmp_path, ("one.cpp", "g++ -std=c++20 -DA -c one.cpp"))
    assert open_database(None, tmp_path).unit_of(str(tmp_path / "new.c")).arguments == ("-DA",)


def test_a_recording_has_no_edits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "--with", str(tmp_path / "a.heapwright"), "--sources", str(tmp_path), "--fix")
    assert "--fix cannot be used with --with" in said


def test_sources_newer_than_the_recording_are_named(tmp_path: Path) -> None:
    for name, second in (("old.cpp", 90), ("new.cpp", 110)):
        (tmp_path / name).write_text(MADE)
        os.utime(tmp_path / name, (second, second))
    findings = tuple(Finding("call", name, 1, 1, "", "") for name in ("old.cpp", "new.cpp"))
    looked: Any = SimpleNamespace(findings=findings)
    trace: Any = SimpleNamespace(metadata=SimpleNamespace(start_unix_ns=100 * 10**9))
    (note,) = unseen.newer(looked, trace, Sources(tmp_path))
    assert note.startswith("newer than the recording: new.cpp;")
