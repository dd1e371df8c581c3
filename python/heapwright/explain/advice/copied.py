# SPDX-License-Identifier: MIT
"""Containers that are copied whole, and dropped again: pass a reference."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import MEDIUM, Advice, Rule
from heapwright.report import units

_LEAST_BLOCKS = 100
_LEAST_TIMES_OVER = 20
_MOST_ARE_COPIES = 0.9
_MOST_FREED = 0.95


def _find(of: Evidence) -> Iterator[Advice]:
    for site in of.candidates(_LEAST_BLOCKS):
        facts = of.site(site)
        is_dropped = facts.freed >= _MOST_FREED * facts.allocations
        if not is_dropped or of.times_over(site) < _LEAST_TIMES_OVER or not of.has_times:
            continue
        container, part = of.copied(site)
        if not container or part < _MOST_ARE_COPIES:
            continue
        life = units.duration(facts.lifetime_sum_ns / max(1, facts.freed))
        yield Advice(
            (site,),
            f"copies a {container} again and again: {units.count(facts.allocations)} blocks of "
            f"{units.size(facts.bytes)}, freed after {life} on average",
            (f"never more than {units.size(facts.own_peak_bytes)} at once", of.sizes_in_words(site)),
            "the calls of these copies and the frees of their blocks; the copying at 1 ns per byte at most",
            MEDIUM,
            f"the copy constructor of {container} made {units.percent(part)} of its bytes; whether the "
            "copies are changed is not known",
            of.time_of(site) + int(facts.bytes * part),
        )


RULE = Rule(
    "copied",
    "",
    "pass a const reference (a range-for: const auto&), move what is not needed any more, or share it with "
    "std::shared_ptr<const T>",
    _find,
    (
        "the copy is changed, or has to outlive the original",
        "another thread changes the original meanwhile",
    ),
    prelude="""\
#include <map>
#include <string>
#include <vector>
using Settings = std::map<std::string, std::string>;
std::vector<Settings> all();
void use(const Settings&);""",
    before="""\
for (auto settings : all()) {  // copies each node
  use(settings);
}""",
    after="""\
for (const auto& settings : all()) {
  use(settings);
}""",
    unsampled="knowing how much lived at once takes every call",
)
