# SPDX-License-Identifier: MIT
"""Survivors among temporaries: a private heap."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, MEDIUM, Advice, Rule
from heapwright.explain.cause_kinds import kinds_at
from heapwright.explain.idle_memory import BRIEF_SHARE, lasted_ns, taken_again_bytes
from heapwright.explain.joint_pins import JointPins, joint_pins
from heapwright.explain.report import Report
from heapwright.explain.separation import most_saved
from heapwright.report import units

_MOST_FREED = 0.25  # of the site's blocks: above it, the site does not separate long-lived from temporary
_FEW_FREED = 0.05
_LEAST_BLOCKS = 16


def _find(of: Evidence) -> Iterator[Advice]:
    if of.scan_with_most_free is None:
        return
    number, _ = of.scan_with_most_free
    kinds = kinds_at(of.report, number)
    lasted = lasted_ns(of.report, kinds, number)
    brief = lasted < BRIEF_SHARE * of.report.trace.end.time_ns
    free_bytes = kinds.idle_bytes(taken_again_bytes(of.report, kinds))
    joint = joint_pins(of.report, kinds, number)
    if joint is not None:
        yield from _together(of, joint, free_bytes, brief)
    for pin in of.facts.pins:
        facts = of.site(pin.site)
        freed = facts.freed / max(1, facts.allocations)
        # One or two blocks at the heap's top are chance: a stdio buffer, a table that just grew.
        if pin.blocks < _LEAST_BLOCKS:
            continue
        held = min(most_saved(pin, kinds.allocator.header_bytes), free_bytes)
        if pin.scan != number or freed > _MOST_FREED or pin.live_bytes > held or of.is_a_pool(pin.site):
            continue
        if not of.is_worth_resident(held):
            continue
        yield Advice(
            (pin.site,),
            f"{units.counted(pin.blocks, 'block')} with {units.size(pin.live_bytes)} keep "
            f"{units.size(held)} of free memory resident",
            (
                f"{units.size(pin.pinned_bytes)} on {units.count(pin.pages)} pages of only this site, "
                f"{units.size(pin.held_bytes)} below its last block at the heap's top; "
                f"{units.percent(freed)} of its blocks were freed",
            ),
            "the free memory there, if no other blocks took its place",
            HIGH if freed <= _FEW_FREED and not brief else MEDIUM,
            "the site separates long-lived from temporary blocks; checked page by page"
            + (f"; but it was free for only {units.duration(lasted)}" if brief else ""),
            0,
            held,
        )


def _together(of: Evidence, joint: JointPins, free_bytes: int, brief: bool) -> Iterator[Advice]:
    """One private heap for sites that pin pages together."""
    facts = [of.site(number) for number in joint.sites]
    freed = sum(site.freed for site in facts) / max(1, sum(site.allocations for site in facts))
    held = min(joint.saves_most_bytes, free_bytes)
    if joint.blocks < _LEAST_BLOCKS or freed > _MOST_FREED or joint.live_bytes > held:
        return
    if any(map(of.is_a_pool, joint.sites)) or not of.is_worth_resident(held):
        return
    others = units.counted(len(joint.sites) - 1, "other site")
    yield Advice(
        joint.sites,
        f"with {others} its {units.counted(joint.blocks, 'block')} with {units.size(joint.live_bytes)} keep "
        f"{units.size(held)} of free memory resident, together on the same pages",
        (
            f"{units.size(joint.pinned_bytes)} on pages with blocks of only these sites; "
            f"{units.percent(freed)} of their blocks were freed",
        ),
        "the free memory there, if no other blocks took its place",
        HIGH if freed <= _FEW_FREED and not brief else MEDIUM,
        "the sites separate long-lived from temporary blocks; checked page by page",
        0,
        held,
        action="give the long-lived blocks of these sites one private heap",
    )


def is_sure(report: Report) -> bool:
    """Whether it is advised with high confidence, for a gain above the floor."""
    of = Evidence(report)
    return not of.is_sampled and any(
        one.confidence == HIGH and of.is_worth(0, one.bytes) for one in _find(of)
    )


RULE = Rule(
    "private_heap",
    "class_heap",
    "give the long-lived blocks a private heap",
    _find,
    (
        "most of the site's blocks are short-lived: its private heap would be fragmented too",
        "production uses another allocator: it places blocks differently",
        "there are few such objects: a private heap takes at least a page",
    ),
    "allocate the long-lived blocks from a separate region",
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
    unsampled="knowing which pages hold blocks takes every block",
)
