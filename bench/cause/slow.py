# SPDX-License-Identifier: MIT
"""Programs whose heap calls are slow for a known reason, and what tells it beside the recorder: clocks around
the calls, strace's counts, the kernel's counters, the same run with the remedy."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from running import Answer, Postgres, explained, heapwright, notes_of, project, record, started

slow_calls = project / "build/release/programs/slow_calls"
THREADS = "16"
PAD = 64 << 20
LOCK_RUNS = 5
MAP_ENTRIES = 1_000_000


class Figure(NamedTuple):
    """What was said, and what was found by somebody else. unit: of both."""

    what: str
    said: int
    real: int
    unit: str  # ns, bytes or count
    is_bound: bool = False  # said as "at most"


class Verdict(NamedTuple):
    """said: in words; is_right: it names what the scenario is made of."""

    said: str
    is_right: bool
    figures: list[Figure]


class Slow(NamedTuple):
    """real: the cause, and who else tells it."""

    name: str
    real: str
    witness: str
    run: Callable[[Path], Verdict]


def alone(command: Sequence[str | Path], **environment: str) -> dict[str, int]:
    """What a program says of itself, without the recorder: the run of three with the least of each figure."""
    runs = []
    for _ in range(3):
        done = subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **environment},
        )
        runs.append(notes_of(done.stdout))
    return {name: min(run[name] for run in runs) for name in runs[0]}


def recorded(
    folder: Path, command: Sequence[str | Path], **environment: str
) -> tuple[Answer, dict[str, int]]:
    """What is said of slow calls, and what the recorded program said of itself."""
    output = record(folder / "t", command, environment)
    return explained(folder / "t")["slow_calls"], notes_of(output)


def pattern(answer: Answer, name: str) -> dict[str, Any]:
    """As it is told; {} if it is not."""
    found: dict[str, Any] = next((one for one in answer["patterns"] if one["name"] == name), {})
    return found


def told(answer: Answer) -> str:
    """The patterns' names, longest first; those that take no time themselves last."""
    names = ", ".join(one["name"] for one in answer["patterns"]) or "nothing"
    lost = answer["kernel_events_lost"]
    return f"{names} (the kernel dropped {lost:,} records or more)" if lost else names


def strace_calls(command: Sequence[str | Path], calls: str, **environment: str) -> int:
    """How often the kernel was asked for these, of all threads."""
    with tempfile.NamedTemporaryFile() as counts:
        line = ["strace", "-f", "-c", "-o", counts.name, "-e", f"trace={calls}", *command]
        subprocess.run(
            list(map(str, line)), capture_output=True, check=True, env={**os.environ, **environment}
        )
        text = Path(counts.name).read_text()
    total = re.search(r"^100\.00\s+\S+\s+\S+\s+(\d+)\s.*total$", text, re.MULTILINE)
    return int(total[1]) if total else 0


def consolidation(folder: Path) -> Verdict:
    command = [slow_calls, "consolidation"]
    answer, own = recorded(folder, command)
    calls = [one for one in answer["calls"] if (one["kind"], one["size_bytes"]) == ("malloc", 2000)]
    call = calls[0] if calls else {"duration_ns": 0, "small_frees": 0, "work": ""}
    here = alone(command)["cpu_ns"]
    fixed = alone(command, GLIBC_TUNABLES="glibc.malloc.mxfast=0")["cpu_ns"]
    named = pattern(answer, "consolidation")
    return Verdict(
        told(answer),
        call["work"] == "consolidation" and "mxfast=0" in named.get("remedy", ""),
        [
            Figure("that malloc, by the program's clock", call["duration_ns"], own["slow_ns"], "ns"),
            Figure("small frees before it", call["small_frees"], own["small_frees"], "count"),
            Figure("saved by mxfast=0, CPU time", named.get("duration_ns", 0), here - fixed, "ns", True),
        ],
    )


def lock(folder: Path) -> Verdict:
    """Recorded five times: where the threads wait for room in their rings, they do not meet at the lock."""
    command = [slow_calls, "lock", THREADS]
    answers = [recorded(folder, command, MALLOC_ARENA_MAX="1")[0] for _ in range(LOCK_RUNS)]
    named = sum("raise MALLOC_ARENA_MAX" in pattern(answer, "lock").get("remedy", "") for answer in answers)
    waits = sorted(answer["kernel"]["waits"] for answer in answers)
    here, without = (alone(command, MALLOC_ARENA_MAX=most)["waits"] for most in ("1", "16"))
    return Verdict(
        f"lock, in {named} of {LOCK_RUNS} runs",
        named == LOCK_RUNS and without * 10 < here,
        [Figure("waits in heap calls, the median (ru_nvcsw alone)", waits[LOCK_RUNS // 2], here, "count")],
    )


def storm(folder: Path) -> Verdict:
    command = [slow_calls, "growth", THREADS]
    answer, own = recorded(folder, command)
    named = pattern(answer, "growth in small steps")
    here = alone(command)["cpu_ns"]
    fixed = alone(command, MALLOC_TOP_PAD_=str(PAD))["cpu_ns"]
    calls = strace_calls(command, "mprotect,brk")
    return Verdict(
        told(answer),
        "MALLOC_TOP_PAD_" in named.get("remedy", ""),
        [
            Figure("calls that grew an arena (strace)", answer["kernel"]["arena_growths"], calls, "count"),
            Figure(
                "time of these calls (the threads' CPU time)",
                named.get("duration_ns", 0),
                own["cpu_ns"],
                "ns",
            ),
            Figure("saved by MALLOC_TOP_PAD_", named.get("duration_ns", 0), here - fixed, "ns", True),
        ],
    )


HAPROXY = """
global
  stats socket FOLDER/control mode 600 level admin
  nbthread 2
defaults
  mode http
  timeout client 5s
  timeout server 5s
  timeout connect 5s
frontend web
  bind unix@FOLDER/socket
  http-request return status 200 content-type text/plain lf-string %[path,map(FOLDER/big.map,none)]
"""


def haproxy(folder: Path) -> Verdict:
    """A map of 1 M entries, cleared by the administrator, then a soft stop."""
    entries = (f"/number/{number} backend_{number * 7919 % 1000003}\n" for number in range(MAP_ENTRIES))
    (folder / "big.map").write_text("".join(entries))
    library = folder / "trims.so"
    source = Path(__file__).parent / "trims.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    environment = {"LD_PRELOAD": str(library), "CENSUS": str(folder / "trims")}

    (folder / "trims").write_text("")
    configuration = folder / "haproxy.cfg"
    configuration.write_text(HAPROXY.replace("FOLDER", str(folder)))
    line = ["haproxy", "-db", "-f", configuration]
    with started(folder / "t", line, folder / "socket", environment) as server:
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(folder / "control"))
            control.sendall(f"clear map {folder}/big.map\n".encode())
            while control.recv(1 << 16):
                pass
        server.send("haproxy", signal.SIGUSR1)
    answer = explained(folder / "t")["slow_calls"]
    call = max(
        (one for one in answer["calls"] if one["kind"] == "malloc_trim"),
        key=lambda one: one["duration_ns"],
        default={"duration_ns": 0, "function": "", "work": ""},
    )
    named = pattern(answer, "trim stall")
    real: dict[str, list[int]] = {"trim_ns": [], "trim_cpu_ns": []}
    for word, value in re.findall(r"note (\w+) (\d+)", (folder / "trims").read_text()):
        real[word].append(int(value))
    return Verdict(
        f"{told(answer)}: malloc_trim by {call['function']}",
        call["work"] == "trimming" and call["function"] == "pat_ref_purge_range" and bool(named),
        [
            Figure("the longest, by a clock around it", call["duration_ns"], max(real["trim_ns"]), "ns"),
            Figure("all of them, CPU time", named.get("duration_ns", 0), sum(real["trim_cpu_ns"]), "ns"),
        ],
    )


def trade_off(folder: Path) -> Verdict:
    """MALLOC_TOP_PAD_ saves postgres page faults, and keeps memory while it rests: told by the replay."""
    server = Postgres(folder)
    trace = server.record()
    line = [
        heapwright,
        "replay",
        trace,
        "--on",
        "glibc",
        "--set",
        f"glibc.top_pad={PAD}",
        "--runs",
        "1",
        "--json",
    ]
    done = subprocess.run(list(map(str, line)), capture_output=True, check=True)
    document = json.loads(done.stdout)
    as_is, padded = (candidate["runs"]["memory"][0] for candidate in document["candidates"])
    here, there = server.alone({}), server.alone({"MALLOC_TOP_PAD_": str(PAD)})
    faults = Figure(
        "page faults saved", as_is["faults"] - padded["faults"], here["faults"] - there["faults"], "count"
    )
    kept = Figure(
        "more kept at rest",
        int(padded["idle_bytes"] - as_is["idle_bytes"]),
        there["resident"] - here["resident"],
        "bytes",
    )
    is_shown = all(of.said > 0 for of in (faults, kept))
    return Verdict(
        "fewer page faults, more memory at rest" if is_shown else "no trade-off",
        is_shown == all(of.real > 0 for of in (faults, kept)),
        [faults, kept],
    )


SCENARIOS = (
    Slow(
        "S1: a malloc behind 2 M frees of small blocks",
        "consolidation",
        "the program's clock; mxfast=0",
        consolidation,
    ),
    Slow("S17: 16 threads, MALLOC_ARENA_MAX=1", "the arena's lock", "ru_nvcsw, with and without it", lock),
    Slow("S18: 16 threads fill fresh arenas by 96 KiB", "an mprotect a block", "strace", storm),
    Slow(
        "S9: haproxy, a map of 1 M entries cleared",
        "its malloc_trim",
        "clocks around malloc_trim",
        haproxy,
    ),
    Slow(
        "S7: postgres, sorts, MALLOC_TOP_PAD_ (replay)",
        "page faults or memory at rest",
        "the kernel's counts, with and without it",
        trade_off,
    ),
)


def run(scenario: Slow) -> Answer:
    """The scenario's row."""
    with tempfile.TemporaryDirectory(prefix="heapwright-slow-") as folder:
        began = time.monotonic()
        verdict = scenario.run(Path(folder))
    return {
        "name": scenario.name,
        "real": scenario.real,
        "witness": scenario.witness,
        "said": verdict.said,
        "is_right": verdict.is_right,
        "seconds": round(time.monotonic() - began, 1),
        "figures": [figure._asdict() for figure in verdict.figures],
    }
