# SPDX-License-Identifier: MIT
"""What the runs of phases cost, for rules of phases. What takes another reading is read where a rule asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from heapwright.explain import phase_blocks, phases
from heapwright.explain.phase_blocks import Held
from heapwright.explain.phases import Phase
from heapwright.gate.budget import BudgetError, Rule
from heapwright.gate.limits import PHASE, TIMES
from heapwright.model import Facts, Filter, Trace

_HELD = ("peak_live_bytes", "live_at_end_bytes", "live_at_end_blocks")


class PhaseFigures:
    """whole: of what is chosen, the sites that count; is_suppressed: by stack, its blocks may stay."""

    def __init__(
        self, trace: Trace, whole: Facts, chosen: Filter, is_suppressed: bytes, rules: Sequence[Rule]
    ) -> None:
        self._trace, self._whole, self._chosen = trace, whole, chosen
        self._may_stay = [stack for stack, may_stay in enumerate(is_suppressed) if may_stay]
        self._wants_held = any(key in _HELD for rule in rules if rule.kind == PHASE for key in rule.limits)

    @cached_property
    def _runs(self) -> list[Phase]:
        # Facts of some libraries alone do not tell of marks.
        if self._chosen.is_everything and not phases.has_phases(self._whole):
            return []
        return phases.runs_of(self._trace, self._chosen)

    @cached_property
    def _held(self) -> list[Held]:
        if not self._wants_held or not self._runs:
            return [Held() for _ in self._runs]
        return phase_blocks.held_by(self._trace, self._runs, self._chosen, self._may_stay)

    def of(self, rule: Rule) -> dict[str, float]:
        """Sums over all runs of that name, or the run with most."""
        pattern = re.compile(wildcard(rule.name))
        own = [
            (run, held)
            for run, held in zip(self._runs, self._held, strict=True)
            if pattern.fullmatch(run.name)
        ]
        if not own and not rule.is_optional and any(rule.limits.values()):
            names = sorted({run.name for run in self._runs})
            there = f"there are {', '.join(names[:5])}"
            known = there if names else "the program names none (heapwright/annotate.h)"
            raise BudgetError(f"no phase is called {rule.name}; {known}")
        figures: dict[str, float] = {
            "calls": sum(run.allocations for run, _ in own),
            "bytes": sum(run.requested_bytes for run, _ in own),
            "calls_per_run": max((run.allocations for run, _ in own), default=0),
            "bytes_per_run": max((run.requested_bytes for run, _ in own), default=0),
            "peak_live_bytes": max((held.peak_bytes for _, held in own), default=0),
            "live_at_end_bytes": max((held.end_bytes for _, held in own), default=0),
            "live_at_end_blocks": max((held.end_blocks for _, held in own), default=0),
        }
        if any(key in rule.limits for key in TIMES):
            times = phase_blocks.times_of(self._trace, [run for run, _ in own], self._chosen)
            figures |= times._asdict()
        return figures


def wildcard(pattern: str) -> str:
    """* is any text."""
    return ".*".join(map(re.escape, pattern.split("*")))
