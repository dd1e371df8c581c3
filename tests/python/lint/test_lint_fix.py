# SPDX-License-Identifier: MIT
"""Edits: what --fix writes compiles and does the same, and is written once, where the lines are as they were."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import sarif_pydantic
from heapwright.cli import run_command
from heapwright.lint import fix
from heapwright.lint.checks.tree import replacing
from heapwright.lint.finding import Finding, Fix
from lint_sources import CORPUS

pytest.importorskip("clang.cindex")
SHARED = "#include <memory>\nvoid f() {\n  std::shared_ptr<int> p(new int(1));\n}\n"


def lint(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    assert run_command(["lint", "--json", *words]) == status
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def compiled(source: Path) -> str:
    """What the program prints."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ here")
    program = source.with_suffix(".out")
    subprocess.run([compiler, "-std=c++20", "-Wall", "-Werror", source, "-o", program], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", ["fixes", "fixes_released", "fixes_shared", "fixes_reserve"])
def test_the_edits_are_those_that_a_reader_wrote_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    file = tmp_path / "fixes.cpp"
    shutil.copyfile(CORPUS / f"{name}.cpp", file)
    file.chmod(0o640)
    before = compiled(file)
    document = lint(capsys, "--sources", str(tmp_path), "--fix")
    wanted = (CORPUS / f"{name}_after.cpp").read_text(encoding="utf-8").split("#include", 1)[1]
    assert file.read_text(encoding="utf-8").split("#include", 1)[1] == wanted
    assert compiled(file) == before
    assert file.stat().st_mode & 0o777 == 0o640
    fixed = [one["is_fixed"] for one in document["findings"]]
    assert fixed == [one["fix"] is not None for one in document["findings"]]
    assert f"{sum(fixed)} edits written into 1 file" in document["notes"]


def test_a_second_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fixes.cpp"
    shutil.copyfile(CORPUS / "fixes.cpp", file)
    lint(capsys, "--sources", str(tmp_path), "--fix")
    once = file.read_bytes()
    document = lint(capsys, "--sources", str(tmp_path), "--fix")
    assert file.read_bytes() == once
    assert [one["fix"] for one in document["findings"]] == [None] * len(document["findings"])


def test_without_the_option_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.cpp"
    file.write_text(SHARED)
    lint(capsys, "--sources", str(tmp_path))
    assert file.read_text() == SHARED


def test_a_fixed_finding_does_not_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.cpp"
    file.write_text(SHARED)
    lint(capsys, "--sources", str(tmp_path), "--fail", status=1)
    lint(capsys, "--sources", str(tmp_path), "--fail", "--fix")
    file.write_text(SHARED.replace("new int(1)", "new int(NULL)"))
    lint(capsys, "--sources", str(tmp_path), "--fail", "--fix", status=1)


def test_what_is_hidden_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.cpp"
    text = SHARED.replace("(1));", "(1));  // NOLINT")
    file.write_text(text)
    lint(capsys, "--sources", str(tmp_path), "--fix")
    assert file.read_text() == text


def test_a_header_of_many_units_is_edited_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = tmp_path / "one.hpp"
    header.write_text("#pragma once\n" + SHARED.replace("void f", "inline void f"))
    for name in ("a.cpp", "b.cpp"):
        (tmp_path / name).write_text(
            f'#include "one.hpp"\nvoid {name[0]}() {{ int* x = new int; delete x; }}\n'
        )
    document = lint(capsys, "--sources", str(tmp_path), "--fix", "--jobs", "2")
    assert [one["is_fixed"] for one in document["findings"]] == [True]
    assert header.read_text().count("std::make_shared<int>(1)") == 1
    assert "new int" not in header.read_text()


def found(edit: Fix | None, file: str = "one.cpp") -> Finding:
    return Finding("shared-from-new", file, 1, 1, "", "", fix=edit)


def test_lines_that_changed_since_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "one.cpp"
    text = b"first(a);\nsecond(b);\n"
    edits = [found(replacing(text, 6, 7, "A")), found(replacing(text, 17, 18, "B"))]
    file.write_bytes(b"first(x);\nsecond(b);\n")
    applied = fix.apply(tmp_path, [*edits, found(None)])
    assert file.read_bytes() == b"first(x);\nsecond(B);\n"
    assert (list(applied.fixed), list(applied.refused)) == ([edits[1]], [edits[0]])
    file.write_bytes(b"first(a);")
    assert fix.apply(tmp_path, edits[1:]).fixed == ()
    assert file.read_bytes() == b"first(a);"


def test_of_two_edits_that_overlap_one_is_written(tmp_path: Path) -> None:
    file = tmp_path / "one.cpp"
    text = b"outer(inner(a));\n"
    file.write_bytes(text)
    edits = [found(replacing(text, 0, 15, "all")), found(replacing(text, 6, 14, "part"))]
    applied = fix.apply(tmp_path, edits)
    assert file.read_bytes() == b"outer(part);\n"
    assert (list(applied.fixed), list(applied.refused)) == ([edits[1]], [edits[0]])


def test_line_ends_stay_as_they_are_and_other_characters_are_not_touched() -> None:
    text = b"a;\r\n  b;\r\n"
    edit = replacing(text, 6, 7, "x;\ny")
    assert edit == Fix(2, 3, 2, 4, "b", "x;\r\ny")
    assert replacing("a; // ü\nb;\n".encode(), 0, 1, "x") is None
    assert replacing("a; // ü\nb;\n".encode(), 9, 10, "x") == Fix(2, 1, 2, 2, "b", "x")


def test_a_folder_that_cannot_be_written_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.cpp").write_text(SHARED)

    def refuse(*_words: object, **_named: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(fix.tempfile, "mkstemp", refuse)
    assert run_command(["lint", "--sources", str(tmp_path), "--fix"]) == 2
    said = capsys.readouterr().err
    assert "cannot write" in said
    assert said.count("\n") == 1


def test_sarif_has_the_edit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.cpp").write_text(SHARED)
    path = tmp_path / "out.sarif"
    lint(capsys, "--sources", str(tmp_path), "--sarif", str(path))
    log = sarif_pydantic.Sarif.model_validate_json(path.read_text())
    (result,) = log.runs[0].results or []
    (change,) = (result.fixes or [])[0].artifact_changes
    (replacement,) = change.replacements
    region = replacement.deleted_region
    lines = SHARED.split("\n")
    assert region.start_line == region.end_line == 3
    assert region.start_column is not None and region.end_column is not None
    assert lines[2][region.start_column - 1 : region.end_column - 1] == "new int(1)"
    assert replacement.inserted_content is not None
    assert replacement.inserted_content.text == "std::make_shared<int>(1)"


def test_the_edit_is_one_line_on_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.cpp").write_text(SHARED)
    assert run_command(["lint", "--sources", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "new int(1) → std::make_shared<int>(1)   (--fix applies it)" in " ".join(said.out.split("\n"))
    assert "--fix" in said.err
