# SPDX-License-Identifier: MIT
"""Builds the document from the results of the runs. result.py declares it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from heapwright.measure import machine
from heapwright.measure.program import Output
from heapwright.measure.runner import Arm
from heapwright.model import Trace, waiting
from heapwright.model.records import Metadata
from heapwright.replay import (
    changes,
    decision,
    fidelity,
    kernel,
    other_machine,
    own_load,
    spread,
    time_fidelity,
)
from heapwright.replay.call_times import Calls
from heapwright.replay.candidates import Candidate, Chosen, is_c_library
from heapwright.replay.result import (
    Document,
    Effect,
    Fidelity,
    Gaps,
    Held,
    Moments,
    Outcome,
    Plan,
    RawFigures,
    Runs,
    Spread,
    TimeFidelity,
    Times,
)
from heapwright.report import units
from heapwright.report.columns import Record
from heapwright.report.declared import names_of


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of the runs.

    plan: heapwright-replay's output for it; gaps: runs with the program's gaps at this speed; changes:
    their effects; dry, bounds: as in decision.Table; calls: each candidate's call figures; held: the sites
    that hold its memory; recorded: the recorded call times, None if the replayed ones are not comparable;
    pace: the share of the recorded time, 0: full speed; untimed: why no call was timed, None or empty: no
    note; window_calls: about this many, of a window in the recording; 0: all; failures: of the runs for call
    sites, by candidate; other_share: share of CPU time used by other work.
    """

    plan: Output
    changes: Sequence[Effect]
    memory: Sequence[Arm]
    bounds: Mapping[int, decision.Bounds]
    time: Sequence[Arm]
    gaps: Sequence[Arm]
    speed: float
    dry: Mapping[str, Sequence[Output]]
    calls: Sequence[Calls]
    held: Sequence[Held | None]
    recorded: time_fidelity.Recorded | None
    runs: int
    pace: float
    untimed: str | None
    window_calls: int
    failures: Mapping[str, str]
    other_share: float


def assemble(trace: Trace, chosen: Chosen, measured: Measured) -> Document:
    """The whole document."""
    truth = _fidelity(chosen, measured)
    dry = {change: decision.dry_of(runs) for change, runs in measured.dry.items()}
    time_truth = _time_fidelity(measured)
    gaps = _gaps(measured)
    table = decision.Table(
        measured.memory,
        measured.time,
        dry,
        truth,
        measured.bounds,
        time_truth,
        measured.gaps,
        gaps.error_ns if gaps else None,
        {
            number: decision.CallsDifference(said.difference_ns, said.noise_ns)
            for number, own in enumerate(measured.calls)
            if (said := own.call_sites)
        },
    )
    candidates = _candidates(trace, measured, table, truth)
    plan = measured.plan
    return Document(
        trace=str(trace.path),
        program=trace.metadata.program,
        recording_start_unix_ns=trace.metadata.start_unix_ns,
        recorded_on=trace.metadata.allocator,
        machine=machine.describe(),
        notes=[*_notes(trace, chosen, measured, truth), *_time_notes(chosen, measured, time_truth)],
        plan=_plan(plan, len(trace.threads)),
        changes=list(measured.changes),
        pace=measured.pace,
        fidelity=truth,
        time_fidelity=time_truth,
        gaps=gaps,
        dry_cpu_ns=table.dry.cpu_ns,
        dry_range_ns=table.dry.range_ns,
        reference=chosen.candidates[0].name,
        is_recorded=chosen.is_recorded,
        runs=measured.runs,
        moments=Moments(plan["mark_ns"], plan["recorded_bytes"] if truth else None, plan["needed_bytes"]),
        candidates=candidates,
        front=decision.pareto_front({one.name: one.figures for one in candidates}),
    )


def _plan(said: Output, threads: int) -> Plan:
    known: Record = {key: int(said[key]) if key in said else None for key in names_of(Plan)[1:]}
    return Plan(threads, **known)


def _candidates(
    trace: Trace, measured: Measured, table: decision.Table, truth: Fidelity | None
) -> list[Outcome]:
    not_run = [Arm(arm.allocator, arm.is_control) for arm in measured.time]
    orders = (measured.memory, measured.time, measured.gaps or not_run)
    all_runs = zip(*map(_without_control, orders), strict=True)
    return [
        Outcome(
            *_candidate(arm.allocator, trace.metadata),
            failure,
            runs=Runs(_figures(arm.runs), _figures(other.runs), _figures(gaps.runs)),
            # A run that did not finish gives no figures.
            figures={} if failure and number else table.figures_of(number),
            resident_bytes=_over_time(arm, truth),
            memory_sites=measured.held[number],
            kernel=kernel.of_arms(*_both(measured, number)),
            measured=_spread(measured, number),
            **measured.calls[number]._asdict(),
        )
        for number, (arm, other, gaps) in enumerate(all_runs)
        for failure in [_failure_of(measured, arm, other, gaps)]
    ]


def _failure_of(measured: Measured, *arms: Arm) -> str:
    first = next((arm.failure for arm in arms if arm.failure), "")
    return first or measured.failures.get(arms[0].allocator.name, "")


def _both(measured: Measured, number: int) -> tuple[Arm, Arm]:
    """The candidate's runs in both orders; the reference's include its control's."""
    return _with_control(measured.memory, number), _with_control(measured.time, number)


def _with_control(arms: Sequence[Arm], number: int) -> Arm:
    arm = _without_control(arms)[number]
    again = [run for other in arms if other.is_control and not number for run in other.runs]
    return replace(arm, runs=[*arm.runs, *again])


def _spread(measured: Measured, number: int) -> dict[str, Spread]:
    """A window's wall time includes that of earlier blocks; with a change blocks need other memory."""
    memory, time = _both(measured, number)
    change = getattr(memory.allocator, "change", "")
    dry = measured.dry.get(change, measured.dry[""])
    plan = measured.plan
    needed = spread.Needed(plan["mark_ns"], plan["needed_bytes"], plan["end_ns"])
    return spread.of_arms(memory, time, () if measured.window_calls else dry, None if change else needed)


def _fidelity(chosen: Chosen, measured: Measured) -> Fidelity | None:
    arm = measured.memory[0]
    if not chosen.is_recorded or not arm.runs:
        return None
    return fidelity.compare(measured.plan["mark_ns"], measured.plan["recorded_bytes"], _mean_of_runs(arm))


def _time_fidelity(measured: Measured) -> TimeFidelity | None:
    rows = measured.calls[0].whole_functions
    recorded = _recorded(measured)
    if recorded is None or not rows:
        return None
    replayed = {one.function: Times(one.calls, one.sum_ns, one.p50_ns, one.p99_ns) for one in rows}
    return time_fidelity.compare(recorded.functions, replayed, recorded.off_ns)


def _recorded(measured: Measured) -> time_fidelity.Recorded | None:
    """Recorded times without the clock's cost, like the replayed ones."""
    clocks = [float(run["clock_ns"]) for arm in (*measured.time, *measured.gaps) for run in arm.runs]
    return measured.recorded and measured.recorded.without_clock(median(clocks) if clocks else 0.0)


def _gaps(measured: Measured) -> Gaps | None:
    recorded = _recorded(measured) or time_fidelity.Recorded({}, 0, 0)
    program_ns = float(measured.plan.get("program_ns", 0))
    return own_load.describe(
        measured.gaps, measured.speed, program_ns, recorded.functions, recorded.preempted_ns
    )


def _notes(trace: Trace, chosen: Chosen, measured: Measured, truth: Fidelity | None) -> list[str]:
    """Notes that a reader needs before the figures."""
    notes, plan = list(chosen.notes), measured.plan
    if measured.window_calls:
        notes.append(_about_window(trace, measured))
    if plan["before_recording"]:
        notes.append(
            f"{int(plan['before_recording'])} calls for blocks from before the recording are left out"
        )
    if plan["unseen_releases"]:
        notes.append(f"{int(plan['unseen_releases'])} missed releases are inserted where they must have been")
    if plan["damaged_chunks"]:
        notes.append(f"{int(plan['damaged_chunks'])} damaged chunks are left out")
    notes.extend(changes.notes(measured.changes))
    if truth is None:
        notes.append("the accuracy of the replay's memory is not known: the recording has no memory readings")
    waited = waiting.note(trace.threads, trace.end.time_ns)
    if waited:
        notes.append(waited)
    if not measured.pace:
        notes.append(
            "memory is replayed at full speed: allocators that return it by the clock keep more (--pace)"
        )
    notes.extend(other_machine.notes(trace.metadata.condition_values, other_machine.here()))
    return notes


# Less than this share of other work is normal on any machine.
_BUSY = 0.1


def _time_notes(chosen: Chosen, measured: Measured, time_truth: TimeFidelity | None) -> list[str]:
    """How reliable the times are."""
    notes = [f"times by call site: {measured.untimed}"] if measured.untimed else []
    if time_truth is None and measured.runs >= decision.LEAST_TIMED_RUNS:
        why = "no call was timed (--sites 5 does)" if chosen.is_recorded else "another allocator was recorded"
        if measured.recorded is None and chosen.is_recorded and measured.untimed is None:
            why = "the recording has no times of all calls"
        notes.append(f"the accuracy of times is not known, so none is ranked (?): {why}")
    if measured.other_share >= _BUSY:
        notes.append(
            f"other work took {units.percent(measured.other_share)} of this machine's CPU time meanwhile: "
            "times vary more between replays than their noise here shows"
        )
    return notes


def _about_window(trace: Trace, measured: Measured) -> str:
    plan = measured.plan
    begin, end = units.duration(plan["begin_ns"]), units.duration(plan["end_ns"])
    made = (
        f"; {units.counted(int(plan['earlier_blocks']), 'block')} ({units.size(plan['earlier_bytes'])}) live "
        "at its begin are allocated first, without the gaps that were between them"
        if plan["earlier_blocks"]
        else ""
    )
    return (
        f"a window of {units.count(measured.window_calls)} of {units.count(trace.event_count)} calls, "
        f"{begin} to {end} of the recording: all figures are for it{made}"
    )


def _mean_of_runs(arm: Arm) -> list[float]:
    """Resident memory at the moments."""
    return [sum(values) / len(values) for values in zip(*(r["mark_bytes"] for r in arm.runs), strict=True)]


def _over_time(arm: Arm, truth: Fidelity | None) -> list[float]:
    """The same plus the process's memory outside its heap, if known; empty after a failure."""
    if arm.failure or not arm.runs:
        return []
    beside = truth.beside_heap_bytes if truth else 0
    return [max(0.0, value + beside) for value in _mean_of_runs(arm)]


def _without_control(arms: Sequence[Arm]) -> list[Arm]:
    return [arm for arm in arms if not arm.is_control]


def _candidate(allocator: object, metadata: Metadata) -> tuple[str, str, str, dict[str, str], str, str]:
    """The first fields of Outcome."""
    assert isinstance(allocator, Candidate)
    brings_own = bool(metadata.allocator) and not is_c_library(metadata.allocator)
    command = allocator.command(metadata.started_as, brings_own)
    own = allocator
    return own.name, own.version, own.path, dict(own.variables), own.change, command


def _figures(runs: Sequence[Output]) -> list[RawFigures]:
    return [{key: value for key, value in run.items() if not isinstance(value, list)} for run in runs]
