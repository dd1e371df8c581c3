# SPDX-License-Identifier: MIT
"""Call stacks with weights, merged into trees whose branches are built on demand.

Callers are distinguished by function, file and library: a function that calls
from several lines is one branch. Only the visited frames are named, so a few
paths of a large trace are cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from heapwright.model.symbols import Location

Place = tuple[int, int]  # a stack, and which of its innermost frame's locations; (0, 0): no caller is left


class Branch:
    """A location with the weight of the stacks that contain it."""

    __slots__ = ("location", "members", "weight")

    def __init__(self, location: Location | None, weight: int, members: dict[Place, int]) -> None:
        """location: None for the root; line 0 if there are several. members: where each stack continues."""
        self.location = location
        self.weight = weight
        self.members = members


class CallPath(NamedTuple):
    """The callers, nearest first; is_cut: further callers were too small to show."""

    weight: int
    callers: tuple[Location, ...]
    is_cut: bool


class Callers:
    """Callers from the innermost frame outwards; frames without locations are skipped."""

    def __init__(
        self,
        parents: Sequence[int],
        frames: Sequence[int],
        locations: Callable[[int], Sequence[Location]],
    ) -> None:
        """locations: of a frame, innermost first."""
        self._parents = parents
        self._frames = frames
        self._locations = locations
        self._seen: dict[int, int] = {0: 0}

    def root(self, weights: Iterable[tuple[int, int]], skip: int = 0) -> Branch:
        """All these (stack, weight); skip: number of innermost locations to leave out."""
        members: dict[Place, int] = {}
        for stack, weight in weights:
            place = (self._nearest(stack), 0)
            for _ in range(skip):
                place = self._after(place)
            members[place] = members.get(place, 0) + weight
        return Branch(None, sum(members.values()), members)

    def of(self, branch: Branch) -> list[Branch]:
        """Its callers, heaviest first. The rest of its weight had no caller."""
        groups: dict[tuple[str, str, str], Branch] = {}
        for place, weight in branch.members.items():
            if place[0] == 0:
                continue
            found = self._locations(self._frames[place[0]])[place[1]]
            key = (found.function, found.file, found.library)
            group = groups.get(key)
            if group is None:
                group = groups[key] = Branch(found, 0, {})
            elif group.location.line != found.line:  # type: ignore[union-attr]
                group.location = found._replace(line=0)
            after = self._after(place)
            group.members[after] = group.members.get(after, 0) + weight
            group.weight += weight
        return sorted(groups.values(), key=lambda group: -group.weight)

    def _after(self, place: Place) -> Place:
        stack, index = place
        if stack != 0 and index + 1 < len(self._locations(self._frames[stack])):
            return stack, index + 1
        return self._nearest(self._parents[stack]), 0

    def _nearest(self, stack: int) -> int:
        """The stack itself, or its nearest caller with a location."""
        passed = []
        while stack not in self._seen:
            if self._locations(self._frames[stack]):
                self._seen[stack] = stack
                break
            passed.append(stack)
            stack = self._parents[stack]
        nearest = self._seen[stack]
        for below in passed:
            self._seen[below] = nearest
        return nearest


MAX_CALLERS = 40  # of one path
_LEAST = 0.03  # of the whole, for a separate path
_KEPT = 0.8  # a path is followed while this share of its weight continues in shown paths


class _Way(NamedTuple):
    branch: Branch
    callers: tuple[Location, ...]
    whole: int  # its weight where it was last divided


def heaviest_paths(
    callers: Callers, root: Branch, limit: int, nearest: Sequence[Branch] = ()
) -> list[CallPath]:
    """At most `limit` paths, heaviest first. Each is split and followed as far as the limit allows.

    nearest: the root's callers, if known.
    """
    ways = [_Way(root, (), root.weight)]
    done: list[CallPath] = []
    while ways:
        way = max(ways, key=lambda way: way.branch.weight)
        ways.remove(way)
        onward = list(nearest) if way.branch is root else []
        if not onward and len(way.callers) < MAX_CALLERS:
            onward = callers.of(way.branch)
        kept = onward[: limit - len(done) - len(ways)]
        kept = [branch for branch in kept if branch.weight >= _LEAST * root.weight] or kept[:1]
        ended = way.branch.members.get((0, 0), 0)
        is_followed = sum(branch.weight for branch in kept) >= _KEPT * way.whole or not way.callers
        if not kept or not is_followed or ended > way.branch.weight // 2:
            is_cut = bool(onward) or len(way.callers) >= MAX_CALLERS
            done.append(CallPath(way.branch.weight, way.callers, is_cut))
            continue
        for branch in kept:
            assert branch.location is not None
            whole = way.whole if len(kept) == 1 and way.callers else branch.weight
            ways.append(_Way(branch, (*way.callers, branch.location), whole))
    return sorted((path for path in done if path.callers), key=lambda path: -path.weight)


class Callees:
    """Callees from the outermost callers inwards: the reverse of Callers."""

    def __init__(
        self,
        parents: Sequence[int],
        frames: Sequence[int],
        locations: Callable[[int], Sequence[Location]],
    ) -> None:
        self._parents = parents
        self._frames = frames
        self._locations = locations
        self._sums: dict[int, int] = {}  # of a stack and all that it calls
        self._called: dict[int, list[int]] = {}

    def root(self, weights: Iterable[tuple[int, int]]) -> Branch:
        """All these (stack, weight)."""
        for stack, weight in weights:
            self._sums[stack] = self._sums.get(stack, 0) + weight
        linked = set()
        for stack in list(self._sums):
            while stack != 0 and stack not in linked:
                linked.add(stack)
                self._called.setdefault(self._parents[stack], []).append(stack)
                stack = self._parents[stack]
        for stack in sorted(linked, reverse=True):  # callers have lower numbers than their callees
            parent = self._parents[stack]
            self._sums[parent] = self._sums.get(parent, 0) + self._sums.get(stack, 0)
        return Branch(None, self._sums.get(0, 0), {(0, 0): self._sums.get(0, 0)})

    def of(self, branch: Branch) -> list[Branch]:
        """Its callees, heaviest first. It allocated the rest of its weight itself."""
        groups: dict[tuple[str, str, str], Branch] = {}
        for stack, index in branch.members:
            for inner, at in self._inner(stack, index):
                found = self._locations(self._frames[inner])[at]
                key = (found.function, found.file, found.library)
                group = groups.setdefault(key, Branch(found, 0, {}))
                assert group.location is not None
                if group.location.line != found.line:
                    group.location = found._replace(line=0)
                group.members[inner, at] = self._sums[inner]
                group.weight += self._sums[inner]
        return sorted(groups.values(), key=lambda group: -group.weight)

    def _inner(self, stack: int, index: int) -> Iterable[Place]:
        """The next locations inward; frames without any are skipped."""
        if index > 0:
            yield stack, index - 1
            return
        pending = list(self._called.get(stack, ()))
        while pending:
            called = pending.pop()
            count = len(self._locations(self._frames[called]))
            if count:
                yield called, count - 1
            else:
                pending += self._called.get(called, ())
