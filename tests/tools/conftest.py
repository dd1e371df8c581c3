# SPDX-License-Identifier: MIT
"""Runs a check script on a small tree made for the test."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

tools_folder = Path(__file__).resolve().parents[2] / "tools"
RunCheck = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_check() -> RunCheck:
    def run(script: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, str(tools_folder / script), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    return run


@pytest.fixture
def write_tree(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write
