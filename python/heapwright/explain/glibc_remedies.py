# SPDX-License-Identifier: MIT
"""Remedies for free memory kept by the C library, given its settings."""

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
    GIVING,
    MMAP_THRESHOLD,
    TAKEN_AGAIN,
    TOP_PAD,
    TRIM_THRESHOLD,
    Setting,
    thresholds,
    thresholds_replayed,
)
from heapwright.report import units


def of_glibc(case: Case) -> list[Remedy]:
    """malloc_trim and the settings."""
    found = [
        _trim(case),
        _arenas(case),
        _threshold(case),
        *_end(case),
    ]
    return _once(found)


def _trim(case: Case) -> Remedy:
    """The ends of further arenas come back only if they are none, which the recording does not show."""
    kinds = case.kinds
    beside = units.size(kinds.bytes_of["scattered"])
    found = judged(
        case,
        "trim",
        "malloc_trim(0) from time to time",
        kinds.trimmable_bytes,
        f"returns whole free pages anywhere in the heap, but not the {beside} beside live blocks; "
        f"{TAKEN_AGAIN}",
        _beyond_trim(case),
    )._replace(replay_change=f"trim:{case.trim_every_ms}" if case.trim_every_ms else "")
    doubtful = kinds.doubtful_end_bytes
    if doubtful < PARTLY * kinds.free_bytes or not doubtful:
        return found
    found = found._replace(bytes=kinds.trimmable_bytes + doubtful)
    if found.helps != "no":
        return found
    why = (
        f"{units.size(doubtful)} are the free ends of further arenas: these come back only below a small "
        "block in a thread cache, which the recording does not show"
    )
    return found._replace(helps="unknown", why=why)


def _once(found: list[Remedy]) -> list[Remedy]:
    """Both thresholds are set together: of the reasons to set them, the one that returns most."""
    kept: dict[str, Remedy] = {}
    for one in found:
        known = kept.get(one.what)
        if known is None or (one.bytes or 0) >= (known.bytes or 0):
            kept[one.what] = one
    return list(kept.values())


def _beyond_trim(case: Case) -> str:
    """What malloc_trim does not return, largest first."""
    kinds = case.kinds
    ends = sum(part.free_page_bytes for part in kinds.parts) - kinds.trimmable_bytes
    beside = f"{units.size(kinds.bytes_of['scattered'])} are beside live blocks"
    if ends > kinds.bytes_of["scattered"]:
        return f"it leaves the free ends of further arenas, {units.size(ends)}; {beside}"
    return f"returns only whole free pages: {beside}"


def _now(case: Case, setting: Setting) -> str:
    """The current value, if it is not the proposed one, as the start of a sentence."""
    value = setting.set_in(case.kinds.allocator.settings)
    return f"now {value}; " if value else ""


def _thresholds_replayed(case: Case) -> str:
    """The argument of replay --set for both thresholds; "" if the program sets one itself."""
    settings = case.kinds.allocator.settings
    if any(one.is_by_program(settings) for one in (TRIM_THRESHOLD, MMAP_THRESHOLD)):
        return ""
    return thresholds_replayed(*GIVING)


def _replayed(case: Case, setting: Setting, value: int) -> str:
    """The argument of replay --set; "" if the program sets it itself, as its replay does too."""
    return "" if setting.is_by_program(case.kinds.allocator.settings) else setting.replayed(value)


def _arenas(case: Case) -> Remedy:
    """One heap for all threads: what it keeps depends on their peak and on long-lived blocks."""
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
            f"{units.size(case.peak_bytes)} were live at once: one heap would grow as large, and long-lived "
            "blocks would hold its pages as well"
        )
        unknown = Remedy("arenas", what, at_most, "unknown", _now(case, ARENA_MAX) + why)
        return unknown._replace(replay_set=_replayed(case, ARENA_MAX, 1))
    found = judged(
        case,
        "arenas",
        what,
        at_most if kinds.arenas > 1 else gain,
        f"{_now(case, ARENA_MAX)}{heaps} keep it separate; {ARENA_MAX.price}",
        f"{units.size(in_main)} of the free pages are in the main heap, besides {heaps}",
    )
    # If that heap stayed at its peak size, including its end: small blocks are not merged there.
    least = max(0, min(kinds.resident_bytes - case.peak_bytes, at_most)) if kinds.arenas > 1 else 0
    return found._replace(least_bytes=least, replay_set=_replayed(case, ARENA_MAX, 1))


def _threshold(case: Case) -> Remedy:
    gain, settings = case.kinds.bytes_of["threshold"], case.kinds.allocator.settings
    what = thresholds(*GIVING)
    value = MMAP_THRESHOLD.number_in(settings)
    if value is not None and value <= FIRST_MMAP_THRESHOLD:
        return set_already("threshold", what, gain, MMAP_THRESHOLD.set_in(settings))
    if MMAP_THRESHOLD.set_in(settings):
        unset = MMAP_THRESHOLD.without(settings)
        lay = f"{units.size(gain)} are left by blocks of 128 KiB or more"
        return judged(case, "unset", unset, gain, f"{lay}: it prevents separate mappings for them", lay)
    blocks = f"blocks of 128 KiB up to {units.size(max((one.bytes for one in case.raises), default=0))}"
    return judged(
        case,
        "threshold",
        what,
        gain,
        f"{blocks} would be mapped separately and unmapped by free; {MMAP_THRESHOLD.price}, "
        f"{units.count(case.large_blocks)} were made since{_price(case)}",
        f"{units.size(gain)} are left by blocks of 128 KiB or more"
        if case.raises
        else "no free raised the mmap threshold",
    )._replace(replay_set=_thresholds_replayed(case), run_ns=case.large_ns)


def _price(case: Case) -> str:
    """What these blocks would have cost in CPU time, if it is known what a page fault costs."""
    return f": up to {units.duration(case.large_ns)} of CPU time" if case.large_ns else ""


def _end(case: Case) -> list[Remedy]:
    """What keeps the free end of the main heap: a setting, or the dynamic threshold."""
    gain, settings = case.kinds.end_bytes, case.kinds.allocator.settings
    kind, what = given_back_at_end(settings)
    above = f"{units.size(gain)} are above the last block"
    if kind == "end" and TRIM_THRESHOLD.set_in(settings):
        return [set_already(kind, what, gain, TRIM_THRESHOLD.set_in(settings))]
    if case.sites and is_kept_at_end(case.sites[0][1]):
        return []  # it is part of another remedy: together with a private heap for the site
    if kind == "end" and case.raises and not any(one.set_in(settings) for one in FIXES_THRESHOLD):
        return [_fixed(case, what)]
    how = "it keeps the free end of the main heap" if kind == "unset" else "the main heap keeps its free end"
    why_not = f"{above}: the free memory is not at the end"
    if case.kinds.above_bytes > gain:
        why_not = f"{units.size(case.kinds.above_bytes)} are above the last block, {HELD_BY_CACHES}"
    found = judged(case, kind, what, gain, f"{how}: {above}; {TAKEN_AGAIN}", why_not)
    tried = _thresholds_replayed(case) if kind == "end" else ""
    return [found._replace(replay_set=tried)]


def _fixed(case: Case, what: str) -> Remedy:
    """Setting thresholds that a free raised fixes them, so that large blocks are mapped separately."""
    kinds = case.kinds
    gain = sum(
        min(p.free_page_bytes, min(p.above_last_bytes, kinds.most_end_bytes) + p.large_free_bytes)
        for p in kinds.parts
    )
    lie = f"{units.size(gain)} are above the last blocks of heaps or left by blocks of 128 KiB or more"
    found = judged(
        case,
        "end",
        what,
        gain,
        f"{lie}; setting them stops frees from raising them, and large blocks are mapped one by one: "
        f"{TAKEN_AGAIN}{_price(case)}",
        lie,
    )
    return found._replace(replay_set=_thresholds_replayed(case), run_ns=case.large_ns)


def given_back_at_end(settings: Mapping[str, str]) -> tuple[str, str]:
    """The remedy's kind and text, for free memory kept at a heap's end."""
    keeping = [
        setting.without(settings)
        for setting, first in ((TRIM_THRESHOLD, FIRST_TRIM_THRESHOLD), (TOP_PAD, FIRST_TOP_PAD))
        if (setting.number_in(settings) or 0) > first
    ]
    if keeping:
        return "unset", " and ".join(keeping)
    return "end", thresholds(*GIVING)


def is_kept_at_end(of: Separation) -> bool:
    """True if a private heap for the site returns little while the heap's end is kept."""
    return of.kept_bytes > 0 and of.kept_bytes >= PARTLY * of.saves_most_bytes
