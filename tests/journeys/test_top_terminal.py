# SPDX-License-Identifier: MIT
"""top in a real terminal: tmux types, and shows what a person would see."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import command
from counting import Running

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
WIDTHS = (60, 120)


class Terminal:
    """A session of tmux, on a server of its own."""

    def __init__(self, socket: Path, width: int, line: list[str]) -> None:
        self._socket = socket
        self._width = width
        words = " ".join(shlex.quote(word) for word in line)
        # Afterwards its exit code stands there.
        self._run(
            "new-session", "-d", "-x", str(width), "-y", "24", f"{words}; echo ended $?; exec sleep 600"
        )

    def _run(self, *arguments: str) -> str:
        line = ["tmux", "-S", str(self._socket), "-f", "/dev/null", *arguments]
        return subprocess.run(line, capture_output=True, text=True, check=True, timeout=60).stdout

    def screen(self) -> list[str]:
        return [line.rstrip() for line in self._run("capture-pane", "-p").splitlines()]

    def keys(self, *names: str) -> None:
        self._run("send-keys", *names)

    def until(self, is_there: Callable[[str], bool]) -> list[str]:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            lines = self.screen()
            if is_there("\n".join(lines)):
                assert all(len(line) <= self._width for line in lines)
                return lines
            time.sleep(0.1)
        raise AssertionError("\n".join(self.screen()))

    def close(self) -> None:
        self._run("kill-server")


@contextmanager
def terminal(folder: Path, width: int, *line: str, **variables: str) -> Iterator[Terminal]:
    words = ["env", "-u", "COLUMNS", "-u", "LINES", "TERM=xterm-256color", "LC_ALL=C.UTF-8"]
    words += [f"{name}={value}" for name, value in variables.items()]
    opened = Terminal(folder / "tmux", width, [*words, str(command), *line])
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def counted() -> Iterator[Running]:
    running = Running("cat")
    yield running
    running.end()


def type_filter(top: Terminal, text: str) -> None:
    """A key behind Escape would be another key, so every step is waited for."""
    top.keys("/")
    top.until(lambda shown: "name or id" in shown)
    top.keys(text)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_keys_lead_through_the_processes(tmp_path: Path, counted: Running, width: int) -> None:
    with terminal(tmp_path, width, "top", "--interval", "0.2") as top:
        top.until(lambda text: "cat" in text and str(counted.process.pid) in text and "quit" in text)
        top.keys("?")
        top.until(lambda text: "memory of no file; per live byte" in " ".join(text.replace("│", " ").split()))
        top.keys("Escape")
        top.until(lambda text: "history" in text and "per live byte" not in text)
        type_filter(top, "zzz")
        top.until(lambda text: "only zzz" in text and str(counted.process.pid) not in text)
        top.keys("Escape")
        top.until(lambda text: "only" not in text and str(counted.process.pid) in text)
        type_filter(top, str(counted.process.pid))
        top.keys("Enter")
        top.until(lambda text: "1 process;" in text and "▔" not in text)
        top.keys("Enter")
        top.until(lambda text: f"{counted.process.pid}, cat" in text and "live now" in text)
        top.keys("Escape")
        top.until(lambda text: "history" in text)
        top.keys("Space")
        top.until(lambda text: "frozen" in text)
        top.keys("q")
        top.until(lambda text: "ended 0" in text)


def test_the_one_process_ends(tmp_path: Path) -> None:
    running = Running("cat")
    with terminal(tmp_path, 80, "top", str(running.process.pid), "--interval", "0.2") as top:
        top.until(lambda text: f"{running.process.pid}, cat" in text)
        running.end()
        lines = top.until(lambda text: "ended 2" in text)
    assert any(f"process {running.process.pid} has ended" in line for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_without_the_extra_it_goes_on_without_keys(tmp_path: Path, counted: Running, width: int) -> None:
    (tmp_path / "textual.py").write_text("raise ModuleNotFoundError('textual', name='textual')\n")
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    with terminal(tmp_path, width, "top", "--interval", "0.2", PYTHONPATH=path) as top:
        lines = top.until(lambda text: str(counted.process.pid) in text)
        assert lines[0].split()[:2] == ["pid", "calls"]
        assert "quit" not in "".join(lines)
        top.keys("C-c")
        top.until(lambda text: "ended 130" in text)
