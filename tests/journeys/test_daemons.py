# SPDX-License-Identifier: MIT
"""Servers that put themselves into the background, give up root and have workers: every process has a whole trace.

Started as an administrator starts them. What each does is asked of it over its socket, and how many
processes it has is read from /proc.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import command, read_trace

pytestmark = pytest.mark.full

NGINX = """
worker_processes 2; daemon on; pid {folder}/server.pid; error_log {folder}/errors;
events {{ worker_connections 64; }}
http {{ access_log off; server {{ listen unix:{folder}/socket; location / {{ return 200 "hello"; }} }} }}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where other users may go, with a path short enough for a socket."""
    path = Path("/tmp") / f"heapwright-daemon-{os.getpid()}"
    path.mkdir(mode=0o755)
    path.chmod(0o777)
    (path / "traces").mkdir()
    yield path
    shutil.rmtree(path)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited for a minute"
        time.sleep(0.02)


def ask(path: Path, question: bytes) -> bytes:
    """The answer, as far as one read brings it; nothing while nobody listens."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        connection.sendall(question)
        return connection.recv(4096)
    return b""


def process_ids(server: int) -> set[int]:
    """The server and its children."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    return {server, *map(int, children)}


def record_server(folder: Path, line: list[str], question: bytes) -> tuple[set[int], dict[int, Any]]:
    """Records a server until it has answered twenty times and ended: its ids, and what explain says of each."""
    output = folder / "traces" / "t.%p.heapwright"
    recording = subprocess.Popen(
        [command, "record", "--children", "--quiet", "--output", output, "--", *line]
    )
    try:
        wait_for(lambda: ask(folder / "socket", question) != b"")
        for _ in range(20):
            assert ask(folder / "socket", question)
        server = int((folder / "server.pid").read_text().split()[0])
        processes = process_ids(server)
        os.kill(server, signal.SIGTERM)
        assert recording.wait(timeout=60) == 0
    finally:
        recording.kill()
    return processes, told_of(folder)["processes"]


def told_of(folder: Path) -> dict[str, Any]:
    """What explain says of a whole recording; its processes by their ids."""
    for path in (folder / "traces").glob("*.heapwright"):
        assert read_trace(path).problems() == []
    explain = [command, "explain", folder / "traces", "--json"]
    document: dict[str, Any] = json.loads(
        subprocess.run(explain, capture_output=True, check=True, timeout=120).stdout
    )
    document["processes"] = {process["process_id"]: process for process in document["processes"]}
    return document


def check_all_are_there(processes: set[int], told: dict[int, Any]) -> None:
    assert processes <= told.keys()
    for process in processes:
        assert told[process]["calls"] > 0
        assert told[process]["is_complete"]


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_in_the_background(folder: Path) -> None:
    (folder / "conf").write_text(NGINX.format(folder=folder))
    question = b"GET / HTTP/1.0\r\n\r\n"
    processes, told = record_server(folder, ["nginx", "-c", str(folder / "conf")], question)
    assert len(processes) == 3, "a master and two workers"
    check_all_are_there(processes, told)
    assert len(told) == 4, "and the process that was started"
    verdicts = set()
    for path in (folder / "traces").glob("*.heapwright"):
        explain = [command, "explain", path, "--json"]
        done = subprocess.run(explain, capture_output=True, check=True, timeout=120)
        answers = json.loads(done.stdout)["questions"]
        assert answers["advice"]["advice"] == [], "a quiet nginx has nothing worth fixing"
        cause = answers["cause"]
        verdicts.add((cause["verdict"], cause["unknown_because"].partition(",")[0]))
    assert verdicts == {("nothing", ""), ("unknown", "blocks from before the fork")}


@pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed")
def test_memcached_in_the_background(folder: Path) -> None:
    line = ["memcached", "-d", "-s", str(folder / "socket"), "-P", str(folder / "server.pid")]
    if os.geteuid() == 0:
        line += ["-u", "nobody"]
    processes, told = record_server(folder, line, b"set a 0 0 5\r\nhello\r\nget a\r\n")
    assert len(processes) == 1
    check_all_are_there(processes, told)
    assert len(told) == 2


def postgres_programs() -> Path | None:
    """Debian keeps them out of PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@pytest.mark.skipif(postgres_programs() is None, reason="postgres is not installed")
def test_postgres_under_runuser(folder: Path) -> None:
    """A server as root starts it: its helpers, and a backend for each of three clients at once."""
    programs = postgres_programs()
    assert programs is not None
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    data = folder / "data"
    run = {"check": True, "capture_output": True, "timeout": 120, "cwd": "/tmp"}
    subprocess.run([*user, programs / "initdb", "-D", data, "--no-sync", "--auth=trust"], **run)  # type: ignore[call-overload]
    output = folder / "traces" / "t.%p.heapwright"
    server = [programs / "postgres", "-D", data, "-k", folder, "-h", "", "-F", "-c", "shared_buffers=16MB"]
    recording = subprocess.Popen(
        [command, "record", "--children", "--output", output, "--", *user, *server],
        cwd="/tmp", stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        ready = [*user, programs / "pg_isready", "-q", "-h", folder]
        wait_for(lambda: subprocess.run(ready, check=False, cwd="/tmp").returncode == 0)
        client = ["-h", folder, "postgres"]
        subprocess.run([*user, programs / "pgbench", "-i", "-q", *client], **run)  # type: ignore[call-overload]
        bench = [*user, programs / "pgbench", "-c", "3", "-t", "50", *client]
        running = subprocess.Popen(bench, cwd="/tmp", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        postmaster = int((data / "postmaster.pid").read_text().split()[0])
        processes: set[int] = set()
        while running.poll() is None:
            processes |= process_ids(postmaster)
        assert running.stdout is not None and b"150/150" in running.stdout.read()
        os.kill(postmaster, signal.SIGINT)
        assert recording.wait(timeout=60) == 0
    finally:
        recording.kill()
    told = told_of(folder)
    assert len(processes) >= 1 + 5 + 1, "the postmaster, its helpers and clients' backends"
    check_all_are_there(processes, told["processes"])
    assert told["not_recorded"] == []
    queries = [one["calls"] for one in told["processes"].values() if one["name"] == "postgres"]
    assert len(queries) >= len(processes)
