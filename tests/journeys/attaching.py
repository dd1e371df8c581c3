# SPDX-License-Identifier: MIT
"""Processes that are attached to, and a server that tells what it called."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import collector, find_child, programs
from counting import ask, folder

attacher = collector.parent / "heapwright-attach"
Told = dict[str, Any]


class Attached:
    """heapwright-attach, while it counts."""

    def __init__(self, process: int, *options: str) -> None:
        self.process = process
        self.attacher = subprocess.Popen(
            [str(attacher), *options, str(process)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.attached = self._line()

    def _line(self) -> Told:
        assert self.attacher.stdout is not None
        line = self.attacher.stdout.readline()
        assert line, self.attacher.communicate()[1]
        told: Told = json.loads(line)
        return told

    def end(self) -> Told:
        """Detached; the page is removed."""
        assert self.attacher.stdin is not None
        self.attacher.stdin.close()
        told = self._line()
        self.attacher.wait()
        for stream in (self.attacher.stdout, self.attacher.stderr):
            if stream is not None:
                stream.close()
        (folder / f"heapwright-{self.process}.calls").unlink()
        return told


class Server:
    """steady_server, standing still."""

    def __init__(
        self,
        threads: int = 8,
        preload: str = "",
        program: str = "steady_server",
        prefix: tuple[str, ...] = (),
    ) -> None:
        """prefix: a command that starts it as its child."""
        self.process = subprocess.Popen(
            [*prefix, str(programs / program), str(threads), *(["unfailing"] if preload else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | ({"LD_PRELOAD": preload} if preload else {}),
        )
        self.pid = find_child(self.process.pid, program) if prefix else self.process.pid
        self.pause()

    def _tell(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def go(self) -> None:
        self._tell("go")

    def pause(self) -> dict[str, int]:
        """What it has called so far."""
        self._tell("pause")
        assert self.process.stdout is not None
        totals: dict[str, int] = json.loads(self.process.stdout.readline())
        return totals

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def quit(self) -> int:
        """0: each request was answered once."""
        self._tell("quit")
        self.process.communicate()
        return self.process.returncode


@contextmanager
def python(script: str) -> "Iterator[subprocess.Popen[str]]":
    """It has said that it is ready; it is killed at the end."""
    process = subprocess.Popen(
        ["/usr/bin/python3", "-S", "-E", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def answer(process: "subprocess.Popen[str]") -> str:
    """What it says next, after a line that it waits for."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline()


def refused(process: int) -> str:
    """Why it is neither counted nor recorded: one line each, the same reason, and exit code 2."""
    reasons = []
    for verb, line in (
        ("counted", ["count", "--duration", "0.1"]),
        ("recorded", ["record", "--duration", "0.1"]),
    ):
        result = ask(*line, "--pid", str(process))
        assert result.returncode == 2, (result.stdout, result.stderr)
        assert result.stderr.count("\n") == 1, result.stderr
        begin = f"heapwright: process {process} is not {verb}: "
        assert begin in result.stderr, result.stderr
        reasons.append(result.stderr.split(begin)[1])
    assert reasons[0] == reasons[1]
    return reasons[0]


def code_of(process: int) -> dict[str, tuple[bytes, bytes]]:
    """By file: the code of the process's libraries in its memory, and in the file."""
    found = {}
    line = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) \S+ \d+ +(/.*)")
    with Path(f"/proc/{process}/mem").open("rb") as memory:
        for begin, end, offset, path in line.findall(Path(f"/proc/{process}/maps").read_text()):
            memory.seek(int(begin, 16))
            size = int(end, 16) - int(begin, 16)
            in_memory = memory.read(size)
            in_file = Path(path).read_bytes()[int(offset, 16) : int(offset, 16) + size]
            found[path] = in_memory[: len(in_file)], in_file
    return found


def changed_code(process: int) -> list[str]:
    """Libraries whose code is not what is in their files."""
    return [path for path, (in_memory, in_file) in code_of(process).items() if in_memory != in_file]


def totals_of(process: int) -> dict[str, Any]:
    """By heapwright top, which reads the page as any other."""
    result = ask("top", str(process), "--once", "--interval", "0.1", "--json")
    assert result.returncode == 0, result.stderr
    totals: dict[str, Any] = json.loads(result.stdout)["process"]
    return totals
