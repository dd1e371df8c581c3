# SPDX-License-Identifier: MIT
"""What allocators offer under names of their own: mi_malloc, mallocx, tc_malloc and the like."""

from pathlib import Path

import heapwright
import pytest
from conftest import Record, Trace, differences, programs, read_trace

libraries = Path("/usr/lib/x86_64-linux-gnu")
files = {
    "mimalloc": libraries / "libmimalloc.so.2.0",
    "jemalloc": libraries / "libjemalloc.so.2",
    "tcmalloc": libraries / "libtcmalloc_minimal.so.4",
}
first_size = {"mimalloc": 3101, "jemalloc": 3201, "tcmalloc": 3301}


def innermost_modules(trace: Trace) -> set[str]:
    return {stack[0][0].rsplit("/", 1)[-1] for stack in trace.facts["stacks"]}


@pytest.mark.parametrize("way", ["linked", "preloaded", "opened", "sampled"])
@pytest.mark.parametrize("family", files)
def test_every_call_by_an_own_name_is_recorded(record: Record, family: str, way: str) -> None:
    program = "own_names" if way in ("preloaded", "opened") else f"own_names_{family}"
    environment = {"LD_PRELOAD": str(files[family])} if way == "preloaded" else {}
    later = files[family] if family != "jemalloc" else programs / "prefixed_jemalloc.so"
    arguments = [family, later] if way == "opened" else [family]
    options = ["--sample", "1"] if way == "sampled" else []
    recording = record(program, *arguments, environment=environment, options=options)
    assert recording.status == 0, recording.output + recording.errors
    trace = read_trace(recording.paths()[0], first_size[family])
    said = [line for line in recording.said if way != "sampled" or line[0] == "released"]
    assert differences(said, [trace]) == []
    assert trace.problems() == []
    assert trace.facts["unknown_releases"] == 0
    assert innermost_modules(trace) == {program}


def test_an_operator_of_an_own_name_may_throw(record: Record) -> None:
    """tc_new; mi_new ends the program, where mimalloc is built as C (Debian's is)."""
    recording = record("own_names_tcmalloc", "tcmalloc", "throws")
    assert recording.status == 0, recording.output + recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []


def test_a_program_that_asks_for_an_allocator_finds_it_only_when_it_is_there(record: Record) -> None:
    """Redis and folly test weak names (`if (mallocx)`); ours must not answer."""
    alone = record("own_names", "weak")
    assert [alone.note(name) for name in ("mi_malloc", "mallocx", "tc_malloc", "found")] == [0, 0, 0, 0]
    with_library = record("own_names", "weak", environment={"LD_PRELOAD": str(files["jemalloc"])})
    notes = [with_library.note(name) for name in ("mi_malloc", "mallocx", "tc_malloc", "found")]
    assert notes == [0, 1, 0, 1]


def test_blocks_that_end_with_their_heap_make_the_trace_incomplete(record: Record) -> None:
    recording = record("own_names_mimalloc", "heaps")
    assert recording.status == 0, recording.errors
    facts = recording.trace().facts
    assert differences(recording.said, [recording.trace()]) == []
    assert facts["dropped"] == 1
    assert [note for note in facts["notes"] if note.startswith("1 calls to the allocator's own functions")]


def test_an_allocator_opened_again_elsewhere(record: Record) -> None:
    recording = record("own_names", "again", programs / "prefixed_jemalloc.so")
    assert recording.status == 0, recording.output + recording.errors
    assert differences(recording.said, [recording.trace()]) == []
    assert recording.trace().problems() == []


def test_an_allocator_inside_a_library_is_named_and_the_trace_is_not_complete(record: Record) -> None:
    library = programs / "hides_allocator.so"
    recording = record("loads_libraries", library, "again", 3)
    assert recording.status == 0, recording.errors
    (line,) = recording.trace().facts["unseen"]
    assert line.startswith(f"'{library}' has mimalloc linked in statically: calls to it are not seen")
    assert line in recording.errors
    completeness = heapwright.open(recording.paths()[0]).facts().completeness
    assert not completeness.is_complete
    assert line in completeness.reasons


@pytest.mark.parametrize("family", files)
def test_an_allocator_whose_names_are_recorded_leaves_the_trace_complete(record: Record, family: str) -> None:
    recording = record(f"own_names_{family}", family)
    assert recording.trace().facts["unseen"] == []
    assert heapwright.open(recording.paths()[0]).facts().completeness.is_complete
