# SPDX-License-Identifier: MIT
"""Runs the scenarios' programs with and without the recorder, and asks what the recording says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

project = Path(__file__).resolve().parents[2]
heapwright = project / ".venv/bin/heapwright"
CENSUS = Path(__file__).parent / "census.c"

REST_NS = 1_500_000_000  # how long programs sleep before their end

Answer = dict[str, Any]


def notes_of(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"^note (\w+) (\d+)$", text, re.MULTILINE)}


def alone(command: Sequence[str | Path], **environment: str) -> dict[str, int]:
    """What a program says of itself, without the recorder."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return notes_of(done.stdout)


def record(trace: Path, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> str:
    """What the program says meanwhile."""
    line = [heapwright, "record", "--force", "--output", trace, "--", *command]
    done = subprocess.run(
        list(map(str, line)),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **(environment or {})},
    )
    return done.stdout


def explained(trace: Path, *options: str) -> Answer:
    """All questions."""
    line = [heapwright, "explain", trace, "--json", "--top", "40", *options]
    done = subprocess.run(list(map(str, line)), capture_output=True, check=True)
    questions: Answer = json.loads(done.stdout)["questions"]
    return questions


def owner_at_rest(trace: Path) -> tuple[str, int]:
    """The library whose own mappings hold most anonymous memory, and how much, in a program that rests before
    its end."""
    last = explained(trace)["residency"]["moments"][-1]
    questions = explained(trace, "--at", f"{last['time_ns'] - REST_NS // 2}ns")
    libraries = {site["function"]: site["library"] for site in questions["mappings"]["sites"]}
    held: Counter[str] = Counter()
    for owner in questions["residency"]["owners"]:
        if owner["kind"] == "own mapping":
            held[libraries.get(owner["name"], "")] += owner["anonymous_bytes"]
    return held.most_common(1)[0] if held else ("", 0)


def mapper(command: Sequence[str | Path]) -> str:
    """The library that asks the kernel for most anonymous memory, by strace: the first on the stack beside
    the C library and the loader."""
    with tempfile.NamedTemporaryFile() as log:
        line = ["strace", "-f", "--seccomp-bpf", "-k", "-e", "trace=mmap", "-o", log.name, *command]
        subprocess.run(list(map(str, line)), capture_output=True, check=True)
        text = Path(log.name).read_text()
    asked: Counter[str] = Counter()
    waiting = 0
    for line_of_log in text.splitlines():
        call = re.search(r"mmap\(\w+, (\d+), PROT_READ\|PROT_WRITE, \S*MAP_ANONYMOUS", line_of_log)
        frame = re.match(r" > (?:.*/)?([^/(]+)\(", line_of_log)
        if frame is None:
            waiting = int(call[1]) if call else 0
        elif waiting and not frame[1].startswith(("libc.so", "ld-linux")):
            asked[frame[1]] += waiting
            waiting = 0
    return asked.most_common(1)[0][0]


def census(folder: Path) -> dict[str, str]:
    """The environment of a run without the recorder that says at its end what is free in its heap."""
    library = folder / "census.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, CENSUS], check=True)
    place = folder / "census"
    place.mkdir()
    place.chmod(0o777)  # some programs give up root
    return {"LD_PRELOAD": str(library), "CENSUS": str(place / "notes")}


class started:  # noqa: N801 - reads as a phrase
    """A server from when its socket is there to its end; recorded unless trace is None."""

    def __init__(
        self,
        trace: Path | None,
        command: Sequence[str | Path],
        socket: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        recording = [heapwright, "record", "--force", "--output", trace, "--"] if trace else []
        self.socket = socket
        self.process = subprocess.Popen(
            list(map(str, [*recording, *command])),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )

    def __enter__(self) -> started:
        deadline = time.monotonic() + 60
        while not self.socket.exists():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit(f"{self.socket}: the server did not start")
            time.sleep(0.05)
        return self

    def pid(self, name: str) -> int:
        waiting = [self.process.pid]
        while waiting:
            pid = waiting.pop()
            if Path(f"/proc/{pid}/comm").read_text().strip().startswith(name):
                return pid
            waiting += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        raise SystemExit(f"no process {name}")

    def send(self, name: str, signal: int = 15) -> None:
        os.kill(self.pid(name), signal)

    def __exit__(self, *_: object) -> None:
        self.process.wait(120)


def anonymous(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^RssAnon:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


POSTGRES = "/usr/lib/postgresql/15/bin"
QUERIES = (
    "set work_mem = '64MB'; "
    "select count(*) from (select i, md5(i::text) m from generate_series(1, 400000) i order by m) q\n"
)


class Postgres:
    """One backend that sorts three times, then rests for a second."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        data = folder / "data"
        folder.chmod(0o755)
        data.mkdir()
        shutil.chown(data, "nobody")
        as_nobody = ["setpriv", "--reuid", "nobody", "--clear-groups"]
        subprocess.run(
            [*as_nobody, f"{POSTGRES}/initdb", "-D", data, "-A", "trust"], capture_output=True, check=True
        )
        self.line = [*as_nobody, f"{POSTGRES}/postgres", "--single", "-D", str(data), "postgres"]

    def record(self) -> Path:
        traces = self.folder / "traces"
        traces.mkdir()
        traces.chmod(0o777)
        self._sort(
            [heapwright, "record", "--force", "--output", traces / "%p.heapwright", "--", *self.line], {}
        )
        return max(traces.glob("*.heapwright"), key=lambda path: path.stat().st_size)

    def alone(self, environment: Mapping[str, str]) -> dict[str, int]:
        """Its page faults, and what it keeps at rest."""
        return self._sort(self.line, environment)

    def _sort(self, line: Sequence[str | Path], environment: Mapping[str, str]) -> dict[str, int]:
        server = subprocess.Popen(
            list(map(str, line)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write((QUERIES * 3 + "select 'at' || 'rest'\n").encode())
        server.stdin.flush()
        for said in server.stdout:
            if b"atrest" in said:
                break
        else:
            raise SystemExit("postgres ended before it had sorted")
        time.sleep(1)
        fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
        figures = {"faults": int(fields[7]), "resident": anonymous(server.pid)}
        server.stdin.close()
        server.stdout.read()
        server.wait(120)
        return figures
