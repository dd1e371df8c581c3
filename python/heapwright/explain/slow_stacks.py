# SPDX-License-Identifier: MIT
"""The stacks of a slow call: the caller's, and for a free that of its block's allocation."""

from __future__ import annotations

from typing import NamedTuple

from heapwright.explain.details import location_record
from heapwright.explain.report import Answer, Report
from heapwright.explain.site_names import site_name
from heapwright.model.facts import SlowCall
from heapwright.report.columns import Column, Many

STACK_COLUMNS = (
    Column("block_stack", about="For a free: where its block was allocated; 0: not known."),
    Column("block_name", "text", about="That call site, if the free has its own stack."),
    Column("call_frames", Many("frame"), about="The caller's stack, innermost first; empty: not recorded."),
    Column("block_frames", Many("frame"), about="For a free: the stack that allocated its block."),
)


class SlowStacks(NamedTuple):
    """Innermost first; empty if a stack is not known.

    block_name: the call site of the block's allocation, if the call is a free with its own stack.
    """

    call_frames: list[Answer]
    block_frames: list[Answer]
    block_name: str


def stacks_of(report: Report, call: SlowCall) -> SlowStacks:
    """The stacks of one slow call; in older traces a free has only its block's."""
    own = 0 if call.stack == call.block_stack else call.stack
    block_name = ""
    if own and call.block_stack:
        block_name = site_name(report.sites[report.sites.site_of_stack[call.block_stack]])
    return SlowStacks(_frames(report, own), _frames(report, call.block_stack), block_name)


def _frames(report: Report, stack: int) -> list[Answer]:
    return [location_record(location) for location in report.trace.stack(stack)]
