# SPDX-License-Identifier: MIT
"""How long do blocks live, by size?"""

from __future__ import annotations

import math
from typing import NamedTuple

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Report
from heapwright.report import units, widgets
from heapwright.report.columns import Column, Many, Table

_SHADES = ("", "░", "▒", "▓", "█")
_COLOURS = ("", "blue", "cyan", "yellow", "red")


class _Row(NamedTuple):
    size_from_bytes: int
    blocks: list[int]
    bytes: list[int]


class _Map:
    """The map; the last column of each row is "still live"."""

    def __init__(self, report: Report) -> None:
        of = report.facts.lifetimes
        columns = len(of.lifetime_from_ns) + 1
        self.lifetime_from_ns = list(of.lifetime_from_ns)
        self.longest_ns = report.trace.end.time_ns or report.facts.totals.span_ns
        self.rows = []
        for number, size in enumerate(of.size_from_bytes):
            cells = slice(number * columns, (number + 1) * columns)
            if any(of.blocks[cells]):
                self.rows.append(_Row(size, list(of.blocks[cells]), list(of.bytes[cells])))


def _show(answer: Answer) -> widgets.RenderableType | None:
    """A heat map; two half-decades are drawn as one column."""
    if not answer["rows"]:
        return None
    starts: list[int] = answer["lifetime_from_ns"]
    groups = [range(first, min(first + 2, len(starts))) for first in range(0, len(starts), 2)]
    largest = max(max(_merged(row["blocks"], groups)) for row in answer["rows"])
    headers = [f"≥{_short(starts[group[0]])}" if starts[group[0]] else "0" for group in groups]
    rows: list[list[str | widgets.Styled]] = [
        [
            units.size(row["size_from_bytes"]),
            *(_cell(blocks, largest) for blocks in _merged(row["blocks"], groups)),
        ]
        for row in answer["rows"]
    ]
    return widgets.Columns(("size from", *headers, "live"), rows, centred=True)


def _merged(blocks: list[int], groups: list[range]) -> list[int]:
    return [sum(blocks[column] for column in group) for group in groups] + [blocks[-1]]


def _short(time_ns: int) -> str:
    return units.duration(time_ns).replace(" ", "").replace(".00", "").replace(".0", "")


def _cell(blocks: int, largest: int) -> widgets.Styled:
    if blocks == 0:
        return widgets.Styled("·", style="dim")
    level = 1 + int(3.999 * math.log1p(blocks) / math.log1p(max(largest, 1))) if largest else 1
    level = min(level, 4)
    return widgets.Styled(_SHADES[level] * 4, style=_COLOURS[level])


def _gist(answer: Answer) -> str:
    """Where half of the blocks have been freed."""
    sums = [sum(column) for column in zip(*(row["blocks"] for row in answer["rows"]), strict=True)]
    starts, seen = answer["lifetime_from_ns"], 0
    for number, blocks in enumerate(sums[:-2]):
        seen += blocks
        if 2 * seen < sum(sums):
            continue
        if starts[number + 1] >= answer["longest_ns"]:  # a run of 5 s says nothing of 10 s
            return f"half of the blocks live {units.duration(starts[number])} or longer"
        return f"half of the blocks live less than {units.duration(starts[number + 1])}"
    return "half of the blocks stay to the end" if sums and 2 * sums[-1] >= sum(sums) else ""


QUESTION = Question(
    "lifetimes",
    "Size × lifetime: blocks, darker is more",
    (
        Column("lifetime_from_ns", Many("ns")),
        Column("longest_ns", "ns", about="How long a block can have lived: to the recording's end."),
    ),
    (
        Table(
            "rows",
            (
                Column("size_from_bytes", "bytes"),
                Column("blocks", Many("count")),
                Column("bytes", Many("bytes")),
            ),
            lambda found: found.rows,
        ),
    ),
    prepare=_Map,
    show=_show,
    unsampled="no interval is known for single cells of the map",
    gist=_gist,
)
