# SPDX-License-Identifier: MIT
"""The call sites of both sides, matched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from heapwright.compare.matching import NO_NAME, Key
from heapwright.compare.recorded import Run, SiteOfRun
from heapwright.model import Location
from heapwright.model.names import short_name

BOTH, GONE, ADDED, RENAMED, INLINED = "both", "gone", "added", "renamed", "inlined"
STATES = (BOTH, GONE, ADDED, RENAMED, INLINED)
UNNAMED = "(no symbols)"  # all of a rebuilt library's sites, in one row
# Additive figures; the other figures of joined sites are not known.
SUMS = ("calls", "bytes", "peak_live_bytes", "live_at_end_bytes", "time_ns")

Runs = Sequence[Run]
Values = list[float]


class Pair(NamedTuple):
    """A site of both sides: for each figure, the values of the runs. was: its name in A, if different.
    others: keys of further sites that it represents."""

    key: Key
    state: str
    location: Location
    lines: tuple[int, ...]  # of B, or of A if B has none
    a: dict[str, Values]
    b: dict[str, Values]
    caller: str
    was: str = ""
    others: tuple[Key, ...] = ()

    @property
    def keys(self) -> tuple[Key, ...]:
        return (self.key, *self.others)


def _pair(key: Key, a: Runs, b: Runs) -> Pair:
    in_a, in_b = (any(key in run.sites for run in side) for side in (a, b))
    shown: SiteOfRun = next(run.sites[key] for run in (*b, *a) if key in run.sites)
    state = BOTH if in_a and in_b else ADDED if in_b else GONE
    location = shown.locations[0]
    if key.function == NO_NAME:
        location = Location(UNNAMED, "", 0, False, location.library)
    lines = tuple(sorted({place.line for place in shown.locations if place.line}))
    return Pair(key, state, location, lines, _values(key, a), _values(key, b), shown.caller)


def _values(key: Key, runs: Runs) -> dict[str, Values]:
    found: dict[str, Values] = {}
    for run in runs:
        site = run.sites.get(key)
        for name in SUMS:
            found.setdefault(name, []).append(site.figures.get(name, 0.0) if site else 0.0)
        if site and "p99_ns" in site.figures:
            found.setdefault("p99_ns", []).append(site.figures["p99_ns"])
    return {name: values for name, values in found.items() if len(values) == len(runs)}


def pairs_of(a: Runs, b: Runs) -> list[Pair]:
    """All sites of either side."""
    keys = dict.fromkeys(key for run in (*b, *a) for key in run.sites)
    pairs = [_pair(key, a, b) for key in keys]
    return _join(_renamed(pairs))


class _Work(NamedTuple):
    """A site's figures, and what else has to be equal."""

    calls: float
    bytes: float
    place: str


def _in_library(pair: Pair) -> _Work:
    return _Work(*_sums(pair), pair.key.library)


def _of_name(pair: Pair) -> _Work:
    return _Work(*_sums(pair), pair.key.function)


def _sums(pair: Pair) -> tuple[float, float]:
    side = pair.a if pair.state == GONE else pair.b
    return median(side["calls"]), median(side["bytes"])


def _renamed(pairs: list[Pair]) -> list[Pair]:
    """Repeats while there are any: a site's caller may also be renamed."""
    found = _rename(_rename(pairs, _in_library), _of_name)
    return found if len(found) == len(pairs) else _renamed(found)


def _rename(pairs: list[Pair], work_of: Callable[[Pair], _Work]) -> list[Pair]:
    """A removed and an added site are the same if both make the same calls with the same bytes, no third one
    does, and either the same function called them, or one called the other, or only the library was
    renamed."""
    new_names = {pair.was: _name(pair) for pair in pairs if pair.state == RENAMED}
    gone = _unique((pair for pair in pairs if pair.state == GONE), work_of)
    added = _unique((pair for pair in pairs if pair.state == ADDED), work_of)
    old_of = {
        added[work].key: gone[work]
        for work in gone.keys() & added.keys()
        if _is_one(gone[work], added[work], new_names)
    }
    renamed = {old.key for old in old_of.values()}
    return [
        pair._replace(state=RENAMED, a=old.a, was=_name(old), others=(old.key,))
        if (old := old_of.get(pair.key))
        else pair
        for pair in pairs
        if pair.key not in renamed
    ]


def _is_one(old: Pair, new: Pair, new_names: Mapping[str, str]) -> bool:
    if old.key.function == new.key.function:
        return True
    caller = new_names.get(old.caller, old.caller)
    return bool(caller) and (caller in (new.caller, _name(new)) or new.caller == _name(old))


def _unique(pairs: Iterable[Pair], work_of: Callable[[Pair], _Work]) -> dict[_Work, Pair]:
    found: dict[_Work, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(work_of(pair), []).append(pair)
    return {work: same[0] for work, same in found.items() if len(same) == 1}


def _join(pairs: list[Pair]) -> list[Pair]:
    """A function of only one side that was inlined into its caller, or extracted from it: joined into one row
    if the sums of both are the same on both sides."""
    callers = {(pair.key.library, _name(pair)): pair for pair in pairs if pair.state == BOTH}
    joined: dict[Key, Pair] = {}
    parts: set[Key] = set()
    for pair in pairs:
        caller = callers.get((pair.key.library, pair.caller))
        if pair.state not in (GONE, ADDED) or caller is None or caller.key in joined:
            continue
        together = _sum(caller, pair)
        if _is_same(together, "calls") and _is_same(together, "bytes"):
            joined[caller.key] = together
            parts.add(pair.key)
    return [joined.get(pair.key, pair) for pair in pairs if pair.key not in parts]


def _sum(caller: Pair, part: Pair) -> Pair:
    def added(name: str, side: Callable[[Pair], dict[str, Values]]) -> Values:
        return [x + y for x, y in zip(side(caller)[name], side(part)[name], strict=True)]

    a = {name: added(name, lambda pair: pair.a) for name in SUMS}
    b = {name: added(name, lambda pair: pair.b) for name in SUMS}
    return caller._replace(state=INLINED, a=a, b=b, was=_name(part), others=(*caller.others, *part.keys))


def _is_same(pair: Pair, figure: str) -> bool:
    return median(pair.a[figure]) == median(pair.b[figure])


def _name(pair: Pair) -> str:
    return short_name(pair.location.function)
