# SPDX-License-Identifier: MIT
"""All experiments, in the order of `lab all`."""

from __future__ import annotations

from difflib import get_close_matches

from heapwright.lab.catalogue import containers, memory, speed
from heapwright.measure.errors import MeasureError
from heapwright.measure.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    containers.BUFFER_CACHE,
    memory.FRAGMENTATION,
    speed.CONTENTION,
    speed.LATENCY,
    containers.ARENA,
    containers.POOL,
    speed.FREE_COST,
    containers.SMALL_VECTOR,
    memory.OVERHEAD,
    containers.SHARED,
    speed.REMOTE,
    memory.RETAIN,
    memory.REALLOC,
)
ALL = "all"


def choose(name: str) -> tuple[Experiment, ...]:
    """The experiment of that name, or all of them."""
    if name == ALL:
        return EXPERIMENTS
    by_name = {experiment.name: experiment for experiment in EXPERIMENTS}
    if name in by_name:
        return (by_name[name],)
    close = get_close_matches(name, [*by_name, ALL], 1, 0.4)
    hint = f"did you mean {close[0]}?" if close else f"known: all, {', '.join(by_name)}"
    raise MeasureError(f"no experiment {name}; {hint}")


__all__ = ["ALL", "EXPERIMENTS", "choose"]
