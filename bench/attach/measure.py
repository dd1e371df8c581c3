#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What attaching costs: how long a process stands still, and a pair of calls before, meanwhile and after.

OUTPUT/attach.json keeps all values.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402


class Program:
    """A process that answers a line with a line."""

    def __init__(self, *line: object) -> None:
        self.process = subprocess.Popen(
            [str(part) for part in line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self.process.pid

    def tell(self, text: str) -> None:
        """A line."""
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def ask(self, text: str) -> str:
        """What it answers."""
        self.tell(text)
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()


class Attached(Program):
    """heapwright-attach, from the attachment on."""

    def __init__(self, attacher: Path, process: int) -> None:
        super().__init__(attacher, process)
        self.page = Path(f"/dev/shm/heapwright-{process}.calls")
        self.attached: dict[str, Any] = json.loads(self.ask(""))

    def end(self) -> dict[str, Any]:
        """Detached."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        detached: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.process.wait()
        self.process.stdout.close()
        self.page.unlink()
        return detached


def cycles(attacher: Path, process: int, count: int) -> dict[str, list[int]]:
    """So many attachments, each of a hundredth of a second."""
    found: dict[str, list[int]] = {"attach_ns": [], "detach_ns": [], "stops": []}
    for _ in range(count):
        one = Attached(attacher, process)
        time.sleep(0.01)
        found["attach_ns"].append(one.attached["stopped_ns"])
        found["stops"].append(one.attached["stops"])
        found["detach_ns"].append(one.end()["stopped_ns"])
    return found


def server_cycles(build: Path, threads: int, count: int, is_busy: bool) -> dict[str, Any]:
    """Of a server of so many threads; its exit code says whether it lost a request."""
    with Program(build / "programs/steady_server", threads) as server:
        server.ask("pause\n")
        if is_busy:
            server.tell("go\n")
        found: dict[str, Any] = cycles(build / "bin/heapwright-attach", server.pid, count)
        answered = json.loads(server.ask("pause\n"))["answered"]
        server.tell("quit\n")
        return found | {"exit_code": server.process.wait(), "answered": answered}


def redis_cycles(build: Path, count: int) -> dict[str, Any]:
    """Of a redis-server under load."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with Program("redis-server", "--port", port, "--save", "") as redis:
        time.sleep(0.5)
        load = ["redis-benchmark", "-p", port, "-c", "20", "-t", "set,get", "-l", "-q"]
        with subprocess.Popen(load, stdout=subprocess.DEVNULL) as client:
            time.sleep(0.5)
            found: dict[str, Any] = cycles(build / "bin/heapwright-attach", redis.pid, count)
            is_alive = redis.process.poll() is None and client.poll() is None
            client.terminate()
    return found | {"exit_code": 0 if is_alive else 1}


def pair_times(build: Path, pairs: Path, rounds: int) -> dict[str, list[float]]:
    """A pair's time in one process: before, while it is attached to, and after."""
    times: dict[str, list[float]] = {"before": [], "attached": [], "after": []}
    with Program(pairs) as program:
        for _ in range(rounds):
            times["before"].append(float(program.ask("\n")))
        for _ in range(rounds):
            one = Attached(build / "bin/heapwright-attach", program.pid)
            times["attached"].append(float(program.ask("\n")))
            one.end()
            times["after"].append(float(program.ask("\n")))
    return times


def main() -> None:
    """Runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cycles", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--output", type=Path, default=project / "bench/results")
    options = parser.parse_args()
    stops: dict[str, Any] = {}
    for name, threads, is_busy, count in (
        ("8 threads, busy", 8, True, options.cycles),
        ("8 threads, waiting", 8, False, options.cycles),
        ("500 threads, waiting", 500, False, max(1, options.cycles // 10)),
    ):
        stops[name] = server_cycles(options.build, threads, count, is_busy)
        print(name, sorted(stops[name]["attach_ns"])[count // 2], stops[name]["exit_code"], flush=True)
    if shutil.which("redis-server"):
        stops["redis-server under load"] = redis_cycles(options.build, options.cycles)
    with tempfile.TemporaryDirectory() as temporary:
        pairs = Path(temporary) / "pairs"
        subprocess.run(
            ["g++", "-O2", "-fno-builtin", project / "bench/attach/pairs.cpp", "-o", pairs],
            check=True,
            timeout=60,
        )
        times = pair_times(options.build, pairs, options.rounds)
    document = {
        "schema": "heapwright.bench.attach/1",
        "machine": machine.describe(),
        "sources": sources.stamp("attach"),
        "stops": stops,
        "pair_ns": times,
    }
    (options.output / "attach.json").write_text(json.dumps(document) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
