# SPDX-License-Identifier: MIT
"""Experiments whose answer is a time: latency, freeing, threads."""

from __future__ import annotations

from heapwright.measure.experiment import Case, Experiment, Figure, Part, Plot

_SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_COUNTS = {"1K": 1_000, "10K": 10_000, "100K": 100_000, "1M": 1_000_000, "5M": 5_000_000}

CONTENTION = Experiment(
    name="contention",
    title="Lock collisions of two threads",
    explained=(
        "Two threads allocate and free blocks of nine sizes as fast as they can, once on slots of their "
        "own and once on common slots, where half of the frees are of blocks that the other thread "
        "allocated.",
        "A collision is counted each time a working thread has to give up its CPU to wait: the kernel's "
        "count of voluntary context switches, read from outside the allocator; the load itself never "
        "sleeps.",
        "Locks that only spin are not seen by that, so the second figure is the rate of both threads "
        "over twice the rate of one: 100 % means that they do not disturb each other.",
    ),
    reported="Two threads of this kind caused about 15 collisions per second on a default heap, and "
    "about half as many on a heap made for low fragmentation; the advice was private heaps for "
    "allocation-heavy classes.",
    meaning="If your threads free each other's blocks, look at the second row of columns: an allocator "
    "that scales there saves you from restructuring; where collisions are near zero, locks are not your "
    "problem.",
    is_pinned=False,
    parts=(
        Part(
            name="contention",
            title="Two threads, own and common slots",
            figures=(
                Figure("collisions_per_s", "collisions per second", "count"),
                Figure("scaling_ratio", "rate of both / twice the rate of one", "share", "higher"),
                Figure("operations_per_s", "operations per second", "per_s", "higher"),
            ),
            cases=(
                Case("own slots", {"slots": "own"}),
                Case("common slots", {"slots": "shared"}),
            ),
            plots=(
                Plot("Collisions per second", "collisions_per_s", "collisions/s"),
                Plot("Rate of two threads over twice the rate of one", "scaling_ratio", "share"),
            ),
        ),
    ),
)

LATENCY = Experiment(
    name="latency",
    title="The unpredictable malloc",
    explained=(
        "Three loads on one core: the mean time of a call while a million blocks of one size are "
        "allocated and then freed; one single malloc(1024) after ten million blocks of 4 bytes were "
        "freed; and a mixed load in which everything is freed every so often.",
        "For the mixed load the same deterministic program runs several times in fresh processes and "
        "each operation keeps its least time, because noise strikes at random and real work recurs at "
        "the same place.",
        "The percentiles and the maximum of what is left are the allocator's own, not the machine's.",
    ),
    reported="Means of tens of nanoseconds that grow with size, and one call of 51 ms, more than 200,000 "
    "times the mean, which paid for consolidating ten million deferred frees (glibc before 2.43 does "
    "that).",
    meaning="If a frame, a request or a control cycle must end in time, choose by the worst call and not "
    "by the mean: the mean hides a call that costs more than all of your budget.",
    parts=(
        Part(
            name="mean",
            title="Mean time per call by block size",
            figures=(
                Figure("mean_ns", "mean time per call", "ns"),
                Figure("allocate_ns", "per allocation", "ns"),
                Figure("free_ns", "per free", "ns"),
            ),
            cases=tuple(Case(f"{size} B", {"part": "mean", "size": str(size)}, size) for size in _SIZES),
            plots=(
                Plot(
                    "Mean time per call over block size",
                    "mean_ns",
                    "ns per call",
                    kind="cases",
                    x_title="bytes",
                    log_x=True,
                    log_y=True,
                ),
            ),
        ),
        Part(
            name="one-call",
            title="One malloc(1024) after ten million frees",
            figures=(
                Figure("one_call_ns", "the one call", "ns"),
                Figure("mean_ns", "mean of the calls before", "ns"),
            ),
            cases=(Case("after 10 M frees", {"part": "one-call", "size": "4", "blocks": "10000000"}),),
            plots=(Plot("One malloc(1024) after ten million frees", "one_call_ns", "ns", log_y=True),),
        ),
        Part(
            name="mixed",
            title="A mixed load with mass frees: intrinsic latencies",
            figures=(
                Figure("max_ns", "worst call", "ns"),
                Figure("p9999_ns", "p99.99", "ns"),
                Figure("p999_ns", "p99.9", "ns"),
                Figure("p99_ns", "p99", "ns"),
                Figure("p50_ns", "p50", "ns"),
            ),
            cases=(Case("mixed", {"part": "mixed"}),),
            plots=(
                Plot(
                    "One call in N takes at least this long",
                    "slower_than_ns",
                    "ns",
                    kind="series",
                    x="one_in",
                    x_title="N",
                    log_x=True,
                    log_y=True,
                ),
                Plot("Worst intrinsic call of the mixed load", "max_ns", "ns", log_y=True),
            ),
            folds=True,
            least_runs=5,
        ),
    ),
)

FREE_COST = Experiment(
    name="free-cost",
    title="The cost of freeing",
    explained=(
        "Blocks of 1 to 1024 bytes are allocated and then freed in random order.",
        "Sizes and order are drawn beforehand, so that only the allocator is timed, and the first byte "
        "of each block is written, as a program would.",
        "The figure is the time of all frees over the time of all allocations, from a thousand to five "
        "million blocks.",
    ),
    reported="Freeing cost 51 % of allocating at 1 K blocks, 98 % at 10 K, 106 % at 1 M and 193 % at 5 M "
    "with one compiler's runtime, 47 to 119 % with another's.",
    meaning="Freeing is not free: with many blocks it may cost more than allocating; free when idle, "
    "free whole groups at once (an arena), or not at all when the process is about to end.",
    parts=(
        Part(
            name="free-cost",
            title="Time of free over time of malloc",
            figures=(
                Figure("free_ratio", "free / allocate", "share"),
                Figure("total_ns", "allocate and free, per block", "ns"),
                Figure("allocate_ns", "allocate", "ns"),
                Figure("free_ns", "free", "ns"),
            ),
            cases=tuple(Case(name, {"blocks": str(count)}, count) for name, count in _COUNTS.items()),
            plots=(
                Plot(
                    "Cost of freeing relative to allocating",
                    "free_ratio",
                    "free / allocate",
                    kind="cases",
                    x_title="blocks",
                    log_x=True,
                ),
                Plot(
                    "Allocating and freeing one block",
                    "total_ns",
                    "ns per block",
                    kind="cases",
                    x_title="blocks",
                    log_x=True,
                    log_y=True,
                ),
            ),
        ),
    ),
)

REMOTE = Experiment(
    name="remote",
    title="Blocks that die in another thread",
    explained=(
        "Blocks of everyday sizes are allocated in one thread and freed in another: first from one "
        "producer to one consumer, then from two and from four threads to each other.",
        "The blocks travel through bounded rings, so that few of them live at once.",
        "The figure is the rate of blocks through all threads; what is resident at the end, when "
        "everything was freed, shows whether memory gets stuck on one side.",
    ),
    reported="Thread caches are built for blocks that die where they were born; the known allocators "
    "differ here by several times, and one that parks remote frees too long grows without bound.",
    meaning="If your program hands messages or buffers from thread to thread, this is your load: weigh "
    "this table higher than any single-threaded one.",
    is_pinned=False,
    parts=(
        Part(
            name="remote",
            title="Producer to consumer, and each to each",
            figures=(
                Figure("blocks_per_s", "blocks per second", "per_s", "higher"),
                Figure("resident_bytes", "left resident", "bytes"),
            ),
            cases=(
                Case("1 to 1", {"pattern": "pipeline"}),
                Case("2 each to each", {"pattern": "all", "threads": "2"}),
                Case("4 each to each", {"pattern": "all", "threads": "4"}),
            ),
            plots=(Plot("Blocks per second through threads", "blocks_per_s", "blocks/s"),),
        ),
    ),
)
