# SPDX-License-Identifier: MIT
"""Parses --change: serves blocks of call sites differently than recorded.

The changes and their effects are in src/replay/change.hpp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from heapwright.measure.errors import MeasureError
from heapwright.measure.program import Output
from heapwright.model import Trace
from heapwright.model.selectors import listed, selected, why_none
from heapwright.model.sites import Site
from heapwright.replay.result import Effect
from heapwright.report import units
from heapwright.report.declared import names_of

# Another change follows; names of functions and libraries may also contain a +.
_NEXT = re.compile(r"\+(?=[a-z_]+(?::(?:\d+|[a-z_]+=[^@+]*))?@|trim:\d+(?:\+|$)|exit_policy(?:\+|$))")
# Concerns no call site.
_TRIM = re.compile(r"trim:[^@+]*|trim")
# Without sites: all that no other part names.
_OF_ALL_SITES = "exit_policy"

# small_vector leaves out the larger owners; reserve takes a block's last capacity, while a program requests
# what it needs.
AT_LEAST, AT_MOST = "at least", "at most"
_BOUNDS = {"small_vector": AT_LEAST, "reserve": AT_MOST}

# Another thread frees when it gets to run: full speed does not have the program's timing.
_GO_BY_THE_CLOCK = {"deferred_free"}

_MOST_PARTS = 4  # as most_parts in src/replay/change.hpp


@dataclass(frozen=True, slots=True)
class Part:
    """A change to the blocks of some sites.

    words: as an argument of heapwright-replay (arena, small_vector:64, buffer_cache:buffers=9).
    """

    words: str
    sites: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.words.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Change:
    """text: as typed; stacks: for each call stack the number of its part from 1 on, 0: none."""

    text: str
    parts: tuple[Part, ...]
    stacks: bytes

    @property
    def words(self) -> str:
        return "+".join(part.words for part in self.parts)


def memory_bounds(text: str) -> set[str]:
    """Whether the program would have at least, or at most, the replay's memory with the change; "": equal."""
    return {_BOUNDS[name] for name in names(text) if name in _BOUNDS}


def goes_by_the_clock(text: str) -> bool:
    """Whether the cost of this change depends on when threads run."""
    return not names(text).isdisjoint(_GO_BY_THE_CLOCK)


def parts(text: str) -> list[str]:
    """The changes that are joined by +."""
    return _NEXT.split(text)


def names(text: str) -> set[str]:
    """Of its changes: {"segregate", "trim"}."""
    return {part.partition("@")[0].partition(":")[0] for part in parts(text)}


def parse(text: str, trace: Trace) -> Change:
    """Parses CHANGE@SITE,…, or several joined by +: MeasureError if it is invalid or names no site.

    A site is a function, function@file:line, or its number in explain's JSON. exit_policy may have none.
    """
    sites = trace.sites()
    found: list[Part] = []
    part_of: dict[int, int] = {}
    wanted = parts(text)
    if len(wanted) > _MOST_PARTS:
        raise MeasureError(f"one --change takes at most {_MOST_PARTS} changes, not {len(wanted)}")
    for number, words in enumerate(wanted, 1):
        name, chosen = _part(text, words, list(sites))
        found.append(Part(name, tuple(map(str, chosen))))
        for site in chosen:
            if site.number in part_of:
                raise MeasureError(f"--change {text}: {site} is named twice")
            part_of[site.number] = number
    rest = wanted.index(_OF_ALL_SITES) + 1 if _OF_ALL_SITES in wanted else 0
    return Change(text, tuple(found), bytes(part_of.get(number, rest) for number in sites.site_of_stack))


def _part(text: str, words: str, sites: list[Site]) -> tuple[str, list[Site]]:
    """The change and its sites."""
    if _TRIM.fullmatch(words) or words == _OF_ALL_SITES:
        return words, []
    name, separator, selectors = words.partition("@")
    wanted = listed(selectors)
    if not separator or not name or not wanted:
        raise MeasureError(f"--change {text}: name the change and where, as in arena@parse_line")
    chosen: dict[int, Site] = {}
    for selector in wanted:
        found = selected(sites, selector)
        if not found:
            raise MeasureError(why_none(sites, selector))
        chosen |= {site.number: site for site in found}
    return name, list(chosen.values())


def effects(change: Change, plan: Output) -> list[Effect]:
    """One per part. plan: heapwright-replay's output for the changed plan."""
    counts = names_of(Effect)[3:]
    return [
        Effect(change.text, part.name, list(part.sites), *(int(plan[key][number]) for key in counts))
        for number, part in enumerate(change.parts)
    ]


_DONE = {
    "small_vector": "not made",
    "reserve": "made once",
    "deferred_free": "freed later",
    "exit_policy": "not freed",
}


def _about_events(effect: Effect) -> str:
    count = effect.change_events
    words = {
        "arena": f"the arena is reset {units.counted(count, 'time')}",
        "reserve": (
            f"{units.counted(count, 'step')} of growth gone; blocks keep their last capacity, which can be "
            "twice what they hold; copying is not included"
        ),
        "small_vector": (
            f"{units.counted(count, 'call')} gone; memory is at least this, since the larger owners are "
            "not included"
        ),
        "deferred_free": (
            f"{units.counted(count, 'run')} of frees handed to another thread, at most "
            f"{units.size(effect.most_waiting_bytes)} waited"
        ),
        "exit_policy": "the time to find what to free is not included",
        "trim": f"malloc_trim(0) is called {units.counted(count, 'time')}, by the thread that called last",
    }
    return words.get(effect.change, "")


def _about_others(effect: Effect) -> str:
    freed = units.counted(effect.freed_by_others, "block")
    if effect.change == "arena":
        return f"{freed} freed by another thread: their arena waits for its own thread"
    return f"{freed} left to the heap: freed by another thread"


def note(effect: Effect, is_one_of_several: bool = False) -> str:
    """The effect of the change, or of its part, in one line."""
    done = _DONE.get(effect.change, "changed")
    blocks = "" if effect.change == "trim" else f"{units.counted(effect.changed_blocks, 'block')} {done}"
    parts = [blocks, _about_events(effect)]
    if effect.freed_by_others:
        parts.append(_about_others(effect))
    if effect.moved_by_others:
        moved = units.counted(effect.moved_by_others, "block")
        parts.append(f"{moved} left to the heap: reallocated by another thread")
    if effect.foreign_moves:
        moves = units.counted(effect.foreign_moves, "realloc")
        parts.append(f"{moves} there of blocks from other sites, as recorded")
    if effect.outlived:
        blocks = units.counted(effect.outlived, "block")
        parts.append(f"{blocks} left to the heap: they outlive the phase")
    if effect.freed_by_caller:
        blocks = units.counted(effect.freed_by_caller, "block")
        parts.append(f"{blocks} freed by their own thread after all: too many waited, or it ended")
    if effect.never_freed:
        parts.append(f"{units.counted(effect.never_freed, 'block')} never freed")
    title = f"{effect.text} ({effect.change})" if is_one_of_several else effect.text
    return f"{title}: {', '.join(part for part in parts if part)}"


def notes(found: Sequence[Effect]) -> list[str]:
    texts = [effect.text for effect in found]
    return [note(effect, texts.count(effect.text) > 1) for effect in found]
