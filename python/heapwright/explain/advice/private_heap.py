# SPDX-License-Identifier: MIT
"""Survivors among temporaries: a private heap."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, MEDIUM, Advice, Rule
from heapwright.explain.cause_kinds import kinds_at
from heapwright.explain.idle_memory import BRIEF_SHARE, lasted_ns, taken_again_bytes
from heapwright.explain.report import Report
from heapwright.explain.separation import most_saved
from heapwright.report import units

_MOST_FREED = 0.25  # of the site's blocks: above it, the site does not tell what stays from what goes
_FEW_FREED = 0.05
_LEAST_BLOCKS = 16


def _find(of: Evidence) -> Iterator[Advice]:
    if of.scan_with_most_free is None:
        return
    number, moment = of.scan_with_most_free
    kinds = kinds_at(of.report, number)
    lasted = lasted_ns(of.report, kinds, number)
    brief = lasted < BRIEF_SHARE * of.report.trace.end.time_ns
    free_bytes = moment.partly_free_bytes + moment.free_page_bytes - taken_again_bytes(of.report, kinds)
    for pin in of.facts.pins:
        facts = of.site(pin.site)
        freed = facts.freed / max(1, facts.allocations)
        # A block or two at the heap's top are chance: a buffer of stdio's, a table that just grew.
        if pin.blocks < _LEAST_BLOCKS:
            continue
        held = min(most_saved(pin, kinds.allocator.header_bytes), free_bytes)
        if pin.scan != number or freed > _MOST_FREED or pin.live_bytes > held or of.is_a_pool(pin.site):
            continue
        if not of.is_worth_resident(held):
            continue
        yield Advice(
            (pin.site,),
            f"{units.counted(pin.blocks, 'block')} of {units.size(pin.live_bytes)} in all keep "
            f"{units.size(held)} of free memory resident",
            (
                f"{units.size(pin.pinned_bytes)} on {units.count(pin.pages)} pages with no other site's, "
                f"{units.size(pin.held_bytes)} below its last block at the heap's top; "
                f"{units.percent(freed)} of all that it made were freed",
            ),
            "what is free there, if nothing else came to lie there",
            HIGH if freed <= _FEW_FREED and not brief else MEDIUM,
            "the site separates what stays from what goes; pages are looked at one by one"
            + (f"; but it was free for {units.duration(lasted)} alone" if brief else ""),
            0,
            held,
        )


def is_sure(report: Report) -> bool:
    """Whether it is advised with high confidence, for more than the floor."""
    of = Evidence(report)
    return not of.is_sampled and any(
        one.confidence == HIGH and of.is_worth(0, one.bytes) for one in _find(of)
    )


RULE = Rule(
    "private_heap",
    "class_heap",
    "give the blocks that stay a private heap",
    _find,
    (
        "the site's other blocks go soon: then its heap is full of holes as well",
        "another allocator is in use in production: it lays blocks elsewhere",
        "there are few such objects: a private heap keeps a page at least",
    ),
    "take the blocks that stay from one region of their own",
    prelude="""\
#include <heapwright/class_heap.hpp>""",
    before="""\
struct Session { int id; };
Session* make_session() { return new Session(); }""",
    after="""\
struct Session : heapwright::class_heap<Session> { int id; };
Session* make_session() { return new Session(); }  // with heapwright's heap linked or preloaded""",
    of_resident=True,
    change="segregate",
    unsampled="which page holds a block takes every block",
)
