# SPDX-License-Identifier: MIT
"""One recording's figures: of the whole run, and of groups of its call sites."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from heapwright.compare.matching import Key, Known, is_unnamed, library_of
from heapwright.model import Facts, Latency, Location, Trace
from heapwright.model.holder_names import SEVERAL, name_of
from heapwright.model.names import short_name
from heapwright.model.plumbing import is_plumbing
from heapwright.model.selectors import selected
from heapwright.model.symbols import SOURCES
from heapwright.model.wholeness import why_not_whole

_LEAST_CALLS = 1000  # for a 99th percentile: ten calls are slower

_OF_STACKS = {"calls": "allocations", "bytes": "bytes", "peak_live_bytes": "live_at_peak_bytes"}

Figures = dict[str, float]
Paths = Mapping[str, Mapping[tuple[str, ...], float]]
Progress = Callable[[int, int], object]


class SiteOfRun(NamedTuple):
    """The sites with one key in one recording: their cost, their places, and a caller of one of them."""

    figures: Figures
    locations: tuple[Location, ...]
    caller: str  # its function, short; empty: not known


class Run(NamedTuple):
    """One recording, measured.

    load: divisor of figures of work. is_whole: it has every call of the run.
    paths: by figure, the sums of each path of functions, outermost first; empty if not requested.
    held: the bytes that each holder retained at the last snapshot; None: none was taken, or of samples.
    """

    totals: Figures
    sites: dict[Key, SiteOfRun]
    duration_ns: int
    threads: int
    load: float
    is_whole: bool = True
    paths: Paths = MappingProxyType({})
    held: Figures | None = None


def known_of(trace: Trace) -> Known:
    """The input for matching its sites."""
    builds: dict[str, frozenset[str]] = {}
    for module in trace.modules:
        builds[module.name] = builds.get(module.name, frozenset()) | {module.build_id}
    program = trace.metadata.program.rpartition("/")[2]
    symbols = {Path(found.path).name: SOURCES.index(found.source) for found in trace.symbols().objects}
    return Known([site.location for site in trace.sites()], builds, program, symbols)


def measure(
    trace: Trace,
    keys: Sequence[Key],
    load: Callable[[Trace, Facts], float],
    progress: Progress,
    nameless: Collection[str] | None = None,
) -> Run:
    """keys: of each site of the trace. nameless: as in _paths; None: no call paths."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    sites = trace.sites()
    groups = array("I", [numbers[keys[site]] for site in sites.site_of_stack])
    facts = trace.begin_facts(groups=groups, timeline_points=2, slowest_calls=1).take(progress)
    is_timed = trace.metadata.durations_recorded and not trace.metadata.sample_mean_bytes
    members: dict[Key, list[int]] = {}
    for number, key in enumerate(keys):
        members.setdefault(key, []).append(number)
    found = {}
    for key, group in numbers.items():
        figures = _site_figures(facts, group, is_timed)
        if not figures["calls"]:  # its stacks only freed, or are parts of others
            continue
        locations = tuple(dict.fromkeys(sites[number].location for number in members[key]))
        found[key] = SiteOfRun(figures, locations, _caller(trace, members[key][0]))
    totals = _totals(trace, facts, is_timed)
    is_whole = not why_not_whole(trace)
    paths = _paths(trace, facts, nameless) if nameless is not None else {}
    return Run(
        totals,
        found,
        trace.end.time_ns,
        len(trace.threads),
        load(trace, facts),
        is_whole,
        paths,
        _held(trace),
    )


def _held(trace: Trace) -> Figures | None:
    """Names that mean the same in another run: threads have none, and the program may be called otherwise."""
    if not trace.snapshot_times or trace.metadata.sample_mean_bytes:
        return None
    held = trace.held_at(trace.snapshot_times[-1])
    program = trace.metadata.program
    found: Figures = {"lost": held.lost_bytes, name_of(SEVERAL, 0, "", ""): held.shared_bytes}
    for one in held.holders:
        module = "the program" if one.module == program else one.module
        name = name_of(one.kind, 0, module, one.symbol)
        found[name] = found.get(name, 0) + one.bytes
    return found


def _paths(trace: Trace, facts: Facts, nameless: Collection[str]) -> Paths:
    """Call paths without plumbing. nameless: rebuilt libraries, in which places without a name are
    meaningless."""
    tree, locations = trace.stack_columns, trace.sites().locations
    program = trace.metadata.program.rpartition("/")[2]

    def name_of(at: Location) -> str:
        if is_unnamed(at) and library_of(at.library, program) in nameless:
            return f"{at.library} (no symbols)"
        return short_name(at.function)

    path_of: list[tuple[str, ...]] = [()]
    for parent, frame in zip(tree["parent"][1:], tree["frame"][1:], strict=True):
        path = path_of[parent]
        for at in reversed(locations(frame)):
            name = "" if is_plumbing(at) else name_of(at)
            if name and not (is_unnamed(at) and path[-1:] == (name,)):
                path = (*path, name)
        path_of.append(path)
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for figure, column in _OF_STACKS.items():
        sums: dict[tuple[str, ...], float] = {}
        for path, value in zip(path_of, facts.stacks[column], strict=False):
            if value:
                sums[path] = sums.get(path, 0) + value
        found[figure] = sums
    return found


def calls_at(selector: str) -> Callable[[Trace, Facts], float]:
    """A load: the number of allocations by the sites with this name."""

    def load(trace: Trace, facts: Facts) -> float:
        chosen = {site.number for site in selected(trace.sites().sites, selector)}
        of_stack = facts.stacks["allocations"]
        pairs = zip(trace.sites().site_of_stack, of_stack, strict=False)
        return float(sum(calls for site, calls in pairs if site in chosen))

    return load


def _site_figures(facts: Facts, group: int, is_timed: bool) -> Figures:
    site = facts.sites[group]
    figures: Figures = {
        "calls": site.allocations,
        "bytes": site.bytes,
        "peak_live_bytes": site.live_at_peak_bytes,
        "live_at_end_bytes": site.live_at_end_bytes,
    }
    if is_timed:
        figures["time_ns"] = site.allocator_ns + site.release_ns
        figures |= _p99(facts.site_latency[group])
    return figures


def _p99(latency: Latency) -> Figures:
    return {"p99_ns": latency.p99_ns} if latency.calls >= _LEAST_CALLS else {}


def _totals(trace: Trace, facts: Facts, is_timed: bool) -> Figures:
    figures: Figures = {
        "calls": facts.totals.allocations,
        "bytes": facts.totals.requested_bytes,
        "peak_live_bytes": facts.peak.live_bytes,
        "live_at_end_bytes": sum(site.live_at_end_bytes for site in facts.sites),
        "live_at_end_blocks": sum(site.live_at_end_blocks for site in facts.sites),
    }
    samples = trace.memory_samples
    if samples:
        resident = [one.resident_anonymous_bytes + one.resident_shared_bytes for one in samples]
        figures |= {"resident_peak_bytes": max(resident), "resident_end_bytes": resident[-1]}
    if is_timed:
        figures["time_ns"] = facts.totals.allocator_ns
        figures |= _p99(facts.allocation_latency)
    return figures


def _caller(trace: Trace, site: int) -> str:
    """The caller of the site's function in one of its stacks."""
    sites, tree = trace.sites(), trace.stack_columns
    stack = sites[site].stack
    is_below = False
    while stack:
        for location in sites.locations(sites.frames[stack]):
            if is_below:
                return short_name(location.function)
            is_below = location.function == sites[site].location.function
        stack = tree["parent"][stack]
    return ""
