#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants faults that are made at random (made_faults.py), and says how many the tests of their folders see.

    make mutants N=200            over the product, with a new seed, which is printed
    make mutants N=50 CHANGED=main    on the lines that are not as on main
    make mutants N=200 SEED=7 ONLY=src/heap

A fault counts where it compiles to other code. It is killed by a test that fails with it and passes
without. Tests are taken from near to far (tests_of.py) until one fails. The last lines are the share
with its interval (Wilson, 95 %), by kind and by folder, and the survivors.

Exit code 1: the share is below the goal, and not by chance; 2: nothing to plant.
"""

import argparse
import math
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from made_faults import Change, commands, draw, read_by
from run_mutants import plant_text, restore, stop
from run_tests import failures_in, run_command
from tests_of import Tests, folder_of, tests_of

root = Path(__file__).resolve().parent.parent
build = root / "build" / "release"
GOAL = 0.85
BUILD_LIMIT_S, TEST_LIMIT_S, COMPILE_LIMIT_S = 1200, 600, 300
# Of a journey or a Python file the first failure is enough.
PYTEST = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--color=no", "-rfE"]


@dataclass(frozen=True)
class Verdict:
    """killed_by: the test that failed; empty: the fault survived all that were run."""

    change: Change
    was: str
    killed_by: str
    seconds: float


def assembly(name: str) -> tuple[bool, str]:
    """What the unit of a C++ file compiles to, without debug information; False: it does not compile."""
    source = read_by(root, name)
    words = commands(root)[source]["command"].split()
    line = [word for word in words if word not in ("-c", "-g", "-g1")]
    at = line.index("-o")
    del line[at : at + 2]
    line = [
        word
        for at, word in enumerate(line)
        if word not in ("-MD", "-MT", "-MF") and line[at - 1] not in ("-MT", "-MF")
    ]
    line = line[1:] if line[0].endswith("ccache") else line
    status, text = run_command(
        [word.replace('\\"', '"') for word in [*line, "-g0", "-w", "-S", "-o", "-"]], COMPILE_LIMIT_S, build
    )
    return status == 0, text


@lru_cache(maxsize=64)
def assembly_as_it_is(name: str) -> tuple[bool, str]:
    return assembly(name)


def is_a_fault(change: Change) -> bool:
    """Whether anything else comes of the changed text."""
    if change.file.endswith(".py"):
        text = changed_text(change)
        try:
            compile(text, change.file, "exec")
        except SyntaxError:
            return False
        return True
    before = assembly_as_it_is(change.file)
    with plant_text(change.file, changed_text(change)):
        compiles, after = assembly(change.file)
    # Of a header this unit may have none of what was changed, and others do.
    return compiles and (after != before[1] or not change.file.endswith(".cpp"))


def changed_text(change: Change) -> str:
    text = (root / change.file).read_bytes()
    return (text[: change.begin] + change.replace.encode() + text[change.end :]).decode()


def build_for(tests: Tests) -> bool:
    if not tests.targets:
        return True
    line = ["cmake", "--build", str(build), "--target", *tests.targets, "--", "--quiet"]
    return run_command(line, BUILD_LIMIT_S, root)[0] == 0


def failing(tests: Tests, jobs: int, only: tuple[str, ...] = ()) -> list[str]:
    """The names of tests that fail now; `only`: of these."""
    if tests.folder:
        chosen = ["-R", "^(" + "|".join(map(re.escape, only)) + ")$"] if only else ["-LE", "full"]
        where = ["--test-dir", str(build / "tests" / tests.folder), "-j", str(jobs)]
        line = ["ctest", *where, "--timeout", "120", "--stop-on-failure", "--no-tests=ignore", *chosen]
        status, output = run_command(line, TEST_LIMIT_S, root)
        names = [name.rpartition(" (")[0] for name in failures_in(output)]
    else:
        status, output = run_command([*PYTEST, *(only or tests.files)], TEST_LIMIT_S, root)
        names = [re.split(r" - |\s", name.partition(" ")[2])[0] for name in failures_in(output)]
    return names or ([] if status == 0 else [f"{tests.folder or 'pytest'}: exit code {status}"])


def verdict(change: Change, jobs: int) -> Verdict:
    begin = time.monotonic()
    was = (root / change.file).read_bytes()[change.begin : change.end].decode()
    passed_without: set[str] = set()
    for tests in tests_of(root, change.file):
        with plant_text(change.file, changed_text(change)):
            if not build_for(tests):
                killed = "the compiler"
                return Verdict(change, was, killed, time.monotonic() - begin)
            failed = failing(tests, jobs)
        if not failed:
            continue
        build_for(tests)
        names = tuple(name for name in failed if "exit code" not in name)
        again = failing(tests, jobs, names)
        if not again:
            return Verdict(change, was, failed[0], time.monotonic() - begin)
        passed_without |= set(again)
        print(f"     fails without any fault: {', '.join(again)}", flush=True)
    return Verdict(change, was, "", time.monotonic() - begin)


def interval(killed: int, count: int) -> tuple[float, float]:
    """Wilson's, 95 %."""
    z, share = 1.96, killed / count
    middle = share + z * z / (2 * count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (middle - half) / (1 + z * z / count), (middle + half) / (1 + z * z / count)


def one_line(text: str, most: int = 60) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def told(found: Verdict) -> str:
    change = found.change
    words = f"{one_line(found.was)} -> {one_line(change.replace) or 'nothing'}"
    return f"{change.file}:{change.line}: {change.kind}: {words}"


def line_of(found: Verdict) -> str:
    return f"{'killed' if found.killed_by else 'SURVIVED':8} {found.seconds:5.1f} s  {told(found)}"


def share_of(group: list[Verdict]) -> str:
    killed = sum(1 for found in group if found.killed_by)
    return f"{killed} of {len(group)}"


def summary(found: list[Verdict], seed: int, seconds: float) -> str:
    killed = sum(1 for each in found if each.killed_by)
    low, high = interval(killed, len(found))
    lines = [""]
    for title, key in (("kind", lambda v: v.change.kind), ("folder", lambda v: folder_of(v.change.file))):
        counts = Counter(key(each) for each in found)
        lines += [
            f"{title} {name}: {share_of([each for each in found if key(each) == name])} killed"
            for name in sorted(counts)
        ]
    lines += [f"survived: {told(each)}" for each in found if not each.killed_by]
    lines.append(
        f"{killed} of {len(found)} made faults killed, {100 * killed / len(found):.0f} % "
        f"({100 * low:.0f} to {100 * high:.0f}), seed {seed}, in {seconds / 60:.1f} min"
    )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--changed", default="", metavar="REVISION", help="only on lines that differ from it")
    parser.add_argument("--only", default="", help="a regular expression for files")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    restore()
    print(f"seed {options.seed}", flush=True)
    begin = time.monotonic()
    found: list[Verdict] = []
    try:
        # Some are none, and are drawn again.
        for change in draw(root, 3 * options.count, options.seed, options.changed, options.only):
            if len(found) == options.count:
                break
            if is_a_fault(change):
                found.append(verdict(change, options.jobs))
                print(f"{len(found):4}/{options.count} {line_of(found[-1])}", flush=True)
    except KeyboardInterrupt:
        print("interrupted; sources are as before, build/release is not", file=sys.stderr)
    if not found:
        print("nothing to plant a fault in: no product file has such lines", file=sys.stderr)
        return 2
    print(summary(found, options.seed, time.monotonic() - begin))
    killed = sum(1 for each in found if each.killed_by)
    return 1 if interval(killed, len(found))[1] < GOAL else 0


if __name__ == "__main__":
    sys.exit(main())
