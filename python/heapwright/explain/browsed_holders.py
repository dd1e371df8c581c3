# SPDX-License-Identifier: MIT
"""A snapshot as a tree to browse: holders, and through which sites they retain what."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence

from heapwright.browse.trees import Measure, Place
from heapwright.explain.report import Report
from heapwright.model.holder_names import SEVERAL, name_of
from heapwright.model.names import short_name
from heapwright.report import units

_SEVERAL, _LOST = 2**64 - 1, 2**64 - 2
_MEASURES = {"bytes": ("bytes that would go with it", units.size), "blocks": ("blocks", units.count)}


def _numbers(packed: bytes) -> array[int]:
    unpacked = array("Q")
    unpacked.frombytes(packed)
    return unpacked


class HolderNode:
    """A holder, or the blocks of a site behind it."""

    def __init__(self, trees: HolderTrees, number: int, weights: Sequence[int]) -> None:
        self._trees = trees
        self._number = number
        self._weights = weights
        self.weight = weights[number]
        self.whole_name, self.place = trees.about(number)
        self.name = short_name(self.whole_name) if trees.is_site(number) else self.whole_name

    @property
    def key(self) -> Hashable:
        """Its number."""
        return self._number

    def inner(self) -> Sequence[HolderNode]:
        """What is held through it."""
        return [
            HolderNode(self._trees, number, self._weights)
            for number in self._trees.below(self._number)
            if self._weights[number]
        ]


class HolderTrees:
    """The last snapshot of a report."""

    ends = ("holder",)

    def __init__(self, report: Report, title: str) -> None:
        self.title = f"{title}: who holds it"
        self.measures = [Measure(name, about) for name, (about, _) in _MEASURES.items()]
        tree = report.trace.held_tree(report.trace.snapshot_times[-1], report.sites)
        self._sites = report.sites
        self._roots = tree["roots"]
        self._columns = {name: _numbers(tree[name]) for name in ("parent", "is_site", "what", *_MEASURES)}
        self._below: dict[int, list[int]] = {}
        for number, parent in enumerate(self._columns["parent"]):
            if number:
                self._below.setdefault(parent, []).append(number)

    def retained(self) -> dict[str, array[int]]:
        """By node: its parent, and each measure of what would go with it."""
        parents = self._columns["parent"]
        found = {name: array("Q", self._columns[name]) for name in _MEASURES}
        for weights in found.values():
            for number in range(len(weights) - 1, 0, -1):  # each is behind its parent
                weights[parents[number]] += weights[number]
        return {"parent": parents, **found}

    def root(self, measure: str, end: str, text: str) -> HolderNode:
        """The whole; text: of the blocks on whose way some name has it."""
        del end
        weights = array("Q", self._columns[measure])
        parents = self._columns["parent"]
        if text:
            has = self._with_text(text.lower())
            weights = array("Q", (weight if kept else 0 for weight, kept in zip(weights, has, strict=True)))
        for number in range(len(weights) - 1, 0, -1):  # each is behind its parent
            weights[parents[number]] += weights[number]
        return HolderNode(self, 0, weights)

    def written(self, measure: str, weight: int) -> str:
        """As reports write it."""
        return _MEASURES[measure][1](weight)

    def below(self, number: int) -> Sequence[int]:
        """The nodes below one."""
        return self._below.get(number, ())

    def is_site(self, number: int) -> bool:
        """Not a holder."""
        return bool(self._columns["is_site"][number])

    def about(self, number: int) -> tuple[str, Place]:
        """Its name, and where that is."""
        what = self._columns["what"][number]
        if not number:
            return "all", Place()
        if self.is_site(number):
            location = self._sites[what].location
            return location.function, Place(location.file, location.line, location.library)
        if what == _LOST:
            return "lost: nothing points to them", Place()
        root = (SEVERAL, 0, "", "") if what == _SEVERAL else self._roots[what]
        return name_of(*root), Place(module=root[2])

    def _with_text(self, text: str) -> list[bool]:
        """Of each node, whether it or one above it has the text."""
        found: list[bool] = []
        for number, parent in enumerate(self._columns["parent"]):
            is_below = bool(number) and found[parent]
            found.append(is_below or (bool(number) and text in self.about(number)[0].lower()))
        return found
