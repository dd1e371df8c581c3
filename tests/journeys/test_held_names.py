# SPDX-License-Identifier: MIT
"""Holders have the names of variables in libraries, of each thread, and of variables within functions."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_held import held, recorded

# Each library keeps a block of another size for each thread that asks, and one for all.
LIBRARY = """
#include <stdlib.h>
static __thread MODEL void* volatile t_NAME;
static __thread volatile int t_before_NAME[3] = {1, 2, 3};
void* g_NAME;
void keep_NAME(void) {
  t_NAME = malloc(SIZE + t_before_NAME[0]);
  if (!g_NAME) g_NAME = malloc(SIZE * 10);
}
"""
PROGRAM = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
void keep_linked(void);
void keep_initial(void);
static void (*keep_opened)(void);
static int is_ready[2];
static void* run(void* unused) {
  keep_linked();
  keep_initial();
  keep_opened();
  if (write(is_ready[1], "", 1) != 1) _exit(1);
  pause();
  return unused;
}
int main(int count, char** words) {
  char byte;
  void* library = dlopen(words[count - 1], RTLD_NOW);
  keep_opened = (void (*)(void))dlsym(library, "keep_opened");
  if (pipe(is_ready) != 0) return 1;
  keep_linked();
  keep_initial();
  keep_opened();
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  if (read(is_ready[0], &byte, 1) != 1) return 1;
  return 0;
}
"""


def built(folder: Path, *words: str) -> None:
    subprocess.run(["gcc", "-g", "-O1", "-pthread", *words], check=True, cwd=folder, timeout=120)


def test_thread_local_variables_of_libraries_have_their_names(tmp_path: Path) -> None:
    """In libraries that are there from the start, by either model, and in one that was opened later."""
    sizes = {"linked": 1000, "initial": 2000, "opened": 3000}
    for name, size in sizes.items():
        model = '__attribute__((tls_model("initial-exec")))' if name == "initial" else ""
        source = LIBRARY.replace("NAME", name).replace("SIZE", str(size)).replace("MODEL", model)
        (tmp_path / f"{name}.c").write_text(source)
        built(tmp_path, "-fPIC", "-shared", f"{name}.c", "-o", f"lib{name}.so")
    (tmp_path / "program.c").write_text(PROGRAM)
    built(tmp_path, "program.c", "-o", "program", "-L.", "-llinked", "-linitial", "-Wl,-rpath,$ORIGIN")
    answer = held(recorded(tmp_path, tmp_path / "program", tmp_path / "libopened.so")[0])
    assert answer["lost_blocks"] == 0
    rows = answer["holders"]
    for name, size in sizes.items():
        (whole,) = [row for row in rows if row["symbol"] == f"g_{name}"]
        assert (whole["kind"], whole["bytes"]) == ("variable", size * 10)
        assert whole["module"].endswith(f"/lib{name}.so")
        own = [row for row in rows if row["symbol"] == f"t_{name}"]
        assert [(row["kind"], row["bytes"]) for row in own] == [("thread-local", size + 1)] * 2, rows
        assert own[0]["thread_id"] != own[1]["thread_id"]
        assert own[0]["type"] == "void*"


STATICS = """
#include <cstdlib>
#include <cstdio>
struct First { First* next; };
struct Second { Second* next; };
[[gnu::noinline]] void keep(int count) {
  static First* volatile cache;
  if (count > 1) {
    static Second* volatile deeper;
    deeper = static_cast<Second*>(std::calloc(1, 200));
  }
  cache = static_cast<First*>(std::calloc(1, 100));
}
namespace inner {
struct Keeper {
  [[gnu::noinline]] void keep() {
    static Second* volatile cache;
    cache = static_cast<Second*>(std::calloc(1, 300));
  }
};
}
int main(int count, char**) {
  keep(count + 1);
  inner::Keeper().keep();
}
"""


def by_symbol(answer: dict[str, Any]) -> dict[str, str]:
    return {row["symbol"]: row["type"] for row in answer["holders"] if row["symbol"]}


def test_variables_within_functions_have_their_types(tmp_path: Path) -> None:
    """Also where several have the same name."""
    (tmp_path / "statics.cpp").write_text(STATICS)
    built(tmp_path, "-x", "c++", "statics.cpp", "-o", "statics", "-lstdc++")
    types = by_symbol(held(recorded(tmp_path, tmp_path / "statics")[0]))
    expected = {"keep(int)::cache": "First*", "keep(int)::deeper": "Second*"}
    expected["inner::Keeper::keep()::cache"] = "Second*"
    assert expected.items() <= types.items(), types


def test_static_variables_of_c_functions_have_their_types(tmp_path: Path) -> None:
    (tmp_path / "statics.c").write_text(
        "#include <stdlib.h>\n"
        "struct One { struct One* next; };\n"
        "__attribute__((noinline)) void one(void) { static struct One* kept; kept = malloc(10); }\n"
        "__attribute__((noinline)) void two(void) { static char** kept; kept = malloc(20); *kept = 0; }\n"
        "int main(void) { one(); two(); return 0; }\n"
    )
    built(tmp_path, "statics.c", "-O0", "-o", "statics")
    types = by_symbol(held(recorded(tmp_path, tmp_path / "statics")[0]))
    assert sorted(type_ for name, type_ in types.items() if name.startswith("kept.")) == ["One*", "char**"]


SHARED = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
void** g_shared;
__attribute__((noinline)) void* made(void) { return malloc(1234); }
__attribute__((noinline)) void wipe(void) {
  volatile char room[16384];
  for (int i = 0; i < 16384; ++i) room[i] = 0;
}
__attribute__((noinline)) void give(void) {
  int pipe_ends[2];
  void* block = made();
  if (pipe(pipe_ends) != 0) exit(1);
  if (fork() == 0) {
    if (read(pipe_ends[0], &block, sizeof block) != sizeof block) _exit(1);
    g_shared[100] = block;
    _exit(0);
  }
  if (write(pipe_ends[1], &block, sizeof block) != sizeof block) exit(1);
  wait(NULL);
}
int main(void) {
  g_shared = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  give();
  wipe();
  return 0;
}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only a privileged user sees which pages others have")
def test_memory_that_another_process_has_written_to_holds_blocks(tmp_path: Path) -> None:
    """It shares a mapping, into which only it has put the pointer."""
    (tmp_path / "shared.c").write_text(SHARED)
    built(tmp_path, "shared.c", "-o", "shared")
    answer = held(recorded(tmp_path, tmp_path / "shared")[0])
    (row,) = [row for row in answer["held"] if row["bytes"] == 1234]
    assert row["holder"] == "memory mapped by main"
    assert answer["lost_blocks"] == 0
