# SPDX-License-Identifier: MIT
"""The page of the checks: each has a section, whose first block is told of, and whose second is what --fix makes of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from heapwright.cli import run_command
from heapwright.lint import document as documents
from heapwright.lint.checks.kinds import CHECKS

pytest.importorskip("clang.cindex")
PROJECT = Path(__file__).parents[3]
PAGE = (PROJECT / "docs/lint-checks.md").read_text(encoding="utf-8")


def before_and_after(rule: str) -> list[str]:
    section = PAGE.split(f"\n## {rule}\n")[1].split("\n## ")[0]
    return re.findall(r"```cpp\n(.*?)```", section, re.DOTALL)


@pytest.mark.parametrize("rule", [kind.rule_id for kind in CHECKS])
def test_the_example_is_told_of_and_mended(
    rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "example.cpp"
    before, after = before_and_after(rule)
    file.write_text(before)
    compiler = shutil.which("g++")
    for text in (before, after) if compiler else ():
        line = [str(compiler), "-std=c++17", "-Wall", "-Werror", "-fsyntax-only", "-x", "c++", "-"]
        subprocess.run(line, input=text, text=True, check=True)
    assert run_command(["lint", "--json", "--sources", str(tmp_path), "--fix"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {one["rule"] for one in findings} == {rule}
    assert file.read_text() == after


def test_each_rule_names_a_page_with_that_heading() -> None:
    for kind in documents.ALL_KINDS:
        path, _, anchor = documents.page(kind).partition("#")
        headings = re.findall(r"^#+ (.*)$", (PROJECT / path).read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}
