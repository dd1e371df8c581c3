# SPDX-License-Identifier: MIT
"""heaptrack and valgrind's dhat as independent witnesses of one program run."""

import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Testimony:
    allocations: int
    bytes: int
    peak_bytes: int
    sizes: Counter[int]  # allocations by size; empty when the witness does not say


def ask_heaptrack(line: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Testimony:
    output = folder / "witness"
    subprocess.run(
        ["heaptrack", "-o", str(output), *line],
        env=environment,
        check=True,
        capture_output=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    text = subprocess.run(["zstdcat", f"{output}.zst"], check=True, capture_output=True, timeout=120).stdout
    return replay_heaptrack(text.decode("latin-1").splitlines())


def replay_heaptrack(rows: Sequence[str]) -> Testimony:
    """Rows `a SIZE TRACE` define what the later `+ INDEX` and `- INDEX` mean."""
    kinds: list[int] = []
    sizes: Counter[int] = Counter()
    live = peak = 0
    for row in rows:
        if row.startswith("a "):
            kinds.append(int(row.split()[1], 16))
        elif row.startswith("+ "):
            size = kinds[int(row[2:], 16)]
            sizes[size] += 1
            live += size
            peak = max(peak, live)
        elif row.startswith("- "):
            live -= kinds[int(row[2:], 16)]
    total = sum(size * count for size, count in sizes.items())
    return Testimony(sum(sizes.values()), total, peak, sizes)


def ask_dhat(line: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Testimony:
    output = folder / "dhat.json"
    command = ["valgrind", "--tool=dhat", f"--dhat-out-file={output}", *line]
    subprocess.run(
        command, env=environment, check=True, capture_output=True, timeout=300, stdin=subprocess.DEVNULL
    )
    points = json.loads(output.read_text())["pps"]
    return Testimony(
        sum(p["tbk"] for p in points), sum(p["tb"] for p in points), sum(p["gb"] for p in points), Counter()
    )
