# SPDX-License-Identifier: MIT
"""Figures of phases and scopes. Figures that take another pass are read only if a rule needs them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from heapwright.explain import phase_blocks, phase_growth, phases
from heapwright.explain.growing_sites import least_growth_bytes
from heapwright.explain.phase_blocks import Held
from heapwright.explain.phases import Phase
from heapwright.gate import scopes
from heapwright.gate.budget import BudgetError, Rule
from heapwright.gate.limits import FIGURES, PHASE, SCOPE, TIMES
from heapwright.gate.site_costs import SiteCost, costs_of_stacks
from heapwright.model import Facts, Filter, Trace

_HELD = ("peak_live_bytes", "live_at_end_bytes", "live_at_end_blocks")
_NAMED_BY = {PHASE: "heapwright/annotate.h", SCOPE: "heap_budget: .name"}


# The figures that are maxima over the runs.
_MOST: Mapping[str, Callable[[Phase, Held], int]] = {
    "calls": lambda run, _: run.allocations,
    "bytes": lambda run, _: run.requested_bytes,
    "calls_per_run": lambda run, _: run.allocations,
    "bytes_per_run": lambda run, _: run.requested_bytes,
    "peak_live_bytes": lambda _, held: held.peak_bytes,
    "live_at_end_bytes": lambda _, held: held.end_bytes,
    "live_at_end_blocks": lambda _, held: held.end_blocks,
}


class Most(NamedTuple):
    """name: of the run with most, whose sites these are; empty if the figure is the sum of all runs."""

    name: str
    sites: Sequence[SiteCost]


class RunFigures:
    """whole: the counted sites of the selection; is_suppressed: by stack, its blocks may stay."""

    def __init__(
        self,
        kind: str,
        trace: Trace,
        whole: Facts,
        chosen: Filter,
        is_suppressed: bytes,
        rules: Sequence[Rule],
    ) -> None:
        self._kind, self._trace, self._whole, self._chosen = kind, trace, whole, chosen
        self._may_stay = [stack for stack, may_stay in enumerate(is_suppressed) if may_stay]
        self._wants_held = any(key in _HELD for rule in rules if rule.kind == kind for key in rule.limits)

    @cached_property
    def _runs(self) -> Sequence[Phase]:
        # Facts restricted to some libraries do not include marks.
        if self._chosen.is_everything and not phases.has_phases(self._whole):
            return []
        if self._kind == PHASE:
            return phases.runs_of(self._trace, self._chosen)
        found = scopes.scopes_in(self._trace)
        phases.add_costs(self._trace, found, self._chosen)
        return found

    @cached_property
    def _held(self) -> Sequence[Held]:
        if not self._wants_held or not self._runs:
            return [Held() for _ in self._runs]
        return phase_blocks.held_by(self._trace, self._runs, self._chosen, self._may_stay)

    def of(self, rule: Rule) -> dict[str, float]:
        """Figures of the run with most; calls and bytes of a phase are sums over its runs."""
        own = self._own(rule)
        if not own and not rule.is_optional and any(rule.limits.values()):
            names = sorted({run.name for run in self._runs})
            there = f"there are {', '.join(names[:5])}"
            known = there if names else f"the program names none ({_NAMED_BY[self._kind]})"
            raise BudgetError(f"no {self._kind} is called {rule.name}; {known}")
        calls = [run.allocations for run, _ in own]
        requested = [run.requested_bytes for run, _ in own]
        is_phase = self._kind == PHASE
        figures: dict[str, float] = {
            "calls": sum(calls) if is_phase else max(calls, default=0),
            "bytes": sum(requested) if is_phase else max(requested, default=0),
            "calls_per_run": max(calls, default=0),
            "bytes_per_run": max(requested, default=0),
            "peak_live_bytes": max((held.peak_bytes for _, held in own), default=0),
            "live_at_end_bytes": max((held.end_bytes for _, held in own), default=0),
            "live_at_end_blocks": max((held.end_blocks for _, held in own), default=0),
        }
        if any(key in rule.limits for key in TIMES):
            times = phase_blocks.times_of(self._trace, [run for run, _ in own], self._chosen)
            figures |= times._asdict()
        if "growth_bytes_per_s" in rule.limits:
            figures["growth_bytes_per_s"] = self._growth_of([run for run, _ in own])
        return figures

    def _own(self, rule: Rule) -> list[tuple[Phase, Held]]:
        pattern = re.compile(wildcard(rule.name))
        pairs = zip(self._runs, self._held, strict=True)
        return [(run, held) for run, held in pairs if pattern.fullmatch(run.name)]

    def most_of(self, rule: Rule, key: str) -> Most | None:
        """Where most of a figure is; None: not known."""
        own = self._own(rule)
        if key not in _MOST or not own:
            return None
        is_sum = self._kind == PHASE and key in ("calls", "bytes")
        most, _ = max(own, key=lambda pair: _MOST[key](*pair))
        runs = [run for run, _ in own] if is_sum else [most]
        sites = costs_of_stacks(self._trace.sites(), key, self._by_stack(runs, key))
        return Most("" if is_sum else most.name, sites)

    def _by_stack(self, runs: Sequence[Phase], key: str) -> list[tuple[int, int]]:
        if key == "peak_live_bytes":  # the blocks that make up the peak are not kept
            return []
        if key in _HELD:
            rows = phase_blocks.kept_by_stack(self._trace, runs[0], self._chosen, self._may_stay)
        else:
            rows = phases.costs_by_stack(self._trace, runs, self._chosen)
        is_count = FIGURES[key].unit == "count"
        return [(stack, count if is_count else size) for stack, count, size in rows]

    def _growth_of(self, runs: Sequence[Phase]) -> float:
        least_bytes = least_growth_bytes(self._whole)
        return math.ceil(phase_growth.growth_of(self._trace, runs, least_bytes, self._chosen, self._may_stay))


def wildcard(pattern: str) -> str:
    """* is any text."""
    return ".*".join(map(re.escape, pattern.split("*")))
