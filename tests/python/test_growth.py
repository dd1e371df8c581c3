# SPDX-License-Identifier: MIT
"""Which sites grow: made-up loads whose kind is known, and traces written call by call."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import heapwright
import jsonschema
import pytest
from heapwright import explain
from heapwright.explain import growth_kinds, trend
from heapwright.explain.growth_kinds import Course, verdict
from heapwright.model import Filter
from test_explain import SCHEMA, explained, made, printed
from written_traces import FREE, MALLOC, PROJECT, Command, MadeTrace

sys.path.append(str(PROJECT / "bench/growth"))
import loads

SECOND = 1_000_000_000
MAIN, GROWS, WORK, CACHE = 1, 2, 3, 4  # stacks


def kind_of(made: loads.Made, seed: str) -> str:
    course = Course(*loads.course(made(random.Random(seed))))
    return verdict(course, max(course.live_bytes) / 500).kind


@pytest.mark.parametrize("name", loads.STATIONARY)
def test_loads_that_do_not_grow_are_not_called_growing(name: str) -> None:
    """The few of bench/results/growth.json's many; seeds of their own, none of which is a false alarm."""
    kinds = [kind_of(loads.STATIONARY[name], f"test {name} {seed}") for seed in range(12)]
    assert not {"leak", "creep"} & set(kinds), kinds


@pytest.mark.parametrize("name", loads.GROWING)
def test_loads_that_grow_are_told(name: str) -> None:
    made, right = loads.GROWING[name]
    kinds = [kind_of(made, f"test {name} {seed}") for seed in range(10)]
    assert sum(kind in right for kind in kinds) >= 7, kinds
    assert not set(kinds) & ({"leak", "creep"} - set(right)), kinds


def test_a_few_large_blocks_beside_many_small_ones_are_no_creep() -> None:
    """200 small blocks, and 28 of 64 KiB one by one, of one site: its mean size rises, but no block's does."""
    live_bytes = [200 * 32 + place // 9 * 65536 for place in range(256)]
    blocks = [200 + place // 9 for place in range(256)]
    assert verdict(Course(live_bytes, blocks, 65536), 1000).kind == "leak"
    assert verdict(Course(live_bytes, [200] * 256, 65536), 1000).kind == "creep", "their number is steady"
    ratchet = [200 * 32 + place * 7300 for place in range(256)]
    assert verdict(Course(ratchet, blocks, 65536), 1000).kind == "creep", "and so do the sizes, bin by bin"


def doubling(per_bin: int, until: int = 256) -> Course:
    """A vector of 1 MiB to which as much is appended in each bin, until this one."""
    held, size = [], 1 << 20
    for place in range(256):
        while size < per_bin * min(place, until):
            size *= 2
        held.append(size)
    return Course(held, [1] * 256, size)


@pytest.mark.parametrize("per_bin", [100_000, 175_000, 250_000])
def test_blocks_that_double_are_growth_at_the_rate_of_what_they_hold(per_bin: int) -> None:
    found = verdict(doubling(per_bin), 1000)
    assert (found.kind, found.slope.is_sure) == ("leak", True)
    assert found.slope.each == pytest.approx(per_bin, rel=0.1)
    filled = verdict(doubling(per_bin, until=100), 1000)
    assert filled.kind == "warm-up", "it stopped long before the next doubling"


@pytest.mark.parametrize(("noise", "slope"), [(0, 5), (100, 5), (3000, 100)])
def test_the_interval_holds_the_slope(noise: int, slope: int) -> None:
    inside = 0
    for seed in range(100):
        chance = random.Random(seed)
        found = trend.slope([1000 + slope * at + chance.gauss(0, noise) for at in range(256)])
        inside += abs(found.each - slope) <= found.half_width + 1e-9
    assert inside >= 88, "of 100 intervals of 95 %"


def test_noise_that_remembers_widens_the_interval() -> None:
    def walk(memory: float, seed: int = 5) -> trend.Slope:
        chance, level, values = random.Random(seed), 0.0, []
        for _ in range(256):
            level = memory * level + chance.gauss(0, 100)
            values.append(10_000 + level)
        return trend.slope(values)

    assert walk(0.9).half_width > 2 * walk(0).half_width
    assert not walk(0.99).is_sure
    found = [walk(0.95, seed) for seed in range(60)]
    assert sum(abs(slope.each) <= slope.half_width for slope in found) >= 45, "of 60 without a slope"


def test_a_program_that_gives_all_back_at_its_end_has_grown_before() -> None:
    rising = [100 * at for at in range(240)]
    found = verdict(Course(rising + [0] * 16, list(range(240)) + [0] * 16), 100)
    assert (found.kind, found.end) == ("leak", 240)


def test_a_course_known_in_part_is_unknown() -> None:
    assert verdict(Course([*range(63)], [*range(63)]), 1).kind == "unknown"


def server(seconds: int, kept: int, tidy: bool = True) -> MadeTrace:
    """A site that keeps a block in every step, beside a cache that fills in a third of the run, and requests."""
    made = MadeTrace()
    made.meta("program", "/opt/shop/server").meta("command", "/opt/shop/server")
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/shop/server", "aabbcc")
    made.line("thread", 0, 100, "main", 0, 0)
    for pc in (0x401000, 0x402000, 0x403000, 0x404000):
        made.line("frame", pc, 0)
    for parent, frame in ((0, 0), (1, 1), (1, 2), (1, 3)):
        made.line("stack", parent, frame)
    steps = 600
    for step in range(steps):
        at = 1600 + step * seconds * SECOND // steps // 16 * 16
        made.event(MALLOC, 0x10_0000 + 0x1000 * step, kept, stack=GROWS, at=at)
        if step < steps // 3:
            made.event(MALLOC, 0x1000_0000 + 0x1000 * step, 4000, stack=CACHE, at=at + 1600)
        for request in range(3):
            address = 0x9000_0000 + 0x100 * (3 * step + request)
            made.event(MALLOC, address, 200, stack=WORK, at=at + 3200 + 480 * request)
            if tidy:
                made.event(FREE, address)
    made.end = f"end 1 0 {made._now_ns + 1600}"
    return made


def answer(made: MadeTrace, tmp_path: Path, limit: int = 0, chosen: Filter | None = None) -> dict[str, Any]:
    trace, chosen = heapwright.open(made.write(tmp_path / "server.heapwright")), chosen or Filter()
    report = explain.Report(trace, trace.facts(chosen), trace.sites(), chosen, 10, (), limit)
    document = explain.explain(report)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(document)))
    return document


def by_site(document: dict[str, Any]) -> dict[str, Any]:
    return {site["function"]: site for site in document["questions"]["growth"]["sites"]}


def test_the_site_that_grows_stands_before_the_cache_that_filled_once(tmp_path: Path) -> None:
    document = answer(server(60, 400), tmp_path)
    found = document["questions"]["growth"]["sites"]
    assert [(site["function"], site["kind"]) for site in found[:2]] == [
        ("server+0x2000", "leak"),
        ("server+0x4000", "warm-up"),
    ]
    assert found[0]["bytes_at_end"] < found[1]["bytes_at_end"]
    assert found[0]["slope_bytes_per_s"] == pytest.approx(4000, rel=0.02), "600 x 400 bytes in 60 s"
    assert (found[0]["blocks_at_end"], found[0]["mean_usable_at_end"]) == (600, 400)
    first = document["summary"]["findings"][0]
    assert "server+0x2000" in first["text"]


def test_leaks_and_growth_say_one_thing(tmp_path: Path) -> None:
    """None of its blocks is ever freed: the sign that leaks tells is growth's kind, once on the first screen."""
    document = answer(server(60, 400), tmp_path)
    signs = {sign["function"]: sign for sign in document["questions"]["leaks"]["signs"]}
    kinds = {name: site["kind"] for name, site in by_site(document).items()}
    assert all(kinds[name] == "leak" for name in signs)
    assert (
        signs["server+0x2000"]["slope_bytes_per_s"] == by_site(document)["server+0x2000"]["slope_bytes_per_s"]
    )
    said = [finding for finding in document["summary"]["findings"] if "server+0x2000" in finding["text"]]
    assert [finding["question"] for finding in said].count("growth") + [
        finding["question"] for finding in said if "throughout" in finding["text"]
    ].count("leaks") == 1


def test_a_jump_before_a_leak_is_no_doubt_of_its_slope() -> None:
    """node: 200 buffers at once, then one after the other."""
    chance = random.Random("jump")
    held = [
        (20_000_000 if place > 20 else 0) + place * 80_000 + chance.randrange(20_000) for place in range(256)
    ]
    found = verdict(Course(held, [1 + byte // 20_000 for byte in held], 100_000), 1)
    assert (found.kind, found.slope.is_sure) == ("leak", True)
    assert found.slope.half_width < 1000
    assert abs(found.slope.each - 80_000) <= 2 * found.slope.half_width


@pytest.mark.parametrize("blocks", [60, 500, 5000])
def test_a_leak_of_one_rate_has_one_slope(blocks: int) -> None:
    """Blocks that come at random bend its course, as a walk at random does; the rate is what it was."""
    verdicts = [
        verdict(Course(*loads.course(loads.random_leak(random.Random(f"test {blocks} {seed}"), blocks))), 1)
        for seed in range(40)
    ]
    rate = blocks * loads.RANDOM_LEAK_BYTES / loads.BINS
    held = [one for one in verdicts if abs(one.slope.each - rate) <= one.slope.half_width]
    assert len(held) >= 36
    assert len([one for one in verdicts if one.begin]) <= 2


@pytest.mark.parametrize(("limit", "seconds"), [(2_000_000, 240), (1_000, 0)])
def test_the_time_to_a_limit(tmp_path: Path, limit: int, seconds: int) -> None:
    """1,040,000 bytes live at the end (240,000 and 800,000), 4,000 more each second."""
    document = answer(server(60, 400), tmp_path, limit)
    growth = document["questions"]["growth"]
    assert (growth["used_bytes"], growth["used_is_resident"]) == (1_040_000, False)
    assert by_site(document)["server+0x2000"]["to_limit_ns"] == pytest.approx(
        seconds * SECOND, rel=0.02, abs=1
    )
    assert growth["to_limit_ns"] == pytest.approx(seconds * SECOND, rel=0.02, abs=1)
    assert "to the limit" in printed(document, 200)


def test_a_short_run_of_a_program_that_keeps_all_is_unknown(tmp_path: Path) -> None:
    site = by_site(answer(server(5, 400, tidy=False), tmp_path))["server+0x2000"]
    assert (site["kind"], site["is_sure"]) == ("unknown", True)
    assert "short" in site["reason"]
    assert by_site(answer(server(50, 400, tidy=False), tmp_path))["server+0x2000"]["kind"] == "leak"


@pytest.mark.parametrize(("seconds", "is_sure"), [(5, False), (60, True)])
def test_what_is_freed_before_the_exit_is_no_leak(tmp_path: Path, seconds: int, is_sure: bool) -> None:
    """A program that builds for a while and then frees everything: the same in a short run and in a long one."""
    made = server(seconds, 400)
    for step in range(600):
        made.event(FREE, 0x10_0000 + 0x1000 * step)
    made.end = f"end 1 0 {made._now_ns + 1600}"
    document = answer(made, tmp_path)
    site = by_site(document)["server+0x2000"]
    assert (site["kind"], site["is_sure"]) == ("growing" if is_sure else "unknown", is_sure)
    assert site["reason"].startswith("it is freed before the exit")
    said = [one["text"] for one in document["summary"]["findings"] if one["question"] == "growth"]
    assert bool(said) == is_sure and not any("leak" in text for text in said)


@pytest.mark.parametrize("ends", [2, 3])
def test_what_is_freed_before_another_end_is_no_leak(tmp_path: Path, ends: int) -> None:
    """A program that frees everything and is then killed, or replaces itself with another one."""
    made = server(60, 400)
    for step in range(600):
        made.event(FREE, 0x10_0000 + 0x1000 * step)
    made.end = f"end {ends} 9 {made._now_ns + 1600}"
    document = answer(made, tmp_path)
    site = by_site(document)["server+0x2000"]
    assert (site["kind"], site["is_sure"]) == ("growing", True)
    assert site["reason"].startswith("it is freed before the recording ends")


def test_little_growth_is_only_in_the_table(tmp_path: Path) -> None:
    """600 blocks of 100 bytes in a minute: certain, but nothing that anybody looks for first."""
    made = server(60, 100)
    for step in range(600):
        made.event(FREE, 0x10_0000 + 0x1000 * step)
    made.end = f"end 1 0 {made._now_ns + 1600}"
    document = answer(made, tmp_path)
    site = by_site(document)["server+0x2000"]
    assert (site["kind"], site["is_sure"]) == ("growing", True)
    assert not [one for one in document["summary"]["findings"] if one["question"] == "growth"]


def test_a_buffer_that_doubles_is_no_leak(tmp_path: Path) -> None:
    """One block at all times: nothing was forgotten."""
    made = MadeTrace()
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/server", "aabbcc")
    made.line("thread", 0, 100, "main", 0, 0)
    made.line("frame", 0x402000, 0).line("stack", 0, 0)
    for step in range(10):
        at = 1600 + 60 * SECOND * 2**step // 1024
        made.event(MALLOC, 0x10_0000 + 0x100_0000 * step, 1000 << step, stack=1, at=at)
        if step:
            made.event(FREE, 0x10_0000 + 0x100_0000 * (step - 1), at=at + 1600)
    made.end = f"end 1 0 {60 * SECOND}"
    document = answer(made, tmp_path)
    said = [one["text"] for one in document["summary"]["findings"] if one["question"] == "growth"]
    assert said and "data that only grows" in said[0] and "leak" not in said[0], said


@pytest.mark.parametrize("still", [40, 80, 120])
def test_growth_begins_where_the_series_does(still: int) -> None:
    """Nothing changes in the first bins: a slope of all of them would hide that, and be too low."""
    held = [100_000 + 5000 * max(0, bin - still) for bin in range(256)]
    found = verdict(Course(held, [one // 500 for one in held], 500), 1000)
    assert found.kind == "leak"
    assert abs(found.begin - still) <= 8, "a place of 64"
    assert found.slope.each == pytest.approx(5000, rel=0.01)


def test_creep_is_told_from_where_the_blocks_are_as_many() -> None:
    """One large block first, then 500 that grow: their mean size grows from their own."""
    blocks = [1] * 8 + [500] * 248
    held = [20_000] * 8 + [500 * 40 + 3000 * bin for bin in range(248)]
    found = verdict(Course(held, blocks, 20_000), 1000)
    assert found.kind == "creep"
    assert 8 <= found.steady_from <= 12


def test_one_buffer_that_grows_beside_many_blocks_is_no_creep() -> None:
    """As jq's join: 100,000 short strings stay while one long string grows."""
    held = [5_600_000 + 8_000 * bin for bin in range(256)]
    assert verdict(Course(held, [100_000] * 256, 2_100_000), 1000).kind != "creep"
    assert verdict(Course(held, [100_000] * 256, 200), 1000).kind == "creep", "no block is that large"


@pytest.mark.parametrize("seconds", [2, 20])
def test_creep_of_a_short_run_may_be_what_the_program_builds(tmp_path: Path, seconds: int) -> None:
    """Of ten buffers, each in turn becomes larger, as of a pool that keeps its capacity, or of strings that are built."""
    made = MadeTrace()
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/server", "aabbcc")
    made.line("thread", 0, 100, "main", 0, 0)
    made.line("frame", 0x402000, 0).line("stack", 0, 0)
    steps = 1000
    for step in range(steps):
        at = 1600 + step * seconds * SECOND // steps
        if step >= 10:
            made.event(FREE, 0x10_0000 + 0x1_0000 * (step % 10), at=at)
        made.event(MALLOC, 0x10_0000 + 0x1_0000 * (step % 10), 1000 + 20 * step, stack=1, at=at + 10)
    made.end = f"end 1 0 {made._now_ns + 1600}"
    document = answer(made, tmp_path)
    (site,) = document["questions"]["growth"]["sites"]
    assert (site["kind"], site["is_sure"]) == ("creep", True)
    (said,) = [one["text"] for one in document["summary"]["findings"] if one["question"] == "growth"]
    assert ("or what it builds" in said) == (seconds < 10)


def test_a_window_has_its_own_slope(tmp_path: Path) -> None:
    """In the last half the cache is full."""
    window = Filter(from_ns=30 * SECOND, to_ns=60 * SECOND)
    found = by_site(answer(server(60, 400), tmp_path, chosen=window))
    assert found["server+0x4000"]["kind"] == "steady"
    assert found["server+0x2000"]["slope_bytes_per_s"] == pytest.approx(4000, rel=0.03)


def test_a_limit_that_is_no_size_is_refused(command: Command, tmp_path: Path) -> None:
    server(1, 16).write(tmp_path / "server.heapwright")
    said = command("explain", "server.heapwright", "--memory-limit", "much")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "--memory-limit" in said.err


def test_every_kind_is_explained_or_plain() -> None:
    assert set(growth_kinds.KINDS) == {
        "leak", "growing", "creep", "warm-up", "sawtooth", "steady", "shrinking", "unknown",
    }  # fmt: skip


def test_what_is_made_at_the_begin_of_a_run_that_waits_does_not_grow(tmp_path: Path) -> None:
    """The course goes on to the end of the process, not to its last call."""
    trace = MadeTrace(end=f"end 1 0 {3 * SECOND}")
    for number in range(2000):
        trace.event(MALLOC, 0x100000 + number * 0x1000, 500, stack=0, at=(number + 1) * 640)
    document = explained(made(tmp_path, trace))
    assert document["summary"]["totals"]["span_ns"] == 3 * SECOND - 640
    (row,) = document["questions"]["growth"]["sites"]
    assert row["kind"] == "steady" and not row["is_sure"] and not row["leak_sign"]
    assert not [one for one in document["summary"]["findings"] if one["question"] == "growth"]
