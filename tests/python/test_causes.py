# SPDX-License-Identifier: MIT
# length: one case for each rule of what is said
"""What is said of resident memory: scans and heaps worked out by hand, and what would help there.

What the settings and private heaps gave back in real programs stands beside each case.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from heapwright.explain import cause, cause_words
from heapwright.explain.advice import words
from heapwright.explain.allocators import Allocator, allocator_of
from heapwright.explain.arenas import arenas_at_most
from heapwright.explain.cause_kinds import NAMES, Kinds, kinds_at
from heapwright.explain.idle_memory import soon_ns, taken_again_bytes
from heapwright.explain.ranking import ranked
from heapwright.explain.remedies import remedies
from heapwright.explain.remedy import Case, Remedy
from heapwright.explain.replayed import ReplayedFigure
from heapwright.explain.separation import Separation, kept, most_saved
from heapwright.explain.settings import most_end_bytes
from heapwright.explain.telling_scan import most_free
from heapwright.model.facts import (
    AllocatorOption,
    ByThread,
    HeapPart,
    PinSite,
    Residency,
    ThresholdRaise,
    TimelinePoint,
)
from heapwright.model.sites import Site
from heapwright.model.symbols import Location
from heapwright.report.columns import record

MEBIBYTE = 1 << 20
ARENA = 0x7F0004000000
HEAP_BYTES = 64 * MEBIBYTE
MAIN_HEAP = 0x10001000


_ONE_LOCK = "costs time: threads would then wait for one lock"
_COSTS = "costs time where it is used again"


def zeros(of: Any, **fields: Any) -> Any:
    return of(*([0] * len(of._fields)))._replace(**fields)


def part(address: int, free: int, above: int = 0, blocks: int = 1) -> HeapPart:
    found: HeapPart = zeros(
        HeapPart,
        address=address,
        blocks=blocks,
        resident_bytes=free,
        free_page_bytes=free,
        above_last_bytes=above,
    )
    return found


def case(
    settings: dict[str, str],
    *parts: HeapPart,
    family: str = "glibc",
    peak: int = 0,
    arenas_at_most: int = 9,
    sites: tuple[Any, ...] = (),
    **of: int,
) -> Case:
    kinds = Kinds(
        zeros(Residency), parts, {**dict.fromkeys(NAMES, 0), **of}, None,
        Allocator(family, family, 8, settings), arenas_at_most,
    )  # fmt: skip
    return Case(kinds, (), sites, peak)


def remedy(of: Case, *kinds: str) -> Remedy:
    return next(one for one in remedies(of) if one.kind in kinds)


def separation(held: int, pinned: int = 0) -> Separation:
    found: Separation = zeros(
        Separation, held_bytes=held, pinned_bytes=pinned, saves_least_bytes=held, saves_most_bytes=held,
        separates="yes",
    )  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        # A program that builds 192 MiB and frees them has 1 MiB without the setting.
        ({"MALLOC_TRIM_THRESHOLD_": "2000000000"}, "unsetting MALLOC_TRIM_THRESHOLD_=2000000000"),
        ({"trim_threshold": "0x77359400"}, "unsetting glibc.malloc.trim_threshold=0x77359400"),
        ({"MALLOC_TOP_PAD_": "400000000"}, "unsetting MALLOC_TOP_PAD_=400000000"),
        ({"M_TRIM_THRESHOLD": "-1"}, "removing mallopt(M_TRIM_THRESHOLD, -1)"),
    ],
)
def test_a_setting_that_keeps_the_end_of_the_heap_is_the_cause(settings: dict[str, str], what: str) -> None:
    free = 192 * MEBIBYTE
    of = case(settings, part(MAIN_HEAP, free, free), untrimmed=free)
    found = remedy(of, "unset", "end")
    assert (found.kind, found.what, found.helps, found.bytes) == ("unset", what, "yes", free)
    answer = {
        "cause": "untrimmed",
        "remedies": [record(cause.REMEDY_COLUMNS, one, {}) for one in remedies(of)],
    }
    assert cause_words._best(answer) == f"at most 192 MiB less by {what}; {_COSTS}"


def test_no_setting_from_outside_is_tried_against_the_programs_own() -> None:
    of = case({"M_ARENA_MAX": "8", "MALLOC_ARENA_MAX": "1"}, *two_arenas(), peak=10, arenas=FREE)
    found = remedy(of, "arenas")
    assert (found.helps, found.replay_set) == ("yes", ""), "the replayed program calls mallopt as well"
    assert found.why.startswith("now mallopt(M_ARENA_MAX, 8); ")
    glibc = SimpleNamespace(allocator="glibc 2.36", condition_values={"MALLOC_ARENA_MAX": "2"})
    options = [
        AllocatorOption(2**32 - 8, 3, 0), AllocatorOption(2**32 - 1, 1 << 30, 0), AllocatorOption(99, 1, 0),
    ]  # fmt: skip
    found_of = allocator_of(glibc, options)
    assert found_of.settings == {
        "MALLOC_ARENA_MAX": "2",
        "M_ARENA_MAX": "3",
        "M_TRIM_THRESHOLD": "1073741824",
    }
    assert found_of.fixing_settings == ["mallopt(M_TRIM_THRESHOLD)"]
    assert allocator_of(SimpleNamespace(allocator="jemalloc 5", condition_values={}), options).settings == {}


@pytest.mark.parametrize("value", ["131072", "65536", "much"])
def test_a_small_threshold_is_set_already(value: str) -> None:
    free = 192 * MEBIBYTE
    of = case({"MALLOC_TRIM_THRESHOLD_": value}, part(MAIN_HEAP, free, free), untrimmed=free)
    assert remedy(of, "end").helps == "set already"


def test_another_value_of_a_setting_is_not_the_one_that_is_advised() -> None:
    found = remedy(case({"MALLOC_ARENA_MAX": "64"}, *two_arenas(), peak=10, arenas=FREE), "arenas")
    assert (found.helps, found.least_bytes, found.bytes) == ("yes", 2 * FREE - 10, 2 * FREE)
    assert "now MALLOC_ARENA_MAX=64; 2 further arenas" in found.why
    found = remedy(case({"arena_max": "1"}, *two_arenas(), arenas=FREE), "arenas")
    assert found.helps == "set already" and found.why.startswith("glibc.malloc.arena_max=1; ")


def test_what_is_sure_stands_before_the_bound_and_how_to_measure_it() -> None:
    of = case({}, *two_arenas(), peak=30 * MEBIBYTE, arenas=FREE)
    rows = [record(cause.REMEDY_COLUMNS, one, {}) for one in remedies(of)]
    answer = {"cause": "arenas", "remedies": rows}
    assert cause_words._best(answer) == f"at most 40.0 MiB less by MALLOC_ARENA_MAX=1; {_ONE_LOCK}", (
        "no replay measured it"
    )
    assert "heapwright replay FILE --set glibc.arena_max=1 measures it" in in_words(rows, "MALLOC_ARENA_MAX")
    assert "--set" not in in_words(rows, "MALLOC_TRIM"), "it would be no help"
    measured = ReplayedFigure("peak", "bytes", -30.0 * MEBIBYTE, -0.75, "better", "glibc")
    rows = [record(cause.REMEDY_COLUMNS, one._replace(replayed=(measured,)), {}) for one in remedies(of)]
    said = in_words(rows, "MALLOC_ARENA_MAX")
    assert said.endswith("; measured by replay on glibc: peak −75 % (−30.0 MiB)")


def refuted(one: Remedy) -> Remedy:
    slower = ReplayedFigure("CPU time", "ns", 1e9, 0.5, "worse", "glibc")
    return one._replace(replayed=(slower,), judged="refuted")


def test_the_headline_names_what_returns_most_and_was_not_refuted() -> None:
    def best(**of: Remedy) -> str:
        rows = [record(cause.REMEDY_COLUMNS, one, {}) for one in ranked([*of.values()], "scattered")]
        return cause_words._best({"cause": "scattered", "remedies": rows, "is_leak": False})

    trim = Remedy("trim", "malloc_trim(0)", 70 * MEBIBYTE, "yes", "")
    arenas = Remedy("arenas", "MALLOC_ARENA_MAX=1", 17 * MEBIBYTE, "partly", "")
    by_trim = f"at most 70.0 MiB less by malloc_trim(0); {_COSTS}"
    assert best(arenas=arenas, trim=trim) == by_trim, "it returns most"
    more = arenas._replace(bytes=55 * MEBIBYTE)
    assert best(more=more, trim=trim) == by_trim, "one call in the program is not much"
    near = arenas._replace(bytes=65 * MEBIBYTE)
    by_arenas = f"at most 65.0 MiB less by MALLOC_ARENA_MAX=1; {_ONE_LOCK}"
    assert best(trim=trim, near=near) == by_arenas, "about as much, and it needs no code"
    move = trim._replace(kind="move", what="f in a private heap", bytes=100 * MEBIBYTE)
    assert best(move=move, near=near) == by_arenas, "nearly as much without code"
    assert "private heap" in best(move=move._replace(bytes=140 * MEBIBYTE), near=near)
    assert best(trim=trim, near=refuted(near)) == by_trim
    assert best(near=refuted(near)) == "no setting returns it (a replay refutes MALLOC_ARENA_MAX=1)"
    assert best(near=near._replace(helps="unknown")) == "whether MALLOC_ARENA_MAX=1 returns it is not known"
    both = best(other=refuted(near)._replace(what="other"), near=near._replace(helps="unknown"))
    assert both == "whether MALLOC_ARENA_MAX=1 returns it is not known (a replay refutes other)"
    less = ReplayedFigure("at the scan", "bytes", -30.0 * MEBIBYTE, -0.75, "better", "glibc")
    measured = near._replace(replayed=(less,), judged="measured")
    assert best(near=measured) == best(near=measured._replace(helps="unknown"))
    assert best(near=measured) == (
        "30.0 MiB less by MALLOC_ARENA_MAX=1; measured by replay: −75 % at the scan (−30.0 MiB), "
        f"time in the heap not known; {_ONE_LOCK}"
    )
    time = ReplayedFigure("CPU time", "ns", 1e5, 0.01, "same", "glibc", 1e6)
    timed = near._replace(replayed=(less, time), judged="measured")
    assert best(near=timed).endswith("time in the heap: cannot tell below 1.00 ms")
    # Blocks of 1 MB, mapped one by one: the memory was as said, and the program took twice the time.
    pair = timed._replace(kind="threshold", what="pair", replayed=(less,), again_ns=10**7, run_ns=3 * 10**8)
    assert best(pair=pair).endswith("not known; costs up to 300 ms of CPU time in a run like this")
    assert best(near=measured, trim=trim._replace(bytes=20 * MEBIBYTE)) == best(near=measured)
    assert best(near=measured, trim=trim._replace(bytes=50 * MEBIBYTE)).endswith(_COSTS), (
        "what was measured counts"
    )
    in_no_time = trim._replace(bytes=50 * MEBIBYTE, replay_change="trim:100")
    assert best(near=measured, trim=in_no_time) == best(near=measured), (
        "a bound that could have been measured"
    )


def test_the_list_has_those_that_stand_first_and_the_causes_own_among_equals() -> None:
    arenas = Remedy("arenas", "MALLOC_ARENA_MAX=1", 65 * MEBIBYTE, "yes", "")
    pair = arenas._replace(kind="threshold", what="pair", bytes=64 * MEBIBYTE)
    none = Remedy("allocator", "another allocator", None, "unknown", "")
    found = [none, refuted(arenas._replace(what="other")), pair, arenas]
    order = ranked(found, "arenas")
    assert [(one.what, one.rank) for one in order] == [
        ("MALLOC_ARENA_MAX=1", 1), ("pair", 2), ("other", 0), ("another allocator", 0),
    ]  # fmt: skip
    assert [one.what for one in ranked(found, "threshold")][:2] == ["pair", "MALLOC_ARENA_MAX=1"]
    assert order[0].returns_bytes == 65 * MEBIBYTE
    move, trim = (Remedy(kind, kind, 50 * MEBIBYTE, "yes", "") for kind in ("move", "trim"))
    assert [one.kind for one in ranked([trim, move], "top")] == ["move", "trim"]
    tried = ReplayedFigure("at the scan", "bytes", -49.0 * MEBIBYTE, -0.75, "better", "glibc")
    trim = trim._replace(replayed=(tried,), judged="measured")
    assert [one.kind for one in ranked([trim, move], "top")] == ["trim", "move"], "it was measured"
    assert [one.kind for one in ranked([trim, move], "top", is_leak=True)] == ["move", "trim"]
    less = ReplayedFigure("at the scan", "bytes", -9.0 * MEBIBYTE, -0.75, "better", "glibc")
    slow = ReplayedFigure("peak", "bytes", 0, 0, "same", "glibc")
    (measured,) = ranked([arenas._replace(replayed=(slow, less), judged="measured")], "")
    assert (measured.rank, measured.returns_bytes) == (1, 9 * MEBIBYTE)
    faster = less._replace(label="CPU time", unit="ns")
    (no_memory,) = ranked([arenas._replace(replayed=(faster,), judged="measured")], "")
    assert no_memory.rank == 0, "it returns nothing"


def test_what_gives_memory_back_costs_the_page_faults_of_using_it_again() -> None:
    of = case({}, part(MAIN_HEAP, 40 * MEBIBYTE), untrimmed=40 * MEBIBYTE)
    answer = {
        "cause": "untrimmed",
        "remedies": [record(cause.REMEDY_COLUMNS, one, {}) for one in remedies(of._replace(fault_ns=1000.0))],
    }
    trim = next(one for one in answer["remedies"] if one["kind"] == "trim")
    assert trim["again_ns"] == 10_240_000, "10,240 pages"
    assert cause_words._best(answer).endswith(
        "; costs up to 10.2 ms of CPU time each time all of it is used again"
    )
    assert all(
        one["again_ns"] == 0 for one in answer["remedies"] if one["kind"] in ("arenas", "move", "allocator")
    )


def test_the_delay_of_mimalloc_has_the_name_of_its_version() -> None:
    for name, variable in (
        ("mimalloc 2.0.9", "MIMALLOC_RESET_DELAY"),
        ("mimalloc 1.7.6", "MIMALLOC_RESET_DELAY"),
        ("mimalloc 1.8.2", "MIMALLOC_PURGE_DELAY"),
        ("mimalloc 2.1.7", "MIMALLOC_PURGE_DELAY"),
    ):
        of = case({}, family="mimalloc", kept=40 * MEBIBYTE)
        of = of._replace(kinds=of.kinds._replace(allocator=of.kinds.allocator._replace(name=name)))
        assert remedy(of, "decay").what == f"{variable}=0"
        set_already = of.kinds.allocator._replace(name=name, settings={variable: "0"})
        of = of._replace(kinds=of.kinds._replace(allocator=set_already))
        assert remedy(of, "decay").helps == "set already"


def in_words(rows: list[dict[str, Any]], what: str) -> str:
    pairs = cause_words.remedies_in_words({"remedies": rows})
    assert pairs is not None
    return next(text.plain for _, text in pairs.rows if what in text.plain)


FREE = 20 * MEBIBYTE


def two_arenas() -> list[HeapPart]:
    return [part(ARENA + number * HEAP_BYTES, FREE) for number in range(2)]


def test_arenas_that_were_full_at_the_same_time_need_as_much_in_one_heap() -> None:
    """Six threads with 20 MiB each, one survivor in each: MALLOC_ARENA_MAX=1 gave back nothing."""
    own = separation(2 * FREE)
    site = Site(0, (Location("work", "", 0, False, ""),), 0)
    of = case({}, *two_arenas(), peak=2 * FREE, arenas=FREE, top=FREE, sites=((site, own),))
    found = remedy(of, "arenas")
    assert (found.helps, found.bytes) == ("unknown", 2 * FREE)
    assert remedies(of)[0].kind in ("move", "trim")
    # Above the last block nothing holds it, in one heap as well.
    above = [one._replace(above_last_bytes=FREE) for one in two_arenas()]
    found = remedy(case({}, *above, peak=2 * FREE, arenas=FREE, top=FREE), "arenas")
    assert found.helps == "yes"
    assert found.least_bytes == 0, "eight threads of python3: 47.8 MiB above the last blocks, 22.5 came back"


def test_the_heaps_of_one_arena_are_not_arenas() -> None:
    """One thread, four heaps: MALLOC_ARENA_MAX=1 gave back 46 kB of 193 MiB."""
    parts = [part(ARENA + number * HEAP_BYTES, FREE) for number in range(4)]
    of = case({}, *parts, peak=4 * FREE, arenas_at_most=1, untrimmed=4 * FREE)
    assert (of.kinds.heaps, of.kinds.arenas) == (4, 1)
    assert remedy(of, "arenas").helps == "no"
    assert "1 further arena of 4 heaps" in remedy(of, "arenas").why


def report_of(
    threads: list[tuple[int, int, int]], parts: list[HeapPart], reasons: tuple[str, ...] = ()
) -> Any:
    """threads: first and last time in ms, 0 = lives; allocations. The first is the main thread."""
    ms = 1_000_000
    trace = SimpleNamespace(
        metadata=SimpleNamespace(
            process_id=100, is_fork_child=False, allocator="glibc 2.36", condition_values={}
        ),
        coverage=SimpleNamespace(is_whole_run=True),
        threads=[
            SimpleNamespace(index=index, thread_id=100 + index, first_ns=first * ms, exit_ns=last * ms)
            for index, (first, last, _) in enumerate(threads)
        ],
    )
    free = sum(one.free_page_bytes for one in parts)
    facts = SimpleNamespace(
        threads=[zeros(ByThread, allocations=calls) for _, _, calls in threads],
        completeness=SimpleNamespace(reasons=reasons, dropped=0, sequence_gaps=0),
        residency=[zeros(Residency, time_ns=1000 * ms, free_page_bytes=free, resident_bytes=free)],
        heap_parts=parts, part_holders=[], pins=[], threshold_raises=(),
    )  # fmt: skip
    return SimpleNamespace(
        trace=trace, facts=facts, allocator=allocator_of(trace.metadata, ()), has_unseen_blocks=False
    )


@pytest.mark.parametrize(
    ("threads", "most"),
    [
        ([(0, 0, 5), (1, 0, 5)], 1),
        ([(0, 0, 5), (1, 0, 5), (2, 0, 0)], 1),  # it allocated nothing
        ([(0, 0, 5), (1, 0, 5), (2, 0, 5), (3, 0, 5)], 3),
        ([(0, 0, 5), (1, 100, 5), (200, 300, 5), (400, 0, 5)], 1),  # one after the other
        ([(0, 0, 5), (1, 100, 5), (99, 300, 5)], 2),
        ([(0, 0, 5), (1, 0, 5), (2000, 0, 5)], 1),  # after the scan
    ],
)
def test_there_are_as_many_arenas_as_threads_that_allocated_at_once(
    threads: list[tuple[int, int, int]], most: int
) -> None:
    report = report_of(threads, [])
    assert arenas_at_most(report, 1_000_000_000, {}) == most
    assert arenas_at_most(report, 1_000_000_000, {"MALLOC_ARENA_MAX": "2"}) == 1
    assert arenas_at_most(report_of(threads, [], ("cut",)), 1_000_000_000, {}) > 1000, "not known"


def test_of_one_arena_nothing_lies_in_further_ones() -> None:
    parts = [part(ARENA + number * HEAP_BYTES, FREE) for number in range(4)]
    one = kinds_at(report_of([(0, 0, 1), (1, 0, 9)], parts), 0)
    assert (one.bytes_of["arenas"], one.bytes_of["untrimmed"]) == (0, 4 * FREE)
    two = kinds_at(report_of([(0, 0, 1), (1, 0, 9), (1, 0, 9)], parts), 0)
    assert two.bytes_of["arenas"] == 2 * FREE, "at most: one of the two arenas has half of it or more"
    four = kinds_at(report_of([(0, 0, 1)] + 4 * [(1, 0, 9)], parts), 0)
    assert four.bytes_of["arenas"] == 3 * FREE


def test_a_trim_threshold_that_is_set_keeps_large_blocks_mapped_apart() -> None:
    """Four threads' vectors of strings: 5 MiB less by either setting, of the tops of arenas."""
    parts = [one._replace(above_last_bytes=4 << 20, large_free_bytes=FREE) for one in two_arenas()]
    of = case({}, *parts, peak=2 * FREE, threshold=2 * FREE)
    small = case({}, *parts, peak=2 * FREE)
    assert (remedy(small, "end").helps, remedy(small, "end").bytes) == ("no", 0), "nothing raised it"
    raised = of._replace(raises=(ThresholdRaise(0, 1 << 20, 0),))
    found = remedy(raised, "end")
    pair = "MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=131072"
    assert (found.what, found.helps, found.bytes) == (pair, "yes", 2 * FREE)
    assert [one.what for one in remedies(raised)].count(pair) == 1
    assert found.replay_set == "glibc.trim_threshold=131072,mmap_threshold=131072"
    fixed = case({"MALLOC_MMAP_THRESHOLD_": "1000000"}, *parts)._replace(raises=raised.raises)
    assert remedy(fixed, "end").bytes == 0, "it is fixed already"


def test_malloc_trim_leaves_the_ends_of_arenas() -> None:
    parts = [one._replace(above_last_bytes=FREE, large_free_bytes=FREE) for one in two_arenas()]
    found = remedy(case({}, *parts, scattered=1 << 20), "trim")
    assert (found.helps, found.bytes) == ("no", 0)
    assert found.why == "it leaves the free ends of further arenas, 40.0 MiB; 1.00 MiB are beside live blocks"


def test_the_ends_of_arenas_where_small_blocks_lay_may_come_back() -> None:
    """One of them in a thread cache lies above: malloc_trim gave 234 of 238 MiB back, where 0 was the bound."""
    parts = [one._replace(above_last_bytes=FREE, large_free_bytes=FREE // 2) for one in two_arenas()]
    found = remedy(case({}, *parts, scattered=1 << 20, arenas=2 * FREE), "trim")
    assert (found.helps, found.bytes) == ("unknown", 2 * FREE)
    assert found.why.startswith("40.0 MiB are the free ends of further arenas: these come back only below a ")


def test_an_end_that_is_kept_beyond_the_threshold_is_no_end() -> None:
    """Blocks in threads' caches lie above it: malloc_trim gave 161 of 172 MiB in 16 arenas back, all 61 of a heap."""
    free, most = 150 * MEBIBYTE, most_end_bytes({}, 0)
    threads = case(
        {}, *(part(ARENA + at * HEAP_BYTES, free, free) for at in range(9)), peak=9 * free, arenas=8 * free
    )
    threads = threads._replace(kinds=threads.kinds._replace(most_end_bytes=most))
    assert remedy(threads, "trim").bytes == 9 * (free - most)
    assert remedy(threads, "arenas").helps == "unknown", "all lived at once"
    # Of threads that ended, small blocks went to the fast bins: malloc_trim merges these with the arena's end,
    # and gave 0 of 48 MiB back.
    ended = threads._replace(kinds=threads.kinds._replace(has_thread_caches=False))
    assert (remedy(ended, "trim").helps, remedy(ended, "arenas").helps) == ("unknown", "unknown")
    one = case({}, part(MAIN_HEAP, free, free), untrimmed=free)
    one = one._replace(kinds=one.kinds._replace(most_end_bytes=most))
    assert (remedy(one, "trim").bytes, remedy(one, "end").bytes) == (free, most)
    found = remedy(one, "end")
    assert found.helps == "no"
    assert found.why == "150 MiB are above the last block, held by small blocks in thread caches or fast bins"
    assert most_end_bytes({}, 32 * MEBIBYTE) == most + 64 * MEBIBYTE, "a free raised it"


def test_what_a_raised_trim_threshold_keeps_is_no_sure_gain() -> None:
    """A freed block of 31 MiB, then 48 MiB below 100 survivors: without these 0 are given back."""
    held = 48 * MEBIBYTE
    own = kept(separation(held), 62 * MEBIBYTE)
    assert (own.saves_least_bytes, own.kept_bytes) == (0, held)
    site = Site(0, (Location("session", "", 0, False, ""),), 0)
    of = case({}, part(MAIN_HEAP, held), sites=((site, own),), top=held)
    of = of._replace(raises=(ThresholdRaise(0, 31 * MEBIBYTE, 0),))
    found = remedy(of, "move")
    pair = "MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=131072"
    assert found.what.endswith(f", together with {pair}")
    assert "a private heap alone returns 0 B" in found.why
    assert all(one.kind != "end" for one in remedies(of)), "it is half of that remedy, not no help"
    answer = {
        "cause": "top",
        "is_leak": False,
        "remedies": [record(cause.REMEDY_COLUMNS, one, {}) for one in remedies(of)],
    }
    assert cause_words._best(answer).endswith(f"private heap, together with {pair}")
    leaking = cause_words._best({**answer, "is_leak": True})
    assert leaking.endswith(f"if these were freed, which leak, together with {pair}")
    # Below other blocks malloc_trim is needed, which looks at no threshold.
    assert kept(separation(held, held + 1), 62 * MEBIBYTE).saves_least_bytes == held
    assert kept(separation(held), 320 << 10).saves_least_bytes == held - (320 << 10)


@pytest.mark.parametrize(
    ("conf", "helps"),
    [
        ("narenas:2", "yes"),  # adding the two gave back 195 of 203 MiB
        ("dirty_decay_ms:-1", "yes"),
        ("dirty_decay_ms:0", "yes"),
        ("narenas:2,dirty_decay_ms:0,muzzy_decay_ms:0", "set already"),
    ],
)
def test_of_jemallocs_options_those_count_that_are_advised(conf: str, helps: str) -> None:
    of = case({"MALLOC_CONF": conf}, part(MAIN_HEAP, FREE), family="jemalloc", kept=FREE)
    found = remedy(of, "decay")
    assert found.helps == helps
    assert ("now dirty_decay_ms=-1" in found.why) == (conf == "dirty_decay_ms:-1")


def test_what_blocks_take_again_soon_is_not_free_for_good() -> None:
    """A sawtooth: at the scan 30 MiB were live of 50; 20 come back 400 ms later, in pages that lay free."""
    ms = 1_000_000
    points = [
        zeros(
            TimelinePoint, time_ns=place * 100 * ms, live_usable_bytes=live * MEBIBYTE,
            usable_at_highest_bytes=highest * MEBIBYTE, resident_bytes=resident * MEBIBYTE,
        )
        for place, (live, highest, resident) in enumerate(
            [(50, 50, 60), (50, 50, 60), (30, 50, 60), (30, 30, 60), (50, 50, 60), *10 * [(30, 30, 60)], (90, 90, 60)]
        )
    ]  # fmt: skip
    report: Any = SimpleNamespace(
        facts=SimpleNamespace(timeline=points),
        trace=SimpleNamespace(end=SimpleNamespace(time_ns=1500 * ms)),
    )
    kinds = case({}, part(MAIN_HEAP, FREE)).kinds
    moment = kinds.moment._replace(time_ns=150 * ms, live_bytes=29 * MEBIBYTE, rounding_bytes=MEBIBYTE)
    kinds = kinds._replace(moment=moment, bytes_of={**kinds.bytes_of, "untrimmed": 28 * MEBIBYTE})
    assert taken_again_bytes(report, kinds) == 20 * MEBIBYTE, "not the 60 MiB of 1.35 s later"
    less = kinds._replace(bytes_of={**kinds.bytes_of, "untrimmed": MEBIBYTE})
    assert taken_again_bytes(report, less) == MEBIBYTE, "no more than is free"
    points[4] = points[4]._replace(resident_bytes=75 * MEBIBYTE)
    assert taken_again_bytes(report, kinds) == 5 * MEBIBYTE, "15 MiB of it came anew"
    answer = {"taken_again_bytes": 20 * MEBIBYTE, "soon_ns": soon_ns(report)}
    assert cause_words._taken_again(answer) == ", of which 20.0 MiB are reused within 1.00 s"
    last = kinds._replace(moment=moment._replace(time_ns=1500 * ms))
    assert taken_again_bytes(report, last) == 0


def test_a_heap_of_their_own_does_not_pack_aligned_blocks() -> None:
    """posix_memalign of 100 bytes to pages: in a private heap each takes a page as well."""
    pin = zeros(PinSite, blocks=100, usable_bytes=10_400, pages=100, pinned_bytes=100 * 4096 - 10_400)
    assert most_saved(pin, 8) == 100 * 4096 - 3 * 4096
    assert most_saved(pin._replace(aligned_bytes=100 * 4096), 8) == 0


def test_the_teardown_does_not_stand_for_the_run() -> None:
    lived = zeros(Residency, resident_bytes=130 * MEBIBYTE)
    end = zeros(Residency, resident_bytes=2 * MEBIBYTE, free_page_bytes=2560, is_last=1)
    assert most_free((lived, end), lambda _: True) == 0
    assert most_free((lived, end), lambda _: False) == 1, "free for long: it is no teardown"
    assert most_free((end,), lambda _: True) == 0
    assert most_free((), lambda _: True) == -1


@pytest.mark.parametrize("is_fork_child", [True, False])
def test_a_forks_child_has_its_parents_heap_among_the_rest(is_fork_child: bool) -> None:
    """61 MiB "not the heap" of a server's worker, 59 of them its parent's blocks."""
    kinds = case({}).kinds
    source: Any = SimpleNamespace(
        kinds=kinds,
        last=kinds,
        largest_owner="",
        report=SimpleNamespace(
            trace=SimpleNamespace(metadata=SimpleNamespace(is_fork_child=is_fork_child)),
            facts=SimpleNamespace(threshold_raises=()),
            allocator=kinds.allocator,
            has_unseen_blocks=is_fork_child,
        ),
    )
    names = {row.kind: row.name for row in cause._kinds(source)}
    assert ("inherited" in names["others"]) == is_fork_child
    assert ("earlier" in names) == is_fork_child


def test_of_a_process_that_ran_before_the_heap_is_told_from_the_rest() -> None:
    """A server of 107 MiB: 70 of its heap, of which nothing is known but that it is its heap's."""
    report: Any = report_of([], [part(MAIN_HEAP, 0)])
    moment = zeros(
        Residency,
        resident_bytes=107 * MEBIBYTE,
        allocator_bytes=70 * MEBIBYTE,
        other_bytes=37 * MEBIBYTE,
    )
    report.facts.residency = [moment]
    for is_unseen in (True, False):
        report.has_unseen_blocks = is_unseen
        bytes_of = kinds_at(report, 0).bytes_of
        sums = (bytes_of["earlier"], bytes_of["others"])
        assert sums == ((70 * MEBIBYTE, 37 * MEBIBYTE) if is_unseen else (0, 107 * MEBIBYTE))
    answer = {
        "kinds": [
            {"kind": "live", "bytes": 0},
            {"kind": "earlier", "bytes": 70 * MEBIBYTE},
            {"kind": "others", "bytes": 37 * MEBIBYTE, "evidence": "most: unknown"},
        ],
        "verdict": "unknown", "has_unseen_calls": False, "unknown_because": "",
        "resident_bytes": 107 * MEBIBYTE, "recorder_bytes": 0, "free_bytes": MEBIBYTE, "time_ns": 601_000_000,
    }  # fmt: skip
    assert cause_words.sentence(answer) == (
        "107 MiB resident at 601 ms, 0 B live: 70.0 MiB more of the heap are blocks from before, or free memory "
        "among them; 37.0 MiB are outside the heap (most: unknown); besides, at most 1.00 MiB are free"
    )


def test_calls_that_are_not_seen_make_the_verdict_unknown() -> None:
    unseen = ("1 library was loaded with RTLD_DEEPBIND: its heap calls are not seen",)
    report: Any = report_of([], [])
    report.trace.metadata.unseen = unseen
    assert cause._why_unknown(report) == unseen[0]
    inside = "'/lib/libarrow.so' has jemalloc linked in statically and calls it directly: its heap calls are not seen"
    for known in ((), (inside,)):
        report.trace.metadata.unseen = known
        assert cause._why_unknown(report) == "", "its memory is beside this heap"
    answer = {
        "kinds": [{"kind": "live", "bytes": 9}, {"kind": "others", "bytes": 118 * MEBIBYTE}],
        "verdict": "unknown", "has_unseen_calls": True, "unknown_because": unseen[0],
        "resident_bytes": 127 * MEBIBYTE, "recorder_bytes": 0, "free_bytes": 7168, "time_ns": 601_000_000,
    }  # fmt: skip
    (found,) = cause_words.findings(answer)
    assert found.text == f"unknown: 127 MiB resident at 601 ms, 9 B live of what was seen; {unseen[0]}"


@pytest.mark.parametrize("verdict", ["nothing", "elsewhere"])
def test_nothing_is_to_be_fixed_only_where_nothing_is_unseen(
    verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cause, "_verdict", lambda *_: verdict)
    report: Any = report_of([], [])
    report.trace.metadata.unseen = ()
    assert cause._verdict_and_why(report, Mock(), 0, 0) == (verdict, "")
    inside = "'./server' has jemalloc linked in statically: calls to it are not seen"
    report.trace.metadata.unseen = (inside,)
    known = ("unknown", inside) if verdict == "nothing" else (verdict, "")
    assert cause._verdict_and_why(report, Mock(), 0, 0) == known


def test_where_free_memory_stays_it_is_not_said_that_nothing_is_worth_fixing() -> None:
    below = {"changes": 0, "gain_ns": 0, "gain_bytes": 0, "gain_resident_bytes": 0}
    answer = {
        "allocator_share": 0.01, "cpu_ns": 1, "durations_recorded": True, "unknown": "", "below": below,
        "searched": [], "advice": [],
    }  # fmt: skip
    assert words.nothing({**answer, "keeps_free_memory": False}).startswith("no rule found anything (")
    text = words.nothing({**answer, "keeps_free_memory": True})
    assert text.startswith(
        "no advice on the calls, though free memory stays resident: all heap calls took 1.0 %"
    )
