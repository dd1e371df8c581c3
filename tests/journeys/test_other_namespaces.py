# SPDX-License-Identifier: MIT
"""Processes of another PID namespace, as in a container: what the kernel and a snapshot tell of them."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from attaching import changed_code
from conftest import command, find_child, read_trace
from counting import ask

# A thread fills 200 blocks of 50,000 bytes that a global variable holds, and one that a thread-local holds.
PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
char** g_kept;
static __thread char* t_own;
__attribute__((noinline)) static void make_block(int number) {
  g_kept[number] = malloc(50000);
  memset(g_kept[number], 1, 50000);
}
static void* work(void* pipe) {
  g_kept = calloc(200, sizeof *g_kept);
  t_own = malloc(777);
  for (int number = 0; number < 200; ++number) make_block(number);
  puts("made");
  fflush(stdout);
  char letter;
  (void)!read(*(int*)pipe, &letter, 1);
  return t_own;
}
int main(void) {
  int input = 0;
  char line[16];
  pthread_t thread;
  puts("ready");
  fflush(stdout);
  (void)!fgets(line, sizeof line, stdin);
  pthread_create(&thread, NULL, work, &input);
  pthread_join(thread, NULL);
  return 7;
}
"""
NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make namespaces")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("elsewhere") / "fills"
    line = ["gcc", "-x", "c", "-", "-O1", "-g", "-pthread", "-o", str(path)]
    subprocess.run(line, input=PROGRAM, text=True, check=True, timeout=60)
    return path


def rows(path: Path, query: str) -> list[dict[str, Any]]:
    result = ask("sql", str(path), query, "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    return [dict(zip(document["columns"], row, strict=True)) for row in document["rows"]]


def check(path: Path) -> None:
    trace = read_trace(path, 50_000)
    assert trace.problems() == []
    assert trace.count("allocated", "malloc", 50_000) == 200
    conditions = dict(line.split("\t", 1) for line in trace.facts["conditions"])
    assert conditions["kernel_events"] == "recorded"
    assert not [name for name in conditions if name.startswith("snapshot_failed")]
    threads = {row["thread_id"] for row in rows(path, "select thread_id from thread")}
    assert threads <= {1, 2}, "their ids in the namespace"
    (local,) = rows(path, "select * from root where kind = 'thread-local' order by snapshot_ns desc limit 1")
    assert local["thread_id"] == 2


def test_one_that_runs_is_seen_whole_from_outside(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.heapwright"
    with subprocess.Popen(
        [*NAMESPACE, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdin and started.stdout
        assert started.stdout.readline() == "ready\n"
        pid = find_child(started.pid, "fills")
        with subprocess.Popen(
            [str(command), "record", "--pid", str(pid), "--output", str(path)],
            stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as recorder:  # fmt: skip
            assert recorder.stderr
            assert "stopped for" in (said := recorder.stderr.readline()), said
            started.stdin.write("go\n")
            started.stdin.flush()
            assert started.stdout.readline() == "made\n"
            snapshot = ask("snapshot", str(pid))
            assert snapshot.returncode == 0, snapshot.stderr
            assert changed_code(pid) != []
            started.stdin.close()
            assert started.wait(timeout=60) == 7
            recorder.wait(timeout=60)
    check(path)
    document = json.loads(ask("explain", str(path), "--unchecked", "--json").stdout)
    assert document["summary"]["page_faults"]["seen_faults"] >= 1000, "of its own blocks"


def test_one_that_starts_in_it_is_seen_whole(program: Path, tmp_path: Path) -> None:
    line = [str(command), "record", "--children", "--snapshot", "end"]
    line += ["--output", f"{tmp_path}/%e.%p.heapwright", "--", *NAMESPACE, str(program)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder:
        assert recorder.stdin and recorder.stdout
        assert recorder.stdout.readline() == "ready\n"
        recorder.stdin.write("go\n")
        recorder.stdin.flush()
        assert recorder.stdout.readline() == "made\n"
        time.sleep(0.1)
        pid = next(int(one.name.split(".")[1]) for one in tmp_path.glob("fills.*"))
        done = ask("snapshot", str(pid))
        assert done.returncode == 0, done.stderr
        recorder.stdin.close()
        assert recorder.wait(timeout=60) == 7
    (path,) = tmp_path.glob("fills.*.heapwright")
    check(path)
