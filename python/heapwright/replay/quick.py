# SPDX-License-Identifier: MIT
# length: the runs of one answer, in their required order, within their time
"""What a replay can tell of a few settings and changes within seconds.

Memory is from one run of each candidate in recorded order, two at a time: the same calls give the same. Times
are from runs in turns, one at a time, until each is clear; of a long recording they are of a window around
its peak. The first candidates come first: what does not end in time has no figures. Nothing else is run: no
bounds of allocators that return memory by the clock, so their memory is not judged, and no times by call
site.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from heapwright.measure import statistics
from heapwright.measure.own_folder import own_folder
from heapwright.measure.program import Output, RunFailedError, run_both_for_documents, run_for_document
from heapwright.measure.runner import Arm
from heapwright.measure.verdict import UNKNOWN, side_of
from heapwright.model import Trace
from heapwright.model.readings import reading_at
from heapwright.replay import clocks, decision, fidelity, plans
from heapwright.replay.candidates import Candidate, Chosen
from heapwright.replay.changes import Change
from heapwright.replay.figures import FIGURES
from heapwright.replay.result import Fidelity, Judged

LIMIT_S = 10.0
# On a busy machine everything takes longer: the same is tried in up to so many times the limit.
_MOST_STRETCH = 3.0
# The part of it after which no more memory is replayed, so that there is time for times.
_MEMORY_SHARE = 0.6
# A longer recording is replayed as a window around its peak, for times and for both.
_MOST_TIMED_CALLS = 1_000_000
_MOST_CALLS = 12_000_000
_TIMED_WINDOW = 500_000
_WINDOW = 1_000_000
_LEAST_WINDOW = 1000
_MOST_TURNS = 7
_LEAST_TURNS = 4
# Of the time left: the rest is for dry runs.
_TIMES_SHARE = 0.8
# A window saves time if its plan has at most this share of the operations: it makes all blocks that live.
_WORTH_A_WINDOW = 0.5
# Runs are clear if those of two sides are as far apart as either side's.
_CLEAR = 1.0
_AT_ONCE = 2
_KEYS = ("time_ns", "peak_bytes", "mean_bytes", "end_bytes")

# The part done, and the whole.
Progress = Callable[[int, int], object]


class Told(NamedTuple):
    """A figure compared to the reference's, as result.Judged; unchanged_ns: of a time, without the change."""

    difference: float
    relative_difference: float
    resolution: float | None
    verdict: str
    unchanged_ns: float | None = None


class Tried(NamedTuple):
    """figures: by the key of decision.Table's, and "then_bytes": at the asked moment; empty: not in time.

    timed_share: the part of the calls that times are of; their differences are for all calls.
    """

    figures: Mapping[str, Told]
    timed_share: float


class _OutOfTimeError(Exception):
    pass


def limit_s() -> float:
    """The limit here and now: longer by as much as the processors are asked for by more than they can do."""
    try:
        asked = os.getloadavg()[0] / (os.cpu_count() or 1)
    except OSError:
        return LIMIT_S
    return LIMIT_S * min(_MOST_STRETCH, max(1.0, asked))


class Quick:
    """One check. moment_ns: at which memory is compared, too; below 0: at none."""

    def __init__(
        self,
        program: Path,
        trace: Trace,
        chosen: Chosen,
        changes: Mapping[str, Change],
        moment_ns: int = -1,
        within_s: float = LIMIT_S,
        live_blocks: int = 0,
    ) -> None:
        """chosen: the recorded allocator first, then the most important; changes: by the text that candidates
        name; live_blocks: at the peak."""
        self._program, self._trace = program, trace
        self._candidates = chosen.candidates
        self._changes = changes
        self._moment_ns = moment_ns
        self._limit_s = within_s
        self._begin_s = time.monotonic()
        self._plan_s = self._run_s = 0.0
        self._live_blocks = live_blocks
        is_long = trace.event_count > _MOST_CALLS and self._saves(_WINDOW, trace.event_count)
        self._calls = _WINDOW if is_long else 0
        self._is_all_timed = is_long or trace.event_count <= _MOST_TIMED_CALLS

    def run(self, progress: Progress) -> dict[str, Tried]:
        """By the candidate's name, those that could be tried. MeasureError."""
        self._progress = progress
        plans.check_room(
            plans.bytes_of(self._calls or self._trace.event_count, 2 * len(self._texts), False), 1
        )
        with own_folder("replay") as folder:
            try:
                return self._run(folder)
            except _OutOfTimeError:
                return {}

    @property
    def _texts(self) -> list[str]:
        """Of the plans: the unchanged one first."""
        return list(dict.fromkeys(["", *(candidate.change for candidate in self._candidates)]))

    def _run(self, folder: Path) -> dict[str, Tried]:
        made: dict[str, Output] = {}
        memory: list[Arm] = []
        rest = iter(self._candidates)
        until_s = self._limit_s  # the first ones, without which the others tell nothing, may take all of it
        while both := list(islice(rest, _AT_ONCE)):
            new = [text for text in dict.fromkeys(one.change for one in both) if text not in made]
            made |= self._plans(folder, "all", self._calls, new, until_s)
            memory += self._memory(folder, both, made, until_s)
            if not memory or not memory[0].runs:
                raise _OutOfTimeError
            until_s = _MEMORY_SHARE * self._limit_s
            self._progress(len(memory), 2 * len(self._candidates))  # the other half: times
        return self._judged(made[""], memory, *self._timed_part(folder, made, memory))

    def _timed_part(
        self, folder: Path, made: Mapping[str, Output], memory: Sequence[Arm]
    ) -> tuple[list[Arm], dict[str, list[Output]], float]:
        """The runs, dry ones, and the part of the recording's calls that they are of."""
        kept = [one for one, arm in zip(self._candidates, memory, strict=True) if arm.runs]
        operations = float(made[""]["operations"])
        of = (len(kept), operations, len({one.change for one in kept}))
        calls = self._timed_calls(*of)
        if calls not in (0, _TIMED_WINDOW):
            self._time_one(folder, kept[0])
            calls = self._timed_calls(*of)
        if calls is None:
            return [], {}, 1.0
        timed, name = made, "all"
        if calls:
            texts = list(dict.fromkeys(one.change for one in kept))
            timed, name = self._plans(folder, "part", calls, texts, self._limit_s), "part"
        share = timed[""]["operations"] / operations if timed.get("") and calls else 1.0
        if self._calls:
            share = min(1.0, operations / max(self._trace.event_count, 1))
        times, dry = self._times(folder, name, [one for one in kept if one.change in timed], timed)
        return times, dry, share

    def _time_one(self, folder: Path, candidate: Candidate) -> None:
        """How long a run for times takes; one for memory, which reads it at marks, may take far longer."""
        begin_s = time.monotonic()
        with suppress(_OutOfTimeError):
            if self._timed(folder, "all", candidate, "dependency"):
                self._run_s = min(self._run_s, time.monotonic() - begin_s)

    def _saves(self, calls: int, operations: float) -> bool:
        return calls + self._live_blocks <= _WORTH_A_WINDOW * operations

    def _timed_calls(self, candidates: int, operations: float, plans: int) -> int | None:
        """The calls that are timed: as many as can be in time, by the runs so far; 0: all; None: none."""
        left_s = self._limit_s - (time.monotonic() - self._begin_s)
        each_s = _LEAST_TURNS * candidates * self._run_s / max(operations, 1.0)
        most = _TIMES_SHARE * left_s / each_s if each_s > 0 else operations
        is_asked = self._is_all_timed or not self._saves(_TIMED_WINDOW, operations)
        if is_asked and operations <= most:
            return 0
        left_s -= self._plan_s * -(-plans // _AT_ONCE)  # a window's plans read the recording once more
        most = _TIMES_SHARE * left_s / each_s - self._live_blocks if each_s > 0 else operations
        return int(min(most, _TIMED_WINDOW)) if most >= _LEAST_WINDOW else None

    # Plans.

    def _plans(
        self, folder: Path, name: str, calls: int, texts: Sequence[str], until_s: float
    ) -> dict[str, Output]:
        """heapwright-replay's output for each plan by its change; without refused or late ones."""
        environment = self._candidates[0].environment() | {"LD_PRELOAD": ""}
        starts = []
        for text in texts:
            words = ["plan", str(self._trace.path), self._plan(folder, name, text), str(calls)]
            if text:
                stacks = folder / f"stacks-{self._texts.index(text)}"
                stacks.write_bytes(self._changes[text].stacks)
                words += [self._changes[text].words, str(stacks)]
            starts.append(([str(self._program), *words], environment))
        begin_s = time.monotonic()
        said = self._all(starts, until_s)
        if starts:
            self._plan_s = time.monotonic() - begin_s
        return {text: one for text, one in zip(texts, said, strict=True) if one is not None}

    def _plan(self, folder: Path, name: str, change: str) -> str:
        return str(folder / f"{name}-{self._texts.index(change)}")

    # Runs.

    def _memory(
        self, folder: Path, both: Sequence[Candidate], made: Mapping[str, Output], until_s: float
    ) -> list[Arm]:
        """Of a few candidates, at the same time; no runs without a plan."""
        candidates = [one for one in both if one.change in made]
        starts = [
            (
                [str(self._program), "run", self._plan(folder, "all", one.change), "recorded", "0", "0"],
                one.environment(),
            )
            for one in candidates
        ]
        begin_s = time.monotonic()
        said = dict(zip((one.name for one in candidates), self._all(starts, until_s), strict=True))
        if any(said.values()):
            self._run_s = max(self._run_s, time.monotonic() - begin_s)
        return [Arm(one, False, [run] if (run := said.get(one.name)) else []) for one in both]

    def _times(
        self, folder: Path, name: str, candidates: Sequence[Candidate], made: Mapping[str, Output]
    ) -> tuple[list[Arm], dict[str, list[Output]]]:
        """Whole turns of all candidates, and of dry runs by the changes that need their own, until all is
        clear or the time is over."""
        usual = made[""]["operations"] if made else 0
        longer = ["", *(text for text, plan in made.items() if text and plan["operations"] != usual)]
        arms = [Arm(one, False) for one in candidates]
        dry: dict[str, list[Output]] = {text: [] for text in longer}
        for turn in range(_MOST_TURNS):
            try:
                runs = [self._timed(folder, name, one, "dependency") for one in candidates]
                dries = [self._timed(folder, name, candidates[0], "dry", text) for text in longer]
            except _OutOfTimeError:
                break
            self._progress(_MOST_TURNS + turn + 1, 2 * _MOST_TURNS)
            for arm, run in zip(arms, runs, strict=True):
                arm.runs += [run] if run else []
            for text, run in zip(longer, dries, strict=True):
                dry[text] += [run] if run else []
            if turn + 1 >= _LEAST_TURNS and _are_clear(arms):
                break
        return arms, dry

    def _timed(
        self, folder: Path, name: str, candidate: Candidate, order: str, change: str | None = None
    ) -> Output | None:
        """None if it fails, which the candidate's run for memory does as well."""
        path = self._plan(folder, name, candidate.change if change is None else change)
        try:
            return run_for_document(
                [str(self._program), "run", path, order], candidate.environment(), self._left(self._limit_s)
            )
        except RunFailedError as failure:
            if failure.has_hung:
                raise _OutOfTimeError from None
            return None

    def _all(
        self, starts: Sequence[tuple[Sequence[str], Mapping[str, str]]], until_s: float
    ) -> list[Output | None]:
        """The outputs of the commands, a few at a time; None for what failed or was not in time."""
        found: list[Output | None] = []
        rest = iter(starts)
        while both := list(islice(rest, _AT_ONCE)):
            try:
                said = run_both_for_documents(both, self._left(until_s))
            except _OutOfTimeError:
                found += [None] * len(both)
                continue
            found += [None if isinstance(one, RunFailedError) else one for one in said]
        return found

    def _left(self, until_s: float) -> float:
        left = self._begin_s + until_s - time.monotonic()
        if left <= 0:
            raise _OutOfTimeError
        return left

    # Figures.

    def _judged(
        self,
        plan: Output,
        memory: Sequence[Arm],
        times: Sequence[Arm],
        dry: Mapping[str, Sequence[Output]],
        share: float,
    ) -> dict[str, Tried]:
        truth = fidelity.compare(plan["mark_ns"], plan["recorded_bytes"], memory[0].runs[0]["mark_bytes"])
        timed = {arm.allocator.name: arm for arm in times}
        # One arm for each candidate in both, so that numbers agree.
        both = [timed.get(arm.allocator.name, Arm(arm.allocator, False)) for arm in memory]
        table = decision.Table(
            memory,
            both,
            {text: decision.dry_of(runs) for text, runs in dry.items()},
            truth,
            calls=_calls(both),
            least_memory_runs=1,
        )
        found: dict[str, Tried] = {}
        for number, arm in enumerate(memory):
            if not number or not arm.runs:
                continue
            by_clock = clocks.ends_of(self._candidates[number]) is not None
            figures = _told(table.figures_of(number), truth is not None, by_clock, share)
            then = self._then(plan, truth, memory[0], arm)
            if then is not None and not table.is_far_off(FIGURES[1]):
                figures["then_bytes"] = then._replace(verdict=UNKNOWN) if by_clock else then
            found[arm.allocator.name] = Tried(figures, share)
        return found

    def _then(self, plan: Output, truth: Fidelity | None, reference: Arm, arm: Arm) -> Told | None:
        """Memory at the mark that shows the asked moment."""
        marks_ns = plan["mark_ns"]
        if self._moment_ns < 0 or truth is None or not marks_ns:
            return None
        at = reading_at(marks_ns, plan["recorded_bytes"], self._moment_ns)
        before, now = (float(one.runs[0]["mark_bytes"][at]) for one in (reference, arm))
        recorded = float(plan["recorded_bytes"][at])
        error = abs(recorded - before - truth.beside_heap_bytes)
        resolution = max(error, decision.LEAST_DIFFERENCE * recorded)
        is_far_off = error > decision.MOST_OFF * recorded
        verdict = UNKNOWN if is_far_off else side_of(now - before, resolution)
        return Told(now - before, (now - before) / max(recorded, 1.0), resolution, verdict)


def _told(figures: Mapping[str, Judged], has_truth: bool, by_clock: bool, share: float) -> dict[str, Told]:
    """The figures that are judged; times for all calls."""
    found = {}
    for key in _KEYS:
        own = figures.get(key)
        if own is None or (key != "time_ns" and not has_truth):
            continue
        told = Told(own.difference, own.relative_difference, own.resolution, own.verdict)
        if key == "time_ns":
            told = told._replace(
                difference=own.difference / share,
                resolution=None if own.resolution is None else own.resolution / share,
                unchanged_ns=(own.value - own.difference) / share,
            )
        elif by_clock:
            told = told._replace(verdict=UNKNOWN)
        found[key] = told
    return found


def _calls(times: Sequence[Arm]) -> dict[int, decision.CallsDifference]:
    """The calls' own times, as decision.Table takes them: sums of the clocked ones."""
    summaries = [statistics.summarize(values) if (values := _own(arm)) else None for arm in times]
    reference = summaries[0]
    found = {}
    for number, own in enumerate(summaries):
        if number and own and reference:
            noise = max(own.noise, reference.noise) * max(own.median, reference.median)
            found[number] = decision.CallsDifference(
                own.median - reference.median, max(noise, own.spread + reference.spread)
            )
    return found


def _own(arm: Arm) -> list[float]:
    return [float(run["calls_ns"]) + float(run["touch_ns"]) for run in arm.runs]


def _are_clear(arms: Sequence[Arm]) -> bool:
    """Whether each candidate's runs are far from the first one's: more of them would not change a verdict."""
    first, *others = [sorted(_own(arm)) for arm in arms]
    return bool(first) and all(_are_apart(first, own) for own in others if own)


def _are_apart(some: Sequence[float], others: Sequence[float]) -> bool:
    gap = max(some[0] - others[-1], others[0] - some[-1])
    return gap > _CLEAR * max(some[-1] - some[0], others[-1] - others[0])
