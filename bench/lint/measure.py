#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What lint explains of real programs: builds code bases, records what comes with them, lints.

FOLDER gets sources, builds and recordings; OUTPUT/lint.json the coverage, and a sample of the
findings. bench/lint/judged.json says which of the sample are right, read by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bases import BASES, Base
from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

SAMPLED = 30
SEED = 7


def checked_out(base: Base, folder: Path, mirrors: str) -> Path:
    """The sources at the revision; mirrors: a git address with {} for owner+name."""
    target = folder / base.name
    if not target.exists():
        address = mirrors.format(base.repository.replace("/", "+")) if mirrors else ""
        address = address or f"https://github.com/{base.repository}"
        subprocess.run(["git", "clone", "-q", "--no-checkout", address, target], check=True)
        subprocess.run(["git", "-C", target, "checkout", "-q", base.revision], check=True)
    return target


def build(base: Base, target: Path) -> None:
    """Once."""
    done = target / "build/.measured"
    if done.exists():
        return
    for line in base.build:
        subprocess.run(line, shell=True, cwd=target, check=True, stdout=subprocess.DEVNULL)
    done.touch()


def recorded(base: Base, target: Path, command: Path) -> Path:
    """A recording of the program's run; its exit code is the program's own."""
    path = target / "build/run.heapwright"
    subprocess.run(
        [command, "record", "--force", "--output", path, "--", *base.run],
        cwd=target / "build",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=600,
    )
    return path


def linted(recording: Path, target: Path, command: Path) -> tuple[dict[str, Any], float]:
    """The document, and the seconds it took."""
    begin = time.monotonic()
    done = subprocess.run(
        [command, "lint", "--json", "--with", recording, "--sources", target],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return json.loads(done.stdout), time.monotonic() - begin


def main() -> None:
    """Runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mirrors", default="", help="git address with {} for owner+name; else GitHub's")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    command = project / ".venv/bin/heapwright"
    os.environ.setdefault("HEAPWRIGHT_BIN", str(project / "build/release/bin"))
    found: dict[str, Any] = {}
    everything: list[dict[str, Any]] = []
    for base in BASES:
        target = checked_out(base, given.folder, given.mirrors)
        build(base, target)
        document, seconds = linted(recorded(base, target, command), target, command)
        findings = [row for row in document["findings"] if row["allocations"]]
        everything += [{"base": base.name, **_short(row)} for row in findings]
        found[base.name] = {
            "repository": base.repository,
            "revision": base.revision,
            "does": base.does,
            "coverage": document["coverage"],
            "findings": len(findings),
            "notes": [note.replace(f"{project}/", "") for note in document["notes"]],
            "seconds": round(seconds, 2),
        }
        print(base.name, document["coverage"]["explained_share"], flush=True)
    everything.sort(key=lambda row: (row["base"], row["id"]))
    sample = random.Random(SEED).sample(everything, min(SAMPLED, len(everything)))
    result = {
        "schema": "heapwright.bench.lint/1",
        "machine": machine.describe(),
        "sources": sources.stamp("lint"),
        "bases": found,
        "sample": sample,
    }
    path = given.output / "lint.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """What a reader needs to judge it."""
    keys = (
        "id", "rule", "file", "line", "function", "expression", "owner", "owner_name", "calls", "allocations",
        "share", "action", "advice",
    )  # fmt: skip
    return {key: row[key] for key in keys}


if __name__ == "__main__":
    main()
