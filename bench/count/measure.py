#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What counting costs: instructions and processor time, beside bare and beside other ways, in turns.

Instructions are callgrind's, of user code, which other work on the machine does
not change; those of a pair are the difference of two loops of different length.
OUTPUT/count_instructions.json has them, and OUTPUT/count.json the times of all runs.
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
from typing import Any, NamedTuple

from heapwright.live import profiles
from heapwright.live.sampling import Sampling
from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# Of these instructions are counted, and these programs run so.
COUNTED = ("bare", "count", "count --sample 3M", "count --sample 512k")
PROGRAMS_RUN = ("bare", "count", "count --sample 512k")
ROOM_BYTES = 64 << 20
SHORT_PAIRS, LONG_PAIRS, TIMED_PAIRS = 100_000, 200_000, 5_000_000

json_script = """
import json
rows = [{"id": i, "name": "row %d" % i, "values": list(range(i % 20))} for i in range(20000)]
text = json.dumps(rows, check_circular=False)
for _ in range(5):
    back = json.loads(text)
"""


class Way(NamedTuple):
    """How a program is started."""

    environment: dict[str, str]
    sampling: Sampling | None = None
    counter: Path = Path()

    def line(self, line: list[str]) -> list[str]:
        """The command that runs the program so."""
        return self.sampling.command(self.counter, line) if self.sampling else line

    def run(self, line: list[str], seconds: int, **options: Any) -> subprocess.CompletedProcess[str]:
        """To its end."""
        environment = {**os.environ, "PYTHONHASHSEED": "0", **self.environment}
        return subprocess.run(
            self.line(line), env=environment, text=True, check=True, timeout=seconds, **options
        )


def settings(build: Path) -> dict[str, Way]:
    """By what runs beside the program."""
    counter, collector = build / "lib/libheapwright-count.so", build / "bin/heapwright-collect"
    count = str(counter)
    jemalloc, tcmalloc = (str(LIBRARIES / name) for name in ("libjemalloc.so.2", "libtcmalloc.so.4"))
    return {
        "bare": Way({}),
        "count": Way({"LD_PRELOAD": count}),
        "count --sample 3M": Way({}, Sampling(collector, 3 << 20, ROOM_BYTES, None), counter),
        "count --sample 512k": Way({}, Sampling(collector, 512 << 10, ROOM_BYTES, None), counter),
        "jemalloc": Way({"LD_PRELOAD": jemalloc}),
        "jemalloc, count": Way({"LD_PRELOAD": f"{count}:{jemalloc}"}),
        "jemalloc, its sampling": Way({"LD_PRELOAD": jemalloc, "MALLOC_CONF": "prof:true,lg_prof_sample:19"}),
        "tcmalloc": Way({"LD_PRELOAD": tcmalloc}),
        "tcmalloc, count": Way({"LD_PRELOAD": f"{count}:{tcmalloc}"}),
        "tcmalloc, its sampling": Way({"LD_PRELOAD": tcmalloc, "TCMALLOC_SAMPLE_PARAMETER": "524288"}),
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


def cpu_ns(line: list[str], way: Way) -> int:
    """Processor time of one run: its own, the kernel's for it, and that of a collector beside it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    way.run(line, 300, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9)


def pair_ns(pairs: Path, way: Way) -> float:
    """Of one run of the loop, as the program says."""
    return float(way.run([str(pairs), str(TIMED_PAIRS)], 300, capture_output=True).stdout)


def instructions(line: list[str], way: Way) -> int:
    """User code's, by callgrind; without those of a collector beside it."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = way.run([*tool, *line], 900, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    found = re.findall(r"Collected : (\d+)", done.stderr)
    return int(found[-1])


def instructions_per_pair(pairs: Path, way: Way) -> float:
    """Of a malloc and a free."""
    few, many = (instructions([str(pairs), str(count)], way) for count in (SHORT_PAIRS, LONG_PAIRS))
    return (many - few) / (LONG_PAIRS - SHORT_PAIRS)


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


def measure_instructions(command: Path, pairs: Path, folder: Path, known: dict[str, Way]) -> dict[str, Any]:
    """Of a pair, and of the programs."""
    per_pair = {name: instructions_per_pair(pairs, known[name]) for name in COUNTED}
    print(per_pair, flush=True)
    programs: dict[str, Any] = {}
    for name, line in workloads(folder).items():
        found = {way: instructions(line, known[way]) for way in PROGRAMS_RUN}
        programs[name] = {"calls": calls_of(command, line), "instructions": found}
        print(name, programs[name], flush=True)
    return {"instructions_per_pair": per_pair, "programs": programs}


def measure_times(pairs: Path, folder: Path, known: dict[str, Way], runs: int) -> dict[str, Any]:
    """Of a pair, and of the programs, in turns."""
    times: dict[str, list[float]] = {name: [] for name in known}
    for _ in range(runs):
        for name, way in known.items():
            times[name].append(pair_ns(pairs, way))
    print({name: min(runs) for name, runs in times.items()}, flush=True)
    programs: dict[str, Any] = {}
    for name, line in workloads(folder).items():
        spent: dict[str, list[int]] = {way: [] for way in PROGRAMS_RUN}
        for _ in range(runs):
            for way, taken in spent.items():
                taken.append(cpu_ns(line, known[way]))
        programs[name] = {"cpu_ns": spent}
        print(name, {way: min(taken) for way, taken in spent.items()}, flush=True)
    return {"pair_ns": times, "programs": programs}


def main() -> None:
    """Runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=11, help="of each, for the times; 0: instructions alone")
    parser.add_argument("--times", action="store_true", help="times alone")
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    known = settings(options.build)

    def write(name: str, found: dict[str, Any]) -> None:
        head = {"schema": "heapwright.bench.count/2", "machine": machine.describe()}
        document = {**head, "sources": sources.stamp("count"), **found}
        (options.output / name).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        pairs = folder / "pairs"
        compiler = ["g++", "-O2", "-fno-builtin", str(project / "bench/count/pairs.cpp"), "-o", str(pairs)]
        subprocess.run(compiler, check=True, timeout=60)
        if not options.times:
            found = measure_instructions(options.command, pairs, folder, known)
            write("count_instructions.json", found)
        if options.runs:
            write("count.json", measure_times(pairs, folder, known, options.runs))
    profiles.remove_ended()


if __name__ == "__main__":
    main()
