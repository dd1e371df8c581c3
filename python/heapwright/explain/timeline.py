# SPDX-License-Identifier: MIT
"""How did the heap grow and shrink?"""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.explain.question import Question
from heapwright.explain.report import Answer
from heapwright.report import units, widgets
from heapwright.report.columns import OPEN, Column, Table
from heapwright.terminal.sparkline import sparkline

_CELLS = 64
_FEWEST_CELLS = 16
_GAP = 2


def _show(answer: Answer) -> widgets.RenderableType | None:
    """One line per measure, all byte measures on one scale.

    Requested and usable are from the same moment: the highest requested within the step.
    """
    points: list[Answer] = answer["points"]
    return widgets.Fitting(lambda width: _drawn(points, width)) if points else None


def _begin(points: Sequence[Answer]) -> str:
    """The start of a window; before its first call a program did nothing."""
    first_ns, last_ns = points[0]["time_ns"], points[-1]["time_ns"]
    begin_ns = max(0, 2 * first_ns - points[1]["time_ns"]) if len(points) > 1 else first_ns
    return units.duration(begin_ns) if 4 * begin_ns > last_ns else "0"


def _drawn(points: Sequence[Answer], width: int) -> widgets.RenderableType:
    measures = {
        "requested": [_first(point, "highest_live_bytes", "live_bytes") for point in points],
        "usable": [_first(point, "usable_at_highest_bytes", "live_usable_bytes") for point in points],
        "resident": [point["resident_bytes"] for point in points],
    }
    scale = max(max(values) for values in measures.values())
    lines = [
        (name, values, scale, f"max {units.size(max(values))}")
        for name, values in measures.items()
        if any(values)
    ]
    rates = [point["allocations"] for point in points]
    lines.append(("allocations", rates, max(rates), "per step"))
    times = [_first(point, "allocator_ns") for point in points]
    if any(times):
        lines.append(("allocator time", times, max(times), "per step"))
    beside = max(len(name) for name, *_ in lines) + max(len(note) for *_, note in lines) + 2 * _GAP
    cells = max(_FEWEST_CELLS, min(_CELLS, width - beside))
    table = widgets.Table.grid(padding=(0, _GAP))
    for name, values, largest, note in lines:
        bars = widgets.Text(sparkline(values, largest, cells), style="cyan", no_wrap=True)
        table.add_row(widgets.Text(name), bars, widgets.Text(note, no_wrap=True))
    begin, end = _begin(points), units.duration(points[-1]["time_ns"])
    axis = begin + end.rjust(cells - len(begin))
    table.add_row(widgets.Text(), widgets.Text(axis, style="dim"), widgets.Text())
    is_sampled = points[0]["highest_live_bytes"] is None
    note = (
        "requested: at the end of each step"
        if is_sampled
        else "requested: the highest within each step; usable: at the same moments"
    )
    if any(measures["resident"]):
        note += f"; resident: {_resident(points)}"
    return widgets.Group(table, widgets.Text(note, style="dim"))


def _resident(points: Sequence[Answer]) -> str:
    """What the line includes, and what it excludes."""
    others = [
        f"{units.size(most)} {name}"
        for name, key in (
            ("of files", "resident_file_bytes"),
            ("shared", "resident_shared_bytes"),
            ("swapped", "swapped_bytes"),
            ("page tables", "page_table_bytes"),
        )
        if (most := max(point[key] for point in points))
    ]
    return "anonymous" + (f"; in addition at most {', '.join(others)}" if others else "")


def _first(point: Answer, *names: str) -> int:
    """The first known figure; some are unknown with samples."""
    return next((value for name in names if (value := point[name]) is not None), 0)


def _gist(answer: Answer) -> str:
    points = answer["points"]
    live = max((point["highest_live_bytes"] or 0 for point in points), default=0)
    resident = max((point["resident_bytes"] for point in points), default=0)
    beside = f", {units.size(resident)} anonymous memory resident" if resident else ""
    return f"at most {units.size(live)} requested{beside}" if live else ""


QUESTION = Question(
    "timeline",
    "Over time",
    tables=(
        Table(
            "points",
            (
                Column("time_ns", "ns"),
                Column("live_bytes", "bytes", sampled="live_bytes"),
                Column("live_usable_bytes", "bytes", sampled=OPEN),
                Column("live_blocks", sampled=OPEN),
                Column(
                    "highest_live_bytes",
                    "bytes",
                    sampled=OPEN,
                    about="Within the step; the other live figures are at its end.",
                ),
                Column(
                    "usable_at_highest_bytes",
                    "bytes",
                    sampled=OPEN,
                    about="At the moment of highest_live_bytes.",
                ),
                Column(
                    "resident_bytes", "bytes", about="Anonymous memory, of the latest sample; 0: none yet."
                ),
                Column("resident_file_bytes", "bytes"),
                Column("resident_shared_bytes", "bytes", about="Without the recorder's own pages."),
                Column("recorder_bytes", "bytes", about="The recorder's own pages in the process."),
                Column("swapped_bytes", "bytes"),
                Column("page_table_bytes", "bytes"),
                Column(
                    "cgroup_charge_bytes",
                    "bytes",
                    about="Of the whole cgroup, including other processes; 0: not known.",
                ),
                Column("allocations", sampled="allocations"),
                Column("releases", sampled=OPEN),
                Column("allocator_ns", "ns", sampled=OPEN),
            ),
            lambda report: report.facts.timeline,
        ),
    ),
    show=_show,
    gist=_gist,
)
