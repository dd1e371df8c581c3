# SPDX-License-Identifier: MIT
"""The stacks of a slow call: who called, and for a free who had allocated its block."""

from __future__ import annotations

from typing import NamedTuple

from heapwright.explain.details import location_record
from heapwright.explain.report import Answer, Report
from heapwright.explain.site_names import site_name
from heapwright.model.facts import SlowCall
from heapwright.report.columns import Column, Many

STACK_COLUMNS = (
    Column("block_stack", about="Of a free: where its block was allocated; 0: not known."),
    Column("block_name", "text", about="That call site, where the free has a stack of its own."),
    Column("call_frames", Many("frame"), about="Who called, innermost first; empty: not recorded."),
    Column("block_frames", Many("frame"), about="Of a free: who allocated its block."),
)


class SlowStacks(NamedTuple):
    """Innermost first; empty where a stack is not known.

    block_name: the call site of the block's allocation, where the call is a free with a stack of its own.
    """

    call_frames: list[Answer]
    block_frames: list[Answer]
    block_name: str


def stacks_of(report: Report, call: SlowCall) -> SlowStacks:
    """Of one slow call; in older traces a free has its block's alone."""
    own = 0 if call.stack == call.block_stack else call.stack
    block_name = ""
    if own and call.block_stack:
        block_name = site_name(report.sites[report.sites.site_of_stack[call.block_stack]])
    return SlowStacks(_frames(report, own), _frames(report, call.block_stack), block_name)


def _frames(report: Report, stack: int) -> list[Answer]:
    return [location_record(location) for location in report.trace.stack(stack)]
