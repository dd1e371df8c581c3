# SPDX-License-Identifier: MIT
"""A recording's figures for each rule of a budget."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from heapwright.explain import holders
from heapwright.explain.growing_sites import Growth
from heapwright.explain.growth_kinds import CREEP, LEAK
from heapwright.explain.report import Report
from heapwright.gate.budget import Budget, BudgetError, Rule, limits_lost_blocks
from heapwright.gate.hidden_calls import hidden_calls, unproven
from heapwright.gate.limits import LOST, PHASE, PROGRAM, SCOPE, SITE, THREAD, TIMES
from heapwright.gate.run_figures import Most, RunFigures, wildcard
from heapwright.gate.site_costs import SiteCost, costs_of
from heapwright.model import Facts, Filter, Latency, Site, SiteFacts, Trace
from heapwright.model.selectors import matching, why_none
from heapwright.model.suppressions import stacks_suppressed

Figures = dict[str, float]
Progress = Callable[[int, int], object]


class Measured(NamedTuple):
    """places: the sites of each rule that names some. sites: of the whole program, most calls first.

    most: for a phase or scope above its limit, by the rule's number and the figure.
    lost: why calls are missing, as the calls themselves show, or may belong to a site that lacks them."""

    figures: Sequence[Figures]
    places: Sequence[Sequence[Site]]
    sites: Sequence[SiteCost]
    most: Mapping[tuple[int, str], Most] = MappingProxyType({})
    lost: Sequence[str] = ()


def measure(trace: Trace, budget: Budget, progress: Progress) -> Measured:
    """Reads the calls once, and once more for groups of sites and for each rule of a thread."""
    return _Reading(trace, budget, progress).measured()


class _Reading:
    def __init__(self, trace: Trace, budget: Budget, progress: Progress) -> None:
        self._trace = trace
        self._budget = budget
        self._progress = progress
        _check_loaded(trace, budget)
        self._chosen = Filter(library=_counted(budget.ignore, budget.only))
        self._whole = self._facts(self._chosen)
        _check_stacks(trace, budget)
        wants_stacks = any(map(self._wants, ("live_at_end", "growth", "lost")))
        suppressed = stacks_suppressed(trace, budget.suppressions) if wants_stacks else b""
        self._is_suppressed = suppressed or bytes(len(trace.stack_columns["frame"]))
        self._lost_blocks = self._read_lost()
        self._growth = self._grows(self._whole, self._chosen) if self._wants("growth") else None
        self._sites = trace.sites()
        self._places = {rule.name: self._find(rule) for rule in budget.rules if rule.kind == SITE}

    def measured(self) -> Measured:
        self._check_times()
        rules = self._budget.rules
        places = [self._places[rule.name] if rule.kind == SITE else [] for rule in rules]
        of_sites = self._of_sites()
        of_runs = {
            kind: RunFigures(kind, self._trace, self._whole, self._chosen, self._is_suppressed, rules)
            for kind in (PHASE, SCOPE)
        }
        figures = []
        for rule in rules:
            if rule.kind == PROGRAM:
                figures.append(self._of_program(self._whole, self._growth))
            elif rule.kind == SITE:
                figures.append(of_sites[rule.name])
            elif rule.kind == THREAD:
                figures.append(self._of_thread(rule))
            else:
                figures.append(of_runs[rule.kind].of(rule))
        most = {
            (number, key): found
            for number, rule in enumerate(rules)
            for key, limit in rule.limits.items()
            if rule.kind in of_runs and figures[number].get(key, 0) > limit
            if (found := of_runs[rule.kind].most_of(rule, key))
        }
        costs = costs_of(self._sites, self._whole, self._stays(), self._growth, self._lost_sites())
        return Measured(figures, places, costs, most, self._lost(figures))

    def _lost(self, figures: Sequence[Figures]) -> list[str]:
        reasons = list(self._trace.lost_calls(self._whole))
        hidden = hidden_calls(self._trace, self._whole)
        for rule, own in zip(self._budget.rules, figures, strict=True):
            if rule.kind == SITE:
                reasons += unproven(rule, own, hidden)
        return reasons

    def _facts(self, chosen: Filter, groups: array[int] | None = None) -> Facts:
        return self._trace.begin_facts(chosen, groups=groups).take(self._progress)

    def _read_lost(self) -> dict[int, tuple[int, int]] | None:
        """Bytes and blocks by stack that the last snapshot found lost, without suppressed ones."""
        if not limits_lost_blocks(self._budget):
            return None
        # An earlier snapshot does not tell what is lost at the end.
        if reason := next(iter(holders.failures(self._trace)), holders.not_known(self._trace)):
            raise BudgetError(f"the budget limits lost blocks, which are not known: {reason}")
        times = self._trace.snapshot_times
        site_of_stack = self._trace.sites().site_of_stack
        return {
            row.stack: (row.bytes, row.blocks)
            for row in self._trace.held_at(times[-1]).lost_sites
            if not self._is_suppressed[row.stack]
            and self._whole.sites[site_of_stack[row.stack]].allocations  # in a library that counts
        }

    def _lost_of(self, is_wanted: Callable[[int], bool]) -> Figures:
        if self._lost_blocks is None:
            return {}
        rows = [row for stack, row in self._lost_blocks.items() if is_wanted(stack)]
        return dict(zip(LOST, (sum(size for size, _ in rows), sum(count for _, count in rows)), strict=True))

    def _wants(self, figure: str) -> bool:
        return any(key.startswith(figure) for rule in self._budget.rules for key in rule.limits)

    def _check_times(self) -> None:
        if any(self._wants(key) for key in TIMES) and not self._trace.metadata.durations_recorded:
            raise BudgetError("the budget limits times, which were not recorded (--no-durations)")

    def _of_program(self, facts: Facts, growth: Mapping[int, float] | None) -> Figures:
        found = {
            "calls": facts.totals.allocations,
            "bytes": facts.totals.requested_bytes,
            "peak_live_bytes": facts.peak.live_bytes,
            **self._live(facts, lambda _: True),
            **self._lost_of(lambda _: True),
            **_times(facts.allocation_latency),
        }
        samples = self._trace.memory_samples
        if samples:
            found["resident_peak_bytes"] = max(
                one.resident_anonymous_bytes + one.resident_shared_bytes for one in samples
            )
        if growth is not None:
            found["growth_bytes_per_s"] = math.ceil(math.fsum(growth.values()))
        return found

    def _live(self, facts: Facts, is_wanted: Callable[[int], bool]) -> Figures:
        """Live at the end, without suppressed blocks; is_wanted: of a stack."""
        if not self._wants("live_at_end"):
            return {}
        stacks = facts.stacks
        found: Figures = {"live_at_end_bytes": 0, "live_at_end_blocks": 0}
        for stack, size in enumerate(stacks["live_at_end_bytes"]):
            blocks = stacks["live_at_end_blocks"][stack]
            if blocks and not self._is_suppressed[stack] and is_wanted(stack):
                found["live_at_end_bytes"] += size
                found["live_at_end_blocks"] += blocks
        return found

    def _grows(self, facts: Facts, chosen: Filter) -> dict[int, float]:
        """Bytes per second of sites that explain calls a leak or creep: in a short run, hardly any."""
        sites = self._trace.sites()
        suppressions = self._budget.suppressions
        report = Report(self._trace, facts, sites, chosen, len(sites), suppressions)
        return {
            site.number: row.slope_bytes_per_s
            for site, row in Growth(report).rows()
            if row.kind in (LEAK, CREEP) and row.is_sure and row.slope_bytes_per_s > 0
        }

    def _find(self, rule: Rule) -> list[Site]:
        found = matching(self._sites.sites, rule.name)
        allocating = [site for site in found if self._whole.sites[site.number].allocations]
        if not allocating and not rule.is_optional and any(rule.limits.values()):
            raise BudgetError(
                f"{why_none(self._sites.sites, rule.name)}; optional = true allows it to be absent"
            )
        return allocating

    def _of_sites(self) -> dict[str, Figures]:
        """Groups of rules whose sites do not overlap, which are read together."""
        found: dict[str, Figures] = {}
        waiting = {name: {site.number for site in sites} for name, sites in self._places.items()}
        while waiting:
            together: dict[str, set[int]] = {}
            for name, numbers in waiting.items():
                if not any(numbers & others for others in together.values()):
                    together[name] = numbers
            waiting = {name: numbers for name, numbers in waiting.items() if name not in together}
            found |= self._of_groups(together)
        return found

    def _of_groups(self, together: Mapping[str, set[int]]) -> dict[str, Figures]:
        group_of = {site: number for number, sites in enumerate(together.values(), 1) for site in sites}
        groups = array("I", [group_of.get(site, 0) for site in self._sites.site_of_stack])
        facts = self._facts(self._chosen, groups)
        found = {}
        for number, (name, sites) in enumerate(together.items(), 1):
            figures: Figures = dict.fromkeys(("calls", "bytes", "peak_live_bytes"), 0)
            if sites:
                figures = _of_group(facts.sites[number], facts.site_latency[number])
            of_group = partial(_is_in, groups, number)
            figures |= self._live(facts, of_group) | self._lost_of(of_group)
            if self._growth is not None:
                slopes = math.fsum(self._growth.get(site, 0.0) for site in sites)
                figures["growth_bytes_per_s"] = math.ceil(slopes)
            found[name] = figures
        return found

    def _of_thread(self, rule: Rule) -> Figures:
        unnamed = sum(not thread.name and thread.events > 0 for thread in self._trace.threads)
        if unnamed:  # the rule may refer to any of them
            ended = (
                "1 thread ended before its name was"
                if unnamed == 1
                else f"{unnamed} threads ended before their names were"
            )
            raise BudgetError(f"{ended} read; limit sites or phases instead")
        pattern = re.compile(wildcard(rule.name))
        threads = tuple(thread.index for thread in self._trace.threads if pattern.fullmatch(thread.name))
        if not threads:
            if rule.is_optional or not any(rule.limits.values()):
                return dict.fromkeys(rule.limits, 0.0)
            names = sorted({thread.name for thread in self._trace.threads})
            raise BudgetError(f"no thread is called {rule.name}; there are {', '.join(names[:5])}")
        chosen = self._chosen._replace(threads=threads)
        facts = self._facts(chosen)
        return self._of_program(
            facts, self._grows(facts, chosen) if "growth_bytes_per_s" in rule.limits else None
        )

    def _lost_sites(self) -> dict[int, tuple[int, int]] | None:
        if self._lost_blocks is None:
            return None
        found: dict[int, tuple[int, int]] = {}
        for stack, (size, blocks) in self._lost_blocks.items():
            site = self._sites.site_of_stack[stack]
            before = found.get(site, (0, 0))
            found[site] = (before[0] + size, before[1] + blocks)
        return found

    def _stays(self) -> dict[int, tuple[int, int]]:
        """Bytes and blocks live at the end by site, without suppressed ones."""
        found: dict[int, tuple[int, int]] = {}
        columns = (self._whole.stacks[name] for name in ("live_at_end_bytes", "live_at_end_blocks"))
        of_stacks = zip(self._sites.site_of_stack, self._is_suppressed, *columns, strict=False)
        for site, is_suppressed, size, blocks in of_stacks:
            if blocks and not is_suppressed:
                before = found.get(site, (0, 0))
                found[site] = (before[0] + size, before[1] + blocks)
        return found


def _is_in(groups: Sequence[int], group: int, stack: int) -> bool:
    return groups[stack] == group


def _of_group(facts: SiteFacts, latency: Latency) -> Figures:
    return {
        "calls": facts.allocations,
        "bytes": facts.bytes,
        "peak_live_bytes": facts.own_peak_bytes,
        **_times(latency),
    }


def _times(latency: Latency) -> Figures:
    return {key: getattr(latency, key) for key in TIMES}


def _check_loaded(trace: Trace, budget: Budget) -> None:
    """Refuses misspelled libraries: with nothing counted, all limits would hold."""
    names = {module.name for module in trace.modules}
    for library in budget.only:
        if not any(re.fullmatch(wildcard(library), name) for name in names):
            raise BudgetError(f"only: no library {library} was loaded; see heapwright info {trace.path}")
    counted = _counted(budget.ignore, budget.only)
    if names and not any(re.search(counted, name) for name in names):
        raise BudgetError("ignore excludes every loaded library: nothing would count")


def _check_stacks(trace: Trace, budget: Budget) -> None:
    """Refuses such rules without stacks: all calls would belong to one site without a library."""
    if len(trace.stack_columns["frame"]) > 1:
        return
    if any(rule.kind == SITE for rule in budget.rules) or budget.ignore or budget.only or budget.suppressions:
        raise BudgetError(
            "the recording has no stacks (--no-stacks): limits of sites, ignore, only, suppressions need them"
        )


def _counted(ignore: Sequence[str], only: Sequence[str]) -> str:
    """A pattern that matches the libraries whose call sites count; empty if all do."""
    left_out, kept = ("|".join(map(wildcard, libraries)) for libraries in (ignore, only))
    return (f"^(?!(?:{left_out})$)" if ignore else "") + (f"^(?:{kept})$" if only else "")
