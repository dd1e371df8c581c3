# SPDX-License-Identifier: MIT
"""count --sample --room: samples that go on for ever in a file below a size, and forget only what is over."""

import json
import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from conftest import command, programs, read_trace
from counting import ask, environment, folder, parent_of
from serving import until

# What tests/programs/keeps_and_churns.cpp keeps from its first moment on.
KEPT_BLOCKS, KEPT_BYTES = 2000, 4096 * 2000
ROUNDS = 60
KEEPING, GROWING = (f"(anonymous namespace)::{name}" for name in ("keep_one()", "grow(void*, unsigned long)"))
KEPT_FILE_BYTES = 1 << 20


class Kept:
    """keeps_and_churns under count, in which every block is a sample, so that figures are exact."""

    def __init__(self, cwd: Path, *options: str, rounds: int = ROUNDS) -> None:
        line = [
            str(command),
            "count",
            "--sample",
            "1",
            *options,
            "--",
            str(programs / "keeps_and_churns"),
            str(rounds),
        ]
        self.run = subprocess.Popen(
            line, env=environment, cwd=cwd, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        self.files: set[int] = set()
        self.most_bytes = 0

    def is_ready(self) -> bool:
        """Looks at the file all the time, until the program has done its rounds."""
        out = self.run.stdout
        assert out is not None

        def looks() -> bool:
            for path in self.paths():
                with suppress(FileNotFoundError):
                    status = path.stat()
                    self.files.add(status.st_ino)
                    self.most_bytes = max(self.most_bytes, status.st_size)
            return bool(select.select([out], [], [], 0)[0]) and out.readline() == "ready\n"

        return bool(until(looks, seconds=120))

    def paths(self, suffix: str = "") -> list[Path]:
        """Of this run: others may go on beside it."""
        paths = folder.glob(f"heapwright-*.profile{suffix}")
        return [path for path in paths if parent_of(parent_of(int(path.name.split("-")[1]))) == self.run.pid]

    @property
    def process(self) -> int:
        (path,) = self.paths()
        return int(path.name.split("-")[1])

    def dumped_to_the_end(self, target: Path) -> dict[str, int]:
        """Up to a second passes before the last is written. What lives by function.

        The last round's threads free after grow(): two looks more than a second apart must agree.
        """
        looks: list[dict[str, int]] = []

        def is_told() -> bool:
            if looks:
                time.sleep(1.2)
            assert ask("dump", str(self.process), "-o", str(target), "--force").returncode == 0
            looks.append(live_by_function(target))
            return looks[-1].get(GROWING) == ROUNDS * 1000 and looks[-1:] == looks[-2:-1]

        assert until(is_told, seconds=60), looks[-1]
        return looks[-1]

    def end(self) -> str:
        _, said = self.run.communicate("\n", timeout=60)
        return said


def explained(path: Path, *options: str) -> dict[str, Any]:
    result = ask("explain", str(path), "--json", *options)
    assert result.returncode == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def live_by_function(path: Path) -> dict[str, int]:
    result = ask(
        "sql", str(path), "--json", "select function, sum(live_at_end_bytes)::bigint from site group by 1"
    )
    assert result.returncode == 0, result.stderr
    return {function: live for function, live in json.loads(result.stdout)["rows"] if live}


def test_what_was_kept_from_the_start_is_in_a_dump_after_many_rolls(tmp_path: Path) -> None:
    whole = Kept(tmp_path, "--room", "1G")
    every, dump = tmp_path / "every.heapwright", tmp_path / "kept.heapwright"
    assert whole.is_ready()
    lived = whole.dumped_to_the_end(every)
    whole.end()
    kept = Kept(tmp_path, "--room", "1M")
    assert kept.is_ready()
    live = kept.dumped_to_the_end(dump)
    said = kept.end()
    assert kept.run.returncode == 0, said
    assert len(kept.files) > 3, "it has rolled"
    assert kept.most_bytes < KEPT_FILE_BYTES
    assert live == lived
    assert live[KEEPING] == KEPT_BYTES
    trace = read_trace(dump)
    assert not [wrong for wrong in trace.problems() if "end" not in wrong], trace.problems()
    document = explained(dump)
    forgotten_ns = document["summary"]["forgotten_before_ns"]
    assert forgotten_ns > 0
    # Calls around a fork are not recorded, and counted.
    assert (
        document["summary"]["completeness"]["reasons"]
        == explained(every)["summary"]["completeness"]["reasons"]
    )
    assert document["summary"]["completeness"]["coverage"][0]["from_ns"] == forgotten_ns
    # The kept blocks were made before what is known, and are in no total.
    assert (
        document["summary"]["totals"]["requested_bytes"]
        < explained(every)["summary"]["totals"]["requested_bytes"] / 2
    )
    screen = " ".join(ask("explain", str(dump), "--unchecked").stdout.split())
    assert "were forgotten (count --room)" in screen and "keep_one" in screen
    assert "forgotten" in ask("info", str(dump)).stdout
    assert "were forgotten" in ask("sql", str(dump), "select count(*) from block").stderr
    assert (
        "were forgotten" in ask("export", "--to", "pprof", str(dump), "-o", str(tmp_path / "x.pb.gz")).stderr
    )
    assert "forgotten" not in " ".join(ask("explain", str(every), "--unchecked").stdout.split())
    lately = explained(dump, "--from", "-0.5s")["summary"]
    assert lately["live_at_end_bytes"] == document["summary"]["live_at_end_bytes"]


def test_a_collector_killed_in_a_roll_leaves_what_can_be_dumped_and_nothing_else(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "--room", "1M", rounds=100_000)
    assert until(lambda: len(kept.paths(".new")), seconds=60)
    process = kept.process
    os.kill(parent_of(process), signal.SIGKILL)
    dump = tmp_path / "left.heapwright"
    done = ask("dump", str(process), "-o", str(dump))
    os.kill(process, signal.SIGKILL)
    said = kept.end()
    assert done.returncode == 0, done.stderr
    assert "heapwright-collect was killed (signal 9)" in said
    assert live_by_function(dump)[KEEPING] == KEPT_BYTES
    # Whoever counts next removes what was left.
    assert ask("count", "--sample", "1M", "--", "true").returncode == 0
    assert not list(folder.glob(f"heapwright-{process}-*"))


# A thread's few events are the first that is written, behind the tables of all objects.
SHORT_THREAD = """
#include <cstdlib>
#include <cstdio>
#include <thread>
void* volatile kept;
[[gnu::noinline]] void churn() { kept = std::malloc(8000); std::free(kept); }
[[gnu::noinline]] void leak() { kept = std::malloc(8000); }
int main() {
  for (int i = 0; i < 10'000; ++i) churn();
  std::thread(churn).join();
  std::puts("leaks");
  std::fflush(stdout);
  std::getchar();
  for (int i = 0; i < 1000; ++i) leak();
  std::puts("leaked");
  std::fflush(stdout);
  std::getchar();
}
"""


def short_thread(folder: Path) -> Path:
    program = folder / "short_thread"
    line = ["g++", "-O1", "-g", "-pthread", "-x", "c++", "-", "-o", str(program)]
    subprocess.run(line, input=SHORT_THREAD, text=True, check=True, timeout=60)
    return program


def test_few_events_behind_large_tables_end_no_recording(tmp_path: Path) -> None:
    file = tmp_path / "recording.heapwright"
    line = [str(command), "record", "--max-size", "4M", "-o", str(file), "--", str(short_thread(tmp_path))]
    run = subprocess.Popen(
        line,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert run.stdin is not None
    assert run.stdout is not None
    assert run.stdout.readline() == "leaks\n"
    time.sleep(1)  # the collector notices the thread's end, and looks at the size
    _, said = run.communicate("\n\n", timeout=60)
    assert "--max-size" not in said
    assert live_by_function(file)["leak()"] == 8_000_000


def test_few_events_behind_large_tables_end_nothing(tmp_path: Path) -> None:
    program = short_thread(tmp_path)
    counting = [str(command), "count", "--sample", "4k", "--room", "1M", "--", str(program)]
    run = subprocess.Popen(
        counting, env=environment, cwd=tmp_path, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert run.stdin is not None
    assert run.stdout is not None
    assert run.stdout.readline() == "leaks\n"
    time.sleep(1)  # the collector notices the thread's end, and looks for room
    run.stdin.write("\n")
    run.stdin.flush()
    assert run.stdout.readline() == "leaked\n"
    (path,) = [
        path
        for path in folder.glob("heapwright-*.profile")
        if parent_of(parent_of(int(path.name.split("-")[1]))) == run.pid
    ]
    dump = tmp_path / "dump.heapwright"

    def is_told() -> bool:
        assert ask("dump", path.name.split("-")[1], "-o", str(dump), "--force").returncode == 0
        return live_by_function(dump).get("leak()", 0) > 7_000_000

    assert until(is_told), explained(dump)["summary"]
    run.communicate("\n", timeout=60)
    # What the counting library looks up in the C++ runtime's first call is no call of the program.
    reasons = explained(dump)["summary"]["completeness"]["reasons"]
    assert not [reason for reason in reasons if "not recorded" in str(reason)], reasons


def test_refusals() -> None:
    for line, reason in (
        (("count", "--room", "1M", "--", "true"), "--room needs --sample"),
        (("count", "--sample", "1M", "--room", "64k", "--", "true"), "--room takes 1M or more"),
        (("count", "--sample", "1M", "--room", "99999999T", "--", "true"), "take 1T or less"),
        (("count", "--sample", "2T", "--", "true"), "take 1T or less"),
        (("count", "--room", "1M", "--pid", "1"), "need a program to start"),
    ):
        result = ask(*line)
        assert (result.returncode, len(result.stderr.splitlines())) == (2, 1), result.stderr
        assert reason in result.stderr
