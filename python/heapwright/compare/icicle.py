# SPDX-License-Identifier: MIT
"""Call paths of both sides in one icicle graph: width is A plus B, colour shows the difference.

Paths match by function names, like sites across builds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from heapwright.compare.document import Comparison, Side
from heapwright.compare.noise import LESS, MORE
from heapwright.compare.sites import RENAMED
from heapwright.report import units
from heapwright.report.columns import Record
from heapwright.report.markup import Markup, tag

_WIDTH, _ROW, _LETTER = 1000, 22, 6.6
_LEAST, _DEEPEST = 2.5, 40  # of a box, in pixels; of a path, in boxes
_STRONG, _WEAK = 0.3, 0.01  # of the difference, relative to both sides together

Path = tuple[str, ...]


class Box:
    """A function in its path, with everything it called."""

    __slots__ = ("a", "b", "inner", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.a = 0.0
        self.b = 0.0
        self.inner: dict[str, Box] = {}

    @property
    def both(self) -> float:
        return self.a + self.b


def figure_of(document: Mapping[str, Any]) -> Record | None:
    """The figure that the graph shows: the one of call paths that differs most; None if none does."""
    paths = ("calls", "bytes", "peak_live_bytes")
    rows = [row for row in document["totals"] if row["key"] in paths and row["verdict"] in (LESS, MORE)]
    return max(rows, key=lambda row: abs(row["difference"]) / (row["a"] + row["b"]), default=None)


def tree(comparison: Comparison, document: Mapping[str, Any], figure: str) -> Box:
    """The tree from the outermost function that paths do not share."""
    new_name = {row["was"]: row["name"] for row in document["sites"] if row["state"] == RENAMED}
    root = Box("all")
    for path, value in _medians(comparison.a, figure):
        for box in _boxes(root, [new_name.get(name, name) for name in path]):
            box.a += value
    for path, value in _medians(comparison.b, figure):
        for box in _boxes(root, path):
            box.b += value
    while len(root.inner) == 1:
        (only,) = root.inner.values()
        if only.both < root.both:
            break
        root = only
    return root


def _medians(side: Side, figure: str) -> Iterator[tuple[Path, float]]:
    is_work = figure != "peak_live_bytes"
    for path in dict.fromkeys(path for run in side.runs for path in run.paths.get(figure, {})):
        values = [
            run.paths[figure].get(path, 0) / (run.load if is_work else 1) for run in side.runs if run.paths
        ]
        yield path, median(values)


def _boxes(root: Box, path: Sequence[str]) -> Iterator[Box]:
    yield root
    for name in path:
        root = root.inner.setdefault(name, Box(name))
        yield root


def drawn(root: Box, unit: str) -> Markup:
    """The graph, without boxes too narrow or deep to read."""
    boxes: list[Markup] = []
    rows = _draw(root, unit, 0.0, 0, _WIDTH / (root.both or 1), boxes)
    box = f"0 0 {_WIDTH} {rows * _ROW}"
    return tag("svg", *boxes, viewBox=box, class_="icicle", role="img", aria_label="call paths of A and B")


def _draw(box: Box, unit: str, x: float, depth: int, scale: float, drawn_boxes: list[Markup]) -> int:
    """The number of rows."""
    width = box.both * scale
    letters = int((width - 6) / _LETTER)
    name = box.name if len(box.name) <= letters else f"{box.name[: max(0, letters - 1)]}…"
    drawn_boxes.append(
        tag(
            "g",
            tag("title", f"{box.name}\n{_figures(box, unit)}"),
            tag(
                "rect", x=f"{x:.1f}", y=depth * _ROW, width=f"{width:.1f}", height=_ROW - 1, class_=_kind(box)
            ),
            *([tag("text", name, x=f"{x + 3:.1f}", y=depth * _ROW + 15)] if letters > 2 else []),
        )
    )
    rows = depth + 1
    for inner in sorted(box.inner.values(), key=lambda one: -one.both):
        if inner.both * scale >= _LEAST and depth < _DEEPEST:
            rows = max(rows, _draw(inner, unit, x, depth + 1, scale, drawn_boxes))
        x += inner.both * scale
    return rows


def _kind(box: Box) -> str:
    share = (box.b - box.a) / (box.both or 1)
    if abs(share) < _WEAK:
        return "same"
    return f"{MORE if share > 0 else LESS}{' strong' if abs(share) >= _STRONG else ''}"


def _figures(box: Box, unit: str) -> str:
    sign = "+" if box.b >= box.a else "−"
    a, b, more = (units.number(round(value), unit) for value in (box.a, box.b, abs(box.b - box.a)))
    return f"A {a}, B {b}: {sign}{more}"
