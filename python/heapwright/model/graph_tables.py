# SPDX-License-Identifier: MIT
"""Snapshots of who holds which block as tables: blocks, pointers, and what pointers are in besides blocks."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from heapwright.model import native
from heapwright.model.block_types import BlockTypes
from heapwright.model.holder_names import KINDS

if TYPE_CHECKING:
    from heapwright.model.trace import Trace

_NONE = 2**64 - 1


def _graphs(trace: Trace) -> Iterable[tuple[int, dict[str, Any]]]:
    return ((time_ns, trace.heap_graph(time_ns)) for time_ns in trace.snapshot_times)


def _numbers(packed: bytes) -> array[int]:
    unpacked = array("Q")
    unpacked.frombytes(packed)
    return unpacked


class _Columns:
    """Columns of numbers that become longer with each snapshot."""

    def __init__(self, *names: str) -> None:
        self._columns = {name: array("Q") for name in names}

    def add(self, **columns: Iterable[int]) -> None:
        for name, numbers in columns.items():
            self._columns[name].extend(numbers)

    def table(self) -> Any:
        table = native.PlainTable()
        for name, numbers in self._columns.items():
            table.add_numbers(name, numbers.tobytes())
        return table


def node(trace: Trace) -> Any:
    """A block that was live."""
    columns = _Columns(
        "snapshot_ns", "node", "address", "size", "stack", "site", "retained_bytes", "dominator", "is_lost"
    )
    site_of_stack = trace.sites().site_of_stack
    types: list[str] = []
    for time_ns, graph in _graphs(trace):
        stacks = _numbers(graph["stack"])
        count = len(stacks)
        dominators = _numbers(graph["dominator"])[:count]
        columns.add(
            snapshot_ns=array("Q", [time_ns]) * count,
            node=range(count),
            address=_numbers(graph["address"]),
            size=_numbers(graph["size"]),
            stack=stacks,
            site=(site_of_stack[stack] for stack in stacks),
            retained_bytes=_numbers(graph["retained_bytes"])[:count],
            dominator=(own if above == _NONE else above for own, above in enumerate(dominators)),
            is_lost=(int(above == _NONE) for above in dominators),
        )
        of = BlockTypes(trace, graph["types"]).of
        virtual_tables = _numbers(graph["type"]) or array("Q", bytes(8 * count))
        types += map(of, stacks, virtual_tables)
    table = columns.table()
    table.add_text("type", types)
    return table


def edge(trace: Trace) -> Any:
    """A pointer to a block."""
    columns = _Columns("snapshot_ns", "from_node", "to_node", "offset", "is_interior")
    for time_ns, graph in _graphs(trace):
        sources = _numbers(graph["from"])
        columns.add(
            snapshot_ns=array("Q", [time_ns]) * len(sources),
            from_node=sources,
            to_node=_numbers(graph["to"]),
            offset=_numbers(graph["offset"]),
            is_interior=_numbers(graph["is_interior"]),
        )
    return columns.table()


def root(trace: Trace) -> Any:
    """What holds blocks without being one; its numbers follow those of the blocks."""
    columns = _Columns("snapshot_ns", "node", "thread_id", "retained_bytes")
    roots: list[tuple[int, int, str, str]] = []
    for time_ns, graph in _graphs(trace):
        some = graph["roots"]
        retained = _numbers(graph["retained_bytes"])
        blocks = len(retained) - len(some)
        columns.add(
            snapshot_ns=array("Q", [time_ns]) * len(some),
            node=range(blocks, len(retained)),
            thread_id=(thread for _, thread, _, _ in some),
            retained_bytes=retained[blocks:],
        )
        roots += some
    table = columns.table()
    table.add_text("kind", [KINDS[kind] for kind, _, _, _ in roots])
    table.add_text("module", [module for _, _, module, _ in roots])
    table.add_text("symbol", [symbol for _, _, _, symbol in roots])
    return table
