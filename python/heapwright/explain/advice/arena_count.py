# SPDX-License-Identifier: MIT
"""Free memory in the arenas of several threads: use fewer arenas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import MEDIUM, Advice, Rule
from heapwright.explain.cause_kinds import is_arena, kinds_at
from heapwright.explain.idle_memory import lasted_ns
from heapwright.explain.settings import ARENA_MAX
from heapwright.report import units

_LEAST_ARENAS = 2
_FEW_ARENAS = 2  # the advised maximum
_LEAST_SHARE = 0.25  # of the heap's free memory
_LEAST_LASTED = 0.1  # of the run
_MOST_SITES = 5


def _find(of: Evidence) -> Iterator[Advice]:
    if of.scan_with_most_free is None or not of.is_glibc:
        return
    number, moment = of.scan_with_most_free
    kinds = kinds_at(of.report, number)
    gain = kinds.arena_free_bytes if kinds.bytes_of["arenas"] else 0
    is_set = (ARENA_MAX.number_in(kinds.allocator.settings) or _FEW_ARENAS + 1) <= _FEW_ARENAS
    # One heap needs room for the peak of live memory, and long-lived blocks keep it there too.
    sure = min(gain, kinds.shared_bytes(of.facts.peak.live_usable_bytes))
    if is_set or kinds.arenas < _LEAST_ARENAS or sure < max(1, _LEAST_SHARE * kinds.free_bytes):
        return
    lasted = lasted_ns(of.report, kinds, number)
    sites = _sites(of, number)
    if not sites or not of.is_worth_resident(gain) or lasted < _LEAST_LASTED * of.report.trace.end.time_ns:
        return
    yield Advice(
        sites,
        f"{units.size(gain)} of free pages stay in {units.counted(kinds.arenas, 'arena')} besides the main "
        "heap",
        (
            f"at {units.duration(moment.time_ns)}, about as much for {units.duration(lasted)}; a thread's "
            "free memory serves other threads only if they share its arena",
        ),
        "the whole free pages of all arenas beside the main heap: as if the main heap had had room for their "
        "blocks",
        MEDIUM,
        "the location of the pages is known; the layout of all threads' blocks in one heap is not",
        0,
        gain,
        replay_set="" if ARENA_MAX.is_by_program(kinds.allocator.settings) else ARENA_MAX.replayed(1),
    )


def _sites(of: Evidence, scan: int) -> tuple[int, ...]:
    """Sites whose calls grew the arenas, or whose blocks hold their ends; most first."""
    allocator = kinds_at(of.report, scan).allocator
    found: Counter[int] = Counter(
        {row.site: row.arena_calls for row in of.facts.heap_growths if row.arena_calls}
    )
    for holder in of.facts.part_holders if not found else ():
        if holder.scan == scan and is_arena(allocator, of.facts.heap_parts[holder.part]):
            found[holder.site] += holder.free_bytes
    return tuple(site for site, _ in found.most_common(_MOST_SITES))


RULE = Rule(
    "arena_count",
    "",
    f"run it with {ARENA_MAX.to(1)} (or 2), or call mallopt(M_ARENA_MAX, 1) before the first thread starts; "
    "malloc_trim(0) from time to time returns the free pages",
    _find,
    (
        f"the threads allocate concurrently: {ARENA_MAX.price}; then check the question slow_calls",
        "the threads need their free memory again soon",
    ),
    f"run it with {ARENA_MAX.to(1)} (or 2), or call mallopt(M_ARENA_MAX, 1) before the first thread starts; "
    "malloc_trim(0) from time to time returns the free pages",
    prelude="""\
#include <malloc.h>
#include <thread>
void serve();""",
    before="""\
std::thread(serve).join();  // an arena for each thread, with its own free memory""",
    after="""\
mallopt(M_ARENA_MAX, 1);
std::thread(serve).join();""",
    unsampled="knowing which pages hold blocks takes every block",
    stands_beside=True,
    of_resident=True,
)
