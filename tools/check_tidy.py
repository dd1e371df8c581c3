#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy over src/ as it was configured; .clang-tidy says for what.

Needs build/release/compile_commands.json. Prints what clang-tidy finds, and
ends with 1 if it finds anything. A file in which nothing was found is looked
at again when it, a header of ours that it includes, its command, the rules or
clang-tidy has changed (build/tidy/ remembers).

Files of a folder with the same options are read twelve at a time, as one text: what they
include is more than half of the work. A file that does not go with those before it, as both have a
name of the same kind, is read alone. Where something else is found, halves are read, and
what is found in a file alone counts.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from bisect import bisect_left
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path

# Options of g++ that clang refuses.
GCC_ONLY = {"-fno-allocation-dce", "-fno-reorder-blocks-and-partition", "-Winvalid-pch"}
# Headers that g++ compiled ahead, for files that a test compiles as well.
GCC_HEADERS = re.compile(r"-include \S*cmake_pch\.hxx")

# The analyzer follows paths for four fifths of the time; these limits leave a fifth of that, and it finds
# the same faults in tests/tools/test_check_tidy.py. Not in .clang-tidy, so that an editor looks deeper.
LIMITS = ("mode=shallow", "max-nodes=20000")
SHALLOW = [
    f"--extra-arg={word}" for limit in LIMITS for word in ("-Xclang", "-analyzer-config", "-Xclang", limit)
]


def commands_of(root: Path) -> list[dict[str, str]]:
    """How each file of src/ is compiled, once each."""
    listed = json.loads((root / "build/release/compile_commands.json").read_text())
    commands = [each for command in listed for each in apart(command)]
    folder = (root / "src").resolve()
    mine = {c["file"]: c for c in commands if Path(c["file"]).resolve().is_relative_to(folder)}
    for command in mine.values():
        plain = GCC_HEADERS.sub("", command["command"])
        command["command"] = " ".join(w for w in plain.split() if w not in GCC_ONLY)
    return list(mine.values())


def apart(command: dict[str, str]) -> list[dict[str, str]]:
    """A file that cmake made of several (cmake/together.cmake): the command for each of them."""
    file = Path(command["file"])
    if file.parent.name != "Unity" or not file.exists():
        return [command]
    return [
        {**command, "file": each, "command": command["command"].replace(str(file), each)}
        for each in INCLUDE.findall(file.read_text(encoding="utf-8"))
    ]


TOGETHER = 12
# Where a text that holds several files is not C++.
NOT_COMPILED = re.compile(r"together\.cpp:(\d+):\d+: error: .*\[clang-diagnostic-error")

# `make test` installs it: it reads system headers in half the time of Debian's.
PINNED = Path(__file__).resolve().parent.parent / ".venv/clang-tidy/clang_tidy/data/bin/clang-tidy"
PROGRAM = str(PINNED) if PINNED.exists() else "clang-tidy"

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


class Clean:
    """Which files were found clean, by the content of all that their result depends on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "build/tidy"
        self.folder.mkdir(parents=True, exist_ok=True)
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, check=False).stdout
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


class Tidy:
    """Runs clang-tidy on files alone or together; `folder` holds the commands and what includes several."""

    def __init__(self, root: Path, folder: Path, commands: list[dict[str, str]]) -> None:
        self.root = root
        self.folder = folder
        self.commands = {command["file"]: command for command in commands}
        self.clean = Clean(root)
        self.marks = {file: self.clean.mark(command) for file, command in self.commands.items()}

    def groups(self) -> list[list[str]]:
        """The files that are not known to be clean, by what their commands have in common."""
        alike: dict[tuple[Path, str], list[str]] = {}
        for file in sorted(file for file, mark in self.marks.items() if not mark.exists()):
            alike.setdefault((Path(file).parent, self.options(file)), []).append(file)
        return [
            files[at : at + TOGETHER] for files in alike.values() for at in range(0, len(files), TOGETHER)
        ]

    def options(self, file: str) -> str:
        words = self.commands[file]["command"].split()
        if "-o" in words:
            del words[words.index("-o") : words.index("-o") + 2]
        return " ".join(word for word in words if word != file)

    def run(self, file: str, commands: Path, *options: str) -> str:
        """What was found."""
        tidy = [
            PROGRAM,
            "--quiet",
            *SHALLOW,
            "--extra-arg=-ferror-limit=0",
            *options,
            "-p",
            str(commands),
            file,
        ]
        done = subprocess.run(tidy, capture_output=True, text=True, check=False)
        # Standard error counts what was suppressed, file by file.
        return done.stdout + done.stderr if done.returncode else ""

    def run_together(self, files: list[str]) -> str:
        name = hashlib.sha256("".join(files).encode()).hexdigest()[:16]
        together = self.folder / name / "together.cpp"
        together.parent.mkdir()
        # Text, not includes: the analyzer follows no path through a file that is included.
        together.write_text("".join(map(source_of, files)), encoding="utf-8")
        command = {
            "directory": self.commands[files[0]]["directory"],
            "file": str(together),
            "command": f"{self.options(files[0])} -iquote {Path(files[0]).parent} {together}",
        }
        (together.parent / "compile_commands.json").write_text(json.dumps([command]))
        return self.run(str(together), together.parent, f"--config-file={self.root / '.clang-tidy'}")

    def findings(self, files: list[str]) -> str:
        found = self.run_together(files) if len(files) > 1 else self.run(files[0], self.folder)
        if not found:
            for file in files:
                self.marks[file].touch()
        if not found or len(files) == 1:
            return found
        return "\n".join(filter(None, map(self.findings, parts_of(files, found))))


def parts_of(files: list[str], found: str) -> list[list[str]]:
    """What to read after this was found in them together."""
    begins = list(accumulate((len(source_of(file).splitlines()) for file in files), initial=0))
    alone = {files[bisect_left(begins, int(line)) - 1] for line in NOT_COMPILED.findall(found)}
    half = len(files) // 2
    if not alone or len(alone) == len(files):
        return [files[:half], files[half:]]
    return [[file for file in files if file not in alone], *([file] for file in sorted(alone))]


def source_of(file: str) -> str:
    """As it stands in a text that holds several."""
    return f'#line 1 "{file}"\n{Path(file).read_text(encoding="utf-8")}\n'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if not shutil.which(PROGRAM):
        print("no clang-tidy: type make check, which installs it", file=sys.stderr)
        return 2
    commands = commands_of(options.root)
    if not commands:
        print("build/release/compile_commands.json names no file of src/; type: make build")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "compile_commands.json").write_text(json.dumps(commands))
        tidy = Tidy(options.root, Path(folder), commands)
        with ThreadPoolExecutor(options.jobs) as pool:
            found = [text for text in pool.map(tidy.findings, tidy.groups()) if text]
    print("\n".join(found) or f"{len(commands)} files: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
