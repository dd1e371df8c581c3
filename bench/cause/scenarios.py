# SPDX-License-Identifier: MIT
# length: the scenarios side by side, each with its own truth
"""Programs whose cause is known, and what tells it without the recorder: the same run with a remedy, or the
allocator's own account."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from heapwright.explain.cause_kinds import FREE
from running import (
    Answer,
    Postgres,
    alone,
    anonymous,
    census,
    explained,
    mapper,
    notes_of,
    owner_at_rest,
    project,
    record,
    started,
)

python = project / ".venv/bin/python"
keeps_memory = project / "build/release/programs/keeps_memory"
MEBIBYTE = 1 << 20

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
TABLES = """
import ctypes, re, time, MODULE
def anonymous():
    line = next(l for l in open('/proc/self/status') if l.startswith('RssAnon'))
    return int(line.split()[1]) * 1024
def largest_mapping():
    named, sizes = False, [0]
    for line in open('/proc/self/smaps'):
        if re.match('[0-9a-f]+-', line):
            named = len(line.split()) > 5
        elif line.startswith('Rss:') and not named:
            sizes.append(int(line.split()[1]) * 1024)
    return max(sizes)
before = anonymous()
table = READ(FILE)
marks = ctypes.CDLL(None)
if hasattr(marks, 'heapwright_annotate_phase_end'):  # its end asks the recorder for a scan
    marks.heapwright_annotate_phase_begin(b'read')
    marks.heapwright_annotate_phase_end(b'read')
time.sleep(1.5)
print('note added', anonymous() - before)
print('note mapping', largest_mapping())
"""
ARROW = TABLES.replace("MODULE", "pyarrow, pyarrow.parquet").replace("READ", "pyarrow.parquet.read_table")
POLARS = TABLES.replace("MODULE", "polars").replace("READ", "polars.read_parquet")


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


def cause_of(trace: Path) -> Answer:
    answer: Answer = explained(trace)["cause"]
    answer["bytes_of"] = {row["kind"]: row["bytes"] for row in answer["kinds"]}
    answer["by_remedy"] = {row["kind"]: row for row in answer["remedies"]}
    return answer


def remedy_bytes(answer: Answer, kind: str) -> int:
    return int(answer["by_remedy"].get(kind, {}).get("bytes") or 0)


def trimmed(answer: Answer, command: Sequence[str | Path]) -> Truth:
    said = alone(command)
    gain = max(0, said["resident"] - said["trimmed"])
    return Truth("given back by malloc_trim(0)", answer["trimmable_bytes"], gain, True)


def one_arena(answer: Answer, gain: int) -> list[Truth]:
    bound = Truth("MALLOC_ARENA_MAX=1", remedy_bytes(answer, "arenas"), gain, True)
    least = answer["by_remedy"].get("arenas", {}).get("least_bytes", 0)
    return [bound, Truth("MALLOC_ARENA_MAX=1, at least", least, gain)] if least else [bound]


def kept(mode: str) -> Callable[[Path], tuple[Answer, list[Truth]]]:
    def run(folder: Path) -> tuple[Answer, list[Truth]]:
        record(folder / "t", [keeps_memory, mode])
        answer = cause_of(folder / "t")
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
            truths += one_arena(answer, here - fewer)
        return answer, truths

    return run


def arrays(folder: Path) -> tuple[Answer, list[Truth]]:
    command = [python, "-c", ARRAYS]
    record(folder / "t", command)
    answer = cause_of(folder / "t")
    here = alone(command)["resident"]
    fixed = alone(command, MALLOC_MMAP_THRESHOLD_="131072")["resident"]
    fewer = alone(command, MALLOC_ARENA_MAX="1")["resident"]
    return answer, [
        trimmed(answer, command),
        Truth("MALLOC_MMAP_THRESHOLD_", remedy_bytes(answer, "threshold"), here - fixed, True),
        *one_arena(answer, here - fewer),
    ]


def parquet(program: str, figure: str, what: str) -> Callable[[Path], tuple[Answer, list[Truth]]]:
    """figure: what the kernel tells the program of its memory, as it rests."""

    def run(folder: Path) -> tuple[Answer, list[Truth]]:
        file = repr(str(folder / "file.parquet"))
        subprocess.run([python, "-c", WRITER.replace("FILE", file)], check=True)
        command = [python, "-c", program.replace("FILE", file)]
        own = notes_of(record(folder / "t", command))
        answer = cause_of(folder / "t")
        answer["owner"], said = owner_at_rest(folder / "t")
        answer["real_owner"] = mapper(command)
        return answer, [Truth(what, said, own[figure])]

    return run


def free_at_end(answer: Answer, folder: Path) -> Truth:
    """Beside what the census wrote."""
    said = sum(row["at_end_bytes"] for row in answer["kinds"] if row["kind"] in FREE)
    real = notes_of((folder / "census/notes").read_text())["free"]
    return Truth("free in the heap at the end (smaps less mallinfo2)", said, real)


def sqlite(folder: Path) -> tuple[Answer, list[Truth]]:
    command: list[str | Path] = ["sqlite3", ":memory:", f".read {project / 'examples/orders.sql'}"]
    record(folder / "t", command)
    alone(command, **census(folder))
    answer = cause_of(folder / "t")
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
    answer = cause_of(folder / "t")
    return answer, [free_at_end(answer, folder)]


def redis(folder: Path) -> tuple[Answer, list[Truth]]:
    socket = folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]

    def ask(*words: str, text: str = "") -> str:
        done = subprocess.run(
            ["redis-cli", "-s", str(socket), *words], input=text, capture_output=True, text=True, check=True
        )
        return done.stdout

    script = (
        "for i = 1, 2000000 do redis.call('set', 'key:' .. i, string.rep('x', 20 + (i * 7919) % 400)) end\n"
        "for i = 1, 2000000 do if (i * 104729) % 10 ~= 0 then redis.call('del', 'key:' .. i) end end\n"
        "for i = 1, 100000 do redis.call('set', 'other:' .. i, string.rep('y', 500)) end\n"
    )
    with started(folder / "t", command, socket) as server:
        ask("--eval", "/dev/stdin", text=script)
        time.sleep(1.5)
        fields = dict(re.findall(r"^(allocator_\w+):(\d+)\r?$", ask("info", "memory"), re.MULTILINE))
        before = anonymous(server.pid("redis"))
        ask("memory", "purge")
        purged = before - anonymous(server.pid("redis"))
        ask("shutdown", "nosave")
    answer = cause_of(folder / "t")
    beside = int(fields["allocator_active"]) - int(fields["allocator_allocated"])
    return answer, [
        Truth("free beside live blocks (active less allocated)", answer["bytes_of"]["scattered"], beside),
        Truth("given back by MEMORY PURGE", remedy_bytes(answer, "decay"), purged, True),
    ]


def postgres(folder: Path) -> tuple[Answer, list[Truth]]:
    server = Postgres(folder)
    trace = server.record()
    server.alone(census(folder))
    answer = cause_of(trace)
    return answer, [free_at_end(answer, folder)]


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
    Scenario(
        "S14: pyarrow reads Parquet",
        "pyarrow's own allocator",
        (("elsewhere", "others"),),
        parquet(ARROW, "mapping", "libarrow's own mappings at rest (smaps)"),
    ),
    Scenario(
        "S14: polars reads Parquet",
        "polars' own allocator",
        (("elsewhere", "others"),),
        parquet(POLARS, "added", "polars' own mappings at rest (RssAnon that the read added)"),
    ),
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
        "owner": answer.get("owner", ""),
        "real_owner": answer.get("real_owner", ""),
        "is_right": (answer["verdict"], answer["cause"]) in scenario.right
        and answer.get("owner", "") == answer.get("real_owner", ""),
        "resident_bytes": answer["resident_bytes"],
        "free_bytes": answer["free_bytes"],
        "bytes_of": answer["bytes_of"],
        "seconds": round(time.monotonic() - began, 1),
        "truths": [truth._asdict() for truth in truths],
    }
