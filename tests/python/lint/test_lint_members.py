# SPDX-License-Identifier: MIT
"""Which lines are worth a look, and which of them are one member's: on facts made by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from heapwright.explain.growing_sites import Held, Row
from heapwright.explain.growth_kinds import CREEP, LEAK
from heapwright.lint import hot, members
from heapwright.lint.expression import CALL, Expression, Owner
from heapwright.lint.join import Named
from heapwright.lint.kinds import KEPT_CAPACITY
from heapwright.lint.lines import Group
from heapwright.model import Location

FIELDS = Owner("member", "Request::fields", "c:@S@Request@FI@fields")
OTHERS_FIELDS = Owner("member", "Request::fields", "c:b.cpp@aN@S@Request@FI@fields")


def group(line: int, file: str = "/a.cpp") -> Group:
    return Group((file, line), Location("f", file, line, "", ""), "g", "", "", 1)


def named(owner: Owner, kind: str = "vector-growth", text: str = "v.push_back(1)") -> Named:
    one = Expression(CALL, "push_back", "vector", "void", "", 1, True, owner, False, 1, 1, 1, 1, text, "f")
    return Named(kind, one, True)


def row(kind: str, blocks: int, slope: float = 100.0) -> Row:
    begin, end = Held(blocks * 100, blocks, 100.0), Held(blocks * 1100, blocks, 1100.0)
    return Row(kind, slope, 1.0, True, 0, 1, begin, end, 0, "", "")


class Growths:
    """What is asked of Growth, with one answer for each set of groups."""

    def __init__(self, answers: dict[frozenset[int], Row]) -> None:
        self._answers = answers

    def together(self, sites: set[int]) -> Row | None:
        return self._answers.get(frozenset(sites))

    def grown_bytes(self, site: int) -> int:
        found = self._answers.get(frozenset((site,)))
        return found.end.bytes - found.begin.bytes if found else 0


def joined(all_named: dict[int, Named], answers: dict[frozenset[int], Row] | None = None) -> Any:
    groups = [group(10 * (number + 1)) for number in range(max(all_named) + 1)]
    growths: Any = Growths(answers or {})
    return [(one.kind, one.numbers) for one in members.join(all_named, groups, growths)]


def test_lines_of_one_member_are_one_finding() -> None:
    assert joined({0: named(FIELDS), 1: named(FIELDS, text="v.resize(9)")}) == [("vector-growth", (0, 1))]
    copies = {0: named(FIELDS, "vector-copy"), 1: named(FIELDS, "vector-copy")}
    assert len(joined(copies)) == 2  # what is to be done is to be done at each


def test_members_of_the_same_name_are_not_joined() -> None:
    assert len(joined({0: named(FIELDS), 1: named(OTHERS_FIELDS)})) == 2
    unknown = Owner("member", "x")
    assert len(joined({0: named(unknown), 1: named(unknown)})) == 2
    local = Owner("local", "v")
    assert len(joined({0: named(local), 1: named(local)})) == 2


def test_a_creeping_member_is_told_of_all_its_lines() -> None:
    both = {0: named(FIELDS), 1: named(FIELDS, "vector-copy")}
    whole = frozenset((0, 1))
    assert joined(both, {whole: row(CREEP, 50)}) == [(KEPT_CAPACITY.name, (0, 1))]
    assert len(joined(both, {whole: row(LEAK, 50)})) == 2
    assert len(joined(both, {whole: row(CREEP, 1)})) == 2  # data that only grows


def test_its_gain_is_what_the_blocks_have_grown_by() -> None:
    found = members.remedy(row(CREEP, 50), "vector-growth", 100_000)
    assert (found.bytes, found.bytes_share, found.part) == (50_000, 0.5, "object_pool")
    assert members.remedy(row(CREEP, 50), "new-array", 100_000).part == "buffer_cache"


def test_what_does_not_surely_grow_is_not_told_to() -> None:
    assert members.growing(None) is None
    assert members.growing(row(LEAK, 5)._replace(is_sure=False)) is None
    assert members.growing(row(LEAK, 5, slope=-1.0)) is None
    unsure = members.growing(row(CREEP, 5)._replace(is_sure=False))
    assert unsure is not None
    assert (unsure.bytes_per_s, unsure.mean_bytes_at_end) == (0, 1100)


@pytest.mark.parametrize(
    ("pinned", "grown", "is_hot"), [(0, False, False), (900, False, True), (0, True, True)]
)
def test_lines_that_only_pin_or_grow_are_worth_a_look(pinned: int, grown: bool, is_hot: bool) -> None:
    few = SimpleNamespace(allocations=1, bytes=1, allocator_ns=1, release_ns=0, live_at_peak_bytes=1)
    many = SimpleNamespace(**dict.fromkeys(vars(few), 1_000_000))
    facts = SimpleNamespace(
        sites=[many, few],
        residency=[SimpleNamespace(resident_bytes=100), SimpleNamespace(resident_bytes=10_000)],
        peak=SimpleNamespace(live_bytes=1_000_000),
    )
    growth = Growths({frozenset((1,)): row(LEAK, 50)} if grown else {})
    reading: Any = SimpleNamespace(
        groups=SimpleNamespace(groups=[group(1), group(2)]),
        facts=facts,
        growth=growth,
        pinned_bytes=[0, pinned],
    )
    reading.most_resident_bytes = lambda: hot.Reading.most_resident_bytes(reading)
    given: Any = SimpleNamespace(paths=())
    found = hot.hot(given, reading)
    assert (("/a.cpp", 2) in found) is is_hot
    elsewhere: Any = SimpleNamespace(paths=(str(Path("/b.cpp")),))
    assert hot.hot(elsewhere, reading) == {}
