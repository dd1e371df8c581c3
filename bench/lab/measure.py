#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs all experiments, or the one named first, and keeps the raw results: build/results/lab-NAME.json.

Run it with .venv/bin/python on a quiet machine; options are handed on to
`heapwright lab`, for example --on glibc,jemalloc.
"""

import json
import subprocess
import sys
from pathlib import Path

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

# Paths of this checkout say nothing to others.
place = str(project) + "/"


def main() -> int:
    stamp = sources.stamp("lab")
    heapwright = Path(sys.executable).with_name("heapwright")
    words = sys.argv[1:]
    if not words or words[0].startswith("-"):
        words.insert(0, "all")
    command = [str(heapwright), "lab", *words, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout:
        return done.returncode
    document = json.loads(done.stdout.replace(place, ""))
    experiments = document.pop("experiments")
    for experiment in experiments:
        one = {**document, "sources": stamp, "experiments": [experiment]}
        path = sources.raw_results() / f"lab-{experiment['name']}.json"
        path.write_text(json.dumps(one, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{len(experiments)} result files in build/results; next: bench/pack.py, bench/render.py --write")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
