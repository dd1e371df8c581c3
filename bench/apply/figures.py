# SPDX-License-Identifier: MIT
"""The tables in docs/apply.md, of bench/results/apply.json."""

from __future__ import annotations

import documents
from heapwright.report import markdown, units
from taken import as_is, counted, each, fields

TAKEN = {
    "apply": fields({"memory": fields({"highest_bytes": each(counted), "replayed": as_is})}),
}
WAYS = ("without remedies", "other sites", "a named site")


def render() -> str:
    """Both tables."""
    result = documents.read("apply")
    rows = [
        [f"{loop}", f"{found['alone']:.1f}", *(f"{found[way] - found['alone']:+.1f}" for way in WAYS)]
        for loop, found in result["instructions_per_pair"].items()
    ]
    highest, replayed = result["memory"]["highest_bytes"], result["memory"]["replayed"]
    predicted = replayed["without_bytes"] - replayed["with_bytes"]
    alone = highest["alone"]["median"]
    memory = [
        [
            way,
            units.size(int(one["median"])),
            units.size(int(alone - one["median"])) if way != "alone" else "–",
        ]
        for way, one in highest.items()
    ]
    gain = alone - highest["the remedy"]["median"]
    lines = [
        documents.figures_of("apply"),
        "",
        f"Instructions of a block's making and its release, by callgrind, glibc. {documents.said([result])}",
        "",
        *markdown.table(
            ["loop", "alone", "library, no file", "three sites named, another calls", "a named site calls"],
            rows,
            "lrrrr",
        ),
        "",
        "Sessions that stay among many other blocks that go (`tests/programs/changed_loads.cpp`), highest "
        f"resident memory, median of {highest['alone']['runs']} runs:",
        "",
        *markdown.table(["", "highest", "less than alone"], memory, "lrr"),
        "",
        f"Replay had predicted {units.size(int(predicted))} less; the remedy returned "
        f"{100 * gain / predicted:.0f} % of that.",
    ]
    return "\n".join(lines)


BLOCKS = [documents.marked("docs/apply.md", "results", render)]
