# SPDX-License-Identifier: MIT
"""Calls that may belong to a site without being counted there: their stacks are cut before any site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from heapwright.gate.budget import Rule
from heapwright.gate.limits import FIGURES
from heapwright.model import Facts, Trace
from heapwright.model.libraries import is_plumbing
from heapwright.model.sites import MARKS

_COLUMNS = {
    "calls": "allocations",
    "bytes": "bytes",
    "peak_live_bytes": "own_peak_bytes",
    "live_at_end_bytes": "live_at_end_bytes",
    "live_at_end_blocks": "live_at_end_blocks",
}


class Hidden(NamedTuple):
    """figures: sums over the stacks that were cut within plumbing; why: most of their allocations were."""

    figures: Mapping[str, int]
    why: str


def hidden_calls(trace: Trace, facts: Facts) -> Hidden:
    """What no site of the program's own code has, as its stacks do not reach any."""
    sites = trace.sites()
    marks = frozenset(MARKS.values())
    is_hiding = [site.location in marks or is_plumbing(site.location.library) for site in sites]
    reasons = trace.why_cut()
    cut = [
        stack
        for stack, why in enumerate(reasons)
        if why and is_hiding[sites.site_of_stack[stack]] and facts.stacks["allocations"][stack]
    ]
    figures = {key: sum(facts.stacks[column][stack] for stack in cut) for key, column in _COLUMNS.items()}
    found = Counter[str]()
    for stack in cut:
        found[reasons[stack]] += facts.stacks["allocations"][stack]
    return Hidden(figures, found.most_common(1)[0][0] if found else "")


def unproven(rule: Rule, figures: Mapping[str, float], hidden: Hidden) -> Iterator[str]:
    """Why a limit of a site is not shown to hold: it would not, if the hidden calls were the site's."""
    for key, limit in rule.limits.items():
        value = figures.get(key, 0)
        if value <= limit < value + hidden.figures.get(key, 0):
            yield (
                f"{rule}: {FIGURES[key].label} may be above its limit, as {hidden.figures['calls']:,} "
                f"allocations have stacks that are cut before any function of the program ({hidden.why})"
            )
