# SPDX-License-Identifier: MIT
"""Turns, failures and verdicts, with a runner that is none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, repeat
from typing import Any

import jsonschema
import pytest
from heapwright.measure.errors import MeasureError
from heapwright.trial import document, schema, session, show
from heapwright.trial.figures import has_more
from heapwright.trial.run import FailedError, Plan, Run, Way

PLAN = Plan(["./shop", "a b"], {})
ARENAS = Way("set:glibc.arena_max=1", {"MALLOC_ARENA_MAX": "1"})
JEMALLOC = Way("on:jemalloc", {"LD_PRELOAD": "/lib/jemalloc.so"})
MIB = 1 << 20


class Runner:
    """Gives each way's peaks and CPU times in turn; an error among them is raised."""

    def __init__(self, **of: Iterable[Any]) -> None:
        self._of: dict[str, Iterator[Any]] = {name: iter(values) for name, values in of.items()}
        self.order: list[str] = []

    def __call__(self, _plan: Plan, way: Way) -> Run:
        name = {"": "plain", ARENAS.name: "arenas", JEMALLOC.name: "jemalloc"}[way.name]
        self.order.append(name)
        found = next(self._of[name])
        if isinstance(found, BaseException):
            raise found
        return (
            found if isinstance(found, Run) else Run({"peak_bytes": found[0] * MIB, "cpu_ns": found[1] * 1e6})
        )


def forever(*values: Any) -> Iterator[Any]:
    while True:
        yield from values


def tried(
    runner: Runner,
    ways: Iterable[Way] = (ARENAS,),
    runs: int = 3,
    plan: Plan = PLAN,
    more: bool | None = None,
    counter: session.Counter | None = None,
) -> dict[str, Any]:
    found = session.try_all(plan, list(ways), runs, more, lambda *_: None, counter, runner)
    made = document.make(found, document.Said())
    jsonschema.validate(json.loads(json.dumps(made)), schema.schema())
    return made


PLAIN = ((100, 50), (101, 52), (100, 51), (99, 49))


def test_the_program_as_it_is_runs_twice_in_each_turn_and_every_way_comes_first_once() -> None:
    runner = Runner(plain=forever(*PLAIN), arenas=forever((50, 50)), jemalloc=forever((100, 50)))
    tried(runner, (ARENAS, JEMALLOC), runs=4)
    turns = [runner.order[1 + 4 * at : 5 + 4 * at] for at in range(4)]
    assert runner.order[0] == "plain", "to warm up"
    assert [sorted(turn) for turn in turns] == [["arenas", "jemalloc", "plain", "plain"]] * 4
    assert [turn[0] for turn in turns].count("plain") == 2
    assert {turn[0] for turn in turns} == {"plain", "arenas", "jemalloc"}


def test_a_remedy_that_halves_the_peak_is_told_with_its_interval_and_how_to_keep_it() -> None:
    made = tried(Runner(plain=forever(*PLAIN), arenas=forever((50, 50), (52, 51), (49, 52))))
    row = made["remedies"][1]
    peak = row["figures"]["peak_bytes"]
    assert (peak["verdict"], peak["difference"]) == ("better", -50 * MIB)
    assert peak["interval"] == [-52 * MIB, -47 * MIB]
    assert row["figures"]["cpu_ns"]["verdict"] == "same"
    assert made["best"] == ARENAS.name
    assert row["keep"]["shell"] == "MALLOC_ARENA_MAX=1 ./shop 'a b'"
    first = show.verdict(made)[0]
    assert first.startswith(
        f"{ARENAS.name}: peak −50 % (−50.0 MiB; −52.0 MiB to −47.0 MiB); CPU time: cannot"
    )
    assert "replay had said" not in show.as_markdown(made)


def test_what_does_the_same_in_code_stands_with_the_ways_to_keep_a_remedy() -> None:
    way = ARENAS._replace(in_code=["a pool at load shop.cpp:4"])
    made = tried(Runner(plain=forever(*PLAIN), arenas=forever((50, 50))), [way])
    assert made["remedies"][1]["keep"]["in_code"] == ["a pool at load shop.cpp:4"]
    assert show.keep(made)[-1] == ("in code", "a pool at load shop.cpp:4")


@pytest.mark.parametrize("parts", [0, 1, 2])
def test_what_did_nothing_is_not_the_best_by_chance(parts: int) -> None:
    way = ARENAS._replace(name="set:glibc.arena_max=1", parts=parts)
    what = "trim:9 did nothing: it was never idle"
    runs = [Run({"peak_bytes": 50 * MIB, "wall_ns": 1e9}, deeds={what: 0})] * 3
    plain = Run({"peak_bytes": 100 * MIB, "wall_ns": 1e9})
    made = tried(Runner(plain=forever(plain), arenas=runs), [way])
    row = made["remedies"][1]
    assert (row["idle"], row["is_idle"]) == ([what], parts == 1)
    line = " ".join(show.verdict(made))
    if parts == 1:
        assert made["best"] == ""
        assert line.endswith(f": no difference, as it did nothing; {what}.")
    else:
        assert made["best"] == way.name
        assert "peak −50 %" in line and line.endswith(f"; {what}.")


def test_what_some_run_did_was_done() -> None:
    runs = [
        Run({"peak_bytes": MIB, "wall_ns": 1e9}, deeds={"trim:9 did nothing: x": count})
        for count in (0, 1, 0)
    ]
    made = tried(Runner(plain=forever(Run({"peak_bytes": MIB, "wall_ns": 1e9})), arenas=runs))
    assert made["remedies"][1]["idle"] == []


def test_where_nothing_helps_that_is_the_first_line() -> None:
    made = tried(Runner(plain=forever((100, 50)), arenas=forever((100, 50))))
    assert show.verdict(made) == ["Nothing that was tried helps.", f"{ARENAS.name}: no difference."]
    assert (made["best"], show.keep(made)) == ("", [])
    dearer = tried(Runner(plain=forever((100, 50)), arenas=forever((120, 50))))
    assert show.verdict(dearer)[:1] == ["Nothing that was tried helps."]


def test_what_the_program_differs_from_itself_is_no_difference() -> None:
    """The control's runs are 10 % above the others, as are the remedy's: no run says that it was not noise."""
    noisy = Runner(plain=forever((100, 50), (110, 50)), arenas=forever((111.5, 50)))
    peak = tried(noisy)["remedies"][1]["figures"]["peak_bytes"]
    assert peak["verdict"] == "same"
    assert peak["below"] >= 10 * MIB


def test_two_runs_tell_nothing() -> None:
    made = tried(Runner(plain=forever(*PLAIN), arenas=forever((50, 50))), runs=2)
    assert made["remedies"][1]["figures"]["peak_bytes"]["verdict"] == "unknown"
    assert show.verdict(made) == [
        "Nothing can be told.",
        f"{ARENAS.name}: 2 runs cannot tell; --runs 5 does.",
    ]


def test_a_price_puts_a_remedy_behind_one_without() -> None:
    made = tried(
        Runner(plain=forever((100, 50)), arenas=forever((80, 50)), jemalloc=forever((40, 60))),
        (ARENAS, JEMALLOC),
    )
    assert made["best"] == ARENAS.name


def test_a_small_gain_at_a_large_price_is_no_help() -> None:
    made = tried(Runner(plain=forever((100, 50)), arenas=forever((90, 500))))
    assert made["best"] == ""
    first, said = show.verdict(made)
    assert first == "Nothing that was tried helps."
    assert "peak −10 %" in said and "CPU time ×10.0" in said
    assert show.keep(made) == []


def test_a_remedy_that_takes_long_gets_only_the_runs_of_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    runner = Runner(plain=forever((100, 50)), arenas=forever((90, 500)))

    def timed(plan: Plan, way: Way) -> Run:
        now_s[0] += 20.0 if way.name else 1.0
        return runner(plan, way)

    monkeypatch.setattr(session.time, "monotonic", lambda: now_s[0])
    found = session.try_all(PLAN, [ARENAS], 7, None, lambda *_: None, None, timed)
    assert [len(arm.runs) for arm in found.arms] == [7, 7, 3]


def test_a_remedy_with_which_the_program_fails_is_a_row_and_is_not_run_again() -> None:
    failing = [(50, 50), FailedError("crashed: SIGSEGV")]
    runner = Runner(plain=forever(*PLAIN), arenas=failing, jemalloc=forever((50, 50)))
    made = tried(runner, (ARENAS, JEMALLOC), runs=4)
    row = made["remedies"][1]
    assert (row["failure"], row["figures"]) == ("crashed: SIGSEGV", {})
    assert runner.order.count("arenas") == 2
    assert show.verdict(made)[1] == f"{ARENAS.name}: the program crashed: SIGSEGV."


@pytest.mark.parametrize("after", [0, 2])
def test_a_program_that_fails_by_itself_is_an_error(after: int) -> None:
    plain = [*PLAIN[:after], FailedError("failed: no such table")]
    with pytest.raises(MeasureError, match=r"^\./shop fails without any remedy.*failed: no such table$"):
        tried(Runner(plain=plain, arenas=forever((50, 50))))
    with pytest.raises(MeasureError, match=r"^--while 'x' failed$"):
        tried(Runner(plain=[FailedError("--while 'x' failed", True)]))


def output(text: str) -> Run:
    return Run({"peak_bytes": MIB}, text)


def test_other_output_is_a_failure_of_the_remedy_and_an_error_of_the_program() -> None:
    made = tried(Runner(plain=forever(output("0 a")), arenas=forever(output("0 a"), output("0 b"))))
    assert "--same-output" in made["remedies"][1]["failure"]
    with pytest.raises(MeasureError, match="writes something else in each run"):
        tried(Runner(plain=forever(output("0 a"), output("0 b")), arenas=forever(output("0 a"))))


def test_an_interruption_shows_what_was_measured() -> None:
    arenas = [(50, 50), (50, 50), (50, 50), KeyboardInterrupt()]
    made = tried(Runner(plain=forever(*PLAIN), arenas=arenas), runs=9)
    assert not made["is_whole"]
    assert made["remedies"][1]["figures"]["peak_bytes"]["verdict"] == "better"
    assert "interrupted: these are the runs until then" in made["notes"]


@pytest.mark.parametrize("has_idled", [True, False])
def test_a_server_that_ends_under_its_load_has_no_idle_memory(has_idled: bool) -> None:
    run = Run({"peak_bytes": MIB} | ({"idle_bytes": MIB} if has_idled else {}))
    made = tried(Runner(plain=forever(run), arenas=forever(run)), plan=PLAN._replace(load="curl"))
    said = f"{PLAN.command[0]} ended before its load was over: what it holds when idle is not known"
    assert (said in made["notes"]) is not has_idled


def metric(value: float, unit: str = "") -> Run:
    return Run({"metric": value, "peak_bytes": MIB}, unit=unit)


@pytest.mark.parametrize(
    ("unit", "more", "verdict"),
    [("req/s", None, "better"), ("ms", None, "worse"), ("", True, "better"), ("", False, "worse")],
)
def test_the_owners_figure_has_a_direction(unit: str, more: bool | None, verdict: str) -> None:
    runner = Runner(plain=forever(metric(100, unit)), arenas=forever(metric(150, unit)))
    made = tried(runner, plan=PLAN._replace(metric="tail -1"), more=more)
    assert made["remedies"][1]["figures"]["metric"]["verdict"] == verdict
    assert made["best"] == (ARENAS.name if verdict == "better" else ""), "it alone decides"


def test_a_figure_without_a_direction_is_refused() -> None:
    runner = Runner(plain=forever(metric(100, "widgets")))
    with pytest.raises(MeasureError, match="the unit 'widgets' does not tell whether more is better"):
        tried(runner, plan=PLAN._replace(metric="tail -1"))
    assert [has_more(unit) for unit in ("ops/sec", "QPS", "MB/s", "MiB", "µs")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_few_runs_of_long_programs_and_more_of_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs_at(run_s: float) -> int:
        clock = chain([0.0], repeat(run_s))
        monkeypatch.setattr(session.time, "monotonic", lambda: next(clock))
        runner = Runner(plain=forever(*PLAIN), arenas=forever((50, 50)))
        return int(tried(runner, runs=0)["runs"])

    assert [runs_at(run_s) for run_s in (0.01, 1.5, 60.0)] == [7, 4, 3]


class Counted:
    """Tails by way; a way without any cannot be counted."""

    def __init__(self, **tails: Iterator[float | None]) -> None:
        self._tails = tails
        self.last = ""

    def variables(self, way: Way, environment: Mapping[str, str]) -> Mapping[str, str] | None:
        assert environment == PLAN.environment
        name = {"": "plain", ARENAS.name: "arenas", JEMALLOC.name: "jemalloc"}[way.name]
        return {"COUNTED": name} if name in self._tails else None

    def figures(self) -> dict[str, float]:
        tail = next(self._tails[self.last])
        return {} if tail is None else {"call_tail_ns": tail}


def counted(counter: Counted, **memory: Iterator[Any]) -> dict[str, Any]:
    """Three runs of each way, and three that are counted, with other memory and time."""
    plain = Runner(**memory)

    def run(plan: Plan, way: Way) -> Run:
        if "COUNTED" not in way.variables:
            return plain(plan, way)
        counter.last = way.variables["COUNTED"]
        return Run({"peak_bytes": 900.0 * MIB, "cpu_ns": 900e6})

    return tried(run, (ARENAS, JEMALLOC), counter=counter)


def test_counted_runs_give_the_tail_of_heap_calls_and_nothing_else() -> None:
    counter = Counted(plain=forever(5000.0, 5100.0), arenas=forever(1000.0, 1020.0))
    made = counted(counter, plain=forever(*PLAIN), arenas=forever((100, 50)), jemalloc=forever((100, 50)))
    before, arenas, jemalloc = (row["figures"] for row in made["remedies"])
    assert before["call_tail_ns"]["runs"] == 6 and before["peak_bytes"]["high"] <= 101 * MIB
    assert arenas["call_tail_ns"]["verdict"] == "better"
    assert arenas["peak_bytes"]["runs"] == 3 and "call_tail_ns" not in jemalloc
    assert made["best"] == "", "the tail explains, and decides nothing"
    assert any("call p99.9" in line for line in show.below(made))


def test_a_tail_one_bin_apart_is_no_difference() -> None:
    counter = Counted(plain=forever(5119.0), arenas=forever(4095.0))
    made = counted(counter, plain=forever(*PLAIN), arenas=forever((100, 50)), jemalloc=forever((100, 50)))
    assert made["remedies"][1]["figures"]["call_tail_ns"]["verdict"] == "same"


def test_a_way_with_too_few_timed_calls_is_counted_once() -> None:
    asked = iter([None, 1.0, 1.0, 1.0])
    counter = Counted(plain=forever(5000.0), arenas=asked)
    made = counted(counter, plain=forever(*PLAIN), arenas=forever((100, 50)), jemalloc=forever((100, 50)))
    assert "call_tail_ns" not in made["remedies"][1]["figures"]
    assert list(asked) == [1.0, 1.0, 1.0]


def test_checked_runs_come_first_and_who_fails_there_is_not_measured() -> None:
    checked: list[str] = []
    plain = Runner(plain=forever(*PLAIN), arenas=forever((50, 50)), jemalloc=forever((50, 50)))

    def run(plan: Plan, way: Way) -> Run:
        if way.variables.get("HEAPWRIGHT_HEAP_HARDENED") != "1":
            assert len(checked) == 2 or not way.name
            return plain(plan, way)
        checked.append(way.name)
        if way.name == JEMALLOC.name:
            raise FailedError("crashed: SIGABRT: double free")
        return Run({"peak_bytes": 900.0 * MIB})

    found = session.try_all(PLAN, [ARENAS, JEMALLOC], 3, None, lambda *_: None, None, run, is_checked=True)
    rows = document.make(found, document.Said())["remedies"]
    assert checked == [ARENAS.name, JEMALLOC.name]
    assert rows[1]["figures"]["peak_bytes"]["high"] == 50 * MIB
    assert (rows[2]["failure"], rows[2]["figures"]) == ("crashed: SIGABRT: double free (--check)", {})
