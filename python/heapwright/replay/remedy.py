# SPDX-License-Identifier: MIT
"""What can be done to a program without its source, and to its replay alike.

An allocator, settings of it, a change of what call sites get: each is an argument of an option of replay.
explain's remedies name them, replay predicts them, try does them to the program, keep writes them down.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from heapwright.measure.errors import MeasureError
from heapwright.replay import changes, settings

if TYPE_CHECKING:
    from heapwright.replay.result import Outcome

# A change as try and keep name it, and as a replay does: what a preloaded library does to the program.
_TRIED_AS = {"segregate": "segregate", "reuse": "reuse", "defer": "deferred_free"}
_LEAST_KEPT_BYTES = 64 * 1024  # as in src/base/kept_blocks.hpp
SKIP_FREES = "skip-frees-at-exit"
_SKIP_FREES_IN_REPLAY = "exit_policy"
TRIM_MS = range(10, 3_600_001)  # as in src/apply/remedy_file.cpp
_TRIM_WHEN_IDLE, _USUAL_TRIM = "trim-when-idle", "trim:1000"
_KINDS = ("set", "on", "trim", _TRIM_WHEN_IDLE, SKIP_FREES, *_TRIED_AS)
_HOW = (
    "set:glibc.arena_max=1, on:jemalloc, segregate@SITE, reuse@SITE, defer@SITE, trim:MS, "
    f"{SKIP_FREES}, or a + of them"
)
_NEXT = re.compile(rf"\+(?=(?:set|on|trim):|(?:{SKIP_FREES}|{_TRIM_WHEN_IDLE})(?:\+|$)|[a-z_]+(?::[^@+]*)?@)")
_ONE_MORE_SETTING = re.compile(r"\+(?=[\w.]+=)")


class Remedy(NamedTuple):
    """on: an allocator's name or path. settings: glibc.arena_max=1,top_pad=1M. change: as replay's, such as
    segregate@session or trim:500. "": as it is."""

    on: str = ""
    settings: str = ""
    change: str = ""

    @property
    def text(self) -> str:
        """As --remedy of try and keep takes it.

        >>> Remedy("jemalloc", "jemalloc.narenas=1", "reuse@load").text
        'on:jemalloc+set:jemalloc.narenas=1+reuse@load'
        """
        parts = [f"{kind}:{value}" for kind, value in (("on", self.on), ("set", self.settings)) if value]
        return "+".join([*parts, *(_tried(part) for part in self._changes())])

    @property
    def allocator(self) -> str:
        """The one that it needs; "": the program's own."""
        return self.on or self.settings.partition(".")[0]

    @property
    def needs_source(self) -> bool:
        """A change that only the program's author can make, or with details that only a replay has."""
        return not all(_applied(part)[0] for part in self._changes())

    @property
    def applied(self) -> list[tuple[str, str]]:
        """What a preloaded library has to do: each change by its name here, and its sites or milliseconds.

        >>> parse("reuse@load,open+trim:500+skip-frees-at-exit").applied
        [('reuse', 'load,open'), ('trim', '500'), ('skip-frees-at-exit', '')]
        """
        return [_applied(part) for part in self._changes()]

    def _changes(self) -> list[str]:
        return changes.parts(self.change) if self.change else []


def of_row(row: Mapping[str, object]) -> Remedy:
    """Of a remedy or advice in explain's answers."""
    return Remedy("", str(row["replay_set"]), str(row["replay_change"]))


def without_source(remedy: Remedy, largest_at: Callable[[str], int]) -> Remedy | None:
    """What a preloaded library does for the same blocks. None: nothing.

    It keeps buffers of more than 64 KiB. Smaller ones gain nothing there: to find a call's site takes as
    long as a malloc. largest_at: of the blocks of the named sites, in bytes.

    >>> without_source(Remedy(change="buffer_cache@load"), lambda sites: 100_000).text
    'reuse@load'
    >>> without_source(Remedy(change="buffer_cache@parse"), lambda sites: 16_384)
    """
    if not remedy.needs_source:
        return remedy
    name, _, sites = remedy.change.partition("@")
    is_kept = name == "buffer_cache" and bool(sites) and largest_at(sites) > _LEAST_KEPT_BYTES
    return remedy._replace(change=f"reuse@{sites}") if is_kept else None


def of_candidate(candidate: Outcome) -> Remedy | None:
    """Of a candidate of a replay that has no change; None for what no setting here names."""
    allocator, _, words = candidate.name.partition(" ")
    if not candidate.variables:
        return Remedy(allocator) if not words else Remedy(candidate.path or allocator)
    try:
        settings.parse(f"{allocator}.{words}")
    except MeasureError:
        return None
    return Remedy(settings=f"{allocator}.{words}")


def parse(text: str) -> Remedy:
    """Parses what --remedy takes; MeasureError. Sites are not looked up, nor allocators.

    >>> parse("set:glibc.arena_max=1+top_pad=1M").settings
    'glibc.arena_max=1,top_pad=1M'
    >>> parse("reuse@f+trim-when-idle").text
    'reuse@f+trim:1000'
    >>> parse("reuse@f+trim:500+on:./liba+b.so")
    Remedy(on='./liba+b.so', settings='', change='reuse@f+trim:500')
    """
    values: dict[str, str] = {}
    for part in _NEXT.split(text):
        kind, value = _kind_and_value(text, part)
        if kind in values and kind != "change":
            raise MeasureError(f"--remedy {text}: '{kind}:' stands twice in it")
        values[kind] = f"{values[kind]}+{value}" if kind in values else value
    found = Remedy(values.get("on", ""), values.get("set", ""), values.get("change", ""))
    named = found.settings.partition(".")[0]
    if found.on and named and "/" not in found.on and named != found.on:
        raise MeasureError(f"--remedy {text}: settings of {named} do nothing on {found.on}")
    return found


def _kind_and_value(text: str, part: str) -> tuple[str, str]:
    name = re.match(r"[\w-]*", part)
    kind = name[0] if name else ""
    mark, value = part[len(kind) : len(kind) + 1], part[len(kind) + 1 :]
    if kind in ("set", "on") and mark == ":" and value:
        if kind == "set":
            value = _ONE_MORE_SETTING.sub(",", value)
            settings.parse(value)
        return kind, value
    if kind == "trim" and mark == ":" and value.isdecimal():
        if len(value) > 9 or int(value) not in TRIM_MS:
            raise MeasureError(f"{part}: trim takes milliseconds from 10 to 3600000, as in trim:1000")
        return "change", part
    if part == _TRIM_WHEN_IDLE:
        return "change", _USUAL_TRIM
    if part == SKIP_FREES:
        return "change", _SKIP_FREES_IN_REPLAY
    if kind in _TRIED_AS and mark == "@" and value:
        return "change", f"{_TRIED_AS[kind]}@{value}"
    close = "" if kind in _KINDS else next(iter(get_close_matches(kind, _KINDS, 1)), "")
    hint = f"did you mean {close}?" if close else f"a remedy is {_HOW}"
    raise MeasureError(f"no remedy '{part or text}'; {hint}")


def _tried(change: str) -> str:
    name, value = _applied(change)
    if not name:
        return change
    mark = "" if not value else ":" if name == "trim" else "@"
    return f"{name}{mark}{value}"


def _applied(change: str) -> tuple[str, str]:
    """By its name here, with its sites or milliseconds; ("", ""): only a replay, or source, can do that."""
    name, mark, value = re.match(r"(\w*)(.?)(.*)", change, re.DOTALL).groups()  # type: ignore[union-attr]
    if name == "trim":
        return name, value
    if name == _SKIP_FREES_IN_REPLAY:  # a process skips all sites' frees, or none
        return SKIP_FREES, ""
    tried = next((tried for tried, replayed in _TRIED_AS.items() if replayed == name and mark == "@"), "")
    return tried, value if tried else ""
