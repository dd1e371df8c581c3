#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a busy machine changes what the first screen says.

Each program is recorded and explained alone, and with busy loops beside it, in turns. Compared are why memory
is resident (kind, cause, remedy, site) and the first other finding (question or rule, site), not the figures.
With --check, the remedies are tried by a replay too, under the same load. Writes build/results/loads.json;
bench/pack.py and bench/render.py make the table. --only takes some cases and adds them to those in the file.
"""

import argparse
import contextlib
import fcntl
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from heapwright.explain.screen import in_order
from heapwright.measure import machine

sys.path.append(str(Path(__file__).resolve().parent))
from cases import CASES, Case

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

LIMIT_S = 120
SCHEMA = "heapwright.bench.loads/1"
# One of each kind of finding.
NAMES = (
    "buffers, the C library's",
    "threads leave free memory in arenas",
    "survivors on each page",
    "whole pages below survivors",
    "large blocks raise the threshold",
    "advice: deferred_free",
    "advice: node_pool",
    "advice: reserve",
    "advice: small_vector",
    "jq, strings",
    "perl sorts",
    "xz",
)
_FIGURE = re.compile(r"[−+]?\b\d[\d.,]*(?: ?(?:B|KiB|MiB|GiB|ns|µs|ms|s|min)\b(?:/s)?| ?%)?")


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """That many processes that only compute, for at most LIMIT_S each."""
    line = ["timeout", str(LIMIT_S), "sh", "-c", "while :; do :; done"]
    started = [subprocess.Popen(line) for _ in range(loops)]
    try:
        yield
    finally:
        for one in started:
            one.terminate()
        for one in started:
            one.wait()


def without_figures(text: str) -> str:
    """Two recordings never have the same figures.

    >>> without_figures("36.6 MiB of it by main alone; at most 1,234 B")
    '# of it by main alone; at most #'
    """
    return _FIGURE.sub("#", text)


def resident_of(cause: Mapping[str, Any]) -> str:
    """Why memory is resident: the kind, the first remedy and the site in it."""
    if "not_answered" in cause or cause["verdict"] in ("nothing", "unknown"):
        return str(cause.get("verdict", "unknown"))
    best = next((row["what"] for row in cause["remedies"] if row["rank"] == 1), "no remedy")
    site = cause["sites"][0]["name"] if cause["cause"] == "scattered" and cause["sites"] else ""
    return without_figures("; ".join(filter(None, (cause["verdict"], cause["cause"], best, site))))


def first_of(document: Mapping[str, Any]) -> str:
    """The first finding below it: of advice the rule and the site, otherwise its words."""
    findings = in_order(document["summary"]["findings"])
    if not findings:
        return "none"
    first = findings[0]
    for row in document["questions"]["advice"]["advice"] if first["question"] == "advice" else ():
        if row["pattern"] in first["text"] and row["name"] in first["text"]:
            return f"{row['rule']}, {row['name']}"
    text = without_figures(first["text"])
    if first["question"] == "growth":  # the site, and what its growth is
        return f"growth, {text.split(' grows by ')[0]}: {re.split('[:,;] ', text.rpartition(': ')[2])[0]}"
    return f"{first['question']}: {re.split('[:;(]', text)[0].strip()}"


def recorded(case: Case, options: argparse.Namespace, trace: Path) -> None:
    """One recording, made in the folder with the case's input."""
    path = case.program if case.program.startswith("/") else str(options.build / "programs" / case.program)
    line = [path, *(one.replace("{project}", str(project)) for one in case.arguments)]
    subprocess.run(
        [options.command, "record", "-o", trace, "--", *line], cwd=trace.parent,
        env={**os.environ, **case.environment}, capture_output=True, check=True, timeout=LIMIT_S,
    )  # fmt: skip


def told(options: argparse.Namespace, trace: Path) -> tuple[str, str]:
    """One recording's words."""
    explain = [options.command, "explain", trace, "--json", *(["--check"] if options.check else [])]
    done = subprocess.run(explain, capture_output=True, check=True, timeout=LIMIT_S)
    document = json.loads(done.stdout)
    return resident_of(document["questions"]["cause"]), first_of(document)


def said_at(loops: int, case: Case, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """How often each was said, of recordings made beside so many busy loops."""
    traces = [folder / f"{loops}-{number}.heapwright" for number in range(options.runs)]
    missing = [trace for trace in traces if not trace.exists()]
    with busy(loops if missing or options.check else 0):
        for trace in missing:
            recorded(case, options, trace)
        said = [told(options, trace) for trace in traces] if options.check else []
    said = said or [told(options, trace) for trace in traces]
    return {
        "resident": Counter(resident for resident, _ in said),
        "first": Counter(first for _, first in said),
    }


def compared(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """How often each was said, by load. Without the check, the load is the recordings' alone: the same
    recording is always explained alike."""
    found: dict[str, Any] = {"runs": options.runs, "is_checked": options.check}
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep / re.sub(r"\W+", "_", case.name) if options.keep else Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        if case.input:
            subprocess.run(["/bin/bash", "-c", case.input], cwd=folder, check=True, timeout=LIMIT_S)
        for loops in (0, options.loops):
            found[f"load_{loops}"] = said_at(loops, case, options, folder)
    return found


def main() -> None:
    """Asks, runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="recordings at each load")
    parser.add_argument("--loops", type=int, default=10)
    parser.add_argument("--check", action="store_true", help="with the check by a replay")
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument(
        "--keep", type=Path, help="keep the recordings in this folder, and use those that are there"
    )
    options = parser.parse_args()
    by_name = {case.name: case for case in CASES}
    path = options.output / ("loads_checked.json" if options.check else "loads.json")
    for name in NAMES:
        if options.only in name:
            found = compared(by_name[name], options)
            print(name, json.dumps(found, ensure_ascii=False, indent=1), flush=True)
            add(path, name, found)


def add(path: Path, name: str, found: Mapping[str, Any]) -> None:
    """To the results, in the order of NAMES."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if document.get("schema") != SCHEMA:
            document = {"schema": SCHEMA, "machine": machine.describe(), "sources": {}, "cases": {}}
        cases = {**document["cases"], name: found}
        ordered = {one: cases[one] for one in NAMES if one in cases}
        document |= {"sources": sources.stamp("loads"), "cases": ordered}
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    finally:
        os.close(folder)


if __name__ == "__main__":
    main()
