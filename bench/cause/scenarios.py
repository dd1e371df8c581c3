# SPDX-License-Identifier: MIT
# length: the scenarios side by side, each with its own truth
"""Programs whose cause is known, and what tells it without the recorder: the same run with a remedy, or the
allocator's own account."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heapwright.explain.cause_kinds import FREE

project = Path(__file__).resolve().parents[2]
heapwright = project / ".venv/bin/heapwright"
python = project / ".venv/bin/python"
keeps_memory = project / "build/release/programs/keeps_memory"
MEBIBYTE = 1 << 20
CENSUS = Path(__file__).parent / "census.c"

Answer = dict[str, Any]

WRITER = """
import pyarrow, pyarrow.parquet
table = pyarrow.table({'a': list(range(5_000_000)), 'b': [str(i) for i in range(5_000_000)]})
pyarrow.parquet.write_table(table, FILE)
"""
ARRAYS = """
import ctypes, threading, time, numpy
def resident():
    line = next(l for l in open('/proc/self/status') if l.startswith('RssAnon'))
    return int(line.split()[1]) * 1024
first = numpy.ones(1 << 20); del first
def cycle(kept):
    for size in range(8):
        array = numpy.ones((4 + size) << 17); kept.append(bytearray(600)); del array
kept = []
threads = [threading.Thread(target=cycle, args=(kept,)) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
time.sleep(1.5)
print('note resident', resident())
ctypes.CDLL(None).malloc_trim(0)
print('note trimmed', resident())
"""
PARQUET = """
import time, pyarrow, pyarrow.parquet
table = pyarrow.parquet.read_table(FILE) if FILE else None
time.sleep(1.5)
print('note pool', pyarrow.total_allocated_bytes())
"""


class Truth(NamedTuple):
    """One figure: what was said, and what was found without the recorder."""

    what: str
    said_bytes: int
    real_bytes: int
    is_bound: bool = False  # said as "at most"


class Scenario(NamedTuple):
    """real: the cause, known from how the program is made. right: verdicts with their kinds that name it."""

    name: str
    real: str
    right: tuple[tuple[str, str], ...]
    run: Callable[[Path], tuple[Answer, list[Truth]]]


def notes_of(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"^note (\w+) (\d+)$", text, re.MULTILINE)}


def alone(command: Sequence[str | Path], **environment: str) -> dict[str, int]:
    """What a program says of itself, without the recorder."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return notes_of(done.stdout)


def record(trace: Path, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
    line = [heapwright, "record", "--force", "--output", trace, "--", *command]
    subprocess.run(
        list(map(str, line)), capture_output=True, check=True, env={**os.environ, **(environment or {})}
    )


def explained(trace: Path) -> Answer:
    done = subprocess.run([heapwright, "explain", trace, "--json"], capture_output=True, check=True)
    answer: Answer = json.loads(done.stdout)["questions"]["cause"]
    answer["bytes_of"] = {row["kind"]: row["bytes"] for row in answer["kinds"]}
    answer["by_remedy"] = {row["kind"]: row for row in answer["remedies"]}
    return answer


def remedy_bytes(answer: Answer, kind: str) -> int:
    return int(answer["by_remedy"].get(kind, {}).get("bytes") or 0)


def trimmed(answer: Answer, command: Sequence[str | Path]) -> Truth:
    said = alone(command)
    gain = max(0, said["resident"] - said["trimmed"])
    return Truth("given back by malloc_trim(0)", answer["trimmable_bytes"], gain, True)


def kept(mode: str) -> Callable[[Path], tuple[Answer, list[Truth]]]:
    def run(folder: Path) -> tuple[Answer, list[Truth]]:
        record(folder / "t", [keeps_memory, mode])
        answer = explained(folder / "t")
        truths = [trimmed(answer, [keeps_memory, mode])]
        here = alone([keeps_memory, mode])["resident"]
        if mode == "pinned":
            real = here - alone([keeps_memory, "apart"])["resident"]
            site = answer["sites"][0]
            truths.append(Truth(f"{site['function']} in a heap of its own", site["saves_most_bytes"], real))
        if mode == "threshold":
            fixed = alone([keeps_memory, mode], MALLOC_MMAP_THRESHOLD_="131072")["resident"]
            truths.append(
                Truth("MALLOC_MMAP_THRESHOLD_", remedy_bytes(answer, "threshold"), here - fixed, True)
            )
        if mode == "arenas":
            fewer = alone([keeps_memory, mode], MALLOC_ARENA_MAX="1")["resident"]
            truths.append(Truth("MALLOC_ARENA_MAX=1", remedy_bytes(answer, "arenas"), here - fewer, True))
        return answer, truths

    return run


def arrays(folder: Path) -> tuple[Answer, list[Truth]]:
    command = [python, "-c", ARRAYS]
    record(folder / "t", command)
    answer = explained(folder / "t")
    here = alone(command)["resident"]
    fixed = alone(command, MALLOC_MMAP_THRESHOLD_="131072")["resident"]
    fewer = alone(command, MALLOC_ARENA_MAX="1")["resident"]
    return answer, [
        trimmed(answer, command),
        Truth("MALLOC_MMAP_THRESHOLD_", remedy_bytes(answer, "threshold"), here - fixed, True),
        Truth("MALLOC_ARENA_MAX=1", remedy_bytes(answer, "arenas"), here - fewer, True),
    ]


def parquet(folder: Path) -> tuple[Answer, list[Truth]]:
    file = repr(str(folder / "file.parquet"))
    subprocess.run([python, "-c", WRITER.replace("FILE", file)], check=True)
    record(folder / "t", [python, "-c", PARQUET.replace("FILE", file)])
    answer = explained(folder / "t")
    record(folder / "idle", [python, "-c", PARQUET.replace("FILE", "''")])
    said = answer["bytes_of"]["others"] - explained(folder / "idle")["bytes_of"]["others"]
    pool = alone([python, "-c", PARQUET.replace("FILE", file)])["pool"]
    return answer, [Truth("in pyarrow's pool (not the heap's, less the same of an idle run)", said, pool)]


def census(folder: Path) -> dict[str, str]:
    """The environment of a run without the recorder that says at its end what is free in its heap."""
    library = folder / "census.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, CENSUS], check=True)
    place = folder / "census"
    place.mkdir()
    place.chmod(0o777)  # some programs give up root
    return {"LD_PRELOAD": str(library), "CENSUS": str(place / "notes")}


def free_at_end(answer: Answer, folder: Path) -> Truth:
    """Beside what the census wrote."""
    said = sum(row["at_end_bytes"] for row in answer["kinds"] if row["kind"] in FREE)
    real = notes_of((folder / "census/notes").read_text())["free"]
    return Truth("free in the heap at the end (smaps less mallinfo2)", said, real)


def sqlite(folder: Path) -> tuple[Answer, list[Truth]]:
    command: list[str | Path] = ["sqlite3", ":memory:", f".read {project / 'examples/orders.sql'}"]
    record(folder / "t", command)
    alone(command, **census(folder))
    answer = explained(folder / "t")
    return answer, [free_at_end(answer, folder)]


def nginx(folder: Path) -> tuple[Answer, list[Truth]]:
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/error; events {{}}\n"
        f"http {{ access_log off; server {{ listen unix:{folder}/socket; return 200 ok; }} }}\n"
    )
    for preload in ({}, census(folder)):
        trace = None if preload else folder / "t"
        with started(trace, ["nginx", "-c", configuration], folder / "socket", preload) as server:
            for _ in range(200):
                subprocess.run(
                    ["curl", "-s", "--unix-socket", folder / "socket", "http://x/"],
                    capture_output=True,
                    check=True,
                )
            server.send("nginx")
    answer = explained(folder / "t")
    return answer, [free_at_end(answer, folder)]


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

    def send(self, name: str) -> None:
        os.kill(self.pid(name), 15)

    def __exit__(self, *_: object) -> None:
        self.process.wait(120)


def redis(folder: Path) -> tuple[Answer, list[Truth]]:
    socket = folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]

    def ask(*words: str, text: str = "") -> str:
        done = subprocess.run(
            ["redis-cli", "-s", str(socket), *words], input=text, capture_output=True, text=True, check=True
        )
        return done.stdout

    script = (
        "for i = 1, 400000 do redis.call('set', 'key:' .. i, string.rep('x', 20 + (i * 7919) % 400)) end\n"
        "for i = 1, 400000 do if (i * 104729) % 10 ~= 0 then redis.call('del', 'key:' .. i) end end\n"
        "for i = 1, 20000 do redis.call('set', 'other:' .. i, string.rep('y', 500)) end\n"
    )
    with started(folder / "t", command, socket) as server:
        ask("--eval", "/dev/stdin", text=script)
        time.sleep(1.5)
        fields = dict(re.findall(r"^(allocator_\w+):(\d+)\r?$", ask("info", "memory"), re.MULTILINE))
        before = _anonymous(server.pid("redis"))
        ask("memory", "purge")
        purged = before - _anonymous(server.pid("redis"))
        ask("shutdown", "nosave")
    answer = explained(folder / "t")
    beside = int(fields["allocator_active"]) - int(fields["allocator_allocated"])
    return answer, [
        Truth("free beside live blocks (active less allocated)", answer["bytes_of"]["scattered"], beside),
        Truth("given back by MEMORY PURGE", remedy_bytes(answer, "decay"), purged, True),
    ]


def _anonymous(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^RssAnon:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


POSTGRES = "/usr/lib/postgresql/15/bin"
QUERIES = (
    "set work_mem = '64MB'; "
    "select count(*) from (select i, md5(i::text) m from generate_series(1, 400000) i order by m) q\n"
)


def postgres(folder: Path) -> tuple[Answer, list[Truth]]:
    data = folder / "data"
    folder.chmod(0o755)
    data.mkdir()
    shutil.chown(data, "nobody")
    as_nobody = ["setpriv", "--reuid", "nobody", "--clear-groups"]
    subprocess.run(
        [*as_nobody, f"{POSTGRES}/initdb", "-D", data, "-A", "trust"], capture_output=True, check=True
    )
    line = [*as_nobody, f"{POSTGRES}/postgres", "--single", "-D", str(data), "postgres"]
    traces = folder / "traces"
    traces.mkdir()
    traces.chmod(0o777)
    recording = [heapwright, "record", "--force", "--output", traces / "%p.heapwright", "--", *line]
    _sort(recording, {})
    _sort(line, census(folder))
    trace = max(traces.glob("*.heapwright"), key=lambda path: path.stat().st_size)
    answer = explained(trace)
    return answer, [free_at_end(answer, folder)]


def _sort(line: Sequence[str | Path], environment: Mapping[str, str]) -> None:
    done = subprocess.Popen(
        list(map(str, line)),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    assert done.stdin is not None
    done.stdin.write((QUERIES * 3).encode())
    done.stdin.flush()
    time.sleep(12)
    done.stdin.close()
    done.wait(120)


SCENARIOS = (
    Scenario(
        "S16: one survivor on each page",
        "the pages of one site's survivors",
        (("fragmented", "scattered"),),
        kept("pinned"),
    ),
    Scenario(
        "one site makes what stays and what goes",
        "survivors at random over the heap",
        (("fragmented", "scattered"), ("fragmented", "untrimmed")),
        kept("mixed"),
    ),
    Scenario(
        "a large free, then large blocks", "mmap threshold", (("fragmented", "threshold"),), kept("threshold")
    ),
    Scenario("six threads' arenas", "arenas", (("fragmented", "arenas"),), kept("arenas")),
    Scenario("S2: numpy arrays in eight threads", "mmap threshold", (("fragmented", "threshold"),), arrays),
    Scenario(
        "S4: redis-server, 90 % deleted (jemalloc)",
        "survivors in every slab",
        (("fragmented", "scattered"),),
        redis,
    ),
    Scenario(
        "S7: postgres, sorts in one backend",
        "nothing kept: sorts map and unmap",
        (("nothing", ""),),
        postgres,
    ),
    Scenario("S13: sqlite3, examples/orders.sql", "nothing", (("nothing", ""),), sqlite),
    Scenario("S13: nginx, 200 requests", "nothing", (("nothing", ""),), nginx),
    Scenario("S14: pyarrow reads Parquet", "pyarrow's own allocator", (("elsewhere", "others"),), parquet),
)


def run(scenario: Scenario) -> Answer:
    """The scenario's row: the verdict, and each figure beside its truth."""
    with tempfile.TemporaryDirectory(prefix="heapwright-cause-") as folder:
        began = time.monotonic()
        answer, truths = scenario.run(Path(folder))
    return {
        "name": scenario.name,
        "real": scenario.real,
        "verdict": answer["verdict"],
        "cause": answer["cause"],
        "is_right": (answer["verdict"], answer["cause"]) in scenario.right,
        "resident_bytes": answer["resident_bytes"],
        "free_bytes": answer["free_bytes"],
        "bytes_of": answer["bytes_of"],
        "seconds": round(time.monotonic() - began, 1),
        "truths": [truth._asdict() for truth in truths],
    }
