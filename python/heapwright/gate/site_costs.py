# SPDX-License-Identifier: MIT
"""What each function of a program costs: a broken limit names those that grew."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from heapwright.gate.limits import LOST
from heapwright.model import Facts, Site, Sites
from heapwright.model.names import short_name

Figures = Mapping[str, int]


class Place(NamedTuple):
    """Where a function allocates, and its cost. line: 0 if not known."""

    file: str
    line: int
    figures: Figures


class SiteCost(NamedTuple):
    """What a function costs, summed over its places."""

    name: str
    figures: Figures
    places: Sequence[Place]

    def lines_of(self, figure: str) -> tuple[str, list[int]]:
        """The file with most of a figure, and its lines with some of it, most first."""
        having = (place for place in self.places if place.figures[figure])
        own = sorted(having, key=lambda place: -place.figures[figure])
        file = own[0].file if own else ""
        return file, list(dict.fromkeys(one.line for one in own if one.file == file and one.line))


def costs_of(
    sites: Sites,
    facts: Facts,
    live_at_end: Mapping[int, tuple[int, int]],
    growth: Mapping[int, float] | None,
    lost: Mapping[int, tuple[int, int]] | None,
) -> list[SiteCost]:
    """Most calls first.

    By site: live_at_end and lost have bytes and blocks, growth bytes a second; None: not known.
    """
    found = []
    for site, own in zip(sites, facts.sites, strict=True):
        if not own.allocations:
            continue
        size, blocks = live_at_end.get(site.number, (0, 0))
        figures = {
            "calls": own.allocations,
            "bytes": own.bytes,
            "peak_live_bytes": own.live_at_peak_bytes,
            "live_at_end_bytes": size,
            "live_at_end_blocks": blocks,
        }
        if growth is not None:
            figures["growth_bytes_per_s"] = math.ceil(growth.get(site.number, 0.0))
        if lost is not None:
            figures |= zip(LOST, lost.get(site.number, (0, 0)), strict=True)
        found.append((site, figures))
    return sorted(_by_function(found), key=lambda cost: -cost.figures["calls"])


def costs_of_stacks(sites: Sites, figure: str, values: Iterable[tuple[int, int]]) -> list[SiteCost]:
    """Costs for one figure, most first. values: by stack."""
    found: dict[int, int] = {}
    for stack, value in values:
        site = sites.site_of_stack[stack]
        found[site] = found.get(site, 0) + value
    costs = _by_function((sites[site], {figure: value}) for site, value in sorted(found.items()))
    return sorted(costs, key=lambda cost: -cost.figures[figure])


def _by_function(costs: Iterable[tuple[Site, Figures]]) -> Iterator[SiteCost]:
    """The function's name, which stays the same across changes."""
    by_name: dict[str, list[Place]] = {}
    for site, figures in costs:
        place = Place(site.location.file, site.location.line, figures)
        by_name.setdefault(short_name(site.location.function), []).append(place)
    for name, places in by_name.items():
        yield SiteCost(name, _sum(places), places)


def _sum(places: Sequence[Place]) -> Figures:
    return {figure: sum(place.figures[figure] for place in places) for figure in places[0].figures}
