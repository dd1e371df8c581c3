#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the parts beside std, Boost, Abseil, LLVM and others; writes parts-*.json.

Each library is a program of its own, each repetition a process of its own,
and the libraries take turns, so that noise meets all of them alike. The
libraries are Debian's: `tools/setup.sh bench` installs them.
"""

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

here = Path(__file__).resolve().parent
llvm = Path("/usr/lib/llvm-19")
flags = ["-std=c++20", "-O2", "-DNDEBUG", f"-I{project / 'include'}", f"-I{project / 'tests/parts'}"]
flags.append(f'-DPROJECT="{project}"')
includes: dict[str, list[str]] = {
    "llvm": ["-isystem", str(llvm / "include")],
    "foonathan": ["-isystem", "/usr/include/foonathan_memory"],
}
links: dict[str, list[str]] = {
    "abseil": ["-labsl_throw_delegate", "-labsl_raw_logging_internal"],
    "llvm": [f"-L{llvm / 'lib'}", "-lLLVM", f"-Wl,-rpath,{llvm / 'lib'}"],
    "foonathan": ["-lfoonathan_memory"],
    "urcu": ["-lurcu-mb"],
}
# All libraries in one program, which turns between them itself: names are "row/library".
includes["all"] = [word for words in includes.values() for word in words]
links["all"] = [word for words in links.values() for word in words]
vectors = ["std", "heapwright", "heapwright_compact", "boost", "abseil", "llvm"]
programs = {
    "vectors": vectors,
    "vectors_bulk": ["all"],
    "nodes": ["all"],
    "shared_pool": ["all"],
    "arenas": ["all"],
    "class_objects": ["all", "all_preloaded"],
    "strings": ["all"],
    "objects": ["std", "heapwright", "pmr", "boost", "llvm", "foonathan"],
    "buffers": ["std", "heapwright"],
    "deferred": ["heapwright", "moodycamel", "urcu"],
}

# Of a program's name in `programs`: it runs with our heap preloaded.
preloaded = "_preloaded"
heap = project / "build/release/lib/libheapwright.so"

# The least each vector needs, for the tables of build time and code size.
snippet = """
#include "vectors_header.inc"
void use(Vector<int, 4>& v, int n);
void use(Vector<int, 4>& v, int n) {
  v.push_back(n);
  v.insert(v.begin(), n);
  v.erase(v.begin());
  v.resize(9);
}
"""


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return done.stdout


def run_again_if_needed(command: list[str]) -> str:
    """liburcu's assertion on a thread that registers again fails now and then."""
    for _ in range(5):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
    return run(command)


def build(source: str, library: str, work: Path) -> Path:
    program = work / f"{source}_{library}"
    if program.exists():
        return program
    names = [str(here / f"{source}.cpp"), "-o", str(program)]
    libraries = [*links.get(library, []), "-lbenchmark", "-lpthread"]
    run(["g++", *flags, f"-DLIBRARY_{library}", *includes.get(library, []), *names, *libraries])
    return program


def benchmark(program: Path, library: str, seconds: float) -> dict[str, float]:
    command = [str(program), "--benchmark_format=json", f"--benchmark_min_time={seconds}"]
    if library.endswith(preloaded):
        command = ["env", f"LD_PRELOAD={heap}", *command]
    if library.startswith("all"):
        command.append("--benchmark_enable_random_interleaving=true")
    found = json.loads(run_again_if_needed(command))["benchmarks"]
    return {re.sub(r"/(iterations|threads):\d+$", "", b["name"]): 1e9 / b["items_per_second"] for b in found}


def take_turns(source: str, work: Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    built = {library: build(source, library.removesuffix(preloaded), work) for library in programs[source]}
    results = []
    for repetition in range(args.repetitions):
        for library, program in built.items():
            for name, ns in benchmark(program, library, args.seconds).items():
                row, _, own = name.rpartition("/") if library.startswith("all") else (name, "", library)
                own += preloaded if library.endswith(preloaded) else ""
                results.append({"library": own, "name": row, "repetition": repetition, "ns": round(ns, 4)})
    return results


def compile_costs(work: Path, repetitions: int) -> list[dict[str, Any]]:
    text = (here / "vectors.cpp").read_text(encoding="utf-8")
    start, end = text.index("#if defined(LIBRARY_std)"), text.index("#endif") + len("#endif")
    (work / "vectors_header.inc").write_text("#include <vector>\n" + text[start:end] + "\n", encoding="utf-8")
    (work / "snippet.cpp").write_text(snippet, encoding="utf-8")
    results = []
    for repetition in range(repetitions):
        for library in vectors:
            output = work / "snippet.o"
            command = ["g++", *flags, f"-DLIBRARY_{library}", f"-I{work}", *includes.get(library, []), "-c"]
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            run([*command, str(work / "snippet.cpp"), "-o", str(output)])
            seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            text_bytes = int(run(["size", str(output)]).splitlines()[1].split()[0])
            row = {"library": library, "repetition": repetition, "cpu_seconds": round(seconds, 3)}
            results.append(row | {"text_bytes": text_bytes})
    return results


def callgrind(program: Path, arguments: list[str], work: Path) -> tuple[int, Path]:
    output = work / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}"]
    done = subprocess.run([*command, str(program), *arguments], capture_output=True, text=True, check=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if not found:
        sys.exit("valgrind gave no instruction count")
    return int(found.group(1)), output


def instructions(program: Path, count: int, work: Path) -> int:
    return callgrind(program, ["defer", str(count)], work)[0]


def instructions_of_rows(program: Path, work: Path) -> list[dict[str, Any]]:
    """Of one turn of each row with all it calls: what twice as many turns cost more."""
    turns = 128

    def total(count: int) -> dict[tuple[str, str], int]:
        output = callgrind(program, ["fixed", str(count)], work)[1]
        said = run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(output)])
        row = re.compile(r"^ *([\d,]+) .*::(\w+)<\(anonymous namespace\)::(\w+)_>\(benchmark::State&\)", re.M)
        return {(name, library): int(n.replace(",", "")) for n, name, library in row.findall(said)}

    few, many = total(turns), total(2 * turns)
    return [
        {"name": name, "library": library, "instructions": round((many[name, library] - count) / turns, 1)}
        for (name, library), count in few.items()
    ]


def this_machine() -> dict[str, Any]:
    compiler = machine.first_line(["g++", "--version"])
    return {"cpu": machine.cpu(), "cores": os.cpu_count(), "compiler": compiler}


def node_bytes(program: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Bytes per element by row and library, each of a process of its own."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for line in run([str(program), "memory"]).splitlines():
        row, library = line.split()
        found.setdefault(row, {})[library] = json.loads(run([str(program), "memory", row, library]))
    return found


def build_figures(work: Path) -> Path:
    program = work / "figures"
    run(["g++", *flags, str(here / "figures.cpp"), "-o", str(program), "-lpthread"])
    return program


def drains(work: Path, repetitions: int) -> list[dict[str, Any]]:
    program = build_figures(work)
    return [json.loads(run([str(program), "drain"])) for _ in range(repetitions)]


def figures(work: Path) -> dict[str, Any]:
    program = build_figures(work)
    result: dict[str, Any] = json.loads(run([str(program)]))
    run(["g++", *flags, *includes["llvm"], str(here / "sizes.cpp"), "-o", str(work / "sizes")])
    result["sizes"] = json.loads(run([str(work / "sizes")]))
    result["node_bytes"] = node_bytes(build("nodes", "all", work))
    result["string_lengths"] = json.loads(run([str(build("strings", "all", work)), "lengths"]))
    result["caches"] = [row for row in result["caches"] if row]
    few, many = (instructions(program, count, work) for count in (1000, 51000))
    result["defer_instructions"] = (many - few) / 50000
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.05, help="of each benchmark in each repetition")
    parser.add_argument("--work", type=Path, help="keeps the built programs here and uses those it finds")
    parser.add_argument(
        "--only", nargs="*", metavar="PROGRAM", help="these alone, or figures, drain, compile, instructions"
    )
    parser.add_argument("--build-only", action="store_true")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = args.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        chosen = [source for source in programs if not args.only or source in args.only]
        for source in chosen:
            for library in programs[source]:
                build(source, library.removesuffix(preloaded), work)
        if args.build_only:
            return
        described, stamp = this_machine(), sources.stamp("parts")
        described["load_before"] = round(os.getloadavg()[0], 2)
        for source in chosen:
            write(args.output, f"parts-{source}", described, stamp, take_turns(source, work, args))
        if not args.only or "figures" in args.only:
            write(args.output, "parts-figures", described, stamp, figures(work))
        if not args.only or "drain" in args.only:
            write(args.output, "parts-drain", described, stamp, drains(work, args.repetitions))
        if not args.only or "compile" in args.only:
            write(args.output, "parts-compile", described, stamp, compile_costs(work, 3))
        if not args.only or "instructions" in args.only:
            counted = instructions_of_rows(build("vectors_bulk", "all", work), work)
            write(args.output, "parts-instructions", described, stamp, counted)


def write(folder: Path, name: str, described: dict[str, Any], stamp: Any, found: Any) -> None:
    """At once: what fails later costs no figure."""
    described["load_after"] = round(os.getloadavg()[0], 2)
    text = json.dumps({"machine": described, "sources": stamp, "results": found}, indent=1)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
