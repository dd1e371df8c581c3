#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Peak memory and CPU time of programs with 16 threads, under one heap after the other, in turns.

    threaded_programs.py [--turns N] [--output FILE] NAME=LIBRARY ...

glibc's own heap runs without a library. Needs db_bench (Debian's rocksdb-tools), ruby and Debian's python3;
what is not installed is left out. The results are build/results/heap-threaded.json.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from heapwright.measure.turns import turns
from measured_run import Program
from preloaded import options_of, sources

# Each thread replaces texts of random sizes at random; a collection frees those of all threads.
RUBY = """
threads = (0...16).map do |number|
  Thread.new do
    random, held = Random.new(number), {}
    150_000.times do |i|
      held[random.rand(3000)] = "x" * (40 + random.rand(1500))
      held.delete(random.rand(3000)) if i % 3 == 0
    end
    held.size
  end
end
puts threads.map(&:value).sum
"""

PYTHON = """
import json, random, threading

def work(number):
    chosen, held = random.Random(number), {}
    for i in range(15_000):
        words = ["x" * chosen.randrange(400) for _ in range(5)]
        held[chosen.randrange(2000)] = json.loads(json.dumps({"words": words, "number": i}))
        if i % 3 == 0:
            held.pop(chosen.randrange(2000), None)

threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

# Writes, reads and both at once, with a block cache that evicts and memtables that come and go.
ROCKSDB = (
    "--benchmarks=fillrandom,readrandom,overwrite,readwhilewriting --num=60000 --reads=60000 --threads=16 "
    "--value_size=400 --compression_type=none --write_buffer_size=16777216 --cache_size=67108864 "
    "--disable_wal=1 --seed=1"
)


def programs(folder: Path) -> dict[str, Program]:
    """By name, those that are installed."""
    found = {
        "rocksdb": Program(["db_bench", f"--db={folder}/db", *ROCKSDB.split()]),
        "ruby": Program(["ruby", "-e", RUBY]),
        "python3": Program(["/usr/bin/python3", "-c", PYTHON], {"PYTHONMALLOC": "malloc"}),
    }
    return {name: program for name, program in found.items() if shutil.which(program.command[0])}


def measured(program: str, library: str) -> dict[str, float]:
    """Its largest resident memory and CPU time. RuntimeError where it fails."""
    # In memory, so that the disk does not decide when RocksDB writes its tables.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        run = programs(Path(folder))[program]
        environment = {**os.environ, **run.variables, "LD_PRELOAD": library}
        child = subprocess.Popen(
            run.command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"{program} with {library or 'glibc'} ends with {child.returncode}")
    return {"peak_kib": usage.ru_maxrss, "cpu_s": usage.ru_utime + usage.ru_stime}


def main() -> int:
    """Measures, writes the runs and prints medians."""
    options = options_of(__doc__, 5, "heap-threaded.json")
    load = os.getloadavg()[0]
    stamp = sources.stamp("heap")
    runs: list[dict[str, Any]] = []
    for turn, program, heap in turns(options.turns, list(programs(Path())), list(options.heaps)):
        figures = measured(program, options.heaps[heap])
        runs.append({"turn": turn, "program": program, "heap": heap, **figures})
        print(program, heap, figures, flush=True)
    document = {"load_before": load, "sources": stamp, "runs": runs}
    options.output.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
