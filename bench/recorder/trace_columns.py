#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where a trace's bytes go, by column: of recorded programs, and of the made-up mix.

Records sqlite3, python3 and cc1plus, writes the mix that analysis is timed with
(bench/analyze/write_synthetic_trace.cpp), and sums the bytes of each column as docs/trace-format.md
lays them out. Writes OUTPUT/trace-columns.json; render.py makes the table. Needs no idle machine: only
a recording's times depend on it.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, BinaryIO

from measure import run
from workloads import prepare, project

sys.path.append(str(project / "bench"))
import sources

build = project / "build/release"
CHUNK_MAGIC, EVENTS = 0x4B435748, 2
FILE_HEADER_BYTES, CHUNK_HEADER_BYTES = 32, 56
RAW, FILL = 0, 1
# What a column belongs to, by its number.
GROUPS = {
    "kind": (1,), "begin": (2, 3), "duration": (4, 5), "stack": (6, 7),
    "size": (8, 9, 10, 11, 12, 13, 18), "which block": (16, 17), "new address": (14, 15), "kernel": (19,),
}  # fmt: skip
PROGRAMS = ("sqlite3", "python3", "cc1plus")
MIX_EVENTS, MIX = 20_000_000, ("8", "2000", "2000000")


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number there, and where the next thing begins."""
    value = shift = 0
    while data[at] >= 128:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1


def columns_of(payload: bytes) -> Counter[int]:
    """Bytes by column of one chunk of events."""
    found: Counter[int] = Counter()
    at = 1
    for _ in range(payload[0]):
        begin, column, encoding = at, payload[at], payload[at + 1]
        length, at = varint(payload, at + 2)
        if encoding == FILL:
            length = 1
        elif encoding != RAW:
            length, at = varint(payload, at)
        at += length
        found[column] += at - begin
    if at != len(payload):
        raise SystemExit("a chunk is not what docs/trace-format.md says")
    return found


def read(file: BinaryIO) -> dict[str, Any]:
    file.seek(FILE_HEADER_BYTES)
    events, tables, found = 0, FILE_HEADER_BYTES, Counter[int]()
    while len(header := file.read(CHUNK_HEADER_BYTES)) == CHUNK_HEADER_BYTES:
        magic, kind, header_bytes, payload_bytes = struct.unpack_from("<IHHI", header)
        if magic != CHUNK_MAGIC:
            break
        (records,) = struct.unpack_from("<I", header, 16)
        file.read(header_bytes - CHUNK_HEADER_BYTES)
        payload = file.read(payload_bytes)
        if kind == EVENTS:
            events += records
            found += columns_of(payload)
            tables += header_bytes
        else:
            tables += header_bytes + payload_bytes
    groups = {group: sum(found[column] for column in columns) for group, columns in GROUPS.items()}
    if sum(groups.values()) != found.total():
        raise SystemExit("a column is in no group")
    return {"events": events, "bytes": {**groups, "tables": tables}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    result: dict[str, Any] = {"sources": sources.stamp("trace_columns"), "traces": {}}
    with tempfile.TemporaryDirectory() as name:
        lines = {one.name: one.line for one in prepare(Path(name), build, 1.0)}
        for program in PROGRAMS:
            trace = Path(name) / f"{program}.heapwright"
            run(
                [
                    str(build / "bin/heapwright-collect"),
                    "--quiet",
                    "--output",
                    str(trace),
                    "--",
                    *lines[program],
                ]
            )
        mix = [build / "bin/write_synthetic_trace", Path(name) / "mix.heapwright", str(MIX_EVENTS), *MIX]
        subprocess.run(list(map(str, mix)), check=True)
        for program in (*PROGRAMS, "mix"):
            with (Path(name) / f"{program}.heapwright").open("rb") as file:
                result["traces"][program] = read(file)
    (options.output / "trace-columns.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
