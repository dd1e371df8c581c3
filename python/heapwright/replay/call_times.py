# SPDX-License-Identifier: MIT
"""Where the calls' time goes: by call site compared to the reference, by function and size, and by all three.

A time is an operation's minimum over the runs of one candidate, which excludes most disturbance by other
processes. A site's time is that of its allocations, of writing to fresh pages of their blocks, and of
releasing these blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from heapwright.measure.program import Output
from heapwright.measure.runner import Arm
from heapwright.model.sites import Sites
from heapwright.replay.result import CallSite, CallSites, FunctionTimes, SiteLatency, SizeTimes
from heapwright.replay.site_differences import Sum, differing, place_of, relative_noise, total

# This many calls must be slower than a percentile for it to be known.
_LEAST_SLOWER = 10
_PERCENTILES = (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))
# Function and largest size.
_Group = tuple[str, int]


@dataclass(slots=True)
class CallTimes:
    """The times of one candidate's calls."""

    sites: dict[int, Sum] = field(default_factory=dict)
    # Of a site by function and size; fewer than 20 calls give no figures.
    percentiles: dict[int, dict[_Group, Latency]] = field(default_factory=dict)
    functions: list[SizeTimes] = field(default_factory=list)
    whole_functions: list[FunctionTimes] = field(default_factory=list)
    longest_frees_ns: float = 0.0

    @property
    def ns(self) -> float:
        """Of all sites."""
        return total(self.sites)


class Latency(NamedTuple):
    """Percentiles of some calls; None: too few are slower."""

    calls: int
    p50_ns: float | None
    p99_ns: float | None
    p999_ns: float | None


class Calls(NamedTuple):
    """A candidate's call figures in the document; None: not measured. The reference has no sites."""

    call_sites: CallSites | None = None
    functions: Sequence[SizeTimes] | None = None
    whole_functions: Sequence[FunctionTimes] | None = None
    longest_frees_ns: float | None = None


def read(sums: Output, runs: Sequence[Output], site_of_stack: Sequence[int]) -> CallTimes:
    """Parses the output of `heapwright-replay times`; the runs have the length of a tick. runs: not empty."""
    ns = median(float(run["ns_per_tick"]) for run in runs)
    found = CallTimes()
    for stack, calls, ticks in zip(sums["stacks"], sums["stack_calls"], sums["stack_ticks"], strict=True):
        number = site_of_stack[stack] if stack < len(site_of_stack) else 0
        before = found.sites.get(number, Sum())
        found.sites[number] = Sum(before.pieces + calls, before.amount + ticks * ns)
    for group in sums["site_groups"]:
        of_site = found.percentiles.setdefault(group["site"], {})
        of_site[group["function"], group["largest_bytes"]] = _latency_of(group, ns)
    found.functions = [SizeTimes(*_times(group, ns), group["largest_bytes"]) for group in sums["groups"]]
    found.whole_functions = [FunctionTimes(*_times(group, ns)) for group in sums["functions"]]
    found.longest_frees_ns = sums["longest_row_ticks"] * ns
    return found


def _times(
    group: Output, ns: float
) -> tuple[str, int, float, float | None, float | None, float | None, float]:
    """The fields of FunctionTimes."""
    calls, *percentiles = _latency_of(group, ns)
    return group["function"], calls, group["ticks"] * ns, *percentiles, group["most_ticks"] * ns


def _latency_of(group: Output, ns: float) -> Latency:
    calls = int(group["calls"])
    known = (
        group[f"{name}_ticks"] * ns if calls * (1 - share) >= _LEAST_SLOWER else None
        for name, share in _PERCENTILES
    )
    return Latency(calls, *known)


def differences(own: CallTimes, reference: CallTimes, control: CallTimes, sites: Sites) -> CallSites:
    """own compared to the reference, and the sites that make the difference."""
    whole = own.ns - reference.ns
    return CallSites(
        own.ns,
        reference.ns,
        difference_ns=whole,
        noise_ns=relative_noise(reference.sites, control.sites) * max(reference.ns, own.ns),
        sites=[
            CallSite(
                *place_of(sites[one.number]),
                one.own.pieces,
                one.own.amount,
                one.reference.amount,
                one.difference,
                one.noise,
                share=one.difference / whole if whole else 0.0,
                latency=_latency(
                    own.percentiles.get(one.number, {}), reference.percentiles.get(one.number, {})
                ),
            )
            for one in differing(own.sites, reference.sites, control.sites)
        ],
    )


def _latency(own: Mapping[_Group, Latency], reference: Mapping[_Group, Latency]) -> list[SiteLatency]:
    """A site's call kinds present in both; the largest part of its calls first."""
    both = sorted((group for group in own if group in reference), key=lambda group: -own[group].calls)
    return [_both(*group, own[group], reference[group]) for group in both]


def _both(function: str, largest_bytes: int, own: Latency, other: Latency) -> SiteLatency:
    percentiles = (own.p50_ns, own.p99_ns, own.p999_ns)
    others = (other.p50_ns, other.p99_ns, other.p999_ns)
    return SiteLatency(function, largest_bytes, own.calls, *percentiles, other.calls, *others)


def of_arms(arms: Sequence[Arm], said: Mapping[int, Output], sites: Sites) -> list[Calls]:
    """Each candidate's call figures. said: output of `heapwright-replay times` by the arm's index."""
    found = {place: read(sums, arms[place].runs, sites.site_of_stack) for place, sums in said.items()}
    reference, control = found.get(0), found.get(1)
    result = []
    for place, arm in enumerate(arms):
        if arm.is_control:
            continue
        own = found.get(place)
        by_site = None
        if place and own and reference and control:
            by_site = differences(own, reference, control, sites)
        result.append(
            Calls(by_site, own.functions, own.whole_functions, own.longest_frees_ns) if own else Calls()
        )
    return result
