# SPDX-License-Identifier: MIT
"""Processes that run and are recorded, and whether a trace has what steady_server called."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from attaching import Server
from conftest import Trace, command, read_trace
from counting import environment

names = {
    "malloc": ("malloc",),
    "calloc": ("calloc",),
    "realloc": ("realloc",),
    "aligned": ("posix_memalign", "aligned_alloc", "memalign"),
}


class Recording:
    """heapwright record --pid, from the attachment on."""

    def __init__(self, process: int, path: Path, *options: str) -> None:
        self.path = path
        self.recorder = subprocess.Popen(
            [str(command), "record", "--pid", str(process), "--output", str(path), "--json", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self.recorder.stderr is not None
        self.said = self.recorder.stderr.readline()
        assert "stopped for" in self.said, self.said + self.recorder.stderr.read()

    def attacher(self) -> int:
        pid = self.recorder.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())

    def wait(self) -> dict[str, Any]:
        output, errors = self.recorder.communicate(timeout=60)
        assert self.recorder.returncode == 0, errors
        summary: dict[str, Any] = json.loads(output)
        return summary

    def end(self) -> Trace:
        """By Ctrl-C."""
        self.recorder.send_signal(signal.SIGINT)
        self.wait()
        return read_trace(self.path)


def check_equal(trace: Trace, before: dict[str, int], after: dict[str, int]) -> None:
    truth = {name: after[name] - before[name] for name in after}
    assert truth["answered"] > 100
    assert trace.problems() == []
    called = trace.facts["called"]
    for name, kinds in names.items():
        extra = truth["failed"] if name == "malloc" else 0  # of a new that fails
        assert sum(called.get(kind, 0) for kind in kinds) == truth[name] + extra, (name, called, truth)
    assert called["operator new"] == truth["new"]
    assert called["free"] + called["operator delete"] == truth["free"] + truth["delete"] + truth["null"]
    assert sum(count for _, _, count in trace.facts["failed"]) == truth["failed"] > 0
    assert trace.facts["null_frees"] == truth["null"]
    assert trace.facts["unknown_releases"] == 0
    assert trace.facts["live_blocks"] == 0
    assert trace.facts["no_stack"] <= called["free"] + called["operator delete"]


def run_for(server: Server, seconds: float) -> dict[str, int]:
    server.go()
    time.sleep(seconds)
    return server.pause()
