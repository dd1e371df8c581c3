# SPDX-License-Identifier: MIT
"""HEAPWRIGHT_HEAP_... in the environment: bad ones get one line each, and the default is used."""

import os
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import build

library = build / "lib/libheapwright.so"


def errors_of(settings: Mapping[str, str]) -> list[str]:
    environment = {**os.environ, **settings, "LD_PRELOAD": str(library)}
    done = subprocess.run(
        ["/bin/ls", "/"], env=environment, capture_output=True, text=True, check=False, timeout=20
    )
    assert done.returncode == 0
    assert "usr" in done.stdout
    return done.stderr.splitlines()


def test_good_settings_say_nothing() -> None:
    for name, values in {
        "MAINTENANCE": ("auto", "thread", "early", "calls", "manual"),
        "DECAY_MS": ("0", "600000"),
        "HARDENED": ("0", "1"),
        "COUNTERS": ("0", "1"),
        "HUGE_PAGES": ("auto", "0", "1"),
    }.items():
        for value in values:
            assert errors_of({f"HEAPWRIGHT_HEAP_{name}": value}) == []


@pytest.mark.parametrize("value", ["", " ", "2", "yes", "-1", "01", "1 ", "1e3", "9" * 400])
@pytest.mark.parametrize("name", ["HARDENED", "COUNTERS", "HUGE_PAGES", "MAINTENANCE"])
def test_a_bad_value_is_named(name: str, value: str) -> None:
    (line,) = errors_of({f"HEAPWRIGHT_HEAP_{name}": value})
    assert line.startswith(f"heapwright: HEAPWRIGHT_HEAP_{name}={value}"[:240])
    assert len(line) < 300


@pytest.mark.parametrize("value", ["", "-1", "600001", "1.5", "1s", "18446744073709551617", " 5"])
def test_a_bad_time_is_named(value: str) -> None:
    (line,) = errors_of({"HEAPWRIGHT_HEAP_DECAY_MS": value})
    assert line == f"heapwright: HEAPWRIGHT_HEAP_DECAY_MS={value} is not 0 to 600000; the default is used"


def test_an_unknown_setting_is_named() -> None:
    (line,) = errors_of({"HEAPWRIGHT_HEAP_HARDEND": "1"})
    assert "HEAPWRIGHT_HEAP_HARDEND" in line
    assert "HARDENED" in line


def test_each_bad_setting_gets_its_line() -> None:
    bad = {"HEAPWRIGHT_HEAP_HARDENED": "x", "HEAPWRIGHT_HEAP_X": "1", "HEAPWRIGHT_HEAP_DECAY_MS": "never"}
    assert len(errors_of(bad)) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program of another user's")
def test_a_setuid_program_ignores_the_environment(tmp_path: Path) -> None:
    """A caller without rights must not have files made, or lines written, by a program with them."""
    program = tmp_path / "elevated"
    shutil.copy(build / "heap_programs/elevated", program)
    settings = {"HEAPWRIGHT_HEAP_COUNTERS": "1", "HEAPWRIGHT_HEAP_DECAY_MS": "never"}

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run([program], env=settings, capture_output=True, text=True, check=True, timeout=20)

    done = run()
    assert done.stdout == "elevated 0 file 1\n"
    assert "HEAPWRIGHT_HEAP_DECAY_MS" in done.stderr
    os.chown(program, 65534, 65534)
    program.chmod(stat.S_ISUID | 0o755)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    done = run()
    if done.stdout.startswith("elevated 0"):
        pytest.skip("the temporary folder does not let programs be setuid")
    assert done.stdout == "elevated 1 file 0\n"
    assert done.stderr == ""


FILLED = """
import sys
blocks = [bytes(1000) for _ in range(int(sys.argv[1]))]
huge = size = 0
for line in open("/proc/self/smaps"):
    if line.startswith("Size:"):
        size = int(line.split()[1]) << 10
    elif line.startswith("VmFlags:") and " hg" in line:
        huge += size
print(huge)
"""


def bytes_asked_for(settings: Mapping[str, str], blocks: int) -> int:
    named = {f"HEAPWRIGHT_HEAP_{name}": value for name, value in settings.items()}
    environment = {**os.environ, **named, "LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc"}
    line = ["/usr/bin/python3", "-c", FILLED, str(blocks)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout)


@pytest.mark.parametrize(
    ("settings", "is_asked"),
    [({}, False), ({"HUGE_PAGES": "1"}, True), ({"HUGE_PAGES": "1", "HARDENED": "1"}, False)],
)
def test_huge_pages_are_asked_for_all_that_holds_blocks(settings: Mapping[str, str], is_asked: bool) -> None:
    asked_bytes = bytes_asked_for(settings, 64_000)
    assert asked_bytes > 60 << 20 if is_asked else asked_bytes == 0


def test_a_small_program_does_not_try_huge_pages() -> None:
    assert bytes_asked_for({"HUGE_PAGES": "auto"}, 10_000) == 0


def test_a_large_program_asks_for_whole_growths_or_for_none() -> None:
    """As the machine is: one whose host takes memory back may find them slow. The list's own large blocks
    exempt some areas of a growth of 32 MiB."""
    asked_bytes = bytes_asked_for({"HUGE_PAGES": "auto"}, 200_000)
    assert asked_bytes == 0 or asked_bytes >= 16 << 20


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("maintenance", ["auto", "thread", "early"])
def test_a_program_under_valgrind_ends_as_alone(maintenance: str) -> None:
    line = ["valgrind", "-q", "--tool=none", "/usr/bin/sort", "/etc/passwd"]
    environment = {**os.environ, "LD_PRELOAD": str(library), "HEAPWRIGHT_HEAP_MAINTENANCE": maintenance}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == sorted(Path("/etc/passwd").read_text().splitlines())
