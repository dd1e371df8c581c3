# SPDX-License-Identifier: MIT
"""The counters' file: whose it is, across forks too. Offsets are those of docs/counters.md."""

import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import build
from heapwright.live.pages import find_pages

library = build / "lib/libheapwright.so"
fork_and_tell = """
import os, sys, threading

def work(is_ready, may_end):
    kept = [bytearray(size) for size in range(1, 20000, 7)]
    is_ready.set()
    may_end.wait()

may_end = threading.Event()
for _ in range(3):
    is_ready = threading.Event()
    threading.Thread(target=work, args=(is_ready, may_end), daemon=True).start()
    is_ready.wait()
large = [bytearray(1 << 20) for _ in range(50)]
child = os.fork()
if child == 0:
    few = [bytearray(1 << 20) for _ in range(5)]
    print(os.getpid(), flush=True)
    sys.stdin.readline()
    sys.exit(0)
sys.stdin.readline()
os.waitpid(child, 0)
may_end.set()
"""


class Page(NamedTuple):
    magic: int
    version: int
    page_bytes: int
    process: int
    generation: int
    process_start_ticks: int
    sequence: int
    updated_ns: int
    heap_kind: int
    heap_version: int
    heap_offset: int
    heap_bytes: int


def file_of(process: int) -> Path:
    return Path(f"/dev/shm/heapwright-{process}")


def head_of(process: int) -> Page:
    return Page(*struct.unpack_from("<QIIIIQQQIIII", file_of(process).read_bytes()))


def threads_of(process: int) -> int:
    page = head_of(process)
    (threads,) = struct.unpack_from("<Q", file_of(process).read_bytes(), page.heap_offset + 168)
    return int(threads)


def large_blocks_of(process: int, least: int) -> int:
    """Reason 10, of both arrays, once there are so many: what threads count for themselves is summed up later."""
    heap_offset = head_of(process).heap_offset
    end = time.monotonic() + 20
    blocks = 0
    while blocks < least and time.monotonic() < end:
        page = file_of(process).read_bytes()
        (reasons,) = struct.unpack_from("<I", page, heap_offset + 12)
        places = (heap_offset + 176 + 8 * (number + 10) for number in (0, reasons))
        blocks = sum(struct.unpack_from("<Q", page, place)[0] for place in places)
        time.sleep(0.02)
    return blocks


def start_ticks(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "LD_PRELOAD": str(library), "HEAPWRIGHT_HEAP_COUNTERS": "1"}
    running = subprocess.Popen(
        [sys.executable, "-c", fork_and_tell],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    yield running
    if running.poll() is None:
        running.communicate("\n\n", timeout=20)


def test_parent_and_child_have_pages_of_their_own(parent: subprocess.Popen[str]) -> None:
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    for process, generation in ((parent.pid, 0), (child, 1)):
        page = head_of(process)
        assert page.magic == 0x32726E7463707768
        assert (page.version, page.heap_kind, page.heap_version) == (2, 1, 2)
        assert page.heap_offset + page.heap_bytes == page.page_bytes <= file_of(process).stat().st_size
        assert (page.process, page.generation) == (process, generation)
        assert page.process_start_ticks == start_ticks(process)
        assert file_of(process).stat().st_mode & 0o777 == 0o600


def test_what_a_child_does_is_not_counted_in_its_parent(parent: subprocess.Popen[str]) -> None:
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert threads_of(parent.pid) >= 4
    assert threads_of(child) == 1


def test_a_child_begins_at_zero(parent: subprocess.Popen[str]) -> None:
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert large_blocks_of(parent.pid, 50) >= 50
    assert 5 <= large_blocks_of(child, 5) < 10


def test_the_file_goes_with_the_process(parent: subprocess.Popen[str]) -> None:
    assert parent.stdout is not None
    parent.stdout.readline()
    parent.communicate("\n\n", timeout=20)
    assert not file_of(parent.pid).exists()


held_for_a_while = """
import time

short = [bytearray(1000) for _ in range(40000)]
long = bytearray(b"x") * (20 << 20)
time.sleep(0.1)
del short[::2]
time.sleep(0.1)
"""


def test_the_parts_of_the_largest_heap_are_printed() -> None:
    environment = {**os.environ, "LD_PRELOAD": str(library), "HEAPWRIGHT_HEAP_COUNTERS": "print"}
    line = ["/usr/bin/python3", "-c", held_for_a_while]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True, timeout=30)
    whole, *parts = (text.removeprefix("heapwright: ") for text in done.stderr.splitlines())
    mib = {name: float(number) for number, name in (part.split(" MiB ") for part in parts)}
    assert abs(float(whole.split()[0]) - sum(mib.values())) <= 0.1 * len(mib)
    # Before half of them were freed.
    assert 38 <= mib["blocks up to 64 KiB"] <= 50
    assert 20 <= mib["blocks above 64 KiB"] <= 25
    assert sum(mib.values()) < 80


def test_a_program_that_changes_its_user_has_a_page_too() -> None:
    """The page of the image before is root's: the next image can neither move nor remove it."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv")
    environment = {**os.environ, "LD_PRELOAD": str(library), "HEAPWRIGHT_HEAP_COUNTERS": "1"}
    nobody = ("--reuid=65534", "--regid=65534", "--clear-groups")
    line = ["setpriv", *nobody, "cat"]
    with subprocess.Popen(line, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        first = file_of(process.pid)
        second = first.with_name(f"{first.name}.1")
        deadline = time.monotonic() + 20
        while not second.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (first.stat().st_uid, second.stat().st_uid) == (0, 65534)
        time.sleep(0.2)  # from when on a reader takes it for one that is mapped
        pages = {page.path: page for page in find_pages().pages if page.process == process.pid}
        _, said = process.communicate()
    assert list(pages) == [str(second)]
    assert pages[str(second)].heap is not None
    assert said == b""
    assert not second.exists()
    first.unlink(missing_ok=True)
