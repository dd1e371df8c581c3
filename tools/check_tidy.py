#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy over src/ as it was configured; .clang-tidy says for what.

Needs build/release/compile_commands.json. Prints what clang-tidy finds, and
ends with 1 if it finds anything. A file in which nothing was found is looked
at again when it, a header of ours that it includes, its command, the rules or
clang-tidy has changed (build/tidy/ remembers).
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Options of g++ that clang refuses.
GCC_ONLY = {"-fno-allocation-dce", "-fno-reorder-blocks-and-partition", "-Winvalid-pch"}
# Headers that g++ compiled ahead, for files that a test compiles as well.
GCC_HEADERS = re.compile(r"-include \S*cmake_pch\.hxx")

# The analyzer follows paths for four fifths of the time; this halves it, and it finds
# the same faults in tests/tools/test_check_tidy.py. Not in .clang-tidy, so that an editor looks deeper.
SHALLOW = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow")]


def commands_of(root: Path) -> list[dict[str, str]]:
    """How each file of src/ is compiled, once each."""
    commands = json.loads((root / "build/release/compile_commands.json").read_text())
    folder = (root / "src").resolve()
    mine = {c["file"]: c for c in commands if Path(c["file"]).resolve().is_relative_to(folder)}
    for command in mine.values():
        plain = GCC_HEADERS.sub("", command["command"])
        command["command"] = " ".join(w for w in plain.split() if w not in GCC_ONLY)
    return list(mine.values())


INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


class Clean:
    """Which files were found clean, by the content of all that their result depends on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "build/tidy"
        self.folder.mkdir(parents=True, exist_ok=True)
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=False).stdout
        self.rules = version + (root / ".clang-tidy").read_bytes() + " ".join(SHALLOW).encode()
        self.digests: dict[Path, bytes] = {}

    def digest(self, path: Path) -> bytes:
        if path not in self.digests:
            self.digests[path] = hashlib.sha256(path.read_bytes()).digest()
        return self.digests[path]

    def sources(self, path: Path, seen: set[Path]) -> set[Path]:
        """The file and what it includes of src/ and include/."""
        seen.add(path)
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            for folder in (path.parent, self.root / "src", self.root / "include"):
                found = (folder / name).resolve()
                if found.is_file() and found not in seen:
                    self.sources(found, seen)
        return seen

    def mark(self, command: dict[str, str]) -> Path:
        """A file whose existence says that nothing was found."""
        # Without the checkout's own place, so that several may share what they remember.
        place = str(self.root.resolve())
        key = hashlib.sha256(self.rules + command["command"].replace(place, "").encode())
        for path in sorted(self.sources(Path(command["file"]).resolve(), set())):
            key.update(str(path.name).encode() + self.digest(path))
        return self.folder / key.hexdigest()


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
        tidy = ["clang-tidy", "--quiet", *SHALLOW, "-p", folder]

        clean = Clean(options.root)
        marks = {command["file"]: clean.mark(command) for command in commands}

        def findings(file: str) -> str:
            if marks[file].exists():
                return ""
            done = subprocess.run([*tidy, file], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                marks[file].touch()
                return ""
            # Standard error counts what was suppressed, file by file.
            return done.stdout + done.stderr

        with ThreadPoolExecutor(options.jobs) as pool:
            found = [text for text in pool.map(findings, sorted(marks)) if text]
    print("\n".join(found) or f"{len(commands)} files: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
