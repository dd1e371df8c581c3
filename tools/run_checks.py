#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every check of the sources and documents; each counts as one test."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent


def tracked(*patterns: str) -> list[str]:
    command = ["git", "ls-files", *patterns]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split()


def checks() -> dict[str, list[str]]:
    python = sys.executable
    sources = tracked("*.cpp", "*.hpp", "*.h")
    return {
        "layers": [python, "tools/check_layers.py"],
        "imports": [python, "tools/check_imports.py"],
        "sizes": [python, "tools/check_sizes.py"],
        "symbols": [python, "tools/check_symbols.py"],
        "planted faults": [python, "tools/run_mutants.py", "--check"],
        "documents": [python, "tools/check_docs.py"],
        "figures": [python, "bench/render.py", "--check"],
        "C++ lint": [python, "tools/check_tidy.py", "--jobs", str(os.cpu_count() or 1)],
        "C++ format": ["clang-format", "--dry-run", "-Werror", *sources],
        "Python format": [python, "-m", "ruff", "format", "--check", "--quiet", "."],
        "Python lint": [python, "-m", "ruff", "check", "--quiet", "."],
        "Python types": [python, "-m", "mypy"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", nargs="+", default=[], metavar="NAME", choices=list(checks()))
    left_out = parser.parse_args().without
    failed = 0
    wanted = {name: command for name, command in checks().items() if name not in left_out}
    for name, command in wanted.items():
        result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        print(f"{'ok    ' if result.returncode == 0 else 'FAILED'} {name}", flush=True)
        if result.returncode != 0:
            failed += 1
            print((result.stdout + result.stderr).rstrip()[-4000:], flush=True)
    print(f"{len(wanted) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
