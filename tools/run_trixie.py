#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the heap that was built here on Debian trixie's C library, 2.41.

The programs of tests/heap_programs as ctest lists them, and a few of Debian's with and without the heap.

In build/trixie, which is made by mmdebstrap from the mirror that this machine's apt has for Debian; remove it
to have it made anew. The build folder is mounted in it where it lies here. Exit code 2: it cannot be made.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from run_tests import run_command

project = Path(__file__).resolve().parent.parent
build = project / "build/release"
folder = project / "build/trixie"
library = build / "lib/libheapwright.so"
packages = ("gawk", "gcc", "libc6-dev", "perl", "python3", "sqlite3")
make_limit_s = 1200
test_limit_s = 300

# What each prints is compared.
PROGRAMS = {
    "awk": ["gawk", "BEGIN { for (i = 0; i < 500000; i++) a[i % 9000] = a[i % 9000] i; print length(a[8]) }"],
    "perl": ["perl", "-e", "my %h; $h{$_ % 9000} .= $_ for 1 .. 500000; print length(join '', values %h);"],
    "python3": [
        "python3",
        "-c",
        "import json, threading\n"
        "made = []\n"
        "def make(): made.append(json.loads(json.dumps({str(i): [i] * 9 for i in range(30000)})))\n"
        "threads = [threading.Thread(target=make) for _ in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "print([sum(map(sum, one.values())) for one in made])",
    ],
    "sqlite3": [
        "sqlite3",
        ":memory:",
        "create table t as with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) "
        "select i, i * 7919 % 10007 as k, hex(i) as h from n; create index by_k on t(k); "
        "select k, count(*), max(h) from t group by k order by 2 desc, 1 limit 5;",
    ],
    "gcc": ["sh", "-c", "gcc -O2 -E -include stdio.h -x c /dev/null | gcc -O2 -S -x c - -o -"],
}


class CannotBeMadeError(Exception):
    pass


def run(command: list[str], limit_s: float) -> str:
    status, output = run_command(command, limit_s)
    if status != 0:
        raise CannotBeMadeError(f"{command[0]} ended with {status}: {output.strip()[-300:]}")
    return output


def mirror() -> str:
    """Of Debian, as this machine's apt has it."""
    names = "$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)"
    for line in run(["apt-get", "indextargets", "--format", names, "Created-By: Packages"], 60).splitlines():
        *of, address = line.split("|")
        if of == ["Debian", "Debian", "main"]:
            return address
    raise CannotBeMadeError("apt has no mirror of Debian here (apt-get update?)")


def make_folder() -> None:
    if folder.is_dir():
        return
    if os.geteuid() != 0:
        raise CannotBeMadeError("only root can make it and change into it")
    if shutil.which("mmdebstrap") is None:
        raise CannotBeMadeError("needs mmdebstrap, which Debian has a package of")
    print(f"trixie: making {folder}", flush=True)
    made = folder.with_suffix(".new")
    subprocess.run(["rm", "-rf", "--one-file-system", str(made)], check=True)
    included = ",".join(packages)
    run(["mmdebstrap", "--variant=apt", f"--include={included}", "trixie", str(made), mirror()], make_limit_s)
    made.rename(folder)


def run_inside(command: list[str], variables: list[str], place: str) -> tuple[int, str]:
    """Exit code and output, with mounts of its own that end with it."""
    root = shlex.quote(str(folder))
    mounted = shlex.quote(str(build))
    inner = f"cd {shlex.quote(place)} && exec env {shlex.join([*variables, *command])}"
    script = (
        f"mkdir -p {root}{mounted} && mount --rbind /proc {root}/proc && mount --rbind /dev {root}/dev && "
        f"mount --bind {mounted} {root}{mounted} && exec chroot {root} sh -c {shlex.quote(inner)}"
    )
    return run_command(["unshare", "--mount", "sh", "-c", script], test_limit_s)


def property_of(test: dict[str, Any], name: str, missing: Any) -> Any:
    return next((one["value"] for one in test["properties"] if one["name"] == name), missing)


def problem_of_test(test: dict[str, Any]) -> str:
    variables = property_of(test, "ENVIRONMENT", [])
    status, output = run_inside(test["command"], variables, property_of(test, "WORKING_DIRECTORY", "/"))
    return f"{test['name']}: exit code {status}\n{output[-500:]}" if status != 0 else ""


def problem_of_program(name: str) -> str:
    expected = run_inside(PROGRAMS[name], [], "/tmp")
    if expected[0] != 0:
        return f"{name}: exit code {expected[0]} without the heap\n{expected[1][-500:]}"
    for way in ("calls", "thread"):
        variables = [
            f"LD_PRELOAD={library}",
            f"HEAPWRIGHT_HEAP_MAINTENANCE={way}",
            "HEAPWRIGHT_HEAP_DECAY_MS=50",
        ]
        found = run_inside(PROGRAMS[name], variables, "/tmp")
        if found != expected:
            return f"{name}: otherwise with {' '.join(variables)}: exit code {found[0]}\n{found[1][-500:]}"
    return ""


def tests() -> list[dict[str, Any]]:
    line = ["ctest", "--test-dir", str(build), "--show-only=json-v1", "-R", r"^heap(\.|_linked)"]
    listed: list[dict[str, Any]] = json.loads(run(line, 60))["tests"]
    return listed


def main() -> int:
    try:
        make_folder()
        status, version = run_inside(["getconf", "GNU_LIBC_VERSION"], [], "/")
        if status != 0:
            raise CannotBeMadeError(version.strip())
        listed = tests()
    except CannotBeMadeError as reason:
        print(f"trixie: {reason}", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        problems = [*pool.map(problem_of_test, listed), *pool.map(problem_of_program, PROGRAMS)]
    problems = [problem for problem in problems if problem]
    print(*problems, sep="\n", end="\n" if problems else "")
    what = f"{len(listed)} tests and {len(PROGRAMS)} programs"
    print(f"trixie: {version.strip()}, {what}, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
