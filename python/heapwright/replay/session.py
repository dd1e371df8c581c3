# SPDX-License-Identifier: MIT
"""Makes the plan and runs it on every candidate, in turns.

The document is heapwright.replay/1:
  trace, program, recorded_on, machine, notes (what a reader has to know before the figures),
  plan: operations, threads, peak_live_bytes, before_recording, failed, unseen_releases, damaged_chunks,
    large_blocks, seen_blocks: of at least 16 KiB, and those whose pages a scan saw,
  pace: memory was replayed at this share of the recorded time; 0: as fast as it goes,
  fidelity: recorded, replayed, errors (each peak_bytes, mean_bytes, end_bytes), beside_heap_bytes,
    relative_peak; null where the recording does not tell,
  dry_cpu_ns: what the replay itself takes, left out of `time_ns`,
  reference: the candidate that the others are compared with, is_recorded: it is what the recording ran on,
  candidates: name, version, path, variables, command, failure, runs (raw figures: memory, time, control…),
    figures: by key: value (a prediction for the process where memory is known, otherwise the replay's),
      spread, low, high, noise, difference and relative_difference to the reference,
      verdict (better, worse, same, unknown),
  front: the candidates that no other one beats in time, peak, mean and tail together
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from heapwright.measure import machine
from heapwright.measure.errors import MeasureError
from heapwright.measure.program import RunFailedError, run_program
from heapwright.measure.runner import Arm, arms_of, take_turns
from heapwright.model import Trace
from heapwright.replay import decision, fidelity
from heapwright.replay.candidates import Candidate, Chosen

SCHEMA = "heapwright.replay/1"
MEMORY, TIME, DRY = "recorded", "dependency", "dry"
# A plan's operations and turns, at most.
_BYTES_PER_EVENT = 24
_REFUSED = (2, 3)
_PLAN_LIMIT_S = 24 * 3600.0
# Longer recordings are replayed as fast as it goes.
PACED_UP_TO_S = 10.0
Document = dict[str, Any]
# What is going on, runs done, runs in all.
Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True)
class Settings:
    """How often, how long a run may take, and how long to wait behind the last call.

    is_paced: whether memory is replayed as slowly as the program ran; None: when that takes seconds.
    """

    runs: int = 3
    limit_s: float = 600.0
    idle_ms: int = 1000
    is_paced: bool | None = None


def why_not(trace: Trace) -> list[str]:
    """What makes a replay of this recording untrue, each with its consequence."""
    reasons = []
    metadata, end = trace.metadata, trace.end
    if metadata.sample_mean_bytes:
        reasons.append(
            f"it is a sample (one block per {metadata.sample_mean_bytes} bytes): most calls are not in it; "
            "record without --sample"
        )
    if end.reason == "missing" or trace.damage:
        reasons.append("it is cut or damaged: calls are missing; record it again")
    if end.dropped:
        reasons.append(f"{end.dropped} calls were not written; record it again")
    if metadata.unseen:
        reasons.append(f"calls of {', '.join(metadata.unseen)} are not in it")
    if metadata.is_fork_child:
        reasons.append("it is a fork's: the blocks from before the fork are not in it")
    if not trace.coverage.is_whole_run:
        reasons.append("it is a part of a run: what lived before is not in it; record from the start")
    return reasons


class Session:
    """One call of `heapwright replay`."""

    def __init__(self, program: Path, trace: Trace, chosen: Chosen, settings: Settings) -> None:
        self._program = program
        self._trace = trace
        self._chosen = chosen
        self._settings = settings
        self._hung: set[str] = set()
        self._pace = self._pace_of()

    def _pace_of(self) -> float:
        """The program's own time as a share of the recording's; 0: as fast as it goes."""
        metadata, end = self._trace.metadata, self._trace.end
        is_paced = self._settings.is_paced
        if is_paced is None:
            is_paced = end.time_ns <= PACED_UP_TO_S * 1e9
        if not is_paced:
            return 0.0
        cost_ns = (
            self._trace.event_count / 2 * (metadata.self_cost_allocation_ns + metadata.self_cost_release_ns)
        )
        threads = min(len(self._trace.threads), machine.describe()["cpus"]) or 1
        return max(0.1, 1 - cost_ns / threads / max(end.time_ns, 1))

    @property
    def planned_runs(self) -> int:
        """The plan and every run."""
        return 1 + self._settings.runs * (1 + 2 * (len(self._chosen.candidates) + 1))

    def run(self, progress: Progress) -> Document:
        """The document."""
        done = 0

        def step(what: str) -> None:
            nonlocal done
            progress(what, done, self.planned_runs)
            done += 1

        _check_room(self._trace)
        with tempfile.TemporaryDirectory(prefix="heapwright-replay-") as folder:
            path = Path(folder) / "plan"
            step("making the plan")
            plan = self._plan(path)
            memory = self._runs(path, MEMORY, step)
            time = self._runs(path, TIME, step)
            dry = self._dry(path, step)
        return self._document(plan, memory, time, dry)

    def _plan(self, path: Path) -> Document:
        command = [str(self._program), "plan", str(self._trace.path), str(path)]
        try:
            plan: Document = json.loads(
                run_program(
                    command, self._chosen.candidates[0].environment() | {"LD_PRELOAD": ""}, _PLAN_LIMIT_S
                )
            )
        except RunFailedError as failure:
            raise MeasureError(failure.line or str(failure)) from None
        if not plan["operations"]:
            raise MeasureError(f"{self._trace.path} has no heap call that can be replayed")
        return plan

    def _runs(self, path: Path, order: str, step: Callable[[str], None]) -> list[Arm]:
        arms = arms_of(self._chosen.candidates)

        def run_once(arm: Arm) -> None:
            step(f"{order} order: {arm.allocator.name}")
            if not arm.failure:
                self._run_once(path, order, arm)

        take_turns(arms, self._settings.runs, run_once, self._hung)
        return arms

    def _dry(self, path: Path, step: Callable[[str], None]) -> list[Document]:
        arm = Arm(self._chosen.candidates[0], True)
        for _ in range(self._settings.runs):
            step("dry")
            if not arm.failure:
                self._run_once(path, DRY, arm)
        return arm.runs

    def _run_once(self, path: Path, order: str, arm: Arm) -> None:
        waits = [str(self._settings.idle_ms), str(round(1000 * self._pace))] if order == MEMORY else []
        command = [str(self._program), "run", str(path), order, *waits]
        try:
            output = run_program(command, arm.allocator.environment(), self._settings.limit_s)
            arm.runs.append(json.loads(output))
        except RunFailedError as failure:
            if failure.code in _REFUSED:
                raise MeasureError(failure.line) from None
            if failure.has_hung:
                self._hung.add(arm.allocator.name)
            arm.failure = str(failure)

    def _document(
        self, plan: Document, memory: Sequence[Arm], time: Sequence[Arm], dry: Sequence[Document]
    ) -> Document:
        truth = self._fidelity(plan, memory[0])
        table = decision.Table(memory, time, decision.dry_cpu_ns(dry), truth)
        metadata = self._trace.metadata
        measured = list(zip(_measured(memory), _measured(time), strict=True))
        figures = [table.figures_of(number) for number in range(len(measured))]
        names = [arm.allocator.name for arm, _ in measured]
        return {
            "schema": SCHEMA,
            "trace": str(self._trace.path),
            "program": metadata.program,
            "recorded_on": metadata.allocator,
            "machine": machine.describe(),
            "notes": self._notes(plan, truth),
            "plan": {
                "threads": len(self._trace.threads),
                **{key: int(value) for key, value in plan.items() if not isinstance(value, list)},
            },
            "pace": self._pace,
            "fidelity": _as_record(truth),
            "dry_cpu_ns": table.dry_ns,
            "reference": self._chosen.candidates[0].name,
            "is_recorded": self._chosen.is_recorded,
            "runs": self._settings.runs,
            "candidates": [
                {
                    **_candidate(arm.allocator, metadata.program),
                    "failure": arm.failure or other.failure,
                    "runs": {"memory": _figures(arm.runs), "time": _figures(other.runs)},
                    "figures": figures[number],
                }
                for number, (arm, other) in enumerate(measured)
            ],
            "front": decision.pareto_front(dict(zip(names, figures, strict=True))),
        }

    def _fidelity(self, plan: Document, arm: Arm) -> fidelity.Fidelity | None:
        if not self._chosen.is_recorded or not arm.runs:
            return None
        replayed = [
            float(sum(values)) / len(values)
            for values in zip(*(r["mark_bytes"] for r in arm.runs), strict=True)
        ]
        return fidelity.compare(plan["mark_ns"], plan["recorded_bytes"], replayed)

    def _notes(self, plan: Document, truth: fidelity.Fidelity | None) -> list[str]:
        notes = list(self._chosen.notes)
        if plan["before_recording"]:
            notes.append(
                f"{int(plan['before_recording'])} calls about blocks from before the recording are left out"
            )
        if plan["unseen_releases"]:
            notes.append(
                f"{int(plan['unseen_releases'])} releases were not seen and are put where they must have been"
            )
        if plan["damaged_chunks"]:
            notes.append(f"{int(plan['damaged_chunks'])} damaged chunks are left out")
        if truth is None:
            notes.append("nothing says how true the replay's memory is: no reading of it in the recording")
        if not self._pace:
            notes.append(
                "replayed at full speed: allocators that give memory back by the clock keep more (--pace)"
            )
        cpus = self._trace.metadata.condition_values.get("cpus", "")
        here = str(machine.describe()["cpus"])
        if cpus and cpus != here:
            notes.append(
                f"recorded with {cpus} processors, replayed with {here}: allocators adapt to their number"
            )
        return notes


def _measured(arms: Sequence[Arm]) -> list[Arm]:
    return [arm for arm in arms if not arm.is_control]


def _candidate(allocator: object, program: str) -> Document:
    assert isinstance(allocator, Candidate)
    return {
        **asdict(allocator),
        "variables": dict(allocator.variables),
        "command": allocator.command(program),
    }


def _figures(runs: Sequence[Mapping[str, Any]]) -> list[Document]:
    return [{key: value for key, value in run.items() if not isinstance(value, list)} for run in runs]


def _as_record(truth: fidelity.Fidelity | None) -> Document | None:
    if truth is None:
        return None
    return {
        "recorded": truth.recorded._asdict(),
        "replayed": truth.replayed._asdict(),
        "errors": truth.errors._asdict(),
        "beside_heap_bytes": truth.beside_heap_bytes,
        "relative_peak": truth.relative_peak,
    }


def _check_room(trace: Trace) -> None:
    needed = trace.event_count * _BYTES_PER_EVENT
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if needed > free:
        raise MeasureError(
            f"the plan takes up to {needed >> 20} MiB and {tempfile.gettempdir()} has {free >> 20} MiB free; "
            "name a folder with more room by TMPDIR"
        )
