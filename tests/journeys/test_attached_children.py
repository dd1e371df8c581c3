# SPDX-License-Identifier: MIT
"""Children of a process that is attached to: recorded with --children, and never harmed by it."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attaching import changed_code
from conftest import Trace, read_trace
from counting import ask
from recorded_processes import Recording

pytestmark = pytest.mark.full

# Waits for words on its standard input and does what each says; answers a line each.
starts = r"""
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
static char* self;
static volatile int is_over;
static volatile long started, wrong;
__attribute__((noinline)) static void make(int count, size_t size) {
  for (int i = 0; i < count; ++i) {
    char* volatile block = malloc(size);
    memset(block, i, size);
    free(block);
  }
}
static int wait_for(pid_t child) {
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
static void confine(const char* how) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {4, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (strstr(how, "prctl")) prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
  if (strstr(how, "syscall")) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
  if (strstr(how, "clock")) prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
}
static int confined(const char* how) {
  pid_t child = fork();
  if (child == 0) {
    if (strstr(how, "late")) make(10, 6001);
    confine(how);
    make(20, 6001);
    _exit(4);
  }
  return wait_for(child);
}
static int forked(void) {
  pid_t child = fork();
  if (child == 0) {
    make(100, 5001);
    _exit(6);
  }
  return wait_for(child);
}
static int executed(int is_vfork) {
  char* arguments[] = {self, "again", "5002", NULL};
  pid_t child = is_vfork ? vfork() : fork();
  if (child == 0) {
    execv(self, arguments);
    _exit(98);
  }
  return wait_for(child);
}
static int spawned(void) {
  char* arguments[] = {self, "again", "5003", NULL};
  pid_t child = -1;
  char* few[] = {"A=1", NULL};
  return posix_spawn(&child, self, NULL, NULL, arguments, few) == 0 ? wait_for(child) : -1;
}
static int by_shell(void) {
  char line[4096];
  snprintf(line, sizeof line, "'%s' again 5004", self);
  return WEXITSTATUS(system(line));
}
static int failing(void) {
  pid_t child = vfork();
  if (child == 0) {
    execl("/nonexistent", "nonexistent", NULL);
    _exit(4);
  }
  return wait_for(child);
}
static void* storm(void* number) {
  while (!is_over) {
    const int expected[] = {6, 7, 7, 7, 4};
    const long kind = (long)number;
    const int status = kind == 0   ? forked()
                       : kind == 1 ? executed(0)
                       : kind == 2 ? executed(1)
                       : kind == 3 ? spawned()
                                   : failing();
    __sync_fetch_and_add(&started, 1);
    if (status != expected[kind]) __sync_fetch_and_add(&wrong, 1);
    make(10, 5005);
  }
  return NULL;
}
static int run(const char* word) {
  if (!strcmp(word, "fork")) return forked();
  if (!strcmp(word, "exec")) return executed(0);
  if (!strcmp(word, "vfork")) return executed(1);
  if (!strcmp(word, "spawn")) return spawned();
  if (!strcmp(word, "shell")) return by_shell();
  if (!strcmp(word, "fail")) return failing();
  if (!strncmp(word, "confine", 7)) return confined(word);
  return -1;
}
int main(int count, char** arguments) {
  self = arguments[0];
  if (count == 3) {
    make(100, atoi(arguments[2]));
    return 7;
  }
  puts("ready");
  fflush(stdout);
  pthread_t threads[5];
  for (char word[64]; scanf("%63s", word) == 1;) {
    if (!strcmp(word, "storm")) {
      for (long i = 0; i < 5; ++i) pthread_create(&threads[i], NULL, storm, (void*)i);
      puts("storm");
    } else if (!strcmp(word, "calm")) {
      is_over = 1;
      for (int i = 0; i < 5; ++i) pthread_join(threads[i], NULL);
      printf("%ld %ld\n", started, wrong);
    } else if (!strcmp(word, "become")) {
      char* again[] = {self, "again", "5006", NULL};
      execv(self, again);
    } else if (!strcmp(word, "child")) {
      if (fork() == 0) continue;  // it listens from now on
      pause();
    } else {
      printf("%d\n", run(word));
    }
    fflush(stdout);
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("starts") / "starts"
    line = ["gcc", "-O1", "-g", "-x", "c", "-", "-o", path, "-pthread"]
    subprocess.run(line, input=starts, text=True, check=True, timeout=60)
    return path


class Starter:
    """The program above."""

    def __init__(self, program: Path) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.read() == "ready"

    @property
    def pid(self) -> int:
        return self.process.pid

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def say(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def ask(self, word: str) -> str:
        self.say(word)
        return self.read()


@contextmanager
def running(program: Path) -> Iterator[Starter]:
    starter = Starter(program)
    try:
        yield starter
    finally:
        starter.process.kill()
        starter.process.communicate()


@pytest.fixture
def starter(program: Path) -> Iterator[Starter]:
    with running(program) as one:
        yield one


def recording_of(starter: Starter, folder: Path) -> Recording:
    return Recording(starter.pid, folder / "%e.%p.%s.heapwright", "--children")


def traces_of(recording: Recording, folder: Path) -> list[Trace]:
    recording.recorder.send_signal(2)
    recording.wait()
    return [read_trace(path) for path in sorted(folder.glob("*.heapwright"))]


def made(trace: Trace, size: int) -> int:
    return trace.count("allocated", "malloc", size)


def test_every_kind_of_child_is_recorded(starter: Starter, tmp_path: Path) -> None:
    recording = recording_of(starter, tmp_path)
    assert starter.ask("fork") == "6"
    for word in ("exec", "vfork", "spawn", "shell"):
        assert starter.ask(word) == "7", word
    assert starter.ask("fail") == "4"
    traces = traces_of(recording, tmp_path)
    for trace in traces:
        assert trace.problems() == [], trace.path
    by_size = {size: [t for t in traces if made(t, size)] for size in range(5001, 5005)}
    assert {size: [made(t, size) for t in found] for size, found in by_size.items()} == {
        5001: [100],
        5002: [100, 100],  # by fork and vfork
        5003: [100],
        5004: [100],
    }
    forked, executed = by_size[5001][0].facts, by_size[5002][0].facts
    assert forked["parent_process_id"] == executed["parent_process_id"] == starter.pid
    assert "attached\tyes" not in forked["conditions"] + executed["conditions"]
    assert [t.facts["process_id"] for t in traces if "attached\tyes" in t.facts["conditions"]] == [
        starter.pid
    ]
    assert changed_code(starter.pid) == []
    session = next(tmp_path.glob("*.session.json"))
    told = ask("explain", str(session), "--json")
    assert told.returncode == 0, told.stderr


def test_stacks_of_a_forked_child_lead_to_its_first_frame(starter: Starter, tmp_path: Path) -> None:
    recording = recording_of(starter, tmp_path)
    assert starter.ask("fork") == "6"
    recording.recorder.send_signal(2)
    recording.wait()
    traces = [read_trace(path, 5001) for path in tmp_path.glob("*.heapwright")]
    trace = next(t for t in traces if made(t, 5001))
    assert trace.facts["stacks"]
    for stack in trace.facts["stacks"]:
        paths = [frame[0] if isinstance(frame, list) else frame for frame in stack]
        assert paths[-1].endswith("starts"), paths  # _start
        assert not [path for path in paths if path.startswith("(")], paths


def test_an_image_that_replaces_the_process_is_recorded(starter: Starter, tmp_path: Path) -> None:
    recording = recording_of(starter, tmp_path)
    starter.say("become")
    assert starter.process.wait() == 7
    recording.wait()  # by itself
    traces = [read_trace(path) for path in sorted(tmp_path.glob("*.heapwright"))]
    assert {t.facts["process_id"] for t in traces} == {starter.pid}
    assert sorted(made(t, 5006) for t in traces) == [0, 100]


@pytest.mark.parametrize("way", ["prctl", "syscall", "clock"])
@pytest.mark.parametrize("when", ["early", "late"])
def test_a_child_that_confines_itself_goes_on(starter: Starter, way: str, when: str, tmp_path: Path) -> None:
    """Its filter kills at any system call but its end, and the clock at each reading."""
    recording = recording_of(starter, tmp_path)
    assert starter.ask(f"confine-{way}-{when}") == "4"
    assert starter.ask("fork") == "6"
    traces = traces_of(recording, tmp_path)
    assert [made(t, 5001) for t in traces if made(t, 5001)] == [100]


def test_children_are_left_alone_unless_they_are_asked_for(starter: Starter, tmp_path: Path) -> None:
    recording = Recording(starter.pid, tmp_path / "a.heapwright")
    assert starter.ask("fork") == "6"
    assert starter.ask("exec") == "7"
    trace = recording.end()
    assert made(trace, 5001) == made(trace, 5002) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.heapwright"]


def test_a_child_that_outlives_the_recording_goes_on(starter: Starter, tmp_path: Path) -> None:
    """It keeps the patches, and can be attached to itself, which repairs its code afterwards."""
    recording = recording_of(starter, tmp_path)
    starter.say("child")
    assert starter.ask("fork") == "6"  # by the child
    traces_of(recording, tmp_path)
    assert starter.ask("fork") == "6"
    pid = starter.pid
    child = int(Path(f"/proc/{pid}/task/{pid}/children").read_text())
    try:
        assert changed_code(child) != []
        again = Recording(child, tmp_path / "again.heapwright")
        assert starter.ask("fork") == "6"
        assert again.end().problems() == []
        assert changed_code(child) == []
    finally:
        os.kill(child, 9)


def test_a_storm_of_starts_never_notices(starter: Starter, tmp_path: Path) -> None:
    """Attached to, detached from, and left by a command that is killed, in the middle of it."""
    starter.ask("storm")
    for turn in range(6):
        folder = tmp_path / str(turn)
        folder.mkdir()
        recording = recording_of(starter, folder)
        time.sleep(0.4)
        if turn % 2 == 0:
            for trace in traces_of(recording, folder):
                assert trace.problems() == [], trace.path
        else:
            recording.recorder.kill()
            recording.recorder.communicate()
            time.sleep(0.5)
    started, wrong = starter.ask("calm").split()
    assert int(started) > 100
    assert wrong == "0"
    assert changed_code(starter.pid) == []
