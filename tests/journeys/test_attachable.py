# SPDX-License-Identifier: MIT
"""libheapwright-attachable.so: what it asks of the kernel, for whom, and what it costs.

Kernels without Yama know no such permission. So the program has a prctl of its own, which the library calls
as it would libc's, and which says what it was asked.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import build
from test_elevated import raise_rights
from test_started_processes import as_root, nobody

library = build / "lib/libheapwright-attachable.so"

source = """
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static int given = 0;
int prctl(int option, ...) {
  if (option == PR_SET_PTRACER) given = (int)getpid();
  errno = EINVAL;
  return -1;
}
static void say(const char* who) {
  printf("%s %s\\n", who, given == (int)getpid() ? "given" : "not");
  fflush(stdout);
}
int main(int argc, char** argv) {
  for (int i = 0; i < 10; ++i) free(malloc(3001));
  printf("elevated %lu\\n", getauxval(AT_SECURE));
  say("process");
  errno = 7;
  if (fork() == 0) {
    printf("errno %d\\n", errno);
    say("child");
    if (fork() == 0) {
      say("grandchild");
      _exit(0);
    }
    wait(NULL);
    if (argc == 1) execl(argv[0], argv[0], "again", (char*)NULL);
    _exit(0);
  }
  wait(NULL);
  return 0;
}
"""


def compiled(folder: Path, *options: str) -> Path:
    program = folder / "elevated"
    line = ["gcc", "-x", "c", "-", "-fno-builtin", "-rdynamic", "-o", str(program), *options]
    subprocess.run(line, input=source, text=True, check=True, timeout=60)
    return program


def said_by(*line: object, preload: Path | None = None) -> list[str]:
    own = {**os.environ, **({"LD_PRELOAD": str(preload)} if preload else {})}
    done = subprocess.run([*map(str, line)], capture_output=True, text=True, check=True, timeout=30, env=own)
    return done.stdout.splitlines()


@pytest.mark.parametrize("is_preloaded", [False, True])
def test_a_process_and_its_children_may_be_attached_to(is_preloaded: bool, tmp_path: Path) -> None:
    said = said_by(compiled(tmp_path), preload=library if is_preloaded else None)
    word = "given" if is_preloaded else "not"
    once = ["elevated 0", f"process {word}", "errno 7", f"child {word}", f"grandchild {word}"]
    assert said == [*once, *once]


def test_a_program_of_another_libc_runs(tmp_path: Path) -> None:
    if shutil.which("musl-gcc") is None:
        pytest.skip("needs musl-gcc")
    program = tmp_path / "program"
    text = '#include <stdio.h>\nint main(void) { puts("ran"); }'
    subprocess.run(["musl-gcc", "-x", "c", "-", "-o", program], input=text, text=True, check=True, timeout=60)
    assert said_by(program, preload=library) == ["ran"]


@as_root
def test_an_elevated_program_may_not(tmp_path: Path) -> None:
    program = compiled(
        tmp_path, "-Wl,--no-as-needed", f"-Wl,-rpath,{build}/lib", f"-L{build}/lib", f"-l:{library.name}"
    )
    for one in (tmp_path, *tmp_path.parents[:2]):
        one.chmod(0o755)
    assert said_by("setpriv", *nobody, program)[:2] == ["elevated 0", "process given"]
    raise_rights(program)
    assert {line for line in said_by("setpriv", *nobody, program) if "given" in line} == set()


def test_it_stands_in_front_of_nothing() -> None:
    """So a heap call takes what it takes without it."""
    line = ["nm", "-D", "--defined-only", str(library)]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout == ""
    needed = subprocess.run(
        ["readelf", "-d", str(library)], capture_output=True, text=True, check=True
    ).stdout
    assert [row.split("[")[1] for row in needed.splitlines() if "(NEEDED)" in row] == ["libc.so.6]"]
