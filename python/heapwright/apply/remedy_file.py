# SPDX-License-Identifier: MIT
"""The remedy file: which calls get what, by modules' build ids and return addresses in them.

Its reader, src/apply/remedy_file.cpp, takes nothing but what is written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from heapwright.model import Trace
from heapwright.model.names import short_name
from heapwright.model.selectors import listed, selected, why_none
from heapwright.model.sites import MARKS, Site, Sites

# As in src/apply/remedies.hpp.
MOST_REMEDIES, MOST_MODULES, MOST_STACKS, MOST_FRAMES = 16, 32, 512, 8
_MOST_NAME_BYTES = 127

# The same in the program's own code.
_IN_CODE = {
    "segregate": "heapwright::private_heap, or class_heap for objects (docs/parts/class_heap.md)",
    "reuse": "heapwright::buffer_cache (docs/parts/buffer_cache.md)",
    "defer": "heapwright::deferred_free (docs/parts/deferred_free.md)",
    "trim": "malloc_trim(0) where the program begins to wait",
    "skip-frees-at-exit": "heapwright::lives_until_exit for what holds them (docs/parts/deferred_free.md)",
}
_MOST_PLACES = 3  # named

Frame = tuple[int, int]  # module as numbered in the file, offset from its load bias


class RemedyError(Exception):
    """What is wrong with a remedy, and what to do; one line."""


@dataclass(slots=True)
class Remedy:
    """change: segregate, reuse, defer, trim, skip-frees-at-exit. site: as the user named it."""

    change: str
    site: str = ""
    every_ms: int = 0
    places: list[str] = field(default_factory=list)  # of the sites that its name names, with file and line
    stacks: list[tuple[Frame, ...]] = field(default_factory=list)

    def __str__(self) -> str:
        """As the user typed it."""
        if self.site:
            return f"{self.change}@{self.site}"
        return f"{self.change}:{self.every_ms}" if self.every_ms else self.change

    @property
    def in_code(self) -> str:
        """What does the same in the program's code, and where."""
        more = len(self.places) - _MOST_PLACES
        places = [*self.places[:_MOST_PLACES], *([f"{more} more"] if more > 0 else [])]
        return f"{_IN_CODE[self.change]}{' at ' if places else ''}{', '.join(places)}"


class RemedyFile:
    """Remedies for the program of one recording; None: remedies without a site, for any program."""

    def __init__(self, trace: Trace | None) -> None:
        self.remedies: list[Remedy] = []
        self._recording = trace
        self._modules: dict[int, int] = {}  # numbers in the file, by those in the recording
        self._taken: dict[tuple[Frame, ...], Remedy] = {}

    def add(self, change: str, value: str) -> None:
        """value: the sites, as a replay takes them; of trim the milliseconds; else "". RemedyError."""
        if change == "trim":
            remedy = Remedy(change, every_ms=int(value))
        else:
            remedy = self._at_sites(change, value) if value else Remedy(change)
        if not value and any(one.change == change for one in self.remedies):
            return
        self.remedies.append(remedy)
        if len(self.remedies) > MOST_REMEDIES:
            raise RemedyError(f"{len(self.remedies)} remedies; a file takes at most {MOST_REMEDIES}")

    @property
    def _trace(self) -> Trace:
        assert self._recording is not None  # asked for by remedies with a site alone
        return self._recording

    @cached_property
    def _allocations(self) -> Sequence[int]:
        """Of each stack."""
        return self._trace.facts().stacks["allocations"]

    def text(self) -> str:
        """The file's contents."""
        lines = ["# Written by heapwright keep; docs/apply.md explains it.", "version = 1"]
        for module in self._modules:
            of_trace = self._trace.modules[module]
            name, build_id = _quoted(of_trace.name), _quoted(of_trace.build_id)
            lines += ["", "[[module]]", f"name = {name}", f"build_id = {build_id}"]
        for remedy in self.remedies:
            lines += ["", "[[remedy]]", f"change = {_quoted(remedy.change)}"]
            if not remedy.site:
                lines += [f"every_ms = {remedy.every_ms}"] if remedy.every_ms else []
                continue
            rows = (", ".join(f'"{module}:{offset:#x}"' for module, offset in one) for one in remedy.stacks)
            lines += [f"site = {_quoted(remedy.site)}", "stacks = [", *(f"  [{row}]," for row in rows), "]"]
        return "\n".join(lines) + "\n"

    def modules_of(self, remedy: Remedy) -> list[str]:
        """Names of the files whose code a remedy is about."""
        names = [self._trace.modules[module].name for module in self._modules]
        return list(dict.fromkeys(names[module] for stack in remedy.stacks for module, _ in stack))

    def _at_sites(self, change: str, selectors: str) -> Remedy:
        remedy = Remedy(change, selectors)
        sites = self._trace.sites()
        allocating = {sites.site_of_stack[stack] for stack, count in enumerate(self._allocations) if count}
        known = [site for site in sites if site.number in allocating]
        chosen = dict.fromkeys(site for one in listed(selectors) for site in _named(known, one))
        if not chosen:
            raise RemedyError(f"{change}@{selectors}: name a call site, as in {change}@parse_line")
        for site in chosen:
            self._take(remedy, site, list(self._stacks_of(sites, site)))
        remedy.places = list(
            dict.fromkeys(f"{short_name(one.location.function)} {one.where}" for one in chosen)
        )
        if len(self._taken) > MOST_STACKS:
            raise RemedyError(f"{len(self._taken)} ways to call; a file takes at most {MOST_STACKS}")
        return remedy

    def _take(self, remedy: Remedy, site: Site, stacks: Sequence[tuple[Frame, ...]]) -> None:
        if not stacks:
            raise RemedyError(f"{site}: where its calls return to does not tell them; it can have no remedy")
        for stack in stacks:
            if (other := self._taken.setdefault(stack, remedy)) is not remedy:
                raise RemedyError(f"{remedy} and {other} are about the same calls")
        remedy.stacks.extend(dict.fromkeys(stacks))

    def _stacks_of(self, sites: Sites, site: Site) -> Iterator[tuple[Frame, ...]]:
        """The frames from the allocating call to the site's function, of every way there, once each."""
        tree = self._trace.stack_columns
        known: set[tuple[int, ...]] = set()
        for stack, number in enumerate(sites.site_of_stack):
            if number != site.number or stack == 0 or not self._allocations[stack]:
                continue
            frames = tuple(_to_site(stack, tree["parent"], tree["frame"], sites))
            if frames and frames not in known:
                known.add(frames)
                yield from self._frames(site, frames)

    def _frames(self, site: Site, frames: Sequence[int]) -> Iterator[tuple[Frame, ...]]:
        columns = self._trace.frame_columns
        if any(columns["is_exact"][frame] for frame in frames):
            return  # interrupted by a signal: nothing returns there
        modules = [columns["module"][frame] for frame in frames]
        if any(module >= len(self._trace.modules) for module in modules):
            return  # code that a program made at run time
        if len(frames) > MOST_FRAMES:
            raise RemedyError(
                f"{site}: its function is {len(frames)} calls above the allocator's; at most {MOST_FRAMES}"
            )
        yield tuple(
            (self._number(module), columns["pc"][frame] - self._trace.modules[module].bias)
            for module, frame in zip(modules, frames, strict=True)
        )

    def _number(self, module: int) -> int:
        of_trace = self._trace.modules[module]
        if not of_trace.build_id:
            raise RemedyError(f"{of_trace.name} has no build id; link with -Wl,--build-id and record again")
        if len(of_trace.name.encode()) > _MOST_NAME_BYTES:
            raise RemedyError(f"{of_trace.name}: a file's name may have {_MOST_NAME_BYTES} bytes")
        if module not in self._modules and len(self._modules) == MOST_MODULES:
            raise RemedyError(f"code of more than {MOST_MODULES} files; name fewer sites")
        return self._modules.setdefault(module, len(self._modules))


def _to_site(stack: int, parents: Sequence[int], frames: Sequence[int], sites: Sites) -> Iterator[int]:
    while stack != 0 and frames[stack] not in MARKS:
        yield frames[stack]
        if sites.locations(sites.frames[stack]):
            return
        stack = parents[stack]


def _named(sites: list[Site], selector: str) -> list[Site]:
    """All that it names, as in a replay."""
    found = selected(sites, selector)
    if not found:
        raise RemedyError(why_none(sites, selector))
    return found


def _quoted(text: str) -> str:
    """As the reader takes it: it has no escapes but two."""
    clean = "".join(letter for letter in text if letter >= " ")
    while len(clean.encode()) > _MOST_NAME_BYTES:
        clean = clean[:-1]
    return '"' + clean.replace("\\", "\\\\").replace('"', '\\"') + '"'
