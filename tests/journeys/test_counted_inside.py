# SPDX-License-Identifier: MIT
"""count -- PROGRAM with an allocator in it, or static: what it counts is what a recording has."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from attaching import Attached, changed_code
from conftest import Record, command, programs
from counting import Counted, checked, count, environment, folder, library, only

KINDS = {
    "malloc": "malloc",
    "calloc": "calloc",
    "realloc": "realloc",
    "posix_memalign": "aligned",
    "aligned_alloc": "aligned",
    "memalign": "aligned",
    "operator new": "new",
    "free": "free",
    "free_sized": "free",
    "operator delete": "delete",
}


def as_counted(called: dict[str, int]) -> dict[str, int]:
    """A recording's calls by name, as count has them."""
    sums: Counter[str] = Counter()
    for name, calls in called.items():
        if name not in ("mmap", "munmap", "mremap", "madvise"):
            sums[KINDS[name]] += calls
    return dict(sums)


def calls_of(process: Counted) -> dict[str, int]:
    return {name: calls for name, calls in process["calls"].items() if calls}


@pytest.mark.parametrize(
    ("program", "allocator"),
    [
        ("inner_static", "glibc (static)"),
        ("inner_static_pie", "glibc (static)"),
        ("inner_prefixed", "jemalloc inside (je_malloc)"),
        ("two_allocators", "jemalloc inside (je_malloc) and libc.so.6"),
    ],
)
def test_it_counts_what_a_recording_has(record: Record, program: str, allocator: str) -> None:
    document = count(programs / program, "7")
    assert document["exit_code"] == 7
    assert document["notes"] == []
    process = only(document)
    recording = record(program, "7")
    assert recording.status == 7
    trace = recording.trace()
    null = trace.facts["null_frees"]
    recorded = as_counted(trace.facts["called"])
    recorded["free"] -= null
    assert calls_of(process) == {name: calls for name, calls in recorded.items() if calls}
    assert process["null_releases"] == null
    assert process["live_blocks"] == trace.facts["live_blocks"]
    assert process["program"] == program
    assert process["allocator"].startswith(allocator)
    assert not process["is_attached"], "nothing ran before"
    assert process["is_patched"]


def test_both_allocators_of_a_running_program_are_counted() -> None:
    with subprocess.Popen(
        [programs / "two_allocators", "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        assert process.stdout.readline() == "note ready 1\n"
        Attached(process.pid).end()
        attached = Attached(process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        for _ in range(12):
            process.stdout.readline()
        line = [str(command), "top", str(process.pid), "--once", "--interval", "0.1", "--json"]
        told = subprocess.run(line, capture_output=True, text=True, check=True, env=environment)
        totals = checked(told.stdout)["process"]
        attached.end()
        assert changed_code(process.pid) == []
        process.stdin.close()
    assert process.returncode == 0
    rounds = 4 * 500
    # Two of each round's mallocs and one realloc are libc's; so are the callocs of threads.
    assert totals["calls"]["realloc"] == 3 * rounds
    assert rounds <= totals["calls"]["calloc"] < rounds + 20
    assert totals["calls"]["malloc"] == 3 * rounds + 2


def test_what_it_executes_is_counted_as_well(tmp_path: Path) -> None:
    """By the library, which is not preloaded into the program itself."""
    source = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
void* je_malloc(size_t size) { static char pool[1 << 20]; static size_t used; used += size; return pool + used; }
void* je_calloc(size_t count, size_t size) { return je_malloc(count * size + 1); }
void* je_realloc(void* block, size_t size) { return block ? je_malloc(size) : je_malloc(size + 1); }
void je_free(void* block) { static volatile int freed; if (block) ++freed; }
int main(int count, char** words) {
  for (int call = 0; call < 10; ++call) je_free(je_malloc(100));
  printf("preloaded: %s\\n", getenv("LD_PRELOAD"));
  fflush(stdout);
  if (count > 2) { execv(words[2], words + 2); return 3; }
  const pid_t child = fork();
  if (child == 0) { execl(words[1], words[1], (char*)NULL); _exit(3); }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}
"""
    program = tmp_path / "executes"
    line = ["gcc", "-x", "c", "-", "-O0", "-o", str(program)]
    subprocess.run(line, input=source, text=True, check=True, timeout=60)
    for words in (["/bin/ls"], ["/bin/ls", "/bin/ls"]):
        for other in ("", "/usr/lib/x86_64-linux-gnu/libm.so.6"):
            result = subprocess.run(
                [str(command), "count", "--json", "--", program, *words], capture_output=True, text=True,
                check=False, timeout=60, env={**environment, **({"LD_PRELOAD": other} if other else {})},
            )  # fmt: skip
            assert result.returncode == 0, result.stderr
            expected = f"{library}:{other}" if other else str(library)
            assert f"preloaded: {expected}" in result.stderr, result.stderr
            document = checked(result.stdout.splitlines()[-1])
            counted = {process["program"]: process for process in document["processes"]}
            assert set(counted) == {"executes", "ls"}, document
            assert counted["executes"]["calls"]["malloc"] >= 10
            assert counted["ls"]["calls"]["malloc"] > 0
            assert not counted["ls"]["is_patched"]
            assert document["notes"] == []


def test_signals_and_codes_pass_through() -> None:
    code = subprocess.run(
        [str(command), "count", "--", programs / "inner_prefixed", "9"],
        capture_output=True, check=False, env=environment, timeout=60,
    ).returncode  # fmt: skip
    assert code == 9
    with subprocess.Popen(
        [str(command), "count", "--json", "--", programs / "two_allocators", "waits"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as counting:  # fmt: skip
        assert counting.stderr and counting.stdout
        assert counting.stderr.readline() == "note ready 1\n"
        counting.send_signal(signal.SIGTERM)
        output, _ = counting.communicate(timeout=60)
    assert counting.returncode == 128 + signal.SIGTERM
    document = checked(output.splitlines()[-1])
    assert document["exit_code"] == 128 + signal.SIGTERM
    assert only(document)["is_patched"]
    assert not [
        path for path in folder.iterdir() if path.name.startswith(f"heapwright-{only(document)['process']}.")
    ]


def test_what_cannot_be_attached_to_is_counted_as_others_are(tmp_path: Path) -> None:
    """A stripped program has no names of its allocator."""
    path = tmp_path / "stripped"
    subprocess.run(["strip", "-o", path, programs / "inner_static"], check=True)
    result = subprocess.run(
        [str(command), "count", "--json", "--", path, "7"],
        capture_output=True, text=True, check=False, env=environment, timeout=60,
    )  # fmt: skip
    assert result.returncode == 7, result.stderr
    document: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    assert document["processes"] == []
    assert "nothing was counted" in document["notes"][0]
    assert "its executable is stripped" in result.stderr


def test_a_killed_command_leaves_the_program(tmp_path: Path) -> None:
    """It goes on, with its code as it was."""
    with subprocess.Popen(
        [str(command), "count", "--", programs / "two_allocators", "waits"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as counting:  # fmt: skip
        assert counting.stdout and counting.stdin
        assert counting.stdout.readline() == "note ready 1\n"
        collector = int(Path(f"/proc/{counting.pid}/task/{counting.pid}/children").read_text().split()[0])
        children = Path(f"/proc/{collector}/task/{collector}/children").read_text().split()
        program = next(int(one) for one in children if name_of(int(one)) == "two_allocators")
        os.kill(collector, signal.SIGKILL)
        counting.stdin.write("\n")
        counting.stdin.flush()
        said = [counting.stdout.readline() for _ in range(10)]
        assert said[-1], said
        wait_until_whole(program)
        counting.stdin.close()
        counting.wait(timeout=60)


def name_of(process: int) -> str:
    return Path(f"/proc/{process}/comm").read_text().strip()


def wait_until_whole(process: int) -> None:
    deadline = time.monotonic() + 10
    while changed_code(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert changed_code(process) == []
