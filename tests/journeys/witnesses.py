# SPDX-License-Identifier: MIT
"""heaptrack and valgrind's dhat as independent witnesses of one program run."""

import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Account:
    allocations: int
    bytes: int
    peak_bytes: int
    sizes: Counter[int]  # allocations by size; empty when the witness does not say


def ask_heaptrack(line: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Account:
    output = folder / "witness"
    subprocess.run(
        ["heaptrack", "--raw", "-o", str(output), *line],
        env=environment,
        check=True,
        capture_output=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    command = ["zstdcat", f"{output}.raw.zst"]
    text = subprocess.run(command, check=True, capture_output=True, timeout=120).stdout
    return replay_heaptrack(text.decode("latin-1").splitlines())


def replay_heaptrack(rows: Sequence[str]) -> Account:
    """Rows `+ SIZE TRACE ADDRESS` and `- ADDRESS`, in hex; a realloc is one of each."""
    sizes: Counter[int] = Counter()
    live: dict[str, int] = {}
    live_bytes = peak = 0
    for row in rows:
        words = row.split()
        if words[0] == "+":
            size = int(words[1], 16)
            sizes[size] += 1
            live_bytes += size - live.get(words[3], 0)
            live[words[3]] = size
            peak = max(peak, live_bytes)
        elif words[0] == "-":
            live_bytes -= live.pop(words[1], 0)
    total = sum(size * count for size, count in sizes.items())
    return Account(sum(sizes.values()), total, peak, sizes)


def ask_dhat(line: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Account:
    output = folder / "dhat.json"
    command = ["valgrind", "--tool=dhat", f"--dhat-out-file={output}", *line]
    subprocess.run(
        command, env=environment, check=True, capture_output=True, timeout=300, stdin=subprocess.DEVNULL
    )
    points = json.loads(output.read_text())["pps"]
    return Account(
        sum(p["tbk"] for p in points), sum(p["tb"] for p in points), sum(p["gb"] for p in points), Counter()
    )
