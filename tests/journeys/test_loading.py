# SPDX-License-Identifier: MIT
"""Libraries that come and go, many of them, and those that bypass the hooks."""

import shutil
from pathlib import Path

import pytest
from conftest import Record, differences, programs, read_trace

plugin = programs / "plugin.so"


def test_a_library_opened_and_closed_two_thousand_times(record: Record) -> None:
    recording = record("loads_libraries", plugin, "again", 2000)
    assert recording.status == 0, recording.errors
    trace = read_trace(recording.paths()[0], 3109)
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []
    tops = {stack[0][0].rsplit("/", 1)[-1] for stack in trace.facts["stacks"] if isinstance(stack[0], list)}
    assert tops == {"plugin.so"}


def test_libraries_in_turns_at_one_place(record: Record) -> None:
    """The same code at the same addresses: each call is of the library that made it."""
    recording = record("loads_libraries", plugin, "turns", 300, programs / "twin_plugin.so")
    assert recording.status == 0, recording.errors
    for size, name in ((3109, "plugin.so"), (3111, "twin_plugin.so")):
        trace = read_trace(recording.paths()[0], size)
        assert differences(recording.said, [trace]) == []
        assert trace.problems() == []
        assert {stack[0][0].rsplit("/", 1)[-1] for stack in trace.facts["stacks"]} == {name}


def test_two_thousand_loaded_objects(record: Record, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    for number in range(2000):
        shutil.copy(plugin, folder / f"{number}.so")
    recording = record("loads_libraries", plugin, "many", 2000, folder)
    assert recording.status == 0, recording.errors
    trace = read_trace(recording.paths()[0], 3109)
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []
    loaded = {m["path"] for m in trace.facts["modules"] if m["path"].startswith(str(folder))}
    assert len(loaded) == 2000
    assert {stack[0][0] for stack in trace.facts["stacks"]} == loaded
    assert all(m["build_id"] for m in trace.facts["modules"] if m["path"] in loaded)


def test_deepbind_is_named(record: Record) -> None:
    """The library finds libc's malloc first, so its blocks are seen only when the program frees them."""
    recording = record("loads_libraries", plugin, "deepbind", 200)
    assert recording.status == 0, recording.errors
    facts = recording.trace().facts
    assert recording.note("blocks") == facts["unknown_releases"] == 200
    assert not [row for row in facts["allocated"] if row[1] == 3109]
    assert facts["unseen"] == ["1 library was loaded with RTLD_DEEPBIND: its heap calls are not seen"]


def test_a_separate_namespace_is_named_and_does_no_harm(record: Record) -> None:
    recording = record("loads_libraries", plugin, "namespace", 200)
    assert recording.status == 0, recording.errors
    assert recording.trace().problems() == []
    (line,) = recording.trace().facts["unseen"]
    assert line == "1 library was opened in a namespace of its own (dlmopen): its heap calls are not seen"


def test_operators_of_a_runtime_that_comes_later(record: Record) -> None:
    """As in Python: an extension brings libstdc++ for itself alone, so that looking an operator up fails first."""
    recording = record("loads_libraries", programs / "operator_plugin.so", "operators", 200)
    assert recording.status == 0, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []


@pytest.mark.skipif(
    not (programs / "musl_program").exists(), reason="musl-tools were not installed at the build"
)
def test_another_libc(record: Record) -> None:
    """Calls, threads and forks are recorded under musl; stacks end whole at its own start."""
    recording = record("musl_program", options=["--children"])
    assert recording.status == 3, recording.errors
    traces = recording.traces()
    assert len(traces) == 2
    assert differences(recording.said, traces) == []
    for trace in traces:
        assert trace.problems() == []
        assert trace.facts["allocator"] == "ld-musl-x86_64.so.1 (/lib/ld-musl-x86_64.so.1)"
        assert trace.facts["notes"] == []
    ((_, main, start),) = read_trace(traces[0].path, 3011).facts["stacks"]
    assert main[0].endswith("/musl_program") and start[0] == "/lib/ld-musl-x86_64.so.1"
