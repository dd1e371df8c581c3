# SPDX-License-Identifier: MIT
"""A recording of a part of a run: what the report covers, and what it must not call a leak."""

import gzip
import json
from pathlib import Path

from heapwright.export.protobuf import varint
from written_traces import FREE, MALLOC, Command, MadeTrace, small_trace

END_EXITED, END_SIZE, END_DURATION, END_STOPPED = 1, 4, 5, 7


def made(reason: int = END_EXITED, *, has_earlier: bool = True) -> MadeTrace:
    """A process of 10 ms: a block from before is freed, one lives at the pause, one leak after it."""
    trace = small_trace()
    trace.lines = [line for line in trace.lines if not line.startswith(("event", "thread", "memory"))]
    trace.line("thread", 0, 100, "main", 0, 0)
    if has_earlier:
        trace.event(FREE, 0x9000, at=1_500_000)
    trace.event(MALLOC, 0x1000, 1000, at=2_000_000, stack=2)
    trace.event(MALLOC, 0x2000, 70, at=7_000_000, stack=3)
    trace.end = f"end {reason} 0 10000000"
    return trace


def paused(trace: MadeTrace) -> MadeTrace:
    """Recording on from 1 to 4 ms and from 5 ms on."""
    for time_ms, is_on in ((0, 0), (1, 1), (4, 0), (5, 1)):
        trace.line("switch", time_ms * 1_000_000, is_on)
    return trace


def explained(command: Command, path: Path, *options: str) -> dict:
    said = command("explain", path, "--json", *options)
    assert said.code == 0, said.err
    return json.loads(said.out)


def test_a_whole_run_is_called_complete(command: Command, tmp_path: Path) -> None:
    path = made(has_earlier=False).write(tmp_path / "x.heapwright")
    completeness = explained(command, path)["summary"]["completeness"]
    assert completeness["is_complete"]
    assert completeness["covers_whole_run"]
    assert completeness["coverage"] == [{"from_ns": 0, "to_ns": 10_000_000}]
    said = command("explain", path).out
    assert "complete: every call is in the trace" in said


def test_a_freed_block_without_an_allocation_argues_against_complete(
    command: Command, tmp_path: Path
) -> None:
    path = made().write(tmp_path / "x.heapwright")
    completeness = explained(command, path)["summary"]["completeness"]
    assert not completeness["is_complete"]
    assert completeness["reasons"] == ["1 block was freed whose allocation is missing"]
    said = command("explain", path).out
    assert "INCOMPLETE RECORDING: 1 block was freed whose allocation is missing" in " ".join(said.split())
    assert "1 free of a block not in the trace" in said


def test_pauses_are_named_and_cut_the_coverage(command: Command, tmp_path: Path) -> None:
    path = paused(made()).write(tmp_path / "x.heapwright")
    document = explained(command, path)
    completeness = document["summary"]["completeness"]
    assert completeness["is_complete"]
    assert not completeness["covers_whole_run"]
    assert completeness["coverage"] == [
        {"from_ns": 1_000_000, "to_ns": 4_000_000},
        {"from_ns": 5_000_000, "to_ns": 10_000_000},
    ]
    totals = document["summary"]["totals"]
    assert (totals["unknown_releases"], totals["releases_from_before"]) == (0, 1)
    said = command("explain", path).out
    assert "complete: every call is in the trace" not in said
    assert "recorded part of the run: 1.00 ms to 4.00 ms, 5.00 ms to 10.0 ms (8.00 ms)" in said
    assert "1 free of a block from before the window" in said
    assert "not in the trace" not in said


def test_blocks_that_lived_at_a_pause_are_told_from_leaks(command: Command, tmp_path: Path) -> None:
    path = paused(made()).write(tmp_path / "x.heapwright")
    leaks = explained(command, path)["questions"]["leaks"]
    assert leaks["live_at"] == "end"
    assert (leaks["live_bytes"], leaks["live_blocks"]) == (1070, 2)
    assert (leaks["may_be_freed_bytes"], leaks["may_be_freed_blocks"]) == (1000, 1)
    rows = [(site["live_bytes"], site["may_be_freed_bytes"]) for site in leaks["sites"]]
    assert rows == [(1000, 1000), (70, 0)]
    assert "live when paused" in command("explain", path, "--question", "leaks").out


def test_a_recording_that_stopped_first_has_no_leaks(command: Command, tmp_path: Path) -> None:
    for reason in (END_SIZE, END_DURATION, END_STOPPED):
        path = made(reason).write(tmp_path / f"{reason}.heapwright")
        document = explained(command, path)
        leaks = document["questions"]["leaks"]
        assert leaks["live_at"] == document["summary"]["live_at"] == "recording_stopped"
        assert leaks["may_be_freed_blocks"] == leaks["live_blocks"] == 2
        assert document["summary"]["completeness"]["coverage"] == [{"from_ns": 0, "to_ns": 10_000_000}]
        assert not document["summary"]["completeness"]["covers_whole_run"]
        said = command("explain", path).out
        assert "Live when recording stopped" in said
        assert "Still live" not in said
        assert "never freed" not in said
        assert "complete: every call is in the trace" not in said


def test_an_analysis_window_ends_where_it_ends(command: Command, tmp_path: Path) -> None:
    path = made().write(tmp_path / "x.heapwright")
    document = explained(command, path, "--from", "1ms", "--until", "5ms")
    leaks = document["questions"]["leaks"]
    assert leaks["live_at"] == "window_end"
    assert leaks["may_be_freed_blocks"] == leaks["live_blocks"] == 1
    assert document["summary"]["completeness"]["coverage"] == [{"from_ns": 1_000_000, "to_ns": 5_000_000}]
    said = command("explain", path, "--from", "1ms", "--until", "5ms").out
    assert "Live at the window's end" in said
    assert "live at the window's end" in said


def test_a_begin_before_the_end(command: Command, tmp_path: Path) -> None:
    """Of 10 ms the last 9 begin at 1."""
    path = made().write(tmp_path / "x.heapwright")
    last = explained(command, path, "--from", "-9ms")
    assert last["questions"] == explained(command, path, "--from", "1ms")["questions"]
    assert last["summary"]["completeness"]["coverage"][0]["from_ns"] == 1_000_000
    whole = explained(command, path, "--from=-1min")
    assert whole["questions"] == explained(command, path)["questions"]


def test_time_that_was_not_recorded_is_no_thread_time(command: Command, tmp_path: Path) -> None:
    """Two calls of 1 ms in 2 ms of recording are half of the time, though the run took 10."""
    trace = small_trace()
    trace.lines = [line for line in trace.lines if not line.startswith(("event", "thread", "memory"))]
    trace.line("thread", 0, 100, "main", 0, 0)
    trace.line("switch", 4_000_000, 0)
    trace.event(MALLOC, 0x1000, 10, at=1_000_000, took=1_000_000)
    trace.event(FREE, 0x1000, at=3_000_000, took=1_000_000)
    document = explained(command, trace.write(tmp_path / "x.heapwright"))
    assert document["summary"]["allocator_share"] == 0.5


def test_a_recording_that_was_off_all_the_time_says_so(command: Command, tmp_path: Path) -> None:
    trace = made()
    trace.lines = [line for line in trace.lines if not line.startswith("event")]
    trace.line("switch", 0, 0)
    path = trace.write(tmp_path / "x.heapwright")
    assert explained(command, path)["summary"]["completeness"]["coverage"] == []
    assert "nothing was recorded: recording was always off" in command("explain", path).out


def test_a_file_that_ends_early_is_not_said_to_have_been_off(command: Command, tmp_path: Path) -> None:
    trace = made()
    trace.lines = [line for line in trace.lines if not line.startswith("event")]
    trace.has_end = False
    said = command("explain", trace.write(tmp_path / "x.heapwright")).out
    assert "INCOMPLETE" in said
    assert "always off" not in said and "recording was off" not in said


def test_info_shows_what_is_covered(command: Command, tmp_path: Path) -> None:
    """The same spans that explain shows, without reading a call."""

    def told(trace: MadeTrace, name: str) -> tuple[dict, str]:
        path = trace.write(tmp_path / name)
        document = json.loads(command("info", path, "--json").out)
        completeness = explained(command, path)["summary"]["completeness"]
        assert document["coverage"] == completeness["coverage"]
        assert document["covers_whole_run"] == completeness["covers_whole_run"]
        return document, command("info", path).out

    document, said = told(made(), "whole")
    assert document["covers_whole_run"] and "the whole run" in said
    document, said = told(paused(made()), "paused")
    assert not document["covers_whole_run"]
    assert "part of the run: 1.00 ms to 4.00 ms, 5.00 ms to 10.0 ms (8.00 ms)" in said
    document, said = told(made(END_DURATION), "stopped")
    assert not document["covers_whole_run"] and "part of the run: 0 ns to 10.0 ms (10.0 ms)" in said
    off = made()
    off.lines = [line for line in off.lines if not line.startswith("event")]
    document, said = told(off.line("switch", 0, 0), "off")
    assert document["coverage"] == [] and "nothing: recording was off" in said


def test_a_recording_that_forgot_says_so_and_has_no_totals_of_before(
    command: Command, tmp_path: Path
) -> None:
    """As count --room leaves it, from 4 ms on."""
    path = (
        made()
        .meta("forgotten_before_ns", 4_000_000)
        .meta("forgotten_events", 77)
        .write(tmp_path / "x.heapwright")
    )
    summary = explained(command, path)["summary"]
    assert summary["forgotten_before_ns"] == 4_000_000
    assert summary["totals"]["allocations"] == 1
    assert summary["live_at_end_bytes"] == 1070, "with the block from before"
    assert summary["completeness"]["is_complete"] and not summary["completeness"]["covers_whole_run"]
    said = " ".join(command("explain", path).out.split())
    assert "recorded part of the run: 4.00 ms to 10.0 ms" in said
    assert "calls of the first 0.0 s were forgotten" in said
    assert "blocks allocated at other times" not in said and "may have been freed since" not in said
    stopped = made(END_SIZE).meta("forgotten_before_ns", 4_000_000).write(tmp_path / "stopped.heapwright")
    assert "when recording stopped may have been freed since" in " ".join(
        command("explain", stopped).out.split()
    )
    told = " ".join(command("info", path).out.split())
    assert "77 calls: calls of the first" in told
    refused = command("compare", path, path)
    assert refused.code == 2 and "were forgotten (count --room)" in refused.err


def test_a_profile_of_a_recording_that_forgot_begins_where_it_knows(command: Command, tmp_path: Path) -> None:
    trace = made().meta("start_unix_ns", 1_000_000_000).meta("sample_mean_bytes", 1024)
    whole = trace.write(tmp_path / "whole.heapwright")
    rolled = trace.meta("forgotten_before_ns", 4_000_000).write(tmp_path / "rolled.heapwright")
    for path, time_ns, duration_ns in ((whole, 10**9, 10_000_000), (rolled, 10**9 + 4_000_000, 6_000_000)):
        target = path.with_suffix(".pb.gz")
        said = command("export", path, "--to", "pprof", "--output", target)
        assert ("were forgotten" in said.err) is (path == rolled)
        text = gzip.decompress(target.read_bytes())
        # Fields 9 and 10 of Profile, as varints.
        assert bytes([9 << 3, *varint(time_ns), 10 << 3, *varint(duration_ns)]) in text
