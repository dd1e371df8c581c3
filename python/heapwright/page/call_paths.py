# SPDX-License-Identifier: MIT
"""Call paths and their activity by bin, with small ones combined until they fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from heapwright.explain import nested_words, site_names
from heapwright.explain.report import Report
from heapwright.model.names import short_name
from heapwright.page.packing import Pack

_NO_SITE = -1
SMALLER = "(smaller call paths)"


class Names:
    """Texts by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number_of(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number


class Leaf(NamedTuple):
    """The inner end of a path: the node of its last function, and its site."""

    node: int
    site: int


class CallPaths:
    """The paths that are shown, in a tree.

    nodes: (node of the caller, name, library) of each; 0 is the root.
    sites: (name, place, library, whole name, its number in the report + 1; 0: several) of each that a
    leaf names.
    cutoff: paths with less of every measure are in a leaf that stands for all of their site, or for
    the small sites together.
    """

    def __init__(self, report: Report, rows_limit: int) -> None:
        self._report = report
        self.names = Names()
        self.nodes: list[tuple[int, int, int]] = [(0, self.names.number_of("all"), self.names.number_of(""))]
        self.sites: list[tuple[int, ...]] = []
        self.leaves: list[Leaf] = []
        self.cutoff = 0.0
        self._node_numbers: dict[tuple[int, int, int], int] = {}
        self._site_numbers: dict[int, int] = {}
        self._leaf_numbers: dict[Leaf, int] = {}
        self._node_of_stack: dict[int, int] = {0: 0}
        self._leaf_of_stack = self._leaves_of(self._kept(rows_limit))

    def leaf_of(self, stack: int) -> int:
        """The leaf that a stack's figures are in."""
        return self._leaf_of_stack[stack]

    def __contains__(self, stack: int) -> bool:
        """Whether the stack did or held anything in the time looked at."""
        return stack in self._leaf_of_stack

    def site_number(self, site: int) -> int:
        """The page's number of a site; -1: it is among the small ones."""
        return self._site_numbers.get(site, -1)

    def _kept(self, rows_limit: int) -> list[int]:
        """The stacks with the largest share of anything, as many as there is room for."""
        shares = _shares(self._report)
        rows: dict[int, int] = {}
        for stack in self._report.facts.path_bins["stack"]:
            rows[stack] = rows.get(stack, 0) + 1
        order = sorted(rows, key=lambda stack: -shares[stack])
        self._used = order
        room, kept = rows_limit, 0
        while kept < len(order) and room >= rows[order[kept]]:
            room -= rows[order[kept]]
            kept += 1
        if kept < len(order):
            self.cutoff = shares[order[kept]]
        return order[:kept]

    def _leaves_of(self, kept: Sequence[int]) -> dict[int, int]:
        site_of_stack = self._report.sites.site_of_stack
        found: dict[int, int] = {}
        for stack in kept:
            found[stack] = self._leaf(self._node(stack), self._site(site_of_stack[stack]))
        for stack in self._used[len(kept) :]:
            site = self._site_numbers.get(site_of_stack[stack])
            known = site if site is not None else self._site(_NO_SITE)
            found[stack] = self._leaf(self._child(0, SMALLER, ""), known)
        return found

    def _leaf(self, node: int, site: int) -> int:
        leaf = Leaf(node, site)
        number = self._leaf_numbers.setdefault(leaf, len(self.leaves))
        if number == len(self.leaves):
            self.leaves.append(leaf)
        return number

    def _node(self, stack: int) -> int:
        """The node of the stack's innermost function that is not plumbing."""
        tree, locations = self._report.trace.stack_columns, self._report.sites.locations
        passed = []
        while stack not in self._node_of_stack:
            passed.append(stack)
            stack = tree["parent"][stack]
        node = self._node_of_stack[stack]
        for inner in reversed(passed):
            for location in reversed(locations(tree["frame"][inner])):
                node = self._child(node, short_name(location.function), location.library)
            self._node_of_stack[inner] = node
        return node

    def _child(self, parent: int, name: str, library: str) -> int:
        node = (parent, self.names.number_of(name), self.names.number_of(library))
        number = self._node_numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return number

    def _site(self, site: int) -> int:
        number = self._site_numbers.setdefault(site, len(self.sites))
        if number == len(self.sites):
            self.sites.append(self._described(site))
        return number

    def _described(self, site: int) -> tuple[int, ...]:
        number = self.names.number_of
        if site == _NO_SITE:
            return number("(smaller call sites)"), number(""), number(""), number(""), 0
        found = self._report.sites[site]
        name = " < ".join(short_name(location.function) for location in found.path)
        whole = site_names.long_site_name(found) + nested_words.passing(found.through)
        return (
            number(name),
            number(site_names.where(found.location)),
            number(found.location.library),
            number(whole),
            site + 1,
        )


def _shares(report: Report) -> list[float]:
    """Of each stack, the largest share it has of anything that is shown."""
    stacks, facts = report.facts.stacks, report.facts
    measures: list[tuple[Sequence[int], int]] = [
        (stacks["bytes"], facts.totals.requested_bytes),
        (stacks["allocations"], facts.totals.allocations),
        (stacks["allocator_ns"], facts.totals.allocator_ns),
        (stacks["own_peak_bytes"], facts.peak.live_bytes),
        (stacks["live_at_peak_bytes"], facts.peak.live_bytes),
    ]
    shares = [0.0] * len(stacks["bytes"])
    for column, whole in measures:
        scale = 1 / max(1, whole)
        for stack, value in enumerate(column):
            if value * scale > shares[stack]:
                shares[stack] = value * scale
    free: dict[int, int] = {}
    pins = facts.path_pins
    for scan, pinned in zip(pins["scan"], pins["pinned_bytes"], strict=True):
        free[scan] = free.get(scan, 0) + pinned
    for scan, stack, pinned in zip(pins["scan"], pins["stack"], pins["pinned_bytes"], strict=True):
        shares[stack] = max(shares[stack], pinned / max(1, free[scan]))
    return shares


class _Sums:
    """Of a leaf within the open bin."""

    __slots__ = ("allocations", "allocator_ns", "bytes", "grown")

    def __init__(self) -> None:
        self.allocations = self.bytes = self.allocator_ns = self.grown = 0


class PackedBins(NamedTuple):
    """The rows of all leaves, and how many they are."""

    pack: Pack
    rows: int


def pack_bins(report: Report, leaf_of: Callable[[int], int], leaves: int) -> PackedBins:
    """Leaf by leaf: number of rows; of each the bins since the row before, calls, bytes, time, growth."""
    packs = [Pack() for _ in range(leaves)]
    counts, latest = [0] * leaves, [0] * leaves
    live: dict[int, int] = {}
    open_bin, sums = 0, dict[int, _Sums]()

    def close() -> None:
        for leaf, of in sums.items():
            pack = packs[leaf]
            pack.number(open_bin - latest[leaf])
            pack.number(of.allocations)
            pack.number(of.bytes)
            pack.number(of.allocator_ns)
            pack.signed(of.grown)
            latest[leaf] = open_bin
            counts[leaf] += 1

    for row in _rows(report.facts.path_bins):
        stack, bin_number, allocations, size, allocator_ns, live_bytes = row
        if bin_number != open_bin:
            close()
            open_bin, sums = bin_number, {}
        leaf = leaf_of(stack)
        of = sums.get(leaf)
        if of is None:
            of = sums[leaf] = _Sums()
        of.allocations += allocations
        of.bytes += size
        of.allocator_ns += allocator_ns
        of.grown += live_bytes - live.get(stack, 0)
        live[stack] = live_bytes
    close()
    whole = Pack()
    for count, pack in zip(counts, packs, strict=True):
        whole.number(count)
        whole.data += pack.data
    return PackedBins(whole, sum(counts))


def _rows(columns: Any) -> Any:
    names = ("stack", "bin", "allocations", "bytes", "allocator_ns", "live_bytes")
    return zip(*(columns[name] for name in names), strict=True)
