# SPDX-License-Identifier: MIT
"""Buffers that grow in many steps: request the final size at once."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, MEDIUM, Advice, Rule
from heapwright.model.facts import CopiedGrowth, ReallocChains
from heapwright.report import units

_LEAST_STEPS = 2.0  # per buffer, on average


def _find(of: Evidence) -> Iterator[Advice]:
    for chains in of.facts.realloc_chains:
        if chains.steps >= _LEAST_STEPS * chains.chains and not of.is_a_pool(chains.site):
            yield _of_reallocs(of, chains)
    for growth in of.facts.copied_growths:
        # Varying sizes in a queue of one buffer sometimes look like growth.
        is_growth = growth.chains and growth.steps >= _LEAST_STEPS * max(1, growth.chains)
        if is_growth and not of.is_a_pool(growth.site):
            yield _of_copies(of, growth)


def _of_reallocs(of: Evidence, chains: ReallocChains) -> Advice:
    final = chains.final_bytes / max(1, chains.chains)
    each = chains.steps / max(1, chains.chains)
    return Advice(
        (chains.site,),
        f"{units.counted(chains.chains, 'buffer')} grew by {units.counted(chains.steps, 'realloc')} "
        f"to {units.size(final)}{' on average' if chains.chains > 1 else ''}",
        (
            f"{units.count(chains.moved)} of the reallocs moved the buffer, "
            f"{units.size(chains.copied_bytes)} were copied; {each:.1f} steps per buffer, "
            f"{chains.longest_steps} the longest",
        ),
        "the time of these reallocs, including their copies",
        HIGH,
        "every realloc is in the recording",
        _reallocs_ns(of, chains) if of.has_times else 0,
    )


def _reallocs_ns(of: Evidence, chains: ReallocChains) -> int:
    """Without what other work took of the CPU meanwhile, which steps_ns has: at most the site's calls if it
    made so many reallocs, or else all calls."""
    is_own = of.site(chains.site).reallocs >= chains.steps
    return min(chains.steps_ns, of.time_of(chains.site) if is_own else of.facts.totals.allocator_ns)


def _of_copies(of: Evidence, growth: CopiedGrowth) -> Advice:
    container, how_many = of.container(growth.site)
    known = container if how_many >= 0.9 and container not in ("", "heapwright") else ""
    cost_ns = int(growth.steps * of.allocation_cost_ns)
    needless = growth.steps / max(1, of.site(growth.site).allocations)  # one block of each buffer stays
    return Advice(
        (growth.site,),
        f"{units.counted(growth.chains, known or 'buffer')} grew {units.count(growth.steps)} times by "
        "a new block, "
        "a copy and a free",
        (
            f"at most {units.size(growth.copied_bytes)} copied, "
            f"{growth.steps / max(1, growth.chains):.1f} steps each; half of them ended at "
            f"{units.size(growth.final_p50_bytes)} or less, 90 % at "
            f"{units.size(growth.final_p90_bytes)} or less",
        ),
        "from the new block's call to the old one's free, including the copy at 1 ns per byte at "
        "most, minus the recorder's time",
        HIGH if known else MEDIUM,
        f"the blocks are a {known}'s" if known else "repeatedly a larger block and the free of a smaller one",
        # The time between the calls is not only the copy.
        min(
            max(0, growth.time_ns - cost_ns),
            int(of.time_of(growth.site) * needless) + of.copies_ns(growth.site),
        )
        if of.has_times
        else 0,
    )


RULE = Rule(
    "reserve",
    "",
    "call reserve() with the expected final size, before the first element",
    _find,
    (
        "the final size is unknown or varies widely: unused capacity stays allocated",
        "reserve() would be called for every element: that grows one by one",
    ),
    "allocate the expected size at once, or let each realloc at least double it",
    prelude="""\
#include <cstddef>
#include <vector>
int next_value();
void use(const std::vector<int>&);
extern std::size_t expected;""",
    before="""\
std::vector<int> values;
for (std::size_t i = 0; i < expected; ++i) values.push_back(next_value());
use(values);""",
    after="""\
std::vector<int> values;
values.reserve(expected);
for (std::size_t i = 0; i < expected; ++i) values.push_back(next_value());
use(values);""",
    unsampled="knowing how a buffer grew takes each of its steps",
    change="reserve",
)
