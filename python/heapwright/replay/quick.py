# SPDX-License-Identifier: MIT
# length: the runs of one answer, in their required order, within their time
"""What a replay can tell of a few settings and changes within seconds.

Memory is from one run of each candidate in recorded order, two at a time: the same calls give the same. Times
are from runs in turns, one at a time; of a long recording they are of a window around its peak. What does not
end in time has no figures. Nothing else is run: no bounds of allocators that return memory by the clock, so
their memory is not judged, and no times by call site.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from heapwright.measure import statistics
from heapwright.measure.own_folder import own_folder
from heapwright.measure.program import RunFailedError, run_both_for_documents, run_for_document
from heapwright.measure.runner import Arm
from heapwright.measure.verdict import UNKNOWN, side_of
from heapwright.model import Trace
from heapwright.model.readings import reading_at
from heapwright.replay import clocks, decision, fidelity, plans
from heapwright.replay.candidates import Candidate, Chosen
from heapwright.replay.changes import Change

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
# Of the time left: the rest is for reading the recording once more, and for dry runs.
_TIMES_SHARE = 0.6
_AT_ONCE = 2
_KEYS = ("time_ns", "peak_bytes", "mean_bytes", "end_bytes")

Document = dict[str, Any]
# The part done, and the whole.
Progress = Callable[[int, int], object]


class Tried(NamedTuple):
    """figures: records as decision.Table's by key, and "then_bytes": at the asked moment; empty: not in time.

    timed_share: the part of the calls that times are of; their differences are for all calls.
    """

    figures: Mapping[str, Document]
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
    ) -> None:
        """chosen: the recorded allocator first; changes: by the text that candidates name."""
        self._program, self._trace = program, trace
        self._candidates = chosen.candidates
        self._changes = changes
        self._moment_ns = moment_ns
        self._limit_s = within_s
        self._begin_s = time.monotonic()
        self._run_s = 0.0
        self._calls = _WINDOW if trace.event_count > _MOST_CALLS else 0
        self._is_all_timed = self._calls > 0 or trace.event_count <= _MOST_TIMED_CALLS

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
        made = self._plans(folder, "all", self._calls)
        if "" not in made:
            raise _OutOfTimeError
        kept = [candidate for candidate in self._candidates if candidate.change in made]
        memory = self._memory(folder, kept)
        if not memory[0].runs:
            raise _OutOfTimeError
        timed, name = made, "all"
        window = self._window(len(kept))
        if window:
            timed, name = self._plans(folder, "part", window), "part"
        times, dry = self._times(folder, name, [one for one in kept if one.change in timed], timed)
        operations = float(made[""]["operations"])
        share = timed[""]["operations"] / operations if timed.get("") and window else 1.0
        if self._calls:
            share = min(1.0, operations / max(self._trace.event_count, 1))
        return self._judged(made[""], memory, times, dry, share)

    def _window(self, candidates: int) -> int:
        """The calls that are timed: as many as can be in time, by the runs so far; 0: all."""
        most = 0 if self._is_all_timed else _TIMED_WINDOW
        left_s = _TIMES_SHARE * self._left(self._limit_s)
        needed_s = _LEAST_TURNS * candidates * self._run_s
        if needed_s <= left_s:
            return most
        calls = self._calls or self._trace.event_count
        return min(most or calls, max(_LEAST_WINDOW, int(calls * left_s / needed_s)))

    # Plans.

    def _plans(self, folder: Path, name: str, calls: int) -> dict[str, Document]:
        """heapwright-replay's output for each plan by its change; without refused or late ones."""
        environment = self._candidates[0].environment() | {"LD_PRELOAD": ""}
        starts = []
        for number, text in enumerate(self._texts):
            words = ["plan", str(self._trace.path), str(folder / f"{name}-{number}"), str(calls)]
            if text:
                stacks = folder / f"stacks-{number}"
                stacks.write_bytes(self._changes[text].stacks)
                words += [self._changes[text].words, str(stacks)]
            starts.append(([str(self._program), *words], environment))
        said = self._all(starts, self._limit_s)
        return {text: one for text, one in zip(self._texts, said, strict=True) if one is not None}

    def _plan(self, folder: Path, name: str, change: str) -> str:
        return str(folder / f"{name}-{self._texts.index(change)}")

    # Runs.

    def _memory(self, folder: Path, candidates: Sequence[Candidate]) -> list[Arm]:
        starts = [
            (
                [str(self._program), "run", self._plan(folder, "all", one.change), "recorded", "0", "0"],
                one.environment(),
            )
            for one in candidates
        ]
        begin_s = time.monotonic()
        said = self._all(starts, _MEMORY_SHARE * self._limit_s)
        self._run_s = (time.monotonic() - begin_s) / -(-len(starts) // _AT_ONCE)
        return [Arm(one, False, [run] if run else []) for one, run in zip(candidates, said, strict=True)]

    def _times(
        self, folder: Path, name: str, candidates: Sequence[Candidate], made: Mapping[str, Document]
    ) -> tuple[list[Arm], dict[str, list[Document]]]:
        """Whole turns of all candidates, and of dry runs by the changes that need their own."""
        usual = made[""]["operations"] if made else 0
        longer = ["", *(text for text, plan in made.items() if text and plan["operations"] != usual)]
        arms = [Arm(one, False) for one in candidates]
        dry: dict[str, list[Document]] = {text: [] for text in longer}
        for turn in range(_MOST_TURNS):
            try:
                runs = [self._timed(folder, name, one, "dependency") for one in candidates]
                dries = [self._timed(folder, name, candidates[0], "dry", text) for text in longer]
            except _OutOfTimeError:
                break
            self._progress(turn + 1, _MOST_TURNS)
            for arm, run in zip(arms, runs, strict=True):
                arm.runs += [run] if run else []
            for text, run in zip(longer, dries, strict=True):
                dry[text] += [run] if run else []
        return arms, dry

    def _timed(
        self, folder: Path, name: str, candidate: Candidate, order: str, change: str | None = None
    ) -> Document | None:
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
    ) -> list[Document | None]:
        """The outputs of the commands, a few at a time; None for what failed or was not in time."""
        found: list[Document | None] = []
        rest = iter(starts)
        while both := list(islice(rest, _AT_ONCE)):
            try:
                said = run_both_for_documents(both, self._left(until_s))
            except _OutOfTimeError:
                found += [None] * len(both)
                continue
            self._progress(len(found), len(starts))
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
        plan: Document,
        memory: Sequence[Arm],
        times: Sequence[Arm],
        dry: Mapping[str, Sequence[Document]],
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
            figures = table.figures_of(number)
            then = self._then(plan, truth, memory[0], arm)
            if then is not None and not table.is_far_off(decision.FIGURES[1]):
                figures["then_bytes"] = then
            found[arm.allocator.name] = Tried(_known(arm.allocator, figures, truth, share), share)
        return found

    def _then(
        self, plan: Document, truth: fidelity.Fidelity | None, reference: Arm, arm: Arm
    ) -> Document | None:
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
        return {
            "difference": now - before,
            "relative_difference": (now - before) / max(recorded, 1.0),
            "resolution": resolution,
            "verdict": UNKNOWN if is_far_off else side_of(now - before, resolution),
        }


def _known(
    allocator: Any, figures: Mapping[str, Document], truth: fidelity.Fidelity | None, share: float
) -> dict[str, Document]:
    """The figures that are judged; times for all calls. unchanged_ns: without the change."""
    by_clock = clocks.ends_of(allocator) is not None
    found = {}
    for key, record in figures.items():
        if key not in (*_KEYS, "then_bytes") or (key != "time_ns" and truth is None):
            continue
        kept = dict(record)
        if key == "time_ns":
            kept["unchanged_ns"] = (kept["value"] - kept["difference"]) / share
            kept |= {
                name: kept[name] / share for name in ("difference", "resolution") if kept[name] is not None
            }
        elif by_clock:
            kept["verdict"] = UNKNOWN
        found[key] = kept
    return found


def _calls(times: Sequence[Arm]) -> dict[int, Document]:
    """The calls' own times, as decision.Table takes them: sums of the clocked ones."""
    summaries = [statistics.summarize(values) if (values := _own(arm)) else None for arm in times]
    reference = summaries[0]
    found = {}
    for number, own in enumerate(summaries):
        if number and own and reference:
            noise = max(own.noise, reference.noise) * max(own.median, reference.median)
            found[number] = {
                "difference_ns": own.median - reference.median,
                "noise_ns": max(noise, own.spread + reference.spread),
            }
    return found


def _own(arm: Arm) -> list[float]:
    return [float(run["calls_ns"]) + float(run["touch_ns"]) for run in arm.runs]
