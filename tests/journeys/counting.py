# SPDX-License-Identifier: MIT
"""Programs that run with counting, by the command or by the library alone."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import jsonschema
from conftest import build, collector, command
from heapwright.cli import schemas

library = build / "lib/libheapwright-count.so"
folder = Path("/dev/shm")

Counted = dict[str, Any]

# The command takes the library of this build.
environment = {**os.environ, "HEAPWRIGHT_BIN": str(collector.parent)}


def count(*line: object, prefix: tuple[str, ...] = (), seconds: int = 120) -> Counted:
    """The document that count writes."""
    target = [*prefix, str(command), "count", "--json", "--", *map(str, line)]
    result = subprocess.run(
        target, capture_output=True, text=True, check=False, timeout=seconds, env=environment
    )
    assert result.stdout, result.stderr
    return checked(result.stdout.splitlines()[-1])


def checked(text: str) -> Counted:
    """The document of count or top, which is as its schema says."""
    document: Counted = json.loads(text)
    command = document["schema"].removeprefix("heapwright.").removesuffix("/1")
    jsonschema.validate(document, schemas.of(command))
    return document


def only(document: Counted) -> Counted:
    assert len(document["processes"]) == 1, document
    process: Counted = document["processes"][0]
    return process


class Running:
    """A process that counts, without a keeper."""

    def __init__(self, *line: object) -> None:
        variables = {**os.environ, "LD_PRELOAD": str(library)}
        self.process = subprocess.Popen(
            [str(part) for part in line], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.path = folder / f"heapwright-{self.process.pid}.calls"
        deadline = time.monotonic() + 20
        while not self.is_made() and time.monotonic() < deadline:
            time.sleep(0.01)

    def is_made(self) -> bool:
        """The first word of a page is written last."""
        return self.path.exists() and any(self.path.read_bytes()[:8])

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def parent_of(process: int) -> int:
    """0: it is gone, perhaps since its file was opened."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def ask(*line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(command), *line], capture_output=True, text=True, check=False, timeout=60, env=environment
    )
