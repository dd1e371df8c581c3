# SPDX-License-Identifier: MIT
"""One line and exit code 2 where the other release cannot be had."""

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))
import run_trixie


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run_trixie, "folder", tmp_path / "trixie")


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    assert run_trixie.main() == 2
    line = capsys.readouterr().err
    assert line.startswith("trixie: ") and line.count("\n") == 1
    return line


def test_only_root_can_make_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "only root" in refusal(capsys)


def test_the_tool_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "mmdebstrap" in refusal(capsys)


def test_the_mirror_is_that_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "Debian|Debian-Security|main|http://a/security/\nDebian|Debian|main|http://b/debian/\n"
    monkeypatch.setattr(run_trixie, "run_command", lambda *_: (0, listed))
    assert run_trixie.mirror() == "http://b/debian/"


def test_no_mirror(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda _: "mmdebstrap")
    monkeypatch.setattr(run_trixie, "run_command", lambda *_: (0, "Other|Other|main|http://c/\n"))
    assert "no mirror" in refusal(capsys)
