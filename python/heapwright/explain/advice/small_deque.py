# SPDX-License-Identifier: MIT
"""Many deques that hold little: each has a block of 512 bytes and a map, even while it is empty."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import MEDIUM, Advice, Rule
from heapwright.report import units

_LEAST_DEQUES = 1000
# Of the site's blocks at the peak: the first ones of its deques, and their maps. Others are of deques that
# hold more.
_MOST_ARE_FIRST = 0.5


def _find(of: Evidence) -> Iterator[Advice]:
    for site in of.candidates(_LEAST_DEQUES):
        facts, first = of.site(site), of.first_of_deques(site)
        deques = first.blocks // 2  # a block and a map each
        if deques < _LEAST_DEQUES or first.blocks < _MOST_ARE_FIRST * facts.live_at_peak_blocks:
            continue
        lost = int(of.lost_bytes_each(site) * first.blocks)
        yield Advice(
            (site,),
            f"{units.count(deques)} std::deques hold one block each, {units.size(first.bytes / deques)} with "
            "its map, however little is in it",
            (
                f"at the peak, {units.count(first.blocks)} of the site's "
                f"{units.count(facts.live_at_peak_blocks)} blocks are those that a std::deque makes in its "
                "constructor, also while it is empty",
            ),
            "these blocks and maps, with rounding and headers; what they hold needs room elsewhere",
            MEDIUM,
            "the blocks are std::deque's, by the functions above the allocator; how much of them is used is "
            "not known",
            0,
            first.bytes + lost,
        )


RULE = Rule(
    "small_deque",
    "small_vector",
    "use a vector (with inline storage), or make the deque only when it is needed",
    _find,
    (
        "the deques are nearly full: 512 bytes of elements each",
        "elements are taken from the front of long queues",
        "references to elements must survive a push",
    ),
    prelude="""\
#include <heapwright/small_vector.hpp>
#include <deque>
#include <vector>""",
    before="""\
struct Session { std::deque<int> pending; };  // 576 bytes each, also while it is empty
std::vector<Session> sessions(100000);""",
    after="""\
struct Session { heapwright::small_vector<int, 4> pending; };
std::vector<Session> sessions(100000);""",
    unsampled="knowing how many blocks are the first of a deque takes every call",
)
