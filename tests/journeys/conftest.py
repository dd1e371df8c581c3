# SPDX-License-Identifier: MIT
"""Records target programs and reads their traces back by a reader of the tests' own."""

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from time_limit import pytest_runtest_protocol

__all__ = ["pytest_runtest_protocol"]

project = Path(__file__).resolve().parents[2]
build = Path(os.environ.get("HEAPWRIGHT_BUILD", project / "build/release"))
programs = build / "programs"
collector = build / "bin/heapwright-collect"
command = Path(os.environ.get("HEAPWRIGHT_COMMAND", project / ".venv/bin/heapwright"))

end_exited, end_killed, end_replaced, end_size, end_duration, end_write_failed = 1, 2, 3, 4, 5, 6
end_recorder_lost, end_still_running = 8, 9


@dataclass
class Trace:
    """What `dump_trace` says about one file."""

    path: Path
    facts: dict[str, Any]

    def count(self, group: str, kind: str, size: int) -> int:
        return sum(n for k, s, n in self.facts[group] if k == kind and s == size)

    def problems(self) -> list[str]:
        """Why this trace is not a whole and consistent record; empty when it is."""
        wrong = []
        for name in ("gaps", "backward", "reused_live", "damage", "dropped"):
            if self.facts[name]:
                wrong.append(f"{name}: {self.facts[name]}")
        if self.facts["end_reason"] == 0:
            wrong.append("no end mark")
        if self.facts["end_events"] != self.facts["events"]:
            wrong.append(f"{self.facts['events']} events, the end mark says {self.facts['end_events']}")
        return wrong


@dataclass
class Recording:
    status: int
    output: str
    errors: str
    folder: Path
    said: list[list[str]] = field(default_factory=list)

    def paths(self) -> list[Path]:
        return sorted(self.folder.glob("*.heapwright"))

    def traces(self) -> list[Trace]:
        return [read_trace(path) for path in self.paths()]

    def trace(self) -> Trace:
        found = self.paths()
        assert len(found) == 1, (found, self.errors)
        return read_trace(found[0])

    def note(self, word: str) -> int:
        return next(int(line[2]) for line in self.said if line[:2] == ["note", word])


def read_trace(path: Path, size_of_interest: int = 0) -> Trace:
    dump = [programs / "dump_trace", path, str(size_of_interest)]
    result = subprocess.run(dump, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stderr
    return Trace(path, json.loads(result.stdout))


def differences(said: Sequence[list[str]], traces: Sequence[Trace]) -> list[str]:
    """Where the program's own account and its traces disagree."""
    wrong = []
    wanted: Counter[tuple[str, ...]] = Counter()
    for line in said:
        if line[0] in ("allocated", "failed", "released"):
            wanted[(line[0], line[2], " ".join(line[3:]))] += int(line[1])
        elif line[0] == "called":
            wanted[("called", "", " ".join(line[2:]))] += int(line[1])
        elif line[0] == "failed_check":
            wrong.append("the program's own check failed: " + " ".join(line))
    for (group, size, kind), count in wanted.items():
        if group == "called":
            seen = sum(t.facts["called"].get(kind, 0) for t in traces)
        else:
            seen = sum(t.count(group, kind, int(size)) for t in traces)
        if seen != count:
            wrong.append(f"{kind} {size}: {group} {count} times, the trace has {seen}")
    return wrong


def find_child(parent: int, name: str) -> int:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        for child in children:
            if _name_of(child) == name[:15]:
                return int(child)
        time.sleep(0.002)
    raise AssertionError(f"{name} did not start")


def _name_of(process: str) -> str:
    with suppress(FileNotFoundError, ProcessLookupError):  # it may just have ended
        return Path(f"/proc/{process}/comm").read_text().strip()
    return ""


Record = Callable[..., Recording]


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    for path in (collector, programs / "dump_trace"):
        if not path.exists():
            pytest.exit(f"{path} is missing; run 'make build TESTS=ON'", 2)


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """record("program", "argument", options=["--children"]) runs a target program under the collector."""

    def run(
        program: str | Path,
        *arguments: object,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        seconds: int = 120,
    ) -> Recording:
        folder = tmp_path / "traces"
        folder.mkdir(exist_ok=True)
        target = programs / program if isinstance(program, str) and "/" not in program else program
        line = [collector, "--output", folder / "%e.%p.heapwright", *options, "--", target, *arguments]
        result = subprocess.run(
            [str(part) for part in line],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=seconds,
            env={**os.environ, **(environment or {})},
        )
        said = [row.split() for row in result.stdout.splitlines() if row.strip()]
        return Recording(result.returncode, result.stdout, result.stderr, folder, said)

    return run
