# SPDX-License-Identifier: MIT
"""Remedies for free memory that stays resident, with bounds: which work, which do not, and why.

Remedies are only for the allocator in use, and not if already set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import chain

from heapwright.explain.glibc_remedies import given_back_at_end, is_kept_at_end, of_glibc
from heapwright.explain.joint_pins import JointPins
from heapwright.explain.ranking import ranked
from heapwright.explain.remedy import PARTLY, TOGETHER, Case, Remedy, judged, priced, set_already
from heapwright.explain.separation import Separation
from heapwright.explain.settings import ARENA_MAX, HUGE_PAGES, TAKEN_AGAIN
from heapwright.explain.site_names import site_name
from heapwright.model.sites import Site
from heapwright.report import units

_Remedies = Callable[[Case], list[Remedy]]

_HUGE = (
    "resident only because of huge pages: no block has used them since the kernel filled them; returned "
    "memory comes back"
)


def remedies(case: Case) -> list[Remedy]:
    """Best first, as far as bounds tell."""
    family = case.kinds.allocator.family
    found = [*_OF.get(family, _other)(case), *_for_any(case)]
    return ranked([priced(case, one) for one in found], case.kinds.largest)


def _keeping(what: str, *ways: Mapping[str, str]) -> _Remedies:
    """ways: values of settings by name, each of which returns free pages."""

    def found(case: Case) -> list[Remedy]:
        kept, beside = case.kinds.bytes_of["kept"], case.kinds.bytes_of["scattered"]
        settings = case.kinds.allocator.settings
        values = {**settings, **case.kinds.allocator.options_of_jemalloc()}
        now = ", ".join(f"{name}={values[name]}" for name in dict.fromkeys(chain(*ways)) if name in values)
        if any(all(values.get(name) == value for name, value in way.items()) for way in ways):
            return [set_already("decay", what, kept, now), _not_in_use(case)]
        why = "whole free pages that it keeps; lazily freed ones look the same, and go when memory is short"
        why_not = f"only {units.size(kept)} are whole free pages; {units.size(beside)} are beside live blocks"
        why = f"{f'now {now}: ' if now else ''}{why}; {TAKEN_AGAIN}, which can take most of the time"
        return [judged(case, "decay", what, kept, why, why_not), _not_in_use(case)]

    return found


def _other(case: Case) -> list[Remedy]:
    return [
        Remedy(
            "setting",
            "a setting of the allocator",
            None,
            "unknown",
            f"the settings of {case.kinds.allocator.name} are not known",
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
        Remedy("allocator", what, None, "unknown", _OTHER_ALLOCATOR, replay_set=tried)
        for family, (what, tried) in _OTHER_ALLOCATORS.items()
        if family != case.kinds.allocator.family and not case.kinds.allocator.is_inside
    ]
    huge = case.kinds.bytes_of["huge_pages"]
    if huge >= PARTLY * case.kinds.free_bytes and huge:
        found.append(judged(case, "huge_pages", _without_huge_pages(case), huge, _HUGE, ""))
    if case.joint is not None and case.joint.live_bytes <= case.joint.saves_most_bytes:
        found.append(_moved_together(case, case.joint))
    elif case.sites:
        found.append(_moved(case, *case.sites[0]))
    return found


def _moved_together(case: Case, of: JointPins) -> Remedy:
    most = min(of.saves_most_bytes, case.idle_bytes)
    least = min(of.saves_least_bytes, most)
    found = judged(
        case,
        "move",
        f"blocks of these {units.counted(len(of.sites), 'site')} in one private heap",
        most,
        f"at least {units.size(least)}: no single site keeps it, they do together",
        f"{units.size(most)} at most: no few sites keep the rest",
    )
    return found._replace(least_bytes=least, replay_change=case.move_change)


def _without_huge_pages(case: Case) -> str:
    settings = case.kinds.allocator.settings
    if (HUGE_PAGES.number_in(settings) or 0) != 0:
        return HUGE_PAGES.without(settings)
    if case.kinds.allocator.family == "jemalloc":
        return f"thp:never in {case.kinds.allocator.conf_of_jemalloc}"
    return "no huge pages (prctl PR_SET_THP_DISABLE)"


def _moved(case: Case, site: Site, of: Separation) -> Remedy:
    what = f"blocks of {site_name(site)} in a pool or private heap"
    most = min(of.saves_most_bytes, case.idle_bytes)
    least = min(of.saves_least_bytes, most)
    if of.separates == "no":
        why = (
            f"not separable: it makes long-lived and temporary blocks; its own heap needs its peak size, "
            f"{units.size(of.own_peak_bytes)}"
        )
        return Remedy("move", what, least, "no", why)
    is_glibc = case.kinds.allocator.family == "glibc"
    trim = (
        "; free pages below other blocks also need malloc_trim"
        if is_glibc and of.held_bytes < of.pinned_bytes
        else ""
    )
    change = case.move_change
    if is_kept_at_end(of):
        change = ""  # a setting as well, which no change of a replay has
        what += f", {TOGETHER} {given_back_at_end(case.kinds.allocator.settings)[1]}"
        trim = f"; a private heap alone returns {units.size(least)}, the heap's end keeps the rest"
        least += of.kept_bytes
    return judged(
        case,
        "move",
        what,
        most,
        f"at least {units.size(least)}: its survivors need {units.size(of.usable_bytes)}{trim}",
        f"{units.size(most)} at most: no single site keeps the rest",
    )._replace(replay_change=change)


def _of_jemalloc(case: Case) -> list[Remedy]:
    where = case.kinds.allocator.conf_of_jemalloc
    what = f"dirty_decay_ms:0,muzzy_decay_ms:0 in {where}; background_thread:true after its decay, 10 s"
    return _keeping(what, {"dirty_decay_ms": "0", "muzzy_decay_ms": "0"})(case)


def _of_mimalloc(case: Case) -> list[Remedy]:
    """By the version in use: the delay has another name since 1.8 and 2.1."""
    name = delay_of_mimalloc(case.kinds.allocator.name)
    return _keeping(f"{name}=0", {name: "0"})(case)


def delay_of_mimalloc(name: str) -> str:
    """The variable for the delay after which this mimalloc gives memory back.

    >>> delay_of_mimalloc("mimalloc 2.0.9"), delay_of_mimalloc("mimalloc 1.8.2")
    ('MIMALLOC_RESET_DELAY', 'MIMALLOC_PURGE_DELAY')
    >>> delay_of_mimalloc("mimalloc 3.0.1"), delay_of_mimalloc("mimalloc")
    ('MIMALLOC_PURGE_DELAY', 'MIMALLOC_PURGE_DELAY')
    """
    found = re.search(r" (\d+)\.(\d+)", name)
    version = (int(found[1]), int(found[2])) if found else _PURGES_SINCE
    is_old = version < (1, 8) or (2, 0) <= version < _PURGES_SINCE
    return "MIMALLOC_RESET_DELAY" if is_old else "MIMALLOC_PURGE_DELAY"


_PURGES_SINCE = (2, 1)
_OTHER_ALLOCATOR = "another allocator, which places blocks differently and returns whole free pages at once"
# By family: how a program runs on it, and the argument of replay --set that tries it. Each gives free memory
# back at once: what it keeps does not depend on the clock, and what that costs is in its time.
_OTHER_ALLOCATORS = {
    "jemalloc": (
        "LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0",
        "jemalloc.dirty_decay_ms=0,muzzy_decay_ms=0",
    ),
    "tcmalloc": (
        "LD_PRELOAD=libtcmalloc_minimal.so.4 TCMALLOC_AGGRESSIVE_DECOMMIT=1",
        "tcmalloc.aggressive_decommit=true",
    ),
}
_OF: dict[str, _Remedies] = {
    "glibc": of_glibc,
    "jemalloc": _of_jemalloc,
    "tcmalloc": _keeping(
        "TCMALLOC_AGGRESSIVE_DECOMMIT=1, or ReleaseFreeMemory() from time to time",
        {"TCMALLOC_AGGRESSIVE_DECOMMIT": "1"},
    ),
    "mimalloc": _of_mimalloc,
    "heapwright": _keeping(
        "HEAPWRIGHT_HEAP_MAINTENANCE=thread, HEAPWRIGHT_HEAP_DECAY_MS=0",
        {"HEAPWRIGHT_HEAP_MAINTENANCE": "thread", "HEAPWRIGHT_HEAP_DECAY_MS": "0"},
    ),
}
