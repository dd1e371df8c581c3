# SPDX-License-Identifier: MIT
"""Counting in processes that run: what is counted is what they called, and they never notice."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attaching import Attached, Server, changed_code, totals_of
from conftest import build
from counting import ask, checked, folder, only

functions = ("malloc", "calloc", "realloc", "aligned", "new", "free", "delete")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as one:
        yield one


def check_equal(totals: dict[str, Any], before: dict[str, int], after: dict[str, int]) -> None:
    truth = {name: after[name] - before[name] for name in after}
    assert truth["answered"] > 1000
    assert totals["calls"] == {name: truth[name] for name in functions}
    assert totals["failed"] == truth["failed"] > 0
    assert totals["null_releases"] == truth["null"]
    # Beside what the program asked for there is an exception for each failure.
    exceptions, rest = divmod(totals["requested_bytes"] - truth["requested"], truth["failed"])
    assert rest == 0
    assert 0 < exceptions < 1000
    assert totals["live_blocks"] == 0
    assert totals["live_bytes"] == 0


def test_counts_are_those_the_program_made(server: Server) -> None:
    server.go()
    time.sleep(0.2)
    before = server.pause()
    attached = Attached(server.pid)
    assert attached.attached["threads"] == 9
    assert attached.attached["notes"] == []
    server.go()
    time.sleep(0.5)
    after = server.pause()
    totals = totals_of(server.pid)
    check_equal(totals, before, after)
    assert totals["is_attached"]
    assert totals["threads_begun"] == 8
    assert totals["making"]["timed_calls"] > 0
    assert attached.end()["reason"] == "asked"
    assert changed_code(server.pid) == []
    server.go()
    time.sleep(0.1)
    assert server.quit() == 0


def test_a_second_attachment_counts_anew(server: Server) -> None:
    """In the same memory, with the same tables."""
    for _ in range(3):
        before = server.pause()
        attached = Attached(server.pid)
        assert not attached.attached["healed"]
        server.go()
        time.sleep(0.3)
        after = server.pause()
        totals = totals_of(server.pid)
        check_equal(totals, before, after)
        assert totals["threads_begun"] == 8
        attached.end()
    maps = Path(f"/proc/{server.pid}/maps").read_text()
    assert str(folder / f"heapwright-{server.pid}.calls") not in maps
    assert server.quit() == 0


def test_many_attachments_lose_no_request(server: Server) -> None:
    server.go()
    for _ in range(30):
        attached = Attached(server.pid)
        time.sleep(0.01)
        attached.end()
    assert changed_code(server.pid) == []
    server.pause()
    assert server.quit() == 0


def test_a_killed_attacher_is_healed_by_the_next(server: Server) -> None:
    server.go()
    attached = Attached(server.pid)
    attached.attacher.kill()
    attached.attacher.communicate()
    time.sleep(0.1)
    assert changed_code(server.pid) != []
    result = ask("count", "--pid", str(server.pid), "--duration", "0.2", "--json")
    assert result.returncode == 0, result.stderr
    document = checked(result.stdout)
    assert document["attach"]["has_healed"]
    assert "reverted first" in document["notes"][0]
    assert sum(only(document)["calls"].values()) > 1000
    assert changed_code(server.pid) == []
    server.pause()
    assert server.quit() == 0


def test_a_killed_attacher_that_nobody_waited_for_is_in_nobodys_way(server: Server) -> None:
    """As in a container whose first process waits for no child."""
    attached = Attached(server.pid)
    attached.attacher.kill()
    status = Path(f"/proc/{attached.attacher.pid}/status")
    deadline = time.monotonic() + 10
    while "State:\tZ" not in status.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    result = ask("count", "--pid", str(server.pid), "--duration", "0.1", "--json")
    assert "State:\tZ" in status.read_text()
    attached.attacher.communicate()
    assert result.returncode == 0, result.stderr
    assert checked(result.stdout)["attach"]["has_healed"]
    assert server.quit() == 0


def test_one_process_is_counted_once_at_a_time(server: Server) -> None:
    attached = Attached(server.pid)
    second = subprocess.run(
        [str(build / "bin/heapwright-attach"), str(server.pid)], capture_output=True, text=True, check=False
    )
    assert second.returncode == 2
    assert "counted already, by process" in second.stderr
    attached.end()
    assert server.quit() == 0


def test_five_hundred_threads() -> None:
    with Server(500) as server:
        server.go()
        time.sleep(0.3)
        before = server.pause()
        attached = Attached(server.pid)
        assert attached.attached["threads"] == 501
        server.go()
        time.sleep(1)
        after = server.pause()
        check_equal(totals_of(server.pid), before, after)
        server.go()
        assert attached.end()["threads"] == 501
        server.pause()
        assert changed_code(server.pid) == []
        assert server.quit() == 0


def test_every_signal_is_delivered_once(server: Server) -> None:
    """Real-time signals queue: none may be lost, none come twice."""
    server.go()
    sent = 0
    for _ in range(20):
        sender = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"import os\nfor _ in range(300): os.kill({server.pid}, {signal.SIGRTMIN})",
            ]
        )
        Attached(server.pid).end()  # Also where all signals were sent before it began.
        while sender.poll() is None:
            Attached(server.pid).end()
        assert sender.returncode == 0
        sent += 300
    server.pause()
    assert server.pause()["signals"] == sent
    assert server.quit() == 0
