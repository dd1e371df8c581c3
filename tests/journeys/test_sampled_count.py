# SPDX-License-Identifier: MIT
"""count --sample: a live profile of a counted process, dumped on command and when memory is resident."""

import gzip
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from conftest import command, end_still_running, read_trace
from counting import Running, ask, checked, environment, folder, parent_of
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData
from serving import Served, served, until

__all__ = ["served"]

# Keeps 64 MiB in blocks of 256 KiB, and tells; the rest is freed at once. Twice as much at the next line.
KEEPER = """
import sys
kept = []
def keep_on(): kept.extend(bytearray(262144) for _ in range(256))
def let_go():
    for _ in range(256): bytearray(262144)
keep_on()
let_go()
print("kept", flush=True)
sys.stdin.readline()
keep_on()
print("more", flush=True)
sys.stdin.readline()
"""
KEPT_BYTES = 64 << 20


class Sampled:
    """A program under count --sample, which does not go on before it is told."""

    def __init__(self, cwd: Path, *options: str) -> None:
        line = [
            str(command),
            "count",
            "--sample",
            "64k",
            *options,
            "--",
            "/usr/bin/python3",
            "-S",
            "-c",
            KEEPER,
        ]
        self.run = subprocess.Popen(
            line, env=environment, cwd=cwd, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self.run.stdout is not None
        assert self.run.stdout.readline() == "kept\n"
        (path,) = [path for path in folder.glob("heapwright-*.profile") if self._is_of_run(path)]
        self.process = int(path.name.split("-")[1])
        self.path = path

    def _is_of_run(self, path: Path) -> bool:
        return parent_of(parent_of(int(path.name.split("-")[1]))) == self.run.pid

    def go_on(self) -> None:
        assert self.run.stdin is not None
        assert self.run.stdout is not None
        self.run.stdin.write("\n")
        self.run.stdin.flush()
        assert self.run.stdout.readline() == "more\n"

    def end(self) -> str:
        _, said = self.run.communicate("\n\n", timeout=60)
        assert self.run.returncode == 0, said
        return said


def live_bytes(path: Path) -> float:
    result = ask("explain", str(path), "--json")
    assert result.returncode == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    found: float = document["summary"]["live_at_end_bytes"]
    return found


def test_a_dump_tells_what_lives_while_the_program_runs(tmp_path: Path) -> None:
    sampled = Sampled(tmp_path)
    target = tmp_path / "now.heapwright"

    def tells_all() -> bool:
        done = ask("dump", str(sampled.process), "-o", str(target), "--force")
        assert done.returncode == 0, done.stderr
        return (
            ask("explain", str(target), "--unchecked").returncode == 0
            and live_bytes(target) > 0.7 * KEPT_BYTES
        )

    is_told = until(tells_all)
    line = [str(command), "dump", str(sampled.process), "--output", "-"]
    piped = subprocess.run(line, capture_output=True, check=True, env=environment)
    screen = " ".join(ask("explain", str(target), "--unchecked").stdout.split())
    (counted,) = checked(ask("count", "--pid", str(sampled.process), "--json").stdout)["processes"]
    further = ask("top", str(sampled.process), "--once", "--interval", "0.1").stderr
    said = sampled.end()
    assert is_told
    assert f"next: heapwright dump {sampled.process}" in further
    assert screen.count("taken while the program ran") == 1, "said once"
    assert "every sampled call is in the trace, except those of the last second or two" in screen
    assert "taken while the program ran" in screen and "when it was taken" in screen
    assert "INCOMPLETE" not in screen and "no end mark" not in screen
    (tmp_path / "piped.heapwright").write_bytes(piped.stdout)
    assert live_bytes(tmp_path / "piped.heapwright") > 0
    assert piped.stderr.startswith(b"standard output  ") and piped.stderr.count(b"\n") == 1
    trace = read_trace(target)
    assert trace.facts["end_reason"] == end_still_running
    assert trace.facts["damage"] == 0
    assert live_bytes(target) == pytest.approx(counted["live_bytes"], rel=0.25)
    assert "libc.so" in counted["allocator"]
    told = ask("info", str(target)).stdout
    assert "libc.so" in told and "libheapwright-count" not in told
    assert not sampled.path.exists()
    assert "process" in said
    assert target.stat().st_mode & 0o777 == 0o600


def test_what_an_earlier_process_with_the_same_id_left_is_not_taken_for_it(tmp_path: Path) -> None:
    sampled = Sampled(tmp_path)
    process, start = sampled.path.name.removesuffix(".profile").split("-")[1:]
    left = sampled.path.with_name(f"heapwright-{process}-{int(start) - 1}.9.profile")
    left.write_bytes(b"of another")
    unknown = sampled.path.with_name(f"heapwright-{os.getpid()}-0.profile")
    unknown.write_bytes(b"no trace")
    target = tmp_path / "now.heapwright"
    done = ask("dump", process, "-o", str(target))
    told = ask("dump", str(os.getpid()))
    sampled.end()
    is_kept = unknown.exists()
    unknown.unlink()
    assert done.returncode == 0, done.stderr
    assert read_trace(target).facts["process_id"] == int(process)
    assert (told.returncode, "no samples yet" in told.stderr) == (2, True)
    assert not left.exists()
    assert is_kept, "of a start that is not known the id alone tells"


def test_memory_above_the_limit_is_dumped_once(tmp_path: Path) -> None:
    sampled = Sampled(tmp_path, "--dump-above", "120M")
    time.sleep(0.5)  # some looks
    assert not list(tmp_path.iterdir())
    sampled.go_on()
    dumped = until(lambda: list(tmp_path.glob("*.heapwright")))
    said = sampled.end()
    assert [path.name.split(".")[-2] for path in dumped] == [str(sampled.process)]
    assert "passed --dump-above" in said
    assert dumped[0].stat().st_mode & 0o777 == 0o600
    assert "python3" in ask("info", str(dumped[0])).stdout
    assert ask("explain", str(dumped[0]), "--unchecked").returncode == 0


def live_by_otlp(address: str) -> int:
    data = ProfilesData()
    with urllib.request.urlopen(address, timeout=60) as answer:
        assert answer.headers["Content-Type"] == "application/x-protobuf"
        data.ParseFromString(answer.read())
    (scope,) = data.resource_profiles[0].scope_profiles
    names = [data.dictionary.string_table[one.sample_type.type_strindex] for one in scope.profiles]
    profile = scope.profiles[names.index("inuse_space")]
    return sum(sample.values[0] for sample in profile.samples)


def test_serve_gives_pprof_and_otlp(served: Served, tmp_path: Path) -> None:
    sampled = Sampled(tmp_path)
    address = served.address.replace("/metrics", f"/debug/pprof/heap?pid={sampled.process}")

    def profile() -> bytes:
        done = subprocess.run(["curl", "-sf", address], capture_output=True, check=False, timeout=60)
        return done.stdout

    text = until(lambda: (got := profile()) and gzip.decompress(got))
    assert b"inuse_space" in text
    otlp = address.replace("pprof", "otlp")
    held = until(lambda: (found := live_by_otlp(otlp)) > 0.5 * KEPT_BYTES and found)
    sampled.end()
    assert held == pytest.approx(KEPT_BYTES, rel=0.4)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        served.get(f"/debug/pprof/heap?pid={os.getpid()}")


def test_serve_gives_the_sums_of_a_process_without_samples(served: Served) -> None:
    running = Running("cat")
    address = served.address.replace("/metrics", f"/debug/otlp/heap?pid={running.process.pid}")
    assert live_by_otlp(address) > 0
    running.end()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (("count", "--dump-above", "1G", "--", "true"), "--dump-above needs --sample"),
        (("count", "--sample", "0", "--", "true"), "above 0"),
        (("count", "--sample", "1M", "--pid", "1"), "need a program to start"),
        (("dump", "1"), "process 1 has no samples"),
    ],
)
def test_refusals(line: tuple[str, ...], reason: str) -> None:
    result = ask(*line)
    assert result.returncode == 2
    assert reason in result.stderr
    assert len(result.stderr.splitlines()) == 1


LOSER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct Node { struct Node* next; char filling[1000]; };
struct Node* g_list;
__attribute__((noinline)) void keep_one(void) {
  struct Node* node = calloc(1, sizeof *node);
  node->next = g_list;
  g_list = node;
}
__attribute__((noinline)) void lose_one(void) { void* volatile lost = calloc(1, 3000); lost = NULL; }
__attribute__((noinline)) void overwrite_stack(void) {
  volatile char filling[16384];
  for (int i = 0; i < 16384; ++i) filling[i] = 0;
}
int main(void) {
  for (int i = 0; i < 20000; ++i) keep_one();
  for (int i = 0; i < 1000; ++i) lose_one();
  overwrite_stack();
  puts("done");
  fflush(stdout);
  return getchar() == 0;
}
"""


def test_a_snapshot_tells_which_samples_are_lost(tmp_path: Path) -> None:
    (tmp_path / "loser.c").write_text(LOSER)
    subprocess.run(["gcc", "-O1", "loser.c", "-o", "loser"], check=True, cwd=tmp_path, timeout=120)
    line = [str(command), "count", "--sample", "16k", "--", str(tmp_path / "loser")]
    run = subprocess.Popen(
        line, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdout.readline() == "done\n"
    time.sleep(0.05)  # younger blocks are not judged
    (path,) = [
        path
        for path in folder.glob("heapwright-*.profile")
        if parent_of(parent_of(int(path.name.split("-")[1]))) == run.pid
    ]
    process = path.name.split("-")[1]
    taken = ask("snapshot", process)
    target = tmp_path / "now.heapwright"
    dumped = ask("dump", process, "-o", str(target))
    run.communicate("\n", timeout=60)
    assert taken.returncode == 0, taken.stderr
    assert f"heapwright dump {process}" in taken.stderr
    assert dumped.returncode == 0, dumped.stderr
    told = ask("explain", str(target), "--unchecked", "--question", "held", "--json")
    answer = json.loads(told.stdout)["questions"]["held"]
    assert answer["sample_bytes"] == 16384
    # 3 MB of 23 are lost, and as much of the samples.
    (lost,) = answer["lost"]
    assert lost["name"].startswith("lose_one")
    assert 80 < lost["blocks"] < 300
    assert answer["blocks"] - answer["lost_blocks"] > 600
