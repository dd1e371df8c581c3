#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the misuse programs of mimalloc-bench that each heap stops or makes harmless.

    misuse.py [--output build/results/heap-misuse.json] CHECKOUT [NAME=LIBRARY ...]

CHECKOUT is a clone of github.com/daanx/mimalloc-bench, of which the programs in bench/security are built
as its own build file says: in C for blocks of 8, 4096 and 262,144 bytes, in C++ once. A program that
gets away with what it does prints NOT_CAUGHT.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from preloaded import libraries_of, project

sys.path.append(str(project / "bench"))
import sources

SIZES = {"small": 8, "medium": 4096, "large": 256 * 1024}
C_OPTIONS = (
    "-O2 -w -Wno-free-nonheap-object -fno-inline -fno-builtin-inline -fno-inline-small-functions "
    "-fno-ipa-pure-const"
).split()
CXX_OPTIONS = "-O2 -w -std=c++17 -fsized-deallocation".split()
SECONDS = 60
OURS = str(project / "build/release/lib/libheapwright.so")


def commands(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Each program's name and how it is compiled, except the output."""
    for source in sorted(folder.glob("*.c")):
        for size, count in SIZES.items():
            yield f"{source.stem}_{size}", ["cc", *C_OPTIONS, f"-DALLOCATION_SIZE={count}", str(source)]
    for source in sorted(folder.glob("*.cc")):
        yield source.stem, ["c++", *CXX_OPTIONS, "-DALLOCATION_SIZE=4096", str(source)]


def is_caught(program: Path, library: str, variables: dict[str, str]) -> bool:
    environment = {**os.environ, "LD_PRELOAD": library, **variables}
    ended = subprocess.run([program], env=environment, capture_output=True, timeout=SECONDS, check=False)
    return b"NOT_CAUGHT" not in ended.stdout


def heaps_that_catch(command: list[str], heaps: dict[str, tuple[str, dict[str, str]]]) -> list[str]:
    """Builds the program and runs it on each: a library and variables of the environment."""
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / "program"
        subprocess.run([*command, "-o", str(program)], check=True)
        return [
            heap for heap, (library, variables) in heaps.items() if is_caught(program, library, variables)
        ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("others", nargs="*", metavar="NAME=LIBRARY")
    parser.add_argument("--output", type=Path, default=sources.raw_results() / "heap-misuse.json")
    options = parser.parse_args()
    folder = options.checkout / "bench/security"
    programs = dict(commands(folder))
    libraries = libraries_of(options.others, parser)
    if not programs or not Path(OURS).exists():
        parser.error(f"needs {OURS} (make build) and programs in {folder}")
    heaps = {
        "heapwright": (OURS, {"HEAPWRIGHT_HEAP_HARDENED": "0"}),
        "heapwright, hardened": (OURS, {"HEAPWRIGHT_HEAP_HARDENED": "1"}),
        "glibc": ("", {}),
        **{name: (library, {}) for name, library in libraries.items()},
    }
    caught: dict[str, list[str]] = {heap: [] for heap in heaps}
    for name, command in programs.items():
        for heap in heaps_that_catch(command, heaps):
            caught[heap].append(name)
    revision = ["git", "-C", str(options.checkout), "rev-parse", "HEAD"]
    found = {
        "programs_revision": subprocess.run(
            revision, check=True, capture_output=True, text=True
        ).stdout.strip(),
        "sources": sources.stamp("heap"),
        "programs": list(programs),
        "caught": caught,
    }
    options.output.write_text(json.dumps(found, indent=1) + "\n")
    for heap, names in caught.items():
        print(f"{heap:22} {len(names):4} of {len(programs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
