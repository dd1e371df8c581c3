# SPDX-License-Identifier: MIT
"""What could be done about free memory that stays resident, with bounds: what works, what does not, why.

A remedy is named only for the allocator that was in use, and not where it is set already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain

from heapwright.explain.glibc_remedies import given_back_at_end, is_kept_at_end, of_glibc
from heapwright.explain.remedy import HELPS, PARTLY, TOGETHER, Case, Remedy, judged, set_already
from heapwright.explain.separation import Separation
from heapwright.explain.settings import ARENA_MAX, HUGE_PAGES
from heapwright.explain.site_names import site_name
from heapwright.model.sites import Site
from heapwright.report import units

_Remedies = Callable[[Case], list[Remedy]]

_HUGE = (
    "there for their huge pages alone: no block lay on them since the kernel filled them; what is given back "
    "comes again"
)


def remedies(case: Case) -> list[Remedy]:
    """Those that help first, most bytes first."""
    family = case.kinds.allocator.family
    found = [*_OF.get(family, _other)(case), *_for_any(case)]
    return sorted(found, key=lambda of: (HELPS.index(of.helps), -(of.bytes or 0)))


def _keeping(what: str, *ways: Mapping[str, str]) -> _Remedies:
    """ways: values of settings by name, each of which gives free pages back."""

    def found(case: Case) -> list[Remedy]:
        kept, beside = case.kinds.bytes_of["kept"], case.kinds.bytes_of["scattered"]
        settings = case.kinds.allocator.settings
        values = {**settings, **_options_of_jemalloc(settings)}
        now = ", ".join(f"{name}={values[name]}" for name in dict.fromkeys(chain(*ways)) if name in values)
        if any(all(values.get(name) == value for name, value in way.items()) for way in ways):
            return [set_already("decay", what, kept, now), _not_in_use(case)]
        why = "whole free pages that it keeps; lazily freed ones look the same, and go when memory is short"
        why_not = f"only {units.size(kept)} are whole free pages; {units.size(beside)} lie beside live blocks"
        why = f"now {now}: {why}" if now else why
        return [judged(case, "decay", what, kept, why, why_not), _not_in_use(case)]

    return found


def _options_of_jemalloc(settings: Mapping[str, str]) -> Mapping[str, str]:
    """What MALLOC_CONF says: name:value,name:value; the last of a name counts."""
    options = settings.get("MALLOC_CONF", "").split(",")
    return {name: value for name, colon, value in (option.partition(":") for option in options) if colon}


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
    if huge >= PARTLY * case.kinds.free_bytes and huge:
        found.append(judged(case, "huge_pages", _without_huge_pages(case), huge, _HUGE, ""))
    if case.sites:
        found.append(_moved(case, *case.sites[0]))
    return found


def _without_huge_pages(case: Case) -> str:
    settings = case.kinds.allocator.settings
    if (HUGE_PAGES.number_in(settings) or 0) != 0:
        return HUGE_PAGES.without(settings)
    if case.kinds.allocator.family == "jemalloc":
        return "thp:never in MALLOC_CONF"
    return "no huge pages (prctl PR_SET_THP_DISABLE)"


def _moved(case: Case, site: Site, of: Separation) -> Remedy:
    what = f"blocks of {site_name(site)} in a pool or private heap"
    most, least = of.saves_most_bytes, of.saves_least_bytes
    if of.separates == "no":
        why = (
            f"not separable: it makes what stays and what goes; its own heap needs the room of its peak, "
            f"{units.size(of.own_peak_bytes)}"
        )
        return Remedy("move", what, least, "no", why)
    is_glibc = case.kinds.allocator.family == "glibc"
    trim = (
        "; free pages below other blocks take malloc_trim as well"
        if is_glibc and of.held_bytes < of.pinned_bytes
        else ""
    )
    if is_kept_at_end(of):
        what += f", {TOGETHER} {given_back_at_end(case.kinds.allocator.settings)[1]}"
        trim = f"; a private heap alone gives {units.size(least)}, the heap's end keeps the rest"
        least += of.kept_bytes
    return judged(
        case,
        "move",
        what,
        most,
        f"at least {units.size(least)}: its survivors need {units.size(of.usable_bytes)}{trim}",
        f"{units.size(most)} at most: no site alone keeps the rest",
    )


_OF: dict[str, _Remedies] = {
    "glibc": of_glibc,
    "jemalloc": _keeping(
        "dirty_decay_ms:0,muzzy_decay_ms:0 in MALLOC_CONF; background_thread:true after its decay, 10 s",
        {"dirty_decay_ms": "0", "muzzy_decay_ms": "0"},
    ),
    "tcmalloc": _keeping(
        "TCMALLOC_AGGRESSIVE_DECOMMIT=1, or ReleaseFreeMemory() now and then",
        {"TCMALLOC_AGGRESSIVE_DECOMMIT": "1"},
    ),
    "mimalloc": _keeping(
        "MIMALLOC_PURGE_DELAY=0 (before 2.1: MIMALLOC_RESET_DELAY)",
        {"MIMALLOC_PURGE_DELAY": "0"},
        {"MIMALLOC_RESET_DELAY": "0"},
    ),
    "heapwright": _keeping(
        "HEAPWRIGHT_HEAP_MAINTENANCE=thread, HEAPWRIGHT_HEAP_DECAY_MS=0",
        {"HEAPWRIGHT_HEAP_MAINTENANCE": "thread", "HEAPWRIGHT_HEAP_DECAY_MS": "0"},
    ),
}
