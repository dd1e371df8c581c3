# SPDX-License-Identifier: MIT
"""A small load, run with one heap after the other preloaded."""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

here = Path(__file__).resolve().parent
project = here.parents[1]


def options_of(description: str | None, turns: int, results: str) -> argparse.Namespace:
    """The command line: heaps is library by name, ours first; glibc's own runs without one."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("others", nargs="*", metavar="NAME=LIBRARY")
    parser.add_argument("--turns", type=int, default=turns)
    parser.add_argument("--output", type=Path, default=project / "bench/results" / results)
    options = parser.parse_args()
    options.heaps = {"heapwright": str(project / "build/release/lib/libheapwright.so"), "glibc": ""}
    options.heaps |= dict(other.split("=", 1) for other in options.others)
    return options


@contextmanager
def built(source: str) -> Iterator[Path]:
    """The program of that file in this folder."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "load"
        line = [
            "c++",
            "-std=c++20",
            "-O2",
            "-fno-builtin",
            "-pthread",
            "-o",
            str(program),
            str(here / source),
        ]
        subprocess.run([*line, "-o", str(program)], check=True)
        yield program


def printed_by(program: Path, library: str, *words: object, **variables: str) -> str:
    """What it prints."""
    environment = {**os.environ, "LD_PRELOAD": library, **variables}
    line = [str(program), *map(str, words)]
    return subprocess.run(line, env=environment, check=True, capture_output=True, text=True).stdout
