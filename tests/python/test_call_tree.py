# SPDX-License-Identifier: MIT
"""Call paths and trees, beside a slow model that writes every stack out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from heapwright.model.call_tree import Branch, Callees, Callers, CallPath, heaviest_paths
from heapwright.model.symbols import Location
from hypothesis import given
from hypothesis import strategies as st

# Locations of each frame, innermost first; frame 0 is plumbing.
FRAMES = [[], ["a"], ["b"], ["c", "d"], ["a", "b", "b"], ["e"]]


def at(function: str, line: int = 7) -> Location:
    return Location(function, "f.c", line, False, "app")


def locations(frame: int) -> list[Location]:
    return [at(name) for name in FRAMES[frame]]


def written_out(stack: int, parents: list[int], frames: list[int]) -> tuple[str, ...]:
    names: list[str] = []
    while stack != 0:
        names += FRAMES[frames[stack]]
        stack = parents[stack]
    return tuple(names)


Sums = Counter[tuple[str, ...]]
TREES = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 5), st.integers(0, 9)), max_size=40)


def sums_of(of: Callable[[Branch], list[Branch]], branch: Branch, above: tuple[str, ...] = ()) -> Sums:
    sums: Sums = Counter()
    for inner in of(branch):
        assert inner.location is not None
        path = (*above, inner.location.function)
        sums[path] += inner.weight
        sums += sums_of(of, inner, path)
    return sums


@given(TREES, st.integers(0, 3))
def test_trees_sum_what_the_stacks_sum(tree: list[tuple[int, int, int]], skip: int) -> None:
    parents = [0] + [parent % (number + 1) for number, (parent, _, _) in enumerate(tree)]
    frames = [0] + [frame for _, frame, _ in tree]
    weights = [(stack + 1, weight) for stack, (_, _, weight) in enumerate(tree) if weight]
    outward: Sums = Counter()
    inward: Sums = Counter()
    for stack, weight in weights:
        names = written_out(stack, parents, frames)
        for length in range(1, len(names) - skip + 1):
            outward[names[skip : skip + length]] += weight
        for length in range(1, len(names) + 1):
            inward[names[::-1][:length]] += weight
    callers = Callers(parents, frames, locations)
    assert sums_of(callers.of, callers.root(weights, skip)) == outward
    callees = Callees(parents, frames, locations)
    assert sums_of(callees.of, callees.root(weights)) == inward

    root = callers.root(weights, skip)
    for limit in (1, 3):
        paths = heaviest_paths(callers, root, limit)
        assert len(paths) <= limit
        for path in paths:
            assert path.weight == outward[tuple(caller.function for caller in path.callers)]
        assert sum(path.weight for path in paths) <= root.weight
        assert paths == sorted(paths, key=lambda path: -path.weight)


class Tree:
    """Stacks by the names of their callers, outermost first."""

    def __init__(self) -> None:
        self.parents, self.frames, self.names = [0], [0], [""]
        self.lines = [0]
        self.weights: list[tuple[int, int]] = []

    def add(self, weight: int, *names: str, line: int = 7) -> None:
        stack = 0
        for name in names:
            self.names.append(name)
            self.lines.append(line)
            self.parents.append(stack)
            self.frames.append(len(self.names) - 1)
            stack = len(self.frames) - 1
        self.weights.append((stack, weight))

    def paths(self, limit: int = 3) -> list[CallPath]:
        callers = Callers(
            self.parents, self.frames, lambda frame: (at(self.names[frame], self.lines[frame]),)
        )
        return heaviest_paths(callers, callers.root(self.weights, skip=1), limit)


def told(paths: list[CallPath]) -> list[tuple[int, str]]:
    return [
        (path.weight, " ".join(caller.function for caller in path.callers) + (" …" if path.is_cut else ""))
        for path in paths
    ]


def test_a_path_is_followed_to_its_outermost_caller() -> None:
    tree = Tree()
    tree.add(5, "main", "run", "load", "site")
    assert told(tree.paths()) == [(5, "load run main")]


def test_paths_are_divided_where_they_differ() -> None:
    tree = Tree()
    tree.add(60, "main", "run", "load", "site")
    tree.add(30, "main", "reload", "load", "site")
    tree.add(10, "main", "test", "site")
    assert told(tree.paths()) == [(60, "load run main"), (30, "load reload main"), (10, "test main")]
    assert told(tree.paths(2)) == [(90, "load …"), (10, "test main")]
    assert told(tree.paths(1)) == [(90, "load …")]


def test_a_path_ends_where_its_callers_are_too_many() -> None:
    tree = Tree()
    for number in range(20):
        tree.add(5, "main", f"user{number}", "pool", "site")
    assert told(tree.paths()) == [(100, "pool …")]


def test_hardly_any_weight_gets_no_path_of_its_own() -> None:
    tree = Tree()
    tree.add(98, "main", "run", "site")
    tree.add(2, "main", "test", "site")
    assert told(tree.paths()) == [(98, "run main")]


def test_a_function_that_calls_from_several_lines_is_one_caller_without_a_line() -> None:
    tree = Tree()
    tree.add(1, "main", "load", "site", line=3)
    tree.add(2, "main", "load", "site", line=4)
    (path,) = tree.paths()
    assert (path.weight, [caller.line for caller in path.callers]) == (3, [0, 0])


def test_endless_recursion_is_cut() -> None:
    tree = Tree()
    tree.add(1, *(["again"] * 500), "site")
    (path,) = tree.paths()
    assert path.is_cut
    assert len(path.callers) == 40
