# SPDX-License-Identifier: MIT
"""top's board: what is on the screen, whole, at several widths, and what the keys do.

HEAPWRIGHT_RENEW=1 writes the screens anew.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from counter_page_bytes import make_apply_page, make_page, parse, put, table_at
from heapwright.live.board import Board
from heapwright.live.document import describe_calls
from heapwright.live.page import PageError
from heapwright.live.rates import SORT_KEYS
from heapwright.live.table import columns_for, key_of, plain_screen
from rich.console import Console
from textual.pilot import Pilot

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"
Act = Callable[[Pilot[None]], Awaitable[None]]


def row(process: int, program: str, look: int, **figures: Any) -> dict[str, Any]:
    return {
        "process": process,
        "program": program,
        "threads": 4,
        "resident_bytes": 60_000_000 + process,
        "anonymous_bytes": 50_000_000 + process,
        "growth_bytes_per_s": 3_000_000,
        "live_growth_bytes_per_s": 100_000,
        "outside_bytes_per_s": 0,
        "growth_window_ns": 12 * 10**9,
        "outside_hint": "",
        "anonymous_overhead": 2.5,
        "contended_per_s": None,
        "remote_frees_per_s": None,
        "collisions_per_s": 120.0 * look,
        "lost_ns_per_s": 4e6 * look,
        "calls_per_s": 1000.0 * look * process,
        "requested_bytes_per_s": 5e6,
        "live_blocks": 12_345,
        "live_bytes": 20_000_000,
        "overhead": 3.0,
        "mean_ns": 41.5,
        "p99_ns": 300,
    } | figures


GROWING = {
    "growth_bytes_per_s": 3.5e6,
    "begin_bytes": 600_000,
    "live_bytes": 33_000_000,
    "kind": "leak",
    "function": "keep_session",
    "file": "/src/server.cpp",
    "line": 30,
    "library": "server",
    "name": "keep_session server.cpp:30",
}


class Made:
    """Looks made by hand: redis grows, a counted heap that does not tell, an idle one."""

    def __init__(self, process: int = 0) -> None:
        self.sort = "calls_per_s"
        self.process = process
        self.looks = 0

    def again(self, told_of: int = 0) -> dict[str, Any]:
        self.looks += 1
        rows = [
            row(7, "redis-server", self.looks, live_bytes=20_000_000 + 4_000_000 * self.looks),
            row(42, "shop [red]:smile:", 1, collisions_per_s=3.5, remote_frees_per_s=900.0, p99_ns=None),
            row(
                9,
                "倉庫",
                0,
                collisions_per_s=None,
                lost_ns_per_s=None,
                calls_per_s=None,
                live_bytes=None,
                anonymous_bytes=None,
                growth_bytes_per_s=None,
                outside_bytes_per_s=None,
                anonymous_overhead=None,
                overhead=None,
                mean_ns=None,
            ),
        ]
        document = {"processes": rows, "problems": ["/dev/shm/heapwright-5 is not a page of counters"]}
        if told_of == 7:
            page = make_page(1)
            put(page, "table", "calls", 10, table_at(0), index=0)
            put(page, "table", "calls", 4, table_at(0), index=5)
            calls = parse(bytes(page)).calls
            assert calls is not None
            described = describe_calls(calls)
            document |= {"process": described, "lately": {"calls": described["calls"], "sizes": []}}
            document |= {"growing": {"until_ns": 12_300_000_000, "sites": [GROWING]}}
            remedies = parse(bytes(make_apply_page())).remedies or ()
            document |= {"remedies": [one._asdict() for one in remedies]}
        return document


def screen_after(act: Act, width: int = 80, looks: Any = None, height: int = 24) -> list[str]:
    """The lines of the screen."""

    async def run() -> list[str]:
        board = Board(looks or Made(), 0)
        async with board.run_test(size=(width, height)) as pilot:
            await act(pilot)
            await pilot.pause()
            return [strip.text.rstrip() for strip in board.screen._compositor.render_strips()]

    return asyncio.run(run())


async def look(pilot: Pilot[None], times: int = 1) -> None:
    board = pilot.app
    assert isinstance(board, Board)
    for _ in range(times):
        await board.look_again()
    await pilot.pause()


async def table(pilot: Pilot[None]) -> None:
    await look(pilot, 5)


async def one(pilot: Pilot[None]) -> None:
    await look(pilot, 3)
    await pilot.press("down", "enter")  # the least of the three that are known
    await look(pilot, 3)


async def help_screen(pilot: Pilot[None]) -> None:
    await look(pilot)
    await pilot.press("question_mark")


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("act", [table, one, help_screen])
def test_what_is_seen(act: Act, width: int) -> None:
    path = SNAPSHOTS / f"top-{act.__name__}-{width}.txt"
    text = "\n".join(screen_after(act, width)) + "\n"
    if os.environ.get("HEAPWRIGHT_RENEW"):
        path.write_text(text, encoding="utf-8")
    assert path.exists() and text == path.read_text(encoding="utf-8"), f"HEAPWRIGHT_RENEW=1 renews {path}"


def test_the_help_explains_each_column() -> None:
    explained = " ".join(line.strip(" │") for line in screen_after(help_screen, 120, height=40))
    for column in columns_for(Made().again(7)["processes"], 1000):
        assert re.search(rf"(?<![\w/]){re.escape(column.heading)}[ ,]", explained), column.heading


def test_columns_sort_as_they_are_headed() -> None:
    headed = {column.key: column.heading for column in columns_for(Made().again(7)["processes"], 1000)}
    assert {key_of(heading) for heading in headed.values()} == {*SORT_KEYS, "program"}
    assert (key_of("res/live"), key_of("growth_bytes_per_s")) == ("overhead", "growth_bytes_per_s")


class Outside(Made):
    """The memory of redis grows outside malloc, and its resident memory by a twentieth in all."""

    def again(self, told_of: int = 0) -> dict[str, Any]:
        document = super().again(told_of)
        document["processes"][0] |= {
            "outside_bytes_per_s": 2_900_000,
            "outside_hint": "Python keeps small objects in its own arenas",
            "resident_bytes": 100_000_000 + (5_000_000 if self.looks > 4 else 0),
        }
        return document


def test_memory_that_grows_outside_malloc_is_named_below_the_table() -> None:
    lines = " ".join(" ".join(screen_after(table, looks=Outside())).split())
    assert (
        "redis-server 7: memory outside malloc grows by 2.77 MiB/s, live bytes by 97.7 KiB/s (over 12.0 s): "
        "Python keeps small objects in its own arenas" in lines
    )
    assert "outside malloc" not in " ".join(screen_after(table))


def test_a_twentieth_more_is_seen_in_the_history_of_a_level() -> None:
    lines = screen_after(one, 100, looks=Outside(), height=40)
    (line,) = (line for line in lines if line.startswith("resident"))
    assert line.split() == ["resident", "100", "MiB", "90.1", "MiB", "▅▅▅▅██", "≤", "100", "MiB"]


@pytest.mark.parametrize(("keys", "bars"), [(("s", "s"), "▁▂▄▆█"), ((), "▂▄▅▇█")])
def test_the_history_is_of_what_sorts(keys: tuple[str, ...], bars: str) -> None:
    async def sort(pilot: Pilot[None]) -> None:
        await table(pilot)
        await pilot.press(*keys)

    (redis,) = (line for line in screen_after(sort, 120) if "redis" in line)
    assert redis.endswith(bars)


def programs(lines: list[str]) -> list[str]:
    return [name for line in lines for name in ("redis", "shop", "倉庫") if name in line]


def test_remedies_are_told_of_the_one_process() -> None:
    console = Console(width=100, file=io.StringIO())
    console.print(plain_screen(Made().again(7), 100))
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert lines[lines.index("Remedies") + 1 :] == [
        "made  made again  freed later  refused  left   live   held  remedy",
        "─" * 75,
        " 100         101          102      103   104  106 B  107 B  segregate@site0",
        " 101         102          103      104   105  107 B  108 B  segregate@site1",
    ]


def test_nothing_is_known_before_the_first_look() -> None:
    async def nothing(pilot: Pilot[None]) -> None:
        await pilot.pause()

    lines = screen_after(nothing)
    assert lines[0] == "heapwright top: looking; by calls"
    assert not programs(lines)


def test_the_largest_is_first_and_what_is_not_known_last() -> None:
    assert programs(screen_after(table)) == ["shop", "redis", "倉庫"]

    async def reverse(pilot: Pilot[None]) -> None:
        await table(pilot)
        await pilot.press("r")

    lines = screen_after(reverse)
    assert programs(lines) == ["redis", "shop", "倉庫"]
    assert "smallest first" in lines[0]


def test_another_figure_sorts() -> None:
    async def sort(pilot: Pilot[None]) -> None:
        await table(pilot)
        await pilot.press("s", "s")

    lines = screen_after(sort)
    assert lines[0].endswith("by live")
    assert programs(lines) == ["redis", "shop", "倉庫"]


@pytest.mark.parametrize(("typed", "left"), [("RED", ["shop", "redis"]), ("42", ["shop"]), ("q", [])])
def test_a_filter_goes_by_name_and_id(typed: str, left: list[str]) -> None:
    async def type_it(pilot: Pilot[None]) -> None:
        await table(pilot)
        await pilot.press("slash", *typed, "enter")
        await look(pilot)

    lines = screen_after(type_it, 120)
    assert sorted(programs(lines[1:])) == sorted(left)
    assert f"only {typed}" in lines[0]


class Many(Made):
    """Fifty processes."""

    def again(self, told_of: int = 0) -> dict[str, Any]:
        return {"processes": [row(number, f"p{number}", 1) for number in range(1, 51)], "problems": []}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ((), "1–21 of 50 processes"),
        (("end",), "30–50 of 50 processes"),
        (("end", "home"), "1–21 of 50 processes"),
        (("pagedown", "pagedown"), "of 50 processes"),
    ],
)
def test_the_title_says_which_rows_are_seen(keys: tuple[str, ...], said: str) -> None:
    async def move(pilot: Pilot[None]) -> None:
        await look(pilot)
        await pilot.press(*keys)
        await pilot.pause(0.5)

    lines = screen_after(move, looks=Many())
    assert said in lines[0]
    seen = [line for line in lines[2:-1] if re.match(r" p\d", line)]
    assert len(seen) == 21
    first = re.search(r"(\d+)–", lines[0])
    assert first is not None
    assert seen[0].split()[0] == f"p{51 - int(first[1])}"


def test_escape_empties_the_filter() -> None:
    async def leave(pilot: Pilot[None]) -> None:
        await table(pilot)
        await pilot.press("slash", "z", "escape", "s")

    lines = screen_after(leave)
    assert lines[0] == "heapwright top: 3 processes; by requested"


def test_what_is_frozen_stays_and_its_history_goes_on() -> None:
    async def freeze(pilot: Pilot[None]) -> None:
        await look(pilot)
        await pilot.press("space")
        await look(pilot, 3)

    async def thaw(pilot: Pilot[None]) -> None:
        await freeze(pilot)
        await pilot.press("space")
        await look(pilot)

    frozen, thawed = screen_after(freeze, 120), screen_after(thaw, 120)
    redis = [next(line for line in lines if "redis" in line) for lines in (frozen, thawed)]
    assert "frozen" in frozen[0] and "frozen" not in thawed[0]
    assert "7.00 k/s" in redis[0] and "35.0 k/s" in redis[1]
    assert "▂▄▅▇█" in redis[1]


def test_the_cursor_stays_on_its_process() -> None:
    async def move(pilot: Pilot[None]) -> None:
        await look(pilot)
        await pilot.press("r", "enter")  # on the shop, which is the second now
        await look(pilot)

    assert any("42, shop" in line for line in screen_after(move))


def test_a_look_at_another_process_is_not_shown() -> None:
    """It was under way while Enter was pressed."""

    class Slow(Made):
        board: Board

        def again(self, told_of: int = 0) -> dict[str, Any]:
            document = super().again(told_of)
            if self.looks == 3:
                self.board._told_of = 42
            return document

    async def late(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app, Board)
        looks.board = pilot.app
        await look(pilot, 2)
        await pilot.press("down", "enter")
        assert looks.board._told_of == 7
        await look(pilot)

    looks = Slow()
    lines = screen_after(late, looks=looks)
    assert any("42, shop" in line for line in lines)
    assert not any("malloc 10" in line or "keep_session" in line for line in lines)


def test_the_sites_that_grow_are_below_the_calls() -> None:
    lines = screen_after(one, 100, height=40)
    (heading,) = (number for number, line in enumerate(lines) if "Growing sites" in line)
    assert "12.3 s" in lines[heading]
    assert heading > next(number for number, line in enumerate(lines) if "allocator" in line)
    (site,) = (line for line in lines if "keep_session server.cpp:30" in line)
    assert "3.34 MiB/s" in site and "586 KiB → 31.5 MiB" in site and "leak" in site


def test_that_no_site_grows_is_said() -> None:
    class Steady(Made):
        def again(self, told_of: int = 0) -> dict[str, Any]:
            document = super().again(told_of)
            if "growing" in document:
                document["growing"]["sites"] = []
            return document

    lines = screen_after(one, 100, looks=Steady(), height=40)
    assert any("no site with certain growth" in line for line in lines)


def test_the_one_process_that_was_named_is_all_there_is() -> None:
    async def back(pilot: Pilot[None]) -> None:
        await look(pilot)
        await pilot.press("escape")

    assert any("7, redis-server" in line for line in screen_after(back, looks=Made(7)))


def test_a_process_that_has_ended_ends_the_board() -> None:
    class Ended(Made):
        def again(self, told_of: int = 0) -> dict[str, Any]:
            raise PageError("process 7 has ended")

    async def run() -> str:
        board = Board(Ended(7), 0)
        async with board.run_test():
            await board.look_again()
        return board.ended_by

    assert asyncio.run(run()) == "process 7 has ended"
