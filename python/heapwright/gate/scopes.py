# SPDX-License-Identifier: MIT
"""The named scopes of heap_budget (heapwright/heap_budget.hpp), as counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

from heapwright.explain.annotations import Annotations
from heapwright.explain.phases import Phase, Span, phases_of
from heapwright.model import Trace
from heapwright.model.records import Thread

# From include/heapwright/detail/told_scope.hpp: a scope is the phase within a phase of its part.
_OF_THREAD, _OF_PROCESS, _ALLOWANCE = "heap_budget", "heap_budget of all threads", "heap_allowance"


class Scope(Phase):
    """One opening of a scope. counted: its own thread or all, without heap_allowance times."""

    def __init__(self, phase: Phase, counted: Sequence[Span]) -> None:
        super().__init__(phase.name, phase.thread, phase.begin_ns, phase.end_ns)
        self._counted = counted

    def spans(self) -> Sequence[Span]:
        return self._counted


def scopes_in(trace: Trace) -> list[Scope]:
    """In order within each thread, without costs. Reads the trace once."""
    phases = phases_of(Annotations(trace).marks(), trace.end.time_ns)
    return list(scopes_of(phases, trace.threads))


def scopes_of(phases: Sequence[Phase], threads: Sequence[Thread]) -> Iterator[Scope]:
    """phases: in order within each thread."""
    allowed: dict[int, list[Phase]] = {}
    for phase in phases:
        if phase.name == _ALLOWANCE:
            allowed.setdefault(phase.thread, []).append(phase)
    for part, phase in pairwise(phases):
        if part.thread != phase.thread:
            continue
        if part.name == _OF_THREAD:
            # A scope opened within an allowance counts.
            own = (one for one in allowed.get(phase.thread, ()) if one.begin_ns >= phase.begin_ns)
            yield Scope(phase, list(_without(phase, phase.thread, own)))
        elif part.name == _OF_PROCESS:
            began = [one.index for one in threads if one.first_ns < phase.end_ns]
            parts = (_without(phase, thread, allowed.get(thread, ())) for thread in began)
            yield Scope(phase, list(chain.from_iterable(parts)))


def _without(phase: Phase, thread: int, allowed: Iterable[Phase]) -> Iterator[Span]:
    """The phase's time without allowances; allowed: of that thread, by begin."""
    at_ns = phase.begin_ns
    for one in allowed:
        if one.end_ns <= at_ns or one.begin_ns >= phase.end_ns:
            continue
        if one.begin_ns > at_ns:
            yield Span(thread, at_ns, one.begin_ns)
        at_ns = one.end_ns
    if at_ns < phase.end_ns:
        yield Span(thread, at_ns, phase.end_ns)
