# SPDX-License-Identifier: MIT
"""What top says, as plain data: heapwright.top/1."""

from __future__ import annotations

from heapwright.live.document import CALLS, CONTEXT, FUNCTION_CALLS, SIZE, WHILE_READING
from heapwright.live.growing import GROWING
from heapwright.live.memory_columns import MEMORY
from heapwright.report.columns import Column, Many

SCHEMA = "heapwright.top/1"
_LATELY = "Since the last look, or all where there was none; null: ran backwards, or not counted."
ROW = (
    Column("process"),
    Column("program", "text"),
    Column("threads", about="Running threads."),
    Column("resident_bytes"),
    *MEMORY,
    Column("contended_per_s", "maybe", about="Of libheapwright.so's locks, counted by itself."),
    Column(
        "remote_frees_per_s",
        "maybe",
        about="Cross-thread frees; only libheapwright.so.",
    ),
    Column(
        "collisions_per_s",
        "maybe",
        about="Heap calls that waited for a lock, estimated from the timed "
        "calls; of libheapwright.so with its own counters: counted.",
    ),
    Column("collisions_low_per_s", "maybe", about="The 95 % interval."),
    Column("collisions_high_per_s", "maybe"),
    Column("lost_ns_per_s", "maybe", about="Time off the CPU in these calls, summed over threads."),
    Column("lost_low_ns_per_s", "maybe", about="The 95 % interval."),
    Column("lost_high_ns_per_s", "maybe", about="Null: no wait was seen, so its length is not known."),
    Column(
        "preempted_ns_per_s", "maybe", about="Time in which the kernel had taken the CPU from heap calls."
    ),
    Column(
        "is_contended",
        "maybe_flag",
        about="Whether locks cost heap calls more than 1 ms per second: since "
        "the last look, or in its whole life where this look saw too little. Null: too few timed calls.",
    ),
    Column("calls_per_s", "maybe", about=_LATELY),
    Column("requested_bytes_per_s", "maybe", about=_LATELY),
    Column("live_blocks", "maybe_signed"),
    Column("live_bytes", "maybe_signed"),
    Column("calls_while_reading", "maybe", about=WHILE_READING),
    Column("overhead", "maybe", about="resident_bytes divided by live_bytes."),
    Column("anonymous_overhead", "maybe", about="anonymous_bytes divided by live_bytes."),
    Column("mean_ns", "maybe", about="Of recent timed calls; of the whole lifetime if these are too few."),
    Column("p99_ns", "maybe"),
)
LATELY = (
    Column("calls", FUNCTION_CALLS),
    Column("sizes", Many(SIZE)),
    Column("contexts", Many(CONTEXT), about="As those of process, since the last look."),
)
REMEDY = (
    Column("remedy", "text", about="As try takes it."),
    Column("made", about="Blocks."),
    Column("reused", about="Of these, freed ones that had been kept."),
    Column("deferred", about="Frees that a thread did later."),
    Column("refused", about="Blocks that the program's allocator made for want of memory."),
    Column("left", about="The same, since the site holds nearly all of the memory."),
    Column("live_blocks"),
    Column("live_bytes"),
    Column("held_bytes", about="Address space of the site's heap."),
    Column("looked_ns", about="CLOCK_MONOTONIC of the last three; 0: not yet."),
)
DOCUMENT = (
    Column("interval_ns", about="Between the two looks."),
    Column("processes", Many(ROW), about="The largest first, by --sort."),
    Column("problems", Many("text"), about="Pages that are left out, and why."),
)
# Of the one named process.
OF_ONE = (
    Column("process", CALLS),
    Column("lately", LATELY),
    Column("growing", GROWING, about="If stacks are sampled."),
    Column("remedies", Many(REMEDY), about="If libheapwright-apply.so applies some."),
)
