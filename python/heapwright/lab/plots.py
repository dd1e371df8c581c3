# SPDX-License-Identifier: MIT
"""Results as Plotly figures: plain data that plotly.js draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heapwright.lab import findings
from heapwright.measure.allocators import OURS
from heapwright.measure.experiment import Part, Plot

Record = Mapping[str, Any]
Trace = dict[str, Any]

# Distinguishable for colour-blind readers (Okabe-Ito); ours is the strong red.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#999999", "#7F6A00", "#5D3A9B")
_OUR_COLOUR = "#D5231E"


def figure_of(plot: Plot, part: Part, part_record: Record, allocators: Sequence[str]) -> Trace:
    """The figure as plotly.js takes it."""
    if plot.kind == "series":
        traces = _series(plot, part, part_record, allocators)
    elif plot.kind == "cases":
        traces = _over_cases(plot, part_record, allocators)
    else:
        traces = _bars(plot, part_record, allocators)
    return {"data": traces, "layout": _layout(plot)}


def _colour(number: int, name: str) -> str:
    return _OUR_COLOUR if name == OURS or "(ours)" in name else _COLOURS[number % len(_COLOURS)]


def _medians(part_record: Record, allocator: str, key: str) -> list[Mapping[str, float] | None]:
    return [findings.result_of(c, allocator)["summary"].get(key) for c in part_record["cases"]]


def _error_bars(summaries: Sequence[Mapping[str, float] | None]) -> Trace:
    return {"type": "data", "array": [s["spread"] if s else None for s in summaries], "thickness": 1}


def _bars(plot: Plot, part_record: Record, allocators: Sequence[str]) -> list[Trace]:
    cases = part_record["cases"]
    traces = []
    for number, name in enumerate(allocators):
        summaries = _medians(part_record, name, plot.y)
        traces.append(
            {
                "type": "bar",
                "name": name,
                "x": [name] if len(cases) == 1 else [case["name"] for case in cases],
                "y": [s["median"] if s else None for s in summaries],
                "error_y": _error_bars(summaries),
                "marker": {"color": _colour(number, name)},
            }
        )
    return traces


def _over_cases(plot: Plot, part_record: Record, allocators: Sequence[str]) -> list[Trace]:
    traces = []
    for number, name in enumerate(allocators):
        summaries = _medians(part_record, name, plot.y)
        trace = _line(number, name)
        trace["x"] = [case["x"] for case in part_record["cases"]]
        trace["y"] = [s["median"] if s else None for s in summaries]
        trace["error_y"] = _error_bars(summaries)
        traces.append(trace)
    return traces


def _series(plot: Plot, part: Part, part_record: Record, allocators: Sequence[str]) -> list[Trace]:
    cases = {case["name"]: case for case in part_record["cases"]}
    if plot.lines == "cases":
        chosen = [(name, findings.result_of(case, allocators[0])) for name, case in cases.items()]
    else:
        case = cases[plot.case or part.cases[0].name]
        chosen = [(name, findings.result_of(case, name)) for name in allocators]
    traces = []
    for number, (name, result) in enumerate(chosen):
        trace = _line(number, name)
        trace["mode"] = "lines"
        trace["x"] = result["series"].get(plot.x, [])
        trace["y"] = result["series"].get(plot.y, [])
        traces.append(trace)
    return traces


def _line(number: int, name: str) -> Trace:
    colour = _colour(number, name)
    width = 4 if colour == _OUR_COLOUR else 2
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "line": {"color": colour, "width": width},
        "marker": {"color": colour},
    }


def _layout(plot: Plot) -> Trace:
    grid = {"gridcolor": "#e3e3e3", "zerolinecolor": "#c8c8c8", "automargin": True}
    is_bar = plot.kind == "bars"
    return {
        "title": {"text": plot.title, "font": {"size": 15}, "x": 0, "xref": "paper"},
        "height": 380,
        "margin": {"l": 70, "r": 20, "t": 50, "b": 90},
        "barmode": "group",
        "xaxis": {
            **grid,
            "title": {"text": plot.x_title},
            "type": "category" if is_bar else "log" if plot.log_x else "linear",
        },
        "yaxis": {
            **grid,
            "title": {"text": plot.y_title},
            "type": "log" if plot.log_y else "linear",
            "exponentformat": "SI",
            **({} if plot.log_y else {"rangemode": "tozero"}),
        },
        "legend": {"orientation": "h", "y": -0.24, "yanchor": "top"},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "font": {"family": "system-ui, sans-serif", "size": 13},
    }
