#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy over src/ as it was configured; .clang-tidy says for what.

Needs build/release/compile_commands.json. Prints what clang-tidy finds, and
ends with 1 if it finds anything.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Options of g++ that clang refuses.
GCC_ONLY = {"-fno-allocation-dce", "-fno-reorder-blocks-and-partition"}


def commands_of(root: Path) -> list[dict[str, str]]:
    """How each file of src/ is compiled, once each."""
    commands = json.loads((root / "build/release/compile_commands.json").read_text())
    folder = (root / "src").resolve()
    mine = {c["file"]: c for c in commands if Path(c["file"]).resolve().is_relative_to(folder)}
    for command in mine.values():
        command["command"] = " ".join(w for w in command["command"].split() if w not in GCC_ONLY)
    return list(mine.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    commands = commands_of(options.root)
    if not commands:
        print("build/release/compile_commands.json names no file of src/; type: make build")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "compile_commands.json").write_text(json.dumps(commands))
        tidy = ["clang-tidy", "--quiet", "-p", folder]

        def findings(file: str) -> str:
            done = subprocess.run([*tidy, file], capture_output=True, text=True, check=False)
            # Standard error counts what was suppressed, file by file.
            return "" if done.returncode == 0 else done.stdout + done.stderr

        with ThreadPoolExecutor(options.jobs) as pool:
            found = [text for text in pool.map(findings, sorted(c["file"] for c in commands)) if text]
    print("\n".join(found) or f"{len(commands)} files: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
