# SPDX-License-Identifier: MIT
"""Processes that snapshots cannot be taken of: one line says why and what to do, and the process runs on. And
one that was such a process: its main thread has ended."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import heapwright
import pytest
from conftest import collector, command
from test_held import held
from test_snapshots import snapshot

_NOBODY = 65534
# Answers a line of its input; ends with it.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
void* g_held;
int main(void) {
  char line[16];
  g_held = malloc(1000);
  BEGIN;
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) { puts("runs"); fflush(stdout); }
  return 0;
}
"""
# Like a container's: what asks for it gets an error.
LAUNCHER = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char** words) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 3;
  execvp(words[1], words + 1);
  return count < 2 ? 2 : 4;
}
"""


def compiled(folder: Path, name: str, source: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["gcc", "-O1", f"{name}.c", "-o", name], check=True, cwd=folder, timeout=120)
    return folder / name


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """That other users may use."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


class Asked:
    """A recorded program that answers lines."""

    def __init__(self, process: subprocess.Popen[str], path: Path) -> None:
        self.process = process
        self.path = path

    @property
    def pid(self) -> int:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return int(children.split()[0])

    def answers(self) -> bool:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("on\n")
        self.process.stdin.flush()
        return self.process.stdout.readline() == "runs\n"

    def end(self) -> list[str]:
        """Why snapshots failed."""
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0
        told = heapwright.open(self.path).metadata.conditions
        return [one.partition("\t")[2] for one in told if one.startswith("snapshot_failed")]


@contextmanager
def recorded(folder: Path, *words: object, user: int | None = None) -> Iterator[Asked]:
    path = folder / "one.heapwright"
    line = [*words[:-1], collector, "--quiet", "--snapshot", "end", "--output", path, "--", words[-1]]
    with subprocess.Popen(
        [str(word) for word in line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        user=user, group=user, extra_groups=None if user is None else [],
    ) as process:  # fmt: skip
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            yield Asked(process, path)
        finally:
            process.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_process_that_is_not_dumpable_is_told(open_folder: Path) -> None:
    program = compiled(open_folder, "hides", PROGRAM.replace("BEGIN", "prctl(PR_SET_DUMPABLE, 0)"))
    why = "it is not dumpable (PR_SET_DUMPABLE) or has file capabilities; only root may trace it"
    with recorded(open_folder, program, user=_NOBODY) as asked:
        done = subprocess.run(
            [collector, "--snapshot-of", str(asked.pid)],
            capture_output=True, text=True, timeout=60, check=False, user=_NOBODY, group=_NOBODY,
        )  # fmt: skip
        said = f"heapwright: no snapshot of process {asked.pid}: {why}"
        assert (done.returncode, done.stderr.strip()) == (2, said)
        assert asked.answers()
        assert asked.end() == [why]
    assert held(open_folder / "one.heapwright")["not_known"] == why


def test_where_nothing_may_be_traced_it_is_told(tmp_path: Path) -> None:
    launcher = compiled(tmp_path, "launcher", LAUNCHER)
    program = compiled(tmp_path, "program", PROGRAM.replace("BEGIN", ""))
    with recorded(tmp_path, launcher, program) as asked:
        done = snapshot(asked.pid)
        begin = f"heapwright: no snapshot of process {asked.pid}: the kernel forbids it"
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert done.stderr.startswith(begin)
        assert "SYS_PTRACE" in done.stderr, "what to do"
        assert asked.answers()
        (why,) = asked.end()
    assert done.stderr.strip().endswith(why)


# Its main thread ends; another one answers.
GOES_ON = PROGRAM.replace("int main(void)", "static void* answer(void* unused)").replace(
    "BEGIN", "(void)unused"
)
GOES_ON += """
#include <pthread.h>
int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, answer, NULL)) return 3;
  pthread_exit(NULL);
}
"""


def test_the_memory_of_a_process_whose_main_thread_has_ended_is_seen(tmp_path: Path) -> None:
    program = compiled(tmp_path, "goes_on", GOES_ON)
    with recorded(tmp_path, program) as asked:
        deadline_s = time.monotonic() + 60
        while "\nVmSize:" in Path(f"/proc/{asked.pid}/status").read_text() and time.monotonic() < deadline_s:
            time.sleep(0.01)
        done = snapshot(asked.pid)
        assert done.returncode == 0, done.stderr
        assert asked.answers()
        assert asked.end() == []
    answer = held(tmp_path / "one.heapwright")
    assert answer["snapshots"] == 2  # the C library exits when the last thread has ended
    assert "g_held" in [row["symbol"] for row in answer["holders"]]


def test_a_process_under_a_debugger_is_told(tmp_path: Path) -> None:
    """Here another collector's snapshot cannot be: the tracer is a program of its own."""
    program = compiled(tmp_path, "program", PROGRAM.replace("BEGIN", ""))
    tracer = """
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
seize, detach = 0x4206, 17
assert libc.ptrace(seize, int(sys.argv[1]), None, None) == 0
print("traced", flush=True)
sys.stdin.readline()
"""
    with recorded(tmp_path, program) as asked:
        line = ["python3", "-c", tracer, str(asked.pid)]
        with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as debugger:
            assert debugger.stdin and debugger.stdout
            assert debugger.stdout.readline() == "traced\n"
            done = snapshot(asked.pid)
            debugger.stdin.close()
        said = f"it is traced by process {debugger.pid} (a debugger?); end that first"
        assert (done.returncode, done.stderr) == (
            2,
            f"heapwright: no snapshot of process {asked.pid}: {said}\n",
        )
        assert asked.answers()
        again = snapshot(asked.pid)
        assert again.returncode == 0, again.stderr
        assert asked.end() == [said]


def test_there_is_no_such_process() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    done = snapshot(ended.pid)
    assert (done.returncode, done.stderr) == (2, f"heapwright: there is no process {ended.pid}\n")
    done = subprocess.run(
        [command, "snapshot", "no-such-name"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
