# SPDX-License-Identifier: MIT
"""What could be done about free memory that the C library keeps, by the values that are in force."""

from __future__ import annotations

from collections.abc import Mapping

from heapwright.explain.cause_evidence import HELD_BY_CACHES
from heapwright.explain.remedy import PARTLY, YES, Case, Remedy, judged, set_already
from heapwright.explain.separation import Separation
from heapwright.explain.settings import (
    ARENA_MAX,
    FIRST_MMAP_THRESHOLD,
    FIRST_TOP_PAD,
    FIRST_TRIM_THRESHOLD,
    FIXES_THRESHOLD,
    MMAP_THRESHOLD,
    TOP_PAD,
    TRIM_THRESHOLD,
    Setting,
)
from heapwright.report import units


def of_glibc(case: Case) -> list[Remedy]:
    """malloc_trim and the settings."""
    kinds, of = case.kinds, case.kinds.bytes_of
    beside = units.size(of["scattered"])
    return [
        judged(
            case,
            "trim",
            "malloc_trim(0), now and then",
            kinds.trimmable_bytes,
            f"gives back whole free pages anywhere in the heap; not the {beside} beside live blocks",
            _beyond_trim(case),
        ),
        _arenas(case),
        _threshold(case),
        *_end(case),
    ]


def _beyond_trim(case: Case) -> str:
    """What malloc_trim leaves, most first."""
    kinds = case.kinds
    ends = sum(part.free_page_bytes for part in kinds.parts) - kinds.trimmable_bytes
    beside = f"{units.size(kinds.bytes_of['scattered'])} lie beside live blocks"
    if ends > kinds.bytes_of["scattered"]:
        return f"it leaves the free ends of further arenas, {units.size(ends)}; {beside}"
    return f"gives back whole free pages alone: {beside}"


def _now(case: Case, setting: Setting) -> str:
    """The value in force that is not the proposed one, as the begin of a sentence."""
    value = setting.set_in(case.kinds.allocator.settings)
    return f"now {value}; " if value else ""


def _replayed(case: Case, setting: Setting, value: int) -> str:
    """For --set of a replay; "" where the program sets it itself, as the replayed one does."""
    return "" if setting.is_by_program(case.kinds.allocator.settings) else setting.replayed(value)


def _arenas(case: Case) -> Remedy:
    """One heap for all threads: what it keeps follows from what they need at once, and from what stays."""
    kinds, what = case.kinds, ARENA_MAX.to(1)
    at_most = kinds.arena_free_bytes if kinds.bytes_of["arenas"] else 0
    if ARENA_MAX.number_in(kinds.allocator.settings) == 1:
        return set_already("arenas", what, at_most, ARENA_MAX.set_in(kinds.allocator.settings))
    gain = min(at_most, kinds.shared_bytes(case.peak_bytes))
    arenas = units.counted(kinds.arenas, "further arena")
    in_main = sum(part.free_page_bytes for part in kinds.parts) - kinds.arena_free_bytes
    heaps = f"{arenas} of {kinds.heaps} heaps" if kinds.heaps > kinds.arenas else arenas
    if kinds.arenas > 1 and gain < YES * kinds.free_bytes and at_most >= PARTLY * kinds.free_bytes:
        why = (
            f"{units.size(case.peak_bytes)} were live at once, so one heap would grow as large, and blocks "
            "that stay would hold its pages as well"
        )
        unknown = Remedy("arenas", what, at_most, "unknown", _now(case, ARENA_MAX) + why)
        return unknown._replace(replay_set=_replayed(case, ARENA_MAX, 1))
    found = judged(
        case,
        "arenas",
        what,
        at_most if kinds.arenas > 1 else gain,
        f"{_now(case, ARENA_MAX)}{heaps} keep this apart; {ARENA_MAX.price}",
        f"{units.size(in_main)} of the free pages are in the main heap, {heaps} beside it",
    )
    # If that heap stayed as large as what lived at once, its end as well: small blocks are not merged there.
    least = max(0, min(kinds.resident_bytes - case.peak_bytes, at_most)) if kinds.arenas > 1 else 0
    return found._replace(least_bytes=least, replay_set=_replayed(case, ARENA_MAX, 1))


def _threshold(case: Case) -> Remedy:
    gain, settings = case.kinds.bytes_of["threshold"], case.kinds.allocator.settings
    what = MMAP_THRESHOLD.to(FIRST_MMAP_THRESHOLD)
    value = MMAP_THRESHOLD.number_in(settings)
    if value is not None and value <= FIRST_MMAP_THRESHOLD:
        return set_already("threshold", what, gain, MMAP_THRESHOLD.set_in(settings))
    if MMAP_THRESHOLD.set_in(settings):
        unset = MMAP_THRESHOLD.without(settings)
        lay = f"{units.size(gain)} lie where blocks of 128 KiB or more lay"
        return judged(case, "unset", unset, gain, f"{lay}: it keeps them from being mapped apart", lay)
    blocks = f"blocks of 128 KiB up to {units.size(max((one.bytes for one in case.raises), default=0))}"
    return judged(
        case,
        "threshold",
        what,
        gain,
        f"{blocks} would be mapped apart and unmapped by free; {MMAP_THRESHOLD.price}, "
        f"{units.count(case.large_blocks)} were made since",
        f"{units.size(gain)} lie where blocks of 128 KiB or more lay"
        if case.raises
        else "no free raised the size from which blocks are mapped apart",
    )._replace(replay_set=_replayed(case, MMAP_THRESHOLD, FIRST_MMAP_THRESHOLD))


def _end(case: Case) -> list[Remedy]:
    """What keeps the free end of the main heap: a setting, or a threshold that rose by itself."""
    gain, settings = case.kinds.end_bytes, case.kinds.allocator.settings
    kind, what = given_back_at_end(settings)
    above = f"{units.size(gain)} lie above the last block"
    if kind == "end" and TRIM_THRESHOLD.set_in(settings):
        return [set_already(kind, what, gain, TRIM_THRESHOLD.set_in(settings))]
    if case.sites and is_kept_at_end(case.sites[0][1]):
        return []  # it is a part of what helps: together with a private heap for the site
    if kind == "end" and case.raises and not any(one.set_in(settings) for one in FIXES_THRESHOLD):
        return [_fixed(case, what)]
    how = "it keeps the free end of the main heap" if kind == "unset" else "the main heap keeps its free end"
    why_not = f"{above}: it is not the end that is free"
    if case.kinds.above_bytes > gain:
        why_not = f"{units.size(case.kinds.above_bytes)} lie above the last block, {HELD_BY_CACHES}"
    found = judged(case, kind, what, gain, f"{how}: {above}", why_not)
    tried = _replayed(case, TRIM_THRESHOLD, FIRST_TRIM_THRESHOLD) if kind == "end" else ""
    return [found._replace(replay_set=tried)]


def _fixed(case: Case, what: str) -> Remedy:
    """Where a free raised the thresholds: set, they stay, so that large blocks are mapped apart as well."""
    kinds = case.kinds
    gain = sum(
        min(p.free_page_bytes, min(p.above_last_bytes, kinds.most_end_bytes) + p.large_free_bytes)
        for p in kinds.parts
    )
    lie = f"{units.size(gain)} lie above the last blocks of heaps or where blocks of 128 KiB or more lay"
    found = judged(
        case,
        "end",
        what,
        gain,
        f"{lie}; set, it keeps frees from raising it and the size from which blocks are mapped apart",
        lie,
    )
    return found._replace(replay_set=_replayed(case, TRIM_THRESHOLD, FIRST_TRIM_THRESHOLD))


def given_back_at_end(settings: Mapping[str, str]) -> tuple[str, str]:
    """The remedy's kind and what it is, for free memory that is kept at a heap's end."""
    keeping = [
        setting.without(settings)
        for setting, first in ((TRIM_THRESHOLD, FIRST_TRIM_THRESHOLD), (TOP_PAD, FIRST_TOP_PAD))
        if (setting.number_in(settings) or 0) > first
    ]
    if keeping:
        return "unset", " and ".join(keeping)
    return "end", TRIM_THRESHOLD.to(FIRST_TRIM_THRESHOLD)


def is_kept_at_end(of: Separation) -> bool:
    """True where a private heap for the site gives back little while the heap's end is kept."""
    return of.kept_bytes > 0 and of.kept_bytes >= PARTLY * of.saves_most_bytes
