# SPDX-License-Identifier: MIT
# length: an open trace and all its queries
"""An open trace."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from os import PathLike, fsencode
from typing import TYPE_CHECKING, Any, NamedTuple

from heapwright.model import block_types, native
from heapwright.model import sites as site_groups
from heapwright.model.cut_stacks import CutStacks, cut_stacks, why_cut
from heapwright.model.holder_names import MAPPING, renamed
from heapwright.model.inner_allocator import frames_inside, inner_of
from heapwright.model.made_code import unnamed_code
from heapwright.model.names import short_name
from heapwright.model.reading import Reading
from heapwright.model.records import (
    END_REASONS,
    Damage,
    End,
    MemorySample,
    Metadata,
    Module,
    Thread,
)
from heapwright.model.sites import MARKS, SiteOptions, Sites, describe
from heapwright.model.symbols import Location, Symbols
from heapwright.model.values import clean, read_fields, value_of

if TYPE_CHECKING:
    from heapwright.model.facts import Coverage, Facts
    from heapwright.model.facts.held import Held
    from heapwright.model.facts.mapped_memory import MappedMemory

TraceError = native.TraceError
Progress = Callable[[int, int], object]
KIND_NAMES: tuple[str, ...] = tuple(native.kind_names())
NO_LIMIT = 2**64 - 1


class Filter(NamedTuple):
    """What to select; the default is everything.

    threads are Thread.index values (empty = all). site and library are
    regular expressions over the site's text and its library, through over
    any frame of the call stack. contexts are names as the program gave them
    (empty = all).
    """

    from_ns: int = 0
    to_ns: int = NO_LIMIT
    min_size_bytes: int = 0
    max_size_bytes: int = NO_LIMIT
    threads: tuple[int, ...] = ()
    site: str = ""
    library: str = ""
    through: str = ""
    contexts: tuple[str, ...] = ()

    @property
    def is_everything(self) -> bool:
        """True when nothing is filtered out."""
        return self == Filter()


_PLAIN_OPTIONS: dict[str, int | bytes] = {
    "from_ns": 0,
    "to_ns": NO_LIMIT,
    "min_size_bytes": 0,
    "max_size_bytes": NO_LIMIT,
    "thread_chosen": b"",
    "site_of_stack": b"",
    "stack_chosen": b"",
    "timeline_points": 2,
    "slowest_calls": 1,
    "at_ns": NO_LIMIT,
    "wants_activity": 0,
}


class Trace:
    """A recorded program's heap calls. Made by heapwright.open()."""

    def __init__(
        self, path: str | PathLike[str], debug_root: str | PathLike[str] = "", reading: Reading | None = None
    ) -> None:
        """reading: the same file, opened before."""
        self._reading = reading or Reading(path, debug_root)
        self.path = self._reading.path
        self.debug_root = self._reading.debug_root
        self._reader = self._reading.reader
        self._sites: dict[SiteOptions, Sites] = {}
        self._held: dict[int, Held] = {}
        self._symbols: Symbols | None = None
        self._allocated_types: dict[int, str] = {}
        self._types_asked: set[int] = set()

    def __repr__(self) -> str:
        """What of: not its figures, which take reading it."""
        return f"<Trace of {self.metadata.program}, {self.event_count} calls: {self.path}>"

    def _repr_html_(self) -> str:
        from html import escape  # for notebooks alone

        is_cut = self.end.reason == "missing" or self.end.dropped or self.damage
        rows = (
            ("program", self.metadata.command or self.metadata.program),
            ("ended", f"{self.end.reason} {self.end.status} after {self.end.time_ns / 1e9:.3g} s"),
            ("calls", f"{self.event_count:,}{', some are missing' if is_cut else ''}"),
            ("threads", f"{len(self.threads):,}"),
            ("file", f"{self.path}, {self.file_bytes:,} bytes"),
        )
        cells = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in rows)
        return f"<table>{cells}</table>"

    @cached_property
    def metadata(self) -> Metadata:
        """How the trace was made, and of what."""
        values: dict[str, Any] = self._reader.metadata()
        for name in ("notes", "unseen"):
            values[name] = tuple(clean(line) for line in values[name])
        for name in ("program", "command", "host", "allocator", "recorder_version"):
            values[name] = clean(values[name])
        return Metadata(**values)

    @cached_property
    def end(self) -> End:
        """How the recording ended."""
        values = self._reader.end()
        reason = values.pop("reason")
        return End(reason=END_REASONS[reason] if reason < len(END_REASONS) else f"reason {reason}", **values)

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        """The loaded objects."""
        return value_of(tuple[Module, ...], self._reader.modules())  # type: ignore[no-any-return]

    @cached_property
    def threads(self) -> tuple[Thread, ...]:
        """The threads, by index."""
        return value_of(tuple[Thread, ...], self._reader.threads())  # type: ignore[no-any-return]

    @cached_property
    def memory_samples(self) -> tuple[MemorySample, ...]:
        """The kernel's view of the process's memory over time."""
        return value_of(tuple[MemorySample, ...], self._reader.memory_samples())  # type: ignore[no-any-return]

    @cached_property
    def damage(self) -> tuple[Damage, ...]:
        """What in the file is missing or unreadable."""
        return tuple(Damage(offset, clean(what)) for offset, what in self._reader.damage())

    @cached_property
    def damaged_chunks(self) -> int:
        """Chunks of events that cannot be read. The first time it reads the whole file."""
        return self._reader.damaged_event_chunks()

    @cached_property
    def coverage(self) -> Coverage:
        """What of the run was recorded."""
        from heapwright.model.facts import Coverage  # most do not ask

        return value_of(Coverage, native.coverage_of(self._reader))  # type: ignore[no-any-return]

    @property
    def file_bytes(self) -> int:
        """Size of the trace file."""
        return self._reader.file_bytes()

    @property
    def event_count(self) -> int:
        """Events in the file, all threads."""
        return self._reader.event_count()

    @property
    def chunk_count(self) -> int:
        """Chunks of events in the file."""
        return self._reader.chunk_count()

    @cached_property
    def stack_columns(self) -> dict[str, memoryview]:
        """The stack tree: "parent" (a stack) and "frame" of every stack id."""
        return {name: memoryview(packed).cast("I") for name, packed in self._reader.stacks().items()}

    @cached_property
    def frame_columns(self) -> dict[str, memoryview]:
        """ "pc", "module" and "is_exact" of every frame."""
        packed = self._reader.frames()
        return {name: memoryview(packed[name]).cast("Q" if name == "pc" else "I") for name in packed}

    def symbols(self, progress: Progress | None = None) -> Symbols:
        """Functions and lines of the frames; read once."""
        if self._symbols is None:
            self._symbols = Symbols(
                self._reading.take_symbols(progress),
                [module.name for module in self.modules],
                self.frame_columns["module"],
                self._reading.symbols_of,
            )
            self._symbols.take_as_whole(self.frames_inside)
        return self._symbols

    @cached_property
    def frames_inside(self) -> frozenset[int]:
        """The frames with which stacks of an allocator inside the program begin, if there is another one."""
        used = set(self.stack_columns["frame"][1:]) - MARKS.keys() if inner_of(self.metadata) else ()
        return frames_inside(self.metadata, used, self.symbols())

    def sites(self, options: SiteOptions | None = None) -> Sites:
        """Stacks grouped by call site."""
        options = options or SiteOptions()
        if options not in self._sites:
            tree = self.stack_columns
            made = self.allocated_types() if options.by_type else {}
            self._sites[options] = site_groups.group(
                tree["parent"], tree["frame"], self.symbols(), options, made
            )
        return self._sites[options]

    def mapped_memory(self, from_ns: int, to_ns: int, most_scans: int) -> tuple[MappedMemory, ...]:
        """What lay in memory by the names of mappings: of at most so many scans within the time."""
        from heapwright.model.facts.mapped_memory import MappedMemory  # rarely needed

        rows = native.mapped_memory_of(self._reader, from_ns, to_ns, most_scans)
        return value_of(tuple[MappedMemory, ...], rows)  # type: ignore[no-any-return]

    @cached_property
    def snapshot_times(self) -> tuple[int, ...]:
        """When somebody looked at who holds which block; in order."""
        return native.snapshot_times(self._reader)

    def held_at(self, time_ns: int) -> Held:
        """Who held which blocks, by the snapshot of that time."""
        from heapwright.model.facts.held import Held  # rarely needed

        if time_ns not in self._held:
            held = value_of(Held, native.held_of(self._reader, time_ns))
            self._held[time_ns] = renamed(
                held, clean, lambda one: self._holder_symbol(one.kind, clean(one.symbol), one.stack), clean
            )
        return self._held[time_ns]

    def allocated_types(self, frames: Collection[int] | None = None) -> Mapping[int, str]:
        """What the frames that called an allocator make of its block, where debug info tells.

        frames: of these at least; None: of all.
        """
        wanted = block_types.calling_frames(self) if frames is None else frames
        unknown = [frame for frame in wanted if frame not in self._types_asked]
        if unknown:
            self._types_asked.update(unknown)
            inside = self._types_inside
            found = block_types.of_calls(self, unknown) if inside is None else inside
            self._allocated_types.update(found)
        return self._allocated_types

    @cached_property
    def _types_inside(self) -> dict[int, str] | None:
        """Like names, those inside are the only ones; None: the trace has no names inside."""
        if not self._reader.has_names():
            return None
        return {frame: clean(name) for frame, name in self._reader.types_inside()}

    def types_of(self, stacks: Collection[int]) -> dict[int, str]:
        """The C++ types of the blocks that these stacks allocate; "" = not known."""
        return block_types.of_stacks(self, stacks)

    def _holder_symbol(self, kind: int, symbol: str, stack: int) -> str:
        """A mapping has no name of its own: the function that mapped it."""
        if kind != MAPPING or not stack:
            return symbol
        sites = self.sites()
        return short_name(sites[sites.site_of_stack[stack]].location.function)

    def _roots(self, found: list[tuple[int, int, bytes, bytes, int]]) -> list[tuple[int, int, str, str]]:
        roots = []
        for kind, thread, *texts, stack in found:
            module, symbol = (clean(text.decode("utf-8", "replace")) for text in texts)
            roots.append((kind, thread, module, self._holder_symbol(kind, symbol, stack)))
        return roots

    def variable_types(self, path: str, names: list[str]) -> list[str]:
        """Of variables of an object, by its debug info; "" = not known."""
        build_id = next((module.build_id for module in self.modules if module.path == path), None)
        if build_id is None:
            return [""] * len(names)
        found = native.variable_types(path.encode(), build_id, fsencode(self.debug_root), names)
        return [clean(name) for name in found]

    def heap_graph(self, time_ns: int) -> dict[str, Any]:
        """A snapshot: columns of 64-bit numbers as bytes, and roots (kind, thread, module, variable)."""
        graph: dict[str, Any] = native.heap_graph_of(self._reader, time_ns)
        graph["roots"] = self._roots(graph["roots"])
        graph["types"] = [clean(name) for name in graph["types"]]
        return graph

    def held_tree(self, time_ns: int, sites: Sites) -> dict[str, Any]:
        """What each holder retains, through which sites: as heap_graph, of src/analyze/held_tree.hpp."""
        site_of_stack = array("I", sites.site_of_stack).tobytes()
        tree: dict[str, Any] = native.held_tree_of(self._reader, time_ns, site_of_stack)
        tree["roots"] = self._roots(tree["roots"])
        return tree

    def cut_stacks(self, facts: Facts | None = None) -> CutStacks:
        """Which stacks did not reach their outermost frame: allocations' with facts, else as they differ."""
        tree = self.stack_columns
        allocations = None if facts is None else facts.stacks["allocations"]
        return cut_stacks(tree["parent"].tolist(), tree["frame"].tolist(), self._library_of, allocations)

    def unnamed_code(self, facts: Facts) -> list[str]:
        """What would name code that a runtime made, if much is allocated through it: at most one line."""
        tree, known = self.stack_columns, len(self.modules)
        return unnamed_code(
            tree["parent"].tolist(),
            tree["frame"].tolist(),
            [module >= known for module in self.frame_columns["module"].tolist()],
            facts.stacks["allocations"],
            self.symbols(),
            self.metadata.condition_values.get("runtime", ""),
        )

    def why_cut(self) -> list[str]:
        """By stack, why it did not reach its outermost frame; empty: it did."""
        tree = self.stack_columns
        return why_cut(tree["parent"].tolist(), tree["frame"].tolist(), self._library_of)

    def _library_of(self, frame: int) -> str:
        modules = self.frame_columns["module"]
        module = modules[frame] if frame < len(modules) else len(self.modules)
        return self.modules[module].name if module < len(self.modules) else "code of no file"

    def stack(self, stack: int) -> list[Location]:
        """All locations of a stack, innermost first, plumbing included."""
        tree, symbols = self.stack_columns, self.symbols()
        found: list[Location] = []
        while stack != 0:
            frame = tree["frame"][stack]
            found += [MARKS[frame]] if frame in MARKS else symbols.locations(frame)
            stack = tree["parent"][stack]
        return found

    def facts(
        self,
        chosen: Filter | None = None,
        sites: SiteOptions | None = None,
        *,
        timeline_points: int = 512,
        slowest_calls: int = 32,
        progress: Progress | None = None,
    ) -> Facts:
        """Reads the whole trace once and says what it means."""
        return self.begin_facts(chosen, sites, timeline_points, slowest_calls).take(progress)

    def begin_facts(
        self,
        chosen: Filter | None = None,
        sites: SiteOptions | None = None,
        timeline_points: int = 512,
        slowest_calls: int = 32,
        at_ns: int = NO_LIMIT,
        wants_activity: bool = False,
        groups: array[int] | None = None,
    ) -> FactsReading:
        """The same in the background.

        at_ns: scans around that time are among the facts. wants_activity: also what happened bin by
        bin, which takes longer. groups: of each stack; the facts of sites are then those of groups.
        """
        chosen = chosen or Filter()
        grouped = self.sites(sites)
        options: dict[str, int | bytes] = {
            "from_ns": chosen.from_ns,
            "to_ns": chosen.to_ns,
            "min_size_bytes": chosen.min_size_bytes,
            "max_size_bytes": chosen.max_size_bytes,
            "thread_chosen": self._threads_chosen(chosen.threads),
            "site_of_stack": (groups or grouped.site_of_stack).tobytes(),
            "stack_chosen": self.stacks_chosen(chosen, sites),
            "timeline_points": timeline_points,
            "slowest_calls": slowest_calls,
            "at_ns": at_ns,
            "wants_activity": int(wants_activity),
        }
        return FactsReading(native.FactsReading(self._reader, options))

    def lost_calls(self, facts: Facts) -> tuple[str, ...]:
        """Why calls are missing in the facts, a line each; empty: none are."""
        return facts.completeness.reasons

    def begin_plain_facts(self, from_ns: int = 0, to_ns: int = NO_LIMIT) -> FactsReading:
        """Facts of everything in this time with every stack its own site: no symbols are read."""
        options = _PLAIN_OPTIONS | {"from_ns": from_ns, "to_ns": to_ns}
        return FactsReading(native.FactsReading(self._reader, options))

    def table(self, name: str) -> Any:
        """A table ("event", "site", ...) for anything that reads Arrow streams."""
        from heapwright.model.tables import table_of

        return table_of(self, name)

    def event_stream(self) -> Any:
        """All events, batch by batch, in order of time."""
        return native.EventTable(self._reader, self.sites().site_of_stack.tobytes())

    def block_stream(self) -> Any:
        """All blocks, batch by batch, in order of their release."""
        return native.BlockTable(self._reader, self.sites().site_of_stack.tobytes())

    def sites_chosen(self, chosen: Filter, sites: SiteOptions | None = None) -> bytes:
        """One byte per site, 1 = passes the filter; empty when no site is filtered out."""
        if not chosen.site and not chosen.library:
            return b""
        pattern = re.compile(chosen.site) if chosen.site else None
        library = re.compile(chosen.library) if chosen.library else None
        return self.sites(sites).matching(pattern, library)

    def stacks_chosen(self, chosen: Filter, sites: SiteOptions | None = None) -> bytes:
        """One byte per stack, 1 = passes the filter; empty when no stack is filtered out."""
        by_site = self.sites_chosen(chosen, sites)
        parts = []
        if by_site:
            parts.append(bytes(map(by_site.__getitem__, self.sites(sites).site_of_stack)))
        if chosen.through:
            pattern = re.compile(chosen.through)
            parts.append(self.stacks_with(lambda location: pattern.search(describe(location)) is not None))
        if chosen.contexts:
            tree = self.stack_columns
            parts.append(
                site_groups.stacks_in(tree["parent"], tree["frame"], self.symbols(), chosen.contexts)
            )
        return bytes(map(min, *parts)) if len(parts) > 1 else parts[0] if parts else b""

    def contexts(self) -> list[str]:
        """The names that the program gave what it worked for, and that of calls in none."""
        named = site_groups.contexts_of(self.stack_columns["frame"], self.symbols())
        names = sorted(location.function for location in named.values())
        return [*names, site_groups.NO_CONTEXT.function] if names else []

    def stacks_with(self, wanted: Callable[[Location], bool]) -> bytes:
        """One byte per stack: 1 where any frame, plumbing too, has a location that is wanted."""
        tree, symbols = self.stack_columns, self.symbols()
        found = [
            frame
            for frame in set(tree["frame"][1:])
            if frame not in MARKS and any(map(wanted, symbols.locations(frame)))
        ]
        return site_groups.stacks_below(tree["parent"], tree["frame"], found)

    def _threads_chosen(self, threads: Sequence[int]) -> bytes:
        if not threads:
            return b""
        count = max((thread.index for thread in self.threads), default=0) + 1
        return bytes(index in threads for index in range(count))


class FactsReading:
    """The facts of a trace while they are being read; made by Trace.begin_facts."""

    def __init__(self, native: native.FactsReading) -> None:
        self._native = native

    def take(self, progress: Progress | None = None) -> Facts:
        """Waits for them; once only."""
        from heapwright.model.facts import Facts  # while they are being read

        return read_fields(Facts, self._native.take(progress).value)


__all__ = ["KIND_NAMES", "NO_LIMIT", "Filter", "Trace", "TraceError"]
