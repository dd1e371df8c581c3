#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What attaching costs: how long a process stands still, and a pair of calls before, meanwhile and after.

By heapwright-attach, which counts (OUTPUT/attach.json), and by a recording of the process
(OUTPUT/record_process.json). Both keep all values. An idle machine gives the shortest times.
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

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


class Attachment(Protocol):
    """A process that is attached to, until end()."""

    def end(self) -> dict[str, int]:
        """What it measured, by name."""


class Counting:
    """heapwright-attach, from the attachment on."""

    def __init__(self, build: Path, process: int) -> None:
        self.attacher = Program(build / "bin/heapwright-attach", process)
        self.page = Path(f"/dev/shm/heapwright-{process}.calls")
        self.attached: dict[str, int] = json.loads(self.attacher.ask(""))

    def end(self) -> dict[str, int]:
        """The stops of both ends."""
        process = self.attacher.process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        detached = json.loads(process.stdout.readline())
        process.wait()
        process.stdout.close()
        self.page.unlink()
        return {
            "attach_ns": self.attached["stopped_ns"],
            "detach_ns": detached["stopped_ns"],
            "stops": self.attached["stops"],
        }


class Recording:
    """heapwright-collect --pid, from the attachment on."""

    def __init__(self, build: Path, process: int, folder: Path, *options: str) -> None:
        self.summary = folder / "summary.json"
        trace = folder / "trace.heapwright"
        line = [
            build / "bin/heapwright-collect",
            "--pid",
            str(process),
            "--force",
            "--output",
            trace,
            *options,
        ]
        self.process = subprocess.Popen([*line, "--summary", self.summary], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.process.stderr.readline()

    def end(self) -> dict[str, int]:
        """The stops of both ends, and the calls recorded and lost."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()
        found = json.loads(self.summary.read_text(encoding="utf-8"))
        return {
            "attach_ns": found["attach"]["stopped_ns"],
            "detach_ns": found["detach"]["stopped_ns"],
            "events": sum(file["events"] for file in found["files"]),
            "dropped": sum(file["dropped"] for file in found["files"]),
        }


@dataclass(frozen=True)
class Way:
    """A way to attach; each attachment lasts so long."""

    name: str
    attach: dict[str, Callable[[int], Attachment]]  # by what the process is meanwhile; the first one's stops
    lasts_s: float
    servers: tuple[tuple[int, bool, int], ...]  # threads, is busy, cycles
    redis_cycles: int


def cycles(way: Way, process: int, count: int) -> dict[str, list[int]]:
    """So many attachments."""
    found: dict[str, list[int]] = {}
    for _ in range(count):
        one = next(iter(way.attach.values()))(process)
        time.sleep(way.lasts_s)
        for name, value in one.end().items():
            found.setdefault(name, []).append(value)
    return found


def server_cycles(build: Path, way: Way, threads: int, is_busy: bool, count: int) -> dict[str, Any]:
    """Of a server of so many threads; its exit code says whether it lost a request."""
    with Program(build / "programs/steady_server", threads) as server:
        server.ask("pause\n")
        if is_busy:
            server.tell("go\n")
        found = cycles(way, server.pid, count)
        answered = json.loads(server.ask("pause\n"))["answered"]
        server.tell("quit\n")
        return found | {"exit_code": server.process.wait(), "answered": answered}


def redis_cycles(way: Way) -> dict[str, Any]:
    """Of a redis-server under load."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with Program("redis-server", "--port", port, "--save", "") as redis:
        time.sleep(0.5)
        load = ["redis-benchmark", "-p", port, "-c", "20", "-t", "set,get", "-l", "-q"]
        with subprocess.Popen(load, stdout=subprocess.DEVNULL) as client:
            time.sleep(0.5)
            found = cycles(way, redis.pid, way.redis_cycles)
            is_alive = redis.process.poll() is None and client.poll() is None
            client.terminate()
    return found | {"exit_code": 0 if is_alive else 1}


def pair_times(way: Way, pairs: Path, rounds: int) -> dict[str, list[float]]:
    """A pair's time in one process: before, while it is attached to, and after."""
    times: dict[str, list[float]] = {name: [] for name in ("before", *way.attach, "after")}
    with Program(pairs) as program:
        for _ in range(rounds):
            times["before"].append(float(program.ask("\n")))
        for _ in range(rounds):
            for state, attach in way.attach.items():
                one = attach(program.pid)
                times[state].append(float(program.ask("\n")))
                one.end()
            times["after"].append(float(program.ask("\n")))
    return times


def measure(build: Path, way: Way, pairs: Path, rounds: int) -> dict[str, Any]:
    """The document of one way."""
    stops: dict[str, Any] = {}
    for threads, is_busy, count in way.servers:
        name = f"{threads} threads, {'busy' if is_busy else 'waiting'}"
        stops[name] = server_cycles(build, way, threads, is_busy, count)
        print(way.name, name, sorted(stops[name]["attach_ns"])[count // 2], flush=True)
    if shutil.which("redis-server"):
        stops["redis-server under load"] = redis_cycles(way)
    return {
        "schema": f"heapwright.bench.{way.name}/1",
        "machine": machine.describe(),
        "sources": sources.stamp(way.name),
        "stops": stops,
        "pair_ns": pair_times(way, pairs, rounds),
    }


def ways(build: Path, folder: Path, share: float) -> list[Way]:
    """Both; share: of the usual number of cycles."""

    def times(count: int) -> int:
        return max(1, round(count * share))

    return [
        Way(
            "attach",
            {"attached": lambda process: Counting(build, process)},
            0.01,
            ((8, True, times(500)), (8, False, times(500)), (500, False, times(50))),
            times(500),
        ),
        Way(
            "record_process",
            {
                "recorded": lambda process: Recording(build, process, folder),
                "sampled, 512k": lambda process: Recording(build, process, folder, "--sample", "512k"),
            },
            0.1,
            ((8, True, times(100)), (8, False, times(100))),
            times(100),
        ),
    ]


def main() -> None:
    """Runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--share", type=float, default=1, help="of the usual number of cycles")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        pairs = Path(temporary) / "pairs"
        compiler = ["g++", "-O2", "-fno-builtin", project / "bench/attach/pairs.cpp", "-o", pairs]
        subprocess.run(compiler, check=True, timeout=60)
        for way in ways(options.build, Path(temporary), options.share):
            document = measure(options.build, way, pairs, options.rounds)
            path = options.output / f"{way.name}.json"
            path.write_text(json.dumps(document) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
