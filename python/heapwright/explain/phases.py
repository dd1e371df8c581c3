# SPDX-License-Identifier: MIT
"""What does each phase named by the program (heapwright/annotate.h) cost?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from heapwright.explain.annotations import Annotations, Mark, has_any, named
from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Report
from heapwright.model import Facts, Filter
from heapwright.model.trace import KIND_NAMES, Trace
from heapwright.report import units
from heapwright.report.columns import Column, Table

ALLOCATIONS = tuple(name for name in KIND_NAMES[1:32] if name != "?")

_COSTS = f"""
select phase.number, count(*), sum(event.size), coalesce(sum(event.duration_ns), 0) from event join phase
on event.thread = phase.thread and event.begin_ns >= phase.begin_ns and event.begin_ns < phase.end_ns
where event.address <> 0 and event.kind in {ALLOCATIONS!r}
"""
_BY_STACK = f"""
select event.stack, count(*), sum(event.size) from event join phase
on event.thread = phase.thread and event.begin_ns >= phase.begin_ns and event.begin_ns < phase.end_ns
where event.address <> 0 and event.kind in {ALLOCATIONS!r}
"""
COUNTED = "{}.stack in (select stack from counted)"
# whole_end_ns: the end of the run that contains the span.
_SPAN = {
    "number": "bigint",
    "thread": "ubigint",
    "begin_ns": "ubigint",
    "end_ns": "ubigint",
    "whole_end_ns": "ubigint",
}

_MOST_RUNS = 400  # listed one by one


class Span(NamedTuple):
    """A part of a thread's time."""

    thread: int
    begin_ns: int
    end_ns: int


class Phase:
    """One run of a phase. `end_ns` is the end of the recording when the phase was left open."""

    def __init__(self, name: str, thread: int, begin_ns: int, end_ns: int) -> None:
        self.name = name
        self.thread = thread
        self.begin_ns = begin_ns
        self.end_ns = end_ns
        self.allocations = 0
        self.requested_bytes = 0
        self.allocator_ns = 0

    def spans(self) -> Sequence[Span]:
        """What a run counts."""
        return (Span(self.thread, self.begin_ns, self.end_ns),)


class _Sums:
    """All runs of the phases with one name."""

    def __init__(self, name: str, runs: list[Phase]) -> None:
        self.name = name
        self.times = len(runs)
        self.duration_ns = sum(run.end_ns - run.begin_ns for run in runs)
        self.allocations = sum(run.allocations for run in runs)
        self.requested_bytes = sum(run.requested_bytes for run in runs)
        self.allocator_ns = sum(run.allocator_ns for run in runs)


class _Phases:
    """Costs by name, counting only the phase's own thread. Nested phases count in both."""

    def __init__(self, report: Report) -> None:
        runs = runs_of(report.trace) if has_phases(report.facts) else []
        by_name: dict[str, list[Phase]] = {}
        for run in runs:
            by_name.setdefault(run.name, []).append(run)
        found = [_Sums(name, own) for name, own in by_name.items()]
        self.sums = sorted(found, key=lambda phase: -phase.requested_bytes)[: report.top]
        longest = sorted(runs, key=lambda run: run.begin_ns - run.end_ns)[:_MOST_RUNS]
        self.runs = sorted(longest, key=attrgetter("begin_ns"))


def has_phases(facts: Facts) -> bool:
    """Whether the program named any; cheap."""
    return has_any(facts, "phase_begin")


def runs_of(trace: Trace, chosen: Filter | None = None) -> list[Phase]:
    """Each run of each phase with its cost, in order within each thread. Reads the trace twice.

    chosen: by sites and libraries.
    """
    phases = phases_of(Annotations(trace).marks(), trace.end.time_ns)
    add_costs(trace, phases, chosen)
    return phases


def add_costs(trace: Trace, runs: Sequence[Phase], chosen: Filter | None = None) -> None:
    """What each run cost. Reads the trace once."""
    annotations, is_chosen = annotations_with(trace, runs, chosen)
    query = f"{_COSTS} {_and_counted(is_chosen)} group by phase.number"
    for number, allocations, requested_bytes, allocator_ns in annotations.ask(query):
        run = runs[number]
        run.allocations, run.requested_bytes = allocations, int(requested_bytes)
        run.allocator_ns = int(allocator_ns)


def costs_by_stack(
    trace: Trace, runs: Sequence[Phase], chosen: Filter | None = None
) -> list[tuple[int, int, int]]:
    """Allocations of these runs: the stack, their number, their bytes. Reads the trace once."""
    annotations, is_chosen = annotations_with(trace, runs, chosen)
    found = annotations.ask(f"{_BY_STACK} {_and_counted(is_chosen)} group by event.stack")
    return [(stack, allocations, int(size)) for stack, allocations, size in found]


def _and_counted(is_chosen: bool) -> str:
    return f"and {COUNTED.format('event')}" if is_chosen else ""


def annotations_with(trace: Trace, runs: Sequence[Phase], chosen: Filter | None) -> tuple[Annotations, bool]:
    """SQL with the tables phase (each span of the runs, by the run's number) and counted (the chosen
    stacks). Also whether some stacks are not chosen."""
    annotations = Annotations(trace)
    rows = [(number, *span, run.end_ns) for number, run in enumerate(runs) for span in run.spans()]
    annotations.add_table("phase", _SPAN, rows)
    passes = trace.stacks_chosen(chosen) if chosen is not None else b""
    annotations.add_column("counted", "stack", [stack for stack, counts in enumerate(passes) if counts])
    return annotations, bool(passes)


def phases_of(marks: Iterable[Mark], end_ns: int) -> list[Phase]:
    """Phases from marks in order within each thread. An end closes the innermost open phase of its name."""
    phases: list[Phase] = []
    open_phases: dict[int, list[Phase]] = {}
    for mark in marks:
        around = open_phases.setdefault(mark.thread, [])
        if mark.kind == "phase_begin":
            around.append(Phase(mark.name, mark.thread, mark.begin_ns, max(end_ns, mark.begin_ns)))
            phases.append(around[-1])
        elif mark.kind == "phase_end":
            ended = next((phase for phase in reversed(around) if phase.name == mark.name), None)
            if ended is not None:
                ended.end_ns = mark.begin_ns
                around.remove(ended)
    return phases


def _gist(answer: Answer) -> str:
    for row in answer["phases"][:1]:
        return f"{row['name']} requests most, {units.size(row['requested_bytes'])}"
    return ""


# Only the program's author knows what a phase should cost: there are no findings.
QUESTION = Question(
    "phases",
    "Phases that the program named",
    tables=(
        Table(
            "phases",
            (
                Column("requested_bytes", "bytes", "requested"),
                Column("allocations", "count", "allocations"),
                Column("allocator_ns", "ns", "in the allocator"),
                Column("times", "count", "times"),
                Column("duration_ns", "ns", "lasted"),
                named("phase"),
            ),
            attrgetter("sums"),
        ),
        Table(
            "runs",
            (
                Column("name", "text"),
                Column("thread"),
                Column("begin_ns", "ns"),
                Column("end_ns", "ns"),
                Column("allocations"),
                Column("requested_bytes", "bytes"),
                Column("allocator_ns", "ns"),
            ),
            attrgetter("runs"),
            about=f"Each run of a phase, in order of begin; the longest {_MOST_RUNS}.",
        ),
    ),
    prepare=_Phases,
    unsampled="a phase's allocations are counted call by call",
    gist=_gist,
)
