# SPDX-License-Identifier: MIT
"""heapwright.open(): facts, sites and tables of a trace whose every call is known."""

from __future__ import annotations

from pathlib import Path

import duckdb
import heapwright
import pandas
import polars
import pyarrow as pa
import pytest
from heapwright import _native
from heapwright.model import KIND_NAMES
from heapwright.model.tables import TABLES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from written_traces import FREE, MALLOC, MadeTrace, small_trace


def test_what_the_trace_says_of_itself(trace: heapwright.Trace) -> None:
    assert trace.metadata.program == "/opt/shop/server"
    assert [thread.name for thread in trace.threads] == ["main", "worker"]
    assert [module.name for module in trace.modules] == ["server", "libc.so.6"]
    assert (trace.end.reason, trace.end.status, trace.event_count) == ("exited", 0, 8)
    assert trace.damage == ()
    assert trace.memory_samples[0].resident_anonymous_bytes == 8_000_000


def test_facts(trace: heapwright.Trace) -> None:
    facts = trace.facts()
    assert facts.completeness.is_complete
    assert (facts.totals.allocations, facts.totals.releases, facts.totals.reallocs) == (5, 4, 1)
    assert facts.totals.requested_bytes == 100 + 4000 + 50 + 500 + 64
    assert (facts.peak.live_bytes, facts.peak.live_blocks) == (4100, 2)
    assert {KIND_NAMES[row.kind]: row.calls for row in facts.by_kind}["free"] == 2
    chains = facts.realloc_chains[0]
    assert (chains.chains, chains.steps, chains.moved, chains.copied_bytes) == (1, 1, 1, 50)
    crossing = [cell for cell in facts.cross_thread if cell.allocating_thread != cell.freeing_thread]
    assert [(cell.allocating_thread, cell.freeing_thread, cell.blocks) for cell in crossing] == [(0, 1, 1)]
    assert facts.slowest[0].duration_ns == 5_000_000


def test_sites_and_stacks_add_up(trace: heapwright.Trace) -> None:
    facts = trace.facts()
    by_name = {str(site): facts.sites[site.number] for site in trace.sites()}
    # libc's frame is plumbing: calloc and realloc count to parse.
    assert by_name["server+0x2000"].allocations == 3
    assert by_name["server+0x3000"].live_at_peak_bytes == 4000
    for column in ("allocations", "bytes", "live_at_end_bytes", "temporaries"):
        assert sum(getattr(site, column) for site in facts.sites) == sum(facts.stacks[column])


def test_filters(trace: heapwright.Trace) -> None:
    def allocations(**options: object) -> int:
        return trace.facts(heapwright.Filter(**options)).totals.allocations  # type: ignore[arg-type]

    assert allocations(min_size_bytes=100) == 3
    assert allocations(max_size_bytes=64) == 2
    assert allocations(threads=(1,)) == 0
    assert allocations(site=r"server\+0x3000") == 1
    assert allocations(library="^libc") == 0
    assert allocations(from_ns=1650, to_ns=1950) == 2


def test_a_stack_is_readable(trace: heapwright.Trace) -> None:
    assert [location.function for location in trace.stack(4)] == [
        "libc.so.6+0x1000",
        "server+0x2000",
        "server+0x1000",
    ]
    assert trace.symbols().problems()[0].startswith("/opt/shop/server is not on this machine")


def test_tables_are_the_same_for_every_reader(trace: heapwright.Trace) -> None:
    for name in TABLES:
        arrow = pa.table(trace.table(name))
        assert arrow.num_rows == polars.DataFrame(trace.table(name)).height
        connection = duckdb.connect()
        connection.register("it", trace.table(name))
        rows = connection.execute("select * from it").fetchall()
        assert rows == [tuple(row.values()) for row in arrow.to_pylist()]


def test_pandas_takes_every_table(trace: heapwright.Trace) -> None:
    for name in TABLES:
        frame = pandas.DataFrame.from_arrow(trace.table(name))
        rows = pa.table(trace.table(name)).to_pylist()
        assert list(frame.columns) == list(pa.table(trace.table(name)).column_names)
        taken = frame.astype(object).where(frame.notna(), None).to_dict("records")
        assert taken == rows, name


def test_event_and_block_rows(trace: heapwright.Trace) -> None:
    events = pa.table(trace.table("event")).to_pylist()
    assert sum(row["kind"] == "free" for row in events) == 2
    assert {row["kind"] for row in events} == {
        "malloc",
        "calloc",
        "realloc",
        "free",
        "operator new",
        "operator delete",
    }
    blocks = {row["address"]: row for row in pa.table(trace.table("block")).to_pylist()}
    assert (blocks[0x1000]["is_freed"], blocks[0x1000]["lifetime_ns"], blocks[0x1000]["free_kind"]) == (
        False,
        None,
        None,
    )
    assert blocks[0x2000]["is_temporary"]
    assert (blocks[0x5000]["thread"], blocks[0x5000]["free_thread"]) == (0, 1)
    assert blocks[0x4000]["lifetime_ns"] == 5_000_000 + 272  # to the 16 ns the format keeps


def test_many_batches(tmp_path: Path) -> None:
    made = MadeTrace()
    for number in range(50_000):
        made.event(MALLOC, 0x1000 + 64 * number, number % 500)
        made.event(FREE, 0x1000 + 64 * number)
    trace = heapwright.open(made.write(tmp_path / "long.heapwright"))
    assert trace.chunk_count > 3
    reader = pa.RecordBatchReader.from_stream(trace.table("event"))
    batches = [batch.num_rows for batch in reader]
    assert sum(batches) == 100_000
    assert len(batches) > 3
    assert pa.table(trace.table("block")).num_rows == 50_000


def test_a_stream_can_be_dropped_and_outlives_its_trace(trace_file: Path) -> None:
    stream = heapwright.open(trace_file).table("event").__arrow_c_stream__()
    del stream
    reader = pa.RecordBatchReader.from_stream(heapwright.open(trace_file).table("event"))
    assert reader.read_all().num_rows == 8


def test_progress_and_interruption(trace: heapwright.Trace) -> None:
    seen: list[tuple[int, int]] = []
    trace.facts(progress=lambda done, total: seen.append((done, total)))
    assert seen
    assert seen[-1][0] <= seen[-1][1] == 8

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trace.facts(progress=interrupt)


def test_errors(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no trace at all\n" * 10)
    with pytest.raises(heapwright.TraceError, match="is not a heapwright trace"):
        heapwright.open(path)
    with pytest.raises(KeyError):
        heapwright.open(small_trace().write(tmp_path / "x.heapwright")).table("evnt")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_never_breaks_more_than_itself(data: st.DataObject, tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / "whole.heapwright")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    damaged = tmp_path / "damaged.heapwright"
    damaged.write_bytes(content[: cut if data.draw(st.booleans()) else len(content)])
    try:
        trace = heapwright.open(damaged)
    except heapwright.TraceError as error:
        assert "\n" not in str(error)
        return
    trace.facts()
    for name in TABLES:
        pa.table(trace.table(name))


def test_the_stub_names_what_the_module_has() -> None:
    stub = (Path(heapwright.__file__).parent / "_native.pyi").read_text()
    for name in (
        "Reader",
        "SymbolReading",
        "FactsReading",
        "Facts",
        "EventTable",
        "BlockTable",
        "PlainTable",
    ):
        public = {member for member in vars(getattr(_native, name)) if not member.startswith("_")}
        body = stub.split(f"class {name}:")[1].split("\nclass ")[0].split("\ndef ")[0]
        assert {line.split("(")[0].split()[-1] for line in body.splitlines() if "    def " in line} - {
            "__init__",
            "__arrow_c_stream__",
        } == public
