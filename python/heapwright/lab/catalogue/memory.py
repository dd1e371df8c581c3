# SPDX-License-Identifier: MIT
"""Experiments whose answer is memory: fragmentation, overhead, retention, growth."""

from __future__ import annotations

from heapwright.measure.experiment import Case, Experiment, Figure, Part, Plot

_BLOCK_SIZES = (4, 40, 100, 400, 1000, 4000, 40000)

FRAGMENTATION = Experiment(
    name="fragmentation",
    title="The heap that runs for long",
    explained=(
        "Blocks of nine sizes from 169 to 999113 bytes are allocated or freed at random, up to 25.6 "
        "million times, by one, two and four threads.",
        "The number of blocks of each size is fixed, so the live set stays bounded: a heap that grows "
        "all the same loses memory to holes.",
        "Overhead is resident over requested bytes, minus one; faults are the pages that had to be "
        "fetched from the kernel.",
    ),
    reported="A low-fragmentation heap cost more at first and far less after 25.6 million iterations, "
    "with far fewer faults and steady speed, while the default heap degraded as iterations grew.",
    meaning="For a process that lives for weeks the right end of the curves counts: compare overhead and "
    "speed at the last iteration, not at the first.",
    is_pinned=False,
    parts=(
        Part(
            name="fragmentation",
            title="After 25.6 million iterations",
            figures=(
                Figure("overhead_ratio", "overhead", "share"),
                Figure("operations_per_s", "operations per second", "per_s", "higher"),
                Figure("faults", "page faults", "count"),
            ),
            cases=tuple(Case(f"{n} thread{'s' if n > 1 else ''}", {"threads": str(n)}, n) for n in (1, 2, 4)),
            plots=tuple(
                Plot(
                    f"{title}, one thread",
                    y,
                    y_title,
                    kind="series",
                    x="iterations",
                    x_title="iterations",
                    case="1 thread",
                    log_x=True,
                    log_y=is_log,
                )
                for title, y, y_title, is_log in (
                    ("Memory overhead", "overhead_by_iterations", "resident / requested − 1", False),
                    ("Speed", "operations_per_s_by_iterations", "operations/s", False),
                    ("Page faults", "faults_by_iterations", "faults", True),
                )
            ),
        ),
    ),
)

OVERHEAD = Experiment(
    name="overhead",
    title="Overhead per allocation",
    explained=(
        "100 MB are allocated in blocks of one size and written, each size in a process of its own.",
        "What the process has resident beyond the requested bytes, divided by the number of blocks, is "
        "the price of one block.",
        "It holds everything: headers, rounding, the allocator's tables and pages that are only partly used.",
    ),
    reported="24 to 182 bytes per block with one 32-bit runtime, 49 to 182 in its 64-bit build, 8 to 318 "
    "with another, growing with the block size at the end.",
    meaning="Small blocks waste most: lists, maps and sets of small items pay this price per node; pack "
    "them into vectors, and measure even where a list seems required.",
    parts=(
        Part(
            name="overhead",
            title="Bytes per block beyond the requested ones",
            figures=(
                Figure("overhead_bytes", "overhead per block, bytes", "ratio"),
                Figure("ns_per_block", "time per block", "ns"),
            ),
            cases=tuple(Case(f"{size} B", {"size": str(size)}, size) for size in _BLOCK_SIZES),
            plots=(
                Plot(
                    "Overhead over block size",
                    "overhead_bytes",
                    "bytes per block",
                    kind="cases",
                    x_title="bytes requested",
                    log_x=True,
                    log_y=True,
                ),
            ),
        ),
    ),
)

RETAIN = Experiment(
    name="retain",
    title="What comes back after a mass free",
    explained=(
        "478 MB are allocated (80 % of the blocks below 256 bytes, up to 64 KiB) and written, then 90 % "
        "of the blocks are freed at random and the process sits idle for five seconds.",
        "Resident over live bytes is measured at once, after the idle time, and after a thousand small "
        "calls.",
        "The floor is the pages that still hold a part of a live block: no allocator that cannot move "
        "blocks gets below it.",
    ),
    reported="Every known allocator stayed at 10 to 12 times the live bytes and returned nothing while "
    "idle, though about half of the freed bytes lay in wholly free pages.",
    meaning="If your service is sized by its resident memory, a burst stays on the bill: look for an "
    "allocator that returns pages by itself, or ask yours to (malloc_trim, purge calls) after the burst.",
    parts=(
        Part(
            name="retain",
            title="Resident over live after freeing 90 %",
            figures=(
                Figure("idle_ratio", "after 5 s idle", "ratio"),
                Figure("at_once_ratio", "at once", "ratio"),
                Figure("called_ratio", "after idle and 1000 calls", "ratio"),
                Figure("above_floor_ratio", "idle / floor", "ratio"),
                Figure("floor_ratio", "floor", "ratio"),
            ),
            cases=(Case("90 % freed", {}),),
            plots=(
                Plot("Resident / live after five idle seconds", "idle_ratio", "times the live bytes"),
                Plot("The floor: pages that still hold a live block", "floor_ratio", "times the live bytes"),
            ),
        ),
    ),
)

REALLOC = Experiment(
    name="realloc",
    title="Growing buffers: in place or copied",
    explained=(
        "Buffers grow by realloc from 64 bytes to 8 MiB: one at a time by half, one at a time in steps "
        "of 4 KiB, and sixteen in turns.",
        "A call that keeps the address has moved nothing; one that does not has copied the buffer, or "
        "had the kernel remap its pages.",
        "The figure is the time per KiB of final size; the share of calls in place says why.",
    ),
    reported="Strings, logs and packet buffers grow this way; an allocator that cannot extend a block in "
    "place copies it again and again, and with neighbours around it none can.",
    meaning="If your buffers grow in small steps, reserve or grow by a factor first; only then does the "
    "allocator's ability to extend in place matter.",
    parts=(
        Part(
            name="realloc",
            title="Growing to 8 MiB",
            figures=(
                Figure("ns_per_kib", "time per KiB of final size", "ns"),
                Figure("in_place_ratio", "calls in place", "share", "higher"),
                Figure("moved_ratio", "bytes moved / final size", "ratio"),
            ),
            cases=(
                Case("alone by half", {"pattern": "alone"}),
                Case("alone by 4 KiB", {"pattern": "steps"}),
                Case("16 in turns", {"pattern": "together"}),
            ),
            plots=(
                Plot("Time per KiB of final size", "ns_per_kib", "ns", log_y=True),
                Plot("Share of calls that kept the address", "in_place_ratio", "share"),
            ),
        ),
    ),
)
