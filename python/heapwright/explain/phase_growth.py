# SPDX-License-Identifier: MIT
"""Do the blocks made by runs of phases grow, from the first run's begin to the last one's end?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from heapwright.explain import growth_kinds
from heapwright.explain.growth_kinds import CREEP, LEAK, Course
from heapwright.explain.phases import COUNTED, Phase, annotations_with
from heapwright.model import Filter
from heapwright.model.trace import Trace

_BINS = 256

_STEPS = """
with own as (
  select size::bigint as size, begin_ns, end_ns, is_freed from block where exists (
    select 1 from phase where block.thread = phase.thread
    and block.begin_ns >= phase.begin_ns and block.begin_ns < phase.end_ns
  ) and stack not in (select stack from may_stay) and {counted}
),
steps as (
  select begin_ns as at_ns, size, 1 as blocks from own
  union all select end_ns, -size, -1 from own where is_freed and end_ns < {end_ns}
)
select (at_ns - {begin_ns}) * {bins} // {span_ns} as bin, sum(size), sum(blocks) from steps group by bin
"""


def growth_of(
    trace: Trace,
    runs: Sequence[Phase],
    least_bytes: float,
    chosen: Filter | None = None,
    may_stay: Sequence[int] = (),
) -> float:
    """Bytes per second if it is certainly a leak or creep; otherwise 0. Reads the trace once.

    least_bytes: smaller growth does not count.
    """
    if not runs:
        return 0.0
    begin_ns, end_ns = min(run.begin_ns for run in runs), max(run.end_ns for run in runs)
    span_ns = max(1, end_ns - begin_ns)
    annotations, is_chosen = annotations_with(trace, runs, chosen)
    annotations.add_column("may_stay", "stack", may_stay)
    counted = COUNTED.format("block") if is_chosen else "true"
    query = _STEPS.format(begin_ns=begin_ns, end_ns=end_ns, span_ns=span_ns, bins=_BINS, counted=counted)
    size_steps, block_steps = [0] * _BINS, [0] * _BINS
    for place, size, blocks in annotations.ask(query, "block"):
        size_steps[place], block_steps[place] = int(size), int(blocks)
    course = Course(list(accumulate(size_steps)), list(accumulate(block_steps)))
    found = growth_kinds.verdict(course, least_bytes)
    if found.kind not in (LEAK, CREEP) or not found.slope.is_sure:
        return 0.0
    return max(0.0, found.slope.each * _BINS / span_ns * 1e9)
