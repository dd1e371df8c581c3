#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants the faults of tests/mutants/*.toml one after the other and expects a red test for each.

A fault is a text that stands once in a source file, what replaces it, and the
test that must fail then: `BINARY:FILTER` for a GoogleTest binary, `ctest:NAME` for
a program that the heap is preloaded into (without a dot in NAME: for the program
of that name), a pytest node id otherwise. `make
mutants` builds everything first; here only what a planted fault changes is built
again, in build/release. The original text is kept beside the build until it is
back in place, so that the next run restores it should this one be killed.

Exit code 1: a fault survived, or a test fails without any fault.
"""

import argparse
import json
import re
import signal
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from run_tests import run_command

root = Path(__file__).resolve().parent.parent
build = root / "build" / "release"
kept = root / "build" / "planted.json"
CPP_SUFFIXES = {".cpp", ".hpp", ".h"}
# What journeys and Python tests run of the native programs, and who has the heap linked in.
SHIPPED = [
    "heapwright-collect",
    "heapwright-record",
    "heapwright-attach",
    "heapwright-attachable",
    "heapwright-apply",
    "heapwright-count",
    "heapwright",
    "heapwright-lab",
    "heapwright-replay",
    "heap_elevated",
]
BUILD_LIMIT_S, TEST_LIMIT_S = 600, 300
# The list is for what no generator makes; one of each change of a line would have to follow every line.
MOST_KEPT = 150


@dataclass(frozen=True)
class Fault:
    name: str
    file: str
    find: str
    replace: str
    test: str

    @property
    def is_native(self) -> bool:
        return Path(self.file).suffix in CPP_SUFFIXES

    @property
    def is_unit(self) -> bool:
        """Whether the test is a GoogleTest binary's."""
        return re.match(r"\w+:", self.test) is not None and "::" not in self.test


def read_faults(folder: Path) -> list[Fault]:
    faults = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("fault", []):
            try:
                faults.append(Fault(**entry))
            except TypeError as error:
                raise SystemExit(f"{path.name}: {entry.get('name', '?')}: {error}") from None
    return faults


def problems(faults: list[Fault], base: Path) -> list[str]:
    """Why entries could not be planted; no test is run for this."""
    wrong = []
    for fault in faults:
        path = base / fault.file
        count = path.read_text(encoding="utf-8").count(fault.find) if path.is_file() else 0
        if count != 1:
            wrong.append(f"{fault.name}: its text stands {count} times in {fault.file}; it must be once")
        if fault.find == fault.replace:
            wrong.append(f"{fault.name}: changes nothing")
        if not fault.is_unit and not (base / fault.test.split("::")[0]).is_file():
            wrong.append(f"{fault.name}: no test {fault.test}")
        if fault.is_native and fault.test.startswith("tests/python/"):
            wrong.append(
                f"{fault.name}: Python tests use the installed native module; name a unit test or a journey"
            )
    if len(faults) > MOST_KEPT:
        wrong.append(
            f"{len(faults)} faults are kept by hand; at most {MOST_KEPT}: a generated one is none of these"
        )
    names = [fault.name for fault in faults]
    return wrong + [f"{name}: stands twice" for name in sorted({n for n in names if names.count(n) > 1})]


def restore() -> None:
    if kept.is_file():
        state = json.loads(kept.read_text(encoding="utf-8"))
        (root / state["file"]).write_text(state["text"], encoding="utf-8")
        kept.unlink()


@contextmanager
def plant_text(file: str, text: str) -> Iterator[None]:
    """The file has this text meanwhile."""
    path = root / file
    kept.write_text(json.dumps({"file": file, "text": path.read_text(encoding="utf-8")}), encoding="utf-8")
    try:
        path.write_text(text, encoding="utf-8")
        yield
    finally:
        restore()


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    text = (root / fault.file).read_text(encoding="utf-8")
    with plant_text(fault.file, text.replace(fault.find, fault.replace)):
        yield


def build_for(fault: Fault) -> str:
    """Builds what the fault's test runs; the compiler's words when that fails."""
    targets = [fault.test.split(":")[0]] if fault.is_unit else SHIPPED
    if fault.test.startswith("ctest:"):
        # One without a dot has the name of its program; the others run beside the heap.
        name = fault.test.removeprefix("ctest:")
        targets = ["heapwright"] if "." in name else [name]
    status, output = run_command(
        ["cmake", "--build", str(build), "--target", *targets, "--", "--quiet"], BUILD_LIMIT_S, root
    )
    return output if status else ""


def run_test(test: str) -> tuple[int, str]:
    if test.startswith("ctest:"):
        chosen = f"^{re.escape(test.removeprefix('ctest:'))}$"
        line = ["ctest", "--test-dir", str(build), "--no-tests=error", "-R", chosen]
        return run_command(line, TEST_LIMIT_S, root)
    if re.match(r"\w+:", test) and "::" not in test:
        binary, _, chosen = test.partition(":")
        line = [str(build / "bin" / binary), f"--gtest_filter={chosen}"]
        status, output = run_command(line, TEST_LIMIT_S, root)
        ran_none = "[==========] 0 tests" in output or "Running 0 tests" in output
        return (5, f"{test}: no such test") if ran_none else (status, output)
    line = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    return run_command(line, TEST_LIMIT_S, root)


def ends_badly(test: str) -> str:
    """What is wrong with a test when nothing is planted."""
    status, output = run_test(test)
    return "" if status == 0 else f"{test}: exit code {status} without any fault\n{output[-2000:]}"


# pytest: 4, a name that is not there (wrong options are our own); 5, a file without tests.
NO_SUCH_TEST = (4, 5)


def verdict(fault: Fault) -> str:
    with planted(fault):
        if fault.is_native and (words := build_for(fault)):
            return f"does not build:\n{words[-1500:]}"
        status, _ = run_test(fault.test)
    if status in NO_SUCH_TEST:
        return f"no such test: {fault.test}"
    return "killed" if status != 0 else "SURVIVED"


def check_tests(faults: list[Fault]) -> list[str]:
    tests = sorted({fault.test for fault in faults})
    print(f"{len(tests)} tests without any fault", flush=True)
    return [words for test in tests if (words := ends_badly(test))]


def plant_all(faults: list[Fault]) -> list[Fault]:
    """One after the other, a file's together: less to build."""
    survivors = []
    for number, fault in enumerate(sorted(faults, key=lambda f: (f.is_native, f.file)), 1):
        begin = time.monotonic()
        result = verdict(fault)
        seconds = time.monotonic() - begin
        print(f"{number:4}/{len(faults)} {result:8} {seconds:5.1f} s  {fault.file}: {fault.name}", flush=True)
        if result != "killed":
            survivors.append(fault)
    return survivors


def stop(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression for files or names")
    parser.add_argument("--check", action="store_true", help="only look whether every fault can be planted")
    options = parser.parse_args()
    restore()
    faults = read_faults(root / "tests" / "mutants")
    wrong = problems(faults, root)
    if wrong or options.check:
        print("\n".join(wrong) or f"{len(faults)} faults can be planted")
        return 1 if wrong else 0
    chosen = [f for f in faults if re.search(options.only, f"{f.file}: {f.name}")]
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, stop)
    try:
        broken = check_tests(chosen)
        if broken:
            print("\n".join(broken))
            return 1
        survivors = plant_all(chosen)
    except KeyboardInterrupt:
        print(
            "interrupted; sources are as before, build/release is not: make build TESTS=ON", file=sys.stderr
        )
        return 130
    run_command(["cmake", "--build", str(build), "--", "--quiet"], BUILD_LIMIT_S, root)
    for fault in survivors:
        print(f"survived: {fault.file}: {fault.name} ({fault.test})")
    seconds = time.monotonic() - begin
    print(f"{len(chosen) - len(survivors)} killed, {len(survivors)} survived, in {seconds:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
