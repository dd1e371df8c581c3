# SPDX-License-Identifier: MIT
"""What is built, used and torn down again each time: keep it."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.containers import NODES
from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import MEDIUM, Advice, Rule
from heapwright.report import units

_LEAST_BLOCKS = 1000
_LEAST_TIMES_OVER = 1000
_MOST_AT_ONCE = 1 << 20  # bytes: kept, they cost little
_MOST_FREED = 0.99
_BY_OTHERS = 0.01
_MOST_TEMPORARY = 0.8  # from it on, a local or one kept buffer is enough
_MOST_STEPS = 0.5
_MOST_LIFE = 0.01  # of the run
_A_FEW_NODES = 32 << 10  # bytes: no container of them fills a pool
_NODES = "use a container without nodes (a std::vector, sorted if need be; a std::deque), or keep its nodes"
_ACTIONS = {
    "an exception": "return what is expected to fail (std::optional, a status) instead of throwing: that "
    "costs far more than these calls",
    "std::regex": "compile the std::regex once (static const), not for each use",
    "a string stream": "format into one kept std::string, or keep the stream and empty it with str({})",
}


def _find(of: Evidence) -> Iterator[Advice]:
    for site in of.candidates(_LEAST_BLOCKS):
        facts = of.site(site)
        if of.times_over(site) < _LEAST_TIMES_OVER or not _is_torn_down(of, site):
            continue
        if _is_of_others(of, site):
            continue
        made_by = of.made_by(site)
        life = units.duration(facts.lifetime_sum_ns / max(1, facts.freed))
        yield Advice(
            (site,),
            f"builds {units.count(facts.allocations)} blocks{f' of {made_by}' if made_by else ''} and frees "
            f"them again, never more than {units.size(facts.own_peak_bytes)} at once",
            (f"they live {life} on average; requested sizes: {of.sizes_in_words(site)}",),
            "all calls of this site and the frees of its blocks, except those of what is kept; what it takes "
            "to fill them again comes on top",
            MEDIUM,
            "hardly anything of it is left before it is built again",
            int(of.time_of(site) * (1 - 1 / of.times_over(site))),
            action=_ACTIONS.get(made_by, _NODES if of.container(site)[0] in NODES else ""),
        )


def _is_torn_down(of: Evidence, site: int) -> bool:
    facts = of.site(site)
    is_short = facts.lifetime_sum_ns <= _MOST_LIFE * of.facts.totals.span_ns * max(1, facts.freed)
    is_freed = facts.freed >= _MOST_FREED * facts.allocations
    is_own = facts.freed_by_other_thread <= _BY_OTHERS * facts.allocations
    return is_short and is_freed and is_own and facts.own_peak_bytes <= _MOST_AT_ONCE


def _is_of_others(of: Evidence, site: int) -> bool:
    """Whether another rule says more: temporaries, nodes, control blocks, what grows."""
    facts = of.site(site)
    grown = facts.reallocs + (of.growths[site].steps if site in of.growths else 0)
    is_simple = facts.temporaries >= _MOST_TEMPORARY * facts.allocations
    is_grown = grown >= _MOST_STEPS * facts.allocations
    is_node = of.container(site)[0] in NODES and facts.own_peak_bytes > _A_FEW_NODES
    is_known = site in of.control_blocks or is_node
    return not of.made_by(site) and (is_simple or is_grown or is_known)


RULE = Rule(
    "built_again",
    "",
    "keep what it builds (a static, a member, an argument that is refilled) instead of building it again",
    _find,
    (
        "it depends on the arguments of each call: then only its memory can be kept",
        "several threads would share what is kept",
    ),
    prelude="""\
#include <regex>
#include <string>
#include <vector>
std::vector<std::string> texts();
void use(bool);""",
    before="""\
for (const auto& text : texts()) {
  const std::regex word("[a-z]+");  // compiled each time
  use(std::regex_match(text, word));
}""",
    after="""\
static const std::regex word("[a-z]+");
for (const auto& text : texts()) use(std::regex_match(text, word));""",
    unsampled="knowing how much lived at once, and how long, takes every call",
    is_least=True,
)
