#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records and counts programs of other Debian releases, in chroots, with their C libraries.

A root is made by: mmdebstrap --variant=apt --include=gawk,gcc,libc6-dev,perl,python3,sqlite3 RELEASE FOLDER.
Each program runs alone, then recorded, then counted: its output and exit code must be the same. The raw
figures go to OUTPUT/systems.json. As root.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import heapwright
from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path += [str(project / "bench"), str(project / "tools")]
import sources  # noqa: E402
from run_trixie import PROGRAMS  # noqa: E402

LIMIT_S = 120
COMMAND = str(Path(sys.executable).parent / "heapwright")


def run(root: Path, command: list[str], before: list[str]) -> tuple[int, str, str]:
    """Exit code, output and errors of a command in the root, started by `before`; its mounts end with it."""
    build = project / "build/release"
    place = shlex.quote(f"{root}{build}")
    script = (
        f"mkdir -p {place} && mount --rbind /proc {root}/proc && mount --rbind /dev {root}/dev && "
        f"mount --bind {shlex.quote(str(build))} {place} && exec {shlex.join(before)} chroot {root} "
        + shlex.join(command)
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=LIMIT_S
    )
    return done.returncode, done.stdout, done.stderr


def of_recordings(folder: Path) -> dict[str, Any]:
    """Calls and distinct stacks of all processes in the root."""
    found = {"calls": 0, "dropped": 0, "stacks": 0, "too_deep": 0, "cut": 0}
    for path in folder.glob("*.heapwright"):
        trace = heapwright.open(path)
        if trace.metadata.program.endswith("/chroot"):
            continue
        stacks = trace.cut_stacks()
        by_limit = sum(count for why, count in stacks.reasons if "deeper than the limit" in why)
        found["calls"] += trace.event_count
        found["dropped"] += trace.end.dropped
        found["stacks"] += stacks.total
        found["too_deep"] += by_limit
        found["cut"] += sum(count for _, count in stacks.reasons) - by_limit
    return found


def of_program(root: Path, name: str) -> dict[str, Any]:
    alone = run(root, PROGRAMS[name], [])
    if alone[0] != 0:
        sys.exit(f"systems: {name} does not run in {root}: {alone[2].strip()[-200:]}")
    with tempfile.TemporaryDirectory() as folder:
        recording = [COMMAND, "record", "--children", "--output", f"{folder}/%p.heapwright", "--"]
        recorded = run(root, PROGRAMS[name], recording)
        found = of_recordings(Path(folder))
    counted = run(root, PROGRAMS[name], [COMMAND, "count", "--"])
    return {
        **found,
        "is_same_recorded": recorded[:2] == alone[:2],
        "is_same_counted": counted[:2] == alone[:2],
    }


def of_root(root: Path) -> dict[str, Any]:
    libc = run(root, ["getconf", "GNU_LIBC_VERSION"], [])[1].strip()
    return {"libc": libc, "programs": {name: of_program(root, name) for name in PROGRAMS}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roots", nargs="+", type=Path, metavar="FOLDER", help="a root, named as its release")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    document = {
        "machine": machine.describe(),
        "sources": sources.stamp("recorder"),
        "systems": {root.name: of_root(root.resolve()) for root in options.roots},
    }
    (options.output / "systems.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
