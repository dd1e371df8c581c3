# SPDX-License-Identifier: MIT
"""What is measured: loads, and the rows of the table that their figures make."""

from dataclasses import dataclass, field

floor = "nothing"  # a heap that does nothing: bump_pointer.cpp
overhead_sizes = (4, 8, 16, 24, 40, 72, 100, 400, 1000, 4000, 40000)


@dataclass(frozen=True)
class Load:
    """One program run per repetition and allocator.

    command: of heapwright-lab, or ("pairs", ...). folds: the runs share a file
    of minima, so that only the last one's figures count. has_floor: measured
    with a heap that does nothing, too.
    """

    name: str
    command: tuple[str, ...]
    repetitions: int
    is_pinned: bool = True
    folds: bool = False
    has_floor: bool = False


@dataclass(frozen=True)
class Row:
    """A figure and its goal.

    at_most_of_best: ours over the best peer's. at_most: a bound on our own.
    scale: raw figure to the unit shown.
    """

    title: str
    load: str
    figure: str
    unit: str
    at_most_of_best: float | None = None
    at_most: float | None = None
    scale: float = 1.0
    higher_is_better: bool = False
    series: str = field(default="")
    series_at: float = 0.0


loads = (
    Load("pair_1", ("pairs", "1", "20000000"), 9, False),
    Load("pair_2", ("pairs", "2", "20000000"), 9, False),
    Load("remote", ("remote", "--blocks", "8000000"), 7, False),
    Load("one_call", ("latency", "--part", "one-call", "--size", "4", "--blocks", "10000000"), 7),
    Load("mixed", ("latency", "--part", "mixed"), 21, folds=True),
    Load("free_cost", ("free-cost", "--blocks", "5000000"), 7, has_floor=True),
    Load("free_cost_unpinned", ("free-cost", "--blocks", "5000000"), 7, False, has_floor=True),
    Load("fragmentation", ("fragmentation", "--iterations", "6400000"), 5),
    Load("retain", ("retain",), 2),
    *(Load(f"overhead_{n}", ("overhead", "--size", str(n)), 1) for n in overhead_sizes),
)

rows = (
    Row("small pair, 1 thread", "pair_1", "ns_per_pair", "ns", at_most_of_best=0.95),
    Row("small pair, 2 threads", "pair_2", "ns_per_pair", "ns", at_most_of_best=0.95),
    Row("producer → consumer, per block", "remote", "ns_per_block", "ns", at_most_of_best=0.8),
    Row(
        "producer → consumer, peak resident",
        "remote",
        "peak_bytes",
        "MiB",
        at_most_of_best=0.5,
        scale=2**-20,
    ),
    Row(
        "one malloc(1024) after 10 M frees", "one_call", "one_call_ns", "us", at_most_of_best=1.0, scale=1e-3
    ),
    Row("mass frees, intrinsic p99.99", "mixed", "p9999_ns", "us", at_most=0.6, scale=1e-3),
    Row(
        "mass frees, intrinsic p99.999",
        "mixed",
        "slower_than_ns",
        "us",
        at_most=2.0,
        scale=1e-3,
        series="one_in",
        series_at=1e5,
    ),
    Row("mass frees, intrinsic maximum", "mixed", "max_ns", "us", at_most=10.0, scale=1e-3),
    Row(
        "5 M random blocks made and freed, one CPU, per block",
        "free_cost",
        "total_ns",
        "ns",
        at_most_of_best=0.85,
    ),
    Row(
        "the same, two CPUs (a heap may have a thread of its own)",
        "free_cost_unpinned",
        "total_ns",
        "ns",
        at_most_of_best=0.85,
    ),
    Row(
        "fragmenting load, operations",
        "fragmentation",
        "operations_per_s",
        "M/s",
        at_most_of_best=1.0,
        scale=1e-6,
        higher_is_better=True,
    ),
    Row("fragmenting load, overhead", "fragmentation", "overhead_ratio", "%", at_most=15.0, scale=100),
    Row("fragmenting load, page faults", "fragmentation", "faults", "", at_most_of_best=1.0),
    Row(
        "resident after 90 % freed and 5 s idle, over the floor",
        "retain",
        "above_floor_ratio",
        "×",
        at_most=1.1,
    ),
    *(
        Row(f"overhead of {n} bytes", f"overhead_{n}", "overhead_bytes", "B", at_most_of_best=1.0)
        for n in overhead_sizes
    ),
)
