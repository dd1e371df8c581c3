# SPDX-License-Identifier: MIT
"""Figures and verdicts, worked out by hand for tests/python/gate/shop.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from heapwright.cli import run_command, schemas
from heapwright.gate import show
from heapwright.gate.document import known_of
from heapwright.gate.site_costs import SiteCost
from shop import budget, shop, written
from test_phases import BEGIN, END, say
from written_traces import FREE, MALLOC, MadeTrace

SCHEMA = schemas.of("gate")
EVERYTHING = "calls = 0\nbytes = 0\npeak_live_bytes = 0\nlive_at_end_bytes = 0\nlive_at_end_blocks = 0\n"


def gated(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, made: MadeTrace | None = None, *words: str
) -> dict[str, Any]:
    code = run_command(["gate", budget(folder, text), written(folder, made), "--json", *words])
    said = capsys.readouterr()
    assert code in (0, 1), said.err
    document: dict[str, Any] = json.loads(said.out)
    jsonschema.validate(document, SCHEMA)
    assert document["is_within"] == (code == 0)
    return document


def values(document: dict[str, Any], name: str = "") -> dict[str, float]:
    return {check["figure"]: check["value"] for check in document["checks"] if check["name"] == name}


def test_figures_of_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = gated(tmp_path, capsys, f"[program]\n{EVERYTHING}resident_peak_bytes = 0\np50_ns = 0\n")
    assert values(found) == {
        "calls": 12,
        "bytes": 3000,
        "peak_live_bytes": 2000,
        "live_at_end_bytes": 2000,
        "live_at_end_blocks": 2,
        "resident_peak_bytes": 8_000_000,
        "p50_ns": values(found)["p50_ns"],
    }
    assert 15 <= values(found)["p50_ns"] <= 17  # each took 16 ns


def test_figures_of_sites_and_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(
        f'[[{kind}]]\nname = "{name}"\n{EVERYTHING}'
        for kind, name in (("site", "server+0x1000"), ("site", "libcache.so+0x1000"), ("thread", "work*"))
    )
    found = gated(tmp_path, capsys, text)
    assert list(values(found, "server+0x1000").values()) == [10, 1000, 100, 0, 0]  # one at a time
    assert list(values(found, "libcache.so+0x1000").values()) == [2, 2000, 2000, 2000, 2]
    assert list(values(found, "work*").values()) == [10, 1000, 100, 0, 0]


def test_overlapping_sites_are_each_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("server+0x1000", "libcache.so+0x1000", "*+0x1000")
    found = gated(tmp_path, capsys, "".join(f'[[site]]\nname = "{name}"\n{EVERYTHING}' for name in names))
    assert list(values(found, "server+0x1000").values()) == [10, 1000, 100, 0, 0]
    assert list(values(found, "*+0x1000").values()) == [12, 3000, 2000, 2000, 2]


def test_what_is_ignored_does_not_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = gated(tmp_path, capsys, f'ignore = ["libca*"]\n[program]\n{EVERYTHING}')
    assert list(values(found).values()) == [10, 1000, 100, 0, 0]
    found = gated(tmp_path, capsys, f'ignore = ["cache"]\n[program]\n{EVERYTHING}')
    assert values(found)["calls"] == 12  # a whole name


def test_what_is_suppressed_may_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = gated(tmp_path, capsys, f'suppressions = ["libcache"]\n[program]\n{EVERYTHING}')
    assert list(values(found).values()) == [12, 3000, 2000, 0, 0]


def test_phases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = shop(threads=1)
    for number in range(3):
        say(made, BEGIN, "query")
        for place in range(number + 1):
            made.event(MALLOC, 0x2000000 + 64 * place, 10)
            made.event(FREE, 0x2000000 + 64 * place)
        say(made, END, "query")
    text = '[[phase]]\nname = "que*"\ncalls = 6\nbytes = 60\ncalls_per_run = 2\nbytes_per_run = 30\n'
    found = gated(tmp_path, capsys, text, made)
    assert values(found, "que*") == {"calls": 6, "bytes": 60, "calls_per_run": 3, "bytes_per_run": 30}
    assert [check["figure"] for check in found["checks"] if check["verdict"] == "over"] == ["calls_per_run"]


def held(folder: Path) -> MadeTrace:
    """The phase "fill" runs twice: at most 40 bytes at once, then 50; the first keeps 10, the second 30 in two."""
    made = shop(threads=1)
    say(made, BEGIN, "fill")
    made.event(MALLOC, 0x2000000, 30, took=100)
    made.event(FREE, 0x2000000)
    for place, size in ((1, 10), (2, 30)):
        made.event(MALLOC, 0x2000000 + 64 * place, size, took=200)
    made.event(FREE, 0x2000000 + 64 * 2)
    made.event(FREE, 0x900000)  # cache's: no block of this phase
    say(made, END, "fill")
    made.event(MALLOC, 0x2001000, 5000)  # between the runs
    say(made, BEGIN, "fill")
    for place, size in ((0, 20), (1, 10), (2, 20)):
        made.event(MALLOC, 0x2002000 + 64 * place, size, took=300, stack=3 if place == 1 else 0)
    made.event(FREE, 0x2002000 + 64 * 2)
    say(made, END, "fill")
    made.event(FREE, 0x2002000)  # after the run: it was there at its end
    return made


HELD = "peak_live_bytes = 0\nlive_at_end_bytes = 0\nlive_at_end_blocks = 0\n"


def test_what_a_phase_holds_and_how_long_its_calls_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = "p50_ns = 0\np99_ns = 300\n"
    rule = f'[[phase]]\nname = "fill"\n{HELD}{times}'
    found = gated(tmp_path, capsys, rule, held(tmp_path))
    assert values(found, "fill") == {
        "peak_live_bytes": 50,
        "live_at_end_bytes": 30,
        "live_at_end_blocks": 2,
        "p50_ns": 200,  # of 100, 200, 200, 300, 300, 300
        "p99_ns": 300,
    }
    verdicts = {check["figure"]: check["verdict"] for check in found["checks"]}
    assert verdicts["peak_live_bytes"] == "over"
    assert verdicts["p99_ns"] == "within"
    # What may stay does at the end of a phase too; what does not count is in none of the figures.
    suppressed = gated(tmp_path, capsys, f'suppressions = ["libcache"]\n{rule}', held(tmp_path))
    assert list(values(suppressed, "fill").values())[:3] == [50, 20, 1]
    without = gated(tmp_path, capsys, f'ignore = ["libcache*"]\n{rule}', held(tmp_path))
    assert list(values(without, "fill").values())[:3] == [40, 20, 1]


@pytest.mark.parametrize(
    ("limit", "two_sided", "verdict"),
    [
        (12, "false", "within"),
        (11, "false", "over"),
        (100, "false", "within"),
        (13, "true", "within"),  # 11.7 of 13 are 90 %
        (14, "true", "under"),
        (13, "0.05", "under"),
        (12, "0.0", "within"),
        (13, "0.0", "under"),
    ],
)
def test_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: int, two_sided: str, verdict: str
) -> None:
    found = gated(tmp_path, capsys, f"[program]\ncalls = {limit}\ntwo_sided = {two_sided}\n")
    assert [check["verdict"] for check in found["checks"]] == [verdict]


def test_of_an_inlined_function_the_namespace_may_be_missing() -> None:
    then = {"calls": 8}
    site = SiteCost("(anonymous namespace)::total", {"calls": 9}, ())
    assert known_of(site, {"total": then}) == then
    assert known_of(site._replace(name="total"), {"(anonymous namespace)::total": then}) == then
    assert known_of(site._replace(name="one::total"), {"other::total": then}) is None
    assert known_of(site._replace(name="total"), {"one::total": then, "other::total": then}) is None


def test_a_site_that_may_be_one_of_several_is_not_called_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "[program]\ncalls = 8\n[program.sites]\n"
        '"one::server+0x1000" = {calls = 8, bytes = 800, peak_live_bytes = 0}\n'
        '"other::server+0x1000" = {calls = 8, bytes = 800, peak_live_bytes = 0}\n'
    )
    said = show.answer(gated(tmp_path, capsys, text))
    assert said[1] == "program: allocations 12, 4 above the limit of 8: +2 at libcache.so+0x1000 (new)"


def test_what_grew_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "[program]\ncalls = 8\npeak_live_bytes = 1000\n[program.sites]\n"
        '"server+0x1000" = {calls = 8, bytes = 800, peak_live_bytes = 0}\n'
    )
    found = gated(tmp_path, capsys, text)
    assert show.answer(found) == [
        "Outside the budget: 2 of 2 limits broken.",
        "program: allocations 12, 4 above the limit of 8: +2 at server+0x1000; +2 at libcache.so+0x1000 (new)",
        "program: live at its peak 1.95 KiB, 1000 B above the limit of 1000 B: +1.95 KiB at libcache.so+0x1000 (new)",
    ]
    found = gated(tmp_path, capsys, '[[site]]\nname = "server+0x1000"\ncalls = 8\n')
    assert (
        show.answer(found)[1]
        == "site server+0x1000: allocations 10, 2 above the limit of 8: at server+0x1000"
    )
