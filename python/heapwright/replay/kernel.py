# SPDX-License-Identifier: MIT
"""A candidate's use of the kernel: page faults, waiting, and system calls of its heap calls by kind."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from heapwright.measure.program import Output
from heapwright.measure.runner import Arm
from heapwright.replay.result import Counted, Document, Kernel, Outcome, SystemCall

_CALLS, _NS = "_calls", "_ns"
# A sentence takes a difference of this many calls, and of this factor.
_WORTH_CALLS = 1000
_WORTH_FACTOR = 2


def of_arms(memory: Arm, time: Arm) -> Kernel | None:
    """None after a failure. Faults and system calls are from recorded order, where they hardly vary."""
    if memory.failure or time.failure or not memory.runs or not time.runs:
        return None
    return Kernel(
        _counted(memory.runs, "faults"),
        _counted(time.runs, "voluntary_switches"),
        _counted(time.runs, "involuntary_switches"),
        _system_calls(memory.runs),
    )


def _counted(runs: Sequence[Output], key: str) -> Counted:
    values = [run[key] for run in runs]
    return Counted(median(values), min(values), max(values))


def _system_calls(runs: Sequence[Output]) -> dict[str, SystemCall] | None:
    """By kind; None if the kernel could not report them."""
    kinds = [key.removesuffix(_CALLS) for key in runs[0] if key.endswith(_CALLS)]
    if not kinds:
        return None
    return {kind: SystemCall(_counted(runs, kind + _CALLS), _counted(runs, kind + _NS)) for kind in kinds}


def total(kernel: Kernel | None, of: str = "calls") -> float | None:
    """All system calls of a candidate, or their time; None if not known."""
    if not kernel or kernel.system_calls is None:
        return None
    return float(sum(getattr(kind, of).median for kind in kernel.system_calls.values()))


def stand_out(document: Document) -> list[Outcome]:
    """Candidates that make many more or fewer system calls than the reference."""
    reference = total(document.candidates[0].kernel)
    found = []
    for candidate in document.candidates[1:]:
        own = total(candidate.kernel)
        if own is None or reference is None:
            continue
        is_far = max(own, reference) >= _WORTH_FACTOR * min(own, reference)
        if is_far and abs(own - reference) >= _WORTH_CALLS:
            found.append(candidate)
    return found


def most_of(kernel: Kernel) -> str:
    """The most frequent kind."""
    calls = kernel.system_calls or {}
    return max(calls, key=lambda kind: calls[kind].calls.median)
