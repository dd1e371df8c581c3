# SPDX-License-Identifier: MIT
"""--change: which call stacks it means, what is said of it, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.measure.errors import MeasureError
from heapwright.model import Trace
from heapwright.model.sites import Site
from heapwright.model.symbols import Location
from heapwright.replay import candidates, changes
from heapwright.replay.result import Effect
from heapwright.report.declared import names_of
from replay_documents import typed
from written_traces import CALLOC, FREE, MALLOC, REALLOC, MadeTrace


class _Sites(list[Site]):
    site_of_stack = (0, 1, 2, 3, 1)


_NAMES = [
    ("main", "src/main.cpp", 3),
    ("shop::parse_line(std::string const&)", "/build/src/parse.cpp", 40),
    ("shop::parse_line(std::string const&)", "/build/src/parse.cpp", 44),
    ("std::map<int, shop::Item>::insert(int)", "map.hpp", 7),
]


def made_sites(names: list[tuple[str, str, int]] = _NAMES) -> Any:
    sites = _Sites(
        Site(number, (Location(function, file, line, False, "shop"),), number)
        for number, (function, file, line) in enumerate(names)
    )
    return SimpleNamespace(sites=lambda: sites)


@pytest.mark.parametrize(
    ("text", "stacks"),
    [
        ("arena@main", [1, 0, 0, 0, 0]),
        ("arena@parse_line", [0, 1, 1, 0, 1]),
        ("arena@shop::parse_line", [0, 1, 1, 0, 1]),
        ("arena@parse_line@parse.cpp:44", [0, 0, 1, 0, 0]),
        ("arena@shop::parse_line@/build/src/parse.cpp:40", [0, 1, 0, 0, 1]),
        ("node_pool@std::map<int, shop::Item>::insert,main", [1, 0, 0, 1, 0]),
        ("reserve@3, 0", [1, 0, 0, 1, 0]),
    ],
)
def test_sites_are_chosen_as_explain_names_them(text: str, stacks: list[int]) -> None:
    change = changes.parse(text, made_sites())
    assert list(change.stacks) == stacks
    assert change.words == text.partition("@")[0]
    (part,) = change.parts
    assert len(part.sites) == len(
        {site for site, is_chosen in zip((0, 1, 2, 3, 1), stacks, strict=True) if is_chosen}
    )


@pytest.mark.parametrize(
    ("text", "words", "stacks"),
    [
        ("arena@main+reserve@parse_line", "arena+reserve", [1, 2, 2, 0, 2]),
        ("small_vector:64@3+arena@main,2", "small_vector:64+arena", [2, 0, 2, 1, 0]),
        ("arena:phase=a load@3+deferred_free@main", "arena:phase=a load+deferred_free", [2, 0, 0, 1, 0]),
        (
            "arena@3+buffer_cache:buffers=64,total_bytes=4M@main,2",
            "arena+buffer_cache:buffers=64,total_bytes=4M",
            [2, 0, 2, 1, 0],
        ),
        # a function's own plus, and a library's place
        ("arena@operator+,lib.so+0x12", "arena", [1, 1, 0, 0, 1]),
    ],
)
def test_several_changes_have_their_own_sites(text: str, words: str, stacks: list[int]) -> None:
    names = [("lib.so+0x12", "x", 0), ("operator+", "", 0)]
    change = changes.parse(text, made_sites() if "operator" not in text else made_sites(names))
    assert change.words == words
    assert list(change.stacks) == stacks


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arena@parse_line+reserve@2", "parse.cpp:44 is named twice"),
        ("arena@main+reserve@", "name the change and where"),
        ("arena", "name the change and where, as in arena@parse_line"),
        ("@main", "name the change and where"),
        ("arena@", "name the change and where"),
        ("arena@parse_lin", "no call site parse_lin in the recording; did you mean shop::parse_line?"),
        ("arena@line", "no call site line in the recording"),
        ("arena@parse_line@parse.cpp:4", "no call site parse_line@parse.cpp:4"),
        ("arena@9", "no site 9; their numbers are below 4"),
        (f"arena@{'1' * 5000}", "their numbers are below 4"),
        (
            "+".join(f"arena@site{n}" for n in range(300)),
            "one --change takes at most 4 changes, not 300",
        ),
    ],
)
def test_what_names_no_site_is_one_line(text: str, message: str) -> None:
    with pytest.raises(MeasureError) as caught:
        changes.parse(text, made_sites())
    assert message in str(caught.value)


def test_a_note_says_what_became_of_the_change() -> None:
    counts = {"changed_blocks": 10, "change_events": 2, "freed_by_others": 3, "never_freed": 1}
    record = {"text": "arena@main", "change": "arena", **counts}
    assert changes.note(typed(Effect, record)) == (
        "arena@main: 10 blocks changed, the arena is reset 2 times, 3 blocks freed by another thread: "
        "their arena waits for its own thread, 1 block never freed"
    )
    pool = record | {"change": "node_pool", "never_freed": 0}
    assert "3 blocks left to the heap: freed by another thread" in changes.note(typed(Effect, pool))
    moved = pool | {"moved_by_others": 2}
    assert "2 blocks left to the heap: reallocated by another thread" in changes.note(typed(Effect, moved))
    small = record | {"text": "small_vector:64@main", "change": "small_vector"}
    assert changes.note(typed(Effect, small)).startswith(
        "small_vector:64@main: 10 blocks not made, 2 calls gone; memory is at least this"
    )
    phase = record | {"text": "arena:phase=load@main", "outlived": 4, "never_freed": 0, "freed_by_others": 0}
    assert changes.note(typed(Effect, phase)) == (
        "arena:phase=load@main: 10 blocks changed, the arena is reset 2 times, 4 blocks left to the heap: "
        "they outlive the phase"
    )
    waiting = {"most_waiting_bytes": 2048, "freed_by_caller": 6, "freed_by_others": 0, "never_freed": 0}
    put_off = record | {"text": "deferred_free@main", "change": "deferred_free"} | waiting
    assert changes.note(typed(Effect, put_off)) == (
        "deferred_free@main: 10 blocks freed later, 2 runs of frees handed to another thread, at most 2.00 KiB "
        "waited, 6 blocks freed by their own thread after all: too many waited, or it ended"
    )
    both = [record | {"text": "x"}, record | {"text": "x", "change": "reserve"}, small]
    assert [note.partition(": ")[0] for note in changes.notes([typed(Effect, one) for one in both])] == [
        "x (arena)",
        "x (reserve)",
        "small_vector:64@main",
    ]


def test_each_allocator_is_there_as_recorded_and_with_each_change() -> None:
    plain = [candidates.Candidate("glibc", "2.36", ""), candidates.Candidate("jemalloc", "5", "/j.so")]
    chosen = candidates.with_changes(candidates.Chosen(plain, True, []), ["arena@main"])
    assert [(c.name, c.change) for c in chosen.candidates] == [
        ("glibc", ""),
        ("glibc arena@main", "arena@main"),
        ("jemalloc", ""),
        ("jemalloc arena@main", "arena@main"),
    ]


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Two call sites without names: site 1 and 2 are stacks 1 and 2."""
    made = MadeTrace()
    made.meta("program", "/opt/shop/server").meta("allocator", "glibc 2.36 (/lib/libc.so.6)")
    made.meta("process_id", 100)
    made.line("thread", 0, 100, "main", 0, 0)
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/shop/server", "aabbcc")
    for pc in (0x401000, 0x402000):
        made.line("frame", pc, 0)
    for frame in (0, 1):
        made.line("stack", 0, frame)
    for number in range(BLOCKS):
        made.event(MALLOC, 0x10000 + 4096 * number, 3000, stack=1)
    made.event(CALLOC, 0x3000, 50, stack=2)
    made.event(REALLOC, 0x4000, 500, old=0x3000, stack=2)
    made.event(FREE, 0x4000)
    for number in range(BLOCKS):
        made.event(FREE, 0x10000 + 4096 * number)
    made.line("memory", 1000, 100_000)
    return str(made.write(tmp_path / "server.heapwright"))


# Their frees in a row take longer than any other call of the recording.
BLOCKS = 500
QUICK = ["--runs", "2", "--idle", "0"]


def site_of(file: str, stack: int) -> int:
    return int(Trace(Path(file)).sites().site_of_stack[stack])


def test_the_changed_recording_is_replayed_beside_the_unchanged_one(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arena, reserve = f"arena@{site_of(file, 1)}", f"reserve@{site_of(file, 2)}"
    words = ["replay", file, "--change", arena, "--change", reserve, *QUICK, "--json"]
    assert run_command(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert [c["name"] for c in document["candidates"]] == ["glibc", f"glibc {arena}", f"glibc {reserve}"]
    assert [c["change"] for c in document["candidates"]] == ["", arena, reserve]
    counts = {change["text"]: change for change in document["changes"]}
    assert counts[arena]["changed_blocks"] == BLOCKS
    assert counts[arena]["change_events"] == 1
    assert counts[reserve]["changed_bytes"] == 500
    for candidate in document["candidates"]:
        assert len(candidate["runs"]["memory"]) == len(candidate["runs"]["time"]) == 2
        assert candidate["runs"]["time"][0]["calls"] == 2 * BLOCKS + 3


def test_several_changes_are_one_candidate(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    both = f"arena@{site_of(file, 1)}+reserve@{site_of(file, 2)}"
    assert run_command(["replay", file, "--change", both, *QUICK, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [c["change"] for c in document["candidates"]] == ["", both]
    found = [(c["text"], c["change"], c["changed_blocks"], c["sites"]) for c in document["changes"]]
    sites = Trace(Path(file)).sites()
    assert found == [
        (both, "arena", BLOCKS, [str(sites[site_of(file, 1)])]),
        (both, "reserve", 1, [str(sites[site_of(file, 2)])]),
    ]


def test_frees_are_put_off_or_left_out(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    later, never = f"deferred_free:1@{site_of(file, 1)}", f"exit_policy@{site_of(file, 1)}"
    words = ["replay", file, "--change", later, "--change", never, *QUICK]
    assert run_command([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    counts = {change["text"]: change for change in document["changes"]}
    assert (counts[later]["changed_blocks"], counts[later]["change_events"]) == (BLOCKS, 1)
    assert counts[later]["most_waiting_bytes"] == BLOCKS * 3000
    assert counts[never]["changed_blocks"] == BLOCKS
    for candidate in document["candidates"]:  # what another thread frees is nobody's call
        assert candidate["runs"]["time"][0]["calls"] == 2 * BLOCKS + 3
    plain, put_off, _ = (candidate["longest_frees_ns"] for candidate in document["candidates"])
    assert put_off >= 0 and plain > 0, "which is shorter is the bench's to say: two runs of microseconds"
    assert run_command(words) == 0
    said = capsys.readouterr().out
    assert f"glibc {later}: a thread's longest run of frees takes" in said
    assert f"glibc {never}: a thread's" not in said


def test_a_change_that_cannot_be_made_is_one_line(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    site = site_of(file, 1)
    assert run_command(["replay", file, "--change", f"reserve@{site}", *QUICK]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"heapwright: --change reserve@{site}: no block of these sites grows: there is nothing to reserve"
    ]
    assert run_command(["replay", file, "--change", f"arenas@{site}", *QUICK]) == 2
    assert "no change arenas; there are: arena, node_pool, reserve" in capsys.readouterr().err


def test_a_cache_has_limits_and_a_policy_of_ones_choice(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    site = site_of(file, 1)
    one = f"buffer_cache:buffers=64,total_bytes=4M,policy=fixed_cutoff_4096@{site}"
    both = f"{one}+reserve@{site_of(file, 2)}"
    assert run_command(["replay", file, "--change", one, "--change", both, *QUICK, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [c["change"] for c in document["candidates"]] == ["", one, both]
    assert [(c["change"], c["changed_blocks"]) for c in document["changes"]] == [
        ("buffer_cache", BLOCKS),
        ("buffer_cache", BLOCKS),
        ("reserve", 1),
    ]
    assert run_command(["replay", file, "--change", f"buffer_cache:policy=lru@{site}", *QUICK]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "policy=NAME of learnt_cutoff fixed_cutoff_256" in line
    assert line.endswith("not 'policy=lru'")


def test_trims_concern_no_site() -> None:
    change = changes.parse("trim:500", made_sites())
    assert (change.words, change.stacks, change.parts[0].sites) == ("trim:500", bytes(5), ())
    both = changes.parse("arena@main+trim:500", made_sites())
    assert (both.words, list(both.stacks)) == ("arena+trim:500", [1, 0, 0, 0, 0])
    first = changes.parse("trim:500+arena@main", made_sites())
    assert (first.words, list(first.stacks)) == ("trim:500+arena", [2, 0, 0, 0, 0])
    counts = {key: [0] for key in names_of(Effect)} | {"change_events": [3]}
    (effect,) = changes.effects(change, counts)
    assert (
        changes.note(effect) == "trim:500: malloc_trim(0) is called 3 times, by the thread that called last"
    )
