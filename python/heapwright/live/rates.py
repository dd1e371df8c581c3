# SPDX-License-Identifier: MIT
"""What processes do now: two readings of their pages, some time apart."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from heapwright.live import contention, figures, outside
from heapwright.live.choice import name_of
from heapwright.live.layout import FUNCTIONS
from heapwright.live.outside import Courses
from heapwright.live.page import Calls, HeapFigures, Page, RemedyFigures
from heapwright.live.processes import Process, find_process
from heapwright.live.switches import SwitchLooks

# What rows are sorted by, the largest first.
SORT_KEYS = ("calls_per_s", "requested_bytes_per_s", "live_bytes", "live_blocks", "resident_bytes",
             "growth_bytes_per_s", "anonymous_bytes", "anonymous_overhead", "overhead", "mean_ns", "p99_ns",
             "threads", "collisions_per_s", "lost_ns_per_s", "remote_frees_per_s", "process")  # fmt: skip


class Reading(NamedTuple):
    """The pages of all processes at one moment."""

    time_ns: int
    calls: dict[int, Calls]
    heaps: dict[int, HeapFigures]
    names: dict[int, str]
    generations: dict[int, tuple[int, int]]
    remedies: Mapping[int, tuple[RemedyFigures, ...]] = {}


def take(pages: list[Page]) -> Reading:
    """The figures of these pages; one process may have three, of its calls, its heap and its remedies."""
    return Reading(
        time.monotonic_ns(),
        {page.process: page.calls for page in pages if page.calls},
        {page.process: page.heap for page in pages if page.heap},
        {page.process: name_of(page) for page in sorted(pages, key=lambda page: page.calls is not None)},
        {page.process: (page.process_start_ticks, page.generation) for page in pages},
        {page.process: page.remedies for page in pages if page.remedies},
    )


def lately(process: int, earlier: Reading, later: Reading) -> Calls | None:
    """What one image of a process called between the two. None: it was not there before."""
    old, new = earlier.calls.get(process), later.calls[process]
    if old is None or old.started_ns != new.started_ns:
        return None
    return figures.difference(old, new)


def running_backwards(earlier: Reading, later: Reading) -> list[int]:
    """Processes with a page that counted down, which no writer of ours does: no rate is said of them."""
    found = set()
    for process in later.calls:
        calls, old = lately(process, earlier, later), earlier.calls.get(process)
        began_earlier = old is not None and later.calls[process].started_ns < old.started_ns
        if began_earlier or (calls and figures.runs_backwards(calls)):
            found.add(process)
    for process, heap in later.heaps.items():
        before = earlier.heaps.get(process)
        is_same = earlier.generations.get(process) == later.generations[process]
        if (
            before
            and is_same
            and any(_fell(getattr(before, name), getattr(heap, name)) for name in _HEAP_SUMS)
        ):
            found.add(process)
    return sorted(found)


# Of the heap's figures; the others are levels.
_HEAP_SUMS = ("contended", "wait_ns", "purged_bytes", "remote_frees")


def _fell(earlier: int | None, later: int | None) -> bool:
    return earlier is not None and later is not None and later < earlier


def unsettled(later: Reading) -> list[int]:
    """Processes whose heap was writing its sums whenever it was looked at: stopped in the middle of it."""
    return sorted(process for process, heap in later.heaps.items() if heap.remote_frees is None)


def images(reading: Reading) -> dict[tuple[int, int], Calls | None]:
    """The calls of each process, by its id and what tells its images apart."""
    found = {}
    for process, (start_ticks, _) in reading.generations.items():
        calls = reading.calls.get(process)
        found[process, calls.started_ns if calls else start_ticks] = calls
    return found


def rows(
    earlier: Reading, later: Reading, sort: str, courses: Courses, switches: SwitchLooks | None = None
) -> list[dict[str, Any]]:
    """One for each process that lives, by the largest. courses, switches: with the later look."""
    found = []
    backwards = running_backwards(earlier, later)
    memory = {process: courses.of(process, image) or outside.NOTHING for process, image in images(later)}
    for process_id, name in later.names.items():
        process = find_process(process_id)
        if process is not None:
            row = memory[process_id] | _row(process_id, name, process, earlier, later)
            row["is_contended"] = verdict(process_id, earlier, later, switches)
            row["anonymous_overhead"] = _share(row["anonymous_bytes"], row["live_bytes"])
            found.append(row | dict.fromkeys(_RATES) if process_id in backwards else row)
    return sorted(found, key=lambda row: (row[sort] is None, -(row[sort] or 0), row["process"]))


def _share(bytes_: int | None, live: int | None) -> float | None:
    return round(bytes_ / live, 3) if bytes_ is not None and live and live > 0 else None


def _row(process_id: int, name: str, process: Process, earlier: Reading, later: Reading) -> dict[str, Any]:
    is_same = earlier.generations.get(process_id) == later.generations[process_id]
    took_s = (later.time_ns - earlier.time_ns) / 1e9
    row: dict[str, Any] = {
        "process": process_id,
        "program": name,
        "threads": process.threads,
        "resident_bytes": process.resident_bytes,
        "contended_per_s": None,
        "remote_frees_per_s": None,
    }
    exact: dict[str, float | None] = {}
    old_heap, new_heap = earlier.heaps.get(process_id), later.heaps.get(process_id)
    if is_same and old_heap and new_heap:
        exact = _known(contention.counted_rates(old_heap, new_heap, took_s))
        row["contended_per_s"] = round((new_heap.contended - old_heap.contended) / took_s, 1)
        if old_heap.remote_frees is not None and new_heap.remote_frees is not None:
            row["remote_frees_per_s"] = round((new_heap.remote_frees - old_heap.remote_frees) / took_s, 1)
    new = later.calls.get(process_id)
    if new is None:
        return row | dict.fromkeys(_OF_CALLS) | exact
    calls = lately(process_id, earlier, later)
    if calls is None:
        calls, took_s = new, max(1e-3, (later.time_ns - new.started_ns) / 1e9)
    return row | _of_calls(new, calls, took_s, process) | exact


def verdict(process: int, earlier: Reading, later: Reading, switches: SwitchLooks | None) -> bool | None:
    """Whether locks cost its heap calls time: as our heap counts it, or timed calls tell. None: not known."""
    is_same = earlier.generations.get(process) == later.generations[process]
    old_heap, new_heap = earlier.heaps.get(process), later.heaps.get(process)
    if is_same and old_heap and new_heap:
        took_s = (later.time_ns - earlier.time_ns) / 1e9
        return contention.is_contended_as_counted(old_heap, new_heap, took_s)
    total = later.calls.get(process)
    if total is None:
        return None
    recent = lately(process, earlier, later)
    total_s = max(1e-3, (later.time_ns - total.started_ns) / 1e9)
    took_s = total_s if recent is None else (later.time_ns - earlier.time_ns) / 1e9
    of = switches.of(process, total.started_ns) if switches else contention.NO_WAITS
    return contention.is_contended(total if recent is None else recent, took_s, total, total_s, of)


def _known(rates: contention.Rates) -> dict[str, float | None]:
    return {name: value for name, value in rates._asdict().items() if value is not None}


_OF_CALLS = (
    *contention.Rates._fields,
    "is_contended",
    "calls_per_s",
    "requested_bytes_per_s",
    "live_blocks",
    "live_bytes",
    "calls_while_reading",
    "overhead",
    "mean_ns",
    "p99_ns",
)
# What is worked out of two readings.
_RATES = (
    *contention.Rates._fields,
    "is_contended",
    "calls_per_s",
    "requested_bytes_per_s",
    "mean_ns",
    "p99_ns",
    "contended_per_s",
    "remote_frees_per_s",
    "live_growth_bytes_per_s",
    "outside_bytes_per_s",
)


def _of_calls(total: Calls, recent: Calls, took_s: float, process: Process) -> dict[str, Any]:
    live = figures.live_bytes(total)
    # Few calls lately: the times are of the whole life then.
    timed = recent if recent.making.calls + recent.releasing.calls >= figures.LEAST_TIMED else total
    timed_calls = timed.making.calls + timed.releasing.calls
    bins = [a + b for a, b in zip(timed.making.bins, timed.releasing.bins, strict=True)]
    return {
        "calls_per_s": round(sum(recent.by_function[name] for name in FUNCTIONS) / took_s, 1),
        "requested_bytes_per_s": round(recent.requested_bytes / took_s, 1),
        "live_blocks": figures.live_blocks(total),
        "live_bytes": live,
        "calls_while_reading": total.calls_while_reading,
        "overhead": _share(process.resident_bytes, live),
        "mean_ns": round((timed.making.ns + timed.releasing.ns) / timed_calls, 1)
        if timed_calls >= figures.LEAST_TIMED
        else None,
        "p99_ns": figures.percentile(bins, 0.99),
    } | contention.estimated_rates(recent, took_s)._asdict()
