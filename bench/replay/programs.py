# SPDX-License-Identifier: MIT
"""Real programs whose memory under other allocators a replay has to predict."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
from python_load import PYTHON_LOAD  # noqa: E402

_START_S = 20.0


@dataclass(frozen=True)
class Program:
    """A command; meanwhile: what is done while it runs, which also ends it."""

    name: str
    command: Sequence[str]
    variables: tuple[tuple[str, str], ...] = ()
    meanwhile: Callable[[], None] | None = None


def programs(folder: Path, build: Path) -> list[Program]:
    """Those that are installed."""
    (folder / "load.py").write_text(PYTHON_LOAD)
    source = folder / "source.ii"
    preprocess = [
        "g++",
        "-std=c++20",
        "-E",
        f"-I{project / 'src'}",
        str(project / "tests/programs/dump_trace.cpp"),
    ]
    subprocess.run([*preprocess, "-o", str(source)], check=True)
    found = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, capture_output=True, text=True)
    compiler = found.stdout.strip()
    compile_options = ["-quiet", "-O2", "-std=c++20", "-fpreprocessed", str(source), "-o", "/dev/null"]
    loads = str(build / "programs/replayed_loads")
    return [
        Program("sqlite3", ["sqlite3", ":memory:", f".read {project / 'examples/orders.sql'}"]),
        Program("python3", ["/usr/bin/python3", str(folder / "load.py")], (("PYTHONMALLOC", "malloc"),)),
        Program("cc1plus", [compiler, *compile_options]),
        *_redis(),
        Program("threads with staggered peaks", [loads, "staggered"]),
        Program("a quarter touched", [loads, "quarter"]),
    ]


def _redis() -> list[Program]:
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        return []
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    load = ["redis-benchmark", "-p", port, "-n", "100000", "-c", "20", "-P", "16", "-r", "100000"]
    load += ["-q", "-t", "set,lpush,lpop,hset,sadd,zadd", "-d", "120"]

    def work() -> None:
        _wait_for(int(port))
        subprocess.run(load, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], check=False, capture_output=True)

    command = ["redis-server", "--port", port, "--save", "", "--appendonly", "no"]
    return [Program("redis", command, (), work)]


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.025)
    raise RuntimeError("redis-server did not start")
