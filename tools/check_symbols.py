#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what the preloaded libraries show to and want from their process: recorder, counter, remedies.

Each exports exactly the entry points it stands in front of, wants nothing that could
allocate, lock or throw, needs no library but libdl.so.2, and stays small in the
static TLS area, which a later dlopen shares. The library of remedies needs the C library alone, and
there may start a thread.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

KINDS = ("record", "count", "apply")
MAX_STATIC_TLS_BYTES = 64

REQUIRED = set(
    """malloc calloc realloc reallocarray free cfree
    posix_memalign aligned_alloc memalign valloc pvalloc malloc_usable_size
    free_sized free_aligned_sized malloc_trim mallopt
    mmap mmap64 munmap mremap mprotect madvise brk sbrk dlopen dlmopen dlsym dlclose
    execve execv execvp execvpe execl execlp execle
    _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t
    _ZnwmSt11align_val_t _ZnamSt11align_val_t
    _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t
    _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t
    _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
    _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t
    _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t""".split()
)
# Process entry points the recorder may also stand in front of.
OPTIONAL = set(
    """_exit _Exit quick_exit execve execv execvp execvpe execl execlp execle fexecve execveat posix_spawn
    posix_spawnp fork vfork _Fork daemon forkpty clone system popen prctl syscall""".split()
)
# What the recorder records beside the heap's calls.
NOT_COUNTED = set(
    """malloc_usable_size malloc_trim mallopt mmap mmap64 munmap mremap mprotect madvise brk sbrk
    dlopen dlmopen dlsym dlclose execve execv execvp execvpe execl execlp execle""".split()
)
# What the counter stands before, and does not count.
COUNTED_BESIDE = {"prctl"}
# What the library of remedies has beside the counter's.
APPLIED = set("malloc_usable_size dlopen dlsym dlclose __libc_start_main exit".split())
MAY_APPLY = ("starts a thread or takes a signal",)
OF_THE_HEAP = {"__libc_free", "__libc_realloc", "__cxa_finalize"}
OWN = re.compile(r"^heapwright_\w+$")

FORBIDDEN = {
    "allocates or belongs to one allocator": re.compile(
        r"^(__libc_(malloc|calloc|realloc|free|memalign)|je_|mi_|tc_)"
    ),
    "is the C++ runtime": re.compile(
        r"^(__cxa_|__gxx_personality|_ZSt|_ZNSt|_ZNKSt|_ZTISt|_ZTVSt|_ZTVN10__cxxabiv1)"
    ),
    "is stdio": re.compile(
        r"^_?_?(v?[sfda]?n?printf|v?[sf]?scanf|f?puts|f?putc|fopen|fwrite|fread|fflush)(_chk)?$"
    ),
    "unwinds through libgcc": re.compile(r"^_Unwind_"),
    "finds TLS by a call that may allocate": re.compile(r"^__tls_get_addr$"),
    "takes a lock": re.compile(r"^pthread_(mutex|rwlock|spin)_"),
    "starts a thread or takes a signal": re.compile(
        r"^(pthread_create|sigaction|signal|sigprocmask|ptrace)$"
    ),
}


def run_readelf(library: Path, *options: str) -> str:
    command = ["readelf", "-W", *options, str(library)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def dynamic_symbols(library: Path) -> tuple[set[str], set[str]]:
    exported: set[str] = set()
    undefined: set[str] = set()
    for line in run_readelf(library, "--dyn-syms").splitlines():
        columns = line.split()
        if len(columns) < 8 or not columns[0].rstrip(":").isdigit():
            continue
        name = columns[7].split("@")[0]
        (undefined if columns[6] == "UND" else exported).add(name)
    return exported, undefined


def check_exports(exported: set[str], kind: str) -> list[str]:
    required = REQUIRED if kind == "record" else REQUIRED - NOT_COUNTED
    if kind == "apply":
        required |= APPLIED
    optional = {"record": OPTIONAL, "count": COUNTED_BESIDE}.get(kind, set())
    problems = [f"missing export: {name}" for name in sorted(required - exported)]
    surplus = exported - required - optional
    problems += [f"unexpected export: {name}" for name in sorted(surplus) if not OWN.match(name)]
    return problems


def check_undefined(undefined: set[str], kind: str) -> list[str]:
    return [
        f"undefined symbol {name} {reason}"
        for name in sorted(undefined)
        for reason, pattern in FORBIDDEN.items()
        if pattern.match(name) and not may(kind, name, reason)
    ]


def may(kind: str, name: str, reason: str) -> bool:
    """The heap passes on what is not its own; the compiler adds a weak __cxa_finalize."""
    return kind == "apply" and (reason in MAY_APPLY or name in OF_THE_HEAP)


def check_headers(library: Path, kind: str) -> list[str]:
    problems = []
    for line in run_readelf(library, "-d").splitlines():
        allowed = "[libc.so.6]" if kind == "apply" else "[libdl.so.2]"
        is_needed = "(NEEDED)" in line and allowed not in line
        if is_needed or re.search(r"\((RPATH|RUNPATH|TEXTREL)\)", line):
            problems.append("dynamic section: " + " ".join(line.split()))
    for line in run_readelf(library, "-l").splitlines():
        columns = line.split()
        if columns[:1] == ["TLS"] and int(columns[5], 16) > MAX_STATIC_TLS_BYTES:
            problems.append(f"static TLS: {int(columns[5], 16)} bytes, at most {MAX_STATIC_TLS_BYTES}")
        if columns[:1] == ["GNU_STACK"] and "E" in columns[6]:
            problems.append("the library asks for an executable stack")
    return problems


def check(library: Path) -> bool:
    exported, undefined = dynamic_symbols(library)
    kind = next((name for name in KINDS[1:] if name in library.name), KINDS[0])
    problems = check_exports(exported, kind) + check_undefined(undefined, kind) + check_headers(library, kind)
    for problem in problems:
        print(f"{library.name}: {problem}")
    print(f"symbols: {len(exported)} exported, {len(undefined)} undefined, {len(problems)} problems")
    return not problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = Path(__file__).parent.parent / "build/release/lib"
    all_of_them = [folder / f"libheapwright-{name}.so" for name in KINDS]
    parser.add_argument("library", nargs="*", type=Path, default=all_of_them)
    libraries = parser.parse_args().library
    for library in libraries:
        if not library.is_file():
            print(f"{library}: no such file; run 'make build' first")
            return 2
    are_good = [check(library) for library in libraries]
    return 0 if all(are_good) else 1


if __name__ == "__main__":
    sys.exit(main())
