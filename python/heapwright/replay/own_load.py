# SPDX-License-Identifier: MIT
"""Times with the program's gaps between calls: at its own load instead of full speed.

A time is the calls' wall time, including waiting in the heap, plus that of writing to fresh pages. It
excludes what the program did in the gaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from heapwright.measure.runner import Arm
from heapwright.model import KIND_NAMES
from heapwright.replay import figure_words
from heapwright.replay.decision import late_share
from heapwright.replay.figures import FIGURES
from heapwright.replay.result import Document, Gaps, GapTimes, Times
from heapwright.report import units
from heapwright.report.columns import TEXT, WORD, Column, Record

TIME = next(figure for figure in FIGURES if figure.key == "gaps_time_ns")
_TAIL = next(figure for figure in FIGURES if figure.key == "gaps_p999_ns")
_PERCENTILES = ("p50_ns", "p99_ns", "p999_ns", "max_ns")
_HEAP_CALLS = KIND_NAMES[1:64]  # as src/trace/event_kind.hpp numbers them
_WORTH_LATE = 0.01


def describe(
    arms: Sequence[Arm],
    rate: float,
    program_ns: float,
    recorded: Mapping[str, Times],
    preempted_ns: float = 0.0,
) -> Gaps | None:
    """The document's part on these runs; None if there are none.

    recorded: the calls' times by function, empty if not recorded; preempted_ns: the preempted part of these.
    program_ns: the program's own time without the recorder's cost.
    """
    if not arms:
        return None
    reference = [run for arm in arms[:2] for run in arm.runs]
    replayed_ns = median(float(run["calls_ns"]) for run in reference) if reference else None
    whole_ns = float(sum(times.sum_ns for function, times in recorded.items() if function in _HEAP_CALLS))
    recorded_ns = max(whole_ns - preempted_ns, 0.0) or None
    error_ns = abs(replayed_ns - recorded_ns) if replayed_ns and recorded_ns else None
    own = [_of_arm(arm) for arm in arms if not arm.is_control]
    return Gaps(rate, program_ns, recorded_ns, replayed_ns, error_ns, own)


def _of_arm(arm: Arm) -> GapTimes:
    runs = [] if arm.failure else arm.runs

    def middle(key: str) -> float | None:
        return median(float(run[key]) for run in runs) if runs else None

    late = median(map(late_share, runs)) if runs else None
    return GapTimes(arm.allocator.name, late, *map(middle, _PERCENTILES))


def _percentile(key: str, label: str) -> Column:
    def text(record: Record, _: Record) -> str:
        time_ns = getattr(record["own"], key)
        return "–" if time_ns is None else units.number(time_ns, "ns")

    return Column(key, WORD, label, text=text)


COLUMNS = (
    Column("name", TEXT, "at the program's load", text=lambda record, _: str(record["own"].name)),
    figure_words.column(TIME, "time"),
    _percentile("p50_ns", "p50"),
    _percentile("p99_ns", "p99"),
    figure_words.column(_TAIL, "p99.9"),
)


def rows(document: Document) -> list[Record]:
    """The candidates, for COLUMNS; none if no such run was requested."""
    if document.gaps is None:
        return []
    both = zip(figure_words.rows(document), document.gaps.candidates, strict=True)
    return [{**row, "own": own} for row, own in both]


def about(document: Document) -> list[str]:
    """What these times are, and their accuracy."""
    gaps = document.gaps
    if gaps is None:
        return []
    speed = "" if gaps.rate == 1 else f", {gaps.rate:g} times as fast"
    line = (
        "At the program's load: each call begins when the program's did, without the recorder's "
        f"cost{speed} ({units.duration(gaps.program_ns / gaps.rate)}); time is the wall time of "
        "the calls and of writing to fresh pages, including waiting in the heap."
    )
    if gaps.error_ns is not None:
        line += (
            f" On {document.reference} the calls take {units.number(gaps.replayed_ns, 'ns')}, recorded "
            f"{units.number(gaps.recorded_ns, 'ns')}: less than {units.duration(gaps.error_ns)} is no "
            "difference (=)."
        )
    return [line, *_about_late(gaps)]


def _about_late(gaps: Gaps) -> list[str]:
    late = [one for one in gaps.candidates if one.late_share is not None and one.late_share > _WORTH_LATE]
    if not late:
        return []
    named = ", ".join(f"{one.name} {units.percent(one.late_share or 0)}" for one in late)
    return [
        "Calls that began more than 50 µs late, since their thread was not done or had no processor: "
        f"{named}; "
        "to that extent the load is not the program's."
    ]
