# SPDX-License-Identifier: MIT
"""clang-tidy's own checks beside ours: from a program that says what it was asked, and from the real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.lint import tidy
from heapwright.lint.finding import Costs, Finding

pytest.importorskip("clang.cindex")
SOURCE = """#include <memory>
#include <string>
#include <vector>
struct T { std::string a; };
int f(const std::vector<T>& all, std::string name) {
  std::shared_ptr<T> p = std::shared_ptr<T>(new T);
  int n = static_cast<int>(name.size());
  for (const T one : all) { n += static_cast<int>(one.a.size()); }
  return n + (p ? 1 : 0);
}
"""
FAKE = """#!/bin/sh
echo "$@" > {folder}/asked
echo "{folder}/one.cpp:5:40: warning: the parameter 'name' is copied [performance-unnecessary-value-param]"
echo "{folder}/one.cpp:5:40: warning: the parameter 'name' is copied [performance-unnecessary-value-param]"
echo "{folder}/one.cpp:6:26: warning: use std::make_shared instead [modernize-make-shared]"
echo "{folder}/one.cpp:7:3: warning: something else [readability-braces]"
echo "/usr/include/c++/12/string:7:3: warning: not ours [performance-for-range-copy]"
echo "a line that says nothing"
"""


def lint(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> dict[str, Any]:
    assert run_command(["lint", "--json", "--sources", str(folder), *words]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def rules(document: dict[str, Any]) -> list[tuple[int, str]]:
    return [(one["line"], one["rule"]) for one in document["findings"]]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "one.cpp").write_text(SOURCE)
    (tmp_path / ".clang-tidy").write_text("Checks: '-*,readability-*'\n")
    return tmp_path


def test_its_findings_follow_ours_and_what_both_say_is_said_once(
    sources: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = sources / "clang-tidy"
    fake.write_text(FAKE.format(folder=sources))
    fake.chmod(0o755)
    monkeypatch.setattr(tidy, "program", lambda: str(fake))
    document = lint(capsys, sources, "--tidy")
    assert rules(document) == [
        (6, "heapwright-shared-from-new"),
        (5, "performance-unnecessary-value-param"),
    ]
    assert document["findings"][1]["what"] == "the parameter 'name' is copied"
    assert document["findings"][1]["page"] == "docs/lint-checks.md#clang-tidys-own-checks"
    asked = (sources / "asked").read_text()
    assert "--config={" in asked
    assert "-*,performance-inefficient-vector-operation" in asked
    assert rules(lint(capsys, sources)) == [(6, "heapwright-shared-from-new")]


def test_nolint_speaks_of_its_names_too(
    sources: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = sources / "clang-tidy"
    fake.write_text(FAKE.format(folder=sources))
    fake.chmod(0o755)
    monkeypatch.setattr(tidy, "program", lambda: str(fake))
    silenced = SOURCE.replace("name) {", "name) {  // NOLINT(performance-unnecessary-value-param)")
    (sources / "one.cpp").write_text(silenced)
    assert rules(lint(capsys, sources, "--tidy")) == [(6, "heapwright-shared-from-new")]


def test_that_there_is_none_is_said(
    sources: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(sources))
    monkeypatch.setattr(tidy.sys, "executable", str(sources / "python"))
    document = lint(capsys, sources, "--tidy")
    assert tidy.MISSING in document["notes"]
    assert rules(document) == [(6, "heapwright-shared-from-new")]


def test_a_clang_tidy_that_does_not_start_is_told(
    sources: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = sources / "clang-tidy"
    fake.write_text("#!/bin/sh\necho 'no such library' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(tidy, "program", lambda: str(fake))
    assert "clang-tidy, one.cpp: no such library" in lint(capsys, sources, "--tidy")["notes"]


@pytest.mark.skipif(not tidy.program(), reason="no clang-tidy here")
def test_the_real_one(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(sources.iterdir())
    document = lint(capsys, sources, "--tidy")
    assert rules(document) == [
        (6, "heapwright-shared-from-new"),
        (5, "performance-unnecessary-value-param"),
        (8, "performance-for-range-copy"),
    ]
    assert sorted(sources.iterdir()) == before


def one(kind: str, line: int, costs: Costs | None = None, last_line: int = 0) -> Finding:
    return Finding(kind, "a.cpp", line, 1, "", "", costs=costs, last_line=last_line)


def test_the_recording_ranks() -> None:
    own = [
        one("vector-growth", 30, Costs(900)),
        one("new-object", 10, Costs(100)),
        one("no-reserve", 50, None, 55),
    ]
    stock = [
        one("performance-for-range-copy", 5),
        one("performance-for-range-copy", 10),
        one("performance-inefficient-vector-operation", 30),
        one("performance-inefficient-vector-operation", 52),
    ]
    assert [(found.line, found.kind) for found in tidy.merged(own, stock)] == [
        (30, "vector-growth"),
        (30, "performance-inefficient-vector-operation"),
        (10, "new-object"),
        (10, "performance-for-range-copy"),
        (50, "no-reserve"),
        (5, "performance-for-range-copy"),
    ]
