# SPDX-License-Identifier: MIT
"""explain --browse: what is on the screen, whole, at two widths, what the keys do, and the recorded calls as trees.

HEAPWRIGHT_RENEW=1 writes the screens anew.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from pathlib import Path

import heapwright
import pytest
from heapwright.browse.opened import MOST_INNER, Opened, own_of
from heapwright.browse.room import Room
from heapwright.browse.trees import Measure, Place, SpanError, Within
from heapwright.cli.browsing import _within
from heapwright.cli.errors import InputError
from heapwright.cli.explanation import ReportOptions, make_report
from heapwright.explain.browsed import CallTrees
from heapwright.model import Filter, SiteOptions
from textual.pilot import Pilot
from textual.widgets import DataTable, Static
from written_traces import Command, run_command

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"
Act = Callable[[Pilot[None]], Awaitable[None]]
Shape = dict[str, "Shape | int"]
SHAPE: Shape = {
    "main": {
        "serve": {"parse<std::map<std::string, int> >": 600, "reply": {"copy": 150, "send": 50}},
        "load": {"read": {"grow": 100}},
    },
    "worker": {"scan": 80, "keep": 20},
}
SOURCE = Path(__file__)


class Named:
    """A node of a nested dictionary. text: only leaves below a name that has it."""

    def __init__(self, name: str, shape: Shape | int, factor: int, text: str, is_in: bool = False) -> None:
        self.name = self.key = name
        self.whole_name = f"{name}(int)"
        self.place = Place(str(SOURCE), 1, "libshop.so") if name == "grow" else Place("", 0, "shop")
        self._shape, self._factor, self._text = shape, factor, text
        self._is_in = is_in or not text or text in name

    @property
    def weight(self) -> int:
        if isinstance(self._shape, int):
            return self._shape * self._factor if self._is_in else 0
        return sum(one.weight for one in self.inner())

    def inner(self) -> Sequence[Named]:
        return self._inner

    @cached_property
    def _inner(self) -> list[Named]:
        if isinstance(self._shape, int):
            return []
        below = [Named(name, of, self._factor, self._text, self._is_in) for name, of in self._shape.items()]
        return [one for one in below if one.weight]


class Shop:
    title = "shop"
    measures = (Measure("peak", "bytes live at the peak"), Measure("calls", "allocations"))
    ends = ("callers", "allocation")

    def __init__(self, shape: Shape = SHAPE) -> None:
        self._shape = shape

    def root(self, measure: str, end: str, text: str) -> Named:
        shape = self._shape if end == "callers" else {"grow": {"read": {"load": {"main": 100}}}, "copy": 150}
        return Named("", shape, 1 if measure == "peak" else 2, text)

    def written(self, measure: str, weight: int) -> str:
        return f"{weight} {'B' if measure == 'peak' else 'calls'}"


def run(
    act: Act,
    size: tuple[int, int] = (80, 24),
    trees: Shop | CallTrees | None = None,
    within: Within | None = None,
) -> Room:
    room = Room(trees or Shop(), within)

    async def pilot() -> None:
        async with room.run_test(size=size) as pilot:
            await pilot.pause()
            await act(pilot)

    asyncio.run(pilot())
    return room


def names(room: Room) -> list[str]:
    table = room.query_one(DataTable)
    return [str(table.get_row_at(number)[3]).rstrip() for number in range(table.row_count)]


def place(room: Room) -> list[str]:
    return str(room.query_one("#place", Static).content).splitlines()


def screen(room: Room) -> str:
    lines = [
        "".join(segment.text for segment in strip).rstrip()
        for strip in room.screen._compositor.render_strips()
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_whole_screen(width: int) -> None:
    seen: list[str] = []

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("enter", "down", "enter")
        await pilot.pause()
        seen.append(screen(pilot.app))  # type: ignore[arg-type]

    run(act, (width, 24))
    file = SNAPSHOTS / f"browse-{width}.txt"
    if os.environ.get("HEAPWRIGHT_RENEW"):
        file.write_text(seen[0], encoding="utf-8")
    assert seen[0] == file.read_text(encoding="utf-8")


def test_lines_open_and_close_and_keep_the_cursor() -> None:
    async def act(pilot: Pilot[None]) -> None:
        room = pilot.app
        assert isinstance(room, Room)
        assert names(room) == ["▸ main", "▸ worker"]
        await pilot.press("enter")
        assert names(room) == ["▾ main", " ▸ serve", " ▸ load", "▸ worker"]
        await pilot.press("down", "down", "right")  # with load its only caller opens
        assert names(room)[2:6] == [" ▾ load", "  ▾ read", "     grow", "▸ worker"]
        await pilot.press("down", "down")
        assert place(room)[:2] == ["grow(int)", f"{SOURCE}:1  libshop.so"]
        assert place(room)[2].strip() == "1  # SPDX-License-Identifier: MIT"
        await pilot.press("left", "left")  # a line without any goes up, then that is closed
        assert names(room)[2:5] == [" ▾ load", "  ▸ read", "▸ worker"]
        await pilot.press("c")
        assert names(room) == ["▸ main", "▸ worker"]
        await pilot.press("home", "e")
        assert names(room)[:3] == ["▾ main", " ▾ serve", "    parse<std::map<std::string, int> >"]
        assert room.query_one(DataTable).cursor_row == 2

    run(act)


def test_measures_ends_orders_and_text() -> None:
    async def act(pilot: Pilot[None]) -> None:
        room = pilot.app
        assert isinstance(room, Room)
        title = room.query_one("#title", Static)
        assert str(title.content) == "shop: 1000 B bytes live at the peak, from callers, by whole"
        await pilot.press("enter", "m")
        assert str(title.content) == "shop: 2000 calls allocations, from callers, by whole"
        assert names(room)[1] == " ▸ serve"  # what is open stays open
        await pilot.press("M", "c", "s", "s")
        assert names(room) == ["▸ main", "▸ worker"]
        await pilot.press("d")
        assert names(room) == ["  copy", "▸ grow"]
        await pilot.press("d", "s", "slash", *"scan", "enter")
        assert names(room) == ["▸ worker"]
        assert str(title.content).endswith(
            "80 B bytes live at the peak, from callers, by whole, only with scan"
        )
        await pilot.press("slash", "left", "x", "enter")  # the arrow moves in the text
        assert place(room) == ["no name has xscan"]
        await pilot.press("escape")
        assert names(room) == ["▸ main", "▸ worker"]
        await pilot.press("question_mark")
        assert "the heaviest line of each level" in screen(room)
        await pilot.press("escape", "q")

    run(act)


def test_a_time_is_typed_and_what_is_open_stays_open() -> None:
    asked: list[str] = []

    def within(span: str) -> Shop:
        asked.append(span)
        if span == "soon":
            raise SpanError("a time takes a number with a unit")
        return Shop(SHAPE if not span else {"main": {"load": 7}})

    async def act(pilot: Pilot[None]) -> None:
        room = pilot.app
        assert isinstance(room, Room)
        title = room.query_one("#title", Static)
        await pilot.press("enter", "t", *"2s", "space", *"5s", "enter")
        await pilot.pause()
        assert names(room) == ["▾ main", "   load"]
        assert str(title.content).endswith("by whole, only of 2s 5s")
        await pilot.press("t", "ctrl+u", *"soon", "enter")
        await pilot.pause()
        assert place(room) == ["a time takes a number with a unit"]
        assert names(room) == ["▾ main", "   load"] and str(title.content).endswith("only of 2s 5s")
        await pilot.press("t", *"9", "escape")  # left as it was
        await pilot.press("slash", *"load", "enter", "t", "ctrl+u", "enter")
        await pilot.pause()
        assert names(room) == ["▾ main", " ▸ load"]
        assert str(title.content).endswith("by whole, only with load")

    run(act, within=within)
    assert asked == ["2s 5s", "soon", ""]


def test_without_times_there_is_no_key_for_them() -> None:
    async def act(pilot: Pilot[None]) -> None:
        assert " time" not in screen(pilot.app)  # type: ignore[arg-type]
        await pilot.press("t")
        assert not pilot.app.has_class("-filter")

    run(act, (120, 24))


def test_of_many_lines_the_smaller_are_one() -> None:
    opened = Opened(Shop({f"f{number}": 1000 - number for number in range(MOST_INNER + 3)}))
    lines = opened.lines()
    assert len(lines) == MOST_INNER + 1
    assert (lines[-1].node, lines[-1].smaller, lines[-1].weight) == (None, 3, 3 * 799)


def test_recorded_calls_add_up_from_both_ends(trace: heapwright.Trace) -> None:
    sites = SiteOptions()
    report = make_report(trace, trace.begin_facts(Filter(), sites), Filter(), sites, ReportOptions())
    trees = CallTrees(report, "server", is_timed=True)
    facts = report.facts
    for measure, whole in (("peak", facts.peak.live_bytes), ("bytes", facts.totals.requested_bytes)):
        for end in trees.ends:
            root = trees.root(measure, end, "")
            assert root.weight == whole
            assert sum(own_of(node) for node in every(root)) == whole
    ends = [trees.root("bytes", end, "0x3000").weight for end in trees.ends]
    assert ends[0] == ends[1] < facts.totals.requested_bytes
    assert all("0x3000" in node.name for node in trees.root("bytes", "allocation", "0X3000").inner())
    assert "time" not in [one.name for one in CallTrees(report, "server", is_timed=False).measures]

    async def act(pilot: Pilot[None]) -> None:
        room = pilot.app
        assert isinstance(room, Room)
        assert names(room)[0].endswith("server+0x1000")

    run(act, trees=trees)


def test_a_time_of_a_recording_is_read_as_by_the_options(trace: heapwright.Trace) -> None:
    whole = Filter()
    assert _within(trace, whole, "") is whole
    assert _within(trace, whole, "0 1ns").to_ns == 1 and _within(trace, whole, "1ns").to_ns == whole.to_ns
    for span, said in (("1s 2s 3s", "or two"), ("1ns 0", "--from must be before"), ("soon", "soon")):
        with pytest.raises(InputError, match=said):
            _within(trace, whole, span)


def every(node: object) -> Sequence[object]:
    return [node, *(one for below in node.inner() for one in every(below))]  # type: ignore[attr-defined]


def test_what_it_refuses(command: Command, trace_file: Path) -> None:
    said = command("explain", trace_file, "--browse")
    assert (said.code, said.err) == (
        2,
        "heapwright: --browse needs a terminal that shows Unicode; --tree callers prints a tree\n",
    )
    said = run_command("explain", trace_file, "--browse", "--json", cwd=trace_file.parent)
    assert said.err == "heapwright: --browse shows trees with keys: omit --json\n"
