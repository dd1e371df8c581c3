# SPDX-License-Identifier: MIT
"""A trace without its names: each is replaced by a hash with a discarded key; the structure stays."""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Collection, Sequence
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any

from heapwright.model.facts import Facts
from heapwright.model.facts.held import Held
from heapwright.model.facts.mapped_memory import MappedMemory
from heapwright.model.holder_names import renamed
from heapwright.model.libraries import CONTEXT
from heapwright.model.nested import allocator_of
from heapwright.model.records import Metadata, Module, Thread
from heapwright.model.sites import MARKS, NO_CONTEXT, NO_STACK, OTHER_CONTEXTS, Site, SiteOptions, Sites
from heapwright.model.symbols import Location, Symbols
from heapwright.model.trace import Filter, Progress, Trace

_LETTERS = 10
_KEPT = frozenset((NO_STACK, NO_CONTEXT, OTHER_CONTEXTS, *MARKS.values()))
# Names of mappings that the kernel gives in every program.
_KERNELS_OWN = frozenset(("[heap]", "[stack]", "[vdso]", "[vvar]", "[vsyscall]"))
_ADDRESS_BITS = 32  # a module's, all of one size


class Names:
    """Hashes of names; equal names get equal hashes during this object's lifetime."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)
        self._locations: dict[Location, Location] = {}

    def hashed(self, kind: str, name: str) -> str:
        """The name's hash, prefixed by its kind; an empty name stays empty."""
        return f"{kind}_{self._digest(f'{kind} {name}')}" if name else ""

    def location(self, location: Location) -> Location:
        """The same location without its name. Marks, which say what is missing, stay."""
        if location in _KEPT:
            return location
        if location.library == CONTEXT:
            return location._replace(function=self.hashed("context", location.function))
        known = self._locations.get(location)
        if known is None:
            place = f"{location.file}:{location.line}"
            known = self._locations[location] = Location(
                self.hashed("function", location.function),
                self.hashed("file", location.file),
                1 + int(self._digest(place), 16) % 0xFFFF if location.line else 0,
                location.is_inlined,
                self.hashed("library", location.library),
            )
        return known

    def _digest(self, text: str) -> str:
        return blake2b(text.encode(errors="replace"), key=self._key).hexdigest()[:_LETTERS]


class AnonymousTrace(Trace):
    """The same calls; filters still use the names."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace.path, trace.debug_root, trace._reading)
        self._named = trace
        self._names = Names()

    @cached_property
    def metadata(self) -> Metadata:
        named, hashed = self._named.metadata, self._names.hashed
        program = hashed("program", named.program)
        return named._replace(
            program=program,
            command=program,
            host=hashed("host", named.host),
            allocator=hashed("library", named.allocator),
            process_id=1,
            parent_process_id=0,
            start_unix_ns=0,
            notes=(),
            unseen=(),
            unrecorded_processes=(),
            conditions=(),
        )

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        return tuple(
            module._replace(
                start=number << _ADDRESS_BITS,
                end=(number + 1) << _ADDRESS_BITS,
                bias=number << _ADDRESS_BITS,
                path=CONTEXT if module.path == CONTEXT else self._names.hashed("library", module.name),
                build_id=self._names.hashed("build", module.build_id),
            )
            for number, module in enumerate(self._named.modules, 1)
        )

    @cached_property
    def threads(self) -> tuple[Thread, ...]:
        return tuple(
            thread._replace(thread_id=thread.index + 1, name=self._names.hashed("thread", thread.name))
            for thread in self._named.threads
        )

    @cached_property
    def frame_columns(self) -> dict[str, memoryview]:
        named = self._named.frame_columns
        known = len(self._named.modules)
        places = array(
            "Q",
            [
                (module + 1 if module < known else 0) << _ADDRESS_BITS | number
                for number, module in enumerate(named["module"])
            ],
        )
        return {**named, "pc": memoryview(places)}

    def lost_calls(self, facts: Facts) -> tuple[str, ...]:
        unseen = self._named.metadata.unseen  # which contain names
        told = tuple(line for line in facts.completeness.reasons if line not in unseen)
        return (*told, "some calls were not seen") if unseen else told

    def mapped_memory(self, from_ns: int, to_ns: int, most_scans: int) -> tuple[MappedMemory, ...]:
        return tuple(
            row if row.name in _KERNELS_OWN else row._replace(name=self._names.hashed("mapping", row.name))
            for row in self._named.mapped_memory(from_ns, to_ns, most_scans)
        )

    @cached_property
    def snapshot_times(self) -> tuple[int, ...]:
        return self._named.snapshot_times

    def types_of(self, stacks: Collection[int]) -> dict[int, str]:
        named = self._named.types_of(stacks)
        return {stack: self._names.hashed("type", name) for stack, name in named.items()}

    def held_at(self, time_ns: int) -> Held:
        library, variable, type_ = (
            partial(self._names.hashed, kind) for kind in ("library", "variable", "type")
        )
        return renamed(self._named.held_at(time_ns), library, lambda one: variable(one.symbol), type_)

    def heap_graph(self, time_ns: int) -> dict[str, Any]:
        graph = self._named.heap_graph(time_ns)
        types = [self._names.hashed("type", name) for name in graph["types"]]
        return {**graph, "types": types, "roots": self._hashed_roots(graph["roots"])}

    def held_tree(self, time_ns: int, sites: Sites) -> dict[str, Any]:
        tree = self._named.held_tree(time_ns, sites)
        return {**tree, "roots": self._hashed_roots(tree["roots"])}

    def _hashed_roots(self, roots: list[tuple[int, int, str, str]]) -> list[tuple[int, int, str, str]]:
        hashed = self._names.hashed
        return [
            (kind, thread, hashed("library", module), hashed("variable", symbol))
            for kind, thread, module, symbol in roots
        ]

    def symbols(self, progress: Progress | None = None) -> Symbols:
        return _AnonymousSymbols(self._named.symbols(progress), self._names)

    def sites(self, options: SiteOptions | None = None) -> Sites:
        named = self._named.sites(options)
        unnamed = self._names.location
        sites = tuple(Site(site.number, tuple(map(unnamed, site.path)), site.stack) for site in named)
        return Sites(
            named.site_of_stack,
            sites,
            lambda frame: tuple(map(unnamed, named.locations(frame))),
            named.is_whole,
            named.passed and named.passed._replace(functions=list(map(self._passed, named.passed.functions))),
            named.is_no_code,
            named.frames,
        )

    def _passed(self, function: str) -> str:
        """A name that tells only which allocator it is stays."""
        return function if allocator_of(function) else self._names.hashed("function", function)

    def contexts(self) -> list[str]:
        return self._named.contexts()

    def sites_chosen(self, chosen: Filter, sites: SiteOptions | None = None) -> bytes:
        return self._named.sites_chosen(chosen, sites)

    def stacks_chosen(self, chosen: Filter, sites: SiteOptions | None = None) -> bytes:
        return self._named.stacks_chosen(chosen, sites)


class _AnonymousSymbols(Symbols):
    def __init__(self, named: Symbols, names: Names) -> None:
        self._named = named
        self._names = names
        self.objects = ()

    def __len__(self) -> int:
        return len(self._named)

    @property
    def libraries(self) -> Sequence[str]:
        """As they are: to tell kinds of code."""
        return self._named.libraries

    def library(self, frame: int) -> str:
        library = self._named.library(frame)
        return library if library == CONTEXT else self._names.hashed("library", library)

    def locations(self, frame: int) -> list[Location]:
        return [self._names.location(location) for location in self._named.locations(frame)]

    def is_unnamed(self, frame: int) -> bool:
        return self._named.is_unnamed(frame)
