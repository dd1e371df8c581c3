# SPDX-License-Identifier: MIT
"""Call stacks of Python programs: functions with file and line, and bytes that are known beforehand."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attaching import changed_code
from conftest import command
from recorded_processes import Recording

DEBIANS = Path("/usr/bin/python3.11")
OWN = Path(sys.executable).resolve()
NAMED = ["3.9", "3.10", "3.12", "3.13", "3.14"]  # others that this machine may have

PROGRAM = """
import os, sys, threading

def leaf(size):
    return bytearray(size)

def handle(size):
    return [leaf(size) for _ in range(3)]

class Service:
    def serve(self, count):
        return [handle(20_000) for _ in range(count)]

def generated(count):
    for _ in range(count):
        yield bytearray(5_000)

def weight(number):
    return len(bytearray(40_000 + number))

def run(number):
    for _ in range(50):
        bytearray(30_000)

def from_text():
    for number in range(100):
        text = f"def made():\\n{'  #' + chr(10)} return bytearray(70_000)\\nmade()\\n"
        exec(compile(text, f"<text {number % 3}>", "exec"), {})

def recurse(depth):
    return bytearray(90_000) if depth == 0 else recurse(depth - 1)

def main():
    kept = Service().serve(100), list(generated(100)), sorted([3, 1, 2], key=weight)
    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    from_text()
    sys.setrecursionlimit(10_000)
    for _ in range(10):
        recurse(50)
        recurse(3_000)
    child = os.fork()
    if child == 0:
        leaf(12_345)
        os._exit(0)
    os.waitpid(child, 0)
    return kept

main()
"""
# function, line: calls and bytes at least, of the large blocks alone.
WANTED = {
    ("leaf", 5): (300, 6_000_000),
    ("generated", 16): (100, 500_000),
    ("weight", 19): (3, 120_006),
    ("run", 23): (200, 6_000_000),
    ("made", 3): (100, 7_000_000),
    ("recurse", 31): (20, 1_800_000),
}


RUNNING = """
import sys, threading

kept = []

def handle(size):
    return bytearray(size)

def generated():
    while True:
        yield bytearray(7_000)

def in_thread():
    for _ in range(50):
        kept.append(handle(20_000))

source = generated()
print("ready", flush=True)
for line in sys.stdin:
    thread = threading.Thread(target=in_thread)
    thread.start()
    kept.extend(next(source) for _ in range(30))
    thread.join()
    print("done", flush=True)
"""


def is_known(python: Path) -> bool:
    """A version whose frames are read."""
    if not python.exists():
        return False
    text = "import sys; v = sys.version_info[:3]; print((3, 9) <= v < (3, 15) and v not in ((3, 11, 0), (3, 11, 1)))"
    said = subprocess.run([python, "-c", text], capture_output=True, text=True, check=True)
    return said.stdout.strip() == "True"


def find_python(name: str) -> Path:
    """The program itself: what is on the path may be a script that starts it."""
    if name in ("debian", "own"):
        return DEBIANS if name == "debian" else OWN
    found = shutil.which(f"python{name}")
    if found is None:
        return Path("absent")
    said = subprocess.run([found, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True)
    return Path(said.stdout.strip() if said.returncode == 0 else "absent")


def rows_of(trace: Path) -> list[dict[str, Any]]:
    """The sites of blocks above 4,000 bytes."""
    line = [command, "explain", trace, "--json", "--question", "volume", "--top", "1000", "--min-block", "4000",
            "--unchecked"]  # fmt: skip
    said = subprocess.run([str(part) for part in line], check=True, capture_output=True, timeout=120)
    rows: list[dict[str, Any]] = json.loads(said.stdout)["questions"]["volume"]["sites"]
    return rows


def sites_of(trace: Path) -> dict[tuple[str, int], tuple[int, int]]:
    """By function and line: calls and bytes."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for row in rows_of(trace):
        key = (row["function"], row["line"])
        before = found.get(key, (0, 0))
        found[key] = (before[0] + row["allocations"], before[1] + row["bytes"])
    return found


@pytest.mark.parametrize("name", ["debian", "own", *NAMED])
@pytest.mark.parametrize("allocator", ["malloc", "pymalloc"])
def test_bytes_are_those_of_the_functions_that_asked(tmp_path: Path, name: str, allocator: str) -> None:
    python = find_python(name)
    if not is_known(python):
        pytest.skip("needs a CPython from 3.9 to 3.14, but 3.11.0 and 3.11.1")
    (tmp_path / "app.py").write_text(PROGRAM)
    trace = tmp_path / "app.heapwright"
    line = [command, "record", "--quiet", "-o", trace, "--", python, "-S", "-E", tmp_path / "app.py"]
    subprocess.run([str(part) for part in line], check=True, timeout=120, env={"PYTHONMALLOC": allocator})
    found = sites_of(trace)
    for place, (calls, least) in WANTED.items():
        assert place in found, found
        assert found[place][0] == calls, place
        assert least <= found[place][1] <= least * 1.02, place


@pytest.mark.parametrize("name", ["debian", *NAMED])
@pytest.mark.parametrize("options", [(), ("--no-python",)], ids=["functions", "none"])
def test_a_program_that_runs_already(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    python = find_python(name)
    if not is_known(python):
        pytest.skip("needs a CPython from 3.9 to 3.14, but 3.11.0 and 3.11.1")
    (tmp_path / "running.py").write_text(RUNNING)
    trace = tmp_path / "running.heapwright"
    process = subprocess.Popen(
        [python, "-S", "-E", tmp_path / "running.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        recording = Recording(process.pid, trace, *options)
        for _ in range(2):
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"
        recording.end()
        assert changed_code(process.pid) == []
    assert process.returncode == 0
    found = sites_of(trace)
    wanted = {("handle", 7): (100, 2_000_000), ("generated", 11): (60, 420_000)}
    for place, (calls, least) in wanted.items():
        if options:
            assert place not in found
            continue
        assert found[place][0] == calls, place
        assert least <= found[place][1] <= least * 1.02, place


EXTENSION = """
#include <stdlib.h>
__attribute__((noinline)) void* inner(size_t bytes) { void* volatile block = malloc(bytes); return block; }
void* fetched(size_t bytes) { void* volatile block = inner(bytes); return block; }
"""


@pytest.mark.parametrize("debug_info", [(), ("-g",)], ids=["installed", "own"])
def test_an_extension_without_debug_info_is_passed(tmp_path: Path, debug_info: tuple[str, ...]) -> None:
    if not is_known(DEBIANS):
        pytest.skip("needs Debian's python3.11")
    (tmp_path / "fast.c").write_text(EXTENSION)
    library = tmp_path / "fast.so"
    subprocess.run(
        ["gcc", "-O1", *debug_info, "-shared", "-fPIC", tmp_path / "fast.c", "-o", library], check=True
    )
    (tmp_path / "app.py").write_text(
        f"import ctypes\nfast = ctypes.CDLL('{library}')\ndef load():\n    fast.fetched(50_000)\n"
        "for _ in range(9):\n    load()\n"
    )
    trace = tmp_path / "app.heapwright"
    line = [command, "record", "--quiet", "-o", trace, "--", DEBIANS, "-S", "-E", tmp_path / "app.py"]
    subprocess.run([str(part) for part in line], check=True, timeout=120)
    rows = [row for row in rows_of(trace) if row["bytes"] == 450_000]
    assert len(rows) == 1, rows_of(trace)
    found = rows[0]
    if debug_info:
        assert (found["function"], Path(found["file"]).name) == ("inner", "fast.c")
        assert "nested" not in found
    else:
        assert (found["function"], found["line"], Path(found["file"]).name) == ("load", 4, "app.py")
        # Of what ctypes loads on the way: libffi, which has no lines either, is the outermost.
        assert found["nested"]["is_all"]
        assert len(found["nested"]["functions"]) == 1


def test_without_python_functions_the_interpreter_is_the_site(tmp_path: Path) -> None:
    if not is_known(DEBIANS):
        pytest.skip("needs Debian's python3.11")
    trace = tmp_path / "app.heapwright"
    line = [command, "record", "--quiet", "--no-python", "-o", trace, "--", DEBIANS, "-S", "-E", "-c",
            "[bytearray(50_000) for _ in range(9)]"]  # fmt: skip
    subprocess.run([str(part) for part in line], check=True, timeout=120)
    rows = rows_of(trace)
    assert sum(row["bytes"] for row in rows) >= 9 * 50_000
    assert "[python]" not in {row["library"] for row in rows}


def test_copies_group_by_the_same_functions(tmp_path: Path) -> None:
    if not is_known(DEBIANS):
        pytest.skip("needs Debian's python3.11")
    (tmp_path / "app.py").write_text(PROGRAM.replace("handle", "planted"))
    trace = tmp_path / "app.heapwright"

    def heapwright(*words: object) -> None:
        subprocess.run(
            [str(word) for word in (command, *words)], check=True, timeout=120, capture_output=True
        )

    heapwright("record", "--quiet", "-o", trace, "--", DEBIANS, "-S", "-E", tmp_path / "app.py")
    figures = [(row["allocations"], row["bytes"]) for row in rows_of(trace)]
    for name, options in (("named", []), ("anonymous", ["--anonymize"])):
        copy = tmp_path / f"{name}.heapwright"
        heapwright("export", trace, "--to", "trace", "-o", copy, *options)
        rows = rows_of(copy)
        assert sorted((row["allocations"], row["bytes"]) for row in rows) == sorted(figures), name
        has_names = any("app.py" in row["file"] or "planted" in row["function"] for row in rows)
        assert has_names is (name == "named")
