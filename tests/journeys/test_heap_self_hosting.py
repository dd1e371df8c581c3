# SPDX-License-Identifier: MIT
"""The project's own tools are at work under its heap: cmake, ninja, g++ and ld build the heap anew.

What they make serves a compiler in its turn, and is the same that they make without the heap.
"""

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import build, project

pytestmark = pytest.mark.full

library = build / "lib/libheapwright.so"
limit_s = 600  # only against hanging: a machine may be busy with much else


def run(command: Sequence[object], preload: Path | None, folder: Path = project) -> str:
    environment = {**os.environ, "LC_ALL": "C"}
    environment.pop("LD_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = str(preload)
    line = [str(word) for word in command]
    done = subprocess.run(
        line,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "heapwright: " not in done.stderr, done.stderr
    return done.stdout


def compile_anew(built: Path, source: str, output: Path) -> None:
    """Without the heap, and otherwise as it was compiled with it."""
    commands = json.loads((built / "compile_commands.json").read_text())
    entry = next(entry for entry in commands if entry["file"].endswith(source))
    words = shlex.split(entry["command"])
    words[words.index("-o") + 1] = str(output)
    run(words, None, Path(entry["directory"]))


def test_the_heap_builds_itself(tmp_path: Path) -> None:
    built = tmp_path / "built"
    options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    run(["cmake", "-S", project, "-B", built, *options, "-DHEAPWRIGHT_TESTS=OFF"], library)
    run(["cmake", "--build", built, "-j", "2", "--target", "heapwright"], library)
    made = built / "lib/libheapwright.so"

    compile_anew(built, "src/heap/threads/refill.cpp", tmp_path / "without.o")
    with_heap = next(built.rglob("heapwright_heap.dir/threads/refill.cpp.o"))
    assert (tmp_path / "without.o").read_bytes() == with_heap.read_bytes()

    (tmp_path / "program.cpp").write_text(
        "#include <iostream>\n#include <map>\n#include <string>\n"
        "int main() { std::map<std::string, int> m; for (int i = 0; i < 50000; ++i) ++m[std::to_string(i)];\n"
        '  std::cout << m.size() << "\\n"; }\n'
    )
    run(["g++", "-O1", "program.cpp", "-o", "program"], made, tmp_path)
    assert run(["./program"], made, tmp_path) == "50000\n"
