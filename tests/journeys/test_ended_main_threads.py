# SPDX-License-Identifier: MIT
"""Processes whose main thread has ended while others go on: the kernel shows them by another thread."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attaching import Attached, changed_code
from conftest import command as heapwright
from conftest import read_trace
from counting import ask, checked, environment, folder, library, only

# Three threads allocate all the time; another one answers lines: "make N" makes and frees N blocks. Blocks
# are filled, and looked at before they are freed.
PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile int g_ends;
static char* fill(size_t bytes, int with) { char* block = malloc(bytes); memset(block, with, bytes); return block; }
static void let_go(char* block, size_t bytes, int with) {
  for (size_t at = 0; at < bytes; ++at) if (block[at] != (char)with) abort();
  free(block);
}
static void* busy(void* number) {
  const int with = (int)(long)number;
  while (!g_ends) { char* block = fill(300, with); let_go(block, 300, with); }
  return NULL;
}
__attribute__((noinline)) void make_block(void) { let_go(fill(4101, 9), 4101, 9); }
static void* answer(void* unused) {
  char line[64];
  pthread_t threads[3];
  const int is_busy = unused != NULL;
  for (long one = 0; is_busy && one < 3; ++one) pthread_create(&threads[one], NULL, busy, (void*)one);
  while (fgets(line, sizeof line, stdin) && line[0] != 'q') {
    for (int count = atoi(line + 5); count > 0; --count) make_block();
    puts("done");
    fflush(stdout);
  }
  g_ends = 1;
  for (int one = 0; is_busy && one < 3; ++one) pthread_join(threads[one], NULL);
  exit(7);
}
int main(int count, char** words) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, answer, count > 1 ? words : NULL)) return 3;
  pthread_exit(NULL);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("goes_on") / "goes_on"
    line = ["gcc", "-x", "c", "-", "-O1", "-g", "-pthread", "-o", str(path)]
    subprocess.run(line, input=PROGRAM, text=True, check=True, timeout=60)
    return path


class GoesOn:
    """It, once its main thread has ended."""

    def __init__(self, *line: object, **variables: str) -> None:
        self.process = subprocess.Popen(
            [str(word) for word in line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**environment, **variables},
        )  # fmt: skip
        self.pid = self.process.pid
        status = Path(f"/proc/{self.pid}/status")
        deadline = time.monotonic() + 20
        while "\nState:\tZ" not in status.read_text() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert Path(f"/proc/{self.pid}/maps").read_text() == "", "so nothing is seen by its main thread"
        (self.thread, *_) = (
            int(one.name) for one in Path(f"/proc/{self.pid}/task").iterdir() if int(one.name) != self.pid
        )
        self.make(1)  # the C library's buffers are allocated

    def make(self, count: int) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"make {count}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def __enter__(self) -> "GoesOn":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def quit(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(timeout=60)


@pytest.fixture
def idle(program: Path) -> Iterator[GoesOn]:
    with GoesOn(program) as one:
        yield one


@pytest.fixture
def busy(program: Path) -> Iterator[GoesOn]:
    with GoesOn(program, "busy") as one:
        yield one


def test_it_is_counted(idle: GoesOn) -> None:
    for _ in range(2):
        attached = Attached(idle.pid)
        idle.make(1000)
        document = top(idle.pid)
        assert document["process"]["calls"]["malloc"] == document["process"]["calls"]["free"] == 1000
        assert document["processes"][0]["anonymous_bytes"] > 0
        assert attached.end()["reason"] == "asked"
        assert changed_code(idle.thread) == []
    assert idle.quit() == 7


def top(process: int) -> dict[str, Any]:
    result = ask("top", str(process), "--once", "--interval", "0.1", "--json")
    assert result.returncode == 0, result.stderr
    return checked(result.stdout)


def test_it_is_recorded(idle: GoesOn, tmp_path: Path) -> None:
    path = tmp_path / "a.heapwright"
    line = ["record", "--pid", str(idle.pid), "--output", str(path), "--json"]
    with subprocess.Popen(
        [str(heapwright), *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as recorder:
        assert recorder.stderr
        assert "stopped for" in (said := recorder.stderr.readline()), said
        idle.make(1000)
        snapshot = ask("snapshot", str(idle.pid))
        assert snapshot.returncode == 0, snapshot.stderr
        recorder.send_signal(signal.SIGINT)
        output, errors = recorder.communicate(timeout=60)
    assert recorder.returncode == 0, errors
    assert json.loads(output)["files"]
    trace = read_trace(path, 4101)
    assert trace.problems() == []
    assert trace.count("allocated", "malloc", 4101) == 1000
    assert trace.facts["process_id"] == idle.pid
    conditions = dict(line.split("\t", 1) for line in trace.facts["conditions"])
    assert conditions["kernel_events"] == "recorded"
    assert conditions.get("environment") != "unreadable"
    assert changed_code(idle.thread) == []
    assert idle.quit() == 7


def test_a_killed_command_leaves_it_as_it_was(busy: GoesOn, tmp_path: Path) -> None:
    """At any moment. heapwright-attach lives on and ends what it began."""
    for turn in range(60):
        kind = ["count"] if turn % 2 else ["record", "--force", "--output", str(tmp_path / "a.heapwright")]
        with subprocess.Popen(
            [str(heapwright), kind[0], "--pid", str(busy.pid), *kind[1:]],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True,
        ) as killed:  # fmt: skip
            time.sleep(0.25 + 0.01 * (turn % 20))
            killed.kill()
        busy.make(10)
    deadline = time.monotonic() + 30
    while changed_code(busy.thread) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert changed_code(busy.thread) == []
    attached = Attached(busy.pid)
    assert not attached.attached["healed"]
    attached.end()
    assert busy.quit() == 7


def test_one_that_counts_by_itself_is_seen(program: Path) -> None:
    """Its page would be taken for that of a process that has ended."""
    with GoesOn(program, LD_PRELOAD=str(library)) as process:
        process.make(1000)
        assert (folder / f"heapwright-{process.pid}.calls").exists()
        for _ in range(2):
            document = top(process.pid)
            assert document["process"]["calls"]["malloc"] >= 1000
        assert document["processes"][0]["resident_bytes"] > 0
        assert process.quit() == 7


def test_its_samples_are_dumped(program: Path, tmp_path: Path) -> None:
    line = [str(heapwright), "count", "--sample", "1k", "--", str(program)]
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment, cwd=tmp_path,
    ) as command:  # fmt: skip
        assert command.stdin and command.stdout
        command.stdin.write("make 1000\n")
        command.stdin.flush()
        assert command.stdout.readline() == "done\n"
        path = tmp_path / "dumped.heapwright"
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            done = ask("dump", "goes_on", "--output", str(path))
            if done.returncode == 0 and read_trace(path).count("allocated", "malloc", 4101) > 900:
                break
            path.unlink(missing_ok=True)
            time.sleep(0.2)
        assert path.exists(), done.stderr
        command.stdin.close()
        assert command.wait(timeout=60) == 7


def test_count_tells_of_the_whole_run(program: Path) -> None:
    with subprocess.Popen(
        [str(heapwright), "count", "--json", "--", str(program)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as command:  # fmt: skip
        output, errors = command.communicate("make 1000\n", timeout=60)
    assert command.returncode == 7, errors
    assert only(checked(output.splitlines()[-1]))["calls"]["malloc"] >= 1000
