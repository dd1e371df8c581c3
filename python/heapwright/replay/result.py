# SPDX-License-Identifier: MIT
# length: every field of the document is declared here
"""What a replay finds: the document heapwright.replay/1, whose JSON and schema are made from these classes.

"" in a candidate's change: as recorded. None: not known, as each field says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from heapwright.measure.verdict import BETTER, SAME, UNKNOWN, WORSE
from heapwright.report.columns import Choice, Record
from heapwright.report.declared import Difference, Unit


@dataclass(frozen=True, slots=True)
class Curve:
    """Resident memory at moments."""

    peak_bytes: float
    mean_bytes: float
    end_bytes: float


@dataclass(frozen=True, slots=True)
class Fidelity:
    """recorded, replayed: of the process."""

    recorded: Curve
    replayed: Annotated[Curve, "On the recorded allocator, plus the process's memory outside its heap."]
    errors: Annotated[Curve, "Errors of the replay."]
    beside_heap_bytes: Difference
    relative_peak: Annotated[Difference, "The error of the peak; above 0: the replay has more."]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is replayed."""

    threads: int
    operations: int
    lanes: Annotated[int, "Threads with calls."]
    turns: Annotated[int, "Switches from one thread to another."]
    slots: int
    peak_live_bytes: int
    before_recording: Annotated[int, "Calls for blocks from before the recording: left out."]
    failed: Annotated[int, "Calls that returned no block."]
    unseen_releases: Annotated[int, "Inserted where they must have been."]
    damaged_chunks: int
    begin_ns: Annotated[int, "Of the recording, or of the window replayed by --quick."]
    end_ns: int
    earlier_blocks: Annotated[int, "Blocks live at the begin of the window."]
    earlier_bytes: int
    large_blocks: Annotated[int, "Of at least 16 KiB."]
    seen_blocks: Annotated[int, "Those whose pages a scan saw."]
    guessed_touched_bytes: Annotated[
        float | None,
        "Blocks of at least 16 KiB that no scan saw, counted as touched: the maximum over the moments. "
        "A replay may be too high by this. Null without moments.",
    ]
    guessed_untouched_bytes: Annotated[
        float | None, "The same, counted as not touched. It may be too low by this."
    ]
    small_bytes: Annotated[float | None, "Smaller blocks, which count as fully touched; the same maximum."]


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a change, or of one of the changes of a --change."""

    text: Annotated[str, "The whole --change, as typed."]
    change: str
    sites: Sequence[str]
    changed_blocks: Annotated[int, "Blocks affected by the change."]
    changed_bytes: int
    change_events: Annotated[int, "Arena resets; removed growth steps or calls; deferred runs of frees."]
    freed_by_others: Annotated[int, "Freed by another thread than allocated them."]
    moved_by_others: Annotated[int, "Reallocated by another thread, and left to the heap."]
    foreign_moves: Annotated[int, "Reallocs there of blocks from other sites: as recorded."]
    never_freed: int
    outlived: Annotated[int, "Outlived their phase, and left to the heap."]
    most_waiting_bytes: Annotated[int, "Of blocks with a deferred free: the maximum."]
    freed_by_caller: Annotated[
        int, "Of these blocks, freed by their own thread: too many waited, or it ended."
    ]


@dataclass(frozen=True, slots=True)
class Moments:
    """At which memory was read."""

    time_ns: Annotated[Sequence[float], "Up to 256 moments of the recording."]
    recorded_bytes: Annotated[Sequence[float] | None, "Resident then; null where unknown."]
    needed_bytes: Annotated[
        Sequence[float],
        "Touched memory of live blocks, and the program's own mappings: independent of the allocator.",
    ]


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure of a candidate."""

    value: Annotated[float, "For memory, a prediction for the process if possible."]
    spread: float
    low: float
    high: float
    noise: Annotated[float, "The relative difference to expect between two halves of the same runs."]
    runs: int
    difference: Annotated[Difference, "To the reference."]
    relative_difference: Difference
    resolution: Annotated[
        float | None,
        "The least difference that counts: below it the verdict is same. Null for the reference.",
    ]
    verdict: Annotated[
        str,
        Choice((BETTER, WORSE, SAME, UNKNOWN)),
        "Unknown if it depends on a single run, or on when memory is returned.",
    ]
    at_once: Annotated[
        float | None,
        "Peak and end for an allocator that returns memory by the clock, if it did so at "
        "once. At full speed also the mean.",
    ] = None
    never: Annotated[float | None, "The same if it never did; also null at full speed."] = None


Percentile: TypeAlias = Annotated[float | None, "Null with fewer than ten slower calls."]


@dataclass(frozen=True, slots=True)
class SiteLatency:
    """Of a call site's calls of one function and size, on a candidate and on the reference."""

    function: str
    largest_bytes: Annotated[int, "Sizes from more than half of it."]
    calls: int
    p50_ns: Percentile
    p99_ns: Percentile
    p999_ns: Percentile
    reference_calls: int
    reference_p50_ns: Percentile
    reference_p99_ns: Percentile
    reference_p999_ns: Percentile


@dataclass(frozen=True, slots=True)
class Place:
    """A call site."""

    site: int
    function: str
    file: str
    line: int
    library: str
    name: str


_SHARE = "Of the whole difference."
_LARGEST_FIRST = "Those with a difference larger than noise, largest first."


@dataclass(frozen=True, slots=True)
class CallSite(Place):
    """A call site whose calls take another time than on the reference."""

    calls: int
    ns: float
    reference_ns: float
    difference_ns: Difference
    noise_ns: float
    share: Annotated[Difference, _SHARE]
    latency: Annotated[
        Sequence[SiteLatency],
        "Latency of its calls, and of its blocks' releases, by function and size, without "
        "writing to fresh pages; for 20 calls or more. Empty if a site has less than a thousandth of the "
        "time.",
    ]


@dataclass(frozen=True, slots=True)
class CallSites:
    """A candidate's calls compared to those of the reference."""

    ns: Annotated[float, "Of all calls."]
    reference_ns: float
    difference_ns: Difference
    noise_ns: float
    sites: Annotated[Sequence[CallSite], _LARGEST_FIRST]


@dataclass(frozen=True, slots=True)
class HeldSite(Place):
    """A call site whose blocks hold other memory than on the reference."""

    blocks: Annotated[int, "Live at that time."]
    bytes: Annotated[float, "Pages are attributed to the blocks on them, by their bytes there."]
    reference_bytes: float
    difference_bytes: Difference
    noise_bytes: float
    share: Annotated[Difference, _SHARE]


@dataclass(frozen=True, slots=True)
class Held:
    """A candidate's memory compared to that of the reference."""

    time_ns: Annotated[float, "The time of the reference's peak."]
    bytes: Annotated[float, "Of the heap at that time."]
    reference_bytes: float
    difference_bytes: Difference
    noise_bytes: float
    unowned_bytes: Annotated[float, "The part without any block: free pages, caches, tables."]
    unowned_difference_bytes: Difference
    sites: Annotated[Sequence[HeldSite], _LARGEST_FIRST]


@dataclass(frozen=True, slots=True)
class FunctionTimes:
    """The minimum times of the calls of a function."""

    function: str
    calls: int
    sum_ns: float
    p50_ns: Percentile
    p99_ns: Percentile
    p999_ns: Percentile
    max_ns: float


@dataclass(frozen=True, slots=True)
class SizeTimes(FunctionTimes):
    """The same for requests of some sizes."""

    largest_bytes: Annotated[int, "Sizes from more than half of it."]


@dataclass(frozen=True, slots=True)
class Times:
    """Of the calls of a function, recorded or replayed."""

    calls: int
    sum_ns: float
    p50_ns: Percentile
    p99_ns: Percentile


@dataclass(frozen=True, slots=True)
class BothTimes:
    """Of a function."""

    function: str
    recorded: Times
    replayed: Times


@dataclass(frozen=True, slots=True)
class TimeFidelity:
    """The accuracy of the calls' times."""

    recorded_ns: Annotated[float, "Of the calls, CPU time if known, without the recorder's work."]
    replayed_ns: Annotated[float, "On the recorded allocator, the minimum time of each operation."]
    relative_error: Annotated[Difference, "Of the sum; below 0: the replay takes less."]
    error_ns: Annotated[float, "Of the sum; a smaller difference in time_ns does not count."]
    tail_factor: Annotated[
        float, "The factor by which p99 is off; a smaller difference in p999_ns does not count."
    ]
    is_same_shape: Annotated[
        bool,
        "p50 and p99 of each function with at least a tenth of the time are within a factor of 1.5. "
        "Otherwise the size of time differences is not reliable.",
    ]
    functions: Sequence[BothTimes]


@dataclass(frozen=True, slots=True)
class Counted:
    """A figure of a candidate's runs."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Spread(Counted):
    """The same, and of how many."""

    runs: int


@dataclass(frozen=True, slots=True)
class SystemCall:
    """One kind of them."""

    calls: Counted
    ns: Counted


@dataclass(frozen=True, slots=True)
class Kernel:
    """A candidate's use of the kernel."""

    faults: Annotated[Counted, "In recorded order."]
    voluntary_switches: Annotated[Counted, "Waits, with all threads at full speed."]
    involuntary_switches: Annotated[Counted, "Preemptions by other processes or its threads, the same."]
    system_calls: Annotated[
        Mapping[str, SystemCall] | None,
        "Of the heap calls in recorded order, by kind: mmap, munmap, mremap, madvise, mprotect, brk, "
        "futex, other; not those of the allocator's own threads. Null if the kernel cannot report them "
        "(before Linux 5.11).",
    ]


RawFigures: TypeAlias = Mapping[str, Difference]


@dataclass(frozen=True, slots=True)
class Runs:
    """Raw figures of each run."""

    memory: Sequence[RawFigures]
    time: Annotated[Sequence[RawFigures], "With all threads at full speed."]
    gaps: Annotated[Sequence[RawFigures], "With the program's gaps; empty without --gaps."]


@dataclass(frozen=True, slots=True)
class GapTimes:
    """A candidate's calls at the program's load."""

    name: str
    late_share: Annotated[float | None, "Share of calls that began more than 50 µs late."]
    p50_ns: float | None
    p99_ns: float | None
    p999_ns: float | None
    max_ns: float | None


@dataclass(frozen=True, slots=True)
class Gaps:
    """Times at the program's load."""

    rate: Annotated[float, "Speed relative to the program."]
    program_ns: Annotated[float, "From its first call to its last, without the recorder's cost."]
    recorded_ns: Annotated[
        float | None,
        "Of the calls, including waiting but not preemption; null in a window, on another allocator, "
        "or if not recorded.",
    ]
    replayed_ns: Annotated[float | None, "The same on the reference, median of its runs."]
    error_ns: Annotated[float | None, "A smaller difference in gaps_time_ns does not count."]
    candidates: Annotated[Sequence[GapTimes], "Medians of the runs; null after a failure."]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A candidate, and what was measured on it."""

    name: str
    version: str
    path: Annotated[str, "Of the library; empty: the C library's allocator."]
    variables: Annotated[Mapping[str, str], "Environment variables of the settings."]
    change: Annotated[str, "The change in the replay; empty: as recorded."]
    command: Annotated[str, "The command to run the program with it."]
    failure: Annotated[str, "How it crashed, hung or failed; empty: it did not."]
    runs: Annotated[
        Runs,
        "Raw figures of each run; calls and their times are of the clocked ones: all, or one in eight "
        "of more than 4 million.",
    ]
    figures: Annotated[Mapping[str, Judged], Unit("figures"), "Without figures that were not measured."]
    resident_bytes: Annotated[
        Sequence[float],
        "At each of the moments, plus the process's memory outside its heap; empty after a failure.",
    ]
    call_sites: Annotated[CallSites | None, "Null for the reference or if not measured."]
    functions: Annotated[
        Sequence[SizeTimes] | None,
        "The calls' minimum times by function and size; null if not measured.",
    ]
    whole_functions: Annotated[Sequence[FunctionTimes] | None, "The same over all sizes."]
    longest_frees_ns: Annotated[
        float | None,
        "The longest run of a thread's frees without an allocation between them, in minimum times; "
        "deferred frees count as 0.",
    ]
    memory_sites: Annotated[Held | None, "Null for the reference or if not measured."]
    kernel: Annotated[Kernel | None, "Its use of the kernel; null after a failure."]
    measured: Annotated[
        Mapping[str, Spread],
        Unit("measured"),
        "Figures without a verdict; without those that were not measured.",
    ]

    def has_verdict(self, key: str, verdict: str) -> bool:
        """Whether the figure was measured, with this verdict."""
        return key in self.figures and self.figures[key].verdict == verdict


@dataclass(frozen=True, slots=True)
class Document:
    """The whole."""

    trace: str
    program: str
    recording_start_unix_ns: Annotated[int, "Distinguishes recordings of the same program."]
    recorded_on: str
    machine: Annotated[Record, Unit("machine")]
    notes: Annotated[Sequence[str], "What a reader needs to know before the figures."]
    plan: Plan
    changes: Annotated[Sequence[Effect], "The effect of each change of each --change."]
    pace: Annotated[float, "Replay time of memory as a share of the recorded time; 0: full speed."]
    fidelity: Annotated[Fidelity | None, "Null if the recording does not report it."]
    time_fidelity: Annotated[
        TimeFidelity | None,
        "Null if calls were not timed one by one, in a window, or on another allocator.",
    ]
    gaps: Annotated[Gaps | None, "Times at the program's load; null without --gaps."]
    dry_cpu_ns: Annotated[float, "The replay's own time, excluded from time_ns."]
    dry_range_ns: Annotated[float, "The range of its runs."]
    reference: Annotated[str, "The candidate that the others are compared with."]
    is_recorded: Annotated[bool, "The reference is what the recording ran on."]
    runs: int
    moments: Moments
    candidates: Annotated[Sequence[Outcome], "The reference first."]
    front: Annotated[Sequence[str], "The Pareto front in time, peak, mean and tail."]

    @property
    def others(self) -> Sequence[Outcome]:
        """The candidates without the reference."""
        return [one for one in self.candidates if one.name != self.reference]
