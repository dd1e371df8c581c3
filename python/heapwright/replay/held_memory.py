# SPDX-License-Identifier: MIT
"""Which call sites hold a candidate's memory, compared to the reference, at the reference's peak.

Pages are attributed to the blocks on them, by their bytes there. Resident memory without any block is the
allocator's own: free pages, caches, tables. Measured in recorded order, once per candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heapwright.measure.program import Output
from heapwright.measure.runner import Arm
from heapwright.model.sites import Sites
from heapwright.replay.result import Held, HeldSite
from heapwright.replay.site_differences import Sum, differing, place_of, total


@dataclass(slots=True)
class Memory:
    """One candidate's memory: pages by site, and all resident memory."""

    sites: dict[int, Sum] = field(default_factory=dict)
    resident_bytes: float = 0.0

    @property
    def unowned_bytes(self) -> float:
        """Resident memory without blocks."""
        return max(0.0, self.resident_bytes - total(self.sites))


def peak_mark(arms: Sequence[Arm]) -> int | None:
    """The mark at which the reference has most memory; None if there is none, or it failed."""
    if not arms or not arms[0].runs:
        return None
    values: list[float] = arms[0].runs[0]["mark_bytes"]
    return max(range(len(values)), key=values.__getitem__) if values else None


def read(said: Output, site_of_stack: Sequence[int]) -> Memory:
    """Parses the output of `heapwright-replay run PLAN held`."""
    found = Memory(resident_bytes=float(said["resident_bytes"]))
    rows = zip(said["stacks"], said["stack_blocks"], said["stack_bytes"], strict=True)
    for stack, blocks, size in rows:
        number = site_of_stack[stack] if stack < len(site_of_stack) else 0
        before = found.sites.get(number, Sum())
        found.sites[number] = Sum(before.pieces + blocks, before.amount + size)
    return found


def of_arms(
    arms: Sequence[Arm], said: Mapping[int, Output], time_ns: float, sites: Sites
) -> list[Held | None]:
    """One per candidate, None for the reference or if it failed; said: by the arm's index."""
    found = {place: read(held, sites.site_of_stack) for place, held in said.items()}
    reference, control = found.get(0), found.get(1)
    result: list[Held | None] = []
    for place, arm in enumerate(arms):
        if arm.is_control:
            continue
        own = found.get(place)
        by_site = None
        if place and own and reference and control:
            by_site = _differences(own, reference, control, time_ns, sites)
        result.append(by_site)
    return result


def _differences(own: Memory, reference: Memory, control: Memory, time_ns: float, sites: Sites) -> Held:
    whole = own.resident_bytes - reference.resident_bytes
    return Held(
        time_ns,
        own.resident_bytes,
        reference.resident_bytes,
        difference_bytes=whole,
        noise_bytes=abs(reference.resident_bytes - control.resident_bytes),
        unowned_bytes=own.unowned_bytes,
        unowned_difference_bytes=own.unowned_bytes - reference.unowned_bytes,
        sites=[
            HeldSite(
                *place_of(sites[one.number]),
                one.own.pieces,
                one.own.amount,
                one.reference.amount,
                one.difference,
                one.noise,
                share=one.difference / whole if whole else 0.0,
            )
            for one in differing(own.sites, reference.sites, control.sites)
        ],
    )
