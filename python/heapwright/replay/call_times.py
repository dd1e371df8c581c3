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
from typing import Any

from heapwright.measure.runner import Arm
from heapwright.model.sites import Sites
from heapwright.replay.site_differences import Sum, differing, named, relative_noise, total

# This many calls must be slower than a percentile for it to be known.
_LEAST_SLOWER = 10
_PERCENTILES = (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))
Document = dict[str, Any]
# Function and largest size.
_Group = tuple[str, int]


@dataclass(slots=True)
class CallTimes:
    """The times of one candidate's calls."""

    sites: dict[int, Sum] = field(default_factory=dict)
    # Of a site by function and size; fewer than 20 calls give no figures.
    percentiles: dict[int, dict[_Group, Document]] = field(default_factory=dict)
    functions: list[Document] = field(default_factory=list)
    whole_functions: list[Document] = field(default_factory=list)
    longest_frees_ns: float = 0.0

    @property
    def ns(self) -> float:
        """Of all sites."""
        return total(self.sites)


def read(
    sums: Mapping[str, Any], runs: Sequence[Mapping[str, Any]], site_of_stack: Sequence[int]
) -> CallTimes:
    """Parses the output of `heapwright-replay times`; the runs have the length of a tick. runs: not empty."""
    ns = median(float(run["ns_per_tick"]) for run in runs)
    found = CallTimes()
    for stack, calls, ticks in zip(sums["stacks"], sums["stack_calls"], sums["stack_ticks"], strict=True):
        number = site_of_stack[stack] if stack < len(site_of_stack) else 0
        before = found.sites.get(number, Sum())
        found.sites[number] = Sum(before.pieces + calls, before.amount + ticks * ns)
    for group in sums["site_groups"]:
        of_site = found.percentiles.setdefault(group["site"], {})
        of_site[group["function"], group["largest_bytes"]] = _percentiles(group, ns)
    found.functions = [
        {**_function(group, ns), "largest_bytes": group["largest_bytes"]} for group in sums["groups"]
    ]
    found.whole_functions = [_function(group, ns) for group in sums["functions"]]
    found.longest_frees_ns = sums["longest_row_ticks"] * ns
    return found


def _function(group: Mapping[str, Any], ns: float) -> Document:
    known = _percentiles(group, ns)
    return {
        "function": group["function"],
        "calls": known.pop("calls"),
        "sum_ns": group["ticks"] * ns,
        **known,
        "max_ns": group["most_ticks"] * ns,
    }


def _percentiles(group: Mapping[str, Any], ns: float) -> Document:
    calls = int(group["calls"])
    known = {
        f"{name}_ns": group[f"{name}_ticks"] * ns if calls * (1 - share) >= _LEAST_SLOWER else None
        for name, share in _PERCENTILES
    }
    return {"calls": calls, **known}


def differences(own: CallTimes, reference: CallTimes, control: CallTimes, sites: Sites) -> Document:
    """own compared to the reference, and the sites that make the difference."""
    whole = own.ns - reference.ns
    return {
        "ns": own.ns,
        "reference_ns": reference.ns,
        "difference_ns": whole,
        "noise_ns": relative_noise(reference.sites, control.sites) * max(reference.ns, own.ns),
        "sites": [
            {
                **named(sites[one.number]),
                "calls": one.own.pieces,
                "ns": one.own.amount,
                "reference_ns": one.reference.amount,
                "difference_ns": one.difference,
                "noise_ns": one.noise,
                "share": one.difference / whole if whole else 0.0,
                "latency": _latency(
                    own.percentiles.get(one.number, {}), reference.percentiles.get(one.number, {})
                ),
            }
            for one in differing(own.sites, reference.sites, control.sites)
        ],
    }


def _latency(own: Mapping[_Group, Document], reference: Mapping[_Group, Document]) -> list[Document]:
    """A site's call kinds present in both; the largest part of its calls first."""
    both = sorted((group for group in own if group in reference), key=lambda group: -own[group]["calls"])
    return [
        {
            "function": function,
            "largest_bytes": largest_bytes,
            **own[function, largest_bytes],
            **{f"reference_{key}": value for key, value in reference[function, largest_bytes].items()},
        }
        for function, largest_bytes in both
    ]


NOTHING: Document = {"call_sites": None, "functions": None, "whole_functions": None, "longest_frees_ns": None}


def of_arms(arms: Sequence[Arm], said: Mapping[int, Document], sites: Sites) -> list[Document]:
    """The document's call figures for each candidate; None if it failed.

    The reference has no sites. said: output of `heapwright-replay times` by the arm's index.
    """
    found = {place: read(sums, arms[place].runs, sites.site_of_stack) for place, sums in said.items()}
    reference, control = found.get(0), found.get(1)
    result = []
    for place, arm in enumerate(arms):
        if arm.is_control:
            continue
        own = found.get(place)
        record = dict(NOTHING)
        if own:
            record |= {
                "functions": own.functions,
                "whole_functions": own.whole_functions,
                "longest_frees_ns": own.longest_frees_ns,
            }
        if place and own and reference and control:
            record["call_sites"] = differences(own, reference, control, sites)
        result.append(record)
    return result
