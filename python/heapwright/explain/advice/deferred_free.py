# SPDX-License-Identifier: MIT
"""Long destructions during the run: free later, in slices."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain import teardown
from heapwright.explain.advice import runs
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import LOW, MEDIUM, Advice, Rule
from heapwright.model.facts import ReleaseRun
from heapwright.report import units

_LEAST_PAUSE_NS = 5_000_000
_LONG_PAUSE_NS = 10_000_000  # whoever waits for the thread notices it
_LEAST_TIMES = 3
_LEAST_IDLE = 0.1
_LEAST_BLOCKS = 1000


def _find(of: Evidence) -> Iterator[Advice]:
    # A program that never idles has no idle time to free in.
    if of.idle_share < _LEAST_IDLE:
        return
    last = teardown.last_runs(of.report)
    groups: dict[int, list[ReleaseRun]] = {}
    for run in of.facts.release_runs if of.has_times else ():
        if run.blocks >= _LEAST_BLOCKS and run not in last and runs.span_ns(of, run) >= _LEAST_PAUSE_NS:
            groups.setdefault(run.site, []).append(run)
    for site, found in groups.items():
        # Blocks freed by another thread are already deferred.
        is_handed_on = 2 * of.site(site).freed_by_other_thread > of.site(site).freed
        if len(found) >= _LEAST_TIMES and not is_handed_on and not of.is_a_pool(site):
            yield _advice(of, site, found)


def _advice(of: Evidence, site: int, found: list[ReleaseRun]) -> Advice:
    longest = max(found, key=lambda run: runs.span_ns(of, run))
    return Advice(
        (site,),
        f"{units.count(len(found))} times its blocks were freed in one batch that took up to "
        f"{units.duration(runs.span_ns(of, longest))}",
        (
            f"the longest: {units.count(longest.blocks)} blocks, {units.size(longest.bytes)}, "
            f"{units.duration(longest.begin_ns)} into the run, by thread #{longest.thread}",
            f"for {units.percent(of.idle_share)} of the run no heap call came for 20 ms or more",
        ),
        "these pauses on their thread; the work moves, but does not shrink",
        MEDIUM if runs.span_ns(of, longest) >= _LONG_PAUSE_NS else LOW,
        "whether anything waits for this thread, only its author knows",
        sum(runs.span_ns(of, run) for run in found),
    )


RULE = Rule(
    "deferred_free",
    "deferred_free",
    "move objects to be destroyed into a queue, and drain it when idle",
    _find,
    (
        "nothing waits for this thread: the total work stays the same",
        "the destructor does something that others wait for",
        "memory is short: deferred memory is not free yet",
    ),
    "put blocks to be freed into a list, and free some of them when idle",
    prelude="""\
#include <heapwright/deferred_free.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
using Table = std::map<std::string, int>;
std::unique_ptr<Table> next_table();
void wait_for_work();""",
    before="""\
auto table = next_table();
table = next_table();  // frees every node of the old one, here and now
wait_for_work();""",
    after="""\
heapwright::deferred_free queue;
auto table = next_table();
queue.defer(std::exchange(table, next_table()));
queue.drain(std::chrono::milliseconds(2));  // when idle
wait_for_work();""",
    unsampled="finding runs of frees takes every call",
    stands_beside=True,
)
