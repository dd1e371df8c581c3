# SPDX-License-Identifier: MIT
"""Blocks of several sites that die together: an arena."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, LOW, MEDIUM, Advice, Rule
from heapwright.model.facts import EmptiedSite
from heapwright.report import units

_LEAST_RUNS = 3
_LEAST_BLOCKS = 64  # of a site in one run of frees
_BEFORE_ATTRIBUTED = 32  # blocks of each run that are not attributed to a site
_MOST_DIE_SO = 0.9
_NEARLY_ALL = 0.98
_BY_OTHERS = 0.1


def _find(of: Evidence) -> Iterator[Advice]:
    """For each leading site, the sites emptied with it."""
    groups: dict[int, list[EmptiedSite]] = {}
    by_site: dict[int, list[EmptiedSite]] = {}  # of sites of about the same size, either may lead
    for row in of.facts.emptied_sites:
        groups.setdefault(row.leader, []).append(row)
        by_site.setdefault(row.site, []).append(row)
    shares = {site: _share(of, site, rows) for site, rows in by_site.items()}
    for leader, rows in groups.items():
        led = next((row for row in rows if row.site == leader), None)
        if led is None or led.runs < _LEAST_RUNS or led.blocks < _LEAST_BLOCKS * led.runs:
            continue
        fitting = [row for row in rows if shares[row.site] >= _MOST_DIE_SO and row.blocks >= _LEAST_BLOCKS]
        if led in fitting and not _is_left_alone(of, leader):
            others = [row for row in fitting if row is not led and not _is_left_alone(of, row.site)]
            yield _advice(of, led, others, min(shares[row.site] for row in (led, *others)))


def _is_left_alone(of: Evidence, site: int) -> bool:
    """Pools, and objects whose lifetime ends with their last owner."""
    return of.is_a_pool(site) or site in of.control_blocks or of.container(site)[0] == "shared_ptr"


def _share(of: Evidence, site: int, rows: list[EmptiedSite]) -> float:
    """Share of the site's blocks that died in such runs, or earlier when a buffer grew."""
    died = sum(row.blocks for row in rows)
    missed = sum(_BEFORE_ATTRIBUTED * row.runs for row in rows if row.leader == site)
    grown = of.growths[site].steps if site in of.growths else 0
    return min(1.0, (died + missed + grown) / max(1, of.site(site).allocations))


def _advice(of: Evidence, led: EmptiedSite, others: list[EmptiedSite], sure: float) -> Advice:
    sites = (led.site, *(row.site for row in others))
    blocks = sum(row.blocks for row in (led, *others))
    total = sum(row.bytes for row in (led, *others))
    by_others = max(of.site(site).freed_by_other_thread / max(1, of.site(site).freed) for site in sites)
    with_it = f" with those of {units.counted(len(others), 'other site')}" if others else ""
    confidence, why = HIGH, f"{units.percent(sure)} of the blocks of each site died in such a run"
    if by_others > _BY_OTHERS:
        confidence, why = LOW, f"{why}; but {units.percent(by_others)} were freed by another thread"
    elif sure < _NEARLY_ALL:
        confidence = MEDIUM
    return Advice(
        sites,
        f"its blocks die together{with_it}, {units.count(led.runs)} times",
        (
            f"{units.counted(led.runs, 'run')} of frees without an allocation between them took "
            f"{units.size(total / led.runs)} in {units.count(blocks // led.runs)} blocks on average, "
            "and left almost no blocks of these sites",
        ),
        "all calls of these sites and the frees of their blocks; rounding and headers",
        confidence,
        why,
        sum(map(of.time_of, sites)),
        sum(map(of.lost_bytes, sites)),
    )


RULE = Rule(
    "arena",
    "arena",
    "allocate them in one arena, and reset it where they are now freed",
    _find,
    (
        "one of them must outlive the rest: its memory is released only with the arena",
        "the objects own heap memory that would stay outside the arena (std::string, std::vector)",
        "several threads allocate: an arena takes no lock",
    ),
    "allocate them in one region (an obstack, a pool of your library) and free it as a whole",
    prelude="""\
#include <heapwright/arena.hpp>
struct Node { Node* left; Node* right; int value; };
void use(Node*);
int next_value();""",
    before="""\
Node* tree = nullptr;
for (int i = 0; i < 1000; ++i) tree = new Node{tree, nullptr, next_value()};
use(tree);
while (tree != nullptr) {
  Node* left = tree->left;
  delete tree;
  tree = left;
}""",
    after="""\
static heapwright::arena memory;
Node* tree = nullptr;
for (int i = 0; i < 1000; ++i) tree = memory.create<Node>(tree, nullptr, next_value());
use(tree);
memory.reset();  // all of it; keeps its blocks for the next time""",
    unsampled="finding blocks that die together takes every call",
    change="arena",
)
