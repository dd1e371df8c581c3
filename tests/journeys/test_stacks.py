# SPDX-License-Identifier: MIT
"""Stacks that are hard to walk, against the functions the program says it was in."""

import bisect
import json
import subprocess

import pytest
from conftest import Record, Trace, command, programs, read_trace


def function_names(trace: Trace, stack: list[object], program: str = "stacks") -> list[str]:
    """Frames of the target program by name (through nm), others by their library."""
    path = programs / program
    listing = subprocess.run(["nm", "-n", "--defined-only", path], capture_output=True, text=True, check=True)
    rows = [row.split() for row in listing.stdout.splitlines()]
    symbols = [(int(address, 16), name) for address, kind, name in rows if kind in "tTwW"]
    addresses = [address for address, _ in symbols]
    names = []
    for frame in stack:
        if isinstance(frame, str):
            names.append(frame)
        elif isinstance(frame, list) and frame[0] == str(path):
            names.append(symbols[bisect.bisect_right(addresses, frame[1]) - 1][1])
        elif isinstance(frame, list):
            names.append(frame[0].rsplit("/", 1)[-1])
    return names


@pytest.fixture(scope="module", params=["stacks", "stacks_with_gaps"])
def stacks_of(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest):
    folder = tmp_path_factory.mktemp("stacks")
    from conftest import collector

    line = [collector, "--output", folder / "x.heapwright", "--quiet", "--", programs / request.param]
    subprocess.run([str(p) for p in line], check=True, capture_output=True, timeout=60)

    def read(size: int) -> list[list[str]]:
        trace = read_trace(folder / "x.heapwright", size)
        return [function_names(trace, stack, request.param) for stack in trace.facts["stacks"]]

    return read


def test_a_deep_recursion_is_cut_visibly(stacks_of) -> None:
    (stack,) = stacks_of(3001)
    assert stack[-1] == "(too deep)"
    assert stack[:-1] == ["recurse"] * 128


def test_a_stack_within_the_limit_is_whole(stacks_of) -> None:
    (stack,) = stacks_of(3061)
    assert stack[:52] == ["recurse"] * 51 + ["main"]
    assert stack[52:] == ["libc.so.6", "libc.so.6", "_start"]


def test_a_stack_after_longjmp_shows_no_frame_of_before(stacks_of) -> None:
    (before,) = stacks_of(3011)
    assert before[:23] == ["jump_out"] * 21 + ["after_jump", "main"]
    (after,) = stacks_of(3019)
    assert after[:2] == ["after_jump", "main"]


def test_a_coroutine_and_its_caller_keep_their_own_stacks(stacks_of) -> None:
    for stack in stacks_of(3023):
        assert stack[0] == "in_coroutine"
        assert "switch_often" not in stack
    (outside,) = stacks_of(3037)
    assert outside[:2] == ["switch_often", "main"]


def test_a_callback_is_found_through_libc(stacks_of) -> None:
    (stack,) = stacks_of(3041)
    assert stack[0] == "compare_blocks"
    assert stack[1] == "libc.so.6"
    assert stack.index("sort_with_callback") < stack.index("main")


def test_stacks_under_exceptions(stacks_of) -> None:
    depths = sorted(stack.count("throw_deep") for stack in stacks_of(3049))
    assert depths == [1, 2, 3, 4]


def test_one_frame_when_one_is_wanted(record: Record) -> None:
    recording = record("stacks", options=["--max-frames", "1"])
    trace = read_trace(recording.paths()[0], 3061)
    (stack,) = trace.facts["stacks"]
    assert function_names(trace, stack) == ["recurse", "(too deep)"]


def test_without_unwind_tables_frame_pointers_lead_on(record: Record) -> None:
    trace = read_trace(record("no_tables_framed").paths()[0], 3089)
    marked = "(by frame pointer)"
    whole = [function_names(trace, stack, "no_tables_framed") for stack in trace.facts["stacks"]]
    assert {tuple(stack[:-3]) for stack in whole} == {
        tuple(["deep", marked] * levels + ["main", marked]) for levels in (1, 2, 3)
    }
    assert all(stack[-3:] == ["libc.so.6", "libc.so.6", "_start"] for stack in whole)


def test_without_frame_pointers_too_the_stack_is_cut(record: Record) -> None:
    trace = read_trace(record("no_tables_frameless").paths()[0], 3089)
    stacks = [function_names(trace, stack, "no_tables_frameless") for stack in trace.facts["stacks"]]
    assert stacks == [["deep", "(no tables)"]] * len(stacks)
    head = subprocess.run([command, "explain", trace.path], capture_output=True, text=True, check=True).stdout
    said = "100 % of allocations' stacks are cut: no unwind information in no_tables_frameless"
    assert said in " ".join(head.split())


def test_constructors_of_libraries_are_called_by_the_loader_first_of_all(record: Record) -> None:
    """libstdc++ allocates in one."""
    trace = record("stacks").trace()
    info = subprocess.run([command, "info", "--json", trace.path], capture_output=True, text=True, check=True)
    (line,) = json.loads(info.stdout)["cut_stacks"]
    assert line.endswith("are cut: they are deeper than the limit (--max-frames)")
