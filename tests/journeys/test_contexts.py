# SPDX-License-Identifier: MIT
"""What a program's threads work for: recorded and counted, call by call."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Record, Recording, command, programs
from counting import Counted, count, folder, library, only
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from serving import Served, served, until

__all__ = ["served"]

NONE = "(no context)"
# 4 workers, 300 requests each: 100 of each endpoint.
CALLS = 4 * 100
# By context: allocations, requested bytes.
SERVED = {
    **dict.fromkeys(("GET /cart", "GET /item", "POST /order"), (2 * CALLS, CALLS * (3001 + 3005))),
    "auth": (3 * CALLS, 3 * CALLS * 3003),
}


def explained(path: Path, *options: str) -> dict[str, Any]:
    line = [command, "explain", path, "--by", "context", "--json", "--top", "400", *options]
    said = subprocess.run([str(part) for part in line], check=True, capture_output=True, timeout=120)
    answer: dict[str, Any] = json.loads(said.stdout)["questions"]
    return answer


def allocated(path: Path) -> dict[str, tuple[int, int]]:
    """By context: allocations and bytes of those that the program itself made in one."""
    sites = explained(path, "--question", "volume")["volume"]["sites"]
    return {site["name"]: (site["allocations"], site["bytes"]) for site in sites if site["name"] != NONE}


def whole(recording: Recording) -> Path:
    assert recording.status == 0, recording.errors
    assert recording.trace().problems() == []
    return recording.paths()[0]


def test_calls_of_threads_belong_to_the_innermost_context(record: Record) -> None:
    path = whole(record("contexts", "serve"))
    assert allocated(path) == SERVED
    answer = explained(path)
    live = {site["name"]: site["live_blocks"] for site in answer["leaks"]["sites"]}
    assert live["GET /cart"] == 4, "one of each worker; what was freed in another context is free"
    assert {name for name in live if name != NONE} == {"GET /cart"}
    peak = {site["name"]: site["live_bytes"] for site in answer["peak"]["sites"]}
    assert peak["GET /cart"] >= 3005, "of each worker that had begun by then"
    times = {site["name"]: site["time_ns"] for site in answer["time"]["sites"]}
    assert all(times[name] > 0 for name in SERVED)


def test_one_context_alone_answers_each_question_by_site(record: Record) -> None:
    path = whole(record("contexts", "serve"))

    def volume(*names: str) -> int:
        options = [option for name in names for option in ("--context", name)]
        line = [command, "explain", path, "--json", "--question", "volume", *options]
        said = subprocess.run([str(part) for part in line], check=True, capture_output=True, timeout=120)
        sites = json.loads(said.stdout)["questions"]["volume"]["sites"]
        assert all(site["name"] not in SERVED for site in sites), "sites, not contexts"
        return sum(site["bytes"] for site in sites)

    assert volume("GET /cart") == SERVED["GET /cart"][1]
    assert volume("GET /cart", "auth") == SERVED["GET /cart"][1] + SERVED["auth"][1]
    assert volume(NONE) + volume(*SERVED) == volume()
    folded = [command, "export", path, "--to", "folded", "--measure", "bytes", "--context", "auth", "-o", "-"]
    said = subprocess.run(
        list(map(str, folded)), check=True, capture_output=True, timeout=120
    ).stdout.decode()
    assert sum(int(line.rpartition(" ")[2]) for line in said.splitlines()) == SERVED["auth"][1]
    wrong = [command, "explain", path, "--context", "GET /crat"]
    refused = subprocess.run(list(map(str, wrong)), check=False, capture_output=True, timeout=120)
    assert refused.returncode == 2
    assert b"did you mean GET /cart?" in refused.stderr


@pytest.mark.parametrize("options", [["--no-stacks"], ["--sample", "16"], ["--no-durations"]])
def test_other_ways_of_recording_have_contexts(record: Record, options: list[str]) -> None:
    recording = record("contexts", "serve", options=options)
    assert recording.status == 0, recording.errors
    found = allocated(recording.paths()[0])
    assert found.keys() == SERVED.keys()
    if "--sample" not in options:
        assert found == SERVED


PYTHON = """
import threading, heapwright

def work(name):
    with heapwright.context(name):
        kept = [bytearray(5000) for _ in range(100)]
        with heapwright.context("inner"):
            kept += [bytearray(7000) for _ in range(10)]
        kept += [bytearray(5000) for _ in range(100)]

threads = [threading.Thread(target=work, args=(f"job {i % 2}",)) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
work("job 0")
"""


def test_python_names_contexts(record: Record) -> None:
    recording = record(sys.executable, "-c", PYTHON)
    assert recording.status == 0, recording.errors
    found = allocated(recording.paths()[0])
    assert found.keys() == {"job 0", "job 1", "inner"}
    assert 600 <= found["job 0"][0] < 600 + 60, "and what Python itself needs meanwhile"
    assert 400 <= found["job 1"][0] < 400 + 60
    assert 50 <= found["inner"][0] < 50 + 30


# Three tasks in turns: 20 blocks each, half of them in a context that lasts over awaits.
TASKS = """
import asyncio, heapwright

kept = []

async def make(size):
    for _ in range(10):
        kept.append(bytearray(size))
        await asyncio.sleep(0)

async def serve(route, size):
    with heapwright.context(route):
        await make(size)
    await make(size)

async def main():
    with heapwright.context("main's"):
        named = asyncio.create_task(serve("/cart", 50_000), name="shop")
        await asyncio.gather(named, serve("/item", 70_000), serve("/cart", 50_000))
        kept.append(bytearray(90_000))

asyncio.run(heapwright.name_tasks(main()))
"""
GREENLETS = """
import greenlet, heapwright

kept, main = [], greenlet.getcurrent()

def serve(route, size):
    kept.append(bytearray(size))
    with heapwright.context(route):
        for _ in range(10):
            main.switch()
            kept.append(bytearray(size))

heapwright.name_greenlets()
both = [greenlet.greenlet(serve), greenlet.greenlet(serve)]
with heapwright.context("main's"):
    for one in both: one.switch(f"/{both.index(one)}", 50_000)
    for _ in range(10):
        kept.append(bytearray(90_000))
        for one in both: one.switch()
"""


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        (
            TASKS,
            {
                "/cart": (20, 20 * 50_001),
                "/item": (10, 10 * 70_001),
                "shop": (10, 10 * 50_001),
                "serve": (20, 10 * 50_001 + 10 * 70_001),
                "main's": (1, 90_001),
            },
        ),
        (
            GREENLETS,
            {
                "/0": (10, 10 * 50_001),
                "/1": (10, 10 * 50_001),
                "main's": (10, 10 * 90_001),
                "greenlet": (2, 2 * 50_001),
            },
        ),
    ],
    ids=["asyncio", "greenlet"],
)
def test_tasks_in_turns_have_contexts_of_their_own(
    record: Record, program: str, wanted: dict[str, tuple[int, int]]
) -> None:
    recording = record(sys.executable, "-c", program)
    assert recording.status == 0, recording.errors
    answer = explained(recording.paths()[0], "--question", "volume", "--min-block", "50000")
    found = {
        site["name"]: (site["allocations"], site["bytes"])
        for site in answer["volume"]["sites"]
        if site["name"] != NONE
    }
    assert found == wanted


def test_a_forked_child_is_in_its_parents_context(record: Record) -> None:
    recording = record("contexts", "forks", options=["--children"])
    assert recording.status == 0, recording.errors
    found = sorted((allocated(path) for path in recording.paths()), key=len)
    assert found == [{"parent's": (1, 3001)}, {"parent's": (1, 3003), "child's": (1, 3005)}]


def test_further_names_share_one(record: Record) -> None:
    found = allocated(whole(record("contexts", "many")))
    assert len(found) == 256
    assert found.pop("(other)") == (90, 90 * 3001)
    assert found == {f"tenant {number}": (2, 2 * 3001) for number in range(255)}


def test_names_are_cut_and_cleaned(record: Record) -> None:
    path = whole(record("contexts", "odd"))
    found = allocated(path)
    for name in ("e" * 120, "l" * 120, "s" * 24):
        assert found.pop(name) == (1, 3001)
    assert len(found) == 1, "an empty name is none"
    line = [str(command), "explain", str(path), "--by", "context", "--question", "volume"]
    said = subprocess.run(line, check=True, capture_output=True, timeout=120)
    assert b"\x1b[2J" not in said.stdout


def test_a_task_may_move_to_another_thread(record: Record) -> None:
    assert allocated(whole(record("contexts", "moves"))) == {"first task": (2, 3001 + 3003)}


def test_contexts_that_change_in_a_pause_are_known_after_it(record: Record) -> None:
    found = allocated(whole(record("contexts", "pauses")))
    assert found == {"begun in the pause": (1, 3001), "outer": (1, 3003)}


@pytest.mark.parametrize(("how", "status"), [("exit", 0), ("killed", 137)])
def test_a_program_may_end_inside_of_one(record: Record, how: str, status: int) -> None:
    recording = record("contexts", "inside", how)
    assert recording.status == status
    assert allocated(recording.paths()[0]) == {"last": (1000, 1000 * 3001)}


def test_without_a_recorder_nothing_happens() -> None:
    for what in ("serve", "forks", "many", "moves", "pauses"):
        assert subprocess.run([programs / "contexts", what], check=False, timeout=60).returncode == 0


def test_anonymized_traces_number_contexts(record: Record, tmp_path: Path) -> None:
    path = whole(record("contexts", "serve"))
    copy = tmp_path / "copy.heapwright"
    line = [command, "export", path, "--to", "trace", "--anonymize", "-o", copy]
    subprocess.run([str(part) for part in line], check=True, capture_output=True, timeout=120)
    found = allocated(copy)
    assert sorted(found.values()) == sorted(SERVED.values())
    assert all(name.startswith("context_") for name in found)
    assert not [name for name in SERVED if name.encode() in copy.read_bytes()]
    folded = [command, "export", path, "--to", "folded", "--measure", "bytes", "--anonymize", "-o", "-"]
    said = subprocess.run([str(part) for part in folded], check=True, capture_output=True, timeout=120).stdout
    assert b"context_" in said
    assert not [name for name in SERVED if name.encode() in said]


def counted(process: Counted) -> dict[str, tuple[int, int]]:
    rows = process["contexts"]
    return {row["context"]: (row["made"], row["requested_bytes"]) for row in rows if row["context"]}


def rest(process: Counted) -> Mapping[str, Any]:
    return next(row for row in process["contexts"] if not row["context"])


def test_counters_agree_with_the_recording() -> None:
    process = only(count(programs / "contexts", "serve"))
    assert counted(process) == SERVED
    calls = {row["context"]: row["calls"] for row in process["contexts"]}
    # Each has one release of its own; the others are made in the context that checks.
    assert calls["GET /item"] == 3 * CALLS
    assert calls["GET /cart"] == 3 * CALLS - 4
    assert calls["auth"] == 3 * 3 * CALLS
    assert rest(process)["requested_bytes"] == process["requested_bytes"] - sum(
        of[1] for of in SERVED.values()
    )
    assert sum(row["timed_calls"] for row in process["contexts"]) > 0
    net = {row["context"]: row["net_bytes"] for row in process["contexts"]}
    # All three sizes have the same usable one; "auth" also frees the request's block, which its endpoint made.
    (auth,) = (row for row in process["contexts"] if row["context"] == "auth")
    usable = auth["usable_bytes"] // (3 * CALLS)
    assert (net["auth"], net["GET /cart"]) == (-3 * CALLS * usable, (CALLS + 4) * usable)


def test_counters_of_forks_of_many_names_and_of_ends_inside() -> None:
    images = count(programs / "contexts", "forks")["processes"]
    found = sorted(map(counted, images), key=len)
    assert found == [{"parent's": (1, 3001)}, {"parent's": (1, 3003), "child's": (1, 3005)}]
    many = counted(only(count(programs / "contexts", "many")))
    assert many.pop("(other)") == (90, 90 * 3001)
    assert many == {f"tenant {number}": (2, 2 * 3001) for number in range(255)}
    assert counted(only(count(programs / "contexts", "inside", "exit"))) == {"last": (1000, 1000 * 3001)}
    made, _ = counted(only(count(programs / "contexts", "inside", "killed")))["last"]
    assert 1000 - 64 <= made <= 1000
    assert only(count(programs / "exits_with", 0))["contexts"] == []


def test_served_sums_of_contexts(served: Served, tmp_path: Path) -> None:
    pipe = folder / f"heapwright-{os.geteuid() or 'root'}.serve"
    assert until(pipe.exists)
    name = f"context_shop_{os.getpid()}"  # pages of an earlier run may still be there
    program = tmp_path / name
    program.symlink_to(programs / "contexts")
    variables = {**os.environ, "LD_PRELOAD": str(library)}

    def told() -> dict[str, float]:
        return {
            sample.labels["context"]: sample.value
            for family in text_string_to_metric_families(served.get())
            for sample in family.samples
            if sample.name == "heap_context_requested_bytes_total" and sample.labels["program"] == name
        }

    for runs in (1, 2):
        assert subprocess.run([program, "serve"], env=variables, check=False, timeout=60).returncode == 0
        wanted = {name: float(runs * size) for name, (_, size) in SERVED.items()}
        assert until(lambda wanted=wanted: told() == wanted), told()
