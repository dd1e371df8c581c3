# SPDX-License-Identifier: MIT
"""Advice: what the rules say of made traces, that their code compiles, and that what they name is there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace as Made
from typing import Any

import pytest
from heapwright.explain.advice import (
    RULES,
    heap_steps,
    reserve,
    small_vector,
    words,
)
from heapwright.explain.advice import answer as advice_answer
from heapwright.explain.advice import words as advice_words
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.replayed import ReplayedFigure
from heapwright.model import KIND_NAMES
from test_explain import check, explained, made, printed
from written_traces import DELETE, FREE, MALLOC, NEW, MadeTrace

PROJECT = Path(__file__).resolve().parents[2]
BY_NAME = {rule.name: rule for rule in RULES}
NO_FAULTS = Made(minor_faults=0, major_faults=0, system_ns=0, seen_faults=0, seen_fault_ns=0, heap_refaults=0)


def answer_of(trace: MadeTrace, path: Path) -> dict[str, Any]:
    document = explained(made(path, trace))
    check(document)
    found: dict[str, Any] = document["questions"]["advice"]
    found["printed"] = " ".join(printed(document, 60).split())
    found["findings"] = [one for one in document["summary"]["findings"] if one["question"] == "advice"]
    return found


def turned_over(allocate: int, release: int, size: int, took: int, usable: int | None = None) -> MadeTrace:
    """Ten blocks at once, each freed when another takes its place."""
    trace = MadeTrace(end="end 1 0 20000000")
    for number in range(5000):
        address = 0x100000 + number % 10 * 0x10000
        if number >= 10:
            trace.event(release, address, took=took)
        trace.event(allocate, address, size, took=took, usable=usable)
    return trace


def test_objects_of_one_size_are_told_with_their_bound(tmp_path: Path) -> None:
    answer = answer_of(turned_over(NEW, DELETE, 2000, 480), tmp_path)
    (row,) = answer["advice"]
    assert (row["rule"], row["part"], row["page"]) == (
        "object_pool",
        "object_pool",
        "docs/parts/object_pool.md",
    )
    # 5000 calls and 4990 frees of 480 ns, less the share of the ten that live at once.
    assert row["gain_ns"] == int((5000 + 4990) * 480 * (1 - 10 / 5000))
    assert row["time_share"] == pytest.approx(row["gain_ns"] / 20_000_000)
    assert row["gain_bytes"] == 0
    assert "at most 4.79 ms (23.9 % of the threads' time)" in answer["printed"]
    assert "A bound on the calls, not a measurement" in answer["printed"]
    assert answer["findings"][0]["parts"] == ["object_pool"]


@pytest.mark.parametrize(("freed_early", "is_told"), [(0, True), (150, True), (400, False), (2000, False)])
def test_only_what_is_built_and_kept_is_an_arena(freed_early: int, is_told: bool, tmp_path: Path) -> None:
    trace = MadeTrace(end="end 1 0 20000000")
    for number in range(2400 + freed_early):
        trace.event(NEW, 0x100000 + number * 64, 24, took=480, usable=40)
    for number in range(freed_early):
        trace.event(DELETE, 0x100000 + number * 64, took=480)
    for number in range(freed_early):
        trace.event(NEW, 0x100000 + number * 64, 24, took=480, usable=40)
    rules = [row["rule"] for row in answer_of(trace, tmp_path)["advice"]]
    assert ("built_once" in rules) is is_told


@pytest.mark.parametrize(("end_ms", "is_told"), [(5, True), (90, False)])
def test_what_is_dropped_long_before_the_exit_was_not_kept(
    end_ms: int, is_told: bool, tmp_path: Path
) -> None:
    trace = MadeTrace(end=f"end 1 0 {end_ms}000000")
    for kind in (NEW, DELETE):
        for number in range(2500):
            size = {"size": 24, "usable": 40} if kind == NEW else {}
            trace.event(kind, 0x100000 + number * 64, took=480, **size)
    rules = [row["rule"] for row in answer_of(trace, tmp_path)["advice"]]
    assert ("built_once" in rules) is is_told


def test_what_becomes_more_to_the_end_gets_no_arena(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache without a bound: from an arena nothing could be evicted."""
    trace = MadeTrace(end="end 1 0 20000000")
    for number in range(2400):
        trace.event(NEW, 0x100000 + number * 64, 24, took=480, usable=40)
    assert "built_once" in [row["rule"] for row in answer_of(trace, tmp_path)["advice"]]
    monkeypatch.setattr(Evidence, "growing", frozenset(range(100)))
    assert "built_once" not in [row["rule"] for row in answer_of(trace, tmp_path)["advice"]]


def test_c_is_told_without_a_part(tmp_path: Path) -> None:
    answer = answer_of(turned_over(MALLOC, FREE, 2000, 480), tmp_path)
    (row,) = answer["advice"]
    assert row["action"] == BY_NAME["object_pool"].in_c
    assert (row["page"], row["before"], row["after"]) == ("", "", "")
    assert answer["findings"][0]["parts"] == []


def test_below_the_floor_nothing_is_said_but_how_much_that_is(tmp_path: Path) -> None:
    answer = answer_of(turned_over(NEW, DELETE, 2000, 80).used(20_000_000), tmp_path)
    assert answer["advice"] == []
    assert answer["below"]["rules"] == ["object_pool"]
    assert 0 < answer["below"]["gain_ns"] < 1_000_000
    (finding,) = answer["findings"]
    assert finding["text"].startswith("no rule found anything (explain --check or heapwright replay FILE")
    assert ": all heap calls took 4.0 % of CPU time" in finding["text"]


def test_where_page_faults_could_not_be_seen_it_is_not_said_that_nothing_is_to_be_gained(
    tmp_path: Path,
) -> None:
    made = turned_over(NEW, DELETE, 2000, 80).meta("condition", "kernel_events\tnot allowed here")
    (finding,) = answer_of(made, tmp_path)["findings"]
    assert finding["text"].startswith(
        "the time to be gained is unknown: page faults could not be seen (not allowed here); all heap calls took"
    )


def test_what_could_be_gained_is_a_sum_that_never_exceeds_what_there_is() -> None:
    def below(*gains: tuple[int, int, bool]) -> dict[str, Any]:
        found = [
            Made(
                advice=Made(sites=(site,), time_ns=time_ns, bytes=0, confidence="high"),
                rule=Made(name=f"rule{number}", stands_beside=beside, of_resident=False),
                replayed_figures=(),
            )
            for number, (site, time_ns, beside) in enumerate(gains)
        ]
        facts = Made(totals=Made(allocator_ns=1000), kernel=Made(fault_ns=0), processor=NO_FAULTS)
        report = Made(facts=facts, cpu_ns=50_000)
        of = Made(facts=facts, report=report, time_ns=50_000, peak_bytes=0, resident_bytes=0)
        source: Any = Made(below=found, of=of)
        return advice_answer._below(source, {})

    assert below((1, 300, False), (2, 200, False))["gain_ns"] == 500
    assert below((1, 300, False), (1, 200, False))["gain_ns"] == 300, "one change a site"
    assert below((1, 900, False), (2, 800, False))["gain_ns"] == 1000, "all the time in the allocator"
    assert below((1, 300, False), (1, 900, True))["gain_ns"] == 1000
    assert below()["changes"] == 0
    none = {
        "allocator_share": 0.36, "cpu_ns": 1, "durations_recorded": True, "unknown": "", "below": below(),
        "advice": [], "searched": [],
    }  # fmt: skip
    assert words.nothing(none) == (
        "no advice, though all heap calls took 36.0 % of CPU time, without the recorder's: no rule knows this; "
        "`heapwright lint` looks at the source"
    )


def test_samples_are_asked_only_what_they_tell(tmp_path: Path) -> None:
    answer = answer_of(turned_over(NEW, DELETE, 2000, 480).meta("sample_mean_bytes", 4096), tmp_path)
    assert answer["advice"] == []
    assert {row["rule"] for row in answer["left_out"]} == {rule.name for rule in RULES if rule.unsampled}
    assert "these rules need a full recording, without --sample: " in answer["printed"]
    assert answer["findings"] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_before_and_after_compile_and_are_short(rule: Any, tmp_path: Path) -> None:
    for text in (rule.before, rule.after):
        assert 1 <= len(text.splitlines()) <= 10
        is_whole = text.startswith(("struct ", "std::shared_ptr<Session> Session::open() {"))
        body = text if is_whole else f"void example() {{\n{text}\n}}"
        source = tmp_path / "example.cpp"
        source.write_text(f"{rule.prelude}\n{body}\n")
        line = [os.environ.get("CXX", "g++"), "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
        done = subprocess.run(
            [*line, "-I", PROJECT / "include", source], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_every_part_that_is_named_has_a_page() -> None:
    for rule in RULES:
        assert rule.when_not and rule.action
        assert not rule.part or (PROJECT / f"docs/parts/{rule.part}.md").is_file()
        assert (PROJECT / f"tests/programs/advice/{rule.name}.cpp").is_file()


def test_sites_that_lead_by_turns_die_together(tmp_path: Path) -> None:
    """Trees of two kinds of nodes, of which now the one and now the other has more."""
    trace = MadeTrace(end="end 1 0 40000000")
    trace.line("module", 0x400000, 0x500000, 0x400000, "/opt/app", "aabb")
    for site, pc in enumerate((0x401000, 0x402000)):
        trace.line("frame", pc, 0).line("stack", 0, site)
    for tree in range(10):
        blocks = [(0x100000 + node * 0x10000, 1 + node % 2) for node in range(801)]
        for address, stack in blocks:
            trace.event(NEW, address, 40, stack=1 + (stack + tree) % 2, took=480)
        for address, _ in blocks:
            trace.event(DELETE, address, took=480)
    (row,) = answer_of(trace, tmp_path)["advice"]
    assert row["rule"] == "arena"
    assert sorted([row["name"], *row["other_sites"]]) == ["app+0x1000", "app+0x2000"]
    assert row["gain_ns"] == 10 * 801 * 2 * 480


IN_A_HEAP, MAPPED = 204_808, 208_880  # a block of 200 KiB is usable to the next 16 bytes, or to a page's end


@pytest.mark.parametrize(
    ("condition", "usable", "is_told"),
    [
        ("MALLOC_TOP_PAD_=0", MAPPED, True),
        ("MALLOC_TOP_PAD_=0", IN_A_HEAP, False),
        ("MALLOC_MMAP_MAX_=0", IN_A_HEAP, False),
        ("MALLOC_MMAP_THRESHOLD_=65536", MAPPED, True),
        ("MALLOC_MMAP_THRESHOLD_=67108864", IN_A_HEAP, False),
        ("MALLOC_MMAP_THRESHOLD_=67108864", MAPPED, False),  # by mallopt, or from before
        ("cpus=2", MAPPED, False),
    ],
)
def test_blocks_cost_a_mapping_where_they_have_one(
    condition: str, usable: int, is_told: bool, tmp_path: Path
) -> None:
    trace = turned_over(MALLOC, FREE, 200 << 10, 480, usable)
    answer = answer_of(
        trace.meta("allocator", "glibc 2.36").meta("condition", condition.replace("=", "\t")), tmp_path
    )
    assert ("setting" in [row["rule"] for row in answer["advice"]]) == is_told, answer["advice"]


def vectors(live: int) -> Any:
    """300 blocks of 1000 vectors' growth; so many live at the peak, of 32 to 128 B each."""
    sizes, site = Made(min_bytes=32, max_bytes=128), Made(allocations=3000, live_at_peak_blocks=live)
    site.live_at_peak_bytes = 40 * live
    growth = Made(chains=1000, final_p90_bytes=136, final_p75_bytes=64, final_p50_bytes=32)
    return Made(
        candidates=lambda _: [7],
        container=lambda _: ("vector", 1.0),
        has_percentiles=lambda _: True,
        site=lambda _: site,
        sizes=lambda _: sizes,
        growths={7: growth},
        sizes_in_words=lambda _: "",
        lost_bytes_each=lambda _: 8.0,
        time_of=lambda _: 30_000,
        copies_ns=lambda _: 5_000,
        peak_bytes=1 << 20,
    )


def test_room_in_a_vector_is_no_more_than_was_asked_for_and_gains_no_more_than_its_calls() -> None:
    (advice,) = small_vector._find(vectors(live=1))
    assert "never needed more than 128 B" in advice.pattern
    assert (advice.change_bytes, advice.confidence) == (128, "high")
    assert advice.time_ns == int((30_000 + 5_000) * (1 - 1000 * (1 - 0.9) / 3000))
    assert "N = 4 fits 90.0 %" in advice.evidence[1] and "N = 1 fits 50.0 %" in advice.evidence[1]


def test_vectors_that_live_in_many_objects_get_no_room_that_costs_more_than_their_blocks() -> None:
    """60 % of the vectors empty, most others of one element: N = 8 took 31 to 112 MB, N = 2 to 44 MB."""
    assert list(small_vector._find(vectors(live=100_000))) == []


def test_reserve_leaves_a_block_for_each_buffer() -> None:
    grown: Any = Made(
        site=0, chains=100, steps=200, time_ns=10**9, copied_bytes=5_000, final_p50_bytes=8, final_p90_bytes=8
    )
    of: Any = Made(
        site=lambda _: Made(allocations=300),
        container=lambda _: ("vector", 1.0),
        time_of=lambda _: 30_000,
        copies_ns=lambda _: 5_000,
        allocation_cost_ns=0,
        has_times=True,
    )
    assert reserve._of_copies(of, grown).time_ns == 20_000 + 5_000


def test_reallocs_gain_no_time_that_other_work_took() -> None:
    """Four reallocs that took 25 ms on a busy machine, of calls that had the CPU for 1 ms."""
    grown: Any = Made(
        site=0,
        chains=1,
        steps=4,
        moved=1,
        copied_bytes=0,
        steps_ns=25_000_000,
        longest_steps=4,
        final_bytes=9,
    )
    of: Any = Made(
        site=lambda _: Made(reallocs=4),
        facts=Made(totals=Made(allocator_ns=8_000_000)),
        time_of=lambda _: 1_000_000,
        has_times=True,
    )
    found = reserve._of_reallocs(of, grown)
    assert (found.time_ns, found.pattern) == (1_000_000, "1 buffer grew by 4 reallocs to 9 B")
    of.site = lambda _: Made(reallocs=3)  # others made the rest
    assert reserve._of_reallocs(of, grown).time_ns == 8_000_000


def test_page_faults_stay_when_a_heap_grows_in_larger_steps() -> None:
    facts = Made(totals=Made(allocator_ns=281), kernel=Made(fault_ns=121))
    of: Any = Made(facts=facts)
    assert heap_steps._least_fault_ns(of, 275) == 115  # 6 may be of other calls
    assert heap_steps._least_fault_ns(of, 100) == 0
    row = {"gain_ns": 160, "time_share": 0.5, "gain_bytes": 0, "gain_is_least": True}
    held = {
        "gain_ns": 0,
        "gain_bytes": 1 << 20,
        "bytes_share": 0.5,
        "gain_is_resident": True,
        "gain_is_least": False,
    }
    assert words.gain(held, {"cpu_ns": 9}) == "at most 1.00 MiB (50.0 % of resident memory)"
    assert (
        words.gain(row, {"cpu_ns": 9})
        == "at most 160 ns (50.0 % of CPU time) of these calls, elsewhere unknown"
    )
    assert "(50.0 % of the threads' time)" in words.gain(row, {"cpu_ns": 0})


@pytest.mark.parametrize(
    ("calls", "doubt"),
    [
        ({"malloc": 60, "calloc": 40}, ""),
        ({"malloc": 50, "calloc": 50}, "half or more is calloc's"),
        ({"malloc": 100, "malloc_trim": 0}, "the program calls malloc_trim"),
    ],
)
def test_larger_steps_are_doubted_where_they_may_cost_as_much(calls: dict[str, int], doubt: str) -> None:
    rows = [Made(kind=KIND_NAMES.index(name), bytes=size) for name, size in calls.items()]
    of: Any = Made(facts=Made(by_kind=rows, totals=Made(requested_bytes=100)))
    assert heap_steps._doubt(of).startswith(doubt) and bool(heap_steps._doubt(of)) == bool(doubt)


def test_resident_bytes_have_their_floor_in_what_is_resident() -> None:
    of = Evidence.__new__(Evidence)
    scan: Any = (0, Made(resident_bytes=100 << 20))
    of.scan_with_most_free = scan
    assert not of.is_worth_resident((5 << 20) - 1)
    assert of.is_worth_resident(5 << 20)


def test_code_that_spares_the_calls_comes_before_the_setting_that_makes_them_cheaper() -> None:
    """s = s + x: the thresholds took 37 ms to 27, appending in place to 0.15."""

    def proposal(
        rule: str,
        time_ns: int,
        replay_set: str = "",
        site: int = 3,
        confidence: str = "high",
        measured: tuple[Any, ...] = (),
    ) -> Any:
        advice = Made(sites=(site,), time_ns=time_ns, replay_set=replay_set, confidence=confidence)
        return Made(rule=Made(name=rule), advice=advice, replayed_figures=measured)

    def names(*found: Any) -> list[str]:
        return [one.rule.name for one in advice_answer._code_before_settings(found)]

    setting = proposal("refaults", 100, "glibc.trim_threshold=1")
    code = proposal("reserve", 60)
    assert names(setting, code) == ["reserve", "refaults"]
    assert names(setting, proposal("reserve", 40)) == ["refaults", "reserve"], "it spares little"
    assert names(setting, proposal("reserve", 60, site=4)) == ["refaults", "reserve"], "another site's"
    assert names(setting, proposal("reserve", 60, confidence="low")) == ["refaults", "reserve"]
    other = proposal("arena", 90, site=5)
    assert names(setting, other, code) == ["reserve", "refaults", "arena"]
    assert names(code, setting) == ["reserve", "refaults"]

    def time(difference: float, verdict: str) -> tuple[Any, ...]:
        return (Made(unit="ns", difference=difference, verdict=verdict),)

    spares = proposal("refaults", 100, "glibc.trim_threshold=1", measured=time(-80, "better"))
    cannot_tell = proposal("reserve", 90, measured=time(-85, "same"))
    assert names(spares, cannot_tell) == ["refaults", "reserve"], "only one gain is known"
    assert names(spares, proposal("reserve", 90, measured=time(-85, "better"))) == ["reserve", "refaults"]
    assert names(spares, code) == ["reserve", "refaults"], "no replay could make this change"


def test_a_gain_near_what_is_reported_is_said_to_be_near_on_both_sides() -> None:
    """A gain of 2 % came and went from one recording to the next: its rule and site stand in both."""
    least = {"least_time_share": 0.02, "least_bytes_share": 0.05}
    row = {"time_share": 0.025, "bytes_share": 0.0, "rule": "reserve", "name": "f"}
    assert advice_words.near(row, least) == ", hardly more than a run would show"
    assert advice_words.near({**row, "time_share": 0.031}, least) == ""
    assert advice_words.near({**row, "bytes_share": 0.08}, least) == ""
    below = {**row, "time_share": 0.019}
    assert advice_words._largest({**least, "largest_below": below}) == ", reserve for f the most of it"
    assert advice_words._largest({**least, "largest_below": {**row, "time_share": 0.01}}) == ""


def test_what_a_replay_refutes_leaves_its_site_to_another_rule() -> None:
    """A std::function for each request: an arena was refuted, and "no rule knows this" said of 57 % of the time."""

    def proposal(rule: str, time_ns: int, verdict: str = "", confidence: str = "high") -> Any:
        figure = ReplayedFigure("CPU time", "ns", 0.1 * time_ns, 0.1, verdict, "glibc", 1)
        advice = Made(sites=(3,), time_ns=time_ns, bytes=0, confidence=confidence)
        of = Made(name=rule, of_resident=False, stands_beside=False)
        return Made(rule=of, advice=advice, replayed_figures=[figure] if verdict else [])

    def names(*found: Any) -> list[str]:
        return [one.rule.name for one in advice_answer._one_a_site(found, 1000)]

    again = proposal("built_again", 90)
    assert names(proposal("arena", 100, "worse"), again) == ["built_again"]
    assert names(proposal("arena", 100, "unknown"), again) == ["arena"], "the larger gain"
    assert names(proposal("arena", 100, "worse")) == ["arena"], "it is listed as refuted"


def test_what_takes_many_times_the_memory_is_named_last() -> None:
    """An arena of batches of which a few blocks stay is never emptied: it was the first finding, for 354 MiB more."""

    def proposal(rule: str, *figures: Any) -> Any:
        return Made(rule=Made(name=rule), replayed_figures=figures)

    def peak(more: float, share: float) -> Any:
        return ReplayedFigure("peak", "bytes", more, share, "worse", "glibc")

    arena = proposal("arena", peak(354 << 20, 36.2))
    fewer, twice = proposal("refaults"), proposal("setting", peak(39 << 20, 1.0))
    small = proposal("node_pool", peak(300 << 10, 9.0))
    found = advice_answer._dear_last([arena, twice, fewer, small])
    assert [one.rule.name for one in found] == ["setting", "refaults", "node_pool", "arena"]


def test_a_replay_does_not_judge_what_it_leaves_out() -> None:
    """The copies of s = s + x are the program's, not in the calls: reserve was replayed as 1.8 times slower."""
    changes = {rule.name: rule.change for rule in RULES}
    assert changes["exact_growth"] == ""
