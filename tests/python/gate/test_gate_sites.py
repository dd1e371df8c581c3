# SPDX-License-Identifier: MIT
"""The functions and lines that a broken limit names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from heapwright.gate import reports, show
from heapwright.gate.budget import parse
from heapwright.gate.document import Checked, make
from heapwright.gate.measured import Measured
from heapwright.gate.site_costs import Place, SiteCost
from shop import shop
from test_gate_verdict import gated, held
from test_phases import BEGIN, END, say
from written_traces import FREE, MALLOC

# request allocates in lines 32, 29 and, not any more, 40; 5 of its 25 calls are new.
REQUEST = SiteCost(
    "request",
    {"calls": 25},
    (
        Place("/src/shop.cpp", 32, {"calls": 5}),
        Place("/src/shop.cpp", 29, {"calls": 20}),
        Place("/src/shop.cpp", 40, {"calls": 0}),
    ),
)
GREW = "[program]\ncalls = 20\n[program.sites]\nrequest = {calls = 20, bytes = 0, peak_live_bytes = 0}\n"


def test_of_a_function_that_grew_all_lines_are_named() -> None:
    measured = Measured([{"calls": 25}], [[]], [REQUEST])
    document = make(Checked("heap.toml", "", "shop", ("a",), ()), parse(GREW), [measured])
    assert show.answer(document)[1] == (
        "program: allocations 25, 5 above the limit of 20: +5 at request shop.cpp:29,32"
    )
    (site,) = document["checks"][0]["sites"]
    assert (site["line"], site["lines"]) == (29, [29, 32])
    (result,) = json.loads(reports.sarif(document))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 29, "endLine": 32}


def test_of_many_lines_the_first_are_named() -> None:
    site = {"name": "f", "file": "/src/a.cpp", "line": 4, "lines": [4, 3, 2, 1], "value": 9, "difference": 9}
    check = {
        "kind": "program",
        "name": "",
        "run": "",
        "label": "allocations",
        "unit": "count",
        "value": 9,
        "limit": 0,
    }
    said = show.sentence({**check, "verdict": "over", "sites": [{**site, "is_new": False}]})
    assert said.endswith(": +9 at f a.cpp:1,2,3,…")


def test_what_is_suppressed_is_not_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """cache keeps more than parse does, and may."""
    made = shop()
    for number in range(3):
        made.event(MALLOC, 0x2000000 + 4096 * number, 100, stack=2)
    text = "suppressions = ['libcache']\n[program]\nlive_at_end_bytes = 100\nlive_at_end_blocks = 1\n"
    said = show.answer(gated(tmp_path, capsys, text, made))
    assert said[1:] == [
        "program: live at the end 300 B, 200 B above the limit of 100 B: most is 300 B at server+0x1000",
        "program: blocks at the end 3, 2 above the limit of 1: most are 3 at server+0x1000",
    ]


def test_of_a_pattern_of_phases_the_run_with_most_is_named_and_its_sites(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Parser.some makes four calls, two of them cache's; Parser.one makes one."""
    made = shop(threads=1)
    for name, stacks in (("Parser.some", (2, 3, 3, 2)), ("Parser.one", (2,)), ("Other", (3,) * 9)):
        say(made, BEGIN, name)
        for place, stack in enumerate(stacks):
            made.event(MALLOC, 0x2000000 + 64 * place, 10 * stack, stack=stack)
            made.event(FREE, 0x2000000 + 64 * place)
        say(made, END, name)
    text = "[[phase]]\nname = 'Parser.*'\ncalls_per_run = 2\nbytes = 30\npeak_live_bytes = 29\n"
    document = gated(tmp_path, capsys, text, made)
    assert show.answer(document)[1:] == [
        "phase Parser.*: bytes requested 120 B, 90 B above the limit of 30 B: "
        "most is 60 B at server+0x1000; 60 B at libcache.so+0x1000",
        "phase Parser.*: allocations of one run 4 in Parser.some, 2 above the limit of 2: "
        "most are 2 at server+0x1000; 2 at libcache.so+0x1000",
        "phase Parser.*: live at its peak 30 B in Parser.some, 1 B above the limit of 29 B",
    ]
    within = gated(tmp_path, capsys, text.replace("Parser.*", "Parser.one").replace("29", "9"), made)
    assert [check["run"] for check in within["checks"]] == ["", "", "Parser.one"]
    assert "in Parser.one" not in show.answer(within)[1]  # it is the limit's own name


def test_what_a_phase_keeps_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its second run keeps 20 bytes of no stack and 10 of cache."""
    text = "[[phase]]\nname = 'fill'\nlive_at_end_bytes = 0\nlive_at_end_blocks = 0\n"
    said = show.answer(gated(tmp_path, capsys, text, held(tmp_path)))
    assert said[1:] == [
        "phase fill: live at the end 30 B, 30 B above the limit of 0 B: "
        "most is 20 B at (no stack was captured); 10 B at libcache.so+0x1000",
        "phase fill: blocks at the end 2, 2 above the limit of 0: "
        "most are 1 at (no stack was captured); 1 at libcache.so+0x1000",
    ]
    said = show.answer(gated(tmp_path, capsys, f"suppressions = ['libcache']\n{text}", held(tmp_path)))
    assert said[1].endswith("20 B above the limit of 0 B: most is 20 B at (no stack was captured)")
