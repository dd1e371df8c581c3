# SPDX-License-Identifier: MIT
"""Programs that count could harm or miscount: limits, other users, failures, signals, another libc."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import programs
from counting import ask, checked, count, folder, library, only


def build(source: str, target: Path, *options: str, compiler: str = "g++") -> Path:
    language = "c++" if compiler == "g++" else "c"
    line = [compiler, "-x", language, "-", "-O1", "-g", "-fno-builtin", *options, "-o", str(target)]
    subprocess.run(line, input=source, text=True, check=True, timeout=60)
    return target


def test_a_limit_of_file_sizes_ends_no_program() -> None:
    document = count(programs / "stacks", prefix=("prlimit", "--fsize=100000"))
    assert (document["exit_code"], document["processes"]) == (0, [])
    assert "file sizes are limited" in document["notes"][0]


def test_a_program_that_confines_itself_ends_as_alone() -> None:
    """Its filter kills for any system call but write and exit; timed calls would make others."""
    document = count(programs / "confines_itself", "prctl", "300000")
    assert document["exit_code"] == 4
    process = only(document)
    assert process["calls"]["malloc"] >= 300_100
    assert process["making"]["timed_calls"] < 100, "only what was timed before"


fails = """
#include <cstdint>
#include <cstdlib>
#include <new>
std::size_t volatile huge = PTRDIFF_MAX;
int main() {
  int caught = 0;
  try { (void)!operator new(huge); } catch (const std::bad_alloc&) { ++caught; }
  try { (void)!operator new[](huge); } catch (const std::bad_alloc&) { ++caught; }
  try { (void)!operator new(huge, std::align_val_t{64}); } catch (const std::bad_alloc&) { ++caught; }
  try { (void)!operator new[](huge, std::align_val_t{64}); } catch (const std::bad_alloc&) { ++caught; }
  caught += operator new(huge, std::nothrow) == nullptr;
  caught += operator new[](huge, std::nothrow) == nullptr;
  caught += operator new(huge, std::align_val_t{64}, std::nothrow) == nullptr;
  caught += operator new[](huge, std::align_val_t{64}, std::nothrow) == nullptr;
  caught += std::malloc(huge) == nullptr;
  return caught;
}
"""


def test_a_child_that_clears_its_environment_is_counted() -> None:
    document = checked(ask("count", "--json", "--", str(programs / "clears_environment")).stdout)
    assert sorted(process["made_blocks"] for process in document["processes"]) == [1, 10]


def test_a_call_that_fails_counts_as_one_failure(tmp_path: Path) -> None:
    document = count(build(fails, tmp_path / "fails"))
    assert document["exit_code"] == 9
    assert only(document)["failed"] == 9


# Blocks of 100 bytes until there is no room for more, and five failures.
fills = """
#include <fcntl.h>
#include <cstdlib>
#include <new>
#include <sys/resource.h>
#include <unistd.h>
template <class Make, class Release>
long fill(Make make, Release release) {
  void** last = nullptr;
  long made = 0;
  for (int failures = 0; failures < 5;) {
    auto** block = static_cast<void**>(make());
    if (block == nullptr) { ++failures; continue; }
    *block = last;
    last = block;
    ++made;
  }
  while (last != nullptr) {
    void* block = last;
    last = static_cast<void**>(*last);
    release(block);
  }
  return made;
}
int main(int, char** arguments) {
  const rlimit limit{64 << 20, 64 << 20};
  setrlimit(RLIMIT_AS, &limit);
  const long made[] = {
      fill([] { return std::malloc(100); }, std::free),
      fill([] { return operator new(100, std::nothrow); }, [](void* block) { operator delete(block); }),
  };
  return write(open(arguments[1], O_WRONLY | O_CREAT, 0600), made, sizeof made) != sizeof made;
}
"""


def test_a_small_request_that_fails_is_none(tmp_path: Path) -> None:
    """It is counted before it is served."""
    document = count(build(fills, tmp_path / "fills"), tmp_path / "made")
    assert document["exit_code"] == 0
    process = only(document)
    told = (tmp_path / "made").read_bytes()
    by_malloc, by_new = (int.from_bytes(told[at : at + 8], "little") for at in (0, 8))
    assert by_malloc > 100_000
    assert process["failed"] - 10 in range(6), "the runtime asks for room for each exception"
    calls = process["calls"]
    others = calls["malloc"] - by_malloc  # libstdc++'s, at its start
    assert 0 <= others <= 1
    assert (calls["new"], calls["free"], calls["delete"]) == (by_new, by_malloc, by_new)
    assert process["requested_bytes"] - 100 * (by_malloc + by_new) in range(others * 1000, 200_000)
    sizes = {row["from_bytes"]: row["requests"] for row in process["sizes"] if row["requests"]}
    assert sizes[64] == by_malloc + by_new


# The processor traps after each instruction; the handler allocates where it interrupts the counting library.
stepped = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
static unsigned long begin, end, pairs;
static void* volatile kept;
static int find(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size, (void)data;
  if (strstr(info->dlpi_name, "libheapwright-count") == NULL) return 0;
  begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const unsigned long last = begin + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && last > end) end = last;
  }
  return 1;
}
static void at_trap(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  const unsigned long at = (unsigned long)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  if (at < begin || at >= end) return;
  free(malloc(24));
  ++pairs;
}
int main(int count, char** arguments) {
  (void)count;
  dl_iterate_phdr(find, NULL);
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = at_trap;
  sigaction(SIGTRAP, &action, NULL);
  free(malloc(24));
  __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
  for (int i = 0; i < 3000; ++i) kept = malloc(24), free(kept), kept = realloc(NULL, 24), free(kept);
  __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
  for (int i = 0; i < 200000; ++i) kept = malloc(24), free(kept);
  const int file = open(arguments[1], O_WRONLY | O_CREAT, 0600);
  return write(file, &pairs, sizeof pairs) != sizeof pairs;
}
"""


def test_a_handler_that_allocates_at_any_instruction_stops_no_timing(tmp_path: Path) -> None:
    program = build(stepped, tmp_path / "stepped", "-mno-red-zone", compiler="gcc")
    document = count(program, tmp_path / "pairs")
    assert document["exit_code"] == 0
    process = only(document)
    pairs = int.from_bytes((tmp_path / "pairs").read_bytes(), "little")
    assert pairs > 100_000
    made = 1 + 3000 + 200_000 + pairs
    calls = process["calls"]
    assert (calls["malloc"], calls["realloc"], calls["free"]) == (made, 3000, made + 3000), "none is lost"
    assert (process["live_blocks"], process["live_bytes"]) == (0, 0)
    assert process["requested_bytes"] == 24 * (made + 3000)
    timed = process["making"]["timed_calls"] + process["releasing"]["timed_calls"]
    assert timed > 400_000 / 64 * 0.9


def test_a_program_that_changes_its_user_is_counted_on(tmp_path: Path) -> None:
    """The page of the image before is root's: the next image can neither move nor remove it."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv")
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    copied = Path(shutil.copy(programs / "atexit_free", tmp_path))
    nobody = ("--reuid=65534", "--regid=65534", "--clear-groups")
    document = count("setpriv", *nobody, copied)
    assert document["exit_code"] == 0
    assert [process["program"] for process in document["processes"]] == ["setpriv", "atexit_free"]
    process = document["processes"][1]["process"]
    assert not [path for path in folder.iterdir() if path.name.startswith(f"heapwright-{process}.")]


musl = """
#include <stdlib.h>
#include <malloc.h>
int main(void) {
  for (int i = 0; i < 1000; ++i) {
    void* block = NULL;
    free(calloc(3, 10));
    if (posix_memalign(&block, 64, 100) != 0) return 1;
    free(block);
    free(aligned_alloc(64, 128));
    free(memalign(64, 100));
    free(realloc(malloc(10), 100000));
  }
  return 0;
}
"""


def test_what_musl_calls_of_itself_is_not_counted(tmp_path: Path) -> None:
    if shutil.which("musl-gcc") is None:
        pytest.skip("needs musl-gcc")
    process = only(count(build(musl, tmp_path / "musl", compiler="musl-gcc")))
    made = {name: process["calls"][name] for name in ("malloc", "calloc", "realloc", "aligned", "free")}
    assert made == {"malloc": 1000, "calloc": 1000, "realloc": 1000, "aligned": 3000, "free": 5000}
    assert process["live_blocks"] == 0


def test_a_name_of_a_process_moves_no_cursor(tmp_path: Path) -> None:
    """Our heap's page names no program: the name is the kernel's, which the process chooses."""
    script = (
        "import ctypes, sys\nctypes.CDLL(None).prctl(15, b'\\x1b[2Jx\\x07y', 0, 0, 0)\n"
        "print(1, flush=True)\nsys.stdin.read()"
    )
    heap = library.parent / "libheapwright.so"
    environment = {**os.environ, "LD_PRELOAD": str(heap), "HEAPWRIGHT_HEAP_COUNTERS": "1"}
    line = ["/usr/bin/python3.11", "-S", "-E", "-c", script]
    with subprocess.Popen(line, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        result = ask("top", "--once", "--interval", "0.1")
        process.communicate()
    assert "\x1b" not in result.stdout + result.stderr
    assert "�[2Jx�y" in result.stdout
