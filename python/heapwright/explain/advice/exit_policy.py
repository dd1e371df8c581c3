# SPDX-License-Identifier: MIT
"""Frees at process exit: leave them to the kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from heapwright.explain import teardown
from heapwright.explain.advice import runs
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, Advice, Rule
from heapwright.report import units


def _find(of: Evidence) -> Iterator[Advice]:
    found = teardown.last_runs(of.report)
    blocks: Counter[int] = Counter()
    for run in found:
        blocks[run.site] += run.blocks
    if not of.has_times or not found:
        return
    took_ns = sum(runs.span_ns(of, run) for run in found)
    freed = sum(run.blocks for run in found)
    yield Advice(
        tuple(site for site, _ in blocks.most_common(5)),
        f"the process ends with {units.count(freed)} frees in a row, most of them of its blocks",
        (
            f"{units.size(sum(run.bytes for run in found))}, {units.duration(took_ns)} before the "
            "process was gone",
        ),
        "from the first to the last of these frees, with destructors, minus the recorder's time",
        HIGH,
        "the process exited right after them",
        took_ns,
    )


RULE = Rule(
    "exit_policy",
    "deferred_free",
    "do not destroy what lives until the process exits",
    _find,
    (
        "a destructor does more than free: it flushes a file, closes a connection, removes a lock",
        "the same code also runs in mid-process, as in a library",
        "a leak checker must stay quiet (under sanitizers and valgrind, the part does destroy)",
    ),
    "skip the frees when the process is about to exit; keep them for leak checkers",
    prelude="""\
#include <heapwright/deferred_free.hpp>
#include <map>
#include <string>
using Table = std::map<std::string, int>;
void work(Table&);""",
    before="""\
static Table table;  // its destructor frees every node at exit
work(table);""",
    after="""\
static heapwright::lives_until_exit<Table> table(heapwright::exit_policy::bury);
work(*table);""",
    change="exit_policy",
    unsampled="finding runs of frees takes every call",
    stands_beside=True,
)
