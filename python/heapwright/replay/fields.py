# SPDX-License-Identifier: MIT
# length: every field of the document has its line
"""The fields of the document heapwright.replay/1: names, units and what they mean.

schema.py derives the JSON schema from them. A unit unknown to report/ is a name in the schema's $defs.
"""

from __future__ import annotations

from heapwright.measure.verdict import BETTER, SAME, UNKNOWN, WORSE
from heapwright.replay.decision import FIGURES
from heapwright.replay.fidelity import KEYS
from heapwright.replay.spread import MEASURES
from heapwright.report.columns import Choice, Column, Many

SCHEMA = "heapwright.replay/1"

# "number" is 0 or more, "difference" any number.
CURVE = tuple(Column(key, "number") for key in KEYS)

FIDELITY = (
    Column("recorded", CURVE),
    Column("replayed", CURVE, about="On the recorded allocator, plus the process's memory outside its heap."),
    Column("errors", CURVE, about="Errors of the replay."),
    Column("beside_heap_bytes", "difference"),
    Column("relative_peak", "difference", about="The error of the peak; above 0: the replay has more."),
)

PLAN = (
    Column("threads"),
    Column("operations"),
    Column("lanes", about="Threads with calls."),
    Column("turns", about="Switches from one thread to another."),
    Column("slots"),
    Column("peak_live_bytes"),
    Column("before_recording", about="Calls for blocks from before the recording: left out."),
    Column("failed", about="Calls that returned no block."),
    Column("unseen_releases", about="Inserted where they must have been."),
    Column("damaged_chunks"),
    Column("begin_ns", about="Of the recording, or of the window replayed by --quick."),
    Column("end_ns"),
    Column("earlier_blocks", about="Blocks live at the begin of the window."),
    Column("earlier_bytes"),
    Column("large_blocks", about="Of at least 16 KiB."),
    Column("seen_blocks", about="Those whose pages a scan saw."),
    Column(
        "guessed_touched_bytes",
        "amount_or_null",
        about="Blocks of at least 16 KiB that no scan saw, counted as touched: the maximum over the moments. "
        "A replay may be too high by this. Null without moments.",
    ),
    Column(
        "guessed_untouched_bytes",
        "amount_or_null",
        about="The same, counted as not touched. It may be too low by this.",
    ),
    Column(
        "small_bytes",
        "amount_or_null",
        about="Smaller blocks, which count as fully touched; the same maximum.",
    ),
)

CHANGE = (
    Column("text", "text", about="The whole --change, as typed."),
    Column("change", "text"),
    Column("sites", Many("text")),
    Column("changed_blocks", about="Blocks affected by the change."),
    Column("changed_bytes"),
    Column(
        "change_events",
        about="Arena resets; removed growth steps or calls; deferred runs of frees.",
    ),
    Column("freed_by_others", about="Freed by another thread than allocated them."),
    Column("moved_by_others", about="Reallocated by another thread, and left to the heap."),
    Column("foreign_moves", about="Reallocs there of blocks from other sites: as recorded."),
    Column("never_freed"),
    Column("outlived", about="Outlived their phase, and left to the heap."),
    Column("most_waiting_bytes", about="Of blocks with a deferred free: the maximum."),
    Column(
        "freed_by_caller", about="Of these blocks, freed by their own thread: too many waited, or it ended."
    ),
)

MOMENTS = (
    Column("time_ns", Many("number"), about="Up to 256 moments of the recording."),
    Column("recorded_bytes", "amounts_or_null", about="Resident then; null where unknown."),
    Column(
        "needed_bytes",
        Many("number"),
        about="Touched memory of live blocks, and the program's own mappings: independent of the allocator.",
    ),
)

FIGURE = (
    Column("value", "number", about="For memory, a prediction for the process if possible."),
    Column("spread", "number"),
    Column("low", "number"),
    Column("high", "number"),
    Column("noise", "number", about="The relative difference to expect between two halves of the same runs."),
    Column("runs"),
    Column("difference", "difference", about="To the reference."),
    Column("relative_difference", "difference"),
    Column(
        "resolution",
        "amount_or_null",
        about="The least difference that counts: below it the verdict is same. Null for the reference.",
    ),
    Column(
        "verdict",
        Choice((BETTER, WORSE, SAME, UNKNOWN)),
        about="Unknown if it depends on a single run, or on when memory is returned.",
    ),
    Column(
        "at_once",
        "amount_or_null",
        about="Peak and end for an allocator that returns memory by the clock, if it did so at "
        "once. At full speed also the mean.",
    ),
    Column("never", "amount_or_null", about="The same if it never did; also null at full speed."),
)

_PERCENTILE = "Null with fewer than ten slower calls."
SITE_LATENCY = (
    Column("function", "text"),
    Column("largest_bytes", about="Sizes from more than half of it."),
    *(
        column
        for whose in ("", "reference_")
        for column in (
            Column(f"{whose}calls"),
            Column(f"{whose}p50_ns", "amount_or_null", about=_PERCENTILE),
            Column(f"{whose}p99_ns", "amount_or_null", about=_PERCENTILE),
            Column(f"{whose}p999_ns", "amount_or_null", about=_PERCENTILE),
        )
    ),
)

_SITE = (
    Column("site"),
    Column("function", "text"),
    Column("file", "text"),
    Column("line"),
    Column("library", "text"),
    Column("name", "text"),
)

CALL_SITE = (
    *_SITE,
    Column("calls"),
    Column("ns", "number"),
    Column("reference_ns", "number"),
    Column("difference_ns", "difference"),
    Column("noise_ns", "number"),
    Column("share", "difference", about="Of the whole difference."),
    Column(
        "latency",
        Many(SITE_LATENCY),
        about="Latency of its calls, and of its blocks' releases, by function and size, without "
        "writing to fresh pages; for 20 calls or more. Empty if a site has less than a thousandth of the "
        "time.",
    ),
)

CALL_SITES = (
    Column("ns", "number", about="Of all calls."),
    Column("reference_ns", "number"),
    Column("difference_ns", "difference"),
    Column("noise_ns", "number"),
    Column("sites", Many(CALL_SITE), about="Those with a difference larger than noise, largest first."),
)

HELD_SITE = (
    *_SITE,
    Column("blocks", about="Live at that time."),
    Column("bytes", "number", about="Pages are attributed to the blocks on them, by their bytes there."),
    Column("reference_bytes", "number"),
    Column("difference_bytes", "difference"),
    Column("noise_bytes", "number"),
    Column("share", "difference", about="Of the whole difference."),
)

HELD = (
    Column("time_ns", "number", about="The time of the reference's peak."),
    Column("bytes", "number", about="Of the heap at that time."),
    Column("reference_bytes", "number"),
    Column("difference_bytes", "difference"),
    Column("noise_bytes", "number"),
    Column("unowned_bytes", "number", about="The part without any block: free pages, caches, tables."),
    Column("unowned_difference_bytes", "difference"),
    Column("sites", Many(HELD_SITE), about="Those with a difference larger than noise, largest first."),
)

FUNCTION = (
    Column("function", "text"),
    Column("largest_bytes", about="Sizes from more than half of it."),
    Column("calls"),
    Column("sum_ns", "number"),
    Column("p50_ns", "amount_or_null", about=_PERCENTILE),
    Column("p99_ns", "amount_or_null", about=_PERCENTILE),
    Column("p999_ns", "amount_or_null", about=_PERCENTILE),
    Column("max_ns", "number"),
)

WHOLE_FUNCTION = (FUNCTION[0], *FUNCTION[2:])

TIMES = (
    Column("calls"),
    Column("sum_ns", "number"),
    Column("p50_ns", "amount_or_null", about=_PERCENTILE),
    Column("p99_ns", "amount_or_null", about=_PERCENTILE),
)

TIME_FIDELITY = (
    Column(
        "recorded_ns",
        "number",
        about="Of the calls, CPU time if known, without the recorder's work.",
    ),
    Column("replayed_ns", "number", about="On the recorded allocator, the minimum time of each operation."),
    Column("relative_error", "difference", about="Of the sum; below 0: the replay takes less."),
    Column("error_ns", "number", about="Of the sum; a smaller difference in time_ns does not count."),
    Column(
        "tail_factor",
        "number",
        about="The factor by which p99 is off; a smaller difference in p999_ns does not count.",
    ),
    Column(
        "is_same_shape",
        "flag",
        about="p50 and p99 of each function with at least a tenth of the time are within a factor of 1.5. "
        "Otherwise the size of time differences is not reliable.",
    ),
    Column(
        "functions", Many((Column("function", "text"), Column("recorded", TIMES), Column("replayed", TIMES)))
    ),
)

COUNTED = (Column("median", "number"), Column("low", "number"), Column("high", "number"))

SYSTEM_CALL = (Column("calls", COUNTED), Column("ns", COUNTED))

KERNEL = (
    Column("faults", COUNTED, about="In recorded order."),
    Column("voluntary_switches", COUNTED, about="Waits, with all threads at full speed."),
    Column("involuntary_switches", COUNTED, about="Preemptions by other processes or its threads, the same."),
    Column(
        "system_calls",
        "system_calls_or_null",
        about="Of the heap calls in recorded order, by kind: mmap, munmap, mremap, madvise, mprotect, brk, "
        "futex, other; not those of the allocator's own threads. Null if the kernel cannot report them "
        "(before Linux 5.11).",
    ),
)

SPREAD = (*COUNTED, Column("runs"))

MEASURED = tuple(Column(figure.key, "spread", about=figure.about) for figure in MEASURES)

RUNS = (
    Column("memory", Many("raw_figures")),
    Column("time", Many("raw_figures"), about="With all threads at full speed."),
    Column("gaps", Many("raw_figures"), about="With the program's gaps; empty without --gaps."),
)

GAPS_OF = (
    Column("name", "text"),
    Column("late_share", "amount_or_null", about="Share of calls that began more than 50 µs late."),
    Column("p50_ns", "amount_or_null"),
    Column("p99_ns", "amount_or_null"),
    Column("p999_ns", "amount_or_null"),
    Column("max_ns", "amount_or_null"),
)

GAPS = (
    Column("rate", "number", about="Speed relative to the program."),
    Column("program_ns", "number", about="From its first call to its last, without the recorder's cost."),
    Column(
        "recorded_ns",
        "amount_or_null",
        about="Of the calls, including waiting but not preemption; null in a window, on another allocator, "
        "or if not recorded.",
    ),
    Column("replayed_ns", "amount_or_null", about="The same on the reference, median of its runs."),
    Column("error_ns", "amount_or_null", about="A smaller difference in gaps_time_ns does not count."),
    Column("candidates", Many(GAPS_OF), about="Medians of the runs; null after a failure."),
)

CANDIDATE = (
    Column("name", "text"),
    Column("version", "text"),
    Column("path", "text", about="Of the library; empty: the C library's allocator."),
    Column("variables", "texts", about="Environment variables of the settings."),
    Column("change", "text", about="The change in the replay; empty: as recorded."),
    Column("command", "text", about="The command to run the program with it."),
    Column("failure", "text", about="How it crashed, hung or failed; empty: it did not."),
    Column(
        "runs",
        RUNS,
        about="Raw figures of each run; calls and their times are of the clocked ones: all, or one in eight "
        "of more than 4 million.",
    ),
    Column("figures", "figures", about="Without figures that were not measured."),
    Column(
        "resident_bytes",
        Many("number"),
        about="At each of the moments, plus the process's memory outside its heap; empty after a failure.",
    ),
    Column("call_sites", "call_sites_or_null", about="Null for the reference or if not measured."),
    Column("memory_sites", "held_or_null", about="Null for the reference or if not measured."),
    Column(
        "functions",
        "functions_or_null",
        about="The calls' minimum times by function and size; null if not measured.",
    ),
    Column("whole_functions", "whole_functions_or_null", about="The same over all sizes."),
    Column(
        "longest_frees_ns",
        "amount_or_null",
        about="The longest run of a thread's frees without an allocation between them, in minimum times; "
        "deferred frees count as 0.",
    ),
    Column("kernel", "kernel_or_null", about="Its use of the kernel; null after a failure."),
    Column("measured", "measured", about="Figures without a verdict; without those that were not measured."),
)

DOCUMENT = (
    Column("trace", "text"),
    Column("program", "text"),
    Column("recording_start_unix_ns", about="Distinguishes recordings of the same program."),
    Column("recorded_on", "text"),
    Column("machine", "machine"),
    Column("notes", Many("text"), about="What a reader needs to know before the figures."),
    Column("plan", PLAN),
    Column("changes", Many(CHANGE), about="The effect of each change of each --change."),
    Column("pace", "number", about="Replay time of memory as a share of the recorded time; 0: full speed."),
    Column("fidelity", "fidelity_or_null", about="Null if the recording does not report it."),
    Column(
        "time_fidelity",
        "time_fidelity_or_null",
        about="Null if calls were not timed one by one, in a window, or on another allocator.",
    ),
    Column("gaps", "gaps_or_null", about="Times at the program's load; null without --gaps."),
    Column("dry_cpu_ns", "number", about="The replay's own time, excluded from time_ns."),
    Column("dry_range_ns", "number", about="The range of its runs."),
    Column("reference", "text", about="The candidate that the others are compared with."),
    Column("is_recorded", "flag", about="The reference is what the recording ran on."),
    Column("runs"),
    Column("moments", MOMENTS),
    Column("candidates", Many(CANDIDATE), about="The reference first."),
    Column("front", Many("text"), about="The Pareto front in time, peak, mean and tail."),
)

FIGURE_KEYS = tuple(figure.key for figure in FIGURES)
