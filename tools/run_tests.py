#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# length: the stages of all tiers, and one way to run them
"""Runs every stage of the tests, each bounded in time, and sums up what the runners said.

Called by `make test`, which configures build/release first. A stage
that fails does not stop the later ones; the last line gives the sums. What
late stages compile is begun beside the earlier ones, with the time that these leave.
Journeys measure real processes, beside other journeys and compilers. Where at most three fail,
these run once more, alone; one that passes then is no failure, and the summary names it as unsteady.
Without an option it leaves out what has ctest's label or pytest's marker `full`, C++ lint and
the other sanitizers; `--all` (make test-all) runs everything. `--of heap` or
`--of python/test_explain.py` builds and runs what is under tests/ there, and no more.
"""

import argparse
import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

root = Path(__file__).resolve().parent.parent
# Compiled in seconds; tests/CMakeLists.txt gives them the label "first".
FIRST = ["tests/base/all", "tests/platform/all", "tests/counters/all"]
# pytest's exit code where it runs none: all are `full`.
NONE_CHOSEN = 5
# More failures are no accident of a busy machine.
MOST_AGAIN = 3
# What reads files of others, and what hands out memory.
SANITIZED = ("trace", "heap")
SETUP = (["cmake", "--preset"], ["cmake", "--build"], ["make", "--no-print-directory"])


@dataclass(frozen=True)
class Stage:
    name: str
    commands: list[list[str]]
    limit_s: int
    # What may be done before, as far as it gets.
    ahead: list[list[str]] = field(default_factory=list)
    # Few tests that fail run once more, with nothing beside them.
    is_repeated: bool = False


@dataclass
class Outcome:
    passed: int
    failed: int
    skipped: int
    seconds: float
    failures: list[str]
    is_out_of_time: bool = False
    unsteady: list[str] = field(default_factory=list)


def pytest_stage(name: str, tests: list[str], limit_s: int, workers: int = 1, is_whole: bool = True) -> Stage:
    options = ["--color=no", "-p", "no:cacheprovider", "--durations=5", "-rsfE"]
    if workers > 1:  # by file, because what a file's tests share is made once then
        options += ["--numprocesses", str(workers), "--dist", "loadfile"]
    if not is_whole:
        options += ["-m", "not full"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    return Stage(name, [command], limit_s, is_repeated=workers > 1)


def sanitizer_stage(preset: str, jobs: int, limit_s: int, folders: tuple[str, ...] = ()) -> Stage:
    """Of all folders, or of these alone."""
    targets = [word for folder in folders for word in ("--target", f"tests/{folder}/all")]
    ctest = ["-j", str(jobs), "--timeout", "300"]
    of_all = ["ctest", "--preset", preset, *ctest]
    tests = [["ctest", "--test-dir", f"build/{preset}/tests/{folder}", *ctest] for folder in folders] or [
        of_all
    ]
    commands = [
        ["cmake", "--preset", preset],
        ["cmake", "--build", "--preset", preset, "-j", str(jobs), *targets, "--", "--quiet"],
    ]
    name = f"{', '.join(folders) or 'C++ units'} under {preset}"
    return Stage(name, [*commands, *tests], limit_s, ahead=commands)


def stages(jobs: int, is_whole: bool = True) -> list[Stage]:
    release = ["ctest", "--preset", "release", "-j", str(jobs), "--timeout", "300"]
    first = ["cmake", "--build", "--preset", "release", "-j", str(jobs), "--target", *FIRST, "--", "--quiet"]
    tidy = [sys.executable, "tools/check_tidy.py", "--jobs", str(jobs)]
    checks = [sys.executable, "tools/run_checks.py"]
    later = [
        Stage("checks", [checks], 1200, ahead=[tidy]),
        sanitizer_stage("asan", jobs, 2400),
        sanitizer_stage("tsan", jobs, 2400),
    ]
    if not is_whole:
        later = [
            Stage("checks", [[*checks, "--without", "C++ lint"]], 600),
            sanitizer_stage("asan", jobs, 600, SANITIZED),
        ]
    return [
        Stage("first C++ units", [first, [*release, "-L", "first"]], 600),
        Stage("build", [["make", "--no-print-directory", "build", "TESTS=ON", f"JOBS={jobs}"]], 3600),
        Stage("C++ units", [[*release, "-LE", "first" if is_whole else "first|full"]], 600),
        pytest_stage("check scripts", ["tests/tools"], 300, is_whole=is_whole),
        pytest_stage("Python", ["tests/python"], 600, jobs, is_whole),
        pytest_stage("journeys", ["tests/journeys"], 2400, jobs, is_whole),
        *later,
    ]


def files_of(part: str) -> list[Path]:
    """What a PART that is no file or folder means: python/explain is tests/python/test_explain*.py."""
    path = root / "tests" / part
    return sorted(path.parent.glob(f"test_{path.name}*.py"))


def stage_of(part: str, jobs: int) -> Stage:
    """The stage for what is below tests/; exits with 2 when there is none."""
    path = root / "tests" / part.split("::")[0]
    named = [] if path.exists() else files_of(part)
    tests = [str(file.relative_to(root)) for file in named] or [f"tests/{part}"]
    build = ["cmake", "--build", "build/release", "-j", str(jobs), "--target"]
    if named or path.name.endswith(".py") or (path.is_dir() and any(path.rglob("test_*.py"))):
        runner = [sys.executable, "-m", "pytest", "--color=no", "-p", "no:cacheprovider", "-rsfE", *tests]
        return Stage(part, [[*build, "run_by_python", "--", "--quiet"], runner], 1800)
    if not (path / "CMakeLists.txt").is_file():
        names = sorted(p.name for p in (root / "tests").iterdir() if p.is_dir())
        print(f"no tests in tests/{part}; there are {', '.join(names)}", file=sys.stderr)
        sys.exit(2)
    folder = f"build/release/tests/{part}"
    runner = ["ctest", "--test-dir", folder, "-j", str(jobs), "--timeout", "300", "--output-on-failure"]
    return Stage(part, [[*build, f"tests/{part}/all", "--", "--quiet"], runner], 1800)


def run_command(
    command: list[str], limit_s: float, folder: Path = root, is_shown: bool = False
) -> tuple[int, str]:
    """Exit code and output, which is_shown prints as it comes.

    Runs in a group of its own, so that a stage out of time leaves nothing behind.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    is_over = threading.Event()

    def end() -> None:
        is_over.set()
        os.killpg(process.pid, signal.SIGKILL)

    limit = threading.Timer(max(limit_s, 1), end)
    limit.start()
    lines = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if is_shown:
                print(line, end="", flush=True)
        status = process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        limit.cancel()
    if is_over.is_set():
        lines.append(f"\nout of time after {limit_s:.0f} s\n")
        status = 124
    return status, "".join(lines)


def count_results(output: str) -> tuple[int, int, int]:
    """(passed, failed, skipped) as ctest, pytest or run_checks.py printed them."""
    ctest = re.search(r"(\d+) tests? failed out of (\d+)", output)
    if ctest:
        failed, total = int(ctest.group(1)), int(ctest.group(2))
        skipped = len(re.findall(r"\*\*\*Skipped", output))
        return total - failed - skipped, failed, skipped
    lines = [line for line in output.splitlines() if re.search(r"\b\d+ (passed|failed|error)", line)]
    last = lines[-1] if lines else ""

    def number(word: str) -> int:
        found = re.search(rf"(\d+) {word}", last)
        return int(found.group(1)) if found else 0

    return number("passed"), number("failed") + number("error"), number("skipped")


def skip_reasons(log: str) -> list[str]:
    """Where and why GoogleTest skipped, of ctest's log; ctest itself names only the test."""
    return [": ".join(found) for found in re.findall(r"^(\S+:\d+): Skipped\n(.+)$", log, re.MULTILINE)]


def failures_in(output: str) -> list[str]:
    """A line for each failure, as ctest, pytest or run_checks.py names it."""
    ctest = r"^\s*\d+ - (\S+ \((?!Skipped|Disabled).*\))\s*$"
    pytest = r"^((?:FAILED|ERROR) tests/.+)$"
    check = r"^(FAILED (?!tests/)[\w+ ]+)$"
    return ["".join(found) for found in re.findall(f"{ctest}|{pytest}|{check}", output, re.MULTILINE)]


def run_again(failures: list[str], limit_s: float, folder: Path) -> bool:
    """Whether the tests that failed pass when they run alone; many, or errors outside tests, do not."""
    named = [re.match(r"FAILED (tests/\S+::.+?)(?: - |$)", line) for line in failures]
    if not 0 < len(named) <= MOST_AGAIN or not all(named):
        return False
    tests = [found[1] for found in named if found]
    print(f"\nonce more, alone: {', '.join(tests)}", flush=True)
    runner = [sys.executable, "-m", "pytest", "--color=no", "-p", "no:cacheprovider", "-rsfE", *tests]
    status, _ = run_command(runner, limit_s, folder, is_shown=True)
    return status == 0


def run_stage(stage: Stage, folder: Path = root) -> Outcome:
    print(f"\n== {stage.name}", flush=True)
    start = time.monotonic()
    passed = failed = skipped = status = 0
    failures: list[str] = []
    unsteady: list[str] = []
    for command in stage.commands:
        is_setup = command[:2] in SETUP
        left_s = stage.limit_s - (time.monotonic() - start)
        status, output = run_command(command, left_s, folder, is_shown=not is_setup)
        if status == NONE_CHOSEN and "deselected" in output:
            status = 0
        counts = count_results(output)
        if command[0] == "ctest" and counts[2]:
            built = Path("build") / command[2] if command[1] == "--preset" else command[2]
            log = folder / built / "Testing/Temporary/LastTest.log"
            for reason in skip_reasons(log.read_text(errors="replace")):
                print(f"SKIPPED {reason}", flush=True)
        passed, failed, skipped = (a + b for a, b in zip((passed, failed, skipped), counts, strict=True))
        if status == 124:
            print(output.splitlines()[-1], flush=True)
        elif status != 0 and is_setup:
            print(output.rstrip(), flush=True)
        if status != 0:
            failed += counts[1] == 0
            failures = failures_in(output) or [f"{' '.join(command)}: exit code {status}"]
            break
    left_s = stage.limit_s - (time.monotonic() - start)
    if stage.is_repeated and status == 1 and len(failures) == failed and run_again(failures, left_s, folder):
        passed, failed, failures, unsteady = passed + failed, 0, [], failures
    return Outcome(passed, failed, skipped, time.monotonic() - start, failures, status == 124, unsteady)


class Ahead:
    """Runs commands one after the other in what processor time is left, until it is stopped."""

    def __init__(self, commands: list[list[str]]) -> None:
        # Where sessions share the processors alike, a session has a niceness as well.
        low = "exec </dev/null >/dev/null 2>&1; echo 19 >/proc/self/autogroup; "
        low += "; ".join(f"nice -n 19 {shlex.join(command)}" for command in commands)
        self.process = subprocess.Popen(["sh", "-c", low], cwd=root, start_new_session=True)

    def stop(self) -> None:
        """Ninja removes what is half written; then nothing is left of it."""
        for number, wait_s in ((signal.SIGTERM, 10), (signal.SIGKILL, None)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(wait_s)


def run_stages(chosen: list[Stage], outcomes: dict[str, Outcome]) -> None:
    ahead = None
    try:
        for at, stage in enumerate(chosen):
            if ahead and stage.ahead:
                ahead.stop()
                ahead = None
            outcomes[stage.name] = run_stage(stage)
            if stage.name == "build":
                ahead = Ahead([command for later in chosen[at + 1 :] for command in later.ahead])
    finally:
        if ahead:
            ahead.stop()


def print_summary(outcomes: dict[str, Outcome]) -> None:
    print("\n== summary")
    for name, o in outcomes.items():
        print(f"{name:24} {o.passed:5} passed {o.failed:4} failed {o.skipped:4} skipped {o.seconds:7.1f} s")
    for name, o in outcomes.items():
        for failure in o.failures:
            print(f"{name}: {failure}")
        for one in o.unsteady:
            print(f"{name}: unsteady, passed when run alone: {one.removeprefix('FAILED ')}")
    passed, failed, skipped = (
        sum(getattr(o, field) for o in outcomes.values()) for field in ("passed", "failed", "skipped")
    )
    seconds = sum(o.seconds for o in outcomes.values())
    print(f"{passed} passed, {failed} failed, {skipped} skipped in {seconds / 60:.1f} min", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", help="run only the stages whose name holds this word")
    parser.add_argument("--of", metavar="PART", help="build and run only tests/PART")
    parser.add_argument("--all", action="store_true", help="everything, as before a release")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = [s for s in stages(options.jobs, options.all) if not options.only or options.only in s.name]
    if options.of:
        chosen = [stage_of(options.of, options.jobs)]
    outcomes: dict[str, Outcome] = {}
    try:
        run_stages(chosen, outcomes)
    except KeyboardInterrupt:
        print_summary(outcomes)
        print("interrupted; what was running is stopped", file=sys.stderr)
        return 130
    print_summary(outcomes)
    is_bad = any(o.failed or not (o.passed or name == "build") for name, o in outcomes.items())
    return 1 if is_bad or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
