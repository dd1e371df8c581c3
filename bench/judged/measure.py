#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the first screen names, and what that really does.

Each program is recorded and explained with the check by a replay. The first setting that a finding on the
first screen names is applied for real, or malloc_trim as often as the replay called it (trims.cpp), or the
code that is known to follow the rule it names: runs without the recorder, in turns with and without it.
Where it names neither, CANDIDATES are tried: one that helps was missed. Writes build/results/judged.json,
case by case; bench/pack.py and bench/render.py make the table. --only, --new and --part take some cases, and
add them to those in the file.
"""

import argparse
import fcntl
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heapwright.measure import machine

sys.path.append(str(Path(__file__).resolve().parent))
from cases import CASES, Case

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

LIMIT_S = 120
SCHEMA = "heapwright.bench.judged/3"
# A program's peak includes that of the process that starts it: a small one does.
LAUNCH = """
import json, os, sys, time
usage, environment, *line = sys.argv[1:]
os.environ.update(json.loads(environment))
begin_ns = time.monotonic_ns()
_, _, used = os.wait4(os.spawnvpe(os.P_NOWAIT, line[0], line, os.environ), 0)
wall_ns = time.monotonic_ns() - begin_ns
with open(usage, "w") as file:
    json.dump([int((used.ru_utime + used.ru_stime) * 1e9), used.ru_maxrss * 1024, wall_ns], file)
"""
# A candidate that costs as much at its first run is no remedy, and its other runs are left out.
TOO_SLOW = 1.5
# Settings that matter most where they matter: keep what was used, give it back, one arena.
CANDIDATES = (
    {"MALLOC_TRIM_THRESHOLD_": "67108864", "MALLOC_MMAP_THRESHOLD_": "33554432"},
    {"MALLOC_TRIM_THRESHOLD_": "131072", "MALLOC_MMAP_THRESHOLD_": "131072"},
    {"MALLOC_ARENA_MAX": "1"},
)


def said_of(
    command: Path, line: Sequence[str], environment: Mapping[str, str], folder: Path
) -> dict[str, Any]:
    """The findings that name a remedy, the settings of the first one that names some, and the rules."""
    trace = folder / "trace.heapwright"
    subprocess.run(
        [command, "record", "-o", trace, "--", *line], cwd=folder,
        env={**os.environ, **environment}, capture_output=True, check=True, timeout=LIMIT_S,
    )  # fmt: skip
    explain = [command, "explain", trace, "--json", "--check"]
    done = subprocess.run(explain, capture_output=True, check=True, timeout=LIMIT_S)
    document = json.loads(done.stdout)
    told = [one["text"] for one in document["summary"]["findings"] if one["question"] in ("cause", "advice")]
    rows = document["questions"]["advice"]["advice"]
    rules = [row["rule"] for text in told for row in rows if row["pattern"] in text and row["name"] in text]
    said = {"text": told[0] if told else "", "set": {}, "remove": [], "rules": rules, "trim": {}}
    remedies = document["questions"]["cause"].get("remedies", [])
    best = next((row for row in remedies if row["rank"] == 1), {"kind": ""})
    if best["kind"] == "trim" and best["replay_change"] and "malloc_trim" in said["text"]:
        every_ms = int(best["replay_change"].partition(":")[2])
        at_ms = document["questions"]["cause"]["time_ns"] / 1e6
        run_ms = document["summary"]["duration_ns"] / 1e6
        after = max(1, round(at_ms / every_ms))
        return {**said, "trim": {"after": after, "share": at_ms / after / run_ms}}
    for text in told:
        named = re.findall(r"\b([A-Z][A-Z_]+_?)=([\w.,:-]+)", text.split("(a replay")[0])
        found = {name: value.rstrip(".,:;") for name, value in reversed(named)}  # not what it is now
        removed = re.findall(r"remove \S+ from ([A-Z_]+)", text)
        if conf := re.search(r" by ((?:\w+:[\w-]+,?)+) in MALLOC_CONF", text):
            found["MALLOC_CONF"] = conf[1]
        if found or removed:
            return {**said, "text": text, "set": found, "remove": removed}
    return said


def run(
    line: Sequence[str], environment: Mapping[str, str], folder: Path, figure: str = ""
) -> dict[str, int]:
    """One run's CPU time, or the time it prints, and its peak or, if it prints that, memory at rest."""
    usage = folder / "usage"
    launch = [
        "/usr/bin/env",
        "python3",
        "-I",
        "-S",
        "-c",
        LAUNCH,
        usage,
        json.dumps(dict(environment)),
        *line,
    ]
    done = subprocess.run(
        launch, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=LIMIT_S
    )
    output = done.stdout.decode(errors="replace") if len(done.stdout) < 10_000 else ""
    said = dict(re.findall(r"^(?:note )?(\w+) (\d+)$", output, re.MULTILINE))
    rest = said.get("resident", said.get("resident_bytes"))
    cpu_ns, peak_bytes, wall_ns = json.loads(usage.read_text())
    found = {"cpu_ns": int(said.get(figure, cpu_ns)), "memory_bytes": int(rest or peak_bytes)}
    found["wall_ns"] = wall_ns
    if (reading := folder / "trim").exists():
        found |= {"memory_bytes": int(reading.read_text()), "was_read": 1}
        reading.unlink()
    return found


def trims_of(
    trim: Mapping[str, Any], line: Sequence[str], environment: Mapping[str, str], folder: Path
) -> tuple[dict[str, str], dict[str, str]]:
    """The environments of a run that reads its memory when malloc_trim would be called, and of one that calls
    it. The recorder makes runs longer: the moment is the same share of the run."""
    library = folder / "trims.so"
    source = Path(__file__).with_name("trims.cpp")
    compiler = os.environ.get("CXX", "g++")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-std=c++20", source, "-o", library], check=True)
    wall_ns = run(line, environment, folder)["wall_ns"]
    preload = ":".join(filter(None, [str(library), environment.get("LD_PRELOAD", "")]))
    asked = {
        **environment,
        "LD_PRELOAD": preload,
        "TRIM_FILE": str(folder / "trim"),
        "TRIM_EVERY_US": str(max(1, round(trim["share"] * wall_ns / 1000))),
        "TRIM_AFTER": str(trim["after"]),
    }
    return {**asked, "TRIM_DOES": "0"}, {**asked, "TRIM_DOES": "1"}


def measured(case: Case, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    path = case.program if case.program.startswith("/") else str(options.build / "programs" / case.program)
    line = [path, *(one.replace("{project}", str(project)) for one in case.arguments)]
    if case.input:
        subprocess.run(["/bin/bash", "-c", case.input], cwd=folder, check=True, timeout=LIMIT_S)
    said = said_of(options.command, line, case.environment, folder)
    changed = {name: value for name, value in case.environment.items() if name not in said["remove"]}
    changed |= said["set"]
    tries: list[tuple[str, Sequence[str], Mapping[str, str]]] = []
    plain: Mapping[str, str] = case.environment
    if said["trim"]:
        plain, trimmed = trims_of(said["trim"], line, case.environment, folder)
        tries.append(("trim", line, trimmed))
    elif changed != dict(case.environment):
        tries.append(("setting", line, changed))
    elif case.fixed:
        without = {name: value for name, value in case.environment.items() if not name.startswith("MALLOC")}
        tries.append(("code", [path, *case.fixed], without))
    elif "LD_PRELOAD" not in case.environment:
        tries += [
            (" ".join(map("=".join, each.items())), line, {**case.environment, **each}) for each in CANDIDATES
        ]
    found: dict[str, Any] = {"said": said, "rule": case.rule, "before": [], "after": {}}
    found["load_average"] = os.getloadavg()[0]
    found["revision"] = sources.stamp("judged")["revision"]
    for _ in range(options.runs if tries else 0):
        found["before"].append(run(line, plain, folder, case.figure))
        for name, other, environment in tries:
            found["after"].setdefault(name, []).append(run(other, environment, folder, case.figure))
        slow_ns = TOO_SLOW * found["before"][0]["cpu_ns"]
        tries = [each for each in tries if len(tries) == 1 or found["after"][each[0]][0]["cpu_ns"] < slow_ns]
    trims = found["after"].get("trim", [])
    if not all("was_read" in one for one in (*found["before"], *trims)):
        found["after"].pop("trim", None)  # runs had ended before
    return found


def main() -> None:
    """Asks, runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--new", action="store_true", help="cases that are not in the file yet")
    parser.add_argument("--part", default="0/1", help="1/4: the second of every four cases")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    path = options.output / "judged.json"
    known = json.loads(path.read_text(encoding="utf-8"))["cases"] if options.new and path.exists() else {}
    for case in CASES[part::parts]:
        program = case.program if case.program.startswith("/") else ""
        needed = (case.environment.get("LD_PRELOAD", ""), program)
        if case.name in known or options.only not in case.name:
            continue
        if any(path and not Path(path).exists() for path in needed):
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                found = measured(case, options, Path(folder))
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
            print(f"{case.name}: left out: {failure}", file=sys.stderr)
            continue
        print(case.name, json.dumps(found), flush=True)
        add(path, case.name, found)


def add(path: Path, name: str, found: Mapping[str, Any]) -> None:
    """To the results, in the order of CASES; a measurement may last, and be made in parts side by side."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if document.get("schema") != SCHEMA:
            document = {"schema": SCHEMA, "machine": machine.describe(), "sources": {}, "cases": {}}
        cases = {**document["cases"], name: found}
        order = [case.name for case in CASES if case.name in cases]
        document |= {"sources": sources.stamp("judged"), "cases": {name: cases[name] for name in order}}
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    finally:
        os.close(folder)


if __name__ == "__main__":
    main()
