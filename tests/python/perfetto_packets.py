# SPDX-License-Identifier: MIT
"""Perfetto's packets, as its trace processor reads them (src/trace_processor/importers/proto)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket
from written_traces import Command

Stack = tuple[str, ...]
# A row of the table heap_profile_allocation: time, callstack, blocks, bytes.
Row = tuple[int, Stack, int, int]


def packets_of(command: Command, trace_file: Path, *options: str) -> list[TracePacket]:
    target = trace_file.with_name("out.pftrace")
    said = command("export", trace_file, "--to", "perfetto", "-o", target, "--force", *options)
    assert said.code == 0, said.err
    trace = Trace()
    trace.ParseFromString(target.read_bytes())
    return list(trace.packet)


def of_kind(packets: Iterable[TracePacket], kind: str) -> list[Any]:
    return [getattr(packet, kind) for packet in packets if packet.WhichOneof("data") == kind]


class Tables(NamedTuple):
    """What is interned, by number."""

    functions: dict[int, str]
    builds: dict[int, bytes]
    paths: dict[int, str]
    mappings: dict[int, Any]
    frames: dict[int, Any]
    callstacks: dict[int, Any]

    def stack(self, callstack: int) -> Stack:
        """Names, outermost first. KeyError: a number leads nowhere."""
        frames = [self.frames[frame] for frame in self.callstacks[callstack].frame_ids]
        assert all(frame.mapping_id in self.mappings for frame in frames)
        return tuple(self.functions[frame.function_name_id] for frame in frames)


def tables_of(packets: Iterable[TracePacket]) -> Tables:
    (data,) = [packet.interned_data for packet in packets if packet.HasField("interned_data")]
    return Tables(
        {one.iid: one.str.decode() for one in data.function_names},
        {one.iid: one.str for one in data.build_ids},
        {one.iid: one.str.decode() for one in data.mapping_paths},
        {one.iid: one for one in data.mappings},
        {one.iid: one for one in data.frames},
        {one.iid: one for one in data.callstacks},
    )


def allocations(packets: list[TracePacket]) -> list[Row]:
    """The rows that the trace processor makes: differences of sums, which it refuses where one falls."""
    tables = tables_of(packets)
    before: dict[int, tuple[int, int, int, int]] = {}
    rows = []
    for profile in of_kind(packets, "profile_packet"):
        (dump,) = profile.process_dumps
        seen = Counter(sample.callstack_id for sample in dump.samples)
        assert set(seen.values()) <= {1}, "a callstack is in a dump once"
        for sample in dump.samples:
            now = (sample.alloc_count, sample.self_allocated, sample.free_count, sample.self_freed)
            last = before.get(sample.callstack_id, (0, 0, 0, 0))
            assert all(map(int.__le__, last, now)), "sums do not fall"
            before[sample.callstack_id] = now
            made_blocks, made, freed_blocks, freed = map(int.__sub__, now, last)
            stack = tables.stack(sample.callstack_id)
            rows += [(dump.timestamp, stack, made_blocks, made)] if made_blocks or made else []
            rows += [(dump.timestamp, stack, -freed_blocks, -freed)] if freed_blocks or freed else []
    return rows


def live_at(rows: Iterable[Row], time_ns: int) -> dict[Stack, tuple[int, int]]:
    """Blocks and bytes of each stack that holds some."""
    blocks: Counter[Stack] = Counter()
    sizes: Counter[Stack] = Counter()
    for at, stack, more_blocks, more in rows:
        if at <= time_ns:
            blocks[stack] += more_blocks
            sizes[stack] += more
    return {stack: (blocks[stack], sizes[stack]) for stack in sizes if blocks[stack] or sizes[stack]}


def unknown_fields(message: Any) -> int:
    inner = 0
    for field, value in message.ListFields():
        if field.message_type is not None:
            inner += sum(map(unknown_fields, value if field.is_repeated else [value]))
    return inner + len(UnknownFieldSet(message))


def database_of(packets: list[TracePacket]) -> sqlite3.Connection:
    """The tables of the trace processor that the question in docs/export.md asks."""
    base = sqlite3.connect(":memory:")
    base.execute("create table stack_profile_frame (id integer primary key, name text)")
    base.execute("create table stack_profile_callsite (id integer primary key, parent_id, frame_id)")
    base.execute("create table heap_profile_allocation (ts, callsite_id, count, size)")
    callsites: dict[Stack, int] = {}

    def callsite(stack: Stack) -> int:
        if stack not in callsites:
            parent = callsite(stack[:-1]) if stack[:-1] else None
            number = callsites[stack] = len(callsites)
            base.execute("insert into stack_profile_frame values (?, ?)", (number, stack[-1]))
            base.execute("insert into stack_profile_callsite values (?, ?, ?)", (number, parent, number))
        return callsites[stack]

    for time_ns, stack, blocks, size in allocations(packets):
        row = (time_ns, callsite(stack), blocks, size)
        base.execute("insert into heap_profile_allocation values (?, ?, ?, ?)", row)
    return base


def smaps(packets: list[TracePacket]) -> dict[int, dict[str, tuple[int, ...]]]:
    found = {}
    for packet in packets:
        if packet.WhichOneof("data") == "smaps_packet":
            of = packet.smaps_packet.packed_entries
            figures = (of.aggregate_count, of.size_kb, of.rss_kb, of.anonymous_kb, of.swap_kb)
            found[packet.timestamp] = dict(zip(of.string_table, zip(*figures, strict=True), strict=True))
    return found
