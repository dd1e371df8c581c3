# SPDX-License-Identifier: MIT
"""fork, vfork, exec, spawn: one file per process image when asked for, none of the children otherwise."""

import pytest
from conftest import Record, differences, end_exited, end_replaced
from counting import ask


def test_a_thousand_forks(record: Record) -> None:
    recording = record("fork_storm", 1000, options=["--children"], seconds=240)
    assert recording.status == 0, recording.errors
    traces = recording.traces()
    assert len(traces) == 1001
    parents = [t for t in traces if t.count("allocated", "malloc", 3001)]
    assert len(parents) == 1
    assert differences(recording.said, parents) == []
    for trace in traces:
        assert trace.problems() == []
        if trace is not parents[0]:
            assert trace.count("allocated", "malloc", 3019) == trace.count("released", "free", 3019) == 1
            assert trace.facts["parent_process_id"] == parents[0].facts["process_id"]


def test_ten_thousand_threads_with_children_followed(record: Record) -> None:
    recording = record("ten_thousand_threads", options=["--children"], seconds=240)
    assert recording.status == 0, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []
    assert len(trace.facts["threads"]) > 10_000


def test_children_are_left_alone_unless_asked_for(record: Record) -> None:
    recording = record("fork_storm", 50)
    assert recording.status == 0
    assert differences(recording.said, [recording.trace()]) == []


def test_fork_while_threads_allocate(record: Record) -> None:
    recording = record("fork_in_threads", options=["--children"], seconds=240)
    assert recording.status == 0, recording.errors
    traces = recording.traces()
    assert len(traces) == 1 + recording.note("children")
    parents = [t for t in traces if t.count("allocated", "malloc", 3001)]
    assert differences(recording.said, parents) == []
    children = [t for t in traces if t not in parents]
    assert all(t.count("allocated", "malloc", 3011) == 10 for t in children)
    assert all(t.problems() == [] for t in traces)


def test_vfork_spawn_and_system(record: Record) -> None:
    recording = record("vfork_exec", options=["--children"])
    assert recording.status == 0, recording.errors
    traces = recording.traces()
    parents = [t for t in traces if t.count("allocated", "malloc", 3001)]
    assert len(parents) == 1
    assert differences(recording.said, parents) == []
    programs = [t.facts["program"].rsplit("/", 1)[-1] for t in traces]
    assert sum(name == "true" for name in programs) == 40
    assert all(t.problems() == [] for t in traces)


def test_vfork_without_following(record: Record) -> None:
    recording = record("vfork_exec")
    assert recording.status == 0, recording.errors
    assert differences(recording.said, [recording.trace()]) == []


@pytest.mark.parametrize("options", [[], ["--children"]])
def test_exec_keeps_every_image(record: Record, options: list[str]) -> None:
    recording = record("exec_self", 3, options=options)
    assert recording.status == 7, recording.errors
    traces = recording.traces()
    assert len(traces) == 4
    assert [t.count("allocated", "malloc", 3001) for t in traces] == [10] * 4
    reasons = sorted(t.facts["end_reason"] for t in traces)
    assert reasons == [end_exited, end_replaced, end_replaced, end_replaced]
    assert all(t.problems() == [] for t in traces)
    for trace in traces:  # the next image is no process without a trace
        assert "not recorded" not in ask("explain", str(trace.path), "--unchecked").stdout


def test_a_child_that_clears_its_environment_is_recorded(record: Record) -> None:
    recording = record("clears_environment", options=["--children"])
    assert recording.status == 0, recording.errors
    traces = recording.traces()
    assert len(traces) == 2
    assert differences(recording.said, traces) == []
