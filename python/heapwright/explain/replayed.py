# SPDX-License-Identifier: MIT
"""What a replay measured of a change proposed by advice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heapwright.report import units
from heapwright.report.columns import Choice, Column, Record, record


class ReplayedFigure(NamedTuple):
    """A figure of the changed program, compared to the recording replayed on the same allocator.

    verdict: better, worse, same (within noise and error), or unknown (too few runs).
    resolution: the least difference that counts; 0: not known.
    """

    label: str
    unit: str
    difference: float
    relative_difference: float
    verdict: str
    on: str
    resolution: float = 0.0


COLUMNS = (
    Column("figure", "text", value="label"),
    Column("unit", Choice(("ns", "bytes"))),
    Column("difference", "signed"),
    Column("relative_difference", "signed"),
    Column("verdict", Choice(("better", "worse", "same", "unknown"))),
    Column("on", "text", about="The allocator."),
    Column("resolution", "number", about="The least difference that counts; 0: not known."),
)
AT_SCAN = "at the scan"  # the label of memory at the scan that remedies are judged by
AT_END = "end"  # of what a process holds while it ends: no gain
MEASURED, REFUTED, BOUND = "measured", "refuted", "bound"
JUDGEMENTS = (MEASURED, REFUTED, BOUND)
# A remedy that costs more of the run's time than this does not stand on the first screen.
_MOST_PRICE = 0.01
_DEAR_BYTES, _DEAR_SHARE = 8 << 20, 4.0  # more memory that no gain in time is worth by itself


def judgement(
    figures: Sequence[Record], gain_ns: float, gain_bytes: float, run_ns: float, part: float = 1.0
) -> str:
    """Whether a replay confirms a bound on the gain, refutes it, or cannot tell.

    It refutes what makes the run slower, and what can gain at most this part of the bound: as much as it
    measured, and what it could not see. It does not confirm what takes several times the memory.

    >>> slower = ReplayedFigure("CPU time", "ns", 5e6, 0.1, "worse", "glibc", 1e6)
    >>> less = ReplayedFigure("peak", "bytes", -4096, -0.5, "better", "glibc", 100)
    >>> same = less._replace(difference=0, verdict="same")
    >>> judgement(records([less]), 0, 5000, 1e9), judgement(records([less, slower]), 0, 5000, 1e8)
    ('measured', 'refuted')
    >>> judgement(records([same]), 0, 5000, 1e9), judgement(records([same]), 0, 50, 1e9)
    ('refuted', 'bound')
    >>> judgement([], 0, 9, 9)
    'bound'
    >>> dear = less._replace(difference=9 << 20, relative_difference=4.5, verdict="worse")
    >>> faster = slower._replace(difference=-5e6, verdict="better")
    >>> judgement(records([faster]), 9e6, 0, 1e9), judgement(records([faster, dear]), 9e6, 0, 1e9)
    ('measured', 'bound')
    >>> some = less._replace(difference=-3000, verdict="same", resolution=1500)
    >>> judgement(records([some]), 0, 5000, 1e9), judgement(records([some]), 0, 5000, 1e9, 0.5)
    ('refuted', 'bound')
    """
    if any(
        one["verdict"] == "worse" and one["unit"] == "ns" and one["difference"] > _MOST_PRICE * run_ns
        for one in figures
    ):
        return REFUTED
    figures = [one for one in figures if one["figure"] != AT_END]
    if any(one["verdict"] == "better" for one in figures):
        return BOUND if is_dear(figures) else MEASURED
    gains = {"ns": part * gain_ns, "bytes": part * gain_bytes}
    asked = [one for one in figures if gains[one["unit"]] > 0]
    is_seen = all(
        one["verdict"] in ("same", "worse") and one["resolution"] - one["difference"] < gains[one["unit"]]
        for one in asked
    )
    return REFUTED if asked and is_seen else BOUND


def is_dear(figures: Sequence[Record]) -> bool:
    """Whether it takes several times the memory: an arena that a few blocks never let go, for instance."""
    return any(
        one["unit"] == "bytes"
        and one["verdict"] == "worse"
        and one["difference"] > _DEAR_BYTES
        and one["relative_difference"] > _DEAR_SHARE
        for one in figures
    )


def records(figures: Iterable[ReplayedFigure]) -> list[Record]:
    """The figures as plain data."""
    return [record(COLUMNS, figure, {}) for figure in figures]


def at_scan(figures: Sequence[Record]) -> list[Record]:
    """Memory at the scan alone, where that was asked for, and time."""
    is_asked = any(one["figure"] == AT_SCAN for one in figures)
    return [one for one in figures if one["unit"] == "ns" or one["figure"] == AT_SCAN or not is_asked]


def less_at_scan(figures: Sequence[Record]) -> float:
    """Bytes that a replay certainly saw less of at the scan; 0 for none, or where it was not asked for."""
    return max(
        (-one["difference"] for one in figures if one["figure"] == AT_SCAN and one["verdict"] == "better"),
        default=0.0,
    )


def more_time(figures: Sequence[Record]) -> float:
    """Nanoseconds that it took longer."""
    return max((one["difference"] for one in figures if one["unit"] == "ns"), default=0.0)


def is_timed(figures: Sequence[Record]) -> bool:
    """Whether the replay knows what it costs or gains in time.

    >>> time = ReplayedFigure("CPU time", "ns", 5e6, 0.1, "unknown", "glibc")
    >>> is_timed(records([time])), is_timed(records([time._replace(verdict="same")])), is_timed([])
    (False, True, False)
    """
    return any(one["unit"] == "ns" and one["verdict"] != "unknown" for one in figures)


def more_memory(figures: Sequence[Record]) -> str:
    """The memory that it certainly takes more, in words; empty: none.

    >>> more = ReplayedFigure("peak", "bytes", 4096, 0.5, "worse", "glibc")
    >>> more_memory(records([more])), more_memory(records([more._replace(verdict="same")]))
    ('peak +50 % (+4.00 KiB)', '')
    """
    worse = [one for one in figures if one["unit"] == "bytes" and one["verdict"] == "worse"]
    return next((_in_words(one) for one in worse if one["figure"] != AT_END), "")


def in_words(figures: Sequence[Record]) -> str:
    """The figures in words; empty without any.

    >>> in_words(records([ReplayedFigure("peak", "bytes", -4096, -0.5, "better", "glibc")]))
    'measured by replay on glibc: peak −50 % (−4.00 KiB)'
    """
    return (
        f"measured by replay on {figures[0]['on']}: {', '.join(map(_in_words, figures))}" if figures else ""
    )


def briefly(figures: Sequence[Record]) -> str:
    """Memory as it changed most visibly, and time: for one line.

    >>> less = ReplayedFigure(AT_SCAN, "bytes", -4096, -0.5, "better", "glibc")
    >>> time = ReplayedFigure("CPU time", "ns", 5e6, 0.001, "unknown", "glibc")
    >>> briefly(records([time, less._replace(label="peak", verdict="same"), less]))
    'measured by replay: −50 % at the scan (−4.00 KiB), time in the heap not known'
    """
    sizes = [one for one in figures if one["unit"] == "bytes" and one["figure"] != AT_END]
    changed = [one for one in sizes if one["verdict"] in ("better", "worse")] or sizes
    size = next((one for one in changed if one["figure"] == AT_SCAN), changed[0] if changed else None)
    parts = [_size_briefly(size)] if size is not None else []
    parts += [_in_words(one) for one in figures if one["unit"] == "ns"] or ["time in the heap not known"]
    return f"measured by replay: {', '.join(parts)}"


def _size_briefly(figure: Record) -> str:
    if figure["verdict"] == "same":
        return "memory as before"
    share, size = (
        units.signed_percent(figure["relative_difference"]),
        units.signed(figure["difference"], "bytes"),
    )
    at = figure["figure"] if figure["figure"] == AT_SCAN else f"of the {figure['figure']}"
    return f"{share} {at} ({size})"


def _in_words(figure: Record) -> str:
    # A replay runs the heap's calls alone: its CPU time is no share of the program's.
    name = "time in the heap" if figure["unit"] == "ns" else figure["figure"]
    if figure["verdict"] == "same" and figure["unit"] == "ns" and figure["resolution"]:
        return f"{name}: cannot tell below {units.duration(figure['resolution'])}"
    if figure["verdict"] == "unknown" and figure["unit"] == "ns":
        return f"{name} not known"
    if figure["verdict"] == "same":
        return f"{name} as before"
    share = units.signed_percent(figure["relative_difference"])
    text = f"{name} {share} ({units.signed(figure['difference'], figure['unit'])})"
    return text if figure["verdict"] != "unknown" else f"{text}, in too few runs to be certain"
