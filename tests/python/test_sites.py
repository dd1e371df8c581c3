# SPDX-License-Identifier: MIT
"""Stacks grouped into call sites."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass

import pytest
from heapwright.model.funnels import MIN_CALLERS, MIN_CALLERS_BY_NAME
from heapwright.model.made_code import unnamed_code
from heapwright.model.sites import FRAME_TABLE_FULL, FRAME_TRUNCATED, SiteOptions, group
from heapwright.model.symbols import Location
from heapwright.model.through import Through
from hypothesis import given
from hypothesis import strategies as st


@dataclass
class FakeSymbols:
    """Frames with given functions; "name!library" sets the library, "name!library:file" the file, too."""

    functions: list[list[str]]

    def __len__(self) -> int:
        return len(self.functions)

    def locations(self, frame: int) -> list[Location]:
        inner = self.functions[frame]
        found = []
        for position, text in enumerate(inner):
            function, _, place = text.partition("!")
            library, _, file = place.partition(":")
            found.append(Location(function, file, 0, position < len(inner) - 1, library or "app"))
        return found

    def at_hand(self, frame: int) -> list[Location]:
        return self.locations(frame)

    def library(self, frame: int) -> str:
        return self.functions[frame][-1].partition("!")[2].partition(":")[0] or "app"

    @property
    def libraries(self) -> list[str]:
        return [self.library(frame) for frame in range(len(self.functions))]

    def is_unnamed(self, frame: int) -> bool:
        return self.functions[frame][0].startswith("app+0x")


def names(parents: list[int], frames: list[int], functions: list[list[str]], **options: object) -> list[str]:
    """The site of each stack but the empty one, as text."""
    sites = group([0, *parents], [0, *frames], FakeSymbols(functions), SiteOptions(**options))  # type: ignore[arg-type]
    return [str(sites[number]) for number in sites.site_of_stack[1:]]


def test_the_innermost_frame_that_is_not_plumbing() -> None:
    functions = [["main"], ["std::string::append(char)"], ["malloc!libc.so.6"]]
    assert names([0, 1, 2], [0, 1, 2], functions) == ["main [app]"] * 3


def test_below_named_code_of_a_runtime_its_interpreter_is_plumbing() -> None:
    functions = [
        ["start!node"],
        ["serve![jit]"],
        ["call!node"],
        ["resolve_static_call![jit]"],
        ["deflate!libz.so:deflate.c"],
        ["arena!node"],
    ]
    parents = [0, 1, 2, 2, 4, 1]
    frames = [0, 1, 2, 3, 4, 5]
    expected = ["start [node]", *["serve [[jit]]"] * 3, "deflate deflate.c", "arena [node]"]
    assert names(parents, frames, functions) == expected
    across = [0xFFFFFFF5 if frame == 3 else frame for frame in frames]
    assert names(parents, across, functions) == expected, "a mark between two frames calls nothing"


def test_a_runtime_that_names_no_code_can_be_told_to() -> None:
    symbols = FakeSymbols([["main"], ["0x7f00"], ["malloc!libc.so.6"]])

    def line(allocations: list[int], runtime: str, symbols: FakeSymbols = symbols) -> list[str]:
        parents, frames = [0, 0, 1, 2, 1], [0, 0, 1, 2, 0xFFFFFFF4]
        return unnamed_code(parents, frames, [False, True, False], allocations, symbols, runtime)  # type: ignore[arg-type]

    (said,) = line([0, 94, 2, 3, 1], "JavaScript")
    assert said == (
        "5 % of allocations come through code that JavaScript made at run time: "
        "node --perf-basic-prof --interpreted-frames-native-stack gives its functions names"
    )
    assert line([0, 95, 2, 2, 1], "JavaScript") == []
    assert line([0, 0, 0, 0, 0], "JavaScript") == []
    assert line([0, 0, 0, 9, 0], "Go") == []
    assert "DOTNET_PerfMapEnabled=1" in line([0, 0, 0, 9, 0], "", FakeSymbols([["a!libcoreclr.so"]]))[0]
    assert line([0, 0, 0, 9, 0], "Java", FakeSymbols([["run![jit]"]])) == [], "it has named some"


def test_inlined_calls_are_sites_of_their_own() -> None:
    functions = [["operator new(unsigned long)", "inner()", "main"]]
    assert names([0], [0], functions) == ["inner() [app]"]


def test_depth_takes_callers_in() -> None:
    functions = [["main"], ["parse"], ["std::f()"], ["leaf", "wrapper"]]
    assert names([0, 1, 2, 3], [0, 1, 2, 3], functions, depth=2)[-1] == "leaf [app] < wrapper [app]"
    assert (
        names([0, 1, 2, 3], [0, 1, 2, 3], functions, depth=3)[-1]
        == "leaf [app] < wrapper [app] < parse [app]"
    )
    assert names([0, 1, 2], [0, 1, 2], functions, depth=9)[-1] == "parse [app] < main [app]"


def test_when_all_is_plumbing_the_innermost_but_the_allocator_stands_in() -> None:
    functions = [["_start!libc.so.6"], ["fopen!libc.so.6"], ["malloc!libc.so.6"]]
    assert names([0, 1, 2], [0, 1, 2], functions)[-1] == "fopen [libc.so.6]"
    assert names([0], [2], functions) == ["(no stack was captured)"]


def test_marks_are_named() -> None:
    functions = [["main"]]
    assert names([0], [FRAME_TRUNCATED], functions) == ["(the stack could not be unwound)"]
    assert names([0], [FRAME_TABLE_FULL], functions) == ["(the recorder's stack table was full)"]
    assert names([0, 1], [FRAME_TRUNCATED, 0], functions)[-1] == "main [app]"


def test_full_stacks_are_kept_apart() -> None:
    functions = [["main"], ["malloc"]]
    sites = group([0, 0, 1], [0, 0, 1], FakeSymbols(functions), SiteOptions(full_stacks=True))  # type: ignore[arg-type]
    assert list(sites.site_of_stack) == [0, 1, 2]
    assert [site.stack for site in sites] == [0, 1, 2]


def test_skip_adds_plumbing() -> None:
    functions = [["main"], ["my_pool_get"]]
    assert names([0, 1], [0, 1], functions)[-1] == "my_pool_get [app]"
    assert names([0, 1], [0, 1], functions, skip=("my_pool",))[-1] == "main [app]"


# What a Python program's stacks are made of, innermost last.
EVAL, HANDLE, RESIZE, EXTENSION, START, INSTALLED, CALLED = range(1, 8)
PYTHON_PROGRAM = [
    ["main!python3.11"],
    ["_PyEval_EvalFrameDefault!python3.11"],
    ["handle![python]"],
    ["list_resize!python3.11"],
    ["parse!_fast.so:fast.c"],
    ["Py_Initialize!python3.11"],
    ["array_zeros!_umath.so"],
    ["UserNEW!_umath.so"],
]


def python_site(*frames: int, **options: object) -> str:
    """Of the stack with these frames in main."""
    parents = list(range(len(frames) + 1))
    others = [0, EVAL, HANDLE]  # another stack shows which file the interpreter is
    return names(
        [*parents, 0, *range(len(parents) + 1, len(parents) + 3)],
        [0, *frames, *others],
        PYTHON_PROGRAM,
        **options,
    )[len(frames)]


def test_an_interpreter_counts_for_the_python_function_that_it_runs() -> None:
    assert python_site(EVAL, HANDLE) == "handle [[python]]"
    assert python_site(EVAL, HANDLE, RESIZE) == "handle [[python]]"
    assert python_site(EVAL, HANDLE, EXTENSION) == "parse fast.c"
    assert python_site(EVAL, HANDLE, EXTENSION, RESIZE) == "parse fast.c"
    assert python_site(EVAL, HANDLE, EXTENSION, EVAL, HANDLE, RESIZE) == "handle [[python]]"
    deep = python_site(EVAL, HANDLE, EXTENSION, RESIZE, depth=3)
    assert deep == "parse fast.c < handle [[python]] < _PyEval_EvalFrameDefault [python3.11]"


def test_native_code_without_lines_counts_for_the_python_function_that_calls_it() -> None:
    assert python_site(EVAL, HANDLE, INSTALLED, CALLED) == "handle [[python]]"
    assert python_site(EVAL, HANDLE, INSTALLED, EXTENSION, CALLED) == "parse fast.c"
    assert python_site(INSTALLED, CALLED) == "UserNEW [_umath.so]", "a thread of its own"
    stacks = [0, EVAL, HANDLE, INSTALLED, CALLED]
    sites = group([0, 0, 1, 2, 3], stacks, FakeSymbols(PYTHON_PROGRAM), SiteOptions())  # type: ignore[arg-type]
    through = sites.weighed([0, 0, 0, 0, 5])[sites.site_of_stack[4]].through
    assert (through.functions, through.is_all) == (("array_zeros",), True)
    found = [len(sites.locations(frame)) for frame in sites.frames[1:]]
    assert found == [1, 1, 0, 0], "what leads to the site"


def test_an_interpreter_without_a_python_function_is_a_site_of_its_own() -> None:
    assert python_site(START) == "Py_Initialize [python3.11]"
    assert python_site(START, FRAME_TRUNCATED, RESIZE) == "list_resize [python3.11]"


def test_frames_of_an_interpreter_without_a_function_take_no_memory() -> None:
    """They have numbers of their own, and tables are as long as the highest."""
    tracemalloc.start()
    try:
        python_site(START)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def fan_in(callers: int, wrapper: str) -> list[str]:
    """Stacks of many callers, all through one frame."""
    functions = [["main"], [wrapper], *([f"caller{i}"] for i in range(callers))]
    parents, frames = [0], [0]
    for caller in range(callers):
        parents += [1, len(parents) + 1]
        frames += [2 + caller, 1]
    return [name for name, frame in zip(names(parents, frames, functions), frames, strict=True) if frame == 1]


def test_a_nameless_frame_with_many_callers_is_a_wrapper() -> None:
    assert fan_in(MIN_CALLERS, "app+0x10") == [f"caller{i} [app]" for i in range(MIN_CALLERS)]
    assert set(fan_in(MIN_CALLERS - 1, "app+0x10")) == {"app+0x10"}
    assert set(fan_in(MIN_CALLERS, "named")) == {"named [app]"}


@pytest.mark.parametrize(
    "name",
    [
        "zone_alloc",
        "AllocateHeap",
        "my_palloc",
        "Arena::grow(unsigned long)",
        "sdsnewlen",
        "Pool<int>::allocate()",
    ],
)
def test_a_frame_named_after_allocating_is_a_wrapper_with_fewer_callers(name: str) -> None:
    assert fan_in(MIN_CALLERS_BY_NAME, name) == [f"caller{i} [app]" for i in range(MIN_CALLERS_BY_NAME)]
    assert set(fan_in(MIN_CALLERS_BY_NAME - 1, name)) == {f"{name} [app]"}


@pytest.mark.parametrize("name", ["parse", "ns_alloc::parse(int)", "parse<alloc_policy>(int)", "news"])
def test_other_names_are_no_wrappers(name: str) -> None:
    assert set(fan_in(MIN_CALLERS, name)) <= {f"{name} [app]", "main [app]"}


def through(
    parents: list[int], frames: list[int], functions: list[list[str]], **options: object
) -> list[tuple[str, Through]]:
    """The site of each stack but the empty one, and what it says of nested allocators, each stack allocating once."""
    symbols = FakeSymbols(functions)
    sites = group([0, *parents], [0, *frames], symbols, SiteOptions(**options))  # type: ignore[arg-type]
    inner = set(parents)
    weighed = sites.weighed([int(stack not in inner) for stack in range(len(frames) + 1)])
    return [(str(weighed[number]), weighed[number].through) for number in sites.site_of_stack[1:]]


def test_a_nested_allocator_is_passed_and_named() -> None:
    functions = [["main"], ["malloc!libc.so.6"], ["palloc"], ["AllocSetAlloc"], ["app+0x10"], ["std::f()"]]
    assert through([0, 1, 2, 3], [0, 5, 2, 1], functions)[-1] == (
        "main [app]",
        Through(("palloc",), True, "PostgreSQL's memory contexts", True),
    )
    (_, _, _, last) = through([0, 1, 2, 3], [0, 2, 3, 4], functions)
    assert last == ("main [app]", Through(("palloc",), True, "PostgreSQL's memory contexts", True))
    assert through([0, 1], [0, 1], functions)[-1] == ("main [app]", Through())


def test_what_a_nested_allocator_calls_in_its_library_is_its_own() -> None:
    functions = [
        ["main"],
        ["palloc!libpool.so"],
        ["libpool.so+0x7!libpool.so"],
        ["grow_it!libpool.so"],
        ["notify"],
    ]
    assert [site for site, _ in through([0, 1, 2], [0, 1, 2], functions)] == ["main [app]"] * 3
    assert through([0, 1, 2], [0, 1, 3], functions)[-1][0] == "main [app]"
    assert through([0, 1, 2], [0, 1, 4], functions)[-1] == ("notify [app]", Through()), "it calls back"
    assert through([0, 1], [0, 3], functions)[-1] == ("grow_it [libpool.so]", Through()), (
        "nobody called palloc"
    )


def test_what_maps_for_all_callers_of_a_runtime_stays_a_site() -> None:
    functions = [["zend_compile!php"], ["_emalloc_56!php"], ["zend_mm_chunk_alloc!php"]]
    site, said = through([0, 1, 2], [0, 1, 2], functions)[-1]
    assert (site, said.functions) == ("zend_mm_chunk_alloc [php]", ())
    assert through([0, 1], [0, 1], functions)[-1] == (
        "zend_compile [php]",
        Through(("_emalloc_56",), True, "PHP's memory manager", False, "USE_ZEND_ALLOC=0"),
    )


def test_a_skipped_function_is_named_beside_its_callers() -> None:
    functions = [["main"], ["hand_out"], ["malloc"]]
    said = through([0, 1, 2], [0, 1, 2], functions, skip=("^hand_out$",))[-1]
    assert said == ("main [app]", Through(("hand_out",), True))
    assert through([0, 1, 2], [0, 1, 2], functions)[-1] == ("hand_out [app]", Through())


def test_a_funnel_is_named_beside_its_callers_unless_it_has_no_name() -> None:
    def said(wrapper: str, callers: int) -> set[tuple[str, ...]]:
        functions = [[wrapper], *([f"caller{i}"] for i in range(callers))]
        parents = [index for caller in range(callers) for index in (0, 2 * caller + 1)]
        frames = [frame for caller in range(callers) for frame in (1 + caller, 0)]
        return {way.functions for _, way in through(parents, frames, functions)}

    assert said("zone_alloc", MIN_CALLERS_BY_NAME) == {("zone_alloc",)}
    assert said("app+0x10", MIN_CALLERS) == {()}


def test_a_site_that_asks_malloc_too_is_partly_through() -> None:
    functions = [["main"], ["palloc0"], ["palloc"], ["malloc"], ["pool_release"]]
    parents, frames = [0, 1, 1, 1, 1], [0, 1, 1, 2, 3]
    (_, said) = through(parents, frames, functions)[-1]
    assert said.functions == ("palloc0", "palloc"), "most allocations first"
    assert not said.is_all
    assert through([0, 1], [0, 2], functions)[-1][1].is_all


def test_an_inlined_nested_allocator_is_passed_too() -> None:
    functions = [["malloc", "palloc", "main"], ["MemoryContextAlloc"]]
    site, said = through([0], [0], functions)[-1]
    assert (site, said.functions) == ("main [app]", ("palloc",))
    site, said = through([0, 1], [0, 1], functions)[-1]
    assert (site, said.functions) == ("main [app]", ("palloc",)), "the outermost"


TREES = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 7)), max_size=60)


@given(TREES, st.integers(1, 4))
def test_every_stack_has_a_site_and_equal_paths_are_one_site(tree: list[tuple[int, int]], depth: int) -> None:
    functions = [
        ["a"],
        ["b"],
        ["std::c()"],
        ["malloc"],
        ["d", "e"],
        ["app+0x1"],
        ["app+0x2"],
        ["libc!libc.so.6"],
    ]
    parents = [0] + [parent % (number + 1) for number, (parent, _) in enumerate(tree)]
    frames = [0] + [frame for _, frame in tree]
    sites = group(parents, frames, FakeSymbols(functions), SiteOptions(depth))  # type: ignore[arg-type]
    assert len(sites.site_of_stack) == len(parents)
    assert set(sites.site_of_stack) == set(range(len(sites)))
    assert len({site.path for site in sites}) == len(sites)
    assert all(1 <= len(site.path) <= depth for site in sites)


def test_blocks_of_a_type_are_one_group() -> None:
    functions = [
        ["main"],
        ["load"],
        ["store"],
        ["std::__new_allocator<Plain>::allocate(unsigned long)"],
        ["operator new(unsigned long)!libstdc++.so.6"],
        ["malloc!libc.so.6"],
    ]
    # main → load → allocator → malloc; main → store → allocator → malloc; main → store → malloc
    parents, frames = [0, 1, 2, 3, 1, 5, 6, 5], [0, 1, 3, 5, 2, 3, 5, 5]
    found = names(parents, frames, functions, by_type=True)
    assert found[3] == found[6] == "Plain"
    assert found[7] == "store [app]"
    assert names(parents, frames, functions)[3] == "load [app]"


CONTEXTS = [["checkout![context]"], ["search![context]"], ["main"], ["parse"], ["malloc!libc.so.6"]]


def test_a_context_is_nobodys_site() -> None:
    parents, frames = [0, 1, 2, 0, 4], [0, 2, 4, 1, 3]
    none = "(no stack was captured)"
    assert names(parents, frames, CONTEXTS) == [none, "main [app]", "main [app]", none, "parse [app]"]


def test_stacks_by_their_context() -> None:
    parents, frames = [0, 1, 2, 0, 4, 0], [0, 2, 4, 1, 3, 3]
    expected = ["checkout"] * 3 + ["search"] * 2 + ["(no context)"]
    assert names(parents, frames, CONTEXTS, by_context=True) == expected
    assert names([0], [0], [["main"]], by_context=True) == ["(no context)"]
