# SPDX-License-Identifier: MIT
"""Allocators that return memory some time after it was freed, and how to run them at both extremes.

A replay's timing does not match the program to the millisecond, so a peak may be before or after memory is
returned. A candidate's memory when it returns it at once, and when it never does, bounds what the program
may have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from heapwright.replay import settings
from heapwright.replay.candidates import Candidate


class _Clock(NamedTuple):
    """The settings of the delay, at both extremes; an allocator ignores names that it does not have."""

    at_once: Mapping[str, str]
    never: Mapping[str, str]


_CLOCKS: Mapping[str, _Clock] = {
    "jemalloc": _Clock(
        {"dirty_decay_ms": "0", "muzzy_decay_ms": "0"}, {"dirty_decay_ms": "-1", "muzzy_decay_ms": "-1"}
    ),
    # Renamed in 2.1; earlier versions ignore -1.
    "mimalloc": _Clock(
        {"purge_delay": "0", "decommit_delay": "0"}, {"purge_delay": "1000000", "decommit_delay": "1000000"}
    ),
    "heapwright": _Clock({"decay_ms": "0"}, {"decay_ms": "600000"}),
}


class Ends(NamedTuple):
    """A candidate that returns memory by the clock, at both extremes."""

    at_once: Candidate
    never: Candidate


def ends_of(candidate: Candidate) -> Ends | None:
    """None if the clock does not matter: there is none, or the settings already choose an extreme."""
    family = next((name for name in _CLOCKS if candidate.name.startswith(name)), None)
    if family is None:
        return None
    clock = _CLOCKS[family]
    if any(_names_an_end(candidate.variables, family, chosen) for chosen in clock):
        return None
    at_once, never = (
        replace(candidate, variables=settings.environment_of(family, chosen, candidate.variables))
        for chosen in clock
    )
    return Ends(at_once, never)


def _names_an_end(variables: Mapping[str, str], family: str, chosen: Mapping[str, str]) -> bool:
    said = (settings.environment_of(family, {name: value}) for name, value in chosen.items())
    return any(
        text in variables.get(variable, "").split(",") for one in said for variable, text in one.items()
    )
