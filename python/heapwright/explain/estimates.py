# SPDX-License-Identifier: MIT
"""Answers from a sampled trace: every figure with its interval, or none if samples cannot tell.

Intervals are 95 %. An interval is the gamma interval for weighted sums (Fay and Feuer, "Confidence intervals
for directly standardized rates", Statistics in Medicine 16, 1997): with few samples it is wide and
lopsided (one sample: 0.03 to 5.6 times the estimate), with many it approaches the normal one.
If nothing was sampled, it ends at 3.69 times the sampling's mean: more bytes, or blocks of a byte,
would have left a sample in 39 of 40 recordings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from heapwright.model.facts import Spread, Spreads
from heapwright.report import units, widgets
from heapwright.report.columns import OPEN, TEXT, WORD, Column, is_object

if TYPE_CHECKING:
    from heapwright.explain.question import Question
    from heapwright.explain.report import Answer, Report

Interval = list[int]
_Z = 1.959964  # of the normal distribution's 97.5 %
_NOTHING_SEEN = 3.688879  # -ln 0.025
_NO_VARIANCE = 1e-18  # of a square: less is lost in a float, and much less divides to infinity

_MOST_SHOWN = 2  # more with their intervals do not fit a line
PEAK_NOTE = "are for the peak in the samples; the true peak may be elsewhere"


def interval(value: float, spread: Spread, mean: float = 0) -> Interval:
    """The 95 % interval of an estimate; mean: the sampling's.

    >>> interval(100, Spread(0.0, 0.0)), interval(100, Spread(100.0, 1.0))
    ([100, 100], [81, 122])
    >>> interval(1e6, Spread(1e-320, 1e-160))
    [1000000, 1000000]
    """
    variance = max(spread.variance, 0.0)
    if value <= 0:
        return [0, math.ceil(_NOTHING_SEEN * mean)]
    if variance <= _NO_VARIANCE * value**2:
        return [math.floor(value), math.ceil(value)]
    low = variance / (2 * value) * _chi_square(2 * value**2 / variance, -_Z)
    upper, wider = value + spread.largest, variance + spread.largest**2
    high = wider / (2 * upper) * _chi_square(2 * upper**2 / wider, _Z)
    return [math.floor(min(low, value)), math.ceil(max(high, value))]


def _chi_square(freedom: float, normal: float) -> float:
    """Its quantile, from the normal one (Wilson and Hilferty 1931); small ones are too small."""
    step = 2 / (9 * freedom)
    return freedom * max(0.0, 1 - step + normal * math.sqrt(step)) ** 3


# The spread of this name.
_SpreadOf = Callable[[str], Spread]


def complete(report: Report, question: Question, answer: Answer) -> None:
    """Adds "intervals" to a sampled trace's estimates, and removes figures that it leaves open."""
    spreads = report.facts.spreads
    if spreads is None or "not_answered" in answer:
        return
    mean = report.trace.metadata.sample_mean_bytes
    complete_record(answer, question.figures, of_all(spreads), mean)
    for table in question.tables:
        for number, row in enumerate(answer[table.key]):
            complete_record(row, table.columns, _spread_of_row(spreads, table.key, number, row, mean), mean)
    if any(figure.key == "intervals_are" for figure in question.figures):
        answer["intervals_are"] = PEAK_NOTE


def complete_record(record: Answer, columns: Sequence[Column], spread_of: _SpreadOf, mean: int) -> None:
    """The same of one row; mean: the sampling's."""
    intervals = {}
    for column in columns:
        if column.sampled == OPEN:
            record[column.key] = None
        elif column.sampled:
            intervals[column.key] = interval(record[column.key], spread_of(column.sampled), mean)
        if is_object(column.unit):
            complete_record(record[column.key], column.unit, spread_of, mean)
    if intervals:
        record["intervals"] = intervals


class GainSpread(NamedTuple):
    """The interval of a gain in bytes for blocks at the peak."""

    gain_bytes: Spread


def scaled(spread: Spread, by: float) -> Spread:
    """The interval of the same estimate times a factor."""
    return Spread(spread.variance * by**2, spread.largest * by)


def of_all(spreads: Spreads) -> _SpreadOf:
    """The intervals of the sums over all calls."""
    return _named(spreads.total_calls, spreads.total_live)


def _named(*of: object) -> _SpreadOf:
    """The spread from the first of these that has it."""
    return lambda name: next(getattr(part, name) for part in of if hasattr(part, name))


def _spread_of_row(spreads: Spreads, table: str, number: int, row: Answer, mean: int) -> _SpreadOf:
    if table == "points":
        step = spreads.steps[number]
        found = {
            "live_bytes": Spread(step.live_bytes, mean),
            "allocations": Spread(step.allocations, math.sqrt(step.allocations)),
        }
        return found.__getitem__
    if table == "threads":
        return _named(spreads.thread_calls[row["thread"]])
    if table == "classes":
        size_class = row["to_bytes"].bit_length()
        return _named(spreads.class_calls[size_class], spreads.class_live[size_class])
    if table == "common":
        weight = _weight(row["size_bytes"], mean)
        return lambda _: Spread(row["allocations"] * (weight - 1), math.sqrt(weight * (weight - 1)))
    if table == "advice":
        blocks = spreads.site_live[row["site"]].peak_blocks
        return _named(GainSpread(scaled(blocks, row["gain_bytes_each"])))
    if "site" in row:
        return _named(spreads.site_calls[row["site"]], spreads.site_live[row["site"]])
    return _named()


def _weight(size: int, mean: int) -> float:
    """How many blocks a sampled block of this size represents."""
    return -1 / math.expm1(-max(size, 1) / mean)


def shown(part: Answer, name: str, written: Callable[[int], str]) -> str:
    """A figure with its interval: ± if it is roughly symmetric, otherwise from and to.

    >>> shown({"n": 1000, "intervals": {"n": [900, 1110]}}, "n", units.count)
    '1,000 ±11 %'
    >>> shown({"n": 10, "intervals": {"n": [1, 56]}}, "n", units.count)
    '10 (1 to 56)'
    """
    value, (low, high) = part[name], part["intervals"][name]
    wide = max(high - value, value - low)
    if wide <= 0.3 * value:
        share = 100 * wide / max(value, 1)
        return f"{written(value)} ±{'<1' if 0 < share < 1 else math.ceil(share)} %"
    return f"{written(value)} ({written(low)} to {written(high)})"


def shown_columns(columns: Sequence[Column]) -> Sequence[Column]:
    """The columns shown for a sampled trace: names, and the first estimated ones; all if none is
    estimated."""
    estimated = [column for column in columns if column.label and column.sampled not in ("", OPEN)]
    if not estimated:
        return columns
    shown = estimated[:_MOST_SHOWN]
    return [
        column._replace(text=_with_interval(column)) if column in shown else column
        for column in columns
        if column.unit in (TEXT, WORD) or column in shown
    ]


def _with_interval(column: Column) -> Callable[[Answer, Answer], str]:
    return lambda row, _: shown(row, column.key, units.WRITERS[column.unit])


def figures(answer: Answer, live: str) -> list[tuple[str, widgets.Text]]:
    """The first screen's figures."""
    totals, peak = answer["totals"], answer["peak"]
    return [
        (name, widgets.Text(text))
        for name, text in (
            (
                "peak",
                f"{shown(peak, 'live_bytes', units.size)} in "
                f"{shown(peak, 'live_blocks', units.count)} blocks, "
                f"{units.duration(peak['time_ns'])} into the run (intervals {PEAK_NOTE})",
            ),
            (
                f"live {live}",
                f"{shown(answer, 'live_at_end_bytes', units.size)} in "
                f"{shown(answer, 'live_at_end_blocks', units.count)} blocks",
            ),
            (
                "calls",
                f"{shown(totals, 'allocations', units.count)} allocations of "
                f"{shown(totals, 'requested_bytes', units.size)}",
            ),
        )
    ]
