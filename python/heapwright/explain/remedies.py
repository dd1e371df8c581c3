# SPDX-License-Identifier: MIT
"""What could be done about free memory that stays resident, with bounds: what works, what does not, why.

A remedy is named only for the allocator that was in use, and not where it is set already.
"""

# Annotations are values here: from text, every field of a NamedTuple is compiled, half of the import's time.

from collections.abc import Callable, Sequence
from typing import NamedTuple

from heapwright.explain.cause_kinds import Kinds
from heapwright.explain.separation import Separation
from heapwright.explain.settings import (
    ARENA_MAX,
    FIRST_MMAP_THRESHOLD,
    MMAP_THRESHOLD,
    TOP_PAD,
    TRIM_THRESHOLD,
    Setting,
)
from heapwright.explain.site_names import site_name
from heapwright.model.facts import ThresholdRaise
from heapwright.model.sites import Site
from heapwright.report import units

HELPS = ("yes", "partly", "no", "set already", "unknown")
# Of what is free, for "yes" and "partly".
_YES, _PARTLY = 0.5, 0.1


KINDS = (
    "trim",
    "arenas",
    "threshold",
    "end",
    "decay",
    "huge_pages",
    "move",
    "allocator",
    "setting",
    "foreign",
)


class Remedy(NamedTuple):
    """bytes: what it gives back at most, at the scan; None: not known."""

    kind: str
    what: str
    bytes: int | None
    helps: str
    why: str


class Case(NamedTuple):
    """What remedies are judged by."""

    kinds: Kinds
    raises: Sequence[ThresholdRaise]
    sites: Sequence[tuple[Site, Separation]]


def remedies(case: Case) -> list[Remedy]:
    """Those that help first, most bytes first."""
    family = case.kinds.allocator.family
    found = [*_OF.get(family, _other)(case), *_for_any(case)]
    return sorted(found, key=lambda of: (HELPS.index(of.helps), -(of.bytes or 0)))


def _by_setting(
    case: Case, kind: str, what: str, gain: int, setting: Setting, why: str, why_not: str
) -> Remedy:
    return _judged(case, kind, what, gain, (setting.variable, setting.tunable), why, why_not)


def _judged(
    case: Case, kind: str, what: str, gain: int, names: Sequence[str], why: str, why_not: str
) -> Remedy:
    """By its share of what is free; names: the settings that are it."""
    settings = case.kinds.allocator.settings
    value = next((f"{name}={settings[name]}" for name in names if name in settings), "")
    if value:
        return Remedy(kind, what, gain, "set already", f"{value}; {units.size(gain)} are free all the same")
    part = gain / max(1, case.kinds.free_bytes)
    helps = "yes" if part >= _YES else "partly" if part >= _PARTLY else "no"
    return Remedy(kind, what, gain, helps, why_not if helps == "no" else why)


def _glibc(case: Case) -> list[Remedy]:
    kinds, of = case.kinds, case.kinds.bytes_of
    in_main = sum(part.free_page_bytes for part in kinds.parts) - kinds.arena_free_bytes
    arenas = units.counted(kinds.arenas, "further arena")
    beside = units.size(of["scattered"])
    blocks = f"blocks of 128 KiB up to {units.size(max((one.bytes for one in case.raises), default=0))}"
    return [
        _judged(
            case,
            "trim",
            "malloc_trim(0), now and then",
            kinds.trimmable_bytes,
            (),
            f"gives back whole free pages anywhere in the heap; not the {beside} beside live blocks",
            f"gives back whole free pages alone: {beside} lie beside live blocks",
        ),
        _by_setting(
            case,
            "arenas",
            ARENA_MAX.to(1),
            kinds.arena_free_bytes if of["arenas"] else 0,
            ARENA_MAX,
            f"{arenas} keep this apart; {ARENA_MAX.price}",
            f"{units.size(in_main)} of the free pages are in the main heap, {arenas} beside it",
        ),
        _by_setting(
            case,
            "threshold",
            MMAP_THRESHOLD.to(FIRST_MMAP_THRESHOLD),
            of["threshold"],
            MMAP_THRESHOLD,
            f"{blocks} would be mapped apart and unmapped by free; {MMAP_THRESHOLD.price}",
            f"{units.size(of['threshold'])} lie where blocks of 128 KiB or more lay"
            if case.raises
            else "no free raised the size from which blocks are mapped apart",
        ),
        _by_setting(
            case,
            "end",
            f"{TRIM_THRESHOLD.variable}, {TOP_PAD.variable}",
            kinds.end_bytes,
            TRIM_THRESHOLD,
            "the end of the main heap is free and is kept",
            f"{units.size(kinds.end_bytes)} lie above the last block: it is not the end that is free",
        ),
    ]


def _keeping(what: str, names: Sequence[str]) -> Callable[[Case], list[Remedy]]:
    def found(case: Case) -> list[Remedy]:
        kept, beside = case.kinds.bytes_of["kept"], case.kinds.bytes_of["scattered"]
        why = "whole free pages that it keeps; lazily freed ones look the same, and go when memory is short"
        why_not = f"only {units.size(kept)} are whole free pages; {units.size(beside)} lie beside live blocks"
        return [_judged(case, "decay", what, kept, names, why, why_not), _not_in_use(case)]

    return found


def _other(case: Case) -> list[Remedy]:
    return [
        Remedy(
            "setting",
            "a setting of the allocator",
            None,
            "unknown",
            f"{case.kinds.allocator.name} is not known here",
        ),
        _not_in_use(case),
    ]


def _not_in_use(case: Case) -> Remedy:
    name = case.kinds.allocator.name
    return Remedy(
        "foreign",
        f"malloc_trim, {ARENA_MAX.variable}",
        0,
        "no",
        f"settings of the C library's heap; this is {name}",
    )


def _for_any(case: Case) -> list[Remedy]:
    found = [
        Remedy(
            "allocator",
            "another allocator",
            None,
            "unknown",
            "it lays the blocks elsewhere: heapwright replay says what it would keep",
        )
    ]
    huge = case.kinds.bytes_of["huge_pages"]
    if huge >= _PARTLY * case.kinds.free_bytes and huge:
        what = "no huge pages (prctl PR_SET_THP_DISABLE)"
        found.append(
            _judged(
                case,
                "huge_pages",
                what,
                huge,
                (),
                "never used by a block, there for their huge pages alone",
                "",
            )
        )
    if case.sites:
        found.append(_moved(case, *case.sites[0]))
    return found


def _moved(case: Case, site: Site, of: Separation) -> Remedy:
    what = f"blocks of {site_name(site)} in a pool or heap of their own"
    most, least = of.saves_most_bytes, of.saves_least_bytes
    if of.separates == "no":
        why = (
            f"not separable: it makes what stays and what goes; its own heap needs the room of its peak, "
            f"{units.size(of.own_peak_bytes)}"
        )
        return Remedy("move", what, least, "no", why)
    trim = (
        "; free pages below other blocks take malloc_trim as well"
        if case.kinds.allocator.family == "glibc" and of.held_bytes < of.pinned_bytes
        else ""
    )
    return _judged(
        case,
        "move",
        what,
        most,
        (),
        f"at least {units.size(least)}: its survivors need {units.size(of.usable_bytes)}{trim}",
        f"{units.size(most)} at most: no site alone keeps the rest",
    )


_OF: dict[str, Callable[[Case], list[Remedy]]] = {
    "glibc": _glibc,
    "jemalloc": _keeping(
        "MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0 (or background_thread:true)", ("MALLOC_CONF",)
    ),
    "tcmalloc": _keeping(
        "TCMALLOC_RELEASE_RATE=10, or ReleaseFreeMemory() now and then", ("TCMALLOC_RELEASE_RATE",)
    ),
    "mimalloc": _keeping(
        "MIMALLOC_PURGE_DELAY=0 (before 2.1: MIMALLOC_RESET_DELAY)",
        ("MIMALLOC_PURGE_DELAY", "MIMALLOC_RESET_DELAY"),
    ),
    "heapwright": _keeping(
        "HEAPWRIGHT_HEAP_MAINTENANCE=thread, HEAPWRIGHT_HEAP_DECAY_MS=0",
        ("HEAPWRIGHT_HEAP_MAINTENANCE", "HEAPWRIGHT_HEAP_DECAY_MS"),
    ),
}
