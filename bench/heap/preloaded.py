# SPDX-License-Identifier: MIT
"""A small load, run with one heap after the other preloaded."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

here = Path(__file__).resolve().parent
project = here.parents[1]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

Runs = list[dict[str, Any]]


def libraries_of(words: list[str], parser: argparse.ArgumentParser) -> dict[str, str]:
    """Library by name. One that is not there would leave the C library's heap in its place."""
    libraries = dict(word.split("=", 1) for word in words if "=" in word)
    if len(libraries) != len(words):
        parser.error("libraries are given as NAME=LIBRARY, each name once")
    for library in libraries.values():
        if not Path(library).is_file():
            parser.error(f"there is no {library}")
    return libraries


def options_of(description: str | None, turns: int, results: str) -> argparse.Namespace:
    """The command line: heaps is library by name, ours first; glibc's own runs without one."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("others", nargs="*", metavar="NAME=LIBRARY")
    parser.add_argument("--turns", type=int, default=turns)
    parser.add_argument("--output", type=Path, default=sources.raw_results() / results)
    options = parser.parse_args()
    options.heaps = {"heapwright": str(project / "build/release/lib/libheapwright.so"), "glibc": ""}
    options.heaps |= libraries_of(options.others, parser)
    return options


@contextmanager
def built(source: str, flags: Sequence[str] = ()) -> Iterator[Path]:
    """The program of that file in this folder."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "load"
        line = [
            "c++",
            "-std=c++20",
            "-O2",
            "-fno-builtin",
            "-pthread",
            *flags,
            str(here / source),
        ]
        subprocess.run([*line, "-o", str(program)], check=True)
        yield program


def printed_by(program: Path, library: str, *words: object, **variables: str) -> str:
    """What it prints."""
    environment = {**os.environ, "LD_PRELOAD": library, **variables}
    line = [str(program), *map(str, words)]
    return subprocess.run(line, env=environment, check=True, capture_output=True, text=True).stdout


def written(
    output: Path,
    source: str,
    measure: Callable[[Path], Runs],
    table: Callable[[Runs], list[str]],
    flags: Sequence[str] = (),
    **more: object,
) -> int:
    """Measures with the program of that file, built with these flags, writes the runs with `more` beside
    them, prints the table."""
    load = os.getloadavg()[0]
    stamp = sources.stamp("heap")
    with built(source, flags) as program:
        runs = measure(program)
    document = {"load_before": load, **more, "sources": stamp, "runs": runs}
    output.write_text(json.dumps(document, indent=1) + "\n")
    print("\n".join(table(runs)))
    return 0
