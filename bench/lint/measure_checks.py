#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the checks without a recording find in Debian source packages, and what that takes.

FOLDER gets the packages, by apt-get source where they are not there yet; OUTPUT/lint_checks.json the counts
and a sample of the findings. bench/lint/judged_checks.json says which of the sample are right, read by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from heapwright.lint import compile as compiling
from heapwright.lint import keep, static
from heapwright.lint.checks import not_released
from heapwright.lint.checks.kinds import CHECKS
from heapwright.lint.checks.run import may_have_some
from heapwright.lint.compile import HEADER_ENDINGS, SOURCE_ENDINGS
from heapwright.lint.finding import Finding
from heapwright.lint.kinds import rule_id
from heapwright.lint.sources import Sources
from heapwright.measure import machine
from packages import PACKAGES, Package

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

SAMPLED = 30  # findings of each check
PARSED = 60  # files of each package
SEED = 11
TIMED = "cppcheck"
TIMED_FILES = 8
# Files with one of these have findings more often than others: fewer have to be parsed for a sample.
_LIKELY = re.compile(
    rb"shared_ptr<[^;=]*>\s*\w*\s*[({]\s*new\b"
    rb"|\w+Ptr\s*\w*\s*[({]\s*new\b"
    rb"|\bvector<[^;(){}=]*>\s+(\w+);(?:(?!\1)[\s\S]){0,400}?\bfor\s*\([\s\S]{0,400}?\b\1\.(?:push|emplace)_back"
)
RUNS = 2


def unpacked(package: Package, folder: Path) -> Path:
    """The package's sources, configured."""
    upstream = package.version.rpartition("-")[0]
    target = folder / f"{package.name}-{upstream}"
    if not target.exists():
        line = ["apt-get", "source", f"{package.name}={package.version}"]
        subprocess.run(line, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    if package.configure and not (target / "build/compile_commands.json").exists():
        subprocess.run(package.configure, shell=True, cwd=target, check=True, stdout=subprocess.DEVNULL)
    return target


def everything_in(folder: Path) -> list[Path]:
    """C and C++, without what the build wrote."""
    build = folder / "build"
    found = (path for path in folder.rglob("*") if path.suffix in (*SOURCE_ENDINGS, *HEADER_ENDINGS))
    return [path for path in found if path.is_file() and not path.is_relative_to(build)]


def lines_of(file: Path) -> int:
    """Those with something in them."""
    return sum(1 for line in file.read_bytes().splitlines() if line.strip())


def _has_words(file: str) -> bool:
    """False too of a file that the build would write first."""
    return Path(file).is_file() and may_have_some(Path(file).read_bytes())


def _is_likely(text: bytes) -> bool:
    return any(pattern.search(text) for pattern in (_LIKELY, *not_released.WORDS))


def looked(package: Package, target: Path, jobs: int) -> tuple[dict[str, Any], list[Finding]]:
    """The counts, and the findings, of files drawn from those whose text looks like a finding."""
    folder = Sources(target)
    database = compiling.open_database(None, folder.folder)
    headers, _ = compiling.resource_arguments()
    files = static.files(folder, database, ())
    with_words = [file for file in files if _has_words(file)]
    likely = [file for file in with_words if _is_likely(Path(file).read_bytes())]
    drawn = sorted(random.Random(SEED).sample(likely, min(PARSED, len(likely))))
    found = static.look(static.Input(folder, database, headers, tuple(drawn), jobs), lambda *_: None)
    findings = keep.with_fingerprints(found.findings, keep.Lines(folder.folder))
    row = {
        "version": package.version,
        "lines": sum(map(lines_of, everything_in(target))),
        "flags": "compile_commands.json" if database.path else "guessed",
        "files": len(files),
        "with_words": len(with_words),
        "likely": len(likely),
        "parsed": found.parsed,
        "parsed_lines": sum(lines_of(Path(file)) for file in drawn),
        "with_errors": len(found.problems),
        "findings": {rule_id(kind.name): sum(one.kind == kind.name for one in findings) for kind in CHECKS},
        "with_edit": sum(one.fix is not None for one in findings),
    }
    return row, findings


def timed(target: Path) -> dict[str, Any]:
    """CPU seconds of lint, and of clang -fsyntax-only, over the same files, in turns; all have such words."""
    command = project / ".venv/bin/heapwright"
    database = compiling.open_database(None, target)
    with_words = [file for file in sorted(database.units) if _has_words(file)]
    drawn = sorted(random.Random(SEED).sample(with_words, min(TIMED_FILES, len(with_words))))

    def lint() -> None:
        # In one process: workers are nobody's children whose time could be asked for.
        line = [command, "lint", "--json", "--jobs", "1", "--sources", target, *drawn]
        subprocess.run(line, check=True, capture_output=True)

    def clang() -> None:
        for file in drawn:
            unit = database.units[file]
            line = ["clang", "-fsyntax-only", "-w", *unit.arguments, file]
            subprocess.run(line, cwd=unit.folder, check=True, capture_output=True)

    found: dict[str, list[float]] = {"lint": [], "clang": []}
    for _ in range(RUNS):
        for name, work in (("lint", lint), ("clang", clang)):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            work()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            found[name].append(round(used, 2))
    said = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"version (\S+)", said)
    return {
        "package": TIMED,
        "files": len(drawn),
        "clang": version[1] if version else "",
        "cpu_seconds": found,
        "ratio": round(statistics.median(found["lint"]) / statistics.median(found["clang"]), 2),
    }


def _short(package: str, one: Finding) -> dict[str, Any]:
    """What a reader needs to judge it."""
    return {
        "package": package,
        "id": one.fingerprint,
        "rule": rule_id(one.kind),
        "file": one.file,
        "line": one.line,
        "action": one.remedy.action,
        "has_edit": one.fix is not None,
    }


def main() -> None:
    """Looks, and writes after each package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument(
        "--resume", action="store_true", help="packages in the results are not looked at again"
    )
    given = parser.parse_args()
    jobs = len(os.sched_getaffinity(0))
    result: dict[str, Any] = {
        "schema": "heapwright.bench.lint_checks/1",
        "machine": machine.describe(),
        "sources": sources.stamp("lint"),
        "packages": {},
        "found": [],
        "sample": [],
    }
    path = given.output / "lint_checks.json"
    if given.resume:
        result = json.loads(path.read_text(encoding="utf-8"))
    for package in PACKAGES:
        if package.name in result["packages"]:
            continue
        target = unpacked(package, given.folder.resolve())
        row, findings = looked(package, target, jobs)
        print(package.name, json.dumps(row), flush=True)
        result["packages"][package.name] = row
        result["found"] += [_short(package.name, one) for one in findings]
        result["sample"] = _drawn(result["found"])
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    package = next(one for one in PACKAGES if one.name == TIMED)
    result["time"] = timed(unpacked(package, given.folder.resolve()))
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _drawn(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """So many of each check."""
    drawn = random.Random(SEED)
    sample = []
    for rule in [rule_id(kind.name) for kind in CHECKS]:
        own = [row for row in found if row["rule"] == rule]
        ordered = sorted(own, key=lambda row: (row["package"], row["id"]))
        sample += drawn.sample(ordered, min(SAMPLED, len(ordered)))
    return sample


if __name__ == "__main__":
    main()
