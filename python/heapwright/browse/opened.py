# SPDX-License-Identifier: MIT
"""A tree of which some nodes are open: the lines that are seen, in order."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from heapwright.browse.trees import Node, Trees

SORTS = ("whole", "own", "name")
MOST_INNER = 200  # lines of one node; the others are summed up in one more
_SAME = 0.9  # a node with so much of the one above is opened with it
_DEEPEST = 500

Path = tuple[Hashable, ...]


class Line(NamedTuple):
    """A node as it is seen. node: None = the smaller ones of the node above."""

    path: Path
    level: int
    node: Node | None
    weight: int
    own: int
    smaller: int  # how many
    is_open: bool
    has_inner: bool


class Opened:
    """What is open stays open by its keys when the measure, the order or the text changes."""

    def __init__(self, trees: Trees) -> None:
        self.trees = trees
        self.sort = SORTS[0]
        self.measure = trees.measures[0].name
        self.end = trees.ends[0]
        self.text = ""
        self._open: set[Path] = set()
        self._begin()

    def _begin(self) -> None:
        self.root = self.trees.root(self.measure, self.end, self.text)

    def show(self, measure: str = "", end: str = "", text: str | None = None) -> None:
        """Another tree of the same things."""
        if end and end != self.end:
            self._open.clear()  # the paths of the other direction
        self.measure, self.end = measure or self.measure, end or self.end
        self.text = self.text if text is None else text
        self._begin()

    def replace(self, trees: Trees) -> None:
        """Other trees with the same measures and ends, such as of another time."""
        self.trees = trees
        self._begin()

    def lines(self) -> list[Line]:
        """All that is seen, from the top."""
        return list(self._below(self.root, (), 0))

    def _below(self, above: Node, path: Path, level: int) -> Iterator[Line]:
        inner = self._sorted(above)
        for node in inner[:MOST_INNER]:
            at = (*path, node.key)
            below = node.inner()
            is_open = bool(below) and at in self._open
            yield Line(at, level, node, node.weight, own_of(node), 0, is_open, bool(below))
            if is_open:
                yield from self._below(node, at, level + 1)
        if rest := inner[MOST_INNER:]:
            weights = sum(node.weight for node in rest)
            yield Line((*path, "…"), level, None, weights, 0, len(rest), False, False)

    def _sorted(self, above: Node) -> list[Node]:
        inner = sorted(above.inner(), key=lambda node: -node.weight)
        if self.sort == "own":
            inner.sort(key=lambda node: -own_of(node))
        kept = inner[:MOST_INNER]  # by weight: those that matter stay when the order is by name
        if self.sort == "name":
            kept.sort(key=lambda node: node.name.lower())
        return kept + inner[MOST_INNER:]

    def open(self, path: Path) -> None:
        """Opens a node, and below it what has nearly all of its weight."""
        node = self._at(path)
        for _ in range(_DEEPEST):
            self._open.add(path)
            inner = node.inner() if node is not None else ()
            most = max(inner, key=lambda one: one.weight, default=None)
            if node is None or most is None or most.weight < _SAME * node.weight or not most.inner():
                return
            path, node = (*path, most.key), most

    def open_heaviest(self, path: Path) -> Path:
        """Opens the heaviest node of each level below; returns the last one's path."""
        node = self._at(path)
        for _ in range(_DEEPEST):
            inner = node.inner() if node is not None else ()
            if not inner:
                break
            self._open.add(path)
            node = max(inner, key=lambda one: one.weight)
            path = (*path, node.key)
        return path

    def close(self, path: Path) -> Path:
        """Closes the node, or goes to the one above if it is closed; returns the path to stand at."""
        if path in self._open:
            self._open.discard(path)
            return path
        return path[:-1] or path

    def close_all(self) -> None:
        """Only the first level is seen."""
        self._open.clear()

    def _at(self, path: Path) -> Node | None:
        node: Node | None = self.root
        for key in path:
            inner = node.inner() if node is not None else ()
            node = next((one for one in inner if one.key == key), None)
        return node


def own_of(node: Node) -> int:
    """What no node below it has."""
    return node.weight - sum(one.weight for one in node.inner())
