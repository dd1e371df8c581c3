#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What counting costs: instructions and processor time, beside bare and beside other ways, in turns.

Instructions are callgrind's, of user code, which other work on the machine does
not change; those of a pair are the difference of two loops of different length.
OUTPUT/count.json keeps all runs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
SHORT_PAIRS, LONG_PAIRS, TIMED_PAIRS = 100_000, 200_000, 5_000_000

json_script = """
import json
rows = [{"id": i, "name": "row %d" % i, "values": list(range(i % 20))} for i in range(20000)]
text = json.dumps(rows, check_circular=False)
for _ in range(5):
    back = json.loads(text)
"""


def settings(build: Path) -> dict[str, dict[str, str]]:
    """By what runs beside the program: its environment."""
    count = str(build / "lib/libheapwright-count.so")
    jemalloc, tcmalloc = (str(LIBRARIES / name) for name in ("libjemalloc.so.2", "libtcmalloc.so.4"))
    return {
        "bare": {},
        "count": {"LD_PRELOAD": count},
        "jemalloc": {"LD_PRELOAD": jemalloc},
        "jemalloc, count": {"LD_PRELOAD": f"{count}:{jemalloc}"},
        "jemalloc, its sampling": {"LD_PRELOAD": jemalloc, "MALLOC_CONF": "prof:true,lg_prof_sample:19"},
        "tcmalloc": {"LD_PRELOAD": tcmalloc},
        "tcmalloc, count": {"LD_PRELOAD": f"{count}:{tcmalloc}"},
        "tcmalloc, its sampling": {"LD_PRELOAD": tcmalloc, "TCMALLOC_SAMPLE_PARAMETER": "524288"},
    }


def workloads(folder: Path) -> dict[str, list[str]]:
    """Programs that do something."""
    source = folder / "source.ii"
    text = project / "src/collect/options.cpp"
    subprocess.run(
        ["g++", "-std=c++20", "-E", f"-I{project / 'src'}", text, "-o", source], check=True, timeout=60
    )
    compiler = subprocess.run(
        ["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True
    ).stdout.strip()
    sql = (project / "examples/orders.sql").as_posix()
    return {
        "sqlite3": ["/usr/bin/sqlite3", ":memory:", f".read {sql}"],
        "python3, JSON": ["/usr/bin/python3.11", "-S", "-E", "-c", json_script],
        "cc1plus": [compiler, "-quiet", "-std=c++20", "-fpreprocessed", str(source), "-o", "/dev/null"],
        "gzip": ["/usr/bin/gzip", "-9", "-c", str(source)],
    }


def cpu_ns(line: list[str], environment: dict[str, str]) -> int:
    """Processor time of one run, its own and the kernel's for it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        line, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        check=True, timeout=300,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9)


def pair_ns(pairs: Path, environment: dict[str, str]) -> float:
    """Of one run of the loop, as the program says."""
    done = subprocess.run(
        [pairs, str(TIMED_PAIRS)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def instructions(line: list[str], environment: dict[str, str]) -> int:
    """User code's, by callgrind."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*tool, *line], env={**os.environ, "PYTHONHASHSEED": "0", **environment}, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, check=True, timeout=900,
    )  # fmt: skip
    found = re.findall(r"Collected : (\d+)", done.stderr)
    return int(found[-1])


def calls_of(command: Path, line: list[str]) -> int:
    """Heap calls of a program, by what is measured here."""
    done = subprocess.run(
        [command, "count", "--json", "--", *line],
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
        timeout=300,
    )
    processes = json.loads(done.stdout.splitlines()[-1])["processes"]
    return sum(sum(process["calls"].values()) for process in processes)


def measure_program(
    command: Path, line: list[str], known: dict[str, dict[str, str]], runs: int
) -> dict[str, Any]:
    """Its calls, its instructions once, its processor time in turns."""
    found: dict[str, Any] = {"calls": calls_of(command, line)}
    found["instructions"] = {way: instructions(line, known[way]) for way in ("bare", "count")}
    found["cpu_ns"] = {"bare": [], "count": []}
    for _ in range(runs):
        for way in ("bare", "count"):
            found["cpu_ns"][way].append(cpu_ns(line, known[way]))
    return found


def main() -> None:
    """Runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    parser.add_argument("--output", type=Path, default=project / "bench/results")
    options = parser.parse_args()
    known = settings(options.build)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        pairs = folder / "pairs"
        subprocess.run(
            ["g++", "-O2", "-fno-builtin", project / "bench/count/pairs.cpp", "-o", pairs],
            check=True,
            timeout=60,
        )
        per_pair: dict[str, Any] = {}
        for name in ("bare", "count"):
            few = instructions([str(pairs), str(SHORT_PAIRS)], known[name])
            many = instructions([str(pairs), str(LONG_PAIRS)], known[name])
            per_pair[name] = (many - few) / (LONG_PAIRS - SHORT_PAIRS)
        times: dict[str, list[float]] = {name: [] for name in known}
        for _ in range(options.runs):
            for name, environment in known.items():
                times[name].append(pair_ns(pairs, environment))
        print(per_pair, {name: min(runs) for name, runs in times.items()}, flush=True)
        programs: dict[str, Any] = {}
        for name, line in workloads(folder).items():
            programs[name] = measure_program(options.command, line, known, options.runs)
            print(name, programs[name], flush=True)
    document = {
        "schema": "heapwright.bench.count/1",
        "machine": machine.describe(),
        "sources": sources.stamp("count"),
        "instructions_per_pair": per_pair,
        "pair_ns": times,
        "programs": programs,
    }
    path = options.output / "count.json"
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
