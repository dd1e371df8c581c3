# SPDX-License-Identifier: MIT
"""Answers from a sampled trace: every figure with its interval, or none where samples cannot tell.

An interval has 95 %. It is the gamma interval for weighted sums (Fay and Feuer, "Confidence intervals
for directly standardized rates", Statistics in Medicine 16, 1997): with few samples it is wide and
lopsided as it must be (one sample: 0.03 to 5.6 times the estimate), with many it is the normal one.
Where nothing was sampled, it ends at 3.69 times the sampling's mean: more bytes, or blocks of a byte,
would have left a sample in 39 of 40 recordings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from heapwright.explain import look, tables
from heapwright.model.spreads import Spread
from heapwright.report import units

if TYPE_CHECKING:
    from heapwright.explain.report import Answer, Report

Interval = list[int]
_Z = 1.959964  # of the normal distribution's 97.5 %
_NOTHING_SEEN = 3.688879  # -ln 0.025

_SLOW = "a sampled call is a slow one: its time says nothing about the others'"
NOT_ANSWERED: Mapping[str, str] = {
    "temporaries": "what a thread does between an allocation and its free takes every call",
    "time": _SLOW,
    "latency": _SLOW,
    "slow_calls": _SLOW,
    "lifetimes": "no interval is known for the single cells of the map",
    "realloc": "how a buffer grew takes each of its reallocs",
    "cross_thread": "who frees whose blocks takes every call of both threads",
    "phases": "what a phase allocated is counted call by call",
}
# Fields of the answers that samples leave open: they are null.
_OPEN: Mapping[str, tuple[str, ...]] = {
    "timeline": ("live_usable_bytes", "live_blocks", "highest_live_bytes", "usable_at_highest_bytes",
                 "releases", "allocator_ns"),
    "peak": ("live_usable_bytes",),
    "leaks": ("share_of_allocations", "may_be_freed_bytes", "may_be_freed_blocks", "suppressed_bytes",
              "suppressed_blocks"),
    "volume": ("mean_bytes",),
    "calls": ("mean_lifetime_ns",),
    "overhead": ("at_peak_bytes", "share_at_peak", "share_of_site", "mean_bytes"),
    "threads": ("releases", "allocator_ns", "temporaries", "peak_live_bytes"),
    "recorder": ("calls_ns",),
}  # fmt: skip
_OPEN_TOTALS = ("events", "releases", "reallocs", "failed", "null_frees", "usable_bytes", "zero_size",
                "allocator_ns")  # fmt: skip
_OPEN_SUMMARY = ("temporaries", "allocation_latency", "release_latency", "allocator_share")
PEAK_NOTE = "of what lived at the moment that the samples call the peak; the true peak may be another"


def interval(value: float, spread: Spread, mean: float = 0) -> Interval:
    """The 95 % interval of an estimate; mean: the sampling's.

    >>> interval(100, Spread(0.0, 0.0)), interval(100, Spread(100.0, 1.0))
    ([100, 100], [81, 122])
    """
    variance = max(spread.variance, 0.0)
    if value <= 0:
        return [0, math.ceil(_NOTHING_SEEN * mean)]
    if variance <= 0:
        return [math.floor(value), math.ceil(value)]
    low = variance / (2 * value) * _chi_square(2 * value**2 / variance, -_Z)
    upper, wider = value + spread.largest, variance + spread.largest**2
    high = wider / (2 * upper) * _chi_square(2 * upper**2 / wider, _Z)
    return [math.floor(min(low, value)), math.ceil(max(high, value))]


def _chi_square(freedom: float, normal: float) -> float:
    """Its quantile, from the normal one (Wilson and Hilferty 1931); small ones come out too small."""
    step = 2 / (9 * freedom)
    return freedom * max(0.0, 1 - step + normal * math.sqrt(step)) ** 3


def complete(report: Report, question: str, answer: Answer) -> None:
    """Adds "intervals" to what a sampled trace estimates, and takes out what it leaves open."""
    spreads = report.facts.spreads
    if spreads is None or "not_answered" in answer:
        return
    for part in (answer, *_rows_of(answer)):
        part.update({name: None for name in _OPEN.get(question, ()) if name in part})
    calls, live, mean = spreads.totals, spreads.total_live, report.trace.metadata.sample_mean_bytes
    if question == "timeline":
        for point, step in zip(answer["points"], spreads.steps, strict=True):
            _add(point, mean, live_bytes=Spread(step.live_bytes, mean),
                 allocations=Spread(step.allocations, math.sqrt(step.allocations)))  # fmt: skip
    elif question == "peak":
        _add(answer, mean, live_bytes=live.peak_bytes, live_blocks=live.peak_blocks)
        answer["intervals_are"] = PEAK_NOTE
        for row in answer["sites"]:
            of = spreads.site_live[row["site"]]
            _add(row, mean, live_bytes=of.peak_bytes, live_blocks=of.peak_blocks)
    elif question == "leaks":
        _add(answer, mean, live_bytes=live.end_bytes, live_blocks=live.end_blocks)
        for row in [*answer["sites"], *answer["signs"]]:
            of = spreads.site_live[row["site"]]
            _add(row, mean, live_bytes=of.end_bytes, live_blocks=of.end_blocks)
    elif question in ("volume", "calls", "overhead"):
        _add_calls(answer, mean, calls)
        for row in answer["sites"]:
            _add_calls(row, mean, spreads.site_calls[row["site"]])
    elif question == "threads":
        for row in answer["threads"]:
            _add_calls(row, mean, spreads.thread_calls[row["thread"]])
    elif question == "sizes":
        for row in answer["classes"]:
            size_class = row["to_bytes"].bit_length()
            of = spreads.class_live[size_class]
            _add_calls(row, mean, spreads.class_calls[size_class])
            _add(row, mean, live_at_peak_blocks=of.peak_blocks, live_at_peak_bytes=of.peak_bytes)
        for row in answer["common"]:
            weight = _weight(row["size_bytes"], mean)
            spread = Spread(row["allocations"] * (weight - 1), math.sqrt(weight * (weight - 1)))
            _add(row, mean, allocations=spread)


def _add(part: Answer, mean: int, **spreads: Spread) -> None:
    found = {name: interval(part[name], spread, mean) for name, spread in spreads.items() if name in part}
    part["intervals"] = {**part.get("intervals", {}), **found}


def _add_calls(part: Answer, mean: int, of: object) -> None:
    figures = {"allocations": "allocations", "bytes": "bytes", "requested_bytes": "bytes",
               "overhead_bytes": "overhead"}  # fmt: skip
    _add(part, mean, **{name: getattr(of, field) for name, field in figures.items()})


def _rows_of(answer: Answer) -> Iterable[Answer]:
    for name in ("points", "sites", "threads", "classes", "common"):
        yield from answer.get(name, [])


def _weight(size: int, mean: int) -> float:
    """What a sampled block of this size stands for."""
    return -1 / math.expm1(-max(size, 1) / mean)


def complete_summary(report: Report, answer: Answer) -> None:
    """The same for the first screen."""
    spreads = report.facts.spreads
    if spreads is None:
        return
    answer["totals"].update(dict.fromkeys(_OPEN_TOTALS))
    answer.update(dict.fromkeys(_OPEN_SUMMARY))
    answer["peak"]["live_usable_bytes"] = None
    live, mean = spreads.total_live, report.trace.metadata.sample_mean_bytes
    _add(answer["totals"], mean, allocations=spreads.totals.allocations, requested_bytes=spreads.totals.bytes)
    _add(answer["peak"], mean, live_bytes=live.peak_bytes, live_blocks=live.peak_blocks)
    _add(answer, mean, live_at_end_bytes=live.end_bytes, live_at_end_blocks=live.end_blocks)


def shown(part: Answer, name: str, written: Callable[[int], str]) -> str:
    """A figure with its interval: ± when that is about even, otherwise from and to.

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


_COLUMNS: Mapping[str, Sequence[tuple[str, str, Callable[[int], str]]]] = {
    "peak": (("bytes", "live_bytes", units.size), ("blocks", "live_blocks", units.count)),
    "leaks": (("bytes", "live_bytes", units.size), ("blocks", "live_blocks", units.count)),
    "volume": (("bytes", "bytes", units.size), ("calls", "allocations", units.count)),
    "calls": (("calls", "allocations", units.count), ("bytes", "bytes", units.size)),
    "overhead": (("overhead", "overhead_bytes", units.size),),
    "threads": (("allocations", "allocations", units.count), ("bytes", "bytes", units.size)),
    "sizes": (("calls", "allocations", units.count), ("bytes", "bytes", units.size)),
}


def show(question: str, answer: Answer) -> look.RenderableType | None:
    """The tables of a sampled trace; None where a question shows itself as always."""
    if "not_answered" in answer:
        return look.Text(f"not answered from samples: {answer['not_answered']}", style="dim")
    columns = _COLUMNS.get(question)
    if columns is None:
        return None

    def cell(name: str, written: Callable[[int], str]) -> Callable[[Answer], str]:
        return lambda row: shown(row, name, written)

    figures = [(header, cell(name, written)) for header, name, written in columns]
    if "sites" in answer:
        return tables.by_site(answer, figures, columns[0][2]) or look.Text("nothing was sampled", style="dim")
    rows = answer["threads"] if question == "threads" else answer["classes"]
    first = "thread" if question == "threads" else "size"
    names = [
        f"{row['name']} #{row['thread']}"
        if question == "threads"
        else f"{units.size(row['from_bytes'])} – {units.size(row['to_bytes'])}"
        for row in rows
    ]
    cells = [[name, *(text(row) for _, text in figures)] for name, row in zip(names, rows, strict=True)]
    return tables.plain((first, *(header for header, _ in figures)), cells, left_columns=(0,))


def figures(answer: Answer, live: str) -> list[tuple[str, look.Text]]:
    """The first screen's figures."""
    totals, peak = answer["totals"], answer["peak"]
    return [
        (name, look.Text(text))
        for name, text in (
            (
                "peak",
                f"{shown(peak, 'live_bytes', units.size)} in "
                f"{shown(peak, 'live_blocks', units.count)} blocks, "
                f"at {units.duration(peak['time_ns'])} (intervals {PEAK_NOTE})",
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
