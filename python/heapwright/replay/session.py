# SPDX-License-Identifier: MIT
# length: the runs of one answer, in their required order
"""Makes the plan and runs it on every candidate, alternating between them."""

from __future__ import annotations

import math
import shutil
import tempfile
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heapwright.measure import machine
from heapwright.measure.errors import MeasureError
from heapwright.measure.own_folder import own_folder
from heapwright.measure.program import Output, RunFailedError, run_for_document
from heapwright.measure.runner import Arm, arms_of, take_turns
from heapwright.model import Trace
from heapwright.replay import call_times, clocks, held_memory, plans, time_fidelity
from heapwright.replay.candidates import Candidate, Chosen
from heapwright.replay.changes import Change
from heapwright.replay.decision import LEAST_TIMED_RUNS, Bounds
from heapwright.replay.document import Measured, assemble
from heapwright.replay.result import Document, Effect, Held
from heapwright.report import units

MEMORY, TIME, GAPS, DRY, TIMED, HELD = "recorded", "dependency", "gaps", "dry", "timed", "held"
# The recorded order, with a check that the blocks are usable. The same calls give the same in each run.
CHECKED = "checked"
_TIME_BYTES = 8
# Up to this many operations, each one's time is kept by default.
MOST_TIMED = 20_000_000
_REFUSED = (2, 3)
# Longer recordings are replayed at full speed.
PACED_UP_TO_S = 10.0
# What is running, runs done, total runs.
Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True)
class Settings:
    """Number of runs, their time limit, and the wait after the last call.

    calls: size of the window around the peak of a longer recording; 0: all of it.

    is_paced: whether memory is replayed as slowly as the program ran; None: if that takes only seconds.
    speed: relative to the program.
    has_gaps: whether times are also measured with the program's gaps, at that speed.
    is_timed: whether each operation's time is kept, for sites and functions; None: up to MOST_TIMED of them.
    """

    runs: int = 3
    limit_s: float = 600.0
    idle_ms: int = 1000
    is_paced: bool | None = None
    speed: float = 1.0
    has_gaps: bool = False
    is_timed: bool | None = None
    calls: int = 0


class Session:
    """One call of `heapwright replay`."""

    def __init__(
        self,
        program: Path,
        trace: Trace,
        chosen: Chosen,
        settings: Settings,
        asked: Sequence[Change] = (),
    ) -> None:
        """asked: the changes named by candidates."""
        self._program = program
        self._trace = trace
        self._chosen = chosen
        self._settings = settings
        self._changes = asked
        self._paths: dict[str, Path] = {}  # of plans, by change
        self._effects: list[Effect] = []
        self._dry_changes = [""]  # whose plans have a separate dry run
        self._hung: set[str] = set()
        self._failures: dict[str, str] = {}  # of runs for call sites, by candidate
        is_long = settings.calls and trace.event_count > settings.calls
        self._window_calls = settings.calls if is_long else 0
        # A window leaves time to measure the noise.
        self._runs_of_each = max(settings.runs, LEAST_TIMED_RUNS) if is_long else settings.runs
        # A cut recording has no end, but has readings until then.
        readings_ns = [sample.time_ns for sample in trace.memory_samples[-1:]]
        self._recorded_ns = max([trace.end.time_ns, *readings_ns])
        self._pace = self._pace_of()
        self._check_limit()
        self._untimed = self._why_untimed()
        ends = [clocks.ends_of(candidate) for candidate in chosen.candidates]
        # The recording has the recorded allocator's figures; a single run ranks nothing.
        self._ends = {
            number: found for number, found in enumerate(ends) if found and number and self._runs_of_each > 1
        }

    def _pace_of(self) -> float:
        """The program's own time as a share of the recording's; 0: full speed."""
        metadata = self._trace.metadata
        is_paced = self._settings.is_paced
        if is_paced is None:
            is_paced = self._recorded_ns <= PACED_UP_TO_S * 1e9
        if not is_paced:
            return 0.0
        cost_ns = (
            self._trace.event_count / 2 * (metadata.self_cost_allocation_ns + metadata.self_cost_release_ns)
        )
        threads = min(len(self._trace.threads), machine.describe()["cpus"]) or 1
        return max(0.1, 1 - cost_ns / threads / max(self._recorded_ns, 1)) / self._settings.speed

    def _check_limit(self) -> None:
        """MeasureError if a run as slow as the program would count as hung."""
        settings, recorded_s = self._settings, self._recorded_ns / 1e9
        share = max(self._pace, 1 / settings.speed if settings.has_gaps and not self._window_calls else 0.0)
        if share * recorded_s > settings.limit_s:
            fast_enough = settings.speed * math.ceil(share * recorded_s / settings.limit_s)
            raise MeasureError(
                f"a run at the recording's speed takes {units.duration(share * recorded_s * 1e9)}, --limit "
                f"allows {settings.limit_s:g} s: use --speed {fast_enough:g}"
            )

    def _why_untimed(self) -> str | None:
        """Why no operation's time is kept, empty if not wanted; None: each is kept."""
        if self._settings.is_timed is False:
            return ""
        if self._runs_of_each < 2:
            return "a single run does not measure them; use --runs 2 without --quick"
        events = self._window_calls or self._trace.event_count
        if self._settings.is_timed is None and events > MOST_TIMED:
            return f"not measured by default above {MOST_TIMED:,} calls; use --sites 5"
        needed = self._plan_bytes() + events * _TIME_BYTES * (len(self._chosen.candidates) + 1)
        if needed > shutil.disk_usage(tempfile.gettempdir()).free:
            return f"they take {needed >> 20} MiB in {tempfile.gettempdir()}; set TMPDIR to another folder"
        return None

    def _compares_times(self) -> bool:
        has_times = self._untimed is None or self._settings.has_gaps
        return has_times and self._chosen.is_recorded

    def _plan_bytes(self) -> int:
        calls = self._window_calls or self._trace.event_count
        return plans.bytes_of(calls, 1 + len(self._changes), self._settings.has_gaps)

    @property
    def planned_runs(self) -> int:
        """The plans and every run."""
        orders = (3 if self._untimed is None else 2) + self._settings.has_gaps
        runs = self._runs_of_each * (len(self._dry_changes) + orders * (len(self._chosen.candidates) + 1))
        holds = 0 if self._settings.is_timed is False else len(self._chosen.candidates) + 1
        return 1 + len(self._changes) + runs + holds + len(self._ends) * (2 if self._pace else 1)

    def run(self, progress: Progress) -> Document:
        """The document."""
        done = 0

        def step(what: str) -> None:
            nonlocal done
            progress(what, done, self.planned_runs)
            done += 1

        plans.check_room(self._plan_bytes(), 1 + len(self._changes))
        with own_folder("replay") as folder:
            maker = plans.Maker(
                self._program,
                self._trace,
                self._chosen.candidates[0],
                folder,
                self._window_calls,
                self._settings.has_gaps,
            )
            compares = self._compares_times()
            reading = time_fidelity.begin(self._trace) if compares and not self._window_calls else None
            plan = maker.make(self._changes, step)
            others = machine.OtherWork()
            if compares and self._window_calls:  # the plan has it
                reading = time_fidelity.begin(self._trace, int(plan["begin_ns"]), int(plan["end_ns"]))
            recorded = time_fidelity.recorded(reading.take()) if reading else None  # before any timing
            self._paths, self._effects = maker.paths, maker.effects
            self._dry_changes += maker.longer
            memory = self._runs(MEMORY, step)
            bounds = self._bounds(memory, step)
            time = self._runs(TIME, step)
            gaps = self._runs(GAPS, step) if self._settings.has_gaps else []
            dry = {change: self._dry(change, step) for change in self._dry_changes}
            calls = self._calls(folder, step)
            held = self._held(memory, plan["mark_ns"], step)
        measured = Measured(
            plan,
            self._effects,
            memory,
            bounds,
            time,
            gaps,
            self._settings.speed,
            dry,
            calls,
            held,
            recorded,
            self._runs_of_each,
            self._pace,
            self._untimed,
            self._window_calls,
            self._failures,
            others.share(),
        )
        return assemble(self._trace, self._chosen, measured)

    def _runs(self, order: str, step: Callable[[str], None]) -> list[Arm]:
        arms = arms_of(self._chosen.candidates)

        def run_once(arm: Arm) -> None:
            step(f"{order} order: {arm.allocator.name}")
            is_first = order == MEMORY and not arm.is_control and not arm.runs
            if not arm.failure:
                self._run_once(CHECKED if is_first else order, arm)

        take_turns(arms, self._runs_of_each, run_once, self._hung)
        return arms

    def _bounds(self, memory: Sequence[Arm], step: Callable[[str], None]) -> dict[int, Bounds]:
        """Runs of candidates that return memory by the clock; at full speed they return less."""
        candidates = [arm for arm in memory if not arm.is_control]

        def runs_of(candidate: Candidate) -> list[Output]:
            step(f"{MEMORY} order: {candidate.name}, by the clock")
            arm = Arm(candidate, False)
            self._run_once(MEMORY, arm, idle_ms=0)
            return arm.runs

        return {
            number: Bounds(runs_of(ends.at_once), runs_of(ends.never) if self._pace else ())
            for number, ends in self._ends.items()
            if not candidates[number].failure
        }

    def _calls(self, folder: Path, step: Callable[[str], None]) -> list[call_times.Calls]:
        """By site and by function, for each candidate."""
        if self._untimed is not None:
            return [call_times.Calls()] * len(self._chosen.candidates)
        arms = arms_of(self._chosen.candidates)
        files = {id(arm): folder / f"times-{place}" for place, arm in enumerate(arms)}

        def run_once(arm: Arm) -> None:
            step(f"times by call site: {arm.allocator.name}")
            if not arm.failure:
                self._run_once(TIMED, arm, [str(files[id(arm)])])

        take_turns(arms, self._runs_of_each, run_once, self._hung)
        self._note_failures(arms)
        found = self._trace.sites()
        sites = folder / "sites"
        sites.write_bytes(array("I", found.site_of_stack).tobytes())
        said = {
            place: self._sums(arm, files[id(arm)], sites)
            for place, arm in enumerate(arms)
            if arm.runs and not arm.failure
        }
        return call_times.of_arms(arms, said, found)

    def _held(
        self, memory: Sequence[Arm], marks_ns: Sequence[float], step: Callable[[str], None]
    ) -> list[Held | None]:
        """Which sites hold each candidate's memory."""
        mark = None if self._settings.is_timed is False else held_memory.peak_mark(memory)
        arms = arms_of(self._chosen.candidates)
        if mark is None:
            return [None] * len(self._chosen.candidates)
        said = {}
        for place, (arm, before) in enumerate(zip(arms, memory, strict=True)):
            step(f"memory by call site: {arm.allocator.name}")
            if before.failure:
                continue
            words = [str(self._plan_of(arm)), HELD, str(mark), str(round(1000 * self._pace))]
            held = self._output(arm, [str(self._program), "run", *words])
            if held:
                said[place] = held
        self._note_failures(arms)
        return held_memory.of_arms(arms, said, marks_ns[mark], self._trace.sites())

    def _note_failures(self, arms: Sequence[Arm]) -> None:
        for arm in arms:
            if arm.failure and not arm.is_control:
                self._failures.setdefault(arm.allocator.name, arm.failure)

    def _sums(self, arm: Arm, times: Path, sites: Path) -> Output:
        """Sums of the operations' times from heapwright-replay; sites: of the call stacks."""
        command = [str(self._program), "times", str(self._plan_of(arm)), str(times), str(sites)]
        environment = self._chosen.candidates[0].environment() | {"LD_PRELOAD": ""}
        try:
            return run_for_document(command, environment, self._settings.limit_s)
        except RunFailedError as failure:
            raise MeasureError(failure.line or str(failure)) from None

    def _plan_of(self, arm: Arm) -> Path:
        assert isinstance(arm.allocator, Candidate)
        return self._paths[arm.allocator.change]

    def _dry(self, change: str, step: Callable[[str], None]) -> list[Output]:
        arm = Arm(replace(self._chosen.candidates[0], change=change), True)
        for _ in range(self._runs_of_each):
            step("dry")
            if not arm.failure:
                self._run_once(DRY, arm)
        return arm.runs

    def _run_once(self, order: str, arm: Arm, words: Sequence[str] = (), idle_ms: int | None = None) -> None:
        path = self._plan_of(arm)
        idle_ms = self._settings.idle_ms if idle_ms is None else idle_ms
        waits = {
            MEMORY: [str(idle_ms), str(round(1000 * self._pace))],
            CHECKED: [str(idle_ms), str(round(1000 * self._pace))],
            GAPS: [str(round(1000 * self._settings.speed))],
        }.get(order, [])
        command = [str(self._program), "run", str(path), order, *waits, *words]
        said = self._output(arm, command)
        if said:
            arm.runs.append(said)

    def _output(self, arm: Arm, command: Sequence[str]) -> Output:
        """A run's output; empty after a failure, which is recorded for the arm."""
        try:
            return run_for_document(command, arm.allocator.environment(), self._settings.limit_s)
        except RunFailedError as failure:
            if failure.code in _REFUSED:
                raise MeasureError(failure.line) from None
            if failure.has_hung:
                self._hung.add(arm.allocator.name)
            arm.failure = str(failure)
            return {}
