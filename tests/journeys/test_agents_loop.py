# SPDX-License-Identifier: MIT
"""The loop of docs/agents.md over --json alone: a planted creep is recorded, decided on, mended, proven and kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import collector, command, project
from heapwright.cli import schemas

sys.path.append(str(project / "bench/agents"))
import decide

pytestmark = pytest.mark.full

MENDED = ("-DMENDED=1", "-DMENDED=2")  # the journey's server without and with its pool mended


class Loop:
    """Runs commands in a folder; what they print has to be as their schema says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def build(self, name: str, *options: str) -> None:
        line = ["c++", "-std=c++20", "-O2", "-g", f"-I{project / 'include'}", *options]
        source = project / "examples/journey/server.cpp"
        subprocess.run([*line, "-o", name, source], cwd=self.folder, check=True)

    def said(self, *words: str, code: int = 0) -> str:
        """Standard output."""
        environment = {**os.environ, "HEAPWRIGHT_BIN": str(collector.parent)}
        done = subprocess.run(
            [command, *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    def __call__(self, *words: str, code: int = 0) -> dict[str, Any]:
        said = self.said(*words, code=code)
        if words[0] == "record":  # behind what the program says
            said = said[said.index('{"schema"') :]
        found: dict[str, Any] = json.loads(said)
        name = found["schema"].removeprefix("heapwright.").removesuffix("/1")
        jsonschema.validate(found, schemas.of(name))
        return found


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Loop:
    found = Loop(tmp_path_factory.mktemp("loop"))
    found.build("before", MENDED[0])
    found.build("after", MENDED[1])
    return found


def test_the_loop(loop: Loop) -> None:
    recorded = loop("record", "--json", "--force", "--output", "a.heapwright", "--", "./before")
    assert (recorded["exit_code"], recorded["files"][0]["dropped"]) == (0, 0)
    brief = loop("explain", "a.heapwright", "--json", "--brief")
    assert len(json.dumps(brief)) <= 8192
    first = decide.causes(brief)[0]
    assert first.cause == "creep"
    assert "fill" in first.site
    # What the table says, and nothing else: the pool trims what it takes back.
    compared = loop(*"compare --run ./before --run ./after --runs 3 --json".split())
    end = next(row for row in compared["totals"] if row["key"] == "live_at_end_bytes")
    assert (end["verdict"], end["is_exact"]) == ("less", True)
    assert end["difference"] < -15_000_000  # 200 requests of 30,000 ints
    loop.said(*"gate heap.toml --accept --reason pool -- ./after".split())
    assert loop(*"gate heap.toml --json -- ./after".split())["is_within"]
    outside = loop(*"gate heap.toml --json -- ./before".split(), code=1)
    assert "live_at_end_bytes" in {row["figure"] for row in outside["checks"] if row["verdict"] == "over"}


def test_what_else_prints_a_document(loop: Loop) -> None:
    if not (loop.folder / "a.heapwright").exists():
        loop("record", "--json", "--output", "a.heapwright", "--", "./before")
    assert loop("info", "a.heapwright", "--json")["schema"] == "heapwright.info/1"
    rows = loop("sql", "a.heapwright", "select function, allocations from site limit 2", "--json")["rows"]
    assert len(rows) == 2
    exported = loop("export", "a.heapwright", "--to", "folded", "--output", "a.folded", "--json", "--force")
    assert exported["bytes"] == (loop.folder / "a.folded").stat().st_size
    shell = ("sh", "-c", "./before; ./before")
    loop("record", "--json", "--children", "--output", "all.%p.heapwright", "--", *shell)
    session = next(loop.folder.glob("all*.json"), loop.folder)
    assert len(loop("explain", str(session), "--json")["processes"]) == 3
