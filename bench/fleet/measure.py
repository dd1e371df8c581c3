#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long `heapwright fleet` takes to answer of 10,000 processes.

Records real programs, writes their facts by `heapwright export --fleet`, and puts each beside itself
again and again as if there were many hosts, versions and days: sizes and times scaled at random by some
percent, one site of each service grown in its last version. What is read is what `export` would have
written: a file per process and table. Each question is then asked in processes of its own. Writes
OUTPUT/fleet.json; render.py makes the table in docs/fleet.md of it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet

project = Path(__file__).resolve().parents[2]
sys.path += [str(project / "bench"), str(project / "bench/recorder")]
import sources  # noqa: E402
import workloads  # noqa: E402
from heapwright.fleet import facts, tables  # noqa: E402
from heapwright.fleet.questions import QUESTIONS  # noqa: E402
from heapwright.measure import machine  # noqa: E402

command = os.environ.get("HEAPWRIGHT_COMMAND", str(project / ".venv/bin/heapwright"))
build = Path(os.environ.get("HEAPWRIGHT_BUILD", project / "build/release"))
VERSIONS = ("1.8", "1.9", "1.10", "1.11")
HOSTS, DAYS, DAY_NS = 50, 30, 86_400 * 10**9
GROWN_BYTES = 1 << 20


def record(folder: Path) -> dict[str, facts.Rows]:
    """The facts of each program, as export writes them."""
    lines = {one.name: one.line for one in workloads.prepare(folder, build, 0.05)}
    lines["growing_pool"] = [str(build / "programs/growing_pool")]
    found = {}
    for name, line in lines.items():
        trace, out = folder / f"{name}.heapwright", folder / f"facts-{name}"
        record_line = [build / "bin/heapwright-collect", "--output", trace, "--", *line]
        subprocess.run(record_line, check=True, capture_output=True)
        export = [command, "export", trace, "--to", "parquet", "--fleet", out]
        subprocess.run(export, check=True, capture_output=True)
        found[name] = {
            table: pyarrow.parquet.read_table(
                next((out / table).rglob("*.parquet")), partitioning=None
            ).to_pylist()
            for table in tables.COLUMNS
        }
    return found


def another(rows: facts.Rows, number: int, version: int, chance: random.Random) -> facts.Rows:
    """The same program on another host, another day, with other requests."""
    factor = chance.lognormvariate(0, 0.1)
    key = {
        "host": f"host-{number % HOSTS}",
        "process": 1000 + number,
        "started_unix_ns": 1_790_000_000 * 10**9 + (version * DAYS + number % DAYS) * DAY_NS + number,
    }

    def scaled(row: dict[str, Any]) -> dict[str, Any]:
        return row | key | {
            name: round(value * factor)
            for name, value in row.items()
            if name.endswith(("bytes", "_ns", "allocations")) and value is not None and name not in key
        }  # fmt: skip

    made = {table: [scaled(row) for row in of] for table, of in rows.items()}
    if version == len(VERSIONS) - 1:
        made["site"][0]["peak_bytes"] += GROWN_BYTES
    return made


def make_fleet(folder: Path, found: dict[str, facts.Rows], processes: int) -> None:
    chance = random.Random(1)
    for number in range(processes):
        service = list(found)[number % len(found)]
        version = chance.randrange(len(VERSIONS))
        rows = another(found[service], number, version, chance)
        for table, path in facts.files_of(folder, rows, service, VERSIONS[version]).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            facts.write(path, table, rows[table])


def ask(folder: Path, question: str) -> tuple[float, list[dict[str, Any]]]:
    """The whole command, its start included."""
    begin = time.monotonic()
    line = [command, "fleet", folder, "--question", question, "--json"]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    seconds = time.monotonic() - begin
    rows: list[dict[str, Any]] = json.loads(done.stdout)["answers"][question]
    return seconds, rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--processes", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    result: dict[str, Any] = {"sources": sources.stamp("fleet"), "machine": machine.describe()}
    with tempfile.TemporaryDirectory() as name:
        found = record(Path(name))
        folder = Path(name) / "fleet"
        make_fleet(folder, found, options.processes)
        result["processes"] = options.processes
        result["services"] = len(found)
        result["rows"] = {
            table: sum(len(rows[table]) for rows in found.values()) * options.processes // len(found)
            for table in tables.COLUMNS
        }
        result["file_bytes"] = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
        result["questions"] = []
        for question in QUESTIONS:
            runs = [ask(folder, question) for _ in range(options.runs)]
            of = {"name": question, "seconds": [seconds for seconds, _ in runs]}
            if question == "regressions":
                of["services_found"] = sorted({row["service"] for row in runs[0][1]})
            result["questions"].append(of)
            print(json.dumps(of), flush=True)
        result["load_average_at_end"] = os.getloadavg()[0]
    (options.output / "fleet.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
