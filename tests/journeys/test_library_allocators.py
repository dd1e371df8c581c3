# SPDX-License-Identifier: MIT
"""A library that brings its allocator and calls it directly: jemalloc under a prefix or with its own names,
hidden, linked to the program or loaded later."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from attaching import changed_code
from conftest import Record, command, differences
from counting import count, only
from recorded_processes import Recording

ARCHIVE = Path("/usr/lib/x86_64-linux-gnu/libjemalloc_pic.a")
FUNCTIONS = """malloc calloc realloc free posix_memalign aligned_alloc memalign valloc mallocx rallocx xallocx sallocx
dallocx sdallocx nallocx mallctl mallctlnametomib mallctlbymib malloc_usable_size malloc_stats_print malloc_conf
malloc_message"""
LIBRARY = """
#include <stdlib.h>
#include <string.h>
#ifdef PREFIXED
#define malloc vendor_je_malloc
#define calloc vendor_je_calloc
#define realloc vendor_je_realloc
#define free vendor_je_free
void *malloc(size_t), *calloc(size_t, size_t), *realloc(void*, size_t);
void free(void*);
#endif
void* volatile lib_kept[3];
__attribute__((constructor)) static void begin(void) { lib_kept[0] = malloc(4001); }
__attribute__((noinline)) void lib_work(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    void* volatile first = malloc(3001);
    void* volatile second = calloc(1, 3011);
    first = realloc(first, 3021);
    free(first);
    free(second);
  }
  lib_kept[1] = malloc(5001);
}
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define ROUNDS 500
#ifdef LINKED
void lib_work(int);
#endif
static void wait_for_line(const char* word) {
  char letter = 0;
  printf("note %s 1\\n", word);
  fflush(stdout);
  while (read(0, &letter, 1) == 1 && letter != '\\n') {}
}
int main(int count, char** words) {
  static char buffer[4096];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#ifdef LINKED
  for (int round = 0; round < ROUNDS; ++round) { void* volatile block = malloc(6001); free(block); }
  lib_work(ROUNDS);
  printf("allocated %d 6001 malloc\\nallocated 1 4001 malloc\\nallocated 1 5001 malloc\\n", ROUNDS);
  printf("allocated %d 3001 malloc\\nallocated %d 3011 calloc\\nallocated %d 3021 realloc\\n", ROUNDS, ROUNDS, ROUNDS);
  printf("released %d 3021 free\\nreleased %d 3011 free\\n", ROUNDS, ROUNDS);
#else
  for (int time = 0; time < 3; ++time) {
    void* library = dlopen(words[1], RTLD_NOW);
    if (!library) { puts(dlerror()); return 3; }
    void (*work)(int) = (void (*)(int))dlsym(library, "lib_work");
    wait_for_line("loaded");
    work(ROUNDS);
    wait_for_line("worked");
    dlclose(library);
    wait_for_line("closed");
  }
#endif
  return 7;
}
"""
pytestmark = pytest.mark.skipif(not ARCHIVE.exists(), reason="libjemalloc-dev is not installed")
LOADED_LATE = {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=16384"}  # jemalloc's variables


def compiled(source: str, to: Path, *options: object) -> Path:
    line = ["gcc", "-x", "c", "-", "-O1", "-g", "-o", to, "-x", "none", *map(str, options)]
    subprocess.run(line, input=source, text=True, check=True, timeout=60)
    return to


def library(folder: Path, kind: str, name: str = "libvendor.so") -> Path:
    """kind: "prefixed", or "hidden" under its usual names."""
    archive: Path = ARCHIVE
    options = []
    if kind == "prefixed":
        archive, names = folder / "vendor.a", folder / "names"
        names.write_text("".join(f"{one} vendor_je_{one}\n" for one in FUNCTIONS.split()))
        subprocess.run(["objcopy", f"--redefine-syms={names}", ARCHIVE, archive], check=True, timeout=60)
        options = ["-DPREFIXED"]
    exported = folder / "exported"
    exported.write_text("{ global: lib_*; local: *; };")
    more = ["-fPIC", "-shared", archive, f"-Wl,--version-script={exported}", "-lm", "-lstdc++", "-lpthread"]
    return compiled(LIBRARY, folder / name, *options, *more)


def linked(folder: Path, libraries: Path) -> Path:
    return compiled(PROGRAM, folder / "linked", "-DLINKED", libraries, f"-Wl,-rpath,{folder}")


def shares_of(path: Path) -> dict[str, dict[str, Any]]:
    line = [command, "explain", path, "--unchecked", "--json"]
    done = subprocess.run(line, capture_output=True, check=True, timeout=120)
    return {one["allocator"]: one for one in json.loads(done.stdout)["summary"]["allocators"]}


@pytest.mark.parametrize(
    ("kind", "function"), [("prefixed", "vendor_je_malloc"), ("hidden", "malloc")], ids=["prefixed", "hidden"]
)
def test_it_is_recorded_from_the_first_call(record: Record, tmp_path: Path, kind: str, function: str) -> None:
    recording = record(linked(tmp_path, library(tmp_path, kind)))
    assert recording.status == 7, recording.errors
    assert "not seen" not in recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []
    assert trace.facts["unknown_releases"] == 0
    shares = shares_of(trace.path)
    inside = shares.pop(f"jemalloc inside libvendor.so ({function})")
    (libcs,) = shares.values()
    assert (inside["live_at_end_blocks"], inside["live_at_end_bytes"]) == (2, 4001 + 5001)
    assert inside["allocations"] == 3 * 500 + 2
    assert 500 <= libcs["allocations"] < 600


def test_it_is_counted(tmp_path: Path) -> None:
    document = count(linked(tmp_path, library(tmp_path, "prefixed")))
    assert document["exit_code"] == 7
    process = only(document)
    assert process["allocator"] == "libc.so.6 and jemalloc inside libvendor.so (vendor_je_malloc)"
    assert process["calls"]["calloc"] >= 500
    assert process["calls"]["realloc"] == 500
    assert process["calls"]["malloc"] >= 2 * 500 + 2
    assert process["live_blocks"] >= 2


def test_a_loaded_one_is_recorded_and_may_be_unloaded(tmp_path: Path) -> None:
    """Attached to while it is loaded, twice; it is unloaded and loaded again meanwhile."""
    place, program = library(tmp_path, "prefixed"), compiled(PROGRAM, tmp_path / "loads")
    with subprocess.Popen(
        [program, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=LOADED_LATE
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def go_on_to(word: str) -> None:
            assert process.stdin is not None and process.stdout is not None
            if word != "loaded 1":
                process.stdin.write("\n")
                process.stdin.flush()
            assert process.stdout.readline() == f"note {word.split()[0]} 1\n"

        go_on_to("loaded 1")
        for number in (1, 2):
            recording = Recording(process.pid, tmp_path / str(number))
            go_on_to("worked")
            go_on_to("closed")
            go_on_to("loaded again")
            trace = recording.end()
            assert changed_code(process.pid) == []
            assert trace.count("allocated", "realloc", 3021) == 500
            assert trace.count("released", "free", 3011) == 500
            assert trace.count("allocated", "malloc", 5001) == 1
            assert trace.problems() == []
            assert "beside\tjemalloc inside libvendor.so (vendor_je_malloc)" in trace.facts["conditions"]
        for word in ("worked", "closed"):
            go_on_to(word)
        process.stdin.write("\n")
        process.stdin.close()
        assert process.wait(timeout=60) == 7


def test_a_stripped_one_is_named_as_impossible(record: Record, tmp_path: Path) -> None:
    place = library(tmp_path, "prefixed")
    program = linked(tmp_path, place)
    subprocess.run(["strip", place], check=True, timeout=60)
    recording = record(program)
    assert recording.status == 7
    assert "libvendor.so' has jemalloc linked in statically: calls to it are not seen" in recording.errors
    assert (
        "it is stripped, so where its functions begin is unknown: keep its symbol table" in recording.errors
    )
    trace = recording.trace()
    assert trace.count("allocated", "malloc", 6001) == 500, "as others are recorded"
    assert trace.count("allocated", "realloc", 3021) == 0


def test_with_children_it_says_what_is_not_seen(record: Record, tmp_path: Path) -> None:
    recording = record(linked(tmp_path, library(tmp_path, "prefixed")), options=["--children"])
    assert recording.status == 7
    said = re.search(r"libvendor.so' has jemalloc linked in .*; record --pid records them", recording.errors)
    assert said is not None, recording.errors


def test_of_two_one_is_recorded_and_the_other_named(record: Record, tmp_path: Path) -> None:
    first = library(tmp_path, "prefixed")
    second = library(tmp_path, "hidden", "libother.so")
    program = compiled(
        PROGRAM,
        tmp_path / "linked",
        "-DLINKED",
        "-Wl,--no-as-needed",
        first,
        second,
        f"-Wl,-rpath,{tmp_path}",
    )
    recording = record(program)
    assert recording.status == 7
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert (
        "calls of jemalloc inside libother.so (malloc) are not seen, as those of jemalloc inside "
        "libvendor.so (vendor_je_malloc) are"
    ) in recording.errors
