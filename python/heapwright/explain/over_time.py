# SPDX-License-Identifier: MIT
"""Call paths, threads and call latencies over time, which --over-time adds to --json."""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.explain.report import Answer, Report
from heapwright.explain.slow_causes import CAUSES
from heapwright.model.values import Columns
from heapwright.report.columns import Column, Many

_NUMBERS = Many("count")


def _columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, _NUMBERS) for name in names)


# By the name in the facts: each is a table whose columns are lists of equal length.
_TABLES = {
    "paths": ("path_bins", ("stack", "bin", "allocations", "bytes", "allocator_ns", "live_bytes")),
    "threads": ("thread_bins", ("thread", "bin", "allocations", "releases", "bytes", "allocator_ns")),
    "latencies": ("latency_bins", ("bin", "is_release", "from_ns", "calls")),
    "slow": ("slow_bins", ("bin", "of", "cause", "from_ns", "calls", "duration_ns")),
    "pinned": ("path_pins", ("scan", "stack", "pinned_bytes")),
}
_ABOUT = {
    "paths": "A row per stack and bin in which it called something or its live memory changed.",
    "threads": "A row per thread and bin with calls.",
    "latencies": "Calls that took from_ns to an eighth more. is_release: 0 or 1.",
    "slow": "Calls of 20 µs or more; of: 0 allocations, 1 releases, 2 others; cause: index in causes.",
    "pinned": "Free memory on pages where the stack has most bytes; scan: index in scan_ns.",
}

FIGURES: tuple[Column, ...] = (
    Column("begin_ns", "ns"),
    Column("bin_end_ns", _NUMBERS, about="Bins are numbered from 1; bin 0 is the moment begin_ns."),
    Column("scan_ns", _NUMBERS),
    Column("causes", Many("text")),
    Column(
        "stacks", _columns("parent", "site"), about="By the stack's number; 0 is none. The SQL table stack."
    ),
    *(Column(key, _columns(*names), about=_ABOUT[key]) for key, (_, names) in _TABLES.items()),
)


def answer(report: Report) -> Answer:
    """Needs facts read with wants_activity."""
    facts = report.facts
    return {
        "begin_ns": begin_ns(report),
        "bin_end_ns": list(facts.bin_end_ns),
        "scan_ns": [scan.time_ns for scan in facts.scans],
        "causes": list(CAUSES),
        "stacks": {
            "parent": report.trace.stack_columns["parent"].tolist(),
            "site": list(report.sites.site_of_stack),
        },
        **{key: _table(getattr(facts, name), names) for key, (name, names) in _TABLES.items()},
    }


def begin_ns(report: Report) -> int:
    """Where the first bin begins."""
    return report.chosen.from_ns or min((span.from_ns for span in report.facts.coverage.spans), default=0)


def _table(columns: Columns, names: Sequence[str]) -> Answer:
    return {name: columns[name].tolist() for name in names}
