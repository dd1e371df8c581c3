#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording names in programs of other languages, and what it costs them.

Each program asks for 1,000,000 blocks of 5,000 bytes in a function `work`, three quarters of them through
another, `load`. The share of the bytes whose call site is one of these is what is named. Each is run alone
and recorded, in turns, and the processor time of all that ran is compared. What is not on this machine is
left out and named. The figures go to OUTPUT/languages.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path += [str(project / "bench")]
import sources  # noqa: E402

COMMAND = str(Path(sys.executable).parent / "heapwright")
LIMIT_S = 300
LEAST_BLOCK = "4500"

CPP = """
#include <cstdlib>
__attribute__((noinline)) void load(char*& to) { to = (char*)malloc(5000); to[0] = 1; }
__attribute__((noinline)) void work(int n) {
  for (int i = 0; i < n; ++i) {
    char* block;
    if (i % 4 == 0) { block = (char*)malloc(5000); block[0] = 1; } else load(block);
    free(block);
  }
}
int main() { work(1000000); }
"""
RUST = """
#[inline(never)]
fn load() -> Vec<u8> { Vec::with_capacity(5000) }
#[inline(never)]
fn work(n: u32) {
    for i in 0..n {
        let block: Vec<u8> = if i % 4 == 0 { Vec::with_capacity(5000) } else { load() };
        std::hint::black_box(&block);
    }
}
fn main() { work(1_000_000); }
"""
GO = """
package main

// #include <stdlib.h>
import "C"
import "unsafe"

//go:noinline
func load() unsafe.Pointer { return C.malloc(5000) }

//go:noinline
func work(n int) {
	for i := 0; i < n; i++ {
		if i%4 == 0 {
			C.free(C.malloc(5000))
		} else {
			C.free(load())
		}
	}
}

func main() { work(1000000) }
"""
PYTHON = """
def load():
    return bytearray(5000)

def work(n):
    for i in range(n):
        block = load() if i % 4 else bytearray(5000)

work(1_000_000)
"""
NODE = """
function load() { return Buffer.allocUnsafeSlow(5000); }
function work(n) {
  let kept;
  for (let i = 0; i < n; i++) kept = i % 4 ? load() : Buffer.allocUnsafeSlow(5000);
  return kept;
}
work(1000000);
"""
JAVA = """
import java.lang.reflect.Field;
public class Program {
  static sun.misc.Unsafe unsafe;
  static long load() { return unsafe.allocateMemory(5000); }
  static void work(int n) {
    for (int i = 0; i < n; i++) unsafe.freeMemory(i % 4 != 0 ? load() : unsafe.allocateMemory(5000));
  }
  public static void main(String[] words) throws Exception {
    Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
    field.setAccessible(true);
    unsafe = (sun.misc.Unsafe) field.get(null);
    work(1000000);
  }
}
"""
RUBY = """
def load() = "x" * 5000
def work(n) = n.times { |i| i % 4 == 0 ? "x" * 5000 : load }
work(1_000_000)
"""
PHP = """<?php
function load() { return str_repeat("x", 5000); }
function work($n) { for ($i = 0; $i < $n; $i++) $block = $i % 4 ? load() : str_repeat("x", 5000); }
work(1000000);
"""


class Program(NamedTuple):
    """A row. sites: call sites that are its own, by their function. switch: what it was started with."""

    language: str
    version: str
    line: list[str]
    sites: str
    switch: str = ""
    environment: Mapping[str, str] = MappingProxyType({})


def first_line(*line: str) -> str:
    """What a tool says of its version."""
    done = subprocess.run(line, capture_output=True, text=True, timeout=LIMIT_S)
    return (done.stdout + done.stderr).splitlines()[0]


def number_in(text: str) -> str:
    found = re.search(r"\d+\.[\d.]*\d|\d+", text)
    return found[0] if found else ""


def built(folder: Path, text: str, name: str, *line: str) -> Path:
    (folder / name).write_text(text)
    subprocess.run(line, cwd=folder, check=True, capture_output=True, timeout=LIMIT_S)
    return folder / "program"


def compiled(folder: Path) -> Iterator[Program]:
    """Of compilers that are here."""
    cpp = built(folder, CPP, "program.cpp", "g++", "-O2", "-g", "program.cpp", "-o", "program")
    yield Program("C++", number_in(first_line("g++", "-dumpfullversion")), [str(cpp)], r"(load|work)\(.*")
    if shutil.which("rustc"):
        rust = folder / "rust"
        rust.mkdir()
        made = built(rust, RUST, "program.rs", "rustc", "-O", "-g", "program.rs", "-o", "program")
        version = number_in(first_line("rustc", "--version"))
        yield Program("Rust", version, [str(made)], r"program::(load|work)")
    for go in sorted({"/usr/bin/go", shutil.which("go") or "/usr/bin/go"}):
        if not Path(go).exists():
            continue
        place = Path(tempfile.mkdtemp(dir=folder))
        (place / "go.mod").write_text("module program\n\ngo 1.18\n")
        made = built(place, GO, "main.go", go, "build", "-o", "program", ".")
        version = number_in(first_line(go, "version"))
        yield Program("Go, cgo", version, [str(made)], r"main\.(load|work)(\.func\d+)?")


def pythons(found: list[Path], folder: Path) -> Iterator[Program]:
    """Each of another version."""
    (folder / "program.py").write_text(PYTHON)
    seen = set()
    for path in found:
        if not path.exists():
            continue
        version = number_in(first_line(str(path), "--version"))
        if version.rpartition(".")[0] not in seen:
            seen.add(version.rpartition(".")[0])
            line = [str(path), "-S", "-E", str(folder / "program.py")]
            yield Program("Python", version, line, r"load|work")


def interpreted(folder: Path) -> Iterator[Program]:
    """Runtimes that are here."""
    if shutil.which("node"):
        (folder / "program.js").write_text(NODE)
        line = ["node", "--perf-basic-prof", str(folder / "program.js")]
        yield Program("JavaScript, node", number_in(first_line("node", "-v")), line, r"load|work", line[1])
    if shutil.which("javac"):
        (folder / "Program.java").write_text(JAVA)
        line = ["javac", "-XDignore.symbol.file", "Program.java"]
        subprocess.run(line, cwd=folder, check=True, capture_output=True)
        options = ["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
        line = ["java", *options, "-cp", str(folder), "Program"]
        version = number_in(first_line("java", "--version"))
        yield Program("Java", version, line, r".*Program[.:]+(load|work).*", " ".join(options))
    if shutil.which("ruby"):
        (folder / "program.rb").write_text(RUBY)
        line = ["ruby", str(folder / "program.rb")]
        yield Program("Ruby", number_in(first_line("ruby", "-v")), line, r"load|work")
    if shutil.which("php"):
        (folder / "program.php").write_text(PHP)
        line = ["php", "-n", str(folder / "program.php")]
        version = number_in(first_line("php", "-v"))
        yield Program("PHP", version, line, r"load|work", "USE_ZEND_ALLOC=0", {"USE_ZEND_ALLOC": "0"})


def processor_s(line: list[str], environment: Mapping[str, str]) -> float:
    """Of the process and all that it waited for."""
    process = subprocess.Popen(
        line, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(line)} failed: {said.decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime


def named_share(trace: Path, sites: str) -> tuple[float, int]:
    """Of the bytes of large blocks, by call site; and all allocations."""
    line = [COMMAND, "explain", str(trace), "--json", "--unchecked", "--top", "100000"]
    questions = ["--question", "volume", "--min-block", LEAST_BLOCK]
    said = subprocess.run([*line, *questions], check=True, capture_output=True, timeout=LIMIT_S)
    rows = json.loads(said.stdout)["questions"]["volume"]["sites"]
    whole = sum(row["bytes"] for row in rows)
    own = sum(row["bytes"] for row in rows if re.fullmatch(sites, row["function"]))
    said = subprocess.run([*line, "--question", "calls"], check=True, capture_output=True, timeout=LIMIT_S)
    return own / whole, json.loads(said.stdout)["questions"]["calls"]["allocations"]


def measured(program: Program, runs: int, folder: Path) -> dict[str, Any]:
    trace = folder / "trace.heapwright"
    record = [COMMAND, "record", "--quiet", "--force", "--output", str(trace), "--", *program.line]
    alone, recorded = [], []
    for _ in range(runs):
        alone.append(processor_s(program.line, program.environment))
        recorded.append(processor_s(record, program.environment))
    share, allocations = named_share(trace, program.sites)
    return {
        "language": program.language,
        "version": program.version,
        "switch": program.switch,
        "named": share,
        "allocations": allocations,
        "alone_cpu_s": alone,
        "recorded_cpu_s": recorded,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", type=Path, metavar="PYTHON", help="besides Debian's")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for found in (
            compiled(folder),
            pythons([Path("/usr/bin/python3"), *options.pythons], folder),
            interpreted(folder),
        ):
            for program in found:
                rows.append(measured(program, options.runs, folder))
                print(json.dumps(rows[-1]), flush=True)
    stamp = sources.stamp("recorder")
    document = {"machine": machine.describe(), "sources": stamp, "runs": options.runs, "rows": rows}
    (options.output / "languages.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
