# SPDX-License-Identifier: MIT
"""One run of a program: output, failures, and what is left of it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from heapwright.measure.program import RunFailedError, run_for_document, run_program


def shell(script: str, limit_s: float = 20, folder: Path | None = None) -> str:
    return run_program(["sh", "-c", script], {**os.environ, "GREETING": "hello"}, limit_s, folder)


def test_output_environment_and_folder_are_the_runs_own(tmp_path: Path) -> None:
    assert shell("echo $GREETING; pwd; cat", folder=tmp_path) == f"hello\n{tmp_path}\n"


@pytest.mark.parametrize(
    ("script", "text", "code", "line"),
    [
        ("echo one >&2; echo last >&2; exit 3", "failed: last", 3, "last"),
        ("exit 4", "failed: exit code 4", 4, ""),
        ("kill -SEGV $$", "crashed: SIGSEGV", -11, ""),
        ("kill -KILL $$", "crashed: SIGKILL (too little memory?)", -9, ""),
    ],
)
def test_a_failure_says_what_happened(script: str, text: str, code: int, line: str) -> None:
    with pytest.raises(RunFailedError) as caught:
        shell(script)
    assert (str(caught.value), caught.value.code, caught.value.line) == (text, code, line)
    assert not caught.value.has_hung


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("exit 0", "ended early: exit code 0 without a result"),
        ("printf 'a lib\\033rary talks\\n{}'", "its output is not a result: a lib rary talks {}"),
        ("printf '\\377'", "its output is not a result: \ufffd"),
    ],
)
def test_a_library_that_ends_the_program_or_talks_is_a_failed_run(script: str, text: str) -> None:
    assert run_for_document(["sh", "-c", "echo '{\"a\": 1}'"], os.environ, 20) == {"a": 1}
    with pytest.raises(RunFailedError) as caught:
        run_for_document(["sh", "-c", script], os.environ, 20)
    assert str(caught.value) == text


def test_what_hangs_ends_with_all_that_it_started(tmp_path: Path) -> None:
    with pytest.raises(RunFailedError, match=r"hung: no end after 0\.5 s") as caught:
        shell("sleep 600 & echo $! > child; wait", 0.5, tmp_path)
    assert caught.value.has_hung
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]:
            return
        time.sleep(0.05)
    os.kill(child, 9)
    raise AssertionError("the child went on")
