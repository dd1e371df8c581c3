# SPDX-License-Identifier: MIT
# length: every field of the document has its line
"""The fields of the document heapwright.replay/1: names, units and what they mean.

schema.py makes the JSON schema of them. A unit that report/ does not know is a name in the schema's $defs.
"""

from __future__ import annotations

from heapwright.replay.decision import BETTER, FIGURES, SAME, UNKNOWN, WORSE
from heapwright.replay.fidelity import KEYS
from heapwright.replay.spread import MEASURES
from heapwright.report.columns import Choice, Column, Many

SCHEMA = "heapwright.replay/1"

# "number" is 0 or more, "difference" any number.
CURVE = tuple(Column(key, "number") for key in KEYS)

FIDELITY = (
    Column("recorded", CURVE),
    Column("replayed", CURVE, about="On the recorded allocator, with what the process has beside its heap."),
    Column("errors", CURVE, about="By how much the replay is off."),
    Column("beside_heap_bytes", "difference"),
    Column("relative_peak", "difference", about="The error of the peak; above 0: the replay has more."),
)

PLAN = (
    Column("threads"),
    Column("operations"),
    Column("lanes", about="Threads with calls."),
    Column("turns", about="How often another thread went on."),
    Column("slots"),
    Column("peak_live_bytes"),
    Column("before_recording", about="Calls about blocks from before the recording: left out."),
    Column("failed", about="Calls that gave no block."),
    Column("unseen_releases", about="Put where they must have been."),
    Column("damaged_chunks"),
    Column("begin_ns", about="Of the recording, or of the window in it that --quick replays."),
    Column("end_ns"),
    Column("earlier_blocks", about="Blocks that lived at the begin of the window."),
    Column("earlier_bytes"),
    Column("large_blocks", about="Of at least 16 KiB."),
    Column("seen_blocks", about="Those of them whose pages a scan saw."),
    Column(
        "guessed_touched_bytes",
        "amount_or_null",
        about="Of the blocks of at least 16 KiB that no scan saw: counted as touched, at one of the moments "
        "at most. A replay may be too high by this. Null without moments.",
    ),
    Column(
        "guessed_untouched_bytes",
        "amount_or_null",
        about="The same: counted as not touched. It may be too low by this.",
    ),
    Column(
        "small_bytes", "amount_or_null", about="Of smaller blocks, which count as touched whole; the same."
    ),
)

CHANGE = (
    Column("text", "text", about="Of the whole --change, as it was typed."),
    Column("change", "text"),
    Column("sites", Many("text")),
    Column("changed_blocks", about="Served so, or with fewer calls."),
    Column("changed_bytes"),
    Column(
        "change_events",
        about="Resets of arenas; steps of growth, or calls, that are gone; rows of frees that are put off.",
    ),
    Column("freed_by_others", about="By another thread than made them."),
    Column("moved_by_others", about="Reallocated by another thread, and left with the heap."),
    Column("foreign_moves", about="Reallocs there of blocks from elsewhere: as recorded."),
    Column("never_freed"),
    Column("outlived", about="Lived on after the end of their phase, and left with the heap."),
    Column("most_waiting_bytes", about="Of blocks whose free was put off, at one moment."),
    Column("freed_by_caller", about="Of these blocks, by their own thread: too many waited, or it ended."),
)

MOMENTS = (
    Column("time_ns", Many("number"), about="Up to 256 moments of the recording."),
    Column("recorded_bytes", "amounts_or_null", about="Resident then; null where unknown."),
    Column(
        "needed_bytes",
        Many("number"),
        about="What live blocks have touched then, and the program's own mappings: whatever the allocator.",
    ),
)

FIGURE = (
    Column("value", "number", about="Of memory a prediction for the process where that is known."),
    Column("spread", "number"),
    Column("low", "number"),
    Column("high", "number"),
    Column("noise", "number", about="The relative difference that two halves of the same runs may show."),
    Column("runs"),
    Column("difference", "difference", about="To the reference."),
    Column("relative_difference", "difference"),
    Column(
        "verdict",
        Choice((BETTER, WORSE, SAME, UNKNOWN)),
        about="Unknown where a single run, or when it gives memory back, decides.",
    ),
    Column(
        "at_once",
        "amount_or_null",
        about="Of the peak and the end, where the allocator gives memory back by the clock: if it did so at "
        "once. At full speed of the mean as well.",
    ),
    Column("never", "amount_or_null", about="The same if it never did; null at full speed as well."),
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
        about="How long its calls, and the releases of its blocks, take by function and size, without "
        "writing to fresh pages; of 20 calls or more. Empty where a site has less than a thousandth of the "
        "time.",
    ),
)

CALL_SITES = (
    Column("ns", "number", about="Of all calls."),
    Column("reference_ns", "number"),
    Column("difference_ns", "difference"),
    Column("noise_ns", "number"),
    Column("sites", Many(CALL_SITE), about="Those whose difference is larger than noise, the largest first."),
)

HELD_SITE = (
    *_SITE,
    Column("blocks", about="That live then."),
    Column("bytes", "number", about="A page belongs to the blocks on it, by their bytes there."),
    Column("reference_bytes", "number"),
    Column("difference_bytes", "difference"),
    Column("noise_bytes", "number"),
    Column("share", "difference", about="Of the whole difference."),
)

HELD = (
    Column("time_ns", "number", about="The moment at which the reference has most."),
    Column("bytes", "number", about="Of the heap then."),
    Column("reference_bytes", "number"),
    Column("difference_bytes", "difference"),
    Column("noise_bytes", "number"),
    Column("unowned_bytes", "number", about="Of that, without any block: free pages, caches, tables."),
    Column("unowned_difference_bytes", "difference"),
    Column("sites", Many(HELD_SITE), about="Those whose difference is larger than noise, the largest first."),
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
        about="Of the calls, on the processor where that is known, without the recorder's work.",
    ),
    Column("replayed_ns", "number", about="On the recorded allocator, the least time of each operation."),
    Column("relative_error", "difference", about="Of the sum; below 0: the replay takes less."),
    Column("error_ns", "number", about="Of the sum; a smaller difference in time_ns does not count."),
    Column("tail_factor", "number", about="p99 is off by; a smaller difference in p999_ns does not count."),
    Column(
        "is_same_shape",
        "flag",
        about="Of each function with a tenth of the time or more p50 and p99 are within a factor of 1.5. "
        "Otherwise how large differences in time are is not promised.",
    ),
    Column(
        "functions", Many((Column("function", "text"), Column("recorded", TIMES), Column("replayed", TIMES)))
    ),
)

COUNTED = (Column("median", "number"), Column("low", "number"), Column("high", "number"))

SYSTEM_CALL = (Column("calls", COUNTED), Column("ns", COUNTED))

KERNEL = (
    Column("faults", COUNTED, about="In recorded order."),
    Column("voluntary_switches", COUNTED, about="With all threads at full speed: it had to wait."),
    Column("involuntary_switches", COUNTED, about="The same: others of the machine or its threads ran."),
    Column(
        "system_calls",
        "system_calls_or_null",
        about="Of the heap calls in recorded order, by kind: mmap, munmap, mremap, madvise, mprotect, brk, "
        "futex, other; not those of threads that the allocator has of its own. Null where the kernel cannot "
        "tell (before Linux 5.11).",
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
    Column("late_share", "amount_or_null", about="Of the calls: began more than 50 µs late."),
    Column("p50_ns", "amount_or_null"),
    Column("p99_ns", "amount_or_null"),
    Column("p999_ns", "amount_or_null"),
    Column("max_ns", "amount_or_null"),
)

GAPS = (
    Column("rate", "number", about="So many times as fast as the program."),
    Column("program_ns", "number", about="From its first call to its last, without the recorder's cost."),
    Column(
        "recorded_ns",
        "amount_or_null",
        about="Of the calls, waiting included, preemption not; null in a window, on another allocator, and "
        "if not recorded.",
    ),
    Column("replayed_ns", "amount_or_null", about="The same on the reference, median of its runs."),
    Column("error_ns", "amount_or_null", about="A smaller difference in gaps_time_ns does not count."),
    Column("candidates", Many(GAPS_OF), about="Medians of the runs; null after a failure."),
)

CANDIDATE = (
    Column("name", "text"),
    Column("version", "text"),
    Column("path", "text", about="Of the library; empty: the C library's own."),
    Column("variables", "texts", about="The settings' environment."),
    Column("change", "text", about="With which the recording is replayed; empty: as recorded."),
    Column("command", "text", about="How to run the program so."),
    Column("failure", "text", about="How it crashed, hung or failed; empty: it did not."),
    Column(
        "runs",
        RUNS,
        about="Raw figures of each run; calls and their times are of those that were clocked: all, of more "
        "than 4 million one in eight.",
    ),
    Column("figures", "figures", about="What was not measured is not there."),
    Column(
        "resident_bytes",
        Many("number"),
        about="At each of the moments, with what the process has beside its heap; empty after a failure.",
    ),
    Column("call_sites", "call_sites_or_null", about="Null for the reference and where not measured."),
    Column("memory_sites", "held_or_null", about="Null for the reference and where not measured."),
    Column(
        "functions",
        "functions_or_null",
        about="The calls' least times by function and size; null where not measured.",
    ),
    Column("whole_functions", "whole_functions_or_null", about="The same over all sizes."),
    Column(
        "longest_frees_ns",
        "amount_or_null",
        about="The least times of a thread's frees without a block made between them, at most; those that "
        "are put off take nothing.",
    ),
    Column("kernel", "kernel_or_null", about="What it asks of the kernel; null after a failure."),
    Column("measured", "measured", about="What decides nothing; what was not measured is not there."),
)

DOCUMENT = (
    Column("trace", "text"),
    Column("program", "text"),
    Column("recording_start_unix_ns", about="Distinguishes recordings of the same program."),
    Column("recorded_on", "text"),
    Column("machine", "machine"),
    Column("notes", Many("text"), about="What a reader has to know before the figures."),
    Column("plan", PLAN),
    Column("changes", Many(CHANGE), about="What became of each change of each --change."),
    Column(
        "pace", "number", about="The share of the recorded time that memory was replayed in; 0: full speed."
    ),
    Column("fidelity", "fidelity_or_null", about="Null where the recording does not report it."),
    Column(
        "time_fidelity",
        "time_fidelity_or_null",
        about="Null where calls were not timed one by one, in a window, or on another allocator.",
    ),
    Column("gaps", "gaps_or_null", about="Times at the program's load; null without --gaps."),
    Column("dry_cpu_ns", "number", about="What the replay itself takes, left out of time_ns."),
    Column("dry_range_ns", "number", about="How far its runs lie apart."),
    Column("reference", "text", about="The candidate that the others are compared with."),
    Column("is_recorded", "flag", about="The reference is what the recording ran on."),
    Column("runs"),
    Column("moments", MOMENTS),
    Column("candidates", Many(CANDIDATE), about="The reference first."),
    Column("front", Many("text"), about="Those that none beats in time, peak, mean and tail together."),
)

FIGURE_KEYS = tuple(figure.key for figure in FIGURES)
