# SPDX-License-Identifier: MIT
"""What counters say of servers, beside what the programs planted, what glibc says of its heap, and the kernel."""

import os
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import build, command, programs
from counting import ask, checked, environment, folder, library, parent_of
from serving import until

SESSION_BYTES = 1000
# What a thread of glibc keeps of freed blocks at most, for itself: 7 of each of 64 sizes.
CACHED_BYTES = 7 * sum(range(32, 1056, 16))


class Server:
    """planted_server, which counts."""

    def __init__(self, line: list[str], variables: dict[str, str]) -> None:
        self.run = subprocess.Popen(
            [*line, str(programs / "planted_server")], env={**environment, **variables}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    @classmethod
    def preloaded(cls, *libraries: Path, **variables: str) -> "Server":
        """Its process is the one that was started."""
        return cls([], {"LD_PRELOAD": ":".join(map(str, (library, *libraries))), **variables})

    def ask(self, word: str, count: int = 0, until: str = "\n") -> str:
        assert self.run.stdin is not None and self.run.stdout is not None
        self.run.stdin.write(f"{word} {count}\n")
        self.run.stdin.flush()
        text = ""
        while not text.endswith(until):
            line = self.run.stdout.readline()
            assert line, (self.run.wait(20), self.run.stderr and self.run.stderr.read())
            text += line
        return text

    def number(self, word: str, count: int) -> int:
        return int(self.ask(word, count).split()[1])

    def end(self) -> None:
        self.run.communicate(timeout=120)


def counted(process: int) -> dict[str, Any]:
    (record,) = checked(ask("count", "--pid", str(process), "--json").stdout)["processes"]
    return dict(record)


def in_use_bytes(info: str) -> int:
    """Of glibc's arenas, by malloc_info(): what is neither free nor at their top."""
    totals = info[info.rindex("</heap>") :]
    free = sum(
        int(size) for size in re.findall(r'<total type="(?:fast|rest)" count="\d+" size="(\d+)"', totals)
    )
    (system,) = re.findall(r'<system type="current" size="(\d+)"', totals)
    return int(system) - free


def test_live_bytes_are_what_glibc_says() -> None:
    server = Server.preloaded()
    kept = server.number("grow", 20_000)
    server.ask("hand", 3_000)
    record = counted(server.run.pid)
    in_use = in_use_bytes(server.ask("info", until="</malloc>\n"))
    server.end()
    assert record["live_bytes"] >= kept * SESSION_BYTES
    # A block has eight bytes before it that it cannot use.
    beside = in_use - record["live_bytes"] - 8 * record["live_blocks"]
    assert 0 <= beside <= 2 * CACHED_BYTES, (in_use, record["live_bytes"])


def test_waiting_in_calls_is_seen_where_threads_share_an_arena() -> None:
    server = Server.preloaded(MALLOC_ARENA_MAX="1")
    server.ask("grow", 10_000)
    alone = sum(counted(server.run.pid)[part]["waited_calls"] or 0 for part in ("making", "releasing"))
    switches = 0

    def waited() -> float:
        nonlocal switches
        switches += server.number("crowd", 100_000)
        record = counted(server.run.pid)
        return sum(record[part]["waited_calls"] or 0 for part in ("making", "releasing")) - alone

    # How soon depends on who gets a processor when. The estimate itself is too high then: docs/count.md.
    assert until(lambda: waited() >= 64 * 4, seconds=300)
    server.end()
    assert switches >= 4, "who waits in a call leaves a processor"


def test_blocks_that_other_threads_free_are_all_told() -> None:
    server = Server.preloaded(build / "lib/libheapwright.so", HEAPWRIGHT_HEAP_COUNTERS="1")
    server.ask("hand", 5_000)

    def handed() -> float:
        text = ask("serve", "--once").stdout
        found = re.search(rf'heap_remote_frees_total{{[^}}]*pid="{server.run.pid}"[^}}]*}} (\S+)', text)
        return float(found[1]) if found else 0.0

    told = until(lambda: value if (value := handed()) >= 5_000 else 0)
    server.end()
    assert 5_000 <= told <= 5_100, "what the thread itself took is freed by its end"


class Growing:
    """A server that keeps some more blocks at even moments, however long the looks at it take.

    Were it asked to between two looks, its growth would be a stair whose steps are as long as these: on a
    busy machine that is not surely growth for half a minute, and then at one look and not at the next.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._go_on)

    def _go_on(self) -> None:
        while not self._is_over.wait(0.05):
            self._server.ask("grow", 10)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()


def grown(process: int) -> list[dict[str, Any]]:
    document = checked(ask("top", str(process), "--json", "--interval", "0.1").stdout)
    return list(document["growing"]["sites"])


def screen(process: int) -> str:
    text = ask("top", str(process), "--once", "--interval", "0.1").stdout
    return text if "Growing sites" in text and "keep_session" in text else ""


def test_the_planted_growth_is_named_while_it_goes_on() -> None:
    server = Server([str(command), "count", "--sample", "16k", "--"], {})
    server.ask("grow", 100)

    def process_of() -> int:
        found = (int(path.name.split("-")[1]) for path in folder.glob("heapwright-*.profile"))
        return next((one for one in found if parent_of(parent_of(one)) == server.run.pid), 0)

    process = until(process_of)
    with Growing(server):
        sites = until(lambda: found if len(found := grown(process)) == 1 else [])
        text = until(lambda: screen(process))
    kept = server.number("grow", 0)
    counts = counted(process)
    server.end()
    (site,) = sites
    assert text, "the screen names what the document named"
    assert "keep_session" in site["function"]
    assert site["growth_bytes_per_s"] > 0
    assert 0 < site["live_bytes"] <= 1.5 * kept * SESSION_BYTES
    assert counts["live_bytes"] >= kept * SESSION_BYTES


def test_a_process_without_samples_has_no_growing_sites() -> None:
    server = Server.preloaded()
    server.ask("grow", 100)
    document = checked(ask("top", str(server.run.pid), "--json", "--interval", "0.1").stdout)
    server.end()
    assert "growing" not in document


@pytest.mark.skipif(not Path("/usr/bin/python3.11").exists(), reason="needs Debian's python3")
def test_a_python_with_threads_beside_the_kernel() -> None:
    script = (
        "import sys, threading\nis_over = threading.Event()\n"
        "def work():\n  kept = [bytearray(4000) for _ in range(2000)]\n  ready.release()\n  is_over.wait()\n"
        "ready = threading.Semaphore(0)\nall = [threading.Thread(target=work) for _ in range(8)]\n"
        "for one in all: one.start()\nfor _ in all: ready.acquire()\n"
        "print('ready', flush=True)\nsys.stdin.readline()\nis_over.set()\n"
    )
    with subprocess.Popen(
        ["/usr/bin/python3.11", "-S", "-E", "-c", script], text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, env={**os.environ, "LD_PRELOAD": str(library)},
    ) as python:  # fmt: skip
        assert python.stdout is not None
        assert python.stdout.readline() == "ready\n"
        document = checked(ask("top", str(python.pid), "--json", "--interval", "0.2").stdout)
        status = Path(f"/proc/{python.pid}/status").read_text()
        python.communicate("\n", timeout=60)
    (row,) = document["processes"]
    threads = re.search(r"Threads:\s+(\d+)", status)
    assert threads is not None
    assert row["threads"] == int(threads[1]) == 9
    assert document["process"]["threads_begun"] == 9
    assert row["live_bytes"] == pytest.approx(8 * 2000 * 4008, rel=0.1)
