# SPDX-License-Identifier: MIT
"""A program with another C library, musl, recorded and counted while it runs."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from attaching import Attached, answer, changed_code, totals_of
from conftest import read_trace
from recorded_processes import Recording

pytestmark = pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="needs musl-gcc")

# For each line of input: threads that come and go, and each function once more.
rounds = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile last_block;
static void *keep(void *block) { return last_block = block; }

__attribute__((noinline)) void *work(void *unused) {
  for (int i = 0; i < 500; ++i) free(keep(malloc(3001)));
  return unused;
}

int main(void) {
  char line[64];
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
    free(keep(realloc(keep(malloc(3011)), 3013)));
    free(keep(calloc(5, 603)));
    void *aligned = NULL;
    if (posix_memalign(&aligned, 64, 3017) != 0) return 1;
    free(keep(aligned));
    const pid_t child = fork();
    if (child == 0) {
      free(keep(malloc(3019)));
      _exit(0);
    }
    waitpid(child, NULL, 0);
    puts("done");
    fflush(stdout);
  }
  return 3;
}
"""


@pytest.fixture(name="process")
def _process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    program = tmp_path / "rounds"
    build = ["musl-gcc", "-g", "-O1", "-x", "c", "-", "-o", str(program)]
    subprocess.run(build, input=rounds, text=True, check=True, timeout=60)
    with subprocess.Popen(
        [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_its_calls_are_recorded_with_their_stacks(process: subprocess.Popen[str], tmp_path: Path) -> None:
    for turn in range(3):
        recording = Recording(process.pid, tmp_path / f"{turn}.heapwright")
        answer(process)
        trace = recording.end()
        assert trace.problems() == []
        made = {
            (function, size): trace.count("allocated", function, size)
            for function, size in (
                ("malloc", 3001),
                ("malloc", 3011),
                ("realloc", 3013),
                ("calloc", 3015),
                ("posix_memalign", 3017),
                ("malloc", 3019),
            )
        }
        assert list(made.values()) == [4000, 1, 1, 1, 1, 0], made
        assert trace.count("released", "free", 3001) == 4000
        stacks = read_trace(trace.path, 3001).facts["stacks"]
        paths = {frame[0] if isinstance(frame, list) else frame for stack in stacks for frame in stack}
        assert any(path.endswith("/rounds") for path in paths), paths
        assert changed_code(process.pid) == []
        answer(process)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 3


def test_its_calls_and_threads_are_counted(process: subprocess.Popen[str]) -> None:
    attached = Attached(process.pid)
    answer(process)
    totals = totals_of(process.pid)
    attached.end()
    assert totals["made_blocks"] == 4003, totals  # realloc makes none
    assert totals["live_blocks"] == 0, totals
    assert totals["threads_begun"] == 9, totals
    assert changed_code(process.pid) == []
    answer(process)
