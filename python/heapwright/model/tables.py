# SPDX-License-Identifier: MIT
"""A trace as tables that DuckDB, Polars, pyarrow and others read without copies.

Each is an object with __arrow_c_stream__. "event" and "block" are read from
the file batch by batch; the others are small and made in memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from heapwright.model import block_types, graph_tables, native
from heapwright.model.facts import SiteFacts
from heapwright.model.records import MemorySample
from heapwright.model.symbols import Location
from heapwright.model.values import Columns
from heapwright.model.wholeness import forgotten_in_words

if TYPE_CHECKING:
    from heapwright.model.trace import Trace

_TIMES = ("allocator_ns", "release_ns")
_UNKNOWN = block_types.MostType("", 0, 0.0, 0, False)
# Figures of a site that samples do not give.
_NOT_SAMPLED = ("reallocs", "temporaries", "freed_by_other_thread", "live_at_end_parts", "own_peak_bytes")


def _event(trace: Trace) -> Any:
    return trace.event_stream()


def _block(trace: Trace) -> Any:
    return trace.block_stream()


def _site(trace: Trace) -> Any:
    facts, sites = trace.facts(), trace.sites()
    table = native.PlainTable()
    _add_numbers(table, "site", range(len(sites)))
    _add_locations(table, [site.location for site in sites])
    columns = list(zip(*facts.sites, strict=True))
    left_out = columns_left_out(trace)
    for number, name in enumerate(SiteFacts._fields):
        if name not in left_out:
            _add_numbers(table, name, columns[number] if columns else [])
    _add_types(trace, table, facts.stacks)
    return table


def _add_types(trace: Trace, table: Any, of_stacks: Columns) -> None:
    """What most bytes that a site allocates are; empty where it is not known."""
    sites, calls = trace.sites(), of_stacks["allocations"].tolist()
    types = trace.types_of([stack for stack, count in enumerate(calls) if count])
    of = block_types.by_site(sites.site_of_stack, types, of_stacks["bytes"].tolist())
    found = [of.get(number, _UNKNOWN) for number in range(len(sites))]
    _add_words(table, "type", [most.name for most in found])
    _add_numbers(table, "type_bytes", [most.weight for most in found])
    _add_numbers(table, "other_types", [most.others for most in found])


def columns_left_out(trace: Trace) -> tuple[str, ...]:
    """Columns of the table site that this recording does not have."""
    untold = () if trace.metadata.durations_recorded else _TIMES
    return (*untold, *_NOT_SAMPLED) if trace.metadata.sample_mean_bytes else untold


def about_samples(trace: Trace, tables: Sequence[str]) -> str:
    """A note before rows of these tables are summed; empty if each is one call or block."""
    if not trace.metadata.sample_mean_bytes:
        return ""
    parts = []
    if {"event", "block"} & set(tables):
        parts.append(
            "each row of event and block is a sample that stands for `weight` calls or blocks: "
            "sum(weight) and sum(size * weight) are the estimates, count(*) and sum(size) are not"
        )
    if "site" in tables:
        parts.append("the figures of site are estimates")
    if "thread" in tables:
        parts.append("the events of thread are those recorded")
    if parts and (forgotten := forgotten_in_words(trace.metadata.forgotten_before_ns)):
        parts.append(forgotten)
    return f"sampled trace: {'; '.join(parts)}" if parts else ""


def _stack(trace: Trace) -> Any:
    tree, sites = trace.stack_columns, trace.sites()
    table = native.PlainTable()
    _add_numbers(table, "stack", range(len(tree["parent"])))
    for name in ("parent", "frame"):
        _add_numbers(table, name, tree[name])
    _add_numbers(table, "site", sites.site_of_stack)
    return table


def _frame(trace: Trace) -> Any:
    symbols, columns = trace.symbols(), trace.frame_columns
    frames: list[int] = []
    positions: list[int] = []
    locations: list[Location] = []
    for frame in range(len(symbols)):
        for position, location in enumerate(symbols.locations(frame)):
            frames.append(frame)
            positions.append(position)
            locations.append(location)
    table = native.PlainTable()
    _add_numbers(table, "frame", frames)
    _add_numbers(table, "position", positions)
    _add_numbers(table, "pc", [columns["pc"][frame] for frame in frames])
    _add_locations(table, locations)
    _add_numbers(table, "is_inlined", [int(location.is_inlined) for location in locations])
    return table


def _thread(trace: Trace) -> Any:
    table = native.PlainTable()
    threads = trace.threads
    _add_numbers(table, "thread", [thread.index for thread in threads])
    table.add_text("name", [thread.name for thread in threads])
    for name in ("thread_id", "first_ns", "exit_ns", "events", "dropped", "waited_ns"):
        _add_numbers(table, name, [getattr(thread, name) for thread in threads])
    return table


def _memory(trace: Trace) -> Any:
    table = native.PlainTable()
    for name in MemorySample._fields:
        _add_numbers(table, name, [getattr(sample, name) for sample in trace.memory_samples])
    return table


def _module(trace: Trace) -> Any:
    table = native.PlainTable()
    modules = trace.modules
    _add_numbers(table, "module", range(len(modules)))
    for name in ("path", "build_id"):
        table.add_text(name, [getattr(module, name) for module in modules])
    names = (("start", "start"), ("end_address", "end"), ("bias", "bias"), ("loaded_ns", "loaded_ns"))
    for column, name in (*names, ("unloaded_ns", "unloaded_ns")):
        _add_numbers(table, column, [getattr(module, name) for module in modules])
    return table


TABLES: dict[str, Callable[[Trace], Any]] = {
    "event": _event,
    "block": _block,
    "site": _site,
    "stack": _stack,
    "frame": _frame,
    "thread": _thread,
    "memory": _memory,
    "module": _module,
    "node": graph_tables.node,
    "edge": graph_tables.edge,
    "root": graph_tables.root,
}


def table_of(trace: Trace, name: str) -> Any:
    """The named table; KeyError when there is none."""
    return TABLES[name](trace)


def _add_numbers(table: Any, name: str, values: Iterable[int]) -> None:
    table.add_numbers(name, array("Q", values).tobytes())


def _add_locations(table: Any, locations: list[Location]) -> None:
    for name in ("function", "file", "library"):
        _add_words(table, name, [getattr(location, name) for location in locations])
    _add_numbers(table, "line", [location.line for location in locations])


def _add_words(table: Any, name: str, values: list[str]) -> None:
    numbers: dict[str, int] = {}
    indexes = array("I", [numbers.setdefault(value, len(numbers)) for value in values])
    table.add_words(name, indexes.tobytes(), list(numbers))
