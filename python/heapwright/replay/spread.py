# SPDX-License-Identifier: MIT
"""Every measured figure with its spread: those of the decision, and others.

The others have no verdict: only median, minimum and maximum of a candidate's runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from heapwright.measure.program import Output
from heapwright.measure.runner import Arm
from heapwright.replay import kernel_words
from heapwright.replay.details import Detail
from heapwright.replay.figures import FIGURES
from heapwright.replay.result import Counted, Document, Outcome, Spread
from heapwright.report import units
from heapwright.report.columns import WORD, Column, Record

Runs = Sequence[Output]


class Measure(NamedTuple):
    """A figure without a verdict."""

    key: str
    label: str
    unit: str
    about: str


MEASURES = (
    Measure(
        "wall_ns",
        "wall time",
        "ns",
        "Of all threads at full speed, minus the dry run's; other processes may have taken some "
        "of it. Not for a window.",
    ),
    Measure("p50_ns", "p50", "ns", "Of all clocked calls."),
    Measure("p99_ns", "p99", "ns", "The same."),
    Measure("max_ns", "longest call", "ns", "The same."),
    Measure(
        "overhead_bytes",
        "overhead",
        "bytes",
        "Resident memory beyond what blocks need, mean over the recorded time: free memory, tables, "
        "rounding, thread stacks. Not with a change, which affects what blocks need.",
    ),
    Measure("peak_overhead_bytes", "overhead at peak", "bytes", "The same when the run has most memory."),
)


@dataclass(frozen=True, slots=True)
class Needed:
    """What blocks and the program's own mappings need at the moments; end_ns: of the replayed part."""

    times_ns: Sequence[float]
    bytes: Sequence[float]
    end_ns: float

    def overheads(self, resident: Sequence[float]) -> list[float]:
        """At the moments."""
        return [max(0.0, there - needed) for there, needed in zip(resident, self.bytes, strict=True)]

    def mean(self, values: Sequence[float]) -> float:
        """Over time, from moment to moment and to the end."""
        steps = [later - earlier for earlier, later in pairwise([*self.times_ns, self.end_ns])]
        steps = [max(0.0, step) for step in steps]
        if not sum(steps):
            return values[-1]
        return sum(value * step for value, step in zip(values, steps, strict=True)) / sum(steps)


def of_arms(memory: Arm, time: Arm, dry: Runs, needed: Needed | None) -> dict[str, Spread]:
    """One candidate's figures by key, without those not measured.

    dry: runs without heap calls; empty: wall time is not known. needed: None if not known.
    """
    found = {} if time.failure else dict(_of_times(time.runs, dry))
    if needed is not None and needed.times_ns and not memory.failure:
        found |= _overheads(memory.runs, needed)
    return {key: _summary(values) for key, values in found.items() if values}


def _of_times(runs: Runs, dry: Runs) -> Iterator[tuple[str, list[float]]]:
    if dry:
        own_ns = median(run["elapsed_ns"] for run in dry)
        yield "wall_ns", [max(0.0, run["elapsed_ns"] - own_ns) for run in runs]
    for key in ("p50_ns", "p99_ns", "max_ns"):
        yield key, [float(run[key]) for run in runs]


def _overheads(runs: Runs, needed: Needed) -> dict[str, list[float]]:
    means, at_peaks = [], []
    for run in runs:
        resident = run["mark_bytes"]
        overheads = needed.overheads(resident)
        means.append(needed.mean(overheads))
        at_peaks.append(overheads[max(range(len(resident)), key=resident.__getitem__)])
    return {"overhead_bytes": means, "peak_overhead_bytes": at_peaks}


def _summary(values: Sequence[float]) -> Spread:
    return Spread(median(values), min(values), max(values), len(values))


# In the order of the table: times, memory; then use of the kernel.
_ORDER = (
    *("time_ns", "wall_ns", "p50_ns", "p99_ns", "p999_ns", "max_ns", "gaps_time_ns", "gaps_p999_ns"),
    *("peak_bytes", "mean_bytes", "end_bytes", "idle_bytes", "overhead_bytes", "peak_overhead_bytes"),
)
_KNOWN = {figure.key: figure for figure in (*FIGURES, *MEASURES)}


def _cell(key: str) -> Column:
    labels = {"median": "median", "low": "least", "high": "most"}
    return Column(key, WORD, labels[key], text=lambda row, _: units.number(row[key], row["unit"]))


COLUMNS = (
    Column("figure", WORD, "figure"),
    Column("candidate", WORD, "allocator"),
    *map(_cell, ("median", "low", "high")),
)


def rows(document: Document) -> list[Record]:
    """Figure by figure, the candidates side by side, for COLUMNS, without unused kernel figures."""
    found: list[Record] = []
    for figure in (_KNOWN[key] for key in _ORDER):
        found += _rows(document, figure.label, figure.unit, partial(_of, figure.key))
    for label, unit, of in kernel_words.spreads(document):
        found += [row for row in _rows(document, label, unit, of) if row["high"]]
    return found


def _rows(document: Document, label: str, unit: str, of: Callable[[Outcome], Counted | None]) -> list[Record]:
    return [
        {"figure": label, "candidate": candidate.name, "unit": unit, **asdict(counted)}
        for candidate in document.candidates
        if (counted := of(candidate)) is not None
    ]


def _of(key: str, candidate: Outcome) -> Counted | None:
    figure = candidate.figures.get(key)
    if figure is not None:
        return Counted(figure.value, figure.low, figure.high)
    return candidate.measured.get(key)


def detail(document: Document) -> Detail:
    """Figure by figure."""
    runs, reference = document.runs, document.reference
    of_each = units.counted(runs, "run")
    about = (
        f"Median, minimum and maximum in {of_each} of each candidate, {2 * runs} of {reference}, "
        "without unused kernel figures:"
    )
    return Detail(about, COLUMNS, rows(document), ("figure",), lambda row: str(row["figure"]))
