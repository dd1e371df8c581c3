# SPDX-License-Identifier: MIT
"""Pictures of pages without a script: curves as SVG, and bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heapwright.report.markup import Markup, joined, tag

_WIDTH, _HEIGHT = 960, 320
_LEFT, _RIGHT, _BOTTOM, _TOP = 72, 8, 28, 10
_STEPS = 4
_MOST_DECADES = 6  # that have a line of their own
_BAR_HEIGHT = 12


@dataclass(frozen=True, slots=True)
class Axis:
    """How values are written, and whether equal ratios are equally far apart."""

    written: Callable[[float], str]
    title: str = ""
    is_log: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (x, y) from left to right; text: what the legend says beside the name.

    colour: 0 to 8 of styles/charts.css; 0 is dashed, for what others are compared with.
    """

    name: str
    points: Sequence[tuple[float, float]]
    colour: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """value: None where there is nothing to draw; spread: to both sides of it; text: the value as written."""

    name: str
    value: float | None
    spread: float
    text: str
    is_ours: bool = False


class _Scale:
    """From values to shares of an axis. What a logarithm cannot show lies at its low end."""

    def __init__(self, values: Sequence[float], is_log: bool, has_ticks: bool) -> None:
        """has_ticks: the ends are round: zero, or powers of ten."""
        shown = [value for value in values if value > 0] if is_log else list(values)
        least, most = min(shown, default=1.0), max(shown, default=1.0)
        self.is_log = is_log
        self.low, self.high = (0.0 if has_ticks and not is_log else least), most
        if is_log and has_ticks:
            self.low = 10.0 ** math.floor(math.log10(least))
            self.high = 10.0 ** math.ceil(math.log10(most))
        if self.high <= self.low:
            self.high = self.low * 10 if is_log else self.low + 1

    def share(self, value: float) -> float:
        if not self.is_log:
            return (value - self.low) / (self.high - self.low)
        return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        if not self.is_log:
            return [self.low + (self.high - self.low) * step / _STEPS for step in range(_STEPS + 1)]
        decades = round(math.log10(self.high / self.low))
        every = math.ceil(decades / _MOST_DECADES)
        return [self.low * 10.0**step for step in range(0, decades + 1, every)]


def curves(lines: Sequence[Curve], x_axis: Axis, y_axis: Axis, label: str) -> Markup:
    """A picture with its legend; label: what a screen reader says. Nothing where no curve has points."""
    points = [point for line in lines for point in line.points]
    if not points:
        return Markup()
    across = _Scale([x for x, _ in points], x_axis.is_log, has_ticks=False)
    upward = _Scale([y for _, y in points], y_axis.is_log, has_ticks=True)

    def place(x: float, y: float) -> tuple[float, float]:
        width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return _LEFT + width * across.share(x), _TOP + height * (1 - upward.share(y))

    grid = []
    for value in upward.ticks():
        height = f"{place(across.low, value)[1]:.1f}"
        grid.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=height, y2=height, class_="grid"))
        grid.append(tag("text", y_axis.written(value), x=_LEFT - 8, y=height, class_="level"))
    for value, side in ((across.low, "start"), (across.high, "end")):
        at = f"{place(value, upward.low)[0]:.1f}"
        grid.append(tag("text", x_axis.written(value), x=at, y=_HEIGHT - 6, class_=f"moment {side}"))
    middle = _LEFT + (_WIDTH - _LEFT) // 2
    grid.append(tag("text", x_axis.title, x=middle, y=_HEIGHT - 6, class_="moment middle"))
    drawn = [_drawn(line, [place(x, y) for x, y in line.points]) for line in lines]
    legend = [
        tag("li", tag("i", class_=f"swatch curve-{line.colour}"), f"{line.name}  {line.text}".rstrip())
        for line in lines
    ]
    box = f"0 0 {_WIDTH} {_HEIGHT}"
    return joined(
        tag("svg", *grid, *drawn, viewBox=box, role="img", aria_label=label, class_="chart"),
        tag("ul", *legend, class_="legend"),
    )


def _drawn(line: Curve, places: Sequence[tuple[float, float]]) -> Markup:
    title = tag("title", f"{line.name}: {line.text}" if line.text else line.name)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return tag("polyline", title, points=path, class_=f"curve curve-{line.colour}")


def bars(groups: Sequence[tuple[str, Sequence[Bar]]], is_log: bool) -> Markup:
    """A row for each bar, under the heading of its group if it has one; all on one scale."""
    values = [bar.value for _, group in groups for bar in group if bar.value is not None]
    scale = _Scale(values, is_log, has_ticks=True)
    rows: list[Markup] = []
    for heading, group in groups:
        if heading:
            rows.append(tag("tr", tag("th", heading, colspan=3, class_="text")))
        rows += [_bar(bar, scale) for bar in group]
    return tag("div", tag("table", tag("tbody", *rows), class_="bars"), class_="scroll")


def _bar(bar: Bar, scale: _Scale) -> Markup:
    drawn = []
    if bar.value is not None:
        drawn.append(_block(0.0, scale.share(bar.value), _BAR_HEIGHT, "ours" if bar.is_ours else "other"))
        least, most = (scale.share(bar.value + side * bar.spread) for side in (-1, 1))
        drawn.append(_block(max(least, 0.0), min(most, 1.0), 2, "spread"))
    picture = tag("svg", *drawn, width="100%", height=_BAR_HEIGHT, aria_hidden="true")
    return tag(
        "tr",
        tag("td", bar.name, class_="text nowrap"),
        tag("td", picture, class_="bar"),
        tag("td", bar.text, class_="num"),
    )


def _block(begin: float, end: float, height: int, kind: str) -> Markup:
    top = (_BAR_HEIGHT - height) // 2
    x, width = f"{100 * begin:.2f}%", f"{100 * max(end - begin, 0):.2f}%"
    return tag("rect", x=x, width=width, y=top, height=height, class_=kind)
