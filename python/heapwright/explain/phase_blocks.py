# SPDX-License-Identifier: MIT
"""What runs of phases hold at their own peak and end, and how long their allocations take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from heapwright.explain.phases import ALLOCATIONS, COUNTED, Phase, annotations_with
from heapwright.model import Filter
from heapwright.model.trace import Trace

# A block freed and one made at the same moment do not both count.
_OWN = """
with own as (
  select phase.number, block.size, block.begin_ns, block.stack, block.end_ns,
  block.is_freed and block.end_ns < phase.whole_end_ns as is_gone
  from block join phase on block.thread = phase.thread and block.begin_ns >= phase.begin_ns
  and block.begin_ns < phase.end_ns where {counted}
)
"""

_HELD = f"""
{_OWN},
steps as (
  select number, begin_ns as at_ns, size::bigint as step from own
  union all select number, end_ns, -size::bigint from own where is_gone
),
levels as (
  select number, sum(step) over (partition by number order by at_ns, step rows unbounded preceding) as held
  from steps
),
peaks as (select number, max(held) as held from levels group by number),
ends as (
  select number, sum(size) as held, count(*) as blocks from own
  where not is_gone and stack not in (select stack from may_stay) group by number
)
select peaks.number, peaks.held, coalesce(ends.held, 0), coalesce(ends.blocks, 0)
from peaks left join ends on peaks.number = ends.number
"""

_KEPT = f"""
{_OWN}
select stack, count(*), sum(size) from own
where not is_gone and stack not in (select stack from may_stay) group by stack
"""

_TIMES = """
select quantile_disc(event.duration_ns, [0.5, 0.99, 0.999]) from event where exists (
  select 1 from phase where event.thread = phase.thread
  and event.begin_ns >= phase.begin_ns and event.begin_ns < phase.end_ns
) and event.address <> 0 and event.kind in {kinds!r} and {counted}
"""


class Held(NamedTuple):
    """Figures of blocks made by a run of a phase on its thread. end: without blocks that may stay."""

    peak_bytes: int = 0
    end_bytes: int = 0
    end_blocks: int = 0


class Times(NamedTuple):
    """Percentiles of allocations; 0 if there are none."""

    p50_ns: int = 0
    p99_ns: int = 0
    p999_ns: int = 0


def held_by(
    trace: Trace, runs: Sequence[Phase], chosen: Filter | None = None, may_stay: Sequence[int] = ()
) -> list[Held]:
    """The figures of each run. chosen: by sites and libraries; may_stay: stacks whose blocks do not count
    at the end. Reads the trace once."""
    annotations, is_chosen = annotations_with(trace, runs, chosen)
    annotations.add_column("may_stay", "stack", may_stay)
    found = [Held() for _ in runs]
    query = _HELD.format(counted=COUNTED.format("block") if is_chosen else "true")
    for number, peak, end, blocks in annotations.ask(query, "block"):
        found[number] = Held(int(peak), int(end), blocks)
    return found


def kept_by_stack(
    trace: Trace, run: Phase, chosen: Filter | None = None, may_stay: Sequence[int] = ()
) -> list[tuple[int, int, int]]:
    """What is live at the run's end: the stack, its blocks, their bytes. Reads the trace once."""
    annotations, is_chosen = annotations_with(trace, [run], chosen)
    annotations.add_column("may_stay", "stack", may_stay)
    query = _KEPT.format(counted=COUNTED.format("block") if is_chosen else "true")
    found = annotations.ask(query, "block")
    return [(stack, blocks, int(size)) for stack, blocks, size in found]


def times_of(trace: Trace, runs: Sequence[Phase], chosen: Filter | None = None) -> Times:
    """Percentiles over all runs. Reads the trace once."""
    annotations, is_chosen = annotations_with(trace, runs, chosen)
    query = _TIMES.format(kinds=ALLOCATIONS, counted=COUNTED.format("event") if is_chosen else "true")
    ((found,),) = annotations.ask(query)
    return Times(*map(int, found)) if found else Times()
