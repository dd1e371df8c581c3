#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What snapshots say of healthy programs, beside Valgrind, and what a snapshot costs.

Each program does a task alone under `record --snapshot end`; those that Valgrind runs in time are run under
its memcheck as well, and chap looks at a core of each if --chap says where it is. Then heaps of growing size
are looked at while their program runs. The raw figures go to OUTPUT/held.json; what is not installed is left
out.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import heapwright
from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402
from chap import leaked_by  # noqa: E402

COLLECTOR = project / "build/release/bin/heapwright-collect"
LIMIT_S = 120
CC1PLUS = Path(shutil.which("cc1plus") or "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus")
SQL = (
    "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c limit 20000) "
    "insert into t select x, hex(x) from c; select count(*), max(b) from t;"
)
# {work} is a folder of its own; n has 50,000 lines.
PROGRAMS: dict[str, list[str]] = {
    "apt-cache": ["apt-cache", "dumpavail"],
    "awk": ["mawk", "{s[$1 % 997] += $1} END {for (i in s) print s[i]}", "{work}/n"],
    "bash": ["bash", "-c", "for i in {1..3000}; do a[$i]=x$i; done; echo ${#a[@]}"],
    "bc": ["bc", "-q", "{work}/bc"],
    "cc1plus": [str(CC1PLUS), "-quiet", "-O1", "{work}/w.cpp", "-o", "/dev/null"],
    "clang": ["clang", "-fno-integrated-cc1", "-E", "{work}/w.cpp"],
    "cmake": ["cmake", "-P", "{work}/w.cmake"],
    "ctags": ["ctags", "-R", "-f", "/dev/null", str(project / "src/collect")],
    "curl": ["curl", "-s", "file://{work}/n"],
    "dpkg-query": ["dpkg-query", "-W"],
    "ed": ["ed", "-s", "{work}/n"],
    "file": ["file", "-b", "/usr/bin/env"],
    "gdb": ["gdb", "-batch", "-ex", "info functions main", "/usr/bin/env"],
    "git log": ["git", "-C", str(project), "log", "--stat", "-20"],
    "gpg": ["gpg", "--batch", "--print-mds", "{work}/n"],
    "grep": ["grep", "-c", "9[0-9]*9", "{work}/n"],
    "groff": ["groff", "-man", "-Tascii", "{work}/w.1"],
    "jq": ["jq", "length", "{work}/w.json"],
    "make": ["make", "-n", "-C", str(project), "help"],
    "man": ["man", "--version"],
    "ninja": ["ninja", "-C", str(project / "build/release"), "-t", "targets", "all"],
    "openssl": ["openssl", "genrsa", "2048"],
    "perl": ["perl", "-e", 'my %h; $h{$_} = [$_, "x$_"] for 1..20000; print scalar keys %h'],
    "python3, dict": [sys.executable, "-c", "x = {str(i): [i] * 5 for i in range(50000)}"],
    "python3, json": [sys.executable, "-c", "import json; print(len(json.dumps(list(range(99999)))))"],
    "sed": ["sed", "-n", "s/1/2/gp", "{work}/n"],
    "sort": ["sort", "-r", "{work}/n"],
    "sqlite3": ["sqlite3", ":memory:", SQL],
    "tar": ["tar", "-cf", "/dev/null", "-C", "/usr/share", "doc/bash"],
    "tclsh": ["tclsh", "{work}/w.tcl"],
    "vim": ["vim", "-u", "NONE", "-es", "-c", "%s/1/2/g", "-c", "q!", "{work}/n"],
    "xz": ["xz", "-9kc", "{work}/n"],
    "zstd": ["zstd", "-19", "-qc", "{work}/n"],
}  # fmt: skip
# Compiled for the sanitizer as well: lost is what the program says.
PLANTED_SCALE = "500"
BLOCKS_OF_RUNNING = (100_000, 1_000_000, 10_000_000)


def prepare(work: Path) -> None:
    (work / "n").write_text("".join(f"{i}\n" for i in range(50_000)))
    (work / "bc").write_text("2^4000\nquit\n")
    (work / "w.cpp").write_text("#include <map>\n#include <string>\nstd::map<std::string, int> words;\n")
    (work / "w.cmake").write_text('foreach(i RANGE 3000)\n  list(APPEND all "x${i}")\nendforeach()\n')
    (work / "w.1").write_text(".TH W 1\n.SH NAME\nw \\- work\n" + ".PP\nmany words\n" * 500)
    (work / "w.json").write_text(json.dumps([{"id": i, "name": f"n{i}"} for i in range(20_000)]))
    (work / "w.tcl").write_text(
        'for {set i 0} {$i < 20000} {incr i} {set a($i) "x$i"}\nputs [array size a]\n'
    )


def run(line: list[str], limit_s: float = LIMIT_S) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        line, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=limit_s
    )


def snapshot_of(line: list[str], work: Path) -> dict[str, Any]:
    trace = work / "one.heapwright"
    run([str(COLLECTOR), "--snapshot", "end", "--quiet", "--force", "--output", str(trace), "--", *line])
    opened = heapwright.open(trace)
    if not opened.snapshot_times:
        reasons = [one for one in opened.metadata.conditions if one.startswith("snapshot_failed")]
        return {"problem": reasons[0].partition("\t")[2] if reasons else "no snapshot"}
    held = opened.held_at(opened.snapshot_times[-1])
    sites = opened.sites()
    named = [sites[sites.site_of_stack[row.stack]].location for row in held.lost_sites[:3]]
    return {
        "blocks": held.blocks,
        "bytes": held.bytes,
        "lost_blocks": held.lost_blocks,
        "lost_bytes": held.lost_bytes,
        "stopped_ns": held.stopped_ns,
        "lost_sites": [f"{one.function} of {one.library.rpartition('/')[2]}" for one in named],
    }


def memcheck_of(line: list[str]) -> dict[str, int]:
    """Blocks and bytes that Valgrind calls lost, directly or indirectly; empty: it did not finish."""
    if shutil.which("valgrind") is None:
        return {}
    try:
        said = run(["valgrind", "--leak-check=full", "--show-leak-kinds=none", *line], LIMIT_S).stderr
    except subprocess.TimeoutExpired:
        return {}
    found = {"lost_bytes": 0, "lost_blocks": 0}
    if "All heap blocks were freed" in said:
        return found
    rows = re.findall(r"(?:definitely|indirectly) lost: ([\d,]+) bytes in ([\d,]+) blocks", said)
    for size, blocks in rows:
        found["lost_bytes"] += int(size.replace(",", ""))
        found["lost_blocks"] += int(blocks.replace(",", ""))
    return found if rows else {}


def of_planted(work: Path) -> dict[str, Any]:
    """A program that says how many blocks it has lost, with LeakSanitizer as one more witness."""
    source = project / "tests/programs/plants_graph.cpp"
    options = ["-std=c++20", "-O1", "-g", "-I", str(project / "include"), "-pthread"]
    for name, more in (("plain", []), ("checked", ["-fsanitize=leak"])):
        subprocess.run(["g++", *options, *more, str(source), "-o", str(work / name)], check=True)
    said = run([str(work / "checked"), PLANTED_SCALE]).stderr
    summary = re.search(r"SUMMARY: LeakSanitizer: (\d+) byte\(s\) leaked in (\d+)", said)
    assert summary, said
    line = [str(work / "plain"), PLANTED_SCALE]
    return {
        "planted_blocks": int(run(line).stdout.split()[1]),
        "snapshot": snapshot_of(line, work),
        "memcheck": memcheck_of(line),
        "sanitizer": {"lost_bytes": int(summary[1]), "lost_blocks": int(summary[2])},
    }


def of_programs(work: Path, chap: Path | None) -> dict[str, Any]:
    found = {}
    for name, parts in PROGRAMS.items():
        line = [part.replace("{work}", str(work)) for part in parts]
        if shutil.which(line[0]) is None:
            continue
        found[name] = {
            "snapshot": snapshot_of(line, work),
            "memcheck": memcheck_of(line),
            "chap": leaked_by(chap, line, work, LIMIT_S),
        }
        print(name, found[name], flush=True)
    return found


def of_running(work: Path, blocks: int, turns: int) -> dict[str, Any]:
    program, trace = work / "heap", work / "running.heapwright"
    compiling = ["g++", "-O2", str(Path(__file__).parent / "heap.cpp"), "-o", str(program)]
    subprocess.run(compiling, check=True)
    recording = [str(COLLECTOR), "--quiet", "--force", "--no-residency", "--output", str(trace)]
    rows = []
    with subprocess.Popen([*recording, "--", str(program), str(blocks)], stdout=subprocess.PIPE) as collector:
        assert collector.stdout is not None
        collector.stdout.readline()
        children = Path(f"/proc/{collector.pid}/task/{collector.pid}/children").read_text()
        process = int(children.split()[0])
        for _ in range(turns):
            begin = time.monotonic()
            size = trace.stat().st_size
            answer = json.loads(run([str(COLLECTOR), "--snapshot-of", str(process)]).stdout)
            status = Path(f"/proc/{collector.pid}/status").read_text()
            peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]
            rows.append(
                {
                    "stopped_ns": answer["stopped_ns"],
                    "taken_ns": round((time.monotonic() - begin) * 1e9),
                    "file_bytes": trace.stat().st_size - size,
                    "collector_bytes": peak,
                }
            )
        subprocess.run(["kill", str(process)], check=True)
    begin = time.monotonic()
    opened = heapwright.open(trace)
    held = opened.held_at(opened.snapshot_times[-1])
    answered_ns = round((time.monotonic() - begin) * 1e9)
    return {"blocks": held.blocks, "bytes": held.bytes, "answered_ns": answered_ns, "turns": rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--turns", type=int, default=3, help="snapshots of each running program")
    parser.add_argument("--chap", type=Path, help="the program chap; without it, it is not run")
    options = parser.parse_args()
    described = machine.describe()
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        prepare(work)
        document = {
            "machine": described,
            "sources": sources.stamp("held"),
            "planted": of_planted(work),
            "programs": of_programs(work, options.chap),
            "running": [of_running(work, blocks, options.turns) for blocks in BLOCKS_OF_RUNNING],
        }
    (options.output / "held.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
