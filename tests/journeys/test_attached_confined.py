# SPDX-License-Identifier: MIT
"""Processes that take system calls from themselves, before or while they are attached to, and those that
cannot be attached to for the moment: none of them notices."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attaching import Attached, changed_code, refused
from conftest import command, read_trace
from counting import ask, checked

# Answers each line: "pairs" by 100,000 pairs of calls, more than a ring holds; another one by confining itself
# in this way. It may then read, write and end, and no more.
PROGRAM = """
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static int confine(const char* way) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
  if (!strcmp(way, "strict")) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  if (!strcmp(way, "clock")) return prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  if (!strcmp(way, "syscall")) return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}
static void make_pairs(int count) {
  for (int pair = 0; pair < count; ++pair) {
    void* volatile block = malloc(301);
    free(block);
  }
}
int main(int count, char** words) {
  /* Numbers that look as if a signal handler would return to the first instructions of malloc. */
  volatile uintptr_t within[4] = {0};
  for (int at = 0; count > 1 && at < 4; ++at) within[at] = (uintptr_t)&malloc + 1 + at;
  make_pairs(1);
  if (write(1, "ready\\n", 6) != 6) return 3;
  for (char line[64]; ; ) {
    const ssize_t bytes = read(0, line, sizeof line - 1);
    if (bytes <= 1) break;
    line[bytes - 1] = 0;
    if (!strcmp(line, "pairs")) make_pairs(100000);
    else if (confine(line)) return 4;
    if (write(1, "done\\n", 5) != 5) return 5;
  }
  (void)words;
  make_pairs(within[3] == 1);
  syscall(SYS_exit, 7);
}
"""
WAYS = ["strict", "clock", "syscall", "prctl"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("confined") / "answers"
    line = ["gcc", "-x", "c", "-", "-O1", "-g", "-o", str(path)]
    subprocess.run(line, input=PROGRAM, text=True, check=True, timeout=60)
    return path


class Answering:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = process.pid

    def ask(self, line: str) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n", (line, self.process.poll())

    def end(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(timeout=60)


@contextmanager
def running(*line: object) -> Iterator[Answering]:
    with subprocess.Popen(
        [str(word) for word in line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            assert process.stdout.readline() == "ready\n"
            yield Answering(process)
        finally:
            process.kill()


def test_a_process_in_strict_mode_is_refused_whatever_is_forced(program: Path, tmp_path: Path) -> None:
    with running(program) as one:
        one.ask("strict")
        assert "it is in seccomp's strict mode" in refused(one.pid)
        line = ["record", "--pid", str(one.pid), "--output", str(tmp_path / "a.heapwright")]
        forced = ask(*line, "--despite-seccomp")
        assert (forced.returncode, forced.stderr.count("\n")) == (2, 1)
        one.ask("pairs")
        assert one.end() == 7


@pytest.mark.parametrize("way", WAYS)
def test_one_that_confines_itself_while_it_is_counted(program: Path, way: str) -> None:
    with running(program) as one:
        attached = Attached(one.pid)
        one.ask("pairs")
        one.ask(way)
        one.ask("pairs")
        result = ask("top", str(one.pid), "--once", "--interval", "0.1", "--json")
        assert checked(result.stdout)["process"]["calls"]["malloc"] == 200_000
        assert attached.end()["reason"] == "asked"
        assert changed_code(one.pid) == []
        one.ask("pairs")
        assert one.end() == 7


@pytest.mark.parametrize("way", WAYS)
def test_one_that_confines_itself_while_it_is_recorded(program: Path, way: str, tmp_path: Path) -> None:
    path = tmp_path / "a.heapwright"
    with running(program) as one:
        line = ["record", "--pid", str(one.pid), "--output", str(path), "--duration", "4s"]
        with subprocess.Popen(
            [str(command), *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as recorder:
            assert recorder.stderr
            assert "stopped for" in (said := recorder.stderr.readline()), said
            one.ask("pairs")
            one.ask(way)
            one.ask("pairs")
            assert recorder.wait(timeout=60) == 0, recorder.stderr.read()
        assert changed_code(one.pid) == []
        one.ask("pairs")
        assert one.end() == 7
    trace = read_trace(path)
    made = trace.count("allocated", "malloc", 301)
    if way in ("syscall", "prctl"):
        assert made == 200_000
        assert trace.problems() == []
    else:
        assert made == 100_000, "the clock is gone"
        assert trace.facts["dropped"] > 0


def test_one_with_a_thread_that_does_not_stop_goes_on(tmp_path: Path) -> None:
    """It waits in the kernel for a child of vfork, as in a driver."""
    source = """
#include <stdio.h>
#include <string.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void* waits(void* unused) {
  (void)unused;
  if (vfork() == 0) { sleep(30); _exit(0); }
  return NULL;
}
int main(void) {
  char line[16];
  pthread_t thread;
  if (pthread_create(&thread, NULL, waits, NULL)) return 3;
  usleep(300000);
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    free(malloc(301));
    puts("done");
    fflush(stdout);
  }
  _exit(7);
}
"""
    program = tmp_path / "waits"
    line = ["gcc", "-x", "c", "-", "-O1", "-pthread", "-o", str(program)]
    subprocess.run(line, input=source, text=True, check=True, timeout=60)
    with running(program) as one:
        for verb, more in (("count", []), ("record", ["--output", str(tmp_path / "a.heapwright")])):
            begin = time.monotonic()
            result = ask(verb, "--pid", str(one.pid), "--duration", "0.1", *more)
            assert result.returncode == 2, result.stderr
            assert result.stderr.count("\n") == 1, result.stderr
            assert "does not stop; it waits in the kernel" in result.stderr
            assert time.monotonic() - begin < 20
            one.ask("x")
        assert changed_code(one.pid) == []
        one.ask("x")
        assert one.end() == 7


def descriptors(process: int) -> list[str]:
    return sorted(file.name for file in Path(f"/proc/{process}/fd").iterdir())


def test_one_whose_code_is_never_free_to_change_goes_on(program: Path, tmp_path: Path) -> None:
    """What is on its stack looks like the address of a first instruction, whenever it is stopped."""
    with running(program, "within") as one:
        files = descriptors(one.pid)
        assert "its threads never reached code where they can be stopped; try again" in refused(one.pid)
        assert changed_code(one.pid) == []
        assert descriptors(one.pid) == files
        assert not Path(f"/dev/shm/heapwright-{one.pid}.calls").exists()
        one.ask("pairs")
        assert one.end() == 7


def test_counting_goes_on_from_what_is_unconfined(program: Path) -> None:
    """The control of the tests above: as long as nothing is confined, calls are timed."""
    with running(program) as one:
        attached = Attached(one.pid)
        one.ask("pairs")
        result = ask("top", str(one.pid), "--once", "--interval", "0.1", "--json")
        timed = checked(result.stdout)["process"]["making"]["timed_calls"]
        assert timed > 500
        one.ask("prctl")
        one.ask("pairs")
        result = ask("top", str(one.pid), "--once", "--interval", "0.1", "--json")
        assert checked(result.stdout)["process"]["making"]["timed_calls"] - timed < 50
        attached.end()
        assert one.end() == 7
