#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording a process that runs costs: how long it stands still, a pair of calls beside it.

OUTPUT/record_process.json keeps all values. Runs on any machine; an idle one gives the shortest times.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
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

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


class Recorded:
    """heapwright-collect --pid, from the attachment on."""

    def __init__(self, build: Path, process: int, folder: Path) -> None:
        self.summary = folder / "summary.json"
        trace = folder / "trace.heapwright"
        line = [build / "bin/heapwright-collect", "--pid", str(process), "--force", "--output", trace]
        self.process = subprocess.Popen([*line, "--summary", self.summary], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.process.stderr.readline()

    def end(self) -> dict[str, Any]:
        """Its summary."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()
        found: dict[str, Any] = json.loads(self.summary.read_text(encoding="utf-8"))
        return found


def cycles(build: Path, folder: Path, process: int, count: int) -> dict[str, Any]:
    """So many recordings, each of a tenth of a second."""
    found: dict[str, Any] = {"attach_ns": [], "detach_ns": [], "events": 0, "dropped": 0}
    for _ in range(count):
        one = Recorded(build, process, folder)
        time.sleep(0.1)
        told = one.end()
        found["attach_ns"].append(told["attach"]["stopped_ns"])
        found["detach_ns"].append(told["detach"]["stopped_ns"])
        found["events"] += sum(file["events"] for file in told["files"])
        found["dropped"] += sum(file["dropped"] for file in told["files"])
    return found


def server_cycles(build: Path, folder: Path, count: int, is_busy: bool) -> dict[str, Any]:
    """Of a server of 8 threads; its exit code says whether it lost a request."""
    with Program(build / "programs/steady_server", 8) as server:
        server.ask("pause\n")
        if is_busy:
            server.tell("go\n")
        found = cycles(build, folder, server.pid, count)
        server.ask("pause\n")
        server.tell("quit\n")
        return found | {"exit_code": server.process.wait()}


def redis_cycles(build: Path, folder: Path, count: int) -> dict[str, Any]:
    """Of a redis-server under load."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with Program("redis-server", "--port", port, "--save", "") as redis:
        time.sleep(0.5)
        load = ["redis-benchmark", "-p", port, "-c", "20", "-t", "set,get", "-l", "-q"]
        with subprocess.Popen(load, stdout=subprocess.DEVNULL) as client:
            time.sleep(0.5)
            found = cycles(build, folder, redis.pid, count)
            is_alive = redis.process.poll() is None and client.poll() is None
            client.terminate()
    return found | {"exit_code": 0 if is_alive else 1}


def pair_times(build: Path, folder: Path, rounds: int) -> dict[str, list[float]]:
    """A pair's time in one process: before, while it is recorded, and after."""
    pairs = folder / "pairs"
    line = ["g++", "-O2", "-fno-builtin", project / "bench/attach/pairs.cpp", "-o", pairs]
    subprocess.run(line, check=True, timeout=60)
    times: dict[str, list[float]] = {"before": [], "recorded": [], "after": []}
    with Program(pairs) as program:
        for _ in range(rounds):
            times["before"].append(float(program.ask("\n")))
        for _ in range(rounds):
            one = Recorded(build, program.pid, folder)
            times["recorded"].append(float(program.ask("\n")))
            one.end()
            times["after"].append(float(program.ask("\n")))
    return times


def main() -> None:
    """Runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--output", type=Path, default=project / "bench/results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        stops = {
            "8 threads, busy": server_cycles(options.build, folder, options.cycles, True),
            "8 threads, waiting": server_cycles(options.build, folder, options.cycles, False),
        }
        if shutil.which("redis-server"):
            stops["redis-server under load"] = redis_cycles(options.build, folder, options.cycles)
        times = pair_times(options.build, folder, options.rounds)
    document = {
        "schema": "heapwright.bench.record_process/1",
        "machine": machine.describe(),
        "sources": sources.stamp("record_process"),
        "stops": stops,
        "pair_ns": times,
    }
    (options.output / "record_process.json").write_text(json.dumps(document) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
