# SPDX-License-Identifier: MIT
"""Buffers that grow by exactly what is needed: each step copies everything, n steps n times the buffer."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import LEAST_TIMES_COPIED, Evidence, ExactGrowth
from heapwright.explain.advice.rule import HIGH, MEDIUM, Advice, Rule
from heapwright.model.facts import ReallocChains
from heapwright.report import units

_LEAST_STEPS = 100
_MOST_ARE_OF_ONE = 0.8  # of the site's blocks, made by one kind of container


def _find(of: Evidence) -> Iterator[Advice]:
    for chains in of.facts.realloc_chains:
        is_quadratic = chains.copied_bytes >= LEAST_TIMES_COPIED * max(1, chains.final_bytes)
        if is_quadratic and chains.steps >= _LEAST_STEPS and not of.is_a_pool(chains.site):
            yield _of_reallocs(of, chains)
    for growth in of.facts.copied_growths:
        found = of.exact_growth(growth.site)
        if found is not None and not of.is_a_pool(growth.site):
            yield _of_copies(of, growth.site, found)


def _of_reallocs(of: Evidence, chains: ReallocChains) -> Advice:
    return Advice(
        (chains.site,),
        f"{units.counted(chains.chains, 'buffer')} grew by {units.count(chains.steps)} small reallocs, which "
        f"copied {units.size(chains.copied_bytes)} to fill {units.size(chains.final_bytes)}",
        (
            f"each byte was copied {chains.copied_bytes / max(1, chains.final_bytes):.0f} times; "
            f"{units.count(chains.moved)} of the reallocs moved the buffer",
        ),
        "the time of these reallocs, including their copies",
        HIGH,
        "every realloc is in the recording",
        chains.steps_ns if of.has_times else 0,
    )


def _of_copies(of: Evidence, site: int, growth: ExactGrowth) -> Advice:
    steps, copied, final = growth.steps, growth.copied_bytes, growth.final_bytes
    container, how_many = of.container(site)
    is_known = how_many >= _MOST_ARE_OF_ONE and container in ("string", "vector")
    between_ns = growth.time_ns - int(steps * of.allocation_cost_ns)
    return Advice(
        (site,),
        f"each of {units.count(steps)} blocks took over what the one before held and a little more: "
        f"{units.size(copied)} copied to fill {units.size(final)}",
        (
            f"each byte was copied {copied / final:.0f} times; twice if the capacity doubled",
            f"requested sizes: {of.sizes_in_words(site)}",
        ),
        "from the new block's call to the old one's free, with the copy at 1 ns per byte at most, minus the "
        "recorder's time",
        HIGH if is_known else MEDIUM,
        f"the blocks are a {container}'s"
        if is_known
        else "repeatedly a slightly larger block, then the free of the one before",
        max(0, min(between_ns, of.time_of(site) + copied)) if of.has_times else 0,
    )


RULE = Rule(
    "exact_growth",
    "",
    "append in place (s += x, not s = s + x), or grow the capacity by a factor",
    _find,
    (
        "the old value is still needed: each step then is a new one",
        "memory is short and the buffer is rarely extended: a factor leaves up to as much unused",
    ),
    "let each realloc at least double the capacity, and keep count of what is used",
    prelude="""\
#include <string>
std::string next_part();
void use(const std::string&);""",
    before="""\
std::string text;
for (int i = 0; i < 1000; ++i) text = text + next_part();  // a new block, and a copy of all so far
use(text);""",
    after="""\
std::string text;
for (int i = 0; i < 1000; ++i) text += next_part();  // room doubles: each byte is copied about once
use(text);""",
    unsampled="knowing how a buffer grew takes each of its steps",
)
