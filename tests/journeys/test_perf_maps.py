# SPDX-License-Identifier: MIT
"""Code made at run time has the names that its runtime writes to a map for perf."""

import platform
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import heapwright
import pytest
from conftest import command, programs

needs_code = pytest.mark.skipif(platform.machine() != "x86_64", reason="the program makes code for x86-64")


@pytest.fixture
def maps() -> Iterator[list[Path]]:
    """Maps to be removed: programs leave them."""
    left: list[Path] = []
    yield left
    for path in left:
        path.unlink(missing_ok=True)


def record(folder: Path, words: Sequence[str | Path], maps: list[Path]) -> heapwright.Trace:
    path = folder / "x.heapwright"
    line = [command, "record", "--quiet", "--output", path, "--", *words]
    subprocess.run([str(word) for word in line], check=True, capture_output=True, timeout=300)
    trace = heapwright.open(path)
    maps.append(Path(f"/tmp/perf-{trace.metadata.process_id}.map"))
    return trace


def stack_and_site(trace: heapwright.Trace, function: str) -> tuple[list[tuple[str, str, int]], str]:
    """Of the calls in this function: functions, files and lines from it outwards, to main."""
    for stack in range(1, len(trace.stack_columns["frame"])):
        found = [location[:3] for location in trace.stack(stack)]
        if function in found[0][0]:
            names = [name for name, _, _ in found]
            end = names.index("main") if "main" in names else len(names)
            return found[1:end], str(trace.sites()[trace.sites().site_of_stack[stack]])
    raise AssertionError(f"no call in {function}")


@needs_code
def test_stacks_go_on_through_named_code(tmp_path: Path, maps: list[Path]) -> None:
    trace = record(tmp_path, [programs / "makes_code"], maps)
    stack, site = stack_and_site(trace, "make_block")
    replaced = stack.pop(2)
    assert replaced[0].startswith("0x"), "two names for one place: none"
    by_frame_pointer = ("(by frame pointer)", "", 0)
    assert stack == [
        ("handle", "/srv/server.js", 14),
        by_frame_pointer,
        by_frame_pointer,
        ("serve", "/srv/server.js", 20),
        by_frame_pointer,
        ("run", "/srv/app.py", 0),
    ]
    assert site.startswith("handle /srv/server.js:14"), "the program runs this code, as an interpreter does"


@needs_code
def test_names_are_in_the_trace_and_not_in_anonymous_copies(tmp_path: Path, maps: list[Path]) -> None:
    trace = record(tmp_path, [programs / "makes_code"], maps)
    maps[0].unlink()
    for options in (["--to", "trace"], ["--to", "trace", "--anonymize"]):
        copy = tmp_path / f"copy{len(options)}.heapwright"
        line = [command, "export", *options, "--output", copy, tmp_path / "x.heapwright"]
        subprocess.run([str(word) for word in line], check=True, capture_output=True, timeout=300)
    named = heapwright.open(tmp_path / "copy2.heapwright")
    assert stack_and_site(named, "make_block") == stack_and_site(trace, "make_block")
    anonymous = (tmp_path / "copy3.heapwright").read_bytes()
    for stack in range(1, len(trace.stack_columns["frame"])):
        said = heapwright.open(tmp_path / "copy3.heapwright").stack(stack)
        assert [location.function.startswith("0x") for location in said] == [
            location.function.startswith("0x") for location in trace.stack(stack)
        ]
        assert not any("serve" in location.function + location.file for location in said)
    assert b"server.js" not in anonymous


@needs_code
def test_a_link_is_not_followed(tmp_path: Path, maps: list[Path]) -> None:
    trace = record(tmp_path, [programs / "makes_code", tmp_path / "elsewhere"], maps)
    stack, _ = stack_and_site(trace, "make_block")
    assert all(name.startswith(("0x", "(")) for name, _, _ in stack)
    assert any("is a link" in note for note in trace.metadata.notes)
