# SPDX-License-Identifier: MIT
"""Real programs whose memory under other allocators a replay has to predict."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import servers  # noqa: E402
from python_load import PYTHON_LOAD  # noqa: E402

# Tables that come and go, columns that are sorted and joined: temporaries of up to 2.4 MB.
NUMPY_LOAD = """
import numpy
random = numpy.random.default_rng(7)
kept = []
for turn in range(30):
    rows = int(random.integers(1_000, 300_000))
    keys = random.integers(0, rows, rows)
    values = random.random(rows)
    order = numpy.argsort(keys, kind="stable")
    sums = numpy.bincount(keys[order], weights=values[order] * 2 + 1)
    kept.append(sums[sums > 2][: rows // 4].copy())
    if len(kept) > 12:
        kept.pop(turn % len(kept))
print(sum(part.sum() for part in kept))
"""


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
        *_memcached(),
        Program("a server of 16 threads", [loads, "server"]),
        *_numpy(folder),
        Program("threads with staggered peaks", [loads, "staggered"]),
        Program("a quarter touched", [loads, "quarter"]),
    ]


def _redis() -> list[Program]:
    if not shutil.which("redis-server"):
        return []
    port = servers.free_port()
    command = ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"]
    return [Program("redis churn", command, (), servers.redis_load(port))]


def _memcached() -> list[Program]:
    if not shutil.which("memcached"):
        return []
    port = servers.free_port()
    command = ["memcached", "-t", "16", "-p", str(port), "-U", "0", "-l", "127.0.0.1", "-m", "64", "-A"]
    if os.geteuid() == 0:
        command += ["-u", "root"]
    return [Program("memcached, 16 threads", command, (), servers.memcached_load(port))]


def _numpy(folder: Path) -> list[Program]:
    if find_spec("numpy") is None:
        return []
    (folder / "arrays.py").write_text(NUMPY_LOAD)
    return [Program("python3 with numpy", [sys.executable, str(folder / "arrays.py")])]
