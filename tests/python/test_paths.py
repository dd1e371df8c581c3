# SPDX-License-Identifier: MIT
"""Who called, as the tables and the command tell it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import heapwright
import jsonschema
import pytest
from heapwright import explain
from heapwright.explain import tables
from heapwright.model import Filter, SiteOptions
from heapwright.report.columns import Column
from heapwright.terminal import columns
from rich.console import Console
from test_explain import SCHEMA, printed
from written_traces import FREE, MALLOC, Command, MadeTrace

LOAD, RUN, RELOAD, MAIN, COPY = "app+0x1000", "app+0x2000", "app+0x3000", "app+0x4000", "app+0x5000"


def calls() -> MadeTrace:
    """main > run > load (600 bytes live), main > reload > load (300), main > copy (100, freed)."""
    made = MadeTrace()
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/app", "aabbcc")
    made.line("thread", 0, 100, "main", 0, 0)
    for pc in (0x401000, 0x402000, 0x403000, 0x404000, 0x405000):
        made.line("frame", pc, 0)
    # 1 main, 2 run, 3 load, 4 reload, 5 load, 6 copy
    for parent, frame in ((0, 3), (1, 1), (2, 0), (1, 2), (4, 0), (1, 4)):
        made.line("stack", parent, frame)
    made.event(MALLOC, 0x1000, 600, stack=3, took=160)
    made.event(MALLOC, 0x2000, 300, stack=5, took=160)
    made.event(MALLOC, 0x3000, 100, stack=6, took=160)
    made.event(FREE, 0x3000, took=320)
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return calls().write(tmp_path / "app.heapwright")


def explained(file: Path, chosen: Filter | None = None, sites: SiteOptions | None = None) -> dict[str, Any]:
    trace, chosen = heapwright.open(file), chosen or Filter()
    facts = trace.facts(chosen, sites)
    document = explain.explain(explain.Report(trace, facts, trace.sites(sites), chosen, 10))
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(document)))
    return document


def paths(site: dict[str, Any]) -> list[tuple[int, float, list[str]]]:
    return [
        (path["weight"], round(path["share"], 3), [caller["function"] for caller in path["callers"]])
        for path in site["paths"]
    ]


def test_tables_tell_who_called(file: Path) -> None:
    questions = explained(file)["questions"]
    load = questions["peak"]["sites"][0]
    assert load["function"] == LOAD
    assert paths(load) == [(600, 0.667, [RUN, MAIN]), (300, 0.333, [RELOAD, MAIN])]
    assert paths(questions["leaks"]["sites"][0]) == paths(load)
    copy = next(site for site in questions["time"]["sites"] if site["function"] == COPY)
    assert paths(copy) == [(480, 1.0, [MAIN])], "the free counts as well"
    assert "paths" not in questions["volume"]["sites"][0]


def test_paths_are_printed_under_their_site(file: Path) -> None:
    lines = [line.split() for line in printed(explained(file)).splitlines()]
    row = lines.index(["900", "B", "90.0", "%", "2", LOAD])
    assert lines[row + 1] == ["600", "B", "60.0", "%", "<", RUN, "<", MAIN]
    assert lines[row + 2] == ["300", "B", "30.0", "%", "<", RELOAD, "<", MAIN]
    assert lines[row + 3] == ["100", "B", "10.0", "%", "1", COPY]
    assert lines[row + 4] == ["<", MAIN]


def test_callers_with_one_short_name_stay_apart() -> None:
    """Overloads, and static functions of two files."""

    def path(*callers: tuple[str, str]) -> dict[str, Any]:
        places = [{"function": function, "file": file, "library": "app"} for function, file in callers]
        return {"weight": 10, "share": 0.5, "is_cut": False, "callers": places}

    def rows(*paths: dict[str, Any]) -> list[str]:
        site = {"name": "site", "share": 1.0, "bytes": 20, "paths": list(paths)}
        columns = (Column("bytes", "bytes", "bytes"), Column("share", "share", "share"))
        table = tables.shown(tables.sites(*columns, rows=lambda _: ()), {"sites": [site]}, is_sampled=False)
        console = Console(file=io.StringIO(), width=100)
        console.print(table)
        return [line.rpartition("  < ")[2] for line in console.file.getvalue().splitlines() if "  < " in line]  # type: ignore[attr-defined]

    main = ("main()", "main.c")
    overloads = rows(path(("f(int)", "a.cpp"), main), path(("f(long)", "a.cpp"), main))
    assert overloads == ["f(int) < main", "f(long) < main"]
    statics = rows(path(("f(int)", "a.cpp"), main), path(("f(int)", "b.cpp"), main))
    assert statics == ["f(int) [a.cpp, app] < main", "f(int) [b.cpp, app] < main"]
    assert rows(path(("g(int)", "a.cpp"), main), path(("h(int)", "a.cpp"), main)) == ["g < main", "h < main"]


def test_full_stacks_are_whole(file: Path) -> None:
    document = explained(file, sites=SiteOptions(full_stacks=True))
    sites = document["questions"]["peak"]["sites"]
    assert [[frame["function"] for frame in site["frames"]] for site in sites] == [
        [LOAD, RUN, MAIN],
        [LOAD, RELOAD, MAIN],
        [COPY, MAIN],
    ]
    lines = [line.split() for line in printed(document).splitlines()]
    row = lines.index(["600", "B", "60.0", "%", "1", LOAD])
    assert lines[row + 1 : row + 3] == [["<", RUN], ["<", MAIN]]


def test_through_chooses_by_any_frame(file: Path) -> None:
    assert explained(file, Filter(through=r"app\+0x3000"))["summary"]["totals"]["requested_bytes"] == 300
    assert explained(file, Filter(through=r"app\+0x4000"))["summary"]["totals"]["requested_bytes"] == 1000
    both = Filter(through=r"app\+0x[35]000", site=r"app\+0x1000")
    assert explained(file, both)["summary"]["totals"]["requested_bytes"] == 300


def test_sites_of_the_same_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = explained(calls().write(tmp_path / "app.heapwright"))
    monkeypatch.setattr("heapwright.explain.report.site_names.site_name", lambda _: "same")
    told = explained(tmp_path / "app.heapwright")["questions"]["volume"]["sites"]
    assert [site["name"] for site in told] == [
        site["name"] for site in document["questions"]["volume"]["sites"]
    ]


def test_a_tree_from_each_end(file: Path, command: Command) -> None:
    document = json.loads(command("explain", file, "--tree", "callers", "--min-share", "20%", "--json").out)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    tree = document["tree"]
    assert (tree["weight"], tree["measure"], document["questions"]) == (1000, "peak", {})
    (main,) = tree["branches"]
    assert (main["function"], main["weight"]) == (MAIN, 1000)
    assert [(inner["function"], inner["share"]) for inner in main["branches"]] == [(RUN, 0.6), (RELOAD, 0.3)]

    text = command("explain", file, "--tree", "allocation", "--measure", "time", "--min-share", "0").out
    lines = [line.split() for line in text.splitlines()]
    title = "Time in the allocator from the allocations: 800 ns; branches below 0.0 % left out"
    assert title in " ".join(text.split())  # of 83 columns
    assert ["60.0", "%", "480", "ns", COPY] in lines
    assert ["20.0", "%", "160", "ns", RUN] in lines
    assert "Live at the peak" not in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--through", "nowhere"), "--through nowhere matches no frame of any stack in app.heapwright"),
        (("--through", "("), "--through takes a regular expression"),
        (("--tree", "root"), "unknown end of --tree root; known: callers, allocation"),
        (("--tree", "callers", "--measure", "peek"), "unknown measure of --tree peek; did you mean peak?"),
        (
            ("--tree", "callers", "--min-share", "no"),
            "--min-share takes a percentage from 0 to 100, not 'no'",
        ),
    ],
)
def test_mistakes_are_one_line(file: Path, command: Command, options: tuple[str, ...], said: str) -> None:
    answer = command("explain", file, *options)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_callers_that_do_not_fit_keep_the_nearest_and_the_outermost() -> None:
    text = "  < parse < load < read_config < start < main"
    table = columns.Columns(["n", "call site"], [["1", text]], text_columns=(1,))
    out = io.StringIO()
    Console(file=out, width=40).print(table)
    assert out.getvalue().splitlines()[-1].split(None, 1)[1] == "< parse < load < … < main"
