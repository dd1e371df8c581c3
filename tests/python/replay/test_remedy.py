# SPDX-License-Identifier: MIT
"""Remedies as they are typed, as a replay takes them, and as explain ranks them."""

from __future__ import annotations

from typing import Any

import pytest
from heapwright.measure.allocators import Allocator, Shelf
from heapwright.measure.errors import MeasureError
from heapwright.replay import candidates
from heapwright.replay.remedy import Remedy, of_candidate, of_row, parse
from heapwright.replay.result import Outcome
from replay_documents import typed

PLAIN = candidates.Candidate("glibc", "2.36", "", {"MALLOC_ARENA_MAX": "2", "MALLOC_TOP_PAD_": "1"})


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("set:glibc.arena_max=1", Remedy(settings="glibc.arena_max=1")),
        (
            "set:glibc.mmap_threshold=64k+top_pad=1M+glibc.arena_max=1",
            Remedy(settings="glibc.mmap_threshold=64k,top_pad=1M,glibc.arena_max=1"),
        ),
        ("on:jemalloc+set:jemalloc.narenas=1", Remedy("jemalloc", "jemalloc.narenas=1")),
        ("on:./a+b/libmine.so+trim:500", Remedy("./a+b/libmine.so", change="trim:500")),
        (
            "segregate@operator+ (x),f+reuse@load+defer@~D",
            Remedy(change="segregate@operator+ (x),f+reuse@load+deferred_free@~D"),
        ),
        ("skip-frees-at-exit+segregate@f", Remedy(change="exit_policy+segregate@f")),
        ("segregate@f+skip-frees-at-exit", Remedy(change="segregate@f+exit_policy")),
        ("trim-when-idle", Remedy(change="trim:1000")),
        ("on:./a+b/libmine.so+trim-when-idle", Remedy("./a+b/libmine.so", change="trim:1000")),
    ],
)
def test_a_remedy_is_what_a_replay_takes(text: str, remedy: Remedy) -> None:
    assert parse(text) == remedy
    assert parse(parse(text).text) == remedy, "as it is written again"
    assert not remedy.needs_source


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no remedy ''; a remedy is set:glibc.arena_max=1, on:jemalloc,"),
        ("segragate@f", "no remedy 'segragate@f'; did you mean segregate?"),
        ("arena@f", "no remedy 'arena@f'; a remedy is"),  # takes code
        ("trim:soon", "no remedy 'trim:soon'; a remedy is"),
        ("trim:9", "trim:9: trim takes milliseconds from 10 to 3600000, as in trim:1000"),
        ("trim:3600001", "trim takes milliseconds from 10 to 3600000"),
        ("skip-frees", "no remedy 'skip-frees'; did you mean skip-frees-at-exit?"),
        ("skip-frees-at-exit@f", "no remedy 'skip-frees-at-exit@f'"),
        ("defer:100@f", "no remedy 'defer:100@f'"),
        ("set:glibc.arena_may=1", "glibc has no setting arena_may; did you mean arena_max?"),
        ("set:arena_max=1", "--set takes ALLOCATOR.NAME=VALUE"),
        ("on:jemalloc+set:glibc.arena_max=1", "settings of glibc do nothing on jemalloc"),
        ("on:jemalloc+on:glibc", "'on:' stands twice in it"),
    ],
)
def test_what_is_no_remedy_is_told(text: str, said: str) -> None:
    with pytest.raises(MeasureError) as failure:
        parse(text)
    assert said in str(failure.value)


def test_a_remedy_of_a_ranked_list_may_need_source() -> None:
    setting = of_row({"replay_set": "glibc.arena_max=1", "replay_change": "", "what": "x"})
    assert (setting.text, setting.needs_source) == ("set:glibc.arena_max=1", False)
    for change, needs in (
        ("arena@f", True),
        ("trim:7", False),
        ("segregate@f+reserve@g", True),
        ("exit_policy@f,g", False),
        ("deferred_free@f", False),
        ("deferred_free:50@f", True),  # a time that only a replay takes
    ):
        assert of_row({"replay_set": "", "replay_change": change}).needs_source is needs, change


def test_what_a_library_applies_has_the_names_of_remedies() -> None:
    remedy = of_row({"replay_set": "", "replay_change": "exit_policy@f+deferred_free@g,h", "what": "x"})
    assert remedy.text == "skip-frees-at-exit+defer@g,h"
    assert remedy.applied == [("skip-frees-at-exit", ""), ("defer", "g,h")]
    assert parse("set:glibc.arena_max=1").applied == []


class OneMore(Shelf):
    def __init__(self) -> None: ...

    def choose(self, wanted: object) -> list[Allocator]:
        assert wanted == ["jemalloc"]
        return [Allocator("jemalloc", "5", "/lib/jemalloc.so")]


def test_settings_come_on_top_of_the_recorded_ones_only_on_the_same_allocator() -> None:
    found = candidates.with_remedy(OneMore(), PLAIN, parse("set:glibc.arena_max=1"))
    assert (found.name, found.path, found.variables) == (
        "glibc set:glibc.arena_max=1",
        "",
        {"MALLOC_ARENA_MAX": "1", "MALLOC_TOP_PAD_": "1"},
    )
    found = candidates.with_remedy(OneMore(), PLAIN, parse("set:jemalloc.narenas=1+segregate@f"))
    assert (found.path, found.change) == ("/lib/jemalloc.so", "segregate@f")
    assert found.name.startswith("jemalloc "), "by which a replay knows when it returns memory"
    assert found.variables == {"MALLOC_CONF": "narenas:1"}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"name": "glibc top_pad=1", "variables": {"MALLOC_TOP_PAD_": "1"}}, "set:glibc.top_pad=1"),
        ({"name": "mine", "path": "/lib/mine.so"}, "on:mine"),
        ({"name": "mine (2)", "path": "/lib/mine.so"}, "on:/lib/mine.so"),
        ({"name": "glibc tunables", "variables": {"GLIBC_TUNABLES": "x"}}, None),
    ],
)
def test_a_candidate_of_a_replay_is_the_remedy_that_does_the_same(
    said: dict[str, Any], text: str | None
) -> None:
    found = of_candidate(typed(Outcome, said))
    assert (found and found.text) == text
