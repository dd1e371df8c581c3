#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs what sees the changes since a revision, the nearest first, in 90 seconds (make quick).

The quick checks of the sources come first, then units, Python tests and journeys, as the layer table, the
dependency files of the last build and the tests' own text give them. Nothing of ctest's label or pytest's
marker `full` runs. What the time did not suffice for is named: `make test` runs it.
"""

import argparse
import re
import subprocess
import sys
import time
from itertools import zip_longest
from pathlib import Path

from run_checks import checks
from run_tests import Outcome, Stage, print_summary, run_stage
from tests_of import Tests, reading, tests_of

root = Path(__file__).resolve().parent.parent
build = root / "build/release"
LIMIT_S = 90
CHECKS = {
    "layers",
    "imports",
    "sizes",
    "planted faults",
    "documents",
    "Python format",
    "Python lint",
    "Python types",
}


def git(*line: str) -> list[str]:
    return subprocess.run(
        ["git", *line], cwd=root, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def base_of(since: str) -> str:
    """Where HEAD left it; on it, and without a change in the tree, the commit before."""
    [base] = git("merge-base", since, "HEAD")
    is_on_it = git("rev-parse", "HEAD") == [base]
    return "HEAD~1" if is_on_it and not git("status", "--porcelain") else base


def changed_files(base: str) -> list[str]:
    changed = git("diff", "--name-only", "--diff-filter=d", base)
    return sorted({*changed, *git("ls-files", "--others", "--exclude-standard")})


def naming(where: str, word: str) -> list[Tests]:
    """The Python tests below tests/WHERE whose text has the word."""
    pattern = re.compile(rf"\b{re.escape(word)}\b")
    files = sorted((root / "tests" / where).rglob("test_*.py"))
    found = [path for path in files if pattern.search(path.read_text(encoding="utf-8"))]
    return [Tests((), files=(path.relative_to(root).as_posix(),)) for path in found]


def tests_of_test(path: Path) -> list[Tests]:
    """Of a file below tests/: itself, its folder, or the tests that name it."""
    if path.name.startswith("test_") and path.suffix == ".py":
        return [Tests((), files=(path.as_posix(),))]
    folder = path.parts[1]
    if path.suffix == ".py" or folder in ("programs", "journeys"):
        return naming("" if path.suffix == ".py" else "journeys", path.stem)
    if (root / f"tests/{folder}/CMakeLists.txt").is_file():
        return [Tests((f"tests/{folder}/all",), folder)]
    return []


def tests_reading(file: str) -> list[Tests]:
    """The folders of C++ tests that read a header, by the dependency files of the last build."""
    objects = reading(build, {str(root / file), f"../../{file}"})
    folders = sorted({name.split("/")[1] for name in objects if name.startswith("tests/")})
    return [
        Tests((f"tests/{folder}/all",), folder) for folder in folders if folder not in ("programs", "python")
    ]


def seeing(file: str) -> list[Tests]:
    """What may see a change of the file, the nearest first."""
    path = Path(file)
    if path.parts[0] == "tests":
        return tests_of_test(path)
    if path.parts[0] in ("src", "include", "python") and path.suffix in (".cpp", ".hpp", ".h", ".py"):
        units = [] if path.suffix == ".py" else tests_reading(file)
        nearest, *others = tests_of(root, file)
        return [nearest, *units, *others]
    if path.suffix == ".md":
        return naming("journeys", path.name)
    return naming("tools", path.stem) if path.parts[0] == "tools" else []


def stages(files: list[str]) -> list[Stage]:
    """In turns, so that the nearest tests of every file come before the second nearest of any."""
    turns = zip_longest(*(seeing(file) for file in files))
    chosen: dict[Tests, None] = dict.fromkeys(tests for turn in turns for tests in turn if tests)
    left_out = [name for name in checks() if name not in CHECKS]
    found = [Stage("checks", [[sys.executable, "tools/run_checks.py", "--without", *left_out]], LIMIT_S)]
    seen: set[str] = set()
    for tests in chosen:
        new = [file for file in tests.files if file not in seen]
        seen.update(new)
        targets = [
            "cmake",
            "--build",
            "--preset",
            "release",
            "-j2",
            "--target",
            *tests.targets,
            "--",
            "--quiet",
        ]
        commands = [targets] if tests.targets else []
        if tests.folder:
            commands += [["ctest", "--test-dir", f"build/release/tests/{tests.folder}", "-j2", "-LE", "full"]]
            commands[-1] += ["--output-on-failure", "--no-tests=ignore"]
        elif new:
            options = ["--color=no", "-p", "no:cacheprovider", "-rsfE", "-m", "not full"]
            commands += [[sys.executable, "-m", "pytest", *options, *new]]
        if tests.folder or new:
            found.append(Stage(tests.folder or ", ".join(Path(file).stem for file in new), commands, LIMIT_S))
    return found


def run(chosen: list[Stage], limit_s: float) -> tuple[dict[str, Outcome], list[str]]:
    """Outcomes, and the names of what the time did not suffice for."""
    end = time.monotonic() + limit_s
    outcomes: dict[str, Outcome] = {}
    left_out = []
    for stage in chosen:
        left_s = end - time.monotonic()
        outcome = run_stage(Stage(stage.name, stage.commands, int(left_s))) if left_s >= 1 else None
        if outcome is None or outcome.is_out_of_time:
            left_out.append(stage.name)
        else:
            outcomes[stage.name] = outcome
    return outcomes, left_out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--since", default="main", help="a revision; main unless told otherwise")
    parser.add_argument("--list", action="store_true", help="only list what would run")
    options = parser.parse_args()
    base = base_of(options.since)
    files = changed_files(base)
    chosen = stages(files)
    print(f"{len(files)} files differ from {base[:12]}: " + "; ".join(stage.name for stage in chosen))
    if options.list:
        return 0
    outcomes, left_out = run(chosen, LIMIT_S)
    print_summary(outcomes)
    if left_out:
        print(f"left out, as {LIMIT_S} s were over: {'; '.join(left_out)}; `make test` runs them")
    return 1 if any(outcome.failed for outcome in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
