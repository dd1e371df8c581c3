# SPDX-License-Identifier: MIT
"""What does each phase cost that the program named (heapwright/annotate.h)?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import RenderableType

from heapwright.explain import tables, words
from heapwright.explain.report import Answer, Finding, Report
from heapwright.model.trace import KIND_NAMES, Trace

NAME = "phases"
TITLE = "Phases that the program named"
_BEGIN, _END, _TEXT = "phase_begin", "phase_end", "annotation_text"
_ALLOCATIONS = tuple(name for name in KIND_NAMES[1:32] if name != "?")

_MARKS = """
select thread, begin_ns, kind, size, usable from event
where kind in ('phase_begin', 'phase_end', 'pool_create', 'region_named', 'annotation_text')
order by thread, sequence
"""
_COSTS = f"""
select phase.number, count(*), sum(event.size), sum(event.duration_ns) from event join phase
on event.thread = phase.thread and event.begin_ns >= phase.begin_ns and event.begin_ns < phase.end_ns
where event.address <> 0 and event.kind in {_ALLOCATIONS!r}
group by phase.number
"""


@dataclass(slots=True)
class Phase:
    """One run of a phase. `end_ns` is the end of the recording when the phase was left open."""

    thread: int
    begin_ns: int
    end_ns: int
    spelling: bytes = b""
    allocations: int = 0
    requested_bytes: int = 0
    allocator_ns: int = 0

    @property
    def name(self) -> str:
        return self.spelling.split(b"\0")[0].decode("utf-8", "replace")


def answer(report: Report) -> Answer:
    """Costs by name, allocations of the phase's own thread alone. Phases within others count in both."""
    began = any(KIND_NAMES[row.kind] == _BEGIN for row in report.facts.by_kind)
    runs = _runs(report.trace) if began else []
    names = dict.fromkeys(run.name for run in runs)
    found = [_sums(name, [run for run in runs if run.name == name]) for name in names]
    found.sort(key=lambda phase: -phase["requested_bytes"])
    return {"phases": found[: report.top]}


def _sums(name: str, runs: list[Phase]) -> Answer:
    return {
        "name": name,
        "times": len(runs),
        "duration_ns": sum(run.end_ns - run.begin_ns for run in runs),
        "allocations": sum(run.allocations for run in runs),
        "requested_bytes": sum(run.requested_bytes for run in runs),
        "allocator_ns": sum(run.allocator_ns for run in runs),
    }


def _runs(trace: Trace) -> list[Phase]:
    import duckdb  # only for programs that name phases

    connection = duckdb.connect()
    connection.execute("set enable_progress_bar = false")
    connection.register("event", trace.table("event"))
    phases = phases_of(connection.execute(_MARKS).fetchall(), trace.end.time_ns)
    rows = [(number, run.thread, run.begin_ns, run.end_ns) for number, run in enumerate(phases)]
    connection.execute("create table phase (number bigint, thread ubigint, begin_ns ubigint, end_ns ubigint)")
    if rows:
        connection.executemany("insert into phase values (?, ?, ?, ?)", rows)
    connection.register("event", trace.table("event"))  # a stream is read once
    for number, allocations, requested_bytes, allocator_ns in connection.execute(_COSTS).fetchall():
        phase = phases[number]
        phase.allocations, phase.requested_bytes = allocations, int(requested_bytes)
        phase.allocator_ns = int(allocator_ns)
    return phases


def phases_of(marks: Iterable[tuple[int, int, str, int, int]], end_ns: int) -> list[Phase]:
    """Phases from (thread, begin_ns, kind, size, usable), in order within each thread.

    A name follows its phase_begin in pieces of 16 bytes. An end belongs to the innermost open phase.
    """
    phases: list[Phase] = []
    open_phases: dict[int, list[Phase]] = {}
    named: Phase | None = None
    for thread, begin_ns, kind, size, usable in marks:
        if kind == _TEXT:
            if named is not None:
                named.spelling += size.to_bytes(8, "little") + usable.to_bytes(8, "little")
            continue
        named = None
        if kind == _BEGIN:
            named = Phase(thread, begin_ns, max(end_ns, begin_ns))
            phases.append(named)
            open_phases.setdefault(thread, []).append(named)
        elif kind == _END and open_phases.get(thread):
            open_phases[thread].pop().end_ns = begin_ns
    return phases


def show(answer: Answer) -> RenderableType | None:
    """Most requested bytes first."""
    if not answer["phases"]:
        return None
    rows = [
        (
            words.size(phase["requested_bytes"]),
            words.count(phase["allocations"]),
            words.duration(phase["allocator_ns"]),
            words.count(phase["times"]),
            words.duration(phase["duration_ns"]),
            phase["name"] or "(no name)",
        )
        for phase in answer["phases"]
    ]
    headers = ("requested", "allocations", "in the allocator", "times", "lasted", "phase")
    return tables.plain(headers, rows, text_columns=(5,))


def findings(answer: Answer) -> list[Finding]:
    """None: what a phase should cost, only the program's author knows."""
    return []
