# SPDX-License-Identifier: MIT
"""Perfetto's traces, read by the messages of its own package, as its trace processor reads them."""

from __future__ import annotations

import io
import re
from collections import Counter
from pathlib import Path

import pytest
from heapwright.export import Source, perfetto
from heapwright.model.facts.mapped_memory import MappedMemory
from heapwright.model.trace import Trace as HeapTrace
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent
from perfetto_packets import (
    Stack,
    allocations,
    database_of,
    live_at,
    of_kind,
    packets_of,
    smaps,
    tables_of,
    unknown_fields,
)
from written_traces import FREE, MALLOC, PROJECT, REALLOC, Command, MadeTrace, small_trace


def test_perfettos_own_package_knows_every_field(command: Command, trace_file: Path) -> None:
    packets = packets_of(command, trace_file)
    assert sum(map(unknown_fields, packets)) == 0
    assert {packet.trusted_packet_sequence_id for packet in packets} == {1}
    begins, *others = [packet.sequence_flags for packet in packets]
    assert begins == TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    assert set(others) == {TracePacket.SEQ_NEEDS_INCREMENTAL_STATE}
    # Without the profile's clock (CLOCK_MONOTONIC_COARSE) its dumps are dropped.
    (clocks,) = of_kind(packets, "clock_snapshot")
    assert {clock.clock_id: clock.timestamp for clock in clocks.clocks}.items() >= {3: 0, 4: 0, 6: 0}.items()


def test_the_heap_at_its_peak_and_at_the_end(command: Command, trace_file: Path) -> None:
    rows = allocations(packets_of(command, trace_file))
    # The block of 4,000 bytes ends at 1,712 ns.
    parse, serve = ("server+0x1000", "server+0x2000"), ("server+0x1000", "server+0x3000")
    assert live_at(rows, 1712) == {parse: (1, 100), serve: (1, 4000)}
    assert live_at(rows, 10**9) == {parse: (1, 100)}
    made: Counter[Stack] = Counter()
    for _, stack, _, size in rows:
        made[stack] += max(0, size)
    libc = (*parse, "libc.so.6+0x1000")
    assert made == {parse: 100, serve: 4000, libc: 550, ("server+0x1000",): 64}


def test_the_question_in_the_document(command: Command, trace_file: Path) -> None:
    (sql,) = re.findall("```sql\n(.*?)```", (PROJECT / "docs/export.md").read_text(), re.DOTALL)
    rows = database_of(packets_of(command, trace_file)).execute(sql).fetchall()
    assert rows == [("server+0x3000", 4000), ("server+0x2000", 100)]


def test_dumps_follow_each_other_without_a_gap(command: Command, trace_file: Path) -> None:
    profiles = of_kind(packets_of(command, trace_file), "profile_packet")
    dumps = [profile.process_dumps[0] for profile in profiles]
    assert [profile.index for profile in profiles] == list(range(len(profiles)))
    assert len(dumps) == 17  # the peak's is one more
    assert dumps[0].start_timestamp == 0
    assert [dump.start_timestamp for dump in dumps[1:]] == [dump.timestamp for dump in dumps[:-1]]
    assert {dump.heap_name for dump in dumps} == {"libc.malloc"}
    assert {dump.sampling_interval_bytes for dump in dumps} == {1}


def test_a_course_by_hand(command: Command, tmp_path: Path) -> None:
    """A stack that frees and allocates between the same two dumps, and the peak between them."""
    made = MadeTrace()
    made.meta("program", "/opt/x")
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/x", "aa")
    made.line("frame", 0x401000, 0).line("frame", 0x402000, 0)
    made.line("stack", 0, 0).line("stack", 0, 1)
    made.event(MALLOC, 0x1000, 100, stack=1, at=0)
    made.event(MALLOC, 0x2000, 1000, stack=1, at=500_000)
    made.event(FREE, 0x1000, at=500_160)
    made.event(MALLOC, 0x3000, 300, stack=2, at=500_320)
    made.event(FREE, 0x2000, at=500_480)
    made.event(MALLOC, 0x4000, 7, stack=1, at=500_640)
    made.event(REALLOC, 0x5000, 70, old=0x3000, stack=2, at=900_000)
    made.end = "end 1 0 1000000"
    rows = allocations(packets_of(command, made.write(tmp_path / "x.heapwright")))
    one, two = ("x+0x1000",), ("x+0x2000",)
    assert live_at(rows, 499_000) == {one: (1, 100)}
    # The peak: 300 bytes beside 1,000, once the 100 are gone.
    assert live_at(rows, 500_336) == {one: (1, 1000), two: (1, 300)}
    assert live_at(rows, 600_000) == {one: (1, 7), two: (1, 300)}
    assert live_at(rows, 10**7) == {one: (1, 7), two: (1, 70)}
    assert sum(size for _, stack, _, size in rows if stack == one and size > 0) == 1107


def test_what_lived_before_the_chosen_time_is_there_from_its_begin(command: Command, tmp_path: Path) -> None:
    made = MadeTrace()
    made.meta("program", "/opt/x").line("module", 0x400000, 0x500000, 0x400000, "/opt/x", "aa")
    made.line("frame", 0x401000, 0).line("stack", 0, 0)
    made.event(MALLOC, 0x1000, 100, stack=1, at=0)
    # Between the same two dumps.
    made.event(FREE, 0x1000, at=600_000)
    made.event(MALLOC, 0x2000, 50, stack=1, at=600_160)
    made.end = "end 1 0 1000000"
    packets = packets_of(command, made.write(tmp_path / "x.heapwright"), "--from", "400us")
    dumps = of_kind(packets, "profile_packet")
    assert dumps[0].process_dumps[0].start_timestamp == 400_000
    rows = allocations(packets)
    (stack,) = {stack for _, stack, _, _ in rows}
    assert live_at(rows, 400_000) == {stack: (1, 100)}, "it was never more"
    assert live_at(rows, 10**9) == {stack: (1, 50)}
    assert sum(size for *_, size in rows if size > 0) == 150


def test_stacks_that_read_the_same_are_one(command: Command, tmp_path: Path) -> None:
    """Otherwise the sums of one would seem to be the other's, and to fall."""
    made = MadeTrace()
    made.meta("program", "/opt/x")
    made.line("frame", 0x401000, 9).line("frame", 0x401000, 9)  # no module: both are an address
    made.line("stack", 0, 0).line("stack", 0, 1)
    made.event(MALLOC, 0x1000, 100, stack=1)
    made.event(MALLOC, 0x2000, 30, stack=2)
    made.event(FREE, 0x1000)
    rows = allocations(packets_of(command, made.write(tmp_path / "x.heapwright")))
    (held,) = live_at(rows, 10**9).values()
    assert held == (1, 30)


def test_mappings_and_lines(command: Command, trace_file: Path) -> None:
    packets = packets_of(command, trace_file)
    tables = tables_of(packets)
    found = {
        tables.paths[mapping.path_string_ids[0]]: (tables.builds[mapping.build_id], mapping.start)
        for mapping in tables.mappings.values()
        if mapping.path_string_ids
    }
    assert found == {
        "/opt/shop/server": (bytes.fromhex("aabbcc"), 0x400000),
        "/lib/x86_64-linux-gnu/libc.so.6": (bytes.fromhex("ddeeff"), 0x700000),
    }
    # Lines are found by path, build id and an address of a frame there.
    addresses = {
        (tables.paths[tables.mappings[frame.mapping_id].path_string_ids[0]], frame.rel_pc)
        for frame in tables.frames.values()
    }
    modules = of_kind(packets, "module_symbols")
    named = {(module.path, one.address) for module in modules for one in module.address_symbols}
    assert named == addresses
    # Raw bytes in a field of text, as the reader takes them: no characters, so they stay bytes here.
    assert {module.build_id for module in modules} == {build for build, _ in found.values()}


def test_counters_and_slow_calls(command: Command, trace_file: Path) -> None:
    packets = packets_of(command, trace_file)
    tracks = {track.uuid: track for track in of_kind(packets, "track_descriptor")}
    assert {track.thread.thread_name for track in tracks.values() if track.HasField("thread")} == {
        "main",
        "worker",
    }
    values: dict[str, list[int]] = {}
    slices: dict[str, int] = {}
    begun: tuple[str, int] = "", 0
    for packet in packets:
        event = packet.track_event
        if event.type == TrackEvent.TYPE_COUNTER:
            values.setdefault(tracks[event.track_uuid].name, []).append(event.counter_value)
        elif event.type == TrackEvent.TYPE_SLICE_BEGIN:
            begun = event.name, packet.timestamp
        elif event.type == TrackEvent.TYPE_SLICE_END:
            slices[begun[0]] = max(slices.get(begun[0], 0), packet.timestamp - begun[1])
    assert sum(values["heap: allocations per step"]) == 5
    assert values["heap: requested bytes"][-1] == 100
    assert values["heap: live blocks"][-1] == 1
    assert slices["realloc"] == 5_000_000
    (first, *_) = of_kind(packets, "process_stats")
    assert (first.processes[0].rss_anon_kb, first.processes[0].vm_rss_kb) == (7812, 7812)


def test_smaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of two scans; the scans themselves are read in tests/analyze/mapped_memory_test.cpp."""
    rows = (
        MappedMemory(100, "", 1, 4096, 4096, 0, 0),
        MappedMemory(100, "[heap]", 2, 65536, 16384, 8192, 4096),
        MappedMemory(900, "[heap]", 2, 65536, 20480, 0, 0),
    )
    monkeypatch.setattr(HeapTrace, "mapped_memory", lambda *_: rows)
    trace = HeapTrace(small_trace().write(tmp_path / "x.heapwright"))
    out = io.BytesIO()
    facts = trace.begin_facts(wants_activity=True).take()
    perfetto.write(Source(trace, facts), out, "")
    read = Trace()
    read.ParseFromString(out.getvalue())
    assert smaps(list(read.packet)) == {
        100: {"": (1, 4, 4, 4, 0), "[heap]": (2, 64, 24, 16, 4)},
        900: {"[heap]": (2, 64, 20, 20, 0)},
    }


def test_sums_of_samples_do_not_fall(command: Command, tmp_path: Path) -> None:
    made = small_trace()
    made.meta("sample_mean_bytes", 512)
    for round_ in range(200):
        made.event(MALLOC, 0x9000, 100 + round_ * 3, stack=2)
        made.event(FREE, 0x9000)
    rows = allocations(packets_of(command, made.write(tmp_path / "sampled.heapwright")))
    (held,) = live_at(rows, 10**9).values()
    assert held[1] == pytest.approx(562, abs=20)  # 100 bytes by 1 / (1 - exp(-100 / 512))
