# SPDX-License-Identifier: MIT
"""A program with more rights than its caller makes no file and no recording, whatever its caller says.

The loader drops preloaded paths in such programs. So these are linked with the libraries, which
reaches what a preload from the system's own folder would.
"""

import stat
import subprocess
from pathlib import Path

import pytest
from conftest import Record, build
from test_started_processes import as_root, nobody

source = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>
int main(void) {
  for (int i = 0; i < 10; ++i) free(malloc(3001));
  char name[64];
  snprintf(name, sizeof name, "/dev/shm/heapwright-%d.calls", (int)getpid());
  printf("elevated %lu file %d\\n", getauxval(AT_SECURE), access(name, F_OK) == 0);
  return 0;
}
"""


def linked_with(name: str, folder: Path) -> Path:
    """The program, where others reach it. The library is the very one that a control has preloaded."""
    program = folder / "elevated"
    line = ["gcc", "-x", "c", "-", "-fno-builtin", "-o", program, "-Wl,--no-as-needed"]
    line += [f"-Wl,-rpath,{build}/lib", f"-L{build}/lib", f"-l:{name}"]
    subprocess.run(line, input=source, text=True, check=True, timeout=60)
    for one in (folder, *folder.parents[:2]):
        one.chmod(0o755)
    return program


def raise_rights(program: Path) -> None:
    """Of root: who runs it is another user."""
    program.chmod(stat.S_ISUID | 0o755)
    done = subprocess.run(
        ["setpriv", *nobody, program], capture_output=True, text=True, check=True, timeout=20
    )
    if done.stdout.startswith("elevated 0"):
        pytest.skip("the temporary folder does not let programs be setuid")


@as_root
def test_an_elevated_program_is_not_counted(tmp_path: Path) -> None:
    program = linked_with("libheapwright-count.so", tmp_path)

    def run() -> str:
        line = ["setpriv", *nobody, program]
        return subprocess.run(line, capture_output=True, text=True, check=True, timeout=20).stdout

    assert run() == "elevated 0 file 1\n"
    raise_rights(program)
    assert run() == "elevated 1 file 0\n"


@as_root
def test_an_elevated_program_is_not_recorded(record: Record, tmp_path: Path) -> None:
    program = linked_with("libheapwright-record.so", tmp_path)

    def blocks() -> int:
        recording = record("/usr/bin/setpriv", *nobody, program, options=["--children"])
        assert recording.status == 0, recording.errors
        found = sum(trace.count("allocated", "malloc", 3001) for trace in recording.traces())
        for path in recording.paths():
            path.unlink()
        return found

    assert blocks() == 10
    raise_rights(program)
    assert blocks() == 0
