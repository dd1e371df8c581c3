#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What becomes of a process when heapwright-attach is killed by -9 at any moment of an attach.

The moments are even over the first milliseconds of heapwright-attach. OUTPUT/killed.json keeps how many
processes ended with it; their share of the span is how long an attach is dangerous.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

THREADS = 6
# By what the process does: until the attach is over, most often.
SPANS_MS = {"waiting": 30.0, "busy": 200.0}


class Server:
    """steady_server, with threads that wait or that are busy."""

    def __init__(self, build: Path, is_busy: bool) -> None:
        self.process = subprocess.Popen(
            [build / "programs/steady_server", str(THREADS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("pause\n")
        self.process.stdin.flush()
        self.process.stdout.readline()
        if is_busy:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()

    def has_ended(self) -> bool:
        """Of what it was left in: soon, or not at all."""
        time.sleep(0.02)
        return self.process.poll() is not None


def kill_one(build: Path, server: Server, after_s: float) -> bool:
    """Whether the server ended."""
    attacher = subprocess.Popen(
        [build / "bin/heapwright-attach", str(server.process.pid)],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(after_s)
    attacher.send_signal(signal.SIGKILL)
    attacher.communicate()
    return server.has_ended()


def main() -> None:
    """Kills, and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=400)
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    chance = random.Random(1)
    found: dict[str, Any] = {}
    for name, span_ms in SPANS_MS.items():
        ended = 0
        server = Server(options.build, name == "busy")
        for _ in range(options.kills):
            if kill_one(options.build, server, chance.uniform(0, span_ms) / 1000):
                ended += 1
                server = Server(options.build, name == "busy")
        server.process.kill()
        Path(f"/dev/shm/heapwright-{server.process.pid}.calls").unlink(missing_ok=True)
        found[name] = {"kills": options.kills, "ended": ended, "span_ms": span_ms}
        print(name, found[name], flush=True)
    document = {
        "schema": "heapwright.bench.killed/1",
        "machine": machine.describe(),
        "sources": sources.stamp("killed"),
        "threads": THREADS,
        "processes": found,
    }
    (options.output / "killed.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
