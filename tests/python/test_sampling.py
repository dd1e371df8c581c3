# SPDX-License-Identifier: MIT
"""Reports of sampled traces: each figure has an interval that holds, or is left open."""

import json
import math
import random
import time
from pathlib import Path

import pytest
from heapwright.explain import QUESTIONS
from heapwright.explain.estimates import interval
from heapwright.model.facts import Spread
from written_traces import FREE, MALLOC, Command, MadeTrace, small_trace

MEAN = 65536
NOT_ANSWERED = {question.name for question in QUESTIONS if question.unsampled}


def sampled_trace() -> MadeTrace:
    """Four samples of 1000 bytes at one site, one of them freed; one of 100,000 at another."""
    trace = small_trace()
    trace.lines = [line for line in trace.lines if not line.startswith(("event", "memory"))]
    trace.meta("sample_mean_bytes", MEAN).meta("durations_recorded", 0)
    for number in range(4):
        trace.event(MALLOC, 0x1000 + 0x1000 * number, 1000, stack=2)
    trace.event(MALLOC, 0x9000, 100_000, stack=3)
    trace.event(FREE, 0x1000)
    return trace


def weight(size: int) -> float:
    return 1 / (1 - math.exp(-size / MEAN))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return sampled_trace().write(tmp_path / "x.heapwright")


def test_estimates_are_weighted_with_real_numbers(command: Command, path: Path) -> None:
    document = json.loads(command("explain", path, "--json").out)
    sites = {site["function"]: site for site in document["questions"]["volume"]["sites"]}
    small, large = sorted(sites.values(), key=lambda site: site["bytes"] / site["allocations"])
    assert small["allocations"] == pytest.approx(4 * weight(1000), abs=1)
    assert small["bytes"] == pytest.approx(4000 * weight(1000), rel=2e-4)
    assert large["bytes"] == pytest.approx(100_000 * weight(100_000), rel=2e-4)  # 127,765; rounded: 100,000


def test_intervals_are_those_of_the_variance(command: Command, path: Path) -> None:
    document = json.loads(command("explain", path, "--json").out)
    by_bytes = sorted(document["questions"]["volume"]["sites"], key=lambda site: site["bytes"])
    term = weight(100_000) * (weight(100_000) - 1)
    large = Spread(term * 1e10, math.sqrt(term) * 1e5)
    assert by_bytes[0]["intervals"]["bytes"] == pytest.approx(interval(by_bytes[0]["bytes"], large), abs=2)
    leaks = document["questions"]["leaks"]
    live = next(site for site in leaks["sites"] if site["live_blocks"] > 10)
    term = weight(1000) * (weight(1000) - 1)
    of_three = Spread(3 * term, math.sqrt(term))
    assert live["intervals"]["live_blocks"] == pytest.approx(interval(live["live_blocks"], of_three), abs=1)


def test_what_samples_cannot_tell_is_not_answered(command: Command, path: Path) -> None:
    document = json.loads(command("explain", path, "--json").out)
    open_questions = {name for name, answer in document["questions"].items() if "not_answered" in answer}
    assert open_questions == NOT_ANSWERED
    assert {"temporaries", "time", "latency", "slow_calls", "realloc"} <= NOT_ANSWERED
    summary = document["summary"]
    assert summary["temporaries"] is summary["allocator_share"] is summary["totals"]["allocator_ns"] is None
    said = command("explain", path, "--all").out
    assert said.count("not available from samples: ") == len(NOT_ANSWERED)
    assert "complete: every call is in the trace" not in said
    assert "every sampled call is in the trace" in said


def every_number(part: object, name: str = "") -> list[str]:
    """Names of estimated figures without an interval."""
    estimated = {"bytes", "allocations", "live_bytes", "live_blocks", "requested_bytes", "overhead_bytes",
                 "live_at_peak_bytes", "live_at_peak_blocks", "live_at_end_bytes", "live_at_end_blocks"}  # fmt: skip
    if isinstance(part, list):
        return [found for item in part for found in every_number(item, name)]
    if not isinstance(part, dict):
        return []
    bare = [
        f"{name}.{key}"
        for key, value in part.items()
        if key in estimated and value is not None and key not in part.get("intervals", {})
    ]
    return bare + [
        found
        for key, item in part.items()
        if key != "intervals"
        for found in every_number(item, f"{name}.{key}")
    ]


def test_every_estimate_has_its_interval(command: Command, path: Path) -> None:
    document = json.loads(command("explain", path, "--json").out)
    del document["questions"]["held"]  # of the sampled blocks themselves, no estimate
    assert every_number(document) == []
    whole = json.loads(command("explain", small_trace().write(path.with_name("y")), "--json").out)
    assert "intervals" not in json.dumps(whole)


def test_the_terminal_shows_the_interval(command: Command, path: Path) -> None:
    said = command("explain", path, "--question", "volume").out
    rows = [line for line in said.splitlines() if "(" in line and " to " in line and "KiB" in line]
    assert rows
    table = said[said.index("[volume]") :]
    assert "share" not in table  # only what has an interval is shown, beside names
    assert any(line in table for line in rows)


def test_nothing_sampled_is_not_nothing(command: Command, tmp_path: Path) -> None:
    trace = sampled_trace()
    trace.lines = [line for line in trace.lines if not line.startswith("event")]
    document = json.loads(command("explain", trace.write(tmp_path / "x"), "--json").out)
    assert document["summary"]["totals"]["intervals"]["requested_bytes"] == [0, math.ceil(3.688879 * MEAN)]


def test_one_sample_says_little() -> None:
    """As of one event of a Poisson count: 0.025 to 5.572 times it (Garwood 1936)."""
    low, high = interval(100_000, Spread(1e10, 1e5))
    assert low <= 2_532
    assert high == pytest.approx(557_200, rel=0.01)


@pytest.mark.parametrize("seed", [20261122, None], ids=["fixed", "another"])
@pytest.mark.parametrize(
    ("blocks", "chance"), [(100, 0.05), (400, 0.02), (1000, 0.1), (2000, 0.5), (300, 0.9)]
)
def test_intervals_hold(seed: int | None, blocks: int, chance: float) -> None:
    """Simulated sampling; 93 % of 2,000 leave room for four standard deviations."""
    seed = seed or time.time_ns()
    dice = random.Random(seed)
    w = 1 / chance
    held = 0
    runs = 2000
    for _ in range(runs):
        taken = sum(dice.random() < chance for _ in range(blocks))
        low, high = interval(taken * w, Spread(taken * w * (w - 1), math.sqrt(w * (w - 1))))
        held += low <= blocks <= high
    assert held >= 0.93 * runs, f"seed {seed}"


def rows_of(command: Command, path: Path, query: str) -> list[list[float]]:
    said = command("sql", path, query, "--json")
    assert said.code == 0, said.err
    rows: list[list[float]] = json.loads(said.out)["rows"]
    return rows


def test_tables_of_samples_have_their_weights(command: Command, path: Path) -> None:
    """Every row tells how many it stands for; where it cannot, nothing."""
    blocks = "select sum(weight), sum(size * weight) from block"
    ((number, size),) = rows_of(command, path, blocks)
    assert number == pytest.approx(4 * weight(1000) + weight(100_000))
    assert size == pytest.approx(4000 * weight(1000) + 100_000 * weight(100_000))
    ((number, size),) = rows_of(command, path, "select sum(weight), sum(size * weight) from event")
    assert number == pytest.approx(4 * weight(1000) + weight(100_000))
    assert rows_of(command, path, "select weight, duration_ns from event where kind = 'free'") == [
        [None, None]
    ]
    assert rows_of(command, path, "select distinct is_temporary from block") == [[None]]
    document = json.loads(command("explain", path, "--json", "--question", "volume").out)
    assert document["summary"]["totals"]["requested_bytes"] == pytest.approx(size, rel=2e-4)


def test_rows_of_whole_recordings_stand_for_themselves(command: Command, tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / "whole.heapwright")
    for table in ("event", "block"):
        assert rows_of(command, path, f"select distinct weight from {table}") == [[1]]
    assert rows_of(command, path, "select count(*) from event where duration_ns is null") == [[0]]
    said = command("sql", path, "select count(*) from event")
    assert "sampled" not in said.err
    assert "sampled" not in json.loads(command("sql", path, "select 1 from event", "--json").out)


@pytest.mark.parametrize("options", [[], ["--csv"]])
def test_sql_says_that_rows_are_samples(command: Command, path: Path, options: list[str]) -> None:
    said = command("sql", path, "select count(*) from event", *options)
    assert "sampled trace: each row of event and block is a sample" in said.err
    assert "sum(weight) and sum(size * weight) are the estimates, count(*) and sum(size) are not" in said.err
    assert "sampled" not in said.out
    said = command("sql", path, "select count(*) from event", "--json")
    assert json.loads(said.out)["sampled"].startswith("sampled trace: each row")
    assert "sampled" not in command("sql", path, "select count(*) from module").err


def test_the_table_of_sites_is_estimated(command: Command, path: Path) -> None:
    ((allocations, size),) = rows_of(command, path, "select sum(allocations), sum(bytes) from site")
    assert allocations == pytest.approx(4 * weight(1000) + weight(100_000), abs=2)
    assert size == pytest.approx(4000 * weight(1000) + 100_000 * weight(100_000), rel=2e-4)
    for column in ("temporaries", "allocator_ns", "reallocs", "own_peak_bytes"):
        said = command("sql", path, f"select sum({column}) from site")
        assert said.code == 2
        assert said.err.startswith(f"heapwright: this recording has no {column}")


def test_exports_of_samples_say_so(command: Command, path: Path) -> None:
    said = command("export", path, "--to", "parquet", "-o", path.with_name("event.parquet"))
    assert "sampled trace: each row of event" in said.err
    said = command(
        "export", path, "--to", "parquet", "-o", path.with_name("b.parquet"), "--table", "block", "--json"
    )
    assert json.loads(said.out)["sampled"].startswith("sampled trace")
    for measure in ("time", "temporaries"):
        for line in (["export", path, "--to", "folded"], ["explain", path, "--tree", "callers"]):
            said = command(*line, "--measure", measure)
            assert said.code == 2
            assert said.err.startswith(f"heapwright: {measure}: not available from samples: ")


def test_times_that_were_not_recorded_are_not_summed(command: Command, tmp_path: Path) -> None:
    trace = small_trace().meta("durations_recorded", 0)
    path = trace.write(tmp_path / "untimed.heapwright")
    assert rows_of(command, path, "select count(duration_ns) from event") == [[0]]
    assert command("sql", path, "select allocator_ns from site").code == 2
    said = command("export", path, "--to", "folded", "--measure", "time")
    assert said.err == "heapwright: time was not recorded (--no-durations)\n"
