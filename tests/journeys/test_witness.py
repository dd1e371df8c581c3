# SPDX-License-Identifier: MIT
"""Real programs: counts, sizes and peak against heaptrack and valgrind's dhat.

Where a witness must differ, the reason is beside the allowance.
"""

import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Trace, collector, programs, project, read_trace
from witnesses import Account, ask_dhat, ask_heaptrack

pytestmark = pytest.mark.full

# Without the check for circles, which takes the address of every object as an
# int: see id_bytes_below_1_gib.
json_script = """
import json
rows = [{"id": i, "name": "row %d" % i, "values": list(range(i % 20))} for i in range(4000)]
text = json.dumps(rows, check_circular=False)
for _ in range(3):
    back = json.loads(text)
print(len(text), len(back))
"""


@pytest.fixture(scope="module")
def preprocessed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A C++ file without its includes, so that every run compiles the same bytes."""
    path = tmp_path_factory.mktemp("cpp") / "source.ii"
    source = project / "tests/programs/dump_trace.cpp"
    command = ["g++", "-std=c++20", "-E", f"-I{project / 'src'}", str(source), "-o", str(path)]
    subprocess.run(command, check=True, timeout=60)
    return path


@pytest.fixture
def line_of(preprocessed: Path, tmp_path: Path) -> Callable[[str], list[str]]:
    def line(name: str) -> list[str]:
        if name == "sqlite3":
            return ["sqlite3", ":memory:", f".read {project / 'examples/orders.sql'}"]
        if name == "python3":
            # A file, because heaptrack cannot read an argument of many lines.
            script = tmp_path / "rows.py"
            script.write_text(json_script)
            return ["/usr/bin/python3", "-s", "-S", str(script)]
        if name == "threads":
            return [str(programs / "threads_come_and_go"), "500", "50"]
        compiler = subprocess.run(
            ["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True
        )
        arguments = ["-quiet", "-O2", "-std=c++20", "-fpreprocessed", str(preprocessed), "-o", "/dev/null"]
        return [compiler.stdout.strip(), *arguments]

    return line


# No randomness from hashing, no heap of Python's own.
environment = {**os.environ, "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}


def record_line(line: list[str], folder: Path) -> Trace:
    path = folder / "x.heapwright"
    command = [str(collector), "--output", str(path), "--quiet", "--", *line]
    subprocess.run(
        command, env=environment, check=True, capture_output=True, timeout=300, stdin=subprocess.DEVNULL
    )
    return read_trace(path)


def account_of(trace: Trace) -> Account:
    sizes: Counter[int] = Counter()
    for _, size, count in filter(is_heap, trace.facts["allocated"]):
        sizes[size] += count
    total = sum(size * count for size, count in sizes.items())
    return Account(sum(sizes.values()), total, trace.facts["peak_bytes"], sizes)


def with_ids_alike(sizes: Counter[int]) -> Counter[int]:
    return sizes + Counter(
        {id_bytes_above: sizes[id_bytes_below_1_gib], id_bytes_below_1_gib: -sizes[id_bytes_below_1_gib]}
    )


def is_heap(row: list[object]) -> bool:
    return row[0] not in ("mmap", "mremap")


def sizes_apart(ours: Counter[int], theirs: Counter[int]) -> int:
    """Allocations that only one of the two saw."""
    return sum(abs(ours[size] - theirs[size]) for size in ours.keys() | theirs.keys())


# heaptrack's library brings libstdc++ into a C program, and with it one block,
# the reserve for exceptions.
libstdcxx_reserve_bytes = 72704

# heaptrack and the recorder preload libraries of different names and pass
# different variables, so that the loader's and libc's few blocks for names,
# and what a program copies of its environment, differ.
environment_blocks = 60
environment_bytes = 16_384

# An int of CPython takes 4 bytes more from 2^30 on, and an address may be an
# int. Debian's python3 has a fixed address, and Linux 6.9 and newer begin its
# heap anywhere in the gibibyte after it: one run in sixty crosses that border.
id_bytes_below_1_gib = 28
id_bytes_above = 32


def both_accounts(line: list[str], folder: Path, name: str) -> tuple[Account, Account]:
    trace = record_line(line, folder)
    assert trace.problems() == []
    ours = account_of(trace)
    theirs = ask_heaptrack(line, folder, environment)
    if name == "python3":
        ours.sizes, theirs.sizes = with_ids_alike(ours.sizes), with_ids_alike(theirs.sizes)
    if ours.sizes[libstdcxx_reserve_bytes] < theirs.sizes[libstdcxx_reserve_bytes]:
        theirs.peak_bytes -= libstdcxx_reserve_bytes
    assert ours.allocations > 20_000
    return ours, theirs


@pytest.mark.parametrize("name", ["sqlite3", "python3"])
def test_heaptrack_saw_the_same(line_of: Callable[[str], list[str]], tmp_path: Path, name: str) -> None:
    ours, theirs = both_accounts(line_of(name), tmp_path, name)
    assert sizes_apart(ours.sizes, theirs.sizes) <= environment_blocks
    assert abs(ours.peak_bytes - theirs.peak_bytes) <= environment_bytes


def test_heaptrack_saw_the_same_of_a_compiler(line_of: Callable[[str], list[str]], tmp_path: Path) -> None:
    """cc1plus hashes addresses, so what its tables need depends on where the kernel puts it.

    Of 1.26 million allocations, two recordings by the same recorder differ in
    up to 40, or in 800 to 880 (sizes 56, 64 and 72 change places), and in none
    under setarch -R, which a container may forbid. So the nearest of up to five
    runs each are compared: what a recorder loses, it loses in all of them. At
    the peak a run has two tables more or less of 32 KiB (30 recordings), and a
    third one is allowed for.
    """
    pairs: list[tuple[Account, Account]] = []
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        pairs.append(both_accounts(line_of("cc1plus"), folder, "cc1plus"))
        apart = min(sizes_apart(ours.sizes, theirs.sizes) for ours, _ in pairs for _, theirs in pairs)
        if apart <= pairs[0][0].allocations / 2000:
            break
    assert apart <= pairs[0][0].allocations / 2000
    ours, theirs = pairs[-1]
    assert abs(ours.peak_bytes - theirs.peak_bytes) <= environment_bytes + 3 * 32_768


@pytest.mark.parametrize("name", ["sqlite3", "python3"])
def test_dhat_saw_the_same(line_of: Callable[[str], list[str]], tmp_path: Path, name: str) -> None:
    line = line_of(name)
    ours = account_of(record_line(line, tmp_path))
    theirs = ask_dhat(line, tmp_path, environment)
    # sqlite3 asks malloc_usable_size how large its blocks are, and valgrind's
    # heap answers with the requested size: caches then fill at other moments.
    allowance = 0.02 if name == "sqlite3" else 0.002
    assert abs(ours.allocations - theirs.allocations) <= allowance * theirs.allocations
    assert abs(ours.bytes - theirs.bytes) <= allowance * theirs.bytes
    assert abs(ours.peak_bytes - theirs.peak_bytes) <= allowance * theirs.peak_bytes


def test_threads_that_come_and_go_are_counted_alike(
    line_of: Callable[[str], list[str]], tmp_path: Path
) -> None:
    line = line_of("threads")
    trace = record_line(line, tmp_path)
    theirs = ask_heaptrack(line, tmp_path, environment)
    ours = account_of(trace)
    assert ours.sizes[3001] == theirs.sizes[3001] == 500 * 50
    assert ours.sizes[3011] == theirs.sizes[3011] == 500
    assert sizes_apart(ours.sizes, theirs.sizes) <= environment_blocks
