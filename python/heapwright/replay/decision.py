# SPDX-License-Identifier: MIT
# length: one table, from the runs to the verdicts
"""What a candidate would cost compared to the reference: figures, differences and verdicts.

Memory is a prediction for the recorded process: what was recorded, plus the difference between the replays
of the candidate and of the reference; where the replay of the reference has more than the recording, in
proportion, so that no figure falls to 0. A difference counts only if it exceeds the noise of the runs and the
error that the replay of the reference shows; if that is a large part of the figure, nothing is ranked. A
difference in CPU time counts if it exceeds the noise of the two candidates' runs and of the subtracted dry
runs, and the calls' own times, measured separately, agree; otherwise it must exceed the error of the
reference's time, and without that times are not ranked. A record's resolution is the least difference that
would have counted. Memory that depends on a clock has to be on the same side at both extremes of the clock
(clocks.py). Times with gaps: own_load.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from heapwright.measure import statistics
from heapwright.measure.program import Output
from heapwright.measure.runner import Arm
from heapwright.measure.statistics import Summary
from heapwright.measure.verdict import BETTER, SAME, UNKNOWN, WORSE, Verdict, by_noise, side_of
from heapwright.replay import changes
from heapwright.replay.figures import AT_THE_END, FIGURES, TAILS, Figure
from heapwright.replay.result import Document, Fidelity, Judged, Outcome, TimeFidelity

# A share of the reference's figure; less is no reason to change an allocator.
LEAST_DIFFERENCE = 0.01
# The difference between two runs of one process, whatever it calls.
_LEAST_TIME_NS = 10_000.0
# Two runs of a time do not show how far a third one may be off.
LEAST_TIMED_RUNS = 3
# If more than this share of calls begin late, times with gaps are not those of the program's load.
MOST_LATE = 0.5
# If the replay of the reference is off by more than this share, it does not stand for the recording.
MOST_OFF = 0.2


class Bounds(NamedTuple):
    """Memory runs of a candidate that returns memory at once, and never; empty: not run."""

    at_once: Sequence[Output] = ()
    never: Sequence[Output] = ()


class Dry(NamedTuple):
    """The replay's own time without heap calls, and the range of its runs; 0: it could not be run."""

    cpu_ns: float = 0.0
    range_ns: float = 0.0


class CallsDifference(NamedTuple):
    """The calls' own times compared to the reference's, of separate measurements."""

    difference_ns: float
    noise_ns: float


def late_share(run: Output) -> float:
    """In a run with gaps: the share of calls that began late."""
    return min(1.0, float(run["late_calls"]) / max(float(run["calls"]), 1.0))


def _of_bounds(bounds: set[str], verdict: str) -> str:
    """The verdict if the memory is at least, or at most, the measured value."""
    may_be_more = changes.AT_LEAST in bounds and verdict != WORSE
    may_be_less = changes.AT_MOST in bounds and verdict != BETTER
    return UNKNOWN if may_be_more or may_be_less else verdict


def _change_of(arm: Arm) -> str:
    return str(getattr(arm.allocator, "change", ""))


def _keep_the_load(*arms: Arm) -> bool:
    return all(median(map(late_share, arm.runs)) <= MOST_LATE for arm in arms if arm.runs)


def is_far_off(truth: Fidelity, key: str) -> bool:
    """Whether the replay of the reference does not stand for the recording in this figure."""
    return float(getattr(truth.errors, key)) > MOST_OFF * float(getattr(truth.recorded, key))


def dry_of(runs: Sequence[Output]) -> Dry:
    times = [float(run["cpu_ns"]) for run in runs]
    return Dry(median(times), max(times) - min(times)) if times else Dry()


class Table:
    """The figures of all candidates; the first is the reference, followed by its control."""

    def __init__(
        self,
        memory: Sequence[Arm],
        time: Sequence[Arm],
        dry: Mapping[str, Dry],
        truth: Fidelity | None,
        bounds: Mapping[int, Bounds] | None = None,
        time_truth: TimeFidelity | None = None,
        gaps: Sequence[Arm] = (),
        gaps_error_ns: float | None = None,
        calls: Mapping[int, CallsDifference] | None = None,
        least_memory_runs: int = 2,
    ) -> None:
        """dry: by change, if its plan has other operations than the recording's, which is under "".

        calls: by number, of candidates with timed calls.

        bounds: by number, of candidates that return memory by the clock. time_truth: time_fidelity.compare().

        gaps: empty if not requested; gaps_error_ns: the error of their calls' sum. None: unknown.
        """
        self.dry = dry.get("", Dry())
        self._dry = dry
        self._truth = truth
        self._bounds = bounds or {}
        self._calls = calls or {}
        self._time_error_ns = time_truth.error_ns if time_truth else None
        self._tail_factor = time_truth.tail_factor if time_truth else 1.0
        self._gaps_error_ns = gaps_error_ns
        self._memory, self._time, self._gaps = memory, time, gaps
        self._least_memory_runs = least_memory_runs

    def figures_of(self, number: int) -> dict[str, Judged]:
        """The figures by key of the candidate with this number, without those not measured."""
        found = {}
        for figure in FIGURES:
            arms = self._arms_of(figure)
            if not arms:
                continue
            measured = [arm for arm in arms if not arm.is_control]
            control = [arm for arm in arms if arm.is_control]
            reference = self._summary(figure, [measured[0], *control])
            own = reference if number == 0 else self._summary(figure, [measured[number]])
            if own is not None:
                error = self._error(figure, measured[number])
                agree = figure.key == "time_ns" and self._calls_agree(number, own, reference)
                if agree:
                    error = self._range_ns(measured[number])
                record = self._record(figure, own, reference, number == 0, error, agree)
                record = replace(record, verdict=self._told(figure, record.verdict, measured, number))
                found[figure.key] = self._bounded(figure, record, reference, error, number)
        return found

    def _told(self, figure: Figure, verdict: str, measured: Sequence[Arm], number: int) -> str:
        """The verdict of the runs, where the change, the replay and its load let them tell."""
        change = _change_of(measured[number])
        if figure.key == "time_ns" and changes.goes_by_the_clock(change):
            return UNKNOWN
        if not number:
            return verdict
        if self.is_far_off(figure):
            return UNKNOWN
        if figure.has_gaps and not _keep_the_load(measured[0], measured[number]):
            return UNKNOWN
        return _of_bounds(changes.memory_bounds(change), verdict) if figure.is_memory else verdict

    def _arms_of(self, figure: Figure) -> Sequence[Arm]:
        if figure.is_memory:
            return self._memory
        return self._gaps if figure.has_gaps else self._time

    def _bounded(
        self,
        figure: Figure,
        record: Judged,
        reference: Summary | None,
        error: float,
        number: int,
    ) -> Judged:
        """Adds its figures at both extremes of its clock: a verdict they do not share is unknown."""
        ends = self._bounds.get(number, Bounds()) if figure.is_memory else Bounds()
        # Waiting is the same in a replay; a mean does not depend on timing if the replay was paced.
        if figure.key in AT_THE_END or (figure.key == "mean_bytes" and ends.never):
            ends = Bounds()
        medians = [median(self._of_runs(figure, runs)) if runs and reference else None for runs in ends]
        verdict = record.verdict
        if verdict != UNKNOWN and reference is not None:
            verdicts = {
                side_of(value - reference.median, self._least(figure, reference, error))
                for value in medians
                if value is not None
            }
            verdict = verdict if verdicts <= {verdict} else UNKNOWN
        at_once, never = (None if value is None else self._predicted(figure, value) for value in medians)
        return replace(record, verdict=verdict, at_once=at_once, never=never)

    def _values(self, figure: Figure, arm: Arm) -> list[float]:
        if arm.failure:
            return []
        if figure.key == "time_ns":
            dry = self._dry_of(arm)
            return [float(run["cpu_ns"]) - dry.cpu_ns for run in arm.runs]
        return self._of_runs(figure, arm.runs)

    @staticmethod
    def _of_runs(figure: Figure, runs: Sequence[Output]) -> list[float]:
        if figure.key == "peak_bytes":  # marks may miss it, but only they know the program's own mappings
            return [max(float(run["peak_bytes"]), float(run.get("highest_bytes", 0))) for run in runs]
        if figure.key == "gaps_time_ns":
            return [float(run["calls_ns"]) + float(run["touch_ns"]) for run in runs]
        return [float(run[figure.key.removeprefix("gaps_")]) for run in runs]

    def _summary(self, figure: Figure, arms: Sequence[Arm]) -> Summary | None:
        values = [value for arm in arms for value in self._values(figure, arm)]
        return self._lifted(figure, statistics.summarize(values), arms) if values else None

    def _record(
        self,
        figure: Figure,
        own: Summary,
        reference: Summary | None,
        is_reference: bool,
        error: float,
        is_certain: bool,
    ) -> Judged:
        """is_certain: the accuracy of times need not be known."""
        value, low, high = (self._predicted(figure, one) for one in (own.median, own.low, own.high))
        record = Judged(value, own.spread, low, high, own.noise, own.runs, 0.0, 0.0, None, UNKNOWN)
        if reference is None or is_reference:
            return replace(record, verdict=SAME) if is_reference else record
        # A time minus that of the dry run may be below 0.
        whole = self._predicted(figure, reference.median)
        difference = value - whole
        found = self._verdict(figure, own, reference, error)
        return replace(
            record,
            difference=difference,
            relative_difference=difference / whole if whole > 0 else 0.0,
            resolution=found.below,
            verdict=found.side if is_certain else self._known(figure, found.side),
        )

    def _known(self, figure: Figure, verdict: str) -> str:
        error = self._gaps_error_ns if figure.has_gaps else self._time_error_ns
        is_known = figure.is_memory or verdict == SAME or error is not None
        return verdict if is_known else UNKNOWN

    def _verdict(self, figure: Figure, own: Summary, reference: Summary, error: float) -> Verdict:
        least = self._least(figure, reference, error)
        least_runs = self._least_memory_runs if figure.is_memory else LEAST_TIMED_RUNS
        found = by_noise(own.as_figure(), reference.as_figure(), least, least_runs)
        is_told = found.side in (BETTER, WORSE)
        if is_told and figure.key in TAILS and self._is_within_tail(own.median, reference.median):
            return found._replace(side=SAME)
        return found

    def _is_within_tail(self, own: float, other: float) -> bool:
        return max(own, other) < self._tail_factor * min(own, other)

    def _least(self, figure: Figure, reference: Summary, error: float) -> float:
        """A smaller difference does not count, whatever the runs show."""
        return max(error, LEAST_DIFFERENCE * self._predicted(figure, reference.median))

    def is_far_off(self, figure: Figure) -> bool:
        """Whether the replay of the reference does not have the recording's memory."""
        if self._truth is None or not figure.is_memory:
            return False
        return is_far_off(self._truth, AT_THE_END.get(figure.key, figure.key))

    def _predicted(self, figure: Figure, replayed: float) -> float:
        """The recorded process's figure for this one of the replay."""
        shift = self._shift(figure)
        if shift >= 0:
            return max(replayed + shift, 0.0)
        recorded = self._recorded(figure)
        return max(replayed, 0.0) * recorded / max(recorded - shift, 1.0)

    def _recorded(self, figure: Figure) -> float:
        key = AT_THE_END.get(figure.key, figure.key)
        return float(getattr(self._truth.recorded, key)) if self._truth else 0.0

    def _shift(self, figure: Figure) -> float:
        """The recorded process's memory minus the replay's: memory when idle is compared at the end."""
        if self._truth is None or not figure.is_memory:
            return 0.0
        key, recorded = AT_THE_END.get(figure.key, figure.key), self._recorded(figure)
        arms = [arm for arm in self._memory if arm.is_control or arm is self._memory[0]]
        if key == "mean_bytes":
            reference = self._summary(figure, arms)
            return recorded - reference.median if reference else 0.0
        # The recording's value is from its readings; there may be calls between two, and after the last one.
        marks = [run["mark_bytes"] for arm in arms if not arm.failure for run in arm.runs]
        values = [max(own) if key == "peak_bytes" else own[-1] for own in marks]
        return recorded - median(values) if values else 0.0

    def _lifted(self, figure: Figure, own: Summary, arms: Sequence[Arm]) -> Summary:
        """Keeps the peak above the mean and the end, whose predictions have separate errors."""
        if figure.key != "peak_bytes":
            return own
        shift, least = self._shift(figure), own.median
        for other in FIGURES:
            found = self._summary(other, arms) if other.key in ("mean_bytes", "end_bytes") else None
            if found:
                least = max(least, found.median + self._shift(other) - shift)
        lift = least - own.median
        return replace(own, median=least, low=own.low + lift, high=own.high + lift)

    def _dry_of(self, arm: Arm) -> Dry:
        return self._dry.get(_change_of(arm), self.dry)

    def _range_ns(self, arm: Arm) -> float:
        """How far a time may be off because of the subtracted dry runs."""
        own = self._dry_of(arm)
        ranges_ns = self.dry.range_ns + (own.range_ns if own is not self.dry else 0.0)
        return max(ranges_ns, _LEAST_TIME_NS)

    def _calls_agree(self, number: int, own: Summary, reference: Summary | None) -> bool:
        """Whether the calls' own times, from separate measurements, differ in the same direction.

        Waiting for other threads is in the CPU time, not in these; caches that only a heap uses are in both.
        """
        calls = self._calls.get(number)
        if reference is None or calls is None:
            return False
        said_ns = calls.difference_ns
        return abs(said_ns) > calls.noise_ns and (said_ns < 0) == (own.median < reference.median)

    def _error(self, figure: Figure, arm: Arm) -> float:
        if figure.key == "time_ns":
            return max(self._range_ns(arm), self._time_error_ns or 0.0)
        if figure.key == "gaps_time_ns":
            return self._gaps_error_ns or 0.0
        if self._truth is None or not figure.is_memory:
            return 0.0
        return float(getattr(self._truth.errors, AT_THE_END.get(figure.key, figure.key)))


def best_of(document: Document, figure: Figure) -> Outcome | None:
    """The candidate with the least of it among those better than the reference."""
    better = [one for one in document.candidates if one.has_verdict(figure.key, BETTER)]
    return min(better, key=lambda one: one.figures[figure.key].value, default=None)


# The figures that --search trades off.
WEIGHED = ("time_ns", "peak_bytes", "mean_bytes", "p999_ns")


def pareto_front(figures: Mapping[str, Mapping[str, Judged]]) -> list[str]:
    """The Pareto front: candidates that no other one beats or equals in all weighed figures.

    figures: as Table.figures_of, by name, the reference first; a candidate without all of them is left out.
    A figure that does not differ from the reference's, or is not known to, counts as the reference's;
    candidates without any difference are left out.
    """

    def weighed(record: Judged) -> float:
        return record.value - (0.0 if record.verdict in (BETTER, WORSE) else record.difference)

    points = {
        name: [weighed(found[key]) for key in WEIGHED]
        for name, found in figures.items()
        if all(key in found for key in WEIGHED)
    }

    def is_beaten(own: Sequence[float]) -> bool:
        return any(
            other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in points.values()
        )

    reference = next(iter(points), "")
    return [
        name
        for name, own in points.items()
        if not is_beaten(own) and (name == reference or own != points[reference])
    ]
