# SPDX-License-Identifier: MIT
"""Each target program's own account of its calls, against its trace."""

import os
from importlib.metadata import version
from pathlib import Path

import pytest
from conftest import Record, build, differences, programs

exact_programs = [
    "all_entry_points",
    "calloc_in_dlsym_storm",
    "threads_come_and_go",
    "ten_thousand_threads",
    "tls_destructor_free",
    "atexit_free",
    "realloc_patterns",
    "odd_sizes",
    "memory_limit",
    "own_operator_new",
    "mappings",
    "libc_allocates",
    "locale_at_start",
    "small_stacks",
    "stacks",
    "exits_with",
]


@pytest.mark.parametrize("program", exact_programs)
def test_every_call_is_in_the_trace(record: Record, program: str) -> None:
    recording = record(program)
    assert recording.status == 0, recording.output + recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []


@pytest.mark.parametrize(
    "options", [["--free-stacks"], ["--no-durations"], ["--no-stacks"], ["--max-frames", "1"]]
)
@pytest.mark.parametrize("program", ["all_entry_points", "threads_come_and_go", "realloc_patterns"])
def test_every_call_is_there_with_other_options(record: Record, program: str, options: list[str]) -> None:
    recording = record(program, options=options)
    assert recording.status == 0, recording.errors
    trace = recording.trace()
    said = recording.said
    if "--no-durations" in options:
        # Without durations an allocation's end is unknown, so two threads
        # that pass an address on cannot always be told apart.
        said = [line for line in said if line[0] != "released"]
        called = trace.facts["called"]
        # A realloc releases at its begin and allocates at its end: two stamps.
        reallocs = called.get("realloc", 0) + called.get("reallocarray", 0)
        assert trace.facts["events"] - trace.facts["no_duration"] <= reallocs
    else:
        assert trace.problems() == []
    if "--no-stacks" in options:
        assert trace.facts["no_stack"] == trace.facts["events"]
    assert differences(said, [trace]) == []


def test_a_failing_operator_new_is_recorded_with_what_its_handler_calls(record: Record) -> None:
    recording = record("new_handler")
    assert recording.status == 0, recording.output + recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []
    # Exceptions are allocated and released by the C++ runtime, both recorded.
    assert trace.facts["unknown_releases"] == 0


def test_a_program_sees_the_same_blocks_as_without_a_recorder(record: Record) -> None:
    """all_entry_points and odd_sizes check return values, errno and sizes themselves."""
    for program in ("all_entry_points", "odd_sizes", "new_handler"):
        recording = record(program)
        assert not [line for line in recording.said if line[0] == "failed_check"]


libraries = Path("/usr/lib/x86_64-linux-gnu")


@pytest.mark.parametrize(
    ("library", "name", "own_calls"),
    [
        ("libjemalloc.so.2", "jemalloc 5.3.0", 0),
        ("libmimalloc.so.2.0", "mimalloc 2.0.9", 0),
        ("libtcmalloc_minimal.so.4", "tcmalloc 2.10", 0),
        # Reads /proc by fopen() inside its first malloc, which could as well
        # be a signal handler's doing: counted.
        ("libtbbmalloc_proxy.so.2", "libtbbmalloc_proxy.so.2", 64),
    ],
)
def test_on_top_of_another_preloaded_allocator(
    record: Record, library: str, name: str, own_calls: int
) -> None:
    path = libraries / library
    recording = record("threads_come_and_go", environment={"LD_PRELOAD": str(path)})
    assert recording.status == 0, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.facts["dropped"] <= own_calls
    assert [problem for problem in trace.problems() if not problem.startswith("dropped")] == []
    assert trace.facts["allocator"] == f"{name} ({path})"


def test_the_allocator_of_glibc_is_named(record: Record) -> None:
    library_version = os.confstr("CS_GNU_LIBC_VERSION")
    assert record("exits_with").trace().facts["allocator"].startswith(f"{library_version} (/")


def test_a_program_that_takes_the_addresses_of_malloc_is_no_allocator(record: Record) -> None:
    recording = record("fixed_addresses")
    assert recording.status == 0, recording.errors
    assert "linked in statically" not in recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []
    library_version = os.confstr("CS_GNU_LIBC_VERSION")
    assert trace.facts["allocator"].startswith(f"{library_version} (/")


def test_our_own_heap_is_named(record: Record) -> None:
    path = build / "lib/libheapwright.so"
    recording = record("threads_come_and_go", environment={"LD_PRELOAD": str(path)})
    assert recording.status == 0, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.facts["allocator"] == f"heapwright {version('heapwright')} ({path})"


def test_a_program_is_named_as_it_was_started(record: Record, tmp_path: Path) -> None:
    """Many programs are links to one executable: the trace names both."""
    link = tmp_path / "second-name"
    link.symlink_to(programs / "exits_with")
    facts = record(link).trace().facts
    assert (facts["command"], facts["program"]) == (str(link), str(programs / "exits_with"))


def test_events_in_a_signal_handler_are_there_or_counted(record: Record) -> None:
    recording = record("signal_handler")
    assert recording.status == 0, recording.errors
    trace = recording.trace()
    handled = recording.note("handled")
    assert handled > 0
    missing = 2 * handled - trace.facts["called"].get("malloc_usable_size", 0) - trace.facts["null_frees"]
    assert 0 <= missing <= trace.facts["dropped"]
    assert differences(recording.said, [trace]) == []


def test_closing_every_descriptor_loses_nothing(record: Record) -> None:
    recording = record("closes_all_descriptors", options=["--children"])
    assert recording.status == 0, recording.errors
    traces = recording.traces()
    assert len(traces) == 2
    assert differences(recording.said, traces) == []
    assert sum(t.count("allocated", "malloc", 3023) for t in traces) == 1


def test_a_program_with_its_own_malloc_is_named_as_unseen(record: Record) -> None:
    """And its operators are recorded, on blocks that only its own allocator knows."""
    recording = record("own_malloc")
    assert recording.status == 0, recording.errors
    path = programs / "own_malloc"
    assert f"'{path}' has an allocator linked in statically and calls it directly" in recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []
    assert trace.facts["allocator"] == f"own_malloc ({path})"


def test_a_program_with_its_own_realloc_has_it_called_by_reallocarray(record: Record) -> None:
    recording = record("own_realloc")
    assert (recording.status, recording.output) == (0, "as it was, in its own memory\n"), recording.errors
