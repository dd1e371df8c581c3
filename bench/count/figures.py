# SPDX-License-Identifier: MIT
"""The tables in docs/count.md, of bench/results/count*.json."""

from typing import Any

import documents
from heapwright.report import markdown, units
from taken import as_is, counted, each, fields

SAMPLED = "count --sample 512k"


def more(before: float, after: float) -> str:
    """How much more the second is."""
    return f"{100 * (after - before) / before:+.1f} %".replace("-", "−")


def row_of(name: str, found: dict[str, Any], spent: dict[str, Any]) -> list[str]:
    """Of a program."""
    counted, calls, times = found["instructions"], found["calls"], spent["cpu_ns"]
    return [
        name,
        units.count(calls),
        units.count(counted["bare"] / calls) if calls else "–",
        *(more(counted["bare"], counted[way]) for way in ("count", SAMPLED)),
        more(times["bare"]["low"], times["count"]["low"]),
        more(times["bare"]["low"], times[SAMPLED]["low"]) if SAMPLED in times else "not measured",
    ]


def render() -> str:
    """Both tables."""
    counted, timed = documents.read("count_instructions"), documents.read("count")
    pair, times = counted["instructions_per_pair"], timed["pair_ns"]
    rows = [row_of(name, found, timed["programs"][name]) for name, found in counted["programs"].items()]
    pairs = [[name, f"{runs['low']:.1f} ns", f"{runs['median']:.1f} ns"] for name, runs in times.items()]
    lines = [
        documents.figures_of("count_instructions"),
        documents.figures_of("count"),
        "",
        f"Times: {documents.machine_of(timed)} at the end; {times['bare']['runs']} runs in turns. "
        f"{documents.said([timed])}",
        "",
        "Instructions are counted by callgrind and do not depend on the machine's load; processor times do, "
        f"and a few percent between them are noise here. {documents.said([counted])}",
        "",
        f"A malloc and a free in the tight loop take {pair['bare']:.0f} instructions with glibc, "
        f"{pair['count'] - pair['bare']:.0f} more when counted. Sampling one block in 512 KiB adds "
        f"{pair[SAMPLED] - pair['count']:.0f}; in 3 MiB, "
        f"{pair['count --sample 3M'] - pair['count']:.0f}.",
        "",
        *markdown.table(
            [
                "program",
                "heap calls",
                "instructions a call",
                "more, counted",
                "sampled, 512k",
                "time, counted",
                "sampled, 512k",
            ],
            rows,
        ),
        "",
        "Time is the least of the runs, and includes the collector's when sampled. gzip makes no heap call: "
        "its row shows the startup cost.",
        "",
        "The same loop beside allocators' own samplers (one sample in 512 KiB), processor time per pair:",
        "",
        *markdown.table(["with", "least", "median"], pairs),
    ]
    return "\n".join(lines)


TAKEN = {
    "count": fields({"pair_ns": each(counted), "programs": each(each(each(counted)))}),
    "count_instructions": as_is,
}
BLOCKS = [documents.marked("docs/count.md", "results", render)]
