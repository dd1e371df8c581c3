#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs what `make portable` built within Debian releases, in bare chroots, and says what happened.

Perl, which loads modules with dlopen, runs alone, recorded, with a remedy for the site that holds most, on
the heap: it must print the same. The recording is explained here. The chroots are made once by mmdebstrap, in
build/roots, from the mirror that apt has; as root. Exit code 2: that cannot be done here.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from release_tree import ReleaseError, project, run
from run_trixie import CannotBeMadeError
from try_release import make_root, say

build = project / "build/portable"
SUITES = ("bullseye", "bookworm", "trixie")
PERL = (
    "perl -MList::Util=sum -MFcntl -e '@all = map { chr(65 + $_ % 26) x ($_ % 500) } 1 .. 3000; "
    "print sum(map { length } @all), qq(\\n)'"
)
HERE = "/srv/heapwright"
RECORD = f"{HERE}/bin/heapwright-collect --force --output /tmp/perl.heapwright -- {PERL} 2>/dev/null"
HEAP = (
    f"LD_PRELOAD={HERE}/lib/libheapwright.so {PERL}; LD_PRELOAD={HERE}/lib/libheapwright.so "
    f"perl -ne 'print qq(has the heap\\n) if m(/libheapwright.so) and not $seen++' /proc/self/maps"
)
APPLY = (
    f"HEAPWRIGHT_APPLY=/tmp/remedy.toml HEAPWRIGHT_APPLY_STATS=1 "
    f"LD_PRELOAD={HERE}/lib/libheapwright-apply.so {PERL} 2>&1"
)


def heapwright(*words: object) -> str:
    return run(Path(sys.executable).parent / "heapwright", *words)


def facts(trace: Path) -> dict[str, str | int | bool]:
    """Of a recording, and the name of the site that holds most at the peak."""
    told = json.loads(heapwright("explain", "--json", "--question", "peak", trace))
    completeness = told["summary"]["completeness"]
    if not completeness["is_complete"]:
        raise ReleaseError(f"the recording is incomplete: {completeness['reasons']}")
    return {"allocator": told["summary"]["allocator"], "site": told["questions"]["peak"]["sites"][0]["site"]}


def must_say(root: Path, command: str, expected: str) -> str:
    """What else it says than what is expected of it."""
    code, said = say(root, command)
    if code != 0 or expected not in said:
        raise ReleaseError(f"{command[:60]}...: exit code {code}: {said.strip()[-300:]}")
    return said.replace(expected, "", 1)


def try_inside(root: Path) -> str:
    for place in ("bin", "lib"):
        shutil.copytree(build / place, root / HERE.lstrip("/") / place)
    code, alone = say(root, PERL)
    if code != 0:
        raise ReleaseError(f"perl alone: exit code {code}: {alone.strip()[-300:]}")
    must_say(root, RECORD, alone)
    found = facts(root / "tmp/perl.heapwright")
    remedy = f"segregate@{found['site']}"
    heapwright(
        "keep", root / "tmp/perl.heapwright", "--remedy", remedy, "--force", "-o", root / "tmp/remedy.toml"
    )
    applied = must_say(root, APPLY, alone)
    made = re.search(r"^heapwright: segregate@.*?: (\d+)", applied, re.MULTILINE)
    if not made or made[1] == "0":
        raise ReleaseError(f"no remedy was applied: {applied.strip()[-300:]}")
    if "has the heap" not in must_say(root, HEAP, alone):
        raise ReleaseError("the heap was not preloaded")
    libc = str(found["allocator"]).partition(" (")[0]
    return f"{libc}: recorded and explained, {made[1]} blocks by a remedy, ran on the heap"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", nargs="+", default=list(SUITES), choices=list(SUITES))
    chosen = parser.parse_args()
    if not (build / "bin/heapwright-collect").exists():
        print("portable: type `make portable` first", file=sys.stderr)
        return 2
    failed = 0
    for suite in chosen.suites:
        try:
            archive = make_root(suite)
        except (ReleaseError, CannotBeMadeError) as error:
            print(f"portable: {suite}: {error}", file=sys.stderr)
            return 2
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["tar", "-C", folder, "-xf", archive], check=True)
            try:
                print(f"{suite:9} {try_inside(Path(folder))}", flush=True)
            except ReleaseError as error:
                failed += 1
                print(f"{suite:9} FAILED {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
