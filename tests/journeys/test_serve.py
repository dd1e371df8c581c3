# SPDX-License-Identifier: MIT
"""heapwright serve while processes count, stop, die and lie."""

import os
import random
import select
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import ExitStack, suppress

import pytest
from conftest import command, programs
from counting import Running, ask, checked, library
from serving import Series, Served, served, serving

__all__ = ["served"]


def test_figures_are_those_of_count(served: Served) -> None:
    running = Running("cat")
    pid = str(running.process.pid)
    (process,) = checked(ask("count", "--pid", pid, "--json").stdout)["processes"]
    series = served.scrape()
    running.end()
    assert series[("heap_calls_total", pid)] == sum(process["calls"].values()) > 0
    assert series[("heap_live_bytes", pid)] == process["live_bytes"]
    assert series[("heap_requested_bytes_total", pid)] == process["requested_bytes"]
    assert series[("heap_counting_start_time_seconds", pid)] == pytest.approx(time.time(), abs=60)


def test_series_end_with_their_process(served: Served) -> None:
    running = Running("cat")
    assert served.calls_of(running.process.pid)
    running.end()
    assert served.calls_of(running.process.pid) is None
    os.utime(running.path, (0, 0))
    served.get()
    assert not running.path.exists()


def test_a_process_that_stands_still_is_told_of(served: Served) -> None:
    running = Running("cat")
    running.process.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    assert served.calls_of(running.process.pid)
    assert time.monotonic() - begin < 5
    running.end()


def test_counters_grow_while_many_read(served: Served) -> None:
    running = Running(programs / "threads_come_and_go", 6000, 200)
    pid = str(running.process.pid)
    wrong: list[tuple[str, float, float]] = []
    scrapes: list[int] = []

    def read() -> None:
        last: Series = {}
        while running.process.poll() is None:
            now = {key: value for key, value in served.scrape().items() if key[1] == pid}
            sums = {key: value for key, value in now.items() if key[0].endswith(("_total", "_count", "_sum"))}
            wrong.extend((key[0], last[key], sums[key]) for key in sums if sums[key] < last.get(key, 0))
            assert now.get(("heap_live_blocks", pid), 0) >= 0
            last = sums
            scrapes.append(len(sums))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    running.process.communicate()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert len([found for found in scrapes if found]) > 3


def test_a_page_that_is_cut_and_scribbled_on_meanwhile_harms_no_other(served: Served) -> None:
    """A process of ours writes whatever it likes into its page, and shortens it."""
    chance = random.Random(7)
    hostile, honest = Running("cat"), Running("cat")
    good = hostile.path.read_bytes()
    ends = time.monotonic() + 4
    failures: list[BaseException] = []

    def scribble() -> None:
        while time.monotonic() < ends:
            data = bytearray(good[: chance.choice((len(good), 8192, 5000, 100, 0))])
            for _ in range(chance.randint(0, 20)):
                if data:
                    data[chance.randrange(min(len(data), 400))] = chance.randrange(256)
            hostile.path.write_bytes(
                data
            )  # in place, as the process has it mapped; it makes no call meanwhile

    def read() -> None:
        try:
            while time.monotonic() < ends:
                series = served.scrape()
                assert series[("heap_calls_total", str(honest.process.pid))] > 0
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=one) for one in (scribble, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hostile.end()
    honest.end()
    hostile.path.unlink(missing_ok=True)
    assert failures == []


def test_processes_that_come_and_go_meanwhile_harm_no_scrape(served: Served) -> None:
    script = f"export LD_PRELOAD={library}; i=0; while [ $i -lt 150 ]; do /bin/true; i=$((i+1)); done"
    with subprocess.Popen(["/bin/sh", "-c", script]) as shell:
        scrapes = 0
        while shell.poll() is None:
            assert ("heapwright_unread_pages", "") in served.scrape()
            scrapes += 1
    assert scrapes > 1


def test_pages_that_cannot_be_read_are_counted(served: Served) -> None:
    running = Running("cat")
    with running.path.open("r+b") as file:
        file.seek(8)
        file.write(b"\x63")
    series = served.scrape()
    assert ("heap_calls_total", str(running.process.pid)) not in series
    assert series[("heapwright_unread_pages", "")] >= 1
    running.end()
    running.path.unlink(missing_ok=True)


def test_what_is_asked_wrongly_is_answered(served: Served) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        served.get("/debug/pprof/goroutine")
    assert "/metrics" in served.get("/")
    with pytest.raises(urllib.error.HTTPError, match="500"):
        served.get(headers={"Accept": "application/openmetrics-text; version=x"})
    one = served.get("/metrics?" + urllib.parse.urlencode({"name[]": "heapwright_unread_pages"}))
    (line,) = [line for line in one.splitlines() if not line.startswith("#")]
    assert line.startswith("heapwright_unread_pages ")
    asked = urllib.request.Request(served.address, method="HEAD")
    with urllib.request.urlopen(asked, timeout=20) as answer:
        assert (answer.status, answer.read()) == (200, b"")
        assert int(answer.headers["Content-Length"]) > 1000
    for name in ("127.0.0.1:1", "localhost", "[::1]:80", "10.0.0.7"):
        assert served.get(headers={"Host": name})
    for name in ("example.org", "localhost.example.org:9776", "", "127.0.0.1.nip.io"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            served.get(headers={"Host": name})
    host, port = served.address.removeprefix("http://").removesuffix("/metrics").split(":")
    with socket.create_connection((host, int(port))) as other:
        other.sendall(b"\x16\x03\x01 no HTTP\r\n\r\n")
        other.recv(1000)
    assert served.get()


def test_a_hundred_readers_at_once_are_answered(served: Served) -> None:
    """None is dropped by the kernel: it would try again a second later, and be given up after some."""
    host, port = served.address.removeprefix("http://").removesuffix("/metrics").split(":")
    with ExitStack() as readers:
        served.process.send_signal(signal.SIGSTOP)
        try:
            connections = [
                readers.enter_context(socket.create_connection((host, int(port)), timeout=0.9))
                for _ in range(100)
            ]
        finally:
            served.process.send_signal(signal.SIGCONT)
        for one in connections:
            one.settimeout(20)
            one.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert all(one.recv(15) == b"HTTP/1.0 200 OK" for one in connections)


@pytest.mark.parametrize("pause_s", [0.5, 60])
def test_a_client_has_five_seconds_for_its_request(served: Served, pause_s: float) -> None:
    host, _, port = served.address.removeprefix("http://").removesuffix("/metrics").rpartition(":")
    begin_s = time.monotonic()
    with socket.create_connection((host, int(port)), timeout=30) as slow:
        slow.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        while time.monotonic() < begin_s + 20:
            if select.select([slow], [], [], pause_s)[0]:
                break
            slow.sendall(b"x")
        with suppress(ConnectionResetError, BrokenPipeError):
            assert slow.recv(100) == b""
    assert 4 < time.monotonic() - begin_s < 15
    assert "heap_process" in served.get()


def test_a_name_of_its_own_is_told_to_it() -> None:
    with serving("--name", "Counters.example.org") as served:
        assert served.get(headers={"Host": "counters.example.org:9776"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            served.get(headers={"Host": "example.org"})


def test_bad_requests_get_one_line(served: Served) -> None:
    taken = served.address.rsplit(":", 1)[1].removesuffix("/metrics")
    for line, words in (
        (("--port", taken), "already in use; use --port"),
        (("--port", "70000"), "invalid value for '--port'"),
        (("--host", "no such host"), "--host takes an address"),
        (("--host", "192.0.2.1"), "cannot listen"),
    ):
        result = ask("serve", *line)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.stderr
        assert words in result.stderr.lower()


def test_it_ends_by_control_c_and_warns_of_open_ports() -> None:
    line = [str(command), "serve", "--port", "0", "--host", "0.0.0.0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://0.0.0.0:")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[1]
    assert process.returncode == 0
    assert "anybody" in said
