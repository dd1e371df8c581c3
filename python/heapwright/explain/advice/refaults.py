# SPDX-License-Identifier: MIT
"""Memory is given back to the kernel and taken again: each page costs a page fault each time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from heapwright.explain import page_faults, site_names
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, MEDIUM, Advice, Rule
from heapwright.explain.allocators import Allocator
from heapwright.explain.page_faults import GIVEN_BACK_BY, HEAP, MAPPED_BLOCK, PROGRAM, TRIM
from heapwright.explain.settings import (
    FIXES_THRESHOLD,
    MMAP_THRESHOLD,
    TRIM_THRESHOLD,
    keeping,
    takes_any_threshold,
    thresholds,
    thresholds_replayed,
)
from heapwright.model import KIND_NAMES
from heapwright.report import units

_LEAST_FAULTS = 100
_MOST_SITES = 5
# Settings of other allocators that give free memory back: the value that does so at once, and the usual one.
_AT_ONCE: Mapping[str, tuple[tuple[str, str], ...]] = {
    "mimalloc": (
        ("MIMALLOC_PURGE_DELAY", "10"),
        ("MIMALLOC_RESET_DELAY", "100"),
        ("MIMALLOC_DECOMMIT_DELAY", "25"),
    ),
    "heapwright": (("HEAPWRIGHT_HEAP_DECAY_MS", "1000"),),
}
_GIVING = {"tcmalloc": ("TCMALLOC_AGGRESSIVE_DECOMMIT", "TCMALLOC_RELEASE_RATE")}
_DECAY, _USUAL_DECAY_MS = "dirty_decay_ms", 10_000
_SOON_MS = 1000


def _find(of: Evidence) -> Iterator[Advice]:
    report = of.report
    if not of.has_times or page_faults.not_seen(report):
        return
    rows = page_faults.rows_of(report._replace(top=len(report.sites)))
    faults, times = sum(row.faults for _, row in rows), sum(row.times for _, row in rows)
    if faults < _LEAST_FAULTS:
        return
    by: dict[int, int] = {}
    for _, row in rows:
        by[row.given_back_by] = by.get(row.given_back_by, 0) + row.faults
    main = max(by, key=lambda kind: by[kind])
    largest = of.above_raising(site.number for site, row in rows if row.given_back_by == MAPPED_BLOCK)
    action, why = _remedy(of, main, largest)
    each = page_faults.cost_each_ns(report)
    yield Advice(
        tuple(dict.fromkeys(site.number for site, _ in rows))[:_MOST_SITES],
        f"{units.count(faults)} page faults took memory that {_who(main)} had given back, "
        f"{units.counted(max(1, faults // max(1, times)), 'page')} at a time",
        tuple(_evidence(of, site, row) for site, row in rows[:2]),
        f"these page faults at {units.duration(int(each))} of system time each",
        HIGH if faults >= 0.5 * report.facts.processor.refaults else MEDIUM,
        "the kernel's record of each page fault, and the block on its page",
        page_faults.again_ns(report),
        action=action,
        not_if=why,
        replay_set=_replay_set(of, main, largest),
    )


def _replay_set(of: Evidence, kind: int, largest: int) -> str:
    """What a replay tries for that remedy; the program's own munmap and malloc_trim are not in it."""
    allocator = of.report.allocator
    if kind in (PROGRAM, TRIM) or any(KIND_NAMES[row.kind] == "malloc_trim" for row in of.facts.by_kind):
        return ""
    if allocator.family == "jemalloc" and giving_back(allocator):
        return f"jemalloc.{_DECAY}={_USUAL_DECAY_MS}"
    is_by_program = any(one.is_by_program(allocator.settings) for one in FIXES_THRESHOLD)
    if allocator.family != "glibc" or is_by_program or _is_mapped_anyway(allocator, largest):
        return ""
    return thresholds_replayed(*keeping(of.peak_bytes, largest))


def _is_mapped_anyway(allocator: Allocator, largest: int) -> bool:
    return largest > 0 and not takes_any_threshold(allocator.name)


def _who(kind: int) -> str:
    return {
        HEAP: "the allocator",
        MAPPED_BLOCK: "the end of separately mapped blocks",
        PROGRAM: "the program",
        TRIM: "malloc_trim",
    }[kind]


def _evidence(of: Evidence, site: Any, row: Any) -> str:
    runs, by = units.counted(row.times, "run"), GIVEN_BACK_BY[row.given_back_by]
    freed = page_faults.freed_in_words(of.report, row)
    return (
        f"{units.count(row.faults)} of them in {runs} by {by}: given back in {freed}, taken again by "
        f"{site_names.site_name(site)}"
    )


def _remedy(of: Evidence, kind: int, largest: int) -> tuple[str, str]:
    """What to do, and what it costs."""
    allocator = of.report.allocator
    if kind == PROGRAM:
        return "keep the mapping instead of giving it back with munmap or madvise", "it stays resident"
    trims = sum(row.calls for row in of.facts.by_kind if KIND_NAMES[row.kind] == "malloc_trim")
    if kind == TRIM:
        return (
            f"call malloc_trim less often, not {units.counted(trims, 'time')}",
            "free memory stays resident longer",
        )
    if allocator.family == "glibc":
        return _of_glibc(of, allocator, largest)
    guilty = giving_back(allocator)
    if guilty:
        return guilty, "free memory stays resident longer"
    if allocator.family == "musl":
        return "keep the blocks: musl has no setting for this", "they stay resident"
    return (
        f"let {allocator.name} keep free memory longer (its decay or purge delay), or keep the blocks",
        "free memory stays resident longer",
    )


def giving_back(allocator: Allocator) -> str:
    """The setting that makes an allocator give free memory back at once, and how to undo it; "" = none."""
    settings = allocator.settings
    if allocator.family == "jemalloc":
        return _of_jemalloc(allocator)
    for name, usual in _AT_ONCE.get(allocator.family, ()):
        if _is_soon(settings.get(name, "")):
            return f"remove {name}={settings[name]} (the default is about {usual})"
    for name in _GIVING.get(allocator.family, ()):
        if settings.get(name, "0") not in ("", "0", "0.0", "false"):
            return f"remove {name}={settings[name]}"
    return ""


def _of_jemalloc(allocator: Allocator) -> str:
    value = allocator.options_of_jemalloc().get(_DECAY, "")
    if _is_soon(value):
        return f"remove {_DECAY}:{value} from {allocator.conf_of_jemalloc} ({_USUAL_DECAY_MS} is the default)"
    return ""


def _is_soon(value: str) -> bool:
    return value.isdecimal() and len(value) < 10 and int(value) < _SOON_MS


def _of_glibc(of: Evidence, allocator: Allocator, largest: int) -> tuple[str, str]:
    if _is_mapped_anyway(allocator, largest):
        return (
            "keep the blocks: this C library maps each one above 32 MiB, whatever is set",
            "they stay resident",
        )
    trim, mapped = keeping(of.peak_bytes, largest)
    settings = allocator.settings
    own = [one.option for one in FIXES_THRESHOLD if one.is_by_program(settings)]
    how = f"run it with {thresholds(trim, mapped)}, both: setting one fixes the other at 128 KiB"
    if own:
        how = (
            f"in the program, call mallopt({TRIM_THRESHOLD.option}, {trim}) and "
            f"mallopt({MMAP_THRESHOLD.option}, {mapped}): its calls of mallopt override the environment"
        )
    elif now := [one.set_in(settings) for one in FIXES_THRESHOLD if one.set_in(settings)]:
        how += f" (now {' '.join(now)})"
    return how, f"up to {units.size(trim)} of free memory then stay resident at the heap's end"


RULE = Rule(
    "refaults",
    "",
    "keep memory instead of giving it back",
    _find,
    ("the memory must be free for other processes in between",),
    in_c="keep memory instead of giving it back",
    prelude="""\
#include <malloc.h>
void work();""",
    before="""\
work();  // frees much at the heap's end, which goes back to the kernel; its next call takes it again""",
    after="""\
mallopt(M_TRIM_THRESHOLD, 64 << 20);
mallopt(M_MMAP_THRESHOLD, 32 << 20);
work();""",
    unsampled="samples do not have every block",
    stands_beside=True,
)
