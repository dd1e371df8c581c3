# SPDX-License-Identifier: MIT
"""Experiments on what stands between a program and its heap: caches, arenas, pools, containers."""

from __future__ import annotations

from heapwright.measure.experiment import Case, Comparison, Experiment, Figure, Part, Plot

_POLICIES = {
    "no cache": {"policy": "none"},
    "keep the larger": {"policy": "flawed"},
    "keep the larger, 4 entries": {"policy": "flawed", "entries": "4"},
    "cutoff 200 B": {"policy": "cutoff"},
    "bucketed": {"policy": "bucketed"},
    "buffer_cache (ours)": {"policy": "own"},
}


def _buffer_part(variant: str, probability: str) -> Part:
    return Part(
        name=variant,
        title=f"Requests double with probability {probability} ({variant})",
        figures=(
            Figure("late_used_percent", "used, last half", "percent", "higher", of_load=True),
            Figure("used_percent", "used, all", "percent", "higher", of_load=True),
            Figure("hit_percent", "served by the cache", "percent", "higher", of_load=True),
            Figure("cached_bytes", "in the cache", "bytes", of_load=True),
            Figure("ns_per_step", "time per step", "ns"),
            Figure("resident_bytes", "resident", "bytes"),
        ),
        cases=tuple(Case(name, {"variant": variant, **options}) for name, options in _POLICIES.items()),
        plots=(
            Plot(
                f"Used share of the buffers that callers hold ({variant})",
                "used_percent_by_steps",
                "% used",
                kind="series",
                x="steps",
                x_title="steps",
                lines="cases",
            ),
        ),
    )


BUFFER_CACHE = Experiment(
    name="buffer-cache",
    title="The poisoned buffer cache",
    explained=(
        "A cache of returned buffers that keeps the larger one, on the theory that it satisfies more "
        "requests, is run beside its cures: at each step a buffer is requested or a random one returned.",
        "The figure is the bytes that callers need over the bytes of the buffers they hold.",
        "The waste is not in the cache but in what it handed out: large buffers end at small callers, "
        "and come back to the cache only to be handed out again.",
    ),
    reported="Keeping the larger buffer fell to 0.5 to 8 % used (1.8 MB held for 30 KB needed), and a "
    "deeper cache made it worse; a cutoff at 200 bytes brought 91 to 100 %.",
    meaning="If you cache buffers of varying size, bound what a hand-out may waste before you tune "
    "anything else; a hit rate alone looks best exactly where the poison is worst.",
    parts=(_buffer_part("flat", "1/2"), _buffer_part("steep", "1/4")),
)

ARENA = Experiment(
    name="arena",
    title="Objects on a buffer",
    explained=(
        "100,000 objects of 104 bytes are created and destroyed: with one new and delete each, placed into "
        "one buffer, through the standard's monotonic resource, and through our arena, kept between rounds "
        "or made anew in each.",
        "The first round is shown apart, because there the kernel has to bring the pages. "
        "Construction alone puts them into pages that are there: no allocator can be faster.",
        "The figure is the time per object of the later rounds, creation and destruction together.",
    ),
    reported="9114 ticks with one new each against 1936 with placement into one buffer, about 5 times.",
    meaning="Where many objects share one lifetime an arena takes the allocator out of the picture, "
    "whichever it is; objects that must be freed one by one cannot use it, so measure first.",
    parts=(
        Part(
            name="arena",
            title="Time per object",
            figures=(
                Figure("later_ns", "later rounds", "ns"),
                Figure("first_ns", "first round", "ns", has_own_table=True),
                Figure("make_ns", "making", "ns"),
                Figure("end_ns", "ending", "ns"),
            ),
            cases=(
                Case("new and delete", {"method": "new"}),
                Case("one buffer", {"method": "buffer"}),
                Case("std::pmr monotonic", {"method": "monotonic"}),
                Case("arena (ours)", {"method": "arena"}),
                Case("arena on huge pages (ours)", {"method": "arena-huge"}),
                Case("construction alone", {"method": "construct"}),
            ),
            plots=(Plot("Creating and destroying one object", "later_ns", "ns", log_y=True),),
            comparison=Comparison("new and delete", "arena (ours)", "construction alone"),
        ),
        Part(
            name="lifetimes",
            title="Kept and fresh arenas, objects without and with a destructor",
            figures=(
                Figure("later_ns", "later rounds", "ns"),
                Figure("first_ns", "first round", "ns"),
                Figure("make_ns", "making", "ns"),
                Figure("end_ns", "ending", "ns"),
            ),
            cases=tuple(
                Case(f"{name}{suffix}", {"method": method, "kind": of})
                for of, suffix in (("plain", ""), ("ending", ", destructor"))
                for name, method in (
                    ("new and delete", "new"),
                    ("arena, kept", "arena"),
                    ("arena, fresh", "arena-fresh"),
                    ("construction alone", "construct"),
                )
            ),
            plots=(Plot("One object, by its kind and its arena's", "later_ns", "ns", log_y=True),),
        ),
    ),
)

POOL = Experiment(
    name="pool",
    title="Pools of objects that contain vectors",
    explained=(
        "Ten thousand pooled objects, each with a vector, are taken, filled with 1.5 elements on average "
        "(at most 100), and given back.",
        "With clear() a vector keeps its capacity, so over time every object comes to own a buffer for "
        "its largest use; releasing or trimming on return stops that.",
        "The figure is the bytes of capacity held per byte in use.",
    ),
    reported="A server grew slowly though nothing leaked: in the end every pooled object owned a buffer "
    "for 100 elements. It was found by differencing dumps of all allocations over a night.",
    meaning="If your process grows and no leak is found, look at what your pools keep inside their "
    "objects; trimming on return costs next to nothing.",
    parts=(
        Part(
            name="pool",
            title="Capacity held after 20 million steps",
            figures=(
                Figure("held_ratio", "held / in use", "ratio", of_load=True),
                Figure("held_bytes", "capacity held", "bytes", of_load=True),
                Figure("ns_per_step", "time per step", "ns"),
                Figure("resident_bytes", "resident", "bytes"),
            ),
            cases=(
                Case("clear()", {"policy": "clear"}),
                Case("release", {"policy": "release"}),
                Case("trim to 8", {"policy": "trim"}),
                Case("object_pool (ours)", {"policy": "object_pool"}),
            ),
            plots=(
                Plot(
                    "Capacity held over time",
                    "held_bytes_by_steps",
                    "bytes",
                    kind="series",
                    x="steps",
                    x_title="steps",
                    lines="cases",
                    log_y=True,
                ),
                Plot("Time per step", "ns_per_step", "ns"),
            ),
        ),
    ),
)

SMALL_VECTOR = Experiment(
    name="small-vector",
    title="The small vector",
    explained=(
        "A million vectors of pointers are filled and ended: half stay empty, 49 % get one element, the "
        "rest two to eight.",
        "A vector with one inline element needs the heap only for the rest; the same is shown for a hot "
        "function's local vector of 64 elements.",
        "The figure is the time per vector; calls and bytes requested do not depend on the allocator.",
    ),
    reported="About half of all vectors are empty and 49 % hold one element; one inline element made "
    "filling twice as fast and a whole system 10 % faster, without making the vector larger.",
    meaning="If a recording shows many one-element vectors, inline elements remove the calls altogether, "
    "which no allocator can match.",
    parts=(
        Part(
            name="small-vector",
            title="Time per vector",
            figures=(
                Figure("ns_per_vector", "time per vector", "ns"),
                Figure("calls_per_vector", "allocator calls per vector", "ratio", of_load=True),
                Figure("requested_per_vector", "bytes requested per vector", "ratio", of_load=True),
                Figure("own_bytes", "bytes of the vector itself", "ratio", of_load=True),
                Figure("resident_per_vector", "resident bytes per vector", "ratio"),
            ),
            cases=(
                Case("std::vector", {"container": "vector"}),
                Case("small_vector<1> (ours)", {"container": "small"}),
                Case("std::vector, local", {"container": "local"}),
                Case("small_vector<64>, local (ours)", {"container": "stack"}),
            ),
            plots=(Plot("Filling and ending one vector", "ns_per_vector", "ns", log_y=True),),
        ),
    ),
)

SHARED = Experiment(
    name="shared",
    title="shared_ptr in one allocation",
    explained=(
        "A million shared objects of 40 bytes are made and released, once as shared_ptr<T>(new T), once "
        "with make_shared<T>, and once by a factory whose constructor takes a private tag.",
        "The first way asks the heap twice per object: for the object and for its counts.",
        "The figure is the time to make and release one; calls and bytes requested do not depend on the "
        "allocator.",
    ),
    reported="shared_ptr<T>(new T) is two allocations and make_shared<T> one; classes with private "
    "constructors cannot use make_shared, and the cure is a public constructor that takes a private tag "
    "type.",
    meaning="Use make_shared wherever no weak_ptr outlives the object for long; the private tag shows "
    "that a factory is no reason not to.",
    parts=(
        Part(
            name="shared",
            title="Making and releasing a shared object",
            figures=(
                Figure("ns_per_object", "make and release", "ns"),
                Figure("calls_per_object", "allocator calls per object", "ratio", of_load=True),
                Figure("requested_per_object", "bytes requested per object", "ratio", of_load=True),
                Figure("resident_per_object", "resident bytes per object", "ratio"),
            ),
            cases=(
                Case("shared_ptr(new T)", {"method": "new"}),
                Case("make_shared", {"method": "make"}),
                Case("private tag", {"method": "private"}),
                Case("make_shared_private (ours)", {"method": "own"}),
            ),
            plots=(Plot("Making and releasing one object", "ns_per_object", "ns"),),
        ),
    ),
)
