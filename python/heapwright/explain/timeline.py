# SPDX-License-Identifier: MIT
"""How did the heap grow and shrink?"""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.explain import look, words
from heapwright.explain.report import Answer, Finding, Report

NAME = "timeline"
TITLE = "Over time"
_LEVELS = " ▁▂▃▄▅▆▇█"
_CELLS = 64


def answer(report: Report) -> Answer:
    """The state at the end of each step."""
    return {"points": [point._asdict() for point in report.facts.timeline]}


def show(answer: Answer) -> look.RenderableType | None:
    """One line a measure, all byte measures on one scale."""
    points: list[dict[str, int]] = answer["points"]
    if not points:
        return None
    measures = {
        "requested": [point["highest_live_bytes"] for point in points],
        "usable": [point["live_usable_bytes"] for point in points],
        "resident": [point["resident_bytes"] for point in points],
    }
    scale = max(max(values) for values in measures.values())
    table = look.Table.grid(padding=(0, 2))
    for name, values in measures.items():
        if any(values):
            table.add_row(
                look.Text(name),
                look.Text(sparkline(values, scale), style="cyan"),
                look.Text(f"max {words.size(max(values))}"),
            )
    rates = [point["allocations"] for point in points]
    table.add_row(
        look.Text("allocations"), look.Text(sparkline(rates, max(rates)), style="cyan"), look.Text("per step")
    )
    times = [point["allocator_ns"] for point in points]
    if any(times):
        table.add_row(
            look.Text("allocator time"),
            look.Text(sparkline(times, max(times)), style="cyan"),
            look.Text("per step"),
        )
    span = words.duration(points[-1]["time_ns"])
    table.add_row(look.Text(), look.Text("0" + span.rjust(_CELLS - 1), style="dim"), look.Text())
    return table


def sparkline(values: Sequence[int], scale: int, cells: int = _CELLS) -> str:
    """The values as a line of bars; a bar is the largest value of its part.

    >>> sparkline([0, 1, 2, 4], 4, cells=4)
    ' ▂▄█'
    """
    if not values or scale <= 0:
        return ""
    bars = []
    for cell in range(cells):
        first = cell * len(values) // cells
        last = max(first + 1, (cell + 1) * len(values) // cells)
        bars.append(_LEVELS[min(8, -(-8 * max(values[first:last]) // scale))])
    return "".join(bars)


def findings(answer: Answer) -> list[Finding]:
    """A heap that ends near its peak and never came down."""
    return []
